"""The deeper parts of a page: closed until opened, and computing nothing until then."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from embedviz.errors import EmbedvizError
from embedviz.safe_text import markdown_message, markdown_text
from embedviz.ui.address import Parameter

logger = logging.getLogger(__name__)

_ASKED, _DRAWN, _TITLES = "parts asked", "parts drawn", "parts titled"


def parts_parameter(*names: str) -> Parameter:
    """The address's list of open parts, such as `open=ids,sums`."""

    def read(value: str) -> str:
        if not set(value.split(",")) <= set(names):
            raise ValueError(value)
        return value

    return Parameter("open", "", read)


def open_asked() -> None:
    """Open the parts that a link asks for, before any is drawn."""
    asked = st.session_state.get("open", "")
    if asked and asked != st.session_state.get(_ASKED):
        for name in asked.split(","):
            st.session_state[f"part_{name}"] = True
    st.session_state[_DRAWN] = []


def keep_open() -> None:
    """Keep the list of open parts for the address, after all are drawn."""
    st.session_state["open"] = st.session_state[_ASKED] = ",".join(st.session_state[_DRAWN])


ON_ITS_WAY = "The model is on its way; this part needs it."


@contextmanager
def closed_part(title: str, name: str, needs: object = True, why: str = ON_ITS_WAY) -> Iterator[bool]:
    """Hold one part; gives whether it is to be computed: it is open, and what it `needs` is there (a model, not None).

    What a person must mend (EmbedvizError) is said inside it, as is that it failed; the rest of the page stays.
    """
    titles = st.session_state.setdefault(_TITLES, {})
    if titles.get(name, title) != title and name in st.session_state.get("open", "").split(","):
        # To Streamlit another title, as with another model, is another part, and a new part is closed.
        st.session_state[f"part_{name}"] = True
    titles[name] = title
    with st.expander(markdown_text(title), key=f"part_{name}", on_change="rerun") as box:
        if box.open:
            st.session_state.setdefault(_DRAWN, []).append(name)
        if box.open and needs is None:
            st.markdown(markdown_text(why))
        try:
            yield bool(box.open) and needs is not None
        except EmbedvizError as error:
            st.error(markdown_message(str(error)))
        except Exception:
            logger.exception("the part %s failed", name)
            st.error("This part failed. The rest of the page works. The log has the details.")
