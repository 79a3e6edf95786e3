"""Which model a page shows: the choice, the model itself once it is in memory, and what to say until then."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import streamlit as st

from embedviz.errors import EmbedvizError
from embedviz.models import catalog
from embedviz.safe_text import markdown_text
from embedviz.ui.address import Parameter, forget_notes
from embedviz.ui.frame import SentenceLine
from embedviz.ui.shelf import Loading, shelf

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel

logger = logging.getLogger(__name__)


def _read(value: str) -> str:
    return catalog.find(value, offered_only=True).name


def model_parameter() -> Parameter:
    """The address's `model`: a name of the list, never a path."""
    return Parameter("model", _first(), _read)


def _first() -> str:
    """The name, in the list, of the model shown first; the bundled one where EMBEDVIZ_MODEL names none of the list."""
    try:
        chosen = catalog.default()
    except EmbedvizError as error:
        logger.warning("EMBEDVIZ_MODEL: %s", error)
        chosen = catalog.CATALOG[0]
    return next((spec.name for spec in catalog.offered() if spec.location == chosen.location), catalog.CATALOG[0].name)


def pick_model() -> None:
    """Draw the choice: a button that names the model, and behind it one line for each model there is."""
    specs = {spec.name: spec for spec in catalog.offered()}
    chosen = specs[st.session_state["model"]]
    with st.popover(markdown_text(f"{chosen.title}, {chosen.reading}")):
        st.radio(
            "Model",
            list(specs),
            key="model",
            format_func=lambda name: markdown_text(specs[name].summary),
            captions=[markdown_text(_caption(spec)) for spec in specs.values()],
            on_change=forget_notes,
            persist_state="session",
        )


def _caption(spec: catalog.ModelSpec) -> str:
    weights = (
        ""
        if spec.quantisation == "none"
        else f" Weights rounded to {spec.quantisation}: near the original's, not equal."
    )
    task = "gives the next token" if spec.next_token_head else "has no next token"
    place = "downloaded from the hub when chosen" if isinstance(spec.location, catalog.Hub) else "on this machine"
    return f"{spec.reading.capitalize()}, {task}, {place}.{weights}"


def model_in_memory() -> LanguageModel | None:
    """The chosen model, or None while it is on its way. Raises EmbedvizError where it could not be loaded."""
    found = shelf().ask(st.session_state["model"])
    return None if isinstance(found, Loading) else found


def wait_for_model(shown: str) -> None:
    """Load the chosen model, say how far it is in the sentence's place, and run the page again when it is there.

    shown: what stands in the figures meanwhile, as one sentence.
    """
    name = st.session_state["model"]
    shelf().start(name)

    @st.fragment(run_every=1.0)
    def line() -> None:
        loading = shelf().loading(name)
        if loading is None or loading.future.done():
            st.rerun()
        words = f" {loading.words}." if loading.words else ""
        SentenceLine().say(f"{shown} {loading.spec.title} is loading: {loading.wait_words}.{words}")

    line()
