"""What all commands share: their common options, the text and the model they are given, and how results are printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from embedviz.errors import BadInput
from embedviz.tokens import Entry, Token

# Lines of progress are read, not watched.
SECONDS_BETWEEN_LINES = 2.0

Text = Annotated[str, typer.Argument(help="The text, in quotes; - reads it from standard input.")]
Model = Annotated[str | None, typer.Option(help="A name that `models` lists, or a folder. Default: smollm2-135m.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of lines to read.")]


def loaded(name: str | None) -> Any:
    """The model of that name or folder, the default one for None; prepared first where need be."""
    from embedviz.models.catalog import default
    from embedviz.models.load import load

    return load(default().name if name is None else name, Progress())


class Progress:
    """Print what is being prepared, one line a stage, on stderr."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, words: str, share: float | None) -> None:
        """Say what is being done, unless that was the last thing said."""
        if words != self._last:
            self._last = words
            print(words if share is None else f"{words} ({share:.0%})", file=sys.stderr, flush=True)


def read_text(argument: str) -> str:
    """A text as it was given, or standard input for `-`."""
    if argument != "-":
        return argument
    if sys.stdin is None:
        raise BadInput("There is no standard input to read: give the text itself.")
    return sys.stdin.buffer.read().decode(errors="replace").removesuffix("\n")


def print_json(value: Any) -> None:
    """Print a result as one line of JSON. Raises ValueError for a number that JSON does not have."""
    print(json.dumps(value, ensure_ascii=False, allow_nan=False))


def say(notes: Sequence[str]) -> None:
    """Print sentences on stderr, so that a result can go on to another program."""
    for note in notes:
        print(note, file=sys.stderr)


def token_values(token: Token) -> dict[str, Any]:
    """A token by the names of the contract."""
    part = {"part": {"number": token.part[0], "of": token.part[1], "characters": token.part[2]}} if token.part else {}
    return {
        "position": token.position,
        "id": token.id,
        "text": token.text,
        "piece": token.piece,
        "bytes": token.hex,
        "start": token.start,
        "end": token.end,
        "special": token.special,
    } | part


def entry_values(entry: Entry) -> dict[str, Any]:
    """An entry of the vocabulary by the names of the contract."""
    return {
        "id": entry.id,
        "text": entry.text,
        "piece": entry.piece,
        "bytes": entry.hex,
        "special": entry.special,
    }


def named(entry: Entry) -> str:
    """An entry as the beginning of a line."""
    return f"{entry.label:<16} id {entry.id:<6}"


def must_list(top: int) -> None:
    """Raise BadInput where nothing would be listed."""
    if top < 1:
        raise BadInput(f"The number of tokens to show must be at least 1; {top} was given.")
