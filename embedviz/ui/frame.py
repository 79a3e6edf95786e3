"""The frame of every page: navigation, claim, row of controls, projector mode, notes, and the sentence's place."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from embedviz.numbers import count
from embedviz.safe_text import markdown_message, markdown_text
from embedviz.ui import address, parts
from embedviz.ui.copy_link import copy_link

_CSS = Path(__file__).with_name("frame.css")
NOTES_AT_ONCE = 2
# A note with the gap under it, in pixels at a desk.
NOTE_HEIGHT = 48
SECONDS_TO_WORDS, SECONDS_TO_STOP = 2, 10


@dataclass(frozen=True)
class Page:
    """One page: its script beside app.py, its address, its name in the navigation, and its claim (≤ 54 characters)."""

    file: str
    address: str
    label: str
    claim: str


PAGES = (
    Page("app.py", "/", "Thread", "Words become numbers; numbers give the next word."),
    Page("pages/table.py", "/table", "Table", "An id only picks a row. The row carries the meaning."),
    Page("pages/senses.py", "/senses", "Senses", "A word starts from one row. Its sentence moves it."),
    Page("pages/next_token.py", "/next_token", "Next token", "Change one vector, and the model expects another word."),
    Page("pages/learning.py", "/learning", "Learning", "Training moves rows; words used alike end up together."),
    Page("pages/retrieval.py", "/retrieval", "Retrieval", "To find answers, a model must be trained to find."),
    Page("pages/lessons.py", "/lessons", "Lessons", "Guess first. Then look. Then say why."),
)


def _read_projector(value: str) -> str:
    """Read the address's form, "true" or "false"; 1 and 0 are taken too."""
    words = {"true": "true", "1": "true", "false": "false", "0": "false"}
    if value.lower() not in words:
        raise ValueError(value)
    return words[value.lower()]


# Kept as the address writes it.
PROJECTOR = address.Parameter("projector", "false", _read_projector)


@dataclass(frozen=True)
class Frame:
    """What a page gets from its first line.

    projector: sizes for the back row. notes: what of the address could not be taken. parameters: the address's values.
    """

    projector: bool
    notes: tuple[str, ...]
    parameters: tuple[address.Parameter, ...]
    _controls: DeltaGenerator

    @contextmanager
    def controls(self) -> Iterator[None]:
        """Hold the page's own controls: one row, or in projector mode the first things in "Menu".

        Order: the text or sentences, "Try", `push_right()`, what belongs to data, model.
        """
        with self._controls:
            yield

    def push_right(self) -> None:
        """Send the controls that follow to the right edge of the row."""
        if not self.projector:
            st.space("stretch")

    def write_address(self) -> None:
        """Write the page's values into the address, at its end, and offer it as a link where it is not too long."""
        parts.keep_open()
        if address.write(self.parameters):
            copy_link()
        else:
            st.markdown("Too much for a link. Save it as a file.")


def page(label: str, parameters: Sequence[address.Parameter] = (), names_of_parts: Sequence[str] = ()) -> Frame:
    """Open the page of this name: settings, style, address, navigation, claim. The first line of every page.

    names_of_parts: of its closed parts, which the address names where they are open.
    """
    here = next(known for known in PAGES if known.label == label)
    st.set_page_config(page_title=f"{label} · embedviz", layout="wide", initial_sidebar_state="collapsed")
    st.html(_CSS)
    everything = (PROJECTOR, *parameters, parts.parts_parameter(*names_of_parts))
    notes = tuple(address.restore(everything))
    parts.open_asked()
    projector = st.session_state["projector"] == "true"
    controls = _projector_top(here) if projector else _top(here)
    return Frame(projector, notes, everything, controls)


def _top(here: Page) -> DeltaGenerator:
    with st.container(key="frame_top", horizontal=True, vertical_alignment="center"):
        st.markdown("**embedviz**", width="content")
        _page_links()
        st.space("stretch")
        _projector_button("Projector")
    st.title(here.claim, anchor=False)
    return st.container(key="frame_controls", horizontal=True, vertical_alignment="center", gap="small")


