"""The deeper parts of a page: closed until opened, and computing nothing until then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from embedviz.errors import EmbedvizError
from embedviz.safe_text import markdown_message, markdown_text


@contextmanager
def closed_part(title: str, name: str, needs: object = True) -> Iterator[bool]:
    """Hold one part; gives whether it is to be computed: it is open, and what it `needs` is there (a model, not None).

    What a person must mend (EmbedvizError) is said inside it; the rest of the page stays.
    """
    with st.expander(markdown_text(title), key=f"part_{name}", on_change="rerun") as box:
        if box.open and needs is None:
            st.markdown("The model is on its way; this part needs it.")
        try:
            yield bool(box.open) and needs is not None
        except EmbedvizError as error:
            st.error(markdown_message(str(error)))
