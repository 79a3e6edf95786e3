"""One score, added up: the product of the last state with a token's output row, coordinate by coordinate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embedviz.table import Vectors
from embedviz.tokens import Entry

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel


@dataclass(frozen=True, eq=False)
class ScoreParts:
    """A score as a sum.

    products: (dimension,) float64, last state times output row, by coordinate; their sum and the bias make the logit.
    bias: what the head adds whatever the text; 0 where it adds nothing. logit: as the model itself gave it.
    order: (dimension,) coordinates by the size of their product, largest first, whatever the sign.
    running: (dimension,) the sum of the products in that order. Arrays are read-only.
    """

    entry: Entry
    products: NDArray[np.float64]
    bias: float
    logit: float
    order: NDArray[np.intp]
    running: NDArray[np.float64]

    def largest(self, count: int) -> NDArray[np.intp]:
        """Coordinates of the largest positive products, largest first; fewer where there are not as many."""
        order = np.argsort(-self.products, kind="stable")[:count]
        return order[self.products[order] > 0]

    def smallest(self, count: int) -> NDArray[np.intp]:
        """Coordinates of the products farthest below 0, farthest first; fewer where there are not as many."""
        order = np.argsort(self.products, kind="stable")[:count]
        return order[self.products[order] < 0]


def score_parts(model: LanguageModel, rows: Vectors, id: int) -> ScoreParts:
    """Take the score of one entry after a text apart, given the text's rows (token, dimension).

    Raises BadInput for an id outside the list, and for a model whose scores are more than this product.
    """
    entry = model.vocabulary.entry(id)
    states, logits = model.last_states(rows)
    products = states[-1].astype(np.float64) * model.output_table.values[id]
    order = np.argsort(-np.abs(products), kind="stable")
    bias = 0.0 if model.output_bias is None else float(model.output_bias[id])
    running = np.cumsum(products[order])
    for array in (products, order, running):
        array.flags.writeable = False
    return ScoreParts(entry, products, bias, float(logits[id]), order, running)
