"""Layer by layer: each layer's last vector scored as if it were the last one (logit lens, nostalgebraist 2020).

The early layers were never trained to be read this way: their scores are not calibrated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embedviz.next_token import Distribution
from embedviz.numbers import count
from embedviz.table import Vectors
from embedviz.tokens import Entry

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel

UNCALIBRATED = "The early layers were never trained to be read this way."


@dataclass(frozen=True, eq=False)
class LogitLens:
    """The scores that each layer's last vector would give.

    logits: (layer, row) float32, read-only; layer 0 is the row fed in, the last one holds the model's own scores.
    winner: the most likely token at the end. first: the layer from which it first leads; stays: the layer from which
        it leads without a break.
    """

    logits: Vectors
    winner: Entry
    first: int
    stays: int

    def at(self, layer: int) -> Distribution:
        """The scores at one layer."""
        return Distribution(self.logits[layer])

    def ranks(self, id: int) -> NDArray[np.int64]:
        """(layer,) the place of one entry among all, from 1."""
        return np.array([self.at(layer).rank(id) for layer in range(len(self.logits))])

    def probabilities(self, id: int) -> NDArray[np.float64]:
        """(layer,) the probability of one entry."""
        return np.exp([self.at(layer).log_probabilities[id] for layer in range(len(self.logits))])

    @property
    def sentence(self) -> str:
        """When the winner comes up, and what these scores are not."""
        return f"{self.winner.label} first leads {_after(self.first)}{self._break}. {UNCALIBRATED}"

    @property
    def _break(self) -> str:
        return "" if self.first == self.stays else f" and leads for good {_after(self.stays)}"


def _after(layer: int) -> str:
    return f"after block {count(layer)}" if layer else "before block 1"


def logit_lens(model: LanguageModel, rows: Vectors) -> LogitLens:
    """Score the last vector of every layer, given a text's rows (token, dimension).

    Raises BadInput for a model without a next token, or whose final norm is not known.
    """
    states, logits = model.last_states(rows)
    every = np.concatenate([model.scored_early(states[:-1]), logits[None]])
    every.flags.writeable = False
    winner = int(every[-1].argmax())
    leads = every.argmax(axis=1) == winner
    stays = len(leads) - int(np.argmin(leads[::-1])) if not leads.all() else 0
    return LogitLens(every, model.vocabulary.entry(winner), int(leads.argmax()), stays)
