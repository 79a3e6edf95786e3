"""Next-token scores: what the model's last vector says about every entry of its list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from embedviz.edits import Edit, edited
from embedviz.errors import BadInput
from embedviz.meaning import one_token
from embedviz.numbers import probability as written
from embedviz.numbers import things
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

    logits: (row,) float32, one score for every row of the output table, in the model's own units; read-only.
    """

    logits: NDArray[np.float32]

    def __post_init__(self) -> None:
        self.logits.flags.writeable = False

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """(row,) softmax of the logits, computed in float64; sums to 1."""
        shifted = np.exp(self.logits.astype(np.float64) - float(self.logits.max()))
        return shifted / shifted.sum()

    @property
    def log_probabilities(self) -> NDArray[np.float64]:
        """(row,) ln of the probabilities, in nats: finite even where the probability itself rounds to 0."""
        shifted = self.logits.astype(np.float64) - float(self.logits.max())
        return shifted - np.log(np.exp(shifted).sum())

    def divergence(self, other: Distribution) -> float:
        """Kullback–Leibler divergence from this to another distribution, in nats: 0 where nothing changes.

        The mean of ln p − ln q under this one (p): what it costs to expect the other where this holds.
        """
        ours = self.log_probabilities
        return max(0.0, float(np.exp(ours) @ (ours - other.log_probabilities)))

    def rank(self, id: int) -> int:
        """The place of one entry among all scores, from 1; equal scores in the order of their ids."""
        own = self.logits[id]
        return 1 + int((self.logits > own).sum()) + int((self.logits[:id] == own).sum())

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
    rows: (token, dimension) float32, what the model was fed: the table rows, edited if that was asked for; read-only.
    distribution: the scores at its last position.
    self_check: largest absolute difference, in logits, between the scores from unedited rows (`inputs_embeds`) and from
        ids: of this text where it was checked, else of the first text that this loaded model was given.
    """

    tokens: Tokens
    rows: Vectors
    distribution: Distribution
    self_check: float


_checks: WeakKeyDictionary[LanguageModel, float] = WeakKeyDictionary()


def next_token(
    model: LanguageModel,
    text: str,
    *,
    start_token: bool = False,
    edits: Sequence[Edit] = (),
    limit: int | None = None,
    check: bool = False,
) -> NextToken:
    """Look up a text's rows, feed them to the model as `inputs_embeds`, and read the scores of the next token.

    edits: done on the rows before the model gets them; positions count a start token too.
    limit: most tokens to read. check: compare with the scores from ids for this text too, not only for a model's first.
    Raises BadInput for a text without tokens, a model that has no next token, and an edit that is not possible.
    """
    if not model.spec.next_token_head:
        raise BadInput(
            f"{model.spec.title} reads both ways and has no next token. Choose one that reads left to right."
        )
    if not text.strip():
        raise BadInput("The text is blank: type a sentence.")
    tokens = model.tokenise(text, start_token=start_token, limit=limit)
    rows = model.rows(tokens)
    rows.flags.writeable = False
    logits = model.scores(rows)
    if check or model not in _checks:
        found = float(np.abs(logits - model.scores_from_ids(tokens)).max())
        _checks.setdefault(model, found)
    else:
        found = _checks[model]
    return with_edits(model, NextToken(tokens, rows, Distribution(logits), found), edits)


def with_edits(model: LanguageModel, unedited: NextToken, edits: Sequence[Edit]) -> NextToken:
    """What comes after the same text with edits done on its rows; without edits it is the very same result.

    Raises BadInput for an edit that is not possible, and for a model whose rows are not what goes in.
    """
    if not edits:
        return unedited
    rows = edited_rows(model, unedited, edits)
    return NextToken(unedited.tokens, rows, Distribution(finite(model.scores(rows))), unedited.self_check)


def edited_rows(model: LanguageModel, unedited: NextToken, edits: Sequence[Edit]) -> Vectors:
    """(token, dimension) the rows with edits done, read-only; the rest as `with_edits`."""
    if unedited.self_check > SAME:
        raise BadInput(f"{model.spec.title} changes its rows before use, so edits are off.")
    rows = edited(model, unedited.tokens, edits)
    rows.flags.writeable = False
    return rows


def finite(logits: Vectors) -> Vectors:
    """The same logits. Raises BadInput where one of them is no number."""
    if not np.isfinite(logits).all():
        raise BadInput("The model's scores for these rows are no numbers: use smaller edits.")
    return logits


def candidates(model: LanguageModel, distribution: Distribution, top: int) -> tuple[Candidate, ...]:
    """The `top` most likely entries, best first. Raises BadInput for a `top` below 1."""
    if top < 1:
        raise BadInput(f"The number of tokens to show must be at least 1; {top} was given.")
    probabilities = distribution.probabilities
    return tuple(
        Candidate(rank, model.vocabulary.entry(int(id)), float(distribution.logits[id]), float(probabilities[id]))
        for rank, id in enumerate(distribution.order(top), start=1)
    )


def candidate(model: LanguageModel, distribution: Distribution, id: int) -> Candidate:
    """One entry with its rank among all. Raises BadInput for an id outside the list."""
    entry = model.vocabulary.entry(id)
    logit, probability = distribution.logits[id], distribution.probabilities[id]
    return Candidate(distribution.rank(id), entry, float(logit), float(probability))


def find(model: LanguageModel, distribution: Distribution, typed: str) -> Candidate:
    """The rank of a token that a person typed, `#5461` for an id. Raises BadInput for what is not one token."""
    return candidate(model, distribution, one_token(model, typed).ids[0])


def others_sentence(distribution: Distribution, shown: Sequence[Candidate]) -> str:
    """What is left besides the tokens shown."""
    left = max(0.0, 1.0 - sum(one.probability for one in shown))
    number = len(distribution.logits) - len(shown)
    return f"{things(number, 'other token')} {'shares' if number == 1 else 'share'} {written(left)}."


@dataclass(frozen=True, eq=False)
class Choice:
    """Stored scores made ready to choose one token from.

    probabilities: (row,) tempered, cut, and summing to 1 again. by_top_k, by_top_p: (row,) which tokens each cuts. All
    read-only. At temperature 0 nothing is cut: the best alone has a probability.
    """

    probabilities: NDArray[np.float64]
    by_top_k: NDArray[np.bool_]
    by_top_p: NDArray[np.bool_]

    def __post_init__(self) -> None:
        for array in (self.probabilities, self.by_top_k, self.by_top_p):
            array.flags.writeable = False


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

    def choice(self, distribution: Distribution) -> Choice:
        """What there is to choose from: tempered, cut by top-k, then by top-p. Runs no model."""
        logits = distribution.logits.astype(np.float64)
        order = distribution.order(len(logits))
        by_top_k, by_top_p = np.zeros((2, len(logits)), dtype=bool)
        if self.temperature == 0:
            chosen = np.zeros_like(logits)
            chosen[order[0]] = 1.0
            return Choice(chosen, by_top_k, by_top_p)
        weights = np.exp((logits - logits.max()) / self.temperature)
        if self.top_k:
            by_top_k[order[self.top_k :]] = True
            weights[by_top_k] = 0.0
        if self.top_p < 1:
            # Sums run from the most likely token down; a token is kept while those before it do not reach top-p yet.
            sums = np.cumsum(weights[order] / weights.sum())
            by_top_p[order[1:][sums[:-1] >= self.top_p]] = True
            by_top_p &= ~by_top_k
            weights[by_top_p] = 0.0
        return Choice(weights / weights.sum(), by_top_k, by_top_p)

    def probabilities(self, distribution: Distribution) -> NDArray[np.float64]:
        """(row,) probabilities to choose by, summing to 1."""
        return self.choice(distribution).probabilities

    def draw(self, distribution: Distribution, step: int) -> int:
        """The id of the token chosen at a step, counted from 0: always the same for the same seed, step and scores."""
        probabilities = self.probabilities(distribution)
        return int(np.random.default_rng([self.seed, step]).choice(len(probabilities), p=probabilities))


def continuation(model: LanguageModel, result: NextToken, count: int, sampling: Sampling) -> str:
    """The text with `count` tokens added one by one, each chosen by `sampling` from the scores after the last."""
    ids = list(result.tokens.ids)
    distribution = result.distribution
    if len(ids) + count > model.spec.context:
        raise BadInput(
            f"{model.spec.title} reads {model.spec.context} tokens at once: the text has {len(ids)}, so at most "
            f"{max(0, model.spec.context - len(ids))} can be added; {count} were asked for."
        )
    steps = model.stepper(result.rows)
    for step in range(count):
        ids.append(sampling.draw(distribution, step))
        if step < count - 1:
            distribution = Distribution(steps(ids[-1]))
    return model.vocabulary.text_of(ids[1:] if result.tokens.start_token else ids)
