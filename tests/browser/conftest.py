"""What every browser test listens to."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import ConsoleMessage, Page

# A first visit to a sub-page makes Streamlit ask under the page's own path first; its two refusals are not ours.
PLATFORM = re.compile(r"/[a-z_]+/_stcore/(health|host-config)$")


@pytest.fixture
def complaints(page: Page) -> list[str]:
    """Whatever the browser's console says in errors, or the page throws; but the two of the platform."""
    heard: list[str] = []

    def listen(message: ConsoleMessage) -> None:
        if message.type == "error" and not PLATFORM.search(message.location.get("url", "")):
            heard.append(message.text)

    page.on("console", listen)
    page.on("pageerror", lambda error: heard.append(str(error)))
    return heard
