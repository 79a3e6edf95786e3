"""Sums of rows: row(A) − row(B) + row(C), read as "B is to A as C is to the answer" (Mikolov et al. 2013)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedviz.comparison import Comparison, compare
from embedviz.errors import BadInput
from embedviz.meaning import Meaning, notes_of
from embedviz.neighbours import Neighbour, Neighbours, nearest, rank_of
from embedviz.numbers import count, decimal
from embedviz.table import EmbeddingTable
from embedviz.tokens import Vocabulary, visible
from embedviz.vocabulary_search import entry_list


@dataclass(frozen=True, eq=False)
class Analogy:
    """A sum of three rows and what lies nearest to it.

    centred: whether the table's mean row was subtracted from the sum and from every row before comparing.
    compared: the sum against all rows.
    neighbours: nearest by cosine; the three inputs are left out and counted, because they nearly always lie nearest.
    notes: one sentence for each thing that makes the sum say less than it seems.
    """

    a: Meaning
    b: Meaning
    c: Meaning
    centred: bool
    compared: Comparison
    neighbours: Neighbours
    notes: tuple[str, ...]

    @property
    def sum(self) -> str:
        """The first notation: `␣king − ␣man + ␣woman`."""
        return f"{self.a.label} − {self.b.label} + {self.c.label}"

    @property
    def proportion(self) -> str:
        """The second notation: `␣man is to ␣king as ␣woman is to …`."""
        return f"{self.b.label} is to {self.a.label} as {self.c.label} is to …"

    @property
    def sentence(self) -> str:
        """What the sum is nearest to, and what is left out."""
        if not self.neighbours.nearest:
            return f"{self.sum}: no row is left to compare it with."
        best = self.neighbours.nearest[0]
        labels = list(dict.fromkeys(one.label for one in (self.a, self.b, self.c)))
        left = "is" if len(labels) == 1 else "are"
        return (
            f"{self.sum} is nearest to {best.entry.label} {decimal(best.value)}; a random row "
            f"{decimal(self.neighbours.baseline.mean)}. {_joined(labels)} {left} left out."
        )

    @property
    def inputs(self) -> tuple[int, ...]:
        """The ids that the list leaves out."""
        return (*self.a.ids, *self.b.ids, *self.c.ids)


def analogy(
    table: EmbeddingTable, vocabulary: Vocabulary, a: Meaning, b: Meaning, c: Meaning, *,
    centre: bool = False, top: int = 10,
) -> Analogy:  # fmt: skip
    """Row(A) − row(B) + row(C) and its nearest rows by cosine.

    Raises BadInput if the sum is all zeros, for then it has no direction.
    """
    compared = compare(table, _sum(a, b, c), centre=centre)
    if compared.length == 0:
        raise BadInput(
            f"{a.label} − {b.label} + {c.label} is all zeros: it points nowhere, so nothing is nearest to it."
        )
    neighbours = nearest(compared, vocabulary, top=top, inputs=(*a.ids, *b.ids, *c.ids))
    return Analogy(a, b, c, centre, compared, neighbours, (*_notes(a, b, c), *hints((a, b, c), vocabulary)))


def _sum(a: Meaning, b: Meaning, c: Meaning) -> NDArray[np.float64]:
    return a.vector.astype(np.float64) - b.vector + c.vector


def _notes(a: Meaning, b: Meaning, c: Meaning) -> tuple[str, ...]:
    """What equal inputs turn the sum into, and the words that are several pieces."""
    notes = [*notes_of((a, b, c))]
    if a.ids == b.ids == c.ids:
        notes.append(f"All three are {a.label}: the sum is its own row, and these are its neighbours.")
    elif a.ids == b.ids or b.ids == c.ids:
        rest = c if a.ids == b.ids else a
        notes.append(f"{b.label} is added and taken away: the sum is the row of {rest.label} itself.")
    elif a.ids == c.ids:
        notes.append(f"{a.label} is added twice.")
    return tuple(notes)


def hints(words: tuple[Meaning, ...], vocabulary: Vocabulary) -> tuple[str, ...]:
    """That words typed without a space before them have another row with it, where they do."""
    listed = entry_list(vocabulary)
    texts = dict.fromkeys(one.typed for one in words if len(one.ids) == 1 and one.typed == one.entries[0].text)
    spaced = {text: listed.by_text[f" {text}"][0] for text in texts if f" {text}" in listed.by_text}
    if not spaced:
        return ()
    others = _joined([listed.entries[id].label for id in spaced.values()])
    which = "is another row" if len(spaced) == 1 else "are other rows"
    return (f"No space stands before {_joined([visible(text) for text in spaced])}; {others} {which}.",)


def _joined(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def expected(result: Analogy, vocabulary: Vocabulary, answer: Meaning) -> Neighbour:
    """The place of an expected answer in the list of all rows.

    Raises BadInput for an answer of several pieces, and for one that the list leaves out.
    """
    if len(answer.ids) != 1:
        raise BadInput(f"The expected answer must be one token. {answer.pieces}")
    return rank_of(result.compared, vocabulary, answer.ids[0], inputs=result.inputs)


def expected_sentence(place: Neighbour) -> str:
    """Where an expected answer stands, as a failure where it is one."""
    rank = place.rank
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    which = "first" if rank == 1 else f"{count(rank)}{ending}"
    return f"The expected {place.entry.label} comes {which}, with {decimal(place.value)}."