def _projector_top(here: Page) -> DeltaGenerator:
    with st.container(key="frame_projector", horizontal=True, vertical_alignment="center"):
        st.title(here.claim, anchor=False)
        _projector_button("Exit")
        with st.popover("Menu", key="frame_menu"):
            controls = st.container(key="frame_controls", gap="small")
            with st.container(key="frame_menu_pages", horizontal=True, gap="small"):
                _page_links()
    return controls


def _projector_button(label: str) -> None:
    # Outside the popover: in a closed one its key would be dead.
    st.button(label, shortcut="P", key="frame_projector_button", on_click=_flip)


def _flip() -> None:
    st.session_state["projector"] = "false" if st.session_state.get("projector") == "true" else "true"


def _page_links() -> None:
    """Link the pages that there are."""
    run = get_script_run_ctx()
    folder = Path(run.main_script_path).parent if run else Path.cwd()
    for known in PAGES:
        if (folder / known.file).is_file():
            st.page_link(known.file, label=known.label)


def pair(left: float = 0.5) -> tuple[DeltaGenerator, DeltaGenerator]:
    """Two places side by side, the left one this share of the width; below 900 px one above the other. One a page."""
    with st.container(key="pair"):
        first, second = st.columns([left, 1 - left], gap="small", wrap=True)
    return first, second


def show_notes(messages: Sequence[str]) -> None:
    """Warn of what a reader must know, two at once; the rest folds away. Typed text in a message is shown as typed."""
    for message in messages[:NOTES_AT_ONCE]:
        st.warning(markdown_text(message))
    rest = messages[NOTES_AT_ONCE:]
    if rest:
        with st.expander(f"and {len(rest)} more {'note' if len(rest) == 1 else 'notes'}"):
            for message in rest:
                st.markdown(markdown_text(message))


class SentenceLine:
    """The sentence's place on a page without a scrubber, and on every page the place of waiting and of errors.

    Fixed height, so that nothing moves. While it holds something, a scrubber's own sentence gives way to it: open it
    right under the scrubber. name: tells a second one on the page from the first.
    """

    def __init__(self, name: str = "") -> None:
        self._place, self._key = st.empty(), f"sentence_line{name}"
        self._started = time.monotonic()
        self._slots: tuple[DeltaGenerator, DeltaGenerator] | None = None
        self._stop_offered = False

    def say(self, text: str) -> None:
        """Show a sentence."""
        self._open()[0].markdown(markdown_text(text))

    def fail(self, text: str) -> None:
        """Show what went wrong, in one sentence."""
        self._open()[0].error(markdown_message(text))

    def wait(self, done: int, everything: int, things: str) -> None:
        """Tell how far a long task is, from 2 s on; call it after each portion. From 10 s on with a button "Stop".

        Pressing Stop ends this run of the page at the next call; the next run finds `stopped()` true, once.
        """
        passed = time.monotonic() - self._started
        if passed < SECONDS_TO_WORDS or not done:
            return
        left = max(1, round(passed / done * (everything - done)))
        self.say(f"{count(done)} of {count(everything)} {things}, about {count(left)} s left")
        if passed >= SECONDS_TO_STOP and not self._stop_offered:
            self._stop_offered = True
            self._open()[1].button("Stop", key=f"stop_{self._key}", on_click=_stop)

    def _open(self) -> tuple[DeltaGenerator, DeltaGenerator]:
        if self._slots is None:
            with self._place.container(key=self._key, horizontal=True, vertical_alignment="center"):
                self._slots = (st.empty(), st.empty())
        return self._slots


def _stop() -> None:
    st.session_state["stopped"] = True


def stopped() -> bool:
    """Tell whether the reader pressed Stop since the last call."""
    return bool(st.session_state.pop("stopped", False))
