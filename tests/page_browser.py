"""What the browser tests share: pictures to keep, and what axe finds."""

from __future__ import annotations

import json

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from conftest import ROOT

PICTURES = ROOT / "test-results"


def picture(page: Page, name: str) -> None:
    """Keep a picture of the screen, to be looked at."""
    PICTURES.mkdir(exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png")


def serious(page: Page) -> str:
    """What axe calls serious or critical, as text; empty where there is nothing."""
    found = [
        (one["id"], one["impact"], [node["target"] for node in one["nodes"]])
        for one in Axe().run(page).response["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    return json.dumps(found, indent=1) if found else ""
