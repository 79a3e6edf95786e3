"""Next-token scores: what the model's last vector says about every entry of its list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embedviz.edits import Edit, edited
from embedviz.errors import BadInput
from embedviz.table import Vectors
from embedviz.tokens import Entry, Tokens

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel

# Logits differ by rounding alone up to 2e-3 between runs of other shapes; more means that rows are not what goes in.
SAME = 1e-2


@dataclass(frozen=True)
class Candidate:
    """One entry of the list with its score. rank 1 is the most likely; probability in 0 … 1."""

    rank: int
    entry: Entry
    logit: float
    probability: float


@dataclass(frozen=True, eq=False)
class Distribution:
    """The model's scores for the token after a text.

    logits: (row,) float32, one score for every row of the output table, in the model's own units.
    """

    logits: NDArray[np.float32]

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """(row,) softmax of the logits, computed in float64; sums to 1."""
        shifted = np.exp(self.logits.astype(np.float64) - float(self.logits.max()))
        return shifted / shifted.sum()

    def order(self, top: int) -> NDArray[np.intp]:
        """Ids of the `top` highest scores, best first; equal scores in the order of their ids."""
        top = min(top, len(self.logits))
        floor = np.partition(self.logits, -top)[-top]
        candidates = np.flatnonzero(self.logits >= floor)
        return candidates[np.argsort(-self.logits[candidates], kind="stable")][:top]


@dataclass(frozen=True, eq=False)
class NextToken:
    """What comes after a text.

    tokens: the text as the model read it.
    rows: (token, dimension) float32, what the model was fed: the table rows, edited if that was asked for.
    distribution: the scores at its last position.
    self_check: largest absolute difference, in logits, between the scores from the unedited rows (`inputs_embeds`) and
        from ids.
    """

    tokens: Tokens
    rows: Vectors
    distribution: Distribution
    self_check: float


def next_token(model: LanguageModel, text: str, *, start_token: bool = False, edits: Sequence[Edit] = ()) -> NextToken:
    """Look up a text's rows, feed them to the model as `inputs_embeds`, and read the scores of the next token.

    edits: done on the rows before the model gets them; positions count a start token too.
    Raises BadInput for a text without tokens, a model that has no next token, and an edit that is not possible.
    """
    if not model.spec.next_token_head:
        raise BadInput(
            f"{model.spec.title} reads both ways and has no next token. Choose a model that reads left to right."
        )
    if not text.strip():
        raise BadInput("The text is blank: type a sentence.")
    tokens = model.tokenise(text, start_token=start_token)
    plain = model.scores(model.rows(tokens))
    difference = float(np.abs(plain - model.scores_from_ids(tokens)).max())
    if edits and difference > SAME:
        raise BadInput(f"{model.spec.title} changes its rows before use, so edits are off.")
    rows = edited(model, tokens, edits)
    logits = model.scores(rows) if edits else plain
    if not np.isfinite(logits).all():
        raise BadInput("The model's scores for these rows are no numbers: use smaller edits.")
    return NextToken(tokens, rows, Distribution(logits), difference)


def candidates(model: LanguageModel, distribution: Distribution, top: int) -> tuple[Candidate, ...]:
    """The `top` most likely entries, best first. Raises BadInput for a `top` below 1."""
    if top < 1:
        raise BadInput(f"The number of tokens to show must be at least 1; {top} was given.")
    probabilities = distribution.probabilities
    return tuple(
        Candidate(rank, model.vocabulary.entry(int(id)), float(distribution.logits[id]), float(probabilities[id]))
        for rank, id in enumerate(distribution.order(top), start=1)
    )


@dataclass(frozen=True)
class Sampling:
    """How to choose one token from stored scores. Raises BadInput for values that mean nothing.

    temperature: divides the logits; 0 always takes the most likely token.
    top_k: keep the k most likely; 0 keeps all.
    top_p: keep the fewest most likely tokens whose probabilities sum to at least this share, 0 < top_p ≤ 1;
        0 keeps the most likely alone.
    seed: of the random choice.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.temperature) and self.temperature >= 0):
            raise BadInput(f"The temperature must be 0 or more; {self.temperature} was given.")
        if self.seed < 0:
            raise BadInput(f"A seed is a number from 0 on; {self.seed} was given.")
        if self.top_k < 0:
            raise BadInput(f"Top-k must be 0 (all) or more; {self.top_k} was given.")
        if not 0 <= self.top_p <= 1:
            raise BadInput(f"Top-p must lie between 0 and 1; {self.top_p} was given.")

    def probabilities(self, distribution: Distribution) -> NDArray[np.float64]:
        """(row,) probabilities to choose by: tempered, cut by top-k, then by top-p, and summing to 1 again."""
        logits = distribution.logits.astype(np.float64)
        order = distribution.order(len(logits))
        if self.temperature == 0:
            chosen = np.zeros_like(logits)
            chosen[order[0]] = 1.0
            return chosen
        weights = np.exp((logits - logits.max()) / self.temperature)
        if self.top_k:
            weights[order[self.top_k :]] = 0.0
        # Sums run from the most likely token down; a token is kept while those before it do not reach top-p yet.
        before = np.cumsum(weights[order] / weights.sum())
        before = np.concatenate([[0.0], before[:-1]])
        cut = before >= self.top_p
        cut[0] = False
        if self.top_p < 1:
            weights[order[cut]] = 0.0
        return weights / weights.sum()


def continuation(model: LanguageModel, result: NextToken, count: int, sampling: Sampling) -> str:
    """The text with `count` tokens added one by one, each chosen by `sampling` from the scores after the last."""
    generator = np.random.default_rng(sampling.seed)
    ids = list(result.tokens.ids)
    distribution = result.distribution
    if len(ids) + count > model.spec.context:
        raise BadInput(
            f"{model.spec.title} reads {model.spec.context} tokens at once: the text has {len(ids)}, so at most "
            f"{max(0, model.spec.context - len(ids))} can be added; {count} were asked for."
        )
    steps = model.stepper(result.rows)
    for step in range(count):
        ids.append(int(generator.choice(len(distribution.logits), p=sampling.probabilities(distribution))))
        if step < count - 1:
            distribution = Distribution(steps(ids[-1]))
    return model.vocabulary.text_of(ids[1:] if result.tokens.start_token else ids)
