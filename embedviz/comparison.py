"""One vector against every row of a table, by cosine, dot product and Euclidean distance.

One matrix–vector product in float32 gives all three, because the rows' lengths are known beforehand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from embedviz.errors import BadInput
from embedviz.geometry import cosine
from embedviz.table import EmbeddingTable, Vectors

Metric = Literal["cosine", "dot", "euclidean"]
METRICS: tuple[Metric, ...] = get_args(Metric)


def metric_named(name: str) -> Metric:
    """The metric of a name. Raises BadInput for any other."""
    for metric in METRICS:
        if name == metric:
            return metric
    raise BadInput(f"There is no metric {name!r}: choose cosine, dot or euclidean.")


@dataclass(frozen=True)
class Baseline:
    """A vector's own values with all rows of the table that have a length, the ground its neighbours stand on.

    mean, std: of the values, std over the population.
    quantile: 99 of 100 rows lie below it (for distances: above it).
    rows: number of rows.
    """

    mean: float
    std: float
    quantile: float
    rows: int


@dataclass(frozen=True, eq=False)
class Comparison:
    """One vector against every row of a table.

    vector: (dimension,) float64, the origin subtracted.
    origin: (dimension,) float64, what is subtracted from vector and rows alike: zeros, or the table's mean row.
    products: (row,) float32 dot products; lengths: (row,) float32 of the rows, from the origin.
    """

    table: EmbeddingTable
    vector: NDArray[np.float64]
    origin: NDArray[np.float64]
    products: Vectors
    lengths: Vectors

    @property
    def length(self) -> float:
        """Euclidean length of the vector."""
        return float(np.linalg.norm(self.vector))

    def values(self, metric: Metric) -> Vectors:
        """(row,) float32 values of a metric for every row of the table; cosines are NaN where undefined."""
        if metric == "dot":
            return self.products
        if metric == "cosine":
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.clip(self.products / (self.lengths * np.float32(self.length)), -1.0, 1.0)
        return np.sqrt(np.maximum(np.square(self.lengths) - 2 * self.products + np.float32(self.length**2), 0))

    def exact(self, metric: Metric, ids: NDArray[np.intp]) -> NDArray[np.float64]:
        """(id,) values of a metric for some rows, in float64, to 12 decimals."""
        rows = self.table.values[ids] - self.origin
        if metric == "cosine":
            values = cosine(rows, self.vector)
        else:
            values = rows @ self.vector if metric == "dot" else np.linalg.norm(rows - self.vector, axis=1)
        # The last bits depend on how many rows are computed at once; equal rows must stay equal.
        return np.round(values, 12)

    def baseline(self, metric: Metric) -> Baseline:
        """Mean, standard deviation and 99 % quantile of a metric over all rows that have a length."""
        values = self.values(metric)
        # Lengths are positive nearly always, and a copy of the values costs more than looking.
        values = values if self.lengths.all() else values[self.lengths > 0]
        if not len(values) or (metric == "cosine" and self.length == 0):
            return Baseline(np.nan, np.nan, np.nan, len(values))
        # The place below which 99 of 100 values lie, without sorting them all.
        place = int(0.01 * len(values)) if metric == "euclidean" else min(int(0.99 * len(values)), len(values) - 1)
        quantile = float(np.partition(values, place)[place])
        return Baseline(
            float(values.mean(dtype=np.float64)), float(values.std(dtype=np.float64)), quantile, len(values)
        )


def compare(table: EmbeddingTable, vector: NDArray[np.floating], *, centre: bool = False) -> Comparison:
    """Compare a vector (dimension,) with every row; with `centre`, after the table's mean row is subtracted from all.

    Raises BadInput for a vector that is not finite.
    """
    if not np.isfinite(vector).all():
        raise BadInput("This vector holds numbers that are not finite: it can be compared with nothing.")
    origin = table.mean_row if centre else np.zeros(table.dimensions)
    moved = vector.astype(np.float64) - origin
    products = table.values @ moved.astype(np.float32)
    if centre:
        products -= np.float32(origin @ moved)
    return Comparison(table, moved, origin, products, table.centred_lengths if centre else table.lengths)
