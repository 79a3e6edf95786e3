"""The rows nearest to a vector in the whole table, by cosine, dot product and Euclidean distance.

The few rows that float32 leaves room for in a list are computed again in float64, so that order and values are those
of a plain float64 computation over the whole table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedviz.comparison import METRICS, Baseline, Comparison, Metric, compare
from embedviz.errors import BadInput
from embedviz.geometry import cosine
from embedviz.numbers import decimal, things
from embedviz.table import EmbeddingTable, Vectors
from embedviz.tokens import Entry, Vocabulary
from embedviz.vocabulary_search import entry_list, named

# How far float32 may be off, as a share of the longest possible product: ten times what 49,152 rows of 576 show.
ROUNDING = 1e-5


@dataclass(frozen=True)
class Neighbour:
    """One row of a list. rank 1 is the nearest; value in the units of the list's metric, NaN where undefined."""

    rank: int
    entry: Entry
    value: float


@dataclass(frozen=True)
class LeftOut:
    """Rows that have no place in a list, each counted once.

    inputs: the entries that were asked about.
    special: control entries and the unknown entry; unused: rows that no text selects; zero: rows without length.
    """

    inputs: tuple[Entry, ...]
    special: int
    unused: int
    zero: int

    @property
    def total(self) -> int:
        """Number of rows left out."""
        return len(self.inputs) + self.special + self.unused + self.zero

    @property
    def sentence(self) -> str:
        """What is left out, in words; empty if nothing is."""
        parts = [] if not self.inputs else [named(self.inputs)]
        parts += [] if not self.special else [things(self.special, "special token")]
        parts += [] if not self.unused else [things(self.unused, "unused row")]
        parts += [] if not self.zero else [things(self.zero, "row without length", "rows without length")]
        return f"Left out: {', '.join(parts)}." if parts else ""


@dataclass(frozen=True)
class Neighbours:
    """The rows nearest to a vector by one metric.

    metric: "cosine" and "dot": higher is nearer; "euclidean": lower is nearer.
    nearest: best first, equal values in the order of their ids.
    """

    metric: Metric
    nearest: tuple[Neighbour, ...]
    left_out: LeftOut
    baseline: Baseline


def nearest(
    compared: Comparison,
    vocabulary: Vocabulary,
    metric: Metric = "cosine",
    *,
    top: int = 10,
    inputs: Sequence[int] = (),
) -> Neighbours:
    """The `top` nearest rows by one metric, without the `inputs`, special tokens, unused rows and rows without length.

    Raises BadInput for a `top` below 1, and where the vector has no direction to compare.
    """
    if top < 1:
        raise BadInput(f"The number of tokens to show must be at least 1; {top} was given.")
    _must_have_length(compared, metric)
    allowed, left_out = _places(compared, vocabulary, inputs)
    keys, slack = _keys(compared, metric)
    keys[~allowed] = -np.inf
    top = min(top, int(allowed.sum()))
    if top == 0:
        return Neighbours(metric, (), left_out, compared.baseline(metric))
    floor = np.partition(keys, -top)[-top] - slack
    ids = np.flatnonzero((keys >= floor) & allowed)
    values = compared.exact(metric, ids)
    order = np.lexsort((ids, values if metric == "euclidean" else -values))[:top]
    found = tuple(
        Neighbour(rank, vocabulary.entry(int(ids[k])), float(values[k])) for rank, k in enumerate(order, start=1)
    )
    return Neighbours(metric, found, left_out, compared.baseline(metric))


def by_every_metric(
    compared: Comparison, vocabulary: Vocabulary, *, top: int = 10, inputs: Sequence[int] = ()
) -> dict[Metric, Neighbours]:
    """The three lists side by side, from one comparison."""
    return {metric: nearest(compared, vocabulary, metric, top=top, inputs=inputs) for metric in METRICS}


