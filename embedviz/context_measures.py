"""How alike the contextual vectors of one word are, layer by layer: within a sense, between senses, and in all.

Sums of unit vectors stand in for tables of pairs: the squared length of a sum is the sum of all cosines, so memory
grows with the number of occurrences and not with its square.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from embedviz.geometry import BATCH, Floats, batches, finite, has_direction, unit

Numbers = NDArray[np.float64]
Codes = NDArray[np.int64]
Number = TypeVar("Number", bound=np.generic)

# Cosines are rounded to this many decimals: the last bits differ for equal vectors, and equal must stay equal.
DECIMALS = 12


@dataclass(frozen=True, eq=False)
class Labels:
    """The senses of some occurrences as numbers.

    names: the senses in the order in which they first appear. codes: (occurrence,) place of its sense in `names`, −1
    where none is given.
    """

    names: tuple[str, ...]
    codes: Codes

    @property
    def counts(self) -> tuple[int, ...]:
        """Occurrences of each sense."""
        return tuple(int((self.codes == place).sum()) for place in range(len(self.names)))

    @property
    def without_sense(self) -> int:
        """Occurrences of which no sense is given; they are left out of all measures of senses."""
        return int((self.codes < 0).sum())


def labels(senses: Sequence[str | None]) -> Labels:
    """Number the senses in the order in which they first appear; None means that no sense is given."""
    places = {name: place for place, name in enumerate(dict.fromkeys(one for one in senses if one is not None))}
    codes = [-1 if one is None else places[one] for one in senses]
    return Labels(tuple(places), read_only(np.array(codes, dtype=np.int64)))


def shuffled(senses: Sequence[str | None], seed: int) -> tuple[str | None, ...]:
    """The same senses dealt out anew among the occurrences that have one: a control that keeps the size of each."""
    given = [place for place, one in enumerate(senses) if one is not None]
    dealt = list(senses)
    for place, taken in zip(given, np.random.default_rng(seed).permutation(len(given)), strict=True):
        dealt[place] = senses[given[taken]]
    return tuple(dealt)


def usable_layers(vectors: Floats, codes: Codes) -> Iterator[tuple[Numbers, Codes]]:
    """Of each layer, the vectors (occurrence, dimension) in float64 that have a sense and a direction, and their codes.

    vectors: (occurrence, layer, dimension).
    """
    for layer in range(vectors.shape[1]):
        kept = (codes >= 0) & has_direction(vectors[:, layer])
        yield vectors[kept, layer].astype(np.float64), codes[kept]


def members(codes: Codes, number: int) -> Numbers:
    """(occurrence, sense) 1 where an occurrence has the sense, else 0."""
    return (codes[:, None] == np.arange(number)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Similarity:
    """Mean cosine of pairs of occurrences by layer; NaN where there is no such pair.

    within: (layer,) over all pairs of one sense. between: (layer,) over all pairs of different senses.
    error: (layer,) standard error of within − between: of an occurrence's mean cosine with its own sense less that with
    the others, over the occurrences.
    without_direction: (layer,) occurrences left out because their vector is zero or not finite.
    """

    within: Numbers
    between: Numbers
    error: Numbers
    without_direction: Codes


def similarity(vectors: Floats, senses: Sequence[str | None]) -> Similarity:
    """Within-sense and between-sense cosine by layer, of vectors (occurrence, layer, dimension)."""
    named = labels(senses)
    number = len(named.names)
    found = [_similarity(unit(points), members(codes, number)) for points, codes in usable_layers(vectors, named.codes)]
    within, between, error = np.array(found, dtype=np.float64).reshape(-1, 3).T.copy()
    missing = [int((~has_direction(vectors[:, layer])).sum()) for layer in range(vectors.shape[1])]
    return Similarity(
        read_only(within), read_only(between), read_only(error), read_only(np.array(missing, dtype=np.int64))
    )


def _similarity(units: Numbers, member: Numbers) -> tuple[float, float, float]:
    sums, counts = member.T @ units, member.sum(axis=0)
    squares, total = np.square(sums).sum(axis=1), sums.sum(axis=0)
    within = _mean(float((squares - counts).sum()), float((counts * (counts - 1)).sum()))
    between = _mean(float(total @ total - squares.sum()), float(counts.sum() ** 2 - np.square(counts).sum()))
    # The same two means for each occurrence by itself; its cosine with itself is taken out.
    cosines = units @ sums.T
    own, others = (cosines * member).sum(axis=1) - 1, (cosines * (1 - member)).sum(axis=1)
    mates = member @ counts - 1
    strangers = counts.sum() - mates - 1
    both = (mates > 0) & (strangers > 0)
    gaps = np.round(own[both] / mates[both] - others[both] / strangers[both], DECIMALS)
    error = float(gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else float("nan")
    return within, between, error


def _mean(total: float, pairs: float) -> float:
    return min(1.0, max(-1.0, round(total / pairs, DECIMALS))) if pairs else float("nan")


@dataclass(frozen=True, eq=False)
class SimilarityMatrix:
    """The cosine of every pair of occurrences at one layer, sense by sense.

    order: (place,) number of the occurrence that stands at each place. values: (place, place) cosines.
    names: the groups in their order, senses as they first appear, None last for occurrences without one.
    boundaries: the place at which each group begins, and last the number of places.
    without_direction: occurrences left out because their vector is zero or not finite.
    """

    order: Codes
    values: Numbers
    names: tuple[str | None, ...]
    boundaries: tuple[int, ...]
    without_direction: int


def similarity_matrix(vectors: Floats, senses: Sequence[str | None]) -> SimilarityMatrix:
    """Every pair of occurrences at one layer, ordered by sense. vectors: (occurrence, dimension)."""
    named = labels(senses)
    kept = np.flatnonzero(has_direction(vectors))
    codes = np.where(named.codes < 0, len(named.names), named.codes)
    order = kept[np.argsort(codes[kept], kind="stable")]
    units = unit(vectors[order].astype(np.float64))
    values = np.clip(np.round(units @ units.T, DECIMALS), -1.0, 1.0)
    present, starts = np.unique(codes[order], return_index=True)
    groups: tuple[str | None, ...] = (*named.names, None)
    return SimilarityMatrix(
        read_only(order),
        read_only(values),
        tuple(groups[place] for place in present),
        (*(int(start) for start in starts), len(order)),
        len(vectors) - len(kept),
    )


def silhouette(
    points: Floats, senses: Sequence[str | None], metric: Literal["cosine", "euclidean"] = "cosine"
) -> float:
    """How far apart the senses lie, −1 … 1: the mean of (b − a) / max(a, b) over the points (Rousseeuw 1987).

    a: a point's mean distance to the others of its sense. b: to those of the nearest other sense. A point alone in its
    sense counts 0, as does one that lies on all others. points: (point, dimension), contextual vectors by cosine or
    places in a picture by Euclidean distance; those without a direction or a place are left out. NaN with fewer than
    two senses, or where no sense has two points.
    """
    named = labels(senses)
    kept = (named.codes >= 0) & (has_direction(points) if metric == "cosine" else finite(points))
    member = members(named.codes[kept], len(named.names))
    member = member[:, member.any(axis=0)]
    counts = member.sum(axis=0)
    if not 2 <= len(counts) < len(member):
        return float("nan")
    usable = points[kept].astype(np.float64)
    sums = _cosine_distances(unit(usable), member) if metric == "cosine" else _euclidean_distances(usable, member)
    mates = member @ counts - 1
    own = (sums * member).sum(axis=1) / np.maximum(mates, 1)
    other = np.where(member > 0, np.inf, sums / counts).min(axis=1)
    larger = np.maximum(own, other)
    apart = (mates > 0) & (larger > 0)
    return float(np.divide(other - own, larger, out=np.zeros(len(member)), where=apart).mean())


def _cosine_distances(units: Numbers, member: Numbers) -> Numbers:
    """(point, sense) sums of 1 − cosine to the points of each sense."""
    return np.maximum(np.round(member.sum(axis=0) - units @ (member.T @ units).T, DECIMALS), 0.0)


def _euclidean_distances(points: Numbers, member: Numbers) -> Numbers:
    """(point, sense) sums of distances to the points of each sense, in bounded memory."""
    from scipy.spatial.distance import cdist

    return np.concatenate([cdist(points[batch], points) @ member for batch in batches(len(points), BATCH)])


def silhouette_by_layer(vectors: Floats, senses: Sequence[str | None]) -> Numbers:
    """(layer,) silhouettes by cosine, of vectors (occurrence, layer, dimension)."""
    found = [silhouette(vectors[:, layer], senses) for layer in range(vectors.shape[1])]
    return read_only(np.array(found, dtype=np.float64))


def self_similarity(vectors: Floats, baseline: Floats | None = None) -> Numbers:
    """(layer,) mean cosine of all pairs of different occurrences of a word: 1 where context changes nothing.

    Definition 1 of Ethayarajh (2019), "How Contextual are Contextualized Word Representations?"; with the `baseline`
    (layer,) of random pairs, less that, as its section 3.4 does. vectors: (occurrence, layer, dimension). NaN below two
    occurrences with a direction.
    """
    everyone = np.zeros(len(vectors), dtype=np.int64)
    found = [_similarity(unit(points), members(codes, 1))[0] for points, codes in usable_layers(vectors, everyone)]
    return _less(found, baseline)


def explainable_variance(vectors: Floats, baseline: Floats | None = None) -> Numbers:
    """(layer,) maximum explainable variance: how much of a word's vectors one static vector could stand for at best.

    σ₁² / Σσᵢ² of the occurrence matrix, not centred: definition 3 of Ethayarajh (2019). `baseline`: (layer,) the same
    of vectors of random words, subtracted where given. vectors: (occurrence, layer, dimension). NaN below two
    occurrences with a direction.
    """
    everyone = np.zeros(len(vectors), dtype=np.int64)
    return _less([_first_share(points) for points, _ in usable_layers(vectors, everyone)], baseline)


def _first_share(points: Numbers) -> float:
    from scipy.linalg import eigvalsh

    if len(points) < 2:
        return float("nan")
    # The squared singular values are the eigenvalues of the smaller product with itself; only the first is needed.
    product = points @ points.T if len(points) <= points.shape[1] else points.T @ points
    last = len(product) - 1
    first = float(eigvalsh(product, subset_by_index=(last, last))[0])
    return min(1.0, round(first / float(np.trace(product)), DECIMALS))


def _less(found: Sequence[float], baseline: Floats | None) -> Numbers:
    values = np.array(found, dtype=np.float64)
    return read_only(values if baseline is None else values - np.asarray(baseline, dtype=np.float64))


def read_only(array: NDArray[Number]) -> NDArray[Number]:
    """The array, from now on read-only."""
    array.flags.writeable = False
    return array
