"""A page's address and its state: what a link asks for is taken once, what a person changes is written back.

Streamlit's own `bind` drops or cuts values without a word, and would write a text of any length into the address. Here
each value that is not possible gives a sentence, and a text too long for a link stays out of it.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import streamlit as st

from embedviz.errors import EmbedvizError
from embedviz.tokens import visible_line

# Browsers, proxies and chat programs cut links somewhere above 2,000 characters.
LONGEST = 2000
# No text that a person wrote is longer; a link that unpacks to more is refused.
MOST_UNPACKED = 200_000

_WRITTEN, _NOTES = "address written", "address notes"


@dataclass(frozen=True)
class Parameter:
    """One value of the address, kept in the session under the same name.

    default: the value on a first visit, which the address leaves out. read: turns the address's text into the value,
    and raises EmbedvizError or ValueError for one that is not possible. write: turns it back.
    """

    name: str
    default: Any
    read: Callable[[str], Any] = str
    write: Callable[[Any], str] = str


def choice(*allowed: str) -> Callable[[str], str]:
    """A reader for a value that must be one of some words."""

    def read(value: str) -> str:
        if value not in allowed:
            raise ValueError(value)
        return value

    return read


def whole_number(least: int, most: int) -> Callable[[str], int]:
    """A reader for a whole number within bounds, both included."""

    def read(value: str) -> int:
        if not least <= int(value) <= most:
            raise ValueError(value)
        return int(value)

    return read


def switch(name: str, default: bool) -> Parameter:
    """A value that is on or off, `true` or `false` in the address."""
    read = choice("true", "false")
    return Parameter(name, default, lambda value: read(value.lower()) == "true", lambda value: str(value).lower())


def packed(name: str) -> Parameter:
    """A text of many lines, empty on a first visit, which travels compressed."""

    def read(value: str) -> str:
        unpacker = zlib.decompressobj()
        try:
            text = unpacker.decompress(base64.urlsafe_b64decode(value.encode()), MOST_UNPACKED).decode()
        except (zlib.error, binascii.Error) as error:
            raise ValueError(value) from error
        if not unpacker.eof:
            raise ValueError(value)
        return text

    def write(text: str) -> str:
        return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode() if text else ""

    return Parameter(name, "", read, write)


def restore(parameters: Sequence[Parameter]) -> list[str]:
    """Put the address's values into the session, defaults where neither has one; return a note for each refused value.

    Values count when the address is not the one this session wrote itself: on a first visit, and when a link of ours
    leads here with values of its own. The notes stay until `forget_notes`.
    """
    asked = {name: st.query_params.get_all(name) for name in st.query_params}
    if asked and asked != st.session_state.get(_WRITTEN):
        forget_notes()
        for parameter in parameters:
            _take(parameter, asked)
        st.session_state[_WRITTEN] = asked
    for parameter in parameters:
        st.session_state.setdefault(parameter.name, parameter.default)
    return list(st.session_state.get(_NOTES, ()))


def _take(parameter: Parameter, asked: Mapping[str, Sequence[str]]) -> None:
    """Take one parameter from the address, where it is there."""
    name, values = parameter.name, asked.get(parameter.name, ())
    if not values:
        return
    try:
        st.session_state[name] = parameter.read(values[-1])
    except (EmbedvizError, ValueError):
        st.session_state[name] = parameter.default
        refuse(name, values[-1], parameter.default)
        return
    if len(values) > 1:
        _note(f"The link asked for {name} {len(values)} times. The last one is shown.")


def refuse(name: str, value: Any, shown: Any) -> str:
    """Note that a link asked for a value that is not possible, and what is shown in its place; return the note."""
    asked = f"{name} = {visible_line(str(value))}" if str(value) else f"{name} without a value"
    if isinstance(shown, bool):
        instead = f"; it is {'on' if shown else 'off'}"
    else:
        instead = f"; {visible_line(str(shown))} is shown" if str(shown) else ""
    return _note(f"The link asked for {asked}. That is not possible here{instead}.")


def _note(sentence: str) -> str:
    st.session_state.setdefault(_NOTES, []).append(sentence)
    return sentence


def forget_notes() -> None:
    """Drop the notes of the last link; a widget's `on_change`, since what it said is no longer on screen."""
    st.session_state.pop(_NOTES, None)


def write(parameters: Sequence[Parameter], always: Sequence[str] = ("model",)) -> bool:
    """Write the session's values into the address; False where a value was left out because it is too long."""
    values = {
        p.name: p.write(st.session_state[p.name])
        for p in parameters
        if p.name in always or st.session_state[p.name] != p.default
    }
    fitting = {name: value for name, value in values.items() if len(quote(value)) <= LONGEST}
    if {name: [value] for name, value in fitting.items()} != {n: st.query_params.get_all(n) for n in st.query_params}:
        st.query_params.from_dict(fitting)
    st.session_state[_WRITTEN] = {name: [value] for name, value in fitting.items()}
    return len(fitting) == len(values)


def remember(name: str, value: Any) -> None:
    """Keep one value that changed inside a fragment, in the session and in the address, without touching the others."""
    st.session_state[name] = value
    st.query_params[name] = str(value)
    st.session_state[_WRITTEN] = st.session_state.get(_WRITTEN, {}) | {name: [str(value)]}
