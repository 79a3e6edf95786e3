"""The last closed part of every page: the field's words that stand on it."""

from __future__ import annotations

import streamlit as st

from embedviz.glossary import terms_of
from embedviz.ui.parts import closed_part

NAME = "words"


def words_part(page: str) -> None:
    """List the terms of a page, by its label, where there are some."""
    terms = terms_of(page)
    if not terms:
        return
    with closed_part("Words on this page", NAME) as wanted:
        if wanted:
            told = (f"**{term.name}**{f' ({term.also})' if term.also else ''}: {term.meaning}" for term in terms)
            st.markdown("\n".join(f"- {line}" for line in told))
