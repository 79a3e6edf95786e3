"""The row that edits one token's row, and the list of all edits as the address carries it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st

from embedviz.edits import Edit, read_edit, read_numbers, written
from embedviz.errors import EmbedvizError
from embedviz.safe_text import markdown_text
from embedviz.tokens import Token
from embedviz.ui.address import Parameter, forget_notes, remember
from embedviz.ui.model_picker import model_in_memory
from embedviz.vocabulary_search import entry_list

# Edits stand in the address one after the other; a text without any says so, since the example has one.
NONE = "none"
OPERATIONS = {
    "": "Choose an edit",
    "slide": "Slide to",
    "swap": "Swap for",
    "scale": "Scale by",
    "noise": "Add noise",
    "zero": "Set to zeros",
    "mean": "Mean row",
    "shuffle": "Shuffle numbers",
    "paste": "Paste numbers",
}
FIRST = {"slide": 1.0, "scale": 0.5, "noise": 0.5}
_FAILED = "edit failed"


def parameter(example: str) -> Parameter:
    """The address's `edits`: each as written, a line each."""

    def read(value: str) -> str:
        for line in [] if value == NONE else value.split("\n"):
            read_edit(line)
        return value

    return Parameter("edits", example, read)


def edits() -> tuple[Edit, ...]:
    """The edits as they stand, in their order."""
    kept = st.session_state["edits"]
    return () if kept == NONE else tuple(read_edit(line) for line in kept.split("\n"))


def keep(all_edits: tuple[Edit, ...], kept: int = 0) -> None:
    """Show these edits from the next run on. kept: how many of them the next one comes after."""
    st.session_state["edit kept"] = min(kept, len(all_edits))
    st.session_state["edits"] = "\n".join(written(edit) for edit in all_edits) or NONE
    st.session_state.pop(_FAILED, None)
    forget_notes()


def undo() -> None:
    """Take the last edit back."""
    keep(edits()[:-1], _kept())


def reset() -> None:
    """Take every edit back: the scores are the same to the bit again."""
    keep(())


def move_to(part: float) -> None:
    """Keep where the slider of a slide or fade was left."""
    *others, last = edits()
    value = round(part if last.operation == "slide" else 1 - part, 2)
    remember("edits", "\n".join(written(edit) for edit in (*others, replace(last, value=value))))


def failed() -> str:
    """Why the last change in the row was not done; empty where it was."""
    return str(st.session_state.get(_FAILED, ""))


def edit_row(token: Token) -> None:
    """Edit the row of one token: what to do, and with what. A change takes the place of the last edit."""
    now = next((edit for edit in reversed(edits()) if edit.position == token.position), None)
    name = now.operation if now else ""
    st.session_state["edit operation"] = name
    with st.container(key="edit_row", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(markdown_text(f"Edit {token.label}:"), width="content")
        st.selectbox(
            "What to do with its row", list(OPERATIONS), key="edit operation", format_func=OPERATIONS.__getitem__,
            label_visibility="collapsed", width=160, on_change=partial(_choose, token.position),
        )  # fmt: skip
        if name in ("slide", "swap"):
            _field("Token", now.target if now else "", partial(_take_target, token.position))
        elif name in ("scale", "noise"):
            st.session_state["edit value"] = now.value if now else 1.0
            st.number_input(
                "How much", key="edit value", step=0.1, format="%.2f", width=115, label_visibility="collapsed",
                on_change=partial(_take_value, token.position),
            )  # fmt: skip
        elif name == "paste":
            _field("Numbers", " ".join(f"{value:g}" for value in now.values) if now else "",
                   partial(_take_numbers, token.position))  # fmt: skip
        if name in ("noise", "shuffle"):
            st.session_state["edit seed"] = now.seed if now else 0
            st.number_input(
                "Seed", 0, 2**53 - 1, key="edit seed", width=110, label_visibility="collapsed",
                on_change=partial(_take_seed, token.position),
            )  # fmt: skip
        if name:
            st.button("+ another edit", key="edit_more", on_click=_more, help="Keep this one, and edit more rows.")
        if edits():
            st.button("Undo", key="edit_undo", on_click=undo)


def _field(label: str, text: str, take: partial[None]) -> None:
    st.session_state["edit text"] = text.replace(" ", "␣") if label == "Token" else text
    st.text_input(label, key="edit text", label_visibility="collapsed", width=150, on_change=take)


def _more() -> None:
    st.session_state["edit kept"] = len(edits())


def _kept() -> int:
    return int(st.session_state.get("edit kept", 0))


def _put(edit: Edit) -> None:
    """Put an edit in the place of the last one, or after those that were kept."""
    keep((*edits()[: _kept()], edit), _kept())


def _choose(position: int) -> None:
    name = st.session_state["edit operation"]
    if not name:
        return _take_out(position)
    last = edits()[-1] if edits() else None
    target = last.target if last and last.target else " Germany"
    if name == "paste":
        return _paste_first(position)
    return _put(Edit(position, name, FIRST.get(name, 1.0), target if name in ("slide", "swap") else ""))


def _take_out(position: int) -> None:
    """Take back the last edit of one token, and no other."""
    place = _place(position)
    done = edits()
    keep((*done[:place], *done[place + 1 :]), _kept() - (place < _kept()))


def _paste_first(position: int) -> None:
    """Begin with the row itself, as numbers to change."""
    row = st.session_state.get("edit row")
    if row is not None:
        _put(Edit(position, "paste", values=tuple(float(f"{value:.4g}") for value in row)))


def _place(position: int) -> int:
    """Where the last edit of one token stands among all."""
    return max(k for k, edit in enumerate(edits()) if edit.position == position)


def _change(position: int, **new: Any) -> None:
    """Change the last edit of one token."""
    done, place = list(edits()), _place(position)
    done[place] = replace(done[place], **new)
    keep(tuple(done), _kept())


def _take_target(position: int) -> None:
    typed = st.session_state["edit text"].replace("␣", " ")
    model = model_in_memory()
    # Inside a sentence a word has a space before it: ` Germany` is meant where there is such a token.
    if model is not None and f" {typed.strip()}" in entry_list(model.vocabulary).by_text:
        typed = f" {typed.strip()}"
    if not typed.strip():
        st.session_state[_FAILED] = "Name the token to put there; the last one is kept."
    else:
        _change(position, target=typed)


def _take_value(position: int) -> None:
    _change(position, value=float(st.session_state["edit value"]))


def _take_seed(position: int) -> None:
    _change(position, seed=int(st.session_state["edit seed"]))


def _take_numbers(position: int) -> None:
    try:
        _change(position, values=read_numbers(st.session_state["edit text"]))
    except EmbedvizError as error:
        st.session_state[_FAILED] = str(error)
