"""The id is only an index: what the size of an id says about its row, and what the order of the list still carries.

Lists are made from the most frequent piece to the rarest, so the order is not empty, although the numbers are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedviz.errors import BadInput
from embedviz.geometry import cosine
from embedviz.neighbours import Neighbour
from embedviz.numbers import decimal
from embedviz.table import EmbeddingTable
from embedviz.tokens import Vocabulary
from embedviz.vocabulary_search import entry_list

# Pairs compared at a time, so that no copy of half a table is made.
BATCH = 1_000
# A correlation below this is none to speak of; 20,000 pairs are off by .01 or so.
NOTHING = 0.05


@dataclass(frozen=True, eq=False)
class IdOrder:
    """Random pairs of rows: how far apart their ids are, and how alike the rows.

    cosines: (pair,) of the two rows, without any centring.
    distances: (pair,) |id difference|; shuffled_distances: (pair,) the same pairs after the ids are dealt out anew.
    correlation, shuffled: Pearson correlation of each with the cosines.
    length_correlation: Pearson correlation of a row's length with the logarithm of id + 1, over all the rows used.
    mean, std: of the cosines.
    rows: number of rows that pairs are drawn from: those that plain text selects and that have a length.
    low, high: mean cosine of the pairs whose ids are both in the lowest and in the highest fifth; NaN without such.
    """

    cosines: NDArray[np.float64]
    distances: NDArray[np.int64]
    shuffled_distances: NDArray[np.int64]
    correlation: float
    shuffled: float
    length_correlation: float
    mean: float
    std: float
    rows: int
    low: float
    high: float

    @property
    def sentence(self) -> str:
        """What the order carries, beside the same pairs with shuffled ids, and what any two rows have in common."""
        far = "about as alike" if not abs(self.correlation) >= NOTHING else "less alike"
        far = "more alike" if self.correlation >= NOTHING else far
        far = f"a little {far}" if NOTHING <= abs(self.correlation) < 0.4 else far
        order = "Low ids are frequent pieces, so the order is not empty."
        if far == "about as alike":
            order = "Low ids are frequent pieces; of likeness the order says nothing here."
        return (
            f"{order} Rows far apart in id are {far}: correlation {decimal(self.correlation)}; with shuffled ids "
            f"{decimal(self.shuffled)}. Two rows at random have cosine {decimal(self.mean)}."
        )

    def beside(self, label: str, mean: float) -> str:
        """Why one row's mean cosine with all rows differs from that of all pairs, where these numbers show it."""
        told = f"For {label} alone the mean is {decimal(mean)}"
        if not (mean < self.mean and self.low < self.mean < self.high):
            return f"{told}."
        return (
            f"{told}: rows of rare tokens are much alike, and pull the mean of all pairs up. "
            f"Among the highest fifth of the ids it is {decimal(self.high)}, among the lowest {decimal(self.low)}."
        )


def id_order(table: EmbeddingTable, vocabulary: Vocabulary, *, pairs: int = 20_000, seed: int = 0) -> IdOrder:
    """Draw pairs of different rows and correlate their id distance with their cosine, as it is and with ids shuffled.

    Raises BadInput for fewer than 3 pairs or rows, of which no correlation says anything.
    """
    ids = np.flatnonzero(entry_list(vocabulary).ordinary & (table.lengths > 0))
    if pairs < 3 or len(ids) < 3:
        raise BadInput(f"A correlation needs at least 3 pairs of rows; {min(pairs, len(ids))} were given.")
    generator = np.random.default_rng(seed)
    first = generator.integers(len(ids), size=pairs)
    # A step of 1 … n − 1 around the list never ends where it began.
    second = (first + generator.integers(1, len(ids), size=pairs)) % len(ids)
    cosines = np.concatenate(
        [
            cosine(table.values[ids[first[k : k + BATCH]]], table.values[ids[second[k : k + BATCH]]])
            for k in range(0, pairs, BATCH)
        ]
    )
    distances = np.abs(ids[first] - ids[second])
    fifth = len(ids) // 5
    low = cosines[(first < fifth) & (second < fifth)]
    high = cosines[(first >= len(ids) - fifth) & (second >= len(ids) - fifth)]
    dealt = generator.permutation(ids)
    shuffled_distances = np.abs(dealt[first] - dealt[second])
    for array in (cosines, distances, shuffled_distances):
        array.flags.writeable = False
    return IdOrder(
        cosines,
        distances,
        shuffled_distances,
        _correlation(distances, cosines),
        _correlation(shuffled_distances, cosines),
        _correlation(np.log(ids + 1), table.lengths[ids]),
        float(cosines.mean()),
        float(cosines.std()),
        len(ids),
        *(float(part.mean()) if len(part) else float("nan") for part in (low, high)),
    )


def _correlation(a: NDArray[np.number], b: NDArray[np.number]) -> float:
    """Pearson's; NaN where one side never changes."""
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def next_ids(table: EmbeddingTable, vocabulary: Vocabulary, id: int, *, most: int = 3) -> tuple[Neighbour, ...]:
    """The rows whose ids are closest to an id, in the order of the ids, with their cosine to its row.

    rank 1 is the closest id; of two as close the higher one comes first. Nothing is left out: an id is only an index.
    """
    row = table.lookup([id])[0]
    around = [id + step for k in range(1, most + 1) for step in (k, -k) if 0 <= id + step < table.rows][:most]
    # At an end of the list all the closest ids lie on one side.
    values = cosine(table.values[around], row)
    found = [Neighbour(k, vocabulary.entry(one), float(values[k - 1])) for k, one in enumerate(around, start=1)]
    return tuple(sorted(found, key=lambda one: one.entry.id))
