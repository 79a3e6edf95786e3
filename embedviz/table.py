"""The embedding table: one learned row of numbers for each id.

The id selects the row and says nothing else. Nothing here knows of contexts: a row is what every use of its token
starts from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from embedviz.errors import BadInput

Vectors = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class EmbeddingTable:
    """The rows of a model's lookup.

    values: (row, dimension) float32, read-only, sharing the model's own memory.
    tied: whether the same table also gives the next-token scores.
    """

    values: Vectors
    tied: bool

    @property
    def rows(self) -> int:
        """Number of ids."""
        return int(self.values.shape[0])

    @property
    def dimensions(self) -> int:
        """Number of coordinates of a row."""
        return int(self.values.shape[1])

    @cached_property
    def lengths(self) -> Vectors:
        """(row,) Euclidean length of every row."""
        # np.linalg.norm would hold a second table in memory while it works.
        return np.sqrt(np.einsum("ij,ij->i", self.values, self.values))

    @cached_property
    def mean_row(self) -> NDArray[np.float64]:
        """(dimension,) the mean of all rows."""
        return self.values.mean(axis=0, dtype=np.float64)

    @cached_property
    def centred_lengths(self) -> Vectors:
        """(row,) Euclidean length of every row after the mean row is subtracted."""
        mean = self.mean_row
        squares = np.square(self.lengths, dtype=np.float64) - 2 * (self.values @ mean.astype(np.float32)) + mean @ mean
        return np.sqrt(np.maximum(squares, 0)).astype(np.float32)

    def lookup(self, ids: Sequence[int]) -> Vectors:
        """The rows of some ids as (id, dimension), a copy. Raises BadInput for an id outside the table."""
        outside = [id for id in ids if not 0 <= id < self.rows]
        if outside:
            raise BadInput(f"Ids run from 0 to {self.rows - 1}; {outside[0]} is not one of them.")
        return self.values[list(ids)]

    def cosines(self, vector: Vectors) -> Vectors:
        """(row,) cosine of one vector with every row; NaN for rows without length, and everywhere if it has none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.clip(self.values @ vector / (self.lengths * np.linalg.norm(vector)), -1.0, 1.0)
