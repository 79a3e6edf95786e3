"""One button that copies the page's address, in a form that others can open."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

_HERE = Path(__file__).parent
_button = st.components.v2.component(
    "embedviz_copy_link",
    html='<button type="button">Copy link</button><span role="status"></span>',
    css=(_HERE / "copy_link.css").read_text(encoding="utf-8"),
    js=(_HERE / "copy_link.js").read_text(encoding="utf-8"),
)
_OWN = ("", "localhost", "127.0.0.1", "::1")


def copy_link() -> None:
    """Draw the button. Where the app serves a network, `localhost` in the address gives way to this machine's own."""
    host = str(st.get_option("browser.serverAddress") or "")
    _button(key="copy_link", data={"host": "" if host in _OWN else host})
