"""What edits of rows do: the scores before and after, where an edited vector lies, the whole way of a slide or fade.

Slides and fades are read in 21 steps, all in one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embedviz.comparison import Baseline, compare
from embedviz.edits import Edit
from embedviz.errors import BadInput
from embedviz.geometry import cosine
from embedviz.meaning import one_token
from embedviz.next_token import Distribution, NextToken, edited_rows, finite, with_edits
from embedviz.table import Vectors
from embedviz.tokens import Entry, Token, Tokens
from embedviz.vocabulary_search import entry_list

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel

STEPS = 21
NO_DIRECTION = "A row of zeros has no direction: cosine undefined."


@dataclass(frozen=True)
class Nearest:
    """The entry whose row is nearest to a vector by cosine, the token's own row included."""

    entry: Entry
    cosine: float


@dataclass(frozen=True)
class EditedRow:
    """One edited row.

    token: the token at its position. length: of the edited vector; original_length: of the token's table row.
    cosine: of both; NaN where one has no direction. baseline: cosines of the token's table row with all rows.
    nearest: the entry nearest to the edited vector; None where it has no direction.
    """

    token: Token
    length: float
    original_length: float
    cosine: float
    baseline: Baseline
    nearest: Nearest | None


@dataclass(frozen=True, eq=False)
class Effect:
    """What some edits of one text did.

    before, after: the results without and with them; one and the same without edits.
    divergence: Kullback–Leibler divergence from before to after, in nats.
    rows: the edited positions in the order of the text. notes: one sentence for each thing a reader must know.
    """

    before: NextToken
    after: NextToken
    divergence: float
    rows: tuple[EditedRow, ...]
    notes: tuple[str, ...]


def effect(model: LanguageModel, before: NextToken, edits: Sequence[Edit]) -> Effect:
    """Do edits on a text's rows and compare; `before` is its unedited result. Raises BadInput as `with_edits` does."""
    after = with_edits(model, before, edits)
    places = sorted({edit.position for edit in edits})
    originals, changed = model.rows(before.tokens)[places], after.rows[places]
    rows = tuple(
        EditedRow(
            before.tokens.tokens[place],
            float(np.linalg.norm(now)),
            float(np.linalg.norm(was)),
            float(cosine(was, now)),
            compare(model.table, was).baseline("cosine"),
            near,
        )
        for place, was, now, near in zip(places, originals, changed, nearest_entries(model, changed), strict=True)
    )
    notes = (NO_DIRECTION,) if any(row.nearest is None for row in rows) else ()
    return Effect(before, after, before.distribution.divergence(after.distribution), rows, notes)


def nearest_entries(model: LanguageModel, vectors: Vectors) -> tuple[Nearest | None, ...]:
    """The nearest entry to each vector (vector, dimension), among rows that plain text can select."""
    table = model.table
    allowed = entry_list(model.vocabulary).ordinary & (table.lengths > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        cosines = np.where(allowed, vectors @ table.values.T / table.lengths, -np.inf)
    ids = cosines.argmax(axis=1)
    values = cosine(table.values[ids], vectors)
    return tuple(
        None if np.isnan(value) else Nearest(model.vocabulary.entry(int(id)), float(value))
        for id, value in zip(ids, values, strict=True)
    )


@dataclass(frozen=True, eq=False)
class Path:
    """The whole way of one slide or fade, the text's other edits in place.

    position: of the token whose row moves. target: the entry slid to; None for a fade, which ends at a row of zeros.
    shares: (step,) of the way, 0 to 1. logits: (step, row) float32. lengths: (step,) of the moving vector.
    nearest: by step, the entry nearest to it; None for a row of zeros. Arrays are read-only.
    """

    tokens: Tokens
    position: int
    target: Entry | None
    shares: NDArray[np.float64]
    logits: Vectors
    lengths: NDArray[np.float64]
    nearest: tuple[Nearest | None, ...]

    def at(self, step: int) -> Distribution:
        """The scores at one step."""
        return Distribution(self.logits[step])

    @cached_property
    def probabilities(self) -> NDArray[np.float32]:
        """(step, row) softmax of the logits, kept in float32: exact to six digits."""
        found = np.stack([self.at(step).probabilities.astype(np.float32) for step in range(len(self.shares))])
        found.flags.writeable = False
        return found

    def highest(self, count: int) -> tuple[int, ...]:
        """Ids of the tokens with the largest probability anywhere on the way, largest first."""
        return tuple(map(int, Distribution(self.probabilities.max(axis=0)).order(count)))

    @property
    def largest(self) -> float:
        """The largest probability of the whole way: the end of the bars' scale."""
        return float(self.probabilities.max())

    @property
    def leaders(self) -> tuple[int, ...]:
        """Id of the most likely token by step."""
        return tuple(map(int, self.logits.argmax(axis=1)))


def path(model: LanguageModel, before: NextToken, edits: Sequence[Edit], moving: int = -1) -> Path:
    """Follow one of some edits, a slide or a scale, from none of it to all; the others stay done, in their order.

    before: the text's unedited result. moving: which of the edits; its own value is not used. A slide runs to the other
    token's row, a scale from 1 to 0. Raises BadInput for an edit that has no way, and as `with_edits` does.
    """
    edit = edits[moving]
    if edit.operation not in ("slide", "scale"):
        raise BadInput(f"Only a slide and a scale have a way between; {edit.operation} has none.")
    shares = np.linspace(0, 1, STEPS)
    before_it, after_it = edits[: moving % len(edits)], edits[moving % len(edits) + 1 :]
    values = shares if edit.operation == "slide" else 1 - shares
    rows = np.stack(
        [edited_rows(model, before, [*before_it, replace(edit, value=float(v)), *after_it]) for v in values]
    )
    logits, moved = finite(model.scores_batch(rows)), rows[:, edit.position]
    lengths = np.linalg.norm(moved.astype(np.float64), axis=1)
    for array in (shares, logits, lengths):
        array.flags.writeable = False
    target = one_token(model, edit.target).entries[0] if edit.operation == "slide" else None
    return Path(before.tokens, edit.position, target, shares, logits, lengths, nearest_entries(model, moved))
