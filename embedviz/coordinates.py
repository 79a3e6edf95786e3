"""Do coordinates have names? The tokens at the ends of one, and how well some of them tell a concept from its like.

The measure: a linear probe (logistic regression) is shown some words of both sides and asked about words it has not
seen. It may use the best single coordinate, the best few, or all. Then the whole basis is turned by a random rotation,
which leaves every length, angle, neighbour and the probe on all coordinates as they were, and changes each coordinate:
what a single coordinate loses by that belonged to the axis, what stays belongs to the space.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embedviz.concepts import Concept, concept_ids
from embedviz.errors import BadInput
from embedviz.neighbours import Neighbour
from embedviz.numbers import things
from embedviz.probe import fit, one_core, right
from embedviz.table import EmbeddingTable
from embedviz.tokens import Vocabulary
from embedviz.vocabulary_search import entry_list

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel

Floats = NDArray[np.float64]

SIZES = (1, 2, 5, 10, 30, 100)
FOLDS = 5
# Below this a fold holds a word or two, and the share of right answers is chance.
FEWEST_WORDS = 10


@dataclass(frozen=True)
class Extremes:
    """The ends of one coordinate over all rows that plain text selects.

    highest, lowest: values of the coordinate, farthest first.
    mean, std: over those rows.
    """

    coordinate: int
    highest: tuple[Neighbour, ...]
    lowest: tuple[Neighbour, ...]
    mean: float
    std: float


def extremes(table: EmbeddingTable, vocabulary: Vocabulary, coordinate: int, *, top: int = 10) -> Extremes:
    """The tokens with the highest and lowest values of a coordinate. Raises BadInput for one that rows do not have."""
    if not 0 <= coordinate < table.dimensions:
        raise BadInput(f"Coordinates run from 0 to {table.dimensions - 1}; {coordinate} is not one of them.")
    ids = np.flatnonzero(entry_list(vocabulary).ordinary)
    values = table.values[ids, coordinate]
    order = np.argsort(values, kind="stable")

    def named(places: NDArray[np.intp]) -> tuple[Neighbour, ...]:
        return tuple(
            Neighbour(rank, vocabulary.entry(int(ids[k])), float(values[k])) for rank, k in enumerate(places, start=1)
        )

    highest = np.argsort(-values, kind="stable")[:top]
    return Extremes(coordinate, named(highest), named(order[:top]), float(values.mean()), float(values.std()))


@dataclass(frozen=True)
class Probe:
    """How often a linear probe is right about words it has not seen, by the number of coordinates it may use.

    sizes: numbers of coordinates, the last is all of them.
    accuracy: (size,) mean of the share right on each side, in the table's basis; .5 is chance.
    rotated: (size,) the same after a random rotation, mean over several of them.
    rotated_range: lowest and highest for the best single coordinate among these rotations.
    best: the coordinate that most folds choose as the best single one; chosen_in: the share of the folds that do.
    words, others, left_out: numbers of words used on each side, and of those that are not one token here.
    """

    concept: Concept
    sizes: tuple[int, ...]
    accuracy: tuple[float, ...]
    rotated: tuple[float, ...]
    rotated_range: tuple[float, float]
    best: int
    chosen_in: float
    words: int
    others: int
    left_out: int

    @property
    def sentence(self) -> str:
        """The conclusion, from the numbers."""
        one, all_, turned = (round(100 * share) for share in (self.accuracy[0], self.accuracy[-1], self.rotated[0]))
        return (
            f"For {self.concept.name}, the best single coordinate is right {one} of 100 times, "
            f"all of them {all_}; after a rotation the best single one {turned}."
        )

    @property
    def conclusion(self) -> str:
        """What the numbers come to, in one short sentence; empty where they come to neither."""
        one, all_, name = self.accuracy[0], self.accuracy[-1], self.concept.name
        if one >= 0.95:
            return f"{name.capitalize()} nearly sits in one coordinate."
        return f"{name.capitalize()} needs many coordinates." if all_ - one >= 0.1 else ""

    @property
    def note(self) -> str:
        """How many words the numbers rest on."""
        left = f" {things(self.left_out, 'word')} left out, not one token here." if self.left_out else ""
        return (
            f"Tested on {things(self.words, 'word')} for {self.concept.name} and {self.others} for "
            f"{self.concept.counterpart}, none seen before its turn; chance is 50.{left}"
        )


def probe(
    model: LanguageModel, concept: Concept, *, seed: int = 0, repeats: int = 10, table: EmbeddingTable | None = None
) -> Probe:
    """Measure a concept by five-fold cross-validation, coordinates chosen inside each fold, in both bases.

    seed: of the folds and of the rotations. repeats: how many times the words are dealt into new folds, and the basis
    is turned anew. table: the rows to ask, by default the model's own. Raises BadInput where too few of the words are
    one token of this model.
    """
    found = concept_ids(model, concept)
    fewest = min(len(found.words), len(found.others))
    if fewest < FEWEST_WORDS:
        raise BadInput(
            f"Only {things(fewest, 'word')} of {concept.name} or {concept.counterpart} can be used in this model: "
            f"a measure needs {FEWEST_WORDS}. Choose another concept or model."
        )
    rows = (table or model.table).lookup([*found.words, *found.others]).astype(np.float64)
    is_word = np.repeat([True, False], [len(found.words), len(found.others)])
    sizes = (*(size for size in SIZES if size < rows.shape[1]), rows.shape[1])
    splits = list(folds(is_word, seed, repeats))
    with one_core():
        accuracy, best = cross_validated(rows, is_word, splits, sizes)
        # What one rotation leaves in the best single coordinate varies by .1, so several are asked.
        rotated = np.stack(
            [
                cross_validated(
                    rows @ rotation(rows.shape[1], seed + k), is_word, splits[k * FOLDS : (k + 1) * FOLDS], sizes
                )[0]
                for k in range(repeats)
            ]
        )
    counts = np.bincount(best)
    return Probe(
        concept,
        sizes,
        tuple(accuracy.tolist()),
        tuple(rotated.mean(axis=0).tolist()),
        (float(rotated[:, 0].min()), float(rotated[:, 0].max())),
        int(counts.argmax()),
        float(counts.max() / len(best)),
        len(found.words),
        len(found.others),
        len(found.left_out),
    )


def rotation(dimensions: int, seed: int) -> Floats:
    """(dimension, dimension) a random orthogonal matrix, uniform over all of them (Mezzadri 2007)."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(dimensions, dimensions)))
    return q * np.sign(np.diag(r))


