"""Two texts side by side: which tokens gain and lose, and how much each token of a text surprises the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embedviz.errors import BadInput
from embedviz.next_token import Distribution, NextToken
from embedviz.tokens import Entry, Tokens

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel


@dataclass(frozen=True)
class Change:
    """One token's probability after a first and after a second text; matched by id."""

    entry: Entry
    first: float
    second: float

    @property
    def difference(self) -> float:
        """Second less first."""
        return self.second - self.first


def changes(model: LanguageModel, first: Distribution, second: Distribution, top: int = 10) -> tuple[Change, ...]:
    """The `top` tokens whose probability differs most, from the largest loss to the largest gain.

    Raises BadInput for a `top` below 1.
    """
    if top < 1:
        raise BadInput(f"The number of tokens to show must be at least 1; {top} was given.")
    before, after = first.probabilities, second.probabilities
    difference = after - before
    ids = np.argsort(-np.abs(difference), kind="stable")[:top]
    return tuple(
        Change(model.vocabulary.entry(int(id)), float(before[id]), float(after[id]))
        for id in ids[np.argsort(difference[ids], kind="stable")]
    )


@dataclass(frozen=True, eq=False)
class Surprise:
    """How unexpected each token of a text is.

    nats: (token,) −ln p of the token given those before it, read-only; NaN for the first, which nothing stands before.
    """

    tokens: Tokens
    nats: NDArray[np.float64]

    @property
    def mean(self) -> float:
        """Mean over all tokens but the first, in nats; NaN for one token."""
        return float(self.nats[1:].mean()) if len(self.nats) > 1 else float("nan")


def surprise(model: LanguageModel, result: NextToken) -> Surprise:
    """The surprise of each token of a text, from one run over its rows, edited or not.

    Raises BadInput for a model whose scores cannot be read at all positions at once.
    """
    nats = np.full(len(result.tokens), np.nan)
    nats[1:] = -model.log_probabilities(result.rows, result.tokens.ids)
    nats.flags.writeable = False
    return Surprise(result.tokens, nats)
