"""Order and position: the same rows in another order, and the same tokens counted as standing elsewhere.

Both show where a network learns of place: GPT-2 adds a vector before block 1; rotary models turn queries and keys
inside each block (Su et al. 2021), so that only distances count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embedviz.errors import BadInput
from embedviz.next_token import Distribution, NextToken
from embedviz.numbers import share
from embedviz.table import Vectors

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel
    from embedviz.tokens import Tokens

# How many places later; the tokens that are moved, so that a long text costs no more.
OFFSETS = (0, 1, 2, 4, 8, 16, 32, 64)
TOKENS = 16
# Turning by large angles in float32 moves a vector by 1e-5 of its length; added positions move it by a tenth and more.
ROUNDING = 1e-3


@dataclass(frozen=True, eq=False)
class Reordered:
    """One text's rows in another order, the last token kept last.

    order: for each place, the position that its row had before. rows: (token, dimension) read-only.
    divergence: Kullback–Leibler divergence from the scores before to those after, in nats.
    """

    before: NextToken
    order: tuple[int, ...]
    rows: Vectors
    after: Distribution
    divergence: float


def reordered(model: LanguageModel, before: NextToken, seed: int = 0) -> Reordered:
    """Shuffle a text's rows, but for the last one and a start token. Raises BadInput for a text too short for it."""
    first, last = int(before.tokens.start_token), len(before.tokens) - 1
    ids = before.tokens.ids[first:last]
    if len(set(ids)) < 2:
        raise BadInput("There is no other order: type at least two different words before the last one.")
    random, order = np.random.default_rng(seed), np.arange(last + 1)
    while [before.tokens.ids[k] for k in order[first:last]] == list(ids):
        order[first:last] = random.permutation(np.arange(first, last))
    rows = before.rows[order]
    rows.flags.writeable = False
    after = Distribution(model.scores(rows))
    return Reordered(before, tuple(map(int, order)), rows, after, before.distribution.divergence(after))


@dataclass(frozen=True, eq=False)
class PositionEffect:
    """How far the last token's vector moves when nothing but the counting of positions changes.

    offsets: how many places later. together: (offset, layer) where the whole text stands later; apart: where the last
        token alone does. Both are distances from the vector at offset 0 as a share of its length, float64, read-only.
        Layer 0 is what the architecture feeds to block 1, layer k the state after block k, the last after the norm.
    """

    tokens: Tokens
    offsets: tuple[int, ...]
    together: NDArray[np.float64]
    apart: NDArray[np.float64]

    @property
    def added(self) -> bool:
        """Whether position is in the vector before block 1 sees it."""
        return bool((self.together[:, 0] > ROUNDING).any())

    @property
    def sentence(self) -> str:
        """What moved, with the largest offset's numbers."""
        last = self.offsets[-1]
        if self.added:
            return (
                f"Position is added before block 1: {last} places later the vector that block 1 gets has moved by "
                f"{share(self.together[-1, 0])} of its length."
            )
        if self.together.max() > ROUNDING or self.apart.max() <= ROUNDING:
            return (
                f"Before block 1 nothing moves. {last} places later, the last vector after block 1 has moved by "
                f"{share(self.together[-1, 1])} of its length."
            )
        return (
            f"Before block 1 nothing moves. Moved {last} places together, the text keeps all its vectors; moved alone, "
            f"the last one changes by {share(self.apart[-1, 1])} in block 1: only distances count."
        )


def position_effect(model: LanguageModel, text: str, offsets: Sequence[int] = OFFSETS) -> PositionEffect:
    """Read a text of at most `TOKENS` tokens at several offsets, in one batch.

    Raises BadInput for a blank text, and for a network that takes no positions from outside.
    """
    if not text.strip():
        raise BadInput("The text is blank: type a sentence.")
    tokens = model.tokenise(text, limit=TOKENS, reader="this part")
    kept = np.array([0, *(k for k in offsets if 0 < k <= model.spec.context - len(tokens))])
    whole = np.arange(len(tokens)) + kept[:, None]
    alone = np.broadcast_to(np.arange(len(tokens)), whole.shape).copy()
    alone[:, -1] += kept
    states = model.last_states_placed(tokens, np.concatenate([whole, alone])).astype(np.float64)
    moved = np.linalg.norm(states - states[0], axis=-1) / np.linalg.norm(states[0], axis=-1)
    moved.flags.writeable = False
    return PositionEffect(tokens, tuple(map(int, kept)), moved[: len(kept)], moved[len(kept) :])