def folds(is_word: NDArray[np.bool_], seed: int, repeats: int) -> Iterator[NDArray[np.bool_]]:
    """(word,) True for the words held out, for each fold of each repeat; both sides in equal shares."""
    generator = np.random.default_rng(seed)
    for _ in range(repeats):
        fold = np.empty(len(is_word), dtype=int)
        for side in (is_word, ~is_word):
            fold[side] = generator.permutation(int(side.sum())) % FOLDS
        yield from (fold == k for k in range(FOLDS))


def cross_validated(
    rows: Floats, is_word: NDArray[np.bool_], splits: Sequence[NDArray[np.bool_]], sizes: Sequence[int]
) -> tuple[Floats, NDArray[np.intp]]:
    """(size,) mean accuracy over the splits, by number of coordinates, and (split,) the best single one in each."""
    accuracy = np.zeros((len(splits), len(sizes)))
    best = np.zeros(len(splits), dtype=np.intp)
    for k, held_out in enumerate(splits):
        seen, unseen, answers = rows[~held_out], rows[held_out], is_word[~held_out]
        mean = seen.mean(axis=0)
        # One scale for all coordinates: a scale for each would tie the probe to the basis.
        scale = np.sqrt(np.mean((seen - mean) ** 2))
        order = by_separation(seen, answers)
        best[k] = order[0]
        for j, size in enumerate(sizes):
            chosen = order[:size]
            weights, offset = fit((seen[:, chosen] - mean[chosen]) / scale, answers)
            scores = (unseen[:, chosen] - mean[chosen]) / scale @ weights + offset
            accuracy[k, j] = right(scores, is_word[held_out])
    return accuracy.mean(axis=0), best


def by_separation(rows: Floats, is_word: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Coordinates in the order of how well each separates the two sides: |t| of Welch's test, largest first."""
    sides = (rows[is_word], rows[~is_word])
    difference = sides[0].mean(axis=0) - sides[1].mean(axis=0)
    error = np.sqrt(sum(side.var(axis=0, ddof=1) / len(side) for side in sides))
    return np.argsort(-np.abs(difference) / np.maximum(error, np.finfo(float).tiny), kind="stable")
