"""What a typed text stands for in the table: the row of its one token, or the mean of the rows of several."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from embedviz.errors import BadInput
from embedviz.numbers import count
from embedviz.table import Vectors
from embedviz.tokens import Entry
from embedviz.vocabulary_search import by_id, entry_list, named, shown

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel


@dataclass(frozen=True, eq=False)
class Meaning:
    """The vector that a typed text stands for.

    entries: the tokens it is made of, in order.
    vector: (dimension,) float32, the row of the one token, or the mean of the rows of several; read-only.
    notes: one sentence for each thing a reader must know.
    """

    typed: str
    entries: tuple[Entry, ...]
    vector: Vectors
    notes: tuple[str, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of its tokens."""
        return tuple(entry.id for entry in self.entries)

    @property
    def label(self) -> str:
        """How it is called in a sentence: `␣bank`, or `mean of ␣river + bank`."""
        return self.entries[0].label if len(self.entries) == 1 else f"mean of {named(self.entries, ' + ')}"


def meaning(model: LanguageModel, typed: str) -> Meaning:
    """What a typed text stands for, taken exactly as typed: ` bank` is not `bank`.

    `#5461` is an id. An entry of the list with just that text is its own row; any other text is cut into tokens, and
    the mean of their rows is offered, which `notes` says. Raises BadInput for an empty text or an id out of range.
    """
    if re.fullmatch(r"#\s*[+-]?[0-9.,]+", typed.strip()):
        return of_entries(model, [by_id(model.vocabulary, typed)], typed)
    if not typed.strip("\0"):
        raise BadInput("Nothing was typed: type a word, or #5461 for an id.")
    listed = entry_list(model.vocabulary)
    if typed in listed.by_text:
        return of_entries(model, [listed.entries[listed.by_text[typed][0]]], typed)
    tokens = model.tokenise(typed)
    # Some tokenizers put tokens of their own around a text; these stand for none of its characters.
    entries = [listed.entries[token.id] for token in tokens.tokens if token.end > token.start]
    if not entries:
        raise BadInput(f"The tokenizer leaves out {shown(typed)}: no token holds it. Type a word.")
    return of_entries(model, entries, typed, tokens.notes)


def word(model: LanguageModel, typed: str) -> Meaning:
    """What a word of running text stands for: with a space before it if that is one token, else as typed.

    For lists of words, where nobody types the spaces. Raises BadInput as `meaning` does.
    """
    bare = typed.strip()
    if not bare:
        raise BadInput("One of the words is blank: type a word.")
    if bare.startswith("#"):
        return meaning(model, bare)
    spaced = meaning(model, f" {bare}")
    if len(spaced.entries) == 1:
        return spaced
    plain = meaning(model, bare)
    return plain if len(plain.entries) == 1 else spaced


def of_entries(model: LanguageModel, entries: Sequence[Entry], typed: str, notes: Iterable[str] = ()) -> Meaning:
    """The row of one entry, or the mean row of several, with the sentence that names the pieces."""
    rows = model.table.lookup([entry.id for entry in entries])
    vector = rows[0] if len(rows) == 1 else rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    vector.flags.writeable = False
    said = list(notes)
    if len(entries) > 1:
        said.append(f"{shown(typed)} is {count(len(entries))} pieces: {named(entries)}. Shown: their mean.")
    elif entries[0].kind == "unused":
        said.append(f"Row {entries[0].id} is unused: left out of neighbours.")
    return Meaning(typed, tuple(entries), vector, tuple(said))


def one_token(model: LanguageModel, typed: str) -> Meaning:
    """What a typed text stands for if it is one token. Raises BadInput that shows the pieces if it is several."""
    found = meaning(model, typed)
    if len(found.entries) > 1:
        hint = "Name one of them, or an id as #5461."
        if not typed.startswith(" ") and len(spaced := meaning(model, f" {typed}").entries) == 1:
            hint = f"With a space before it, {spaced[0].label} is one token."
        raise BadInput(f"{shown(typed)} is {count(len(found.entries))} tokens: {named(found.entries)}. {hint}")
    return found
