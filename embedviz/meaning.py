"""What a typed text stands for in the table: the row of its one token, or the mean of the rows of several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from embedviz.errors import BadInput
from embedviz.numbers import count
from embedviz.table import Vectors
from embedviz.tokens import Entry
from embedviz.vocabulary_search import by_id, entry_list, is_id, named, shown

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel

LONGEST_LABEL = 24


@dataclass(frozen=True, eq=False)
class Meaning:
    """The vector that a typed text stands for.

    entries: the tokens it is made of, in order.
    vector: (dimension,) float32, the row of the one token, or the mean of the rows of several; read-only.
    notes: one sentence for each thing a reader must know, besides the pieces and how a number was read.
    number: whether it is a bare number that was read as an id.
    """

    typed: str
    entries: tuple[Entry, ...]
    vector: Vectors
    notes: tuple[str, ...]
    number: bool = False

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids of its tokens."""
        return tuple(entry.id for entry in self.entries)

    @property
    def label(self) -> str:
        """How it is called in a sentence: `␣bank`, or `riverbank (mean of 2)`."""
        if len(self.entries) == 1:
            return self.entries[0].label
        return f"{shown(self.typed, LONGEST_LABEL)} (mean of {count(len(self.entries))})"

    @property
    def pieces(self) -> str:
        """The sentence that names its pieces; empty for one token."""
        if len(self.entries) == 1:
            return ""
        return f"{shown(self.typed)} is {count(len(self.entries))} pieces: {named(self.entries)}."


def notes_of(words: Sequence[Meaning]) -> tuple[str, ...]:
    """What a reader of these words must know, each sentence once; what is true of several words is one sentence."""
    numbers, several = [one for one in words if one.number], [one for one in words if one.pieces]
    said = [note for one in words for note in one.notes]
    if len({one.typed for one in numbers}) > 1:
        said.append(f"{count(len(numbers))} of the words are numbers and are read as ids.")
    elif numbers:
        said.append(f"Read as id {numbers[0].ids[0]}. Type a space before the number for its text.")
    if len({one.typed for one in several}) > 1:
        said.append(f"{count(len(several))} of the words are several pieces; the mean of their rows is shown.")
    elif several:
        said.append(f"{several[0].pieces} Shown: their mean.")
    return tuple(dict.fromkeys(said))


def meaning(model: LanguageModel, typed: str) -> Meaning:
    """What a typed text stands for, taken exactly as typed: ` bank` is not `bank`.

    `#5461` is an id, and so is a bare `5461` (`is_id` has the rule). An entry of the list with just that text is its
    own row; any other text is cut into tokens, and the mean of their rows is offered, which `notes_of` says. Raises
    BadInput for an empty text or an id out of range.
    """
    if is_id(model.vocabulary, typed):
        found = of_entries(model, [by_id(model.vocabulary, typed)], typed)
        return replace(found, number=typed.strip()[0] in "+0123456789")
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
    if is_id(model.vocabulary, typed):
        return meaning(model, typed)
    spaced = meaning(model, f" {bare}")
    if len(spaced.entries) == 1:
        return spaced
    plain = spaced if is_id(model.vocabulary, bare) else meaning(model, bare)
    # Nobody typed the space before the pieces.
    return plain if len(plain.entries) == 1 else replace(spaced, typed=bare)


def of_entries(model: LanguageModel, entries: Sequence[Entry], typed: str, notes: Iterable[str] = ()) -> Meaning:
    """The row of one entry, or the mean row of several."""
    rows = model.table.lookup([entry.id for entry in entries])
    vector = rows[0] if len(rows) == 1 else rows.mean(axis=0, dtype=np.float64).astype(np.float32)
    vector.flags.writeable = False
    said = list(notes)
    if len(entries) == 1 and entries[0].kind == "unused":
        said.append(f"Row {entries[0].id} is unused: left out of neighbours.")
    return Meaning(typed, tuple(entries), vector, tuple(said))


def one_token(model: LanguageModel, typed: str) -> Meaning:
    """What a typed text stands for if it is one token. Raises BadInput that shows the pieces if it is several."""
    found = meaning(model, typed)
    if len(found.entries) > 1:
        hint = "Choose one."
        if not typed.startswith(" ") and len(spaced := meaning(model, f" {typed}").entries) == 1:
            hint = f"With a space before it, {spaced[0].label} is one token."
        raise BadInput(f"{shown(typed)} is {count(len(found.entries))} tokens: {named(found.entries)}. {hint}")
    return replace(found, notes=notes_of([found]), number=False)