def rank_of(
    compared: Comparison, vocabulary: Vocabulary, id: int, metric: Metric = "cosine", *, inputs: Sequence[int] = ()
) -> Neighbour:
    """The place that one entry has in the whole list. Raises BadInput for an entry that the list leaves out."""
    entry = vocabulary.entry(id)
    _must_have_length(compared, metric)
    allowed, _ = _places(compared, vocabulary, inputs)
    if not allowed[id]:
        raise BadInput(f"{entry.label} is left out of this list, so it has no place in it.")
    keys, slack = _keys(compared, metric)
    keys[~allowed] = -np.inf
    close = np.flatnonzero(np.abs(keys - keys[id]) <= slack)
    values = compared.exact(metric, close)
    own = float(values[close == id][0])
    better = values < own if metric == "euclidean" else values > own
    ahead = int(np.sum(keys > keys[id] + slack)) + int(np.sum(better | ((values == own) & (close < id))))
    return Neighbour(ahead + 1, entry, own)


def _must_have_length(compared: Comparison, metric: Metric) -> None:
    if metric != "euclidean" and compared.length == 0:
        raise BadInput("This vector is all zeros: it has no direction, so nothing is near it by cosine or dot product.")


def _keys(compared: Comparison, metric: Metric) -> tuple[Vectors, float]:
    """(row,) values that grow with nearness, free to be overwritten, and how far rounding may have moved them."""
    longest = float(compared.lengths.max(initial=0.0))
    if metric == "cosine":
        return compared.values("cosine").copy(), ROUNDING
    if metric == "dot":
        return compared.products.copy(), ROUNDING * longest * compared.length
    # Half the square of the distance, without the part that all rows share.
    keys: Vectors = (compared.products - np.square(compared.lengths) / np.float32(2)).astype(np.float32, copy=False)
    return keys, ROUNDING * longest * (compared.length + longest)


def _places(compared: Comparison, vocabulary: Vocabulary, inputs: Sequence[int]) -> tuple[NDArray[np.bool_], LeftOut]:
    """(row,) which rows may stand in a list, and the count of those that may not."""
    listed = entry_list(vocabulary)
    asked = tuple(vocabulary.entry(id) for id in dict.fromkeys(inputs))
    ids = [entry.id for entry in asked]
    allowed = listed.ordinary & (compared.table.lengths > 0) & (compared.lengths > 0)
    others = np.setdiff1d(np.flatnonzero(~allowed), ids)
    allowed[ids] = False
    kinds = [listed.entries[id].kind for id in others]
    special, unused = sum(kind in ("special", "unknown") for kind in kinds), kinds.count("unused")
    return allowed, LeftOut(asked, special, unused, len(kinds) - special - unused)


@dataclass(frozen=True)
class TwoTables:
    """One entry in a model that looks up one table and scores with another.

    own: cosine of its input row with its output row.
    input, output: its neighbours among the input rows and among the output rows.
    shared: how many entries stand in both lists.
    """

    own: float
    input: Neighbours
    output: Neighbours
    shared: int

    @property
    def sentence(self) -> str:
        """How far the two tables agree on this entry."""
        return (
            f"This model has a second table for the scores. Cosine of this token's input row with its output row: "
            f"{decimal(self.own)}. Of {len(self.input.nearest)} nearest rows, {self.shared} are the same in both."
        )


def in_both_tables(
    table: EmbeddingTable, output_table: EmbeddingTable, vocabulary: Vocabulary, id: int, *, top: int = 10
) -> TwoTables:
    """Compare an entry's neighbours by cosine in the input and in the output table of an untied model.

    Raises BadInput where both are the same table.
    """
    if table is output_table:
        raise BadInput("This model has one table for both: the rows it looks up also give its scores, or it has none.")
    lists, rows = [], []
    for one in (table, output_table):
        rows.append(one.lookup([id])[0])
        lists.append(nearest(compare(one, rows[-1]), vocabulary, top=top, inputs=[id]))
    shared = {one.entry.id for one in lists[0].nearest} & {one.entry.id for one in lists[1].nearest}
    return TwoTables(float(cosine(rows[0], rows[1])), lists[0], lists[1], len(shared))
