"""Going on step by step: tokens added one by one, each step's scores kept, each choice reversible."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from embedviz.errors import BadInput
from embedviz.next_token import Distribution, NextToken, Sampling
from embedviz.numbers import count

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel

# Steps whose scores are kept: 20 MB for 49,152 rows.
MOST = 100


@dataclass(frozen=True)
class Step:
    """One token added, and how it was chosen."""

    id: int
    sampling: Sampling


@dataclass(frozen=True, eq=False)
class Walk:
    """A text that goes on.

    start: the text and its scores. steps: the tokens added, in order.
    distributions: the scores each step was chosen from, then those after the last; one more than there are steps.
    """

    start: NextToken
    steps: tuple[Step, ...]
    distributions: tuple[Distribution, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        """The text's ids with those added, a start token included."""
        return self.start.tokens.ids + tuple(step.id for step in self.steps)

    def back(self, number: int = 1) -> Walk:
        """The walk before its last steps; drawn again with the same sampling, the same tokens come."""
        kept = max(0, len(self.steps) - number)
        return replace(self, steps=self.steps[:kept], distributions=self.distributions[: kept + 1])


def begin(start: NextToken) -> Walk:
    """A walk without a step yet."""
    return Walk(start, (), (start.distribution,))


def go_on(model: LanguageModel, walk: Walk, sampling: Sampling, number: int = 1) -> Walk:
    """Add tokens, each chosen from the scores after the one before; every token is read once, into a cache.

    Raises BadInput beyond `MOST` steps and beyond what the model reads at once.
    """
    room = min(MOST - len(walk.steps), model.spec.context - len(walk.ids))
    if number > room:
        raise BadInput(f"{count(max(room, 0))} more tokens can be added here; {count(number)} were asked for.")
    if number < 1:
        raise BadInput(f"The number of tokens to add must be at least 1; {number} was given.")
    steps, distributions = list(walk.steps), list(walk.distributions)
    added = [step.id for step in steps]
    read = None
    for _ in range(number):
        id = sampling.draw(distributions[-1], len(steps))
        steps.append(Step(id, sampling))
        if read is None:
            # The first new token is read with all before it, which fills the cache and gives its scores at once.
            read, logits = model.reader(np.concatenate([walk.start.rows, model.table.lookup([*added, id])]))
        else:
            logits = read(id)
        distributions.append(Distribution(logits))
    return Walk(walk.start, tuple(steps), tuple(distributions))
