"""The token strip: a text's tokens as chips to choose from, with ids, by mouse or keyboard."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import streamlit as st

from embedviz.numbers import count
from embedviz.tokens import Token, Tokens, visible, visible_parts

_HERE = Path(__file__).parent
_strip = st.components.v2.component(
    "embedviz_token_strip",
    html='<div class="strip" role="listbox" aria-orientation="horizontal"></div><p class="count" hidden></p>',
    css=(_HERE / "token_strip.css").read_text(encoding="utf-8"),
    js=(_HERE / "token_strip.js").read_text(encoding="utf-8"),
)
_SPOKEN = {" ": "space", "\n": "newline", "\t": "tab", "\r": "return", "\u00a0": "no-break space"}
_SPOKEN_KINDS = {"special": "special token", "unknown": "not in the list", "unused": "unused row"}


def token_strip(
    tokens: Tokens, *, key: str, chosen: int, label: str, on_choose: Callable[[int], None] | None = None
) -> int:
    """Draw the strip and return the position of the chosen token, 0 to len(tokens) − 1.

    chosen: with `on_choose`, which keeps the choice, the position to stand on at each run. Without, the strip keeps
    the choice itself, through new texts and other pages, and a new value here moves it. A position that a shorter text
    does not have becomes its last. on_choose: called before the run that a choice starts.
    label: what the strip is, for screen readers. An empty text draws nothing and gives 0.
    """
    if not tokens.tokens:
        return 0
    kept_name = f"{key} chosen"
    asked, place = st.session_state.get(kept_name, (None, 0))
    if on_choose or asked != chosen:
        place = chosen
    st.session_state[kept_name] = (chosen, place)
    place = max(0, min(place, len(tokens) - 1))

    def take() -> None:
        place = int(st.session_state[key]["chosen"])
        st.session_state[kept_name] = (chosen, place)
        if on_choose:
            on_choose(place)

    data = {"tokens": chips(tokens), "chosen": place, "label": label, "count": f"{count(len(tokens))} tokens"}
    _strip(key=key, data=data, on_chosen_change=take)
    return place


def chips(tokens: Tokens) -> list[dict[str, Any]]:
    """What the browser needs of each token: look, label in runs of marks and characters, spoken name."""
    made = []
    before: Token | None = None
    for token in tokens.tokens:
        # A text can be cut in the middle of a character: then its group opens with a later piece.
        opens = token.part is not None and (token.part[0] == 1 or before is None or before.part is None)
        made.append(
            {
                "id": token.id,
                "kind": token.kind,
                "parts": _parts(token),
                "say": f"{_spoken(token)}, id {token.id}",
                "group": token.part[2] if token.part else "",
                "opens": opens,
                "breaks": token.text.endswith("\n"),
            }
        )
        before = token
    return made


def _parts(token: Token) -> list[tuple[bool, str]]:
    """The label, never blank, cut into runs: marks (True) are drawn paler than characters (False)."""
    if token.kind == "unknown":
        return [(False, f"? {token.piece}")]
    # Where the label is not the text (a lone joiner, bytes), it is shown as one piece.
    return visible_parts(token.text) if token.label == visible(token.text) else [(False, token.label)]


def _spoken(token: Token) -> str:
    """The name a screen reader says, in which spaces and newlines are words."""
    if token.part:
        k, n, characters = token.part
        return f"{token.text}, piece {k} of {n} of {characters}"
    if token.kind in _SPOKEN_KINDS:
        return f"{token.piece or token.label}, {_SPOKEN_KINDS[token.kind]}"
    if token.label != visible(token.text):
        return token.label
    words = []
    for character, run in groupby(token.text):
        times, name = len(list(run)), _SPOKEN.get(character)
        words.append(character * times if name is None else f" {name} " if times == 1 else f" {times} {name}s ")
    return " ".join("".join(words).split())
