"""Which sense a vector is nearest to, layer by layer: whether the sense can be read off, a guess, and the clue word.

A sense's centroid is the mean of the raw vectors of its occurrences; nearness is the cosine with it. A sum has the same
direction as a mean, so sums stand in for centroids throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedviz.context_measures import Codes, Labels, Numbers, labels, members, read_only, usable_layers
from embedviz.geometry import Floats, cosine, has_direction

# Cosines nearer to each other than this are equal: at layer 0 all vectors are one row, up to rounding.
TIE = 1e-9
# Stands in for the cosine with a centroid that has no direction: below any cosine.
NOWHERE = -2.0
# A lean lost that is no more than this may be rounding of float32.
LOST = 1e-6


@dataclass(frozen=True, eq=False)
class Accuracy:
    """How often an occurrence is nearest to the centroid of its own sense.

    by_layer: (layer,) mean of the shares that are right in each tested sense, 0 … 1; a tie of k senses counts 1/k. NaN
    with fewer than two senses, or nothing to test.
    chance: 1 / number of senses to choose from; what equal vectors get. NaN with fewer than two.
    noise: standard deviation of the accuracy of guesses made by chance; NaN where nothing is tested.
    tested: occurrences tested. left_out: senses that cannot be tested: with one member only where one is held out, or
    not among those to choose from on a second set.
    """

    by_layer: Numbers
    chance: float
    noise: float
    tested: int
    left_out: tuple[str, ...]


def leave_one_out(vectors: Floats, senses: Sequence[str | None]) -> Accuracy:
    """Nearest-centroid accuracy by layer; each occurrence is taken out of its own centroid when it is tested.

    vectors: (occurrence, layer, dimension). A sense with one member is not tested, but can be chosen.
    """
    named = labels(senses)
    number = len(named.names)
    shares = []
    for points, codes in usable_layers(vectors, named.codes):
        member = members(codes, number)
        sums = member.T @ points
        cosines = _cosines(points, sums)
        own = sums[codes] - points
        # Alone in its sense, what is left of the centroid is zeros up to rounding.
        held_out = np.where(member.sum(axis=0)[codes] > 1, _or_nowhere(cosine(points, own)), np.nan)
        cosines[np.arange(len(codes)), codes] = held_out
        tested = ~np.isnan(held_out)
        shares.append(_share_right(cosines[tested], codes[tested], number))
    alone = tuple(name for name, count in zip(named.names, named.counts, strict=True) if count == 1)
    return _accuracy(shares, number, named, alone)


def on_second_set(
    vectors: Floats, senses: Sequence[str | None], test_vectors: Floats, test_senses: Sequence[str | None]
) -> Accuracy:
    """Nearest-centroid accuracy by layer on other occurrences than those that make the centroids.

    vectors, test_vectors: (occurrence, layer, dimension). Senses that only the second set has are left out.
    """
    named, asked = labels(senses), labels(test_senses)
    absent = tuple(name for name in asked.names if name not in named.names)
    place = {name: code for code, name in enumerate(named.names)}
    codes = np.array([place.get(one, -1) if one is not None else -1 for one in test_senses], dtype=np.int64)
    shares = []
    layers = zip(usable_layers(vectors, named.codes), usable_layers(test_vectors, codes), strict=True)
    for (points, own), (tests, answers) in layers:
        cosines = _cosines(tests, members(own, len(named.names)).T @ points)
        shares.append(_share_right(cosines, answers, len(named.names)))
    return _accuracy(shares, len(named.names), Labels(named.names, codes), absent)


def _cosines(points: Numbers, centroids: Numbers) -> Numbers:
    """(point, centroid) cosines, NOWHERE where one of the two has no direction."""
    lengths = np.outer(np.linalg.norm(points, axis=1), np.linalg.norm(centroids, axis=1))
    return np.divide(points @ centroids.T, lengths, out=np.full(lengths.shape, NOWHERE), where=lengths > 0)


def _or_nowhere(cosines: Numbers) -> Numbers:
    return np.where(np.isnan(cosines), NOWHERE, cosines)


def _share_right(cosines: Numbers, codes: Codes, number: int) -> float:
    """Mean over the senses that occur of the share that is right. cosines: (point, sense)."""
    if not len(cosines) or number < 2:
        return float("nan")
    best = cosines >= cosines.max(axis=1, keepdims=True) - TIE
    right = best[np.arange(len(codes)), codes] / best.sum(axis=1)
    member = members(codes, number)
    sizes = member.sum(axis=0)
    return float(np.mean((right @ member)[sizes > 0] / sizes[sizes > 0]))


def _accuracy(shares: Sequence[float], number: int, tested: Labels, left_out: tuple[str, ...]) -> Accuracy:
    sizes = np.array([size for name, size in zip(tested.names, tested.counts, strict=True) if name not in left_out])
    sizes = sizes[sizes > 0]
    chance, noise = 1 / number if number > 1 else float("nan"), float("nan")
    if len(sizes) and number > 1:
        noise = float(np.sqrt(np.sum(chance * (1 - chance) / sizes)) / len(sizes))
    by_layer = read_only(np.array(shares, dtype=np.float64))
    return Accuracy(by_layer, chance, noise, int(sizes.sum()) if number > 1 else 0, left_out)


@dataclass(frozen=True, eq=False)
class Guess:
    """Which sense a new vector is nearest to.

    senses: to choose from, in the order of the columns. cosines: (layer, sense) with each centroid, NaN without one.
    nearest: (layer) name of the nearest sense; None on a tie, or with fewer than two senses.
    margin: (layer,) highest cosine less the second highest; NaN with fewer than two.
    from_layer: the layer from which on the answer is the same up to the last; None where the last has no answer.
    """

    senses: tuple[str, ...]
    cosines: Numbers
    nearest: tuple[str | None, ...]
    margin: Numbers
    from_layer: int | None


def guess(vectors: Floats, senses: Sequence[str | None], new: Floats) -> Guess:
    """The nearest sense of one new occurrence at each layer.

    vectors: (occurrence, layer, dimension) that make the centroids. new: (layer, dimension).
    """
    named = labels(senses)
    sums = _sums(vectors, named)
    usable = has_direction(new)
    cosines = cosine(np.where(usable[:, None], new, 0)[:, None], sums)
    nearest, margin = list[str | None](), np.full(len(new), np.nan)
    for layer, row in enumerate(cosines):
        order = np.argsort(-_or_nowhere(row), kind="stable")
        if np.count_nonzero(~np.isnan(row)) > 1:
            margin[layer] = row[order[0]] - row[order[1]]
        nearest.append(named.names[order[0]] if margin[layer] > TIE else None)
    same = len(nearest)
    while same and nearest[same - 1] == nearest[-1]:
        same -= 1
    from_layer = same if nearest and nearest[-1] is not None else None
    return Guess(named.names, read_only(cosines), tuple(nearest), read_only(margin), from_layer)


def _sums(vectors: Floats, named: Labels) -> Numbers:
    """(layer, sense, dimension) sums of the usable vectors of each sense."""
    number = len(named.names)
    sums = [members(codes, number).T @ points for points, codes in usable_layers(vectors, named.codes)]
    return np.array(sums, dtype=np.float64).reshape(vectors.shape[1], number, vectors.shape[2])


@dataclass(frozen=True, eq=False)
class Moved:
    """What taking each other word out of a sentence does to the vector of the marked word.

    moved: (word, layer) 1 − cosine of the vector with and without the word; exactly 0 where they are equal to the bit.
    lean: (layer,) of the whole sentence's vector toward its own sense: cosine with that sense's centroid less the
    highest with another's. lost: (word, layer) how much of it goes with the word; exactly 0 where nothing moves.
    clue: (layer) number of the word with which most is lost; None where none is lost.
    NaN where undefined: without a centroid of its own sense or of another, or without a direction.
    """

    moved: Numbers
    lean: Numbers
    lost: Numbers
    clue: tuple[int | None, ...]


def what_moved(
    vectors: Floats,
    senses: Sequence[str | None],
    sense: str | None,
    whole: Floats,
    without: Floats,
    leave_out: int | None = None,
) -> Moved:
    """Which words move a vector, and which of them move it away from its sense.

    vectors: (occurrence, layer, dimension) that make the centroids. sense: of the sentence looked at. whole: (layer,
    dimension) its vector. without: (word, layer, dimension) with each other word taken out. leave_out: its number among
    the occurrences if it is one of them; it is left out of its own centroid.
    """
    named = labels([None if place == leave_out else one for place, one in enumerate(senses)])
    sums = _sums(vectors, named)
    equal = (without == whole).all(axis=2)
    before, after = _directions(whole), _directions(without)
    # Half the square of the distance is 1 − cosine, without the rounding of a value near 1.
    moved = np.where(equal, 0.0, np.minimum(np.square(after - before).sum(axis=2) / 2, 2.0))
    lean = _lean(before, sums, named, sense)
    lost = np.where(equal & ~np.isnan(lean), 0.0, lean - _lean(after, sums, named, sense))
    clue = tuple(int(np.argmax(np.nan_to_num(column))) if np.any(column > LOST) else None for column in lost.T)
    return Moved(read_only(moved), read_only(lean), read_only(lost), clue)


def _directions(vectors: Floats) -> Numbers:
    """The vectors (…, layer, dimension) at length 1, NaN where one has no direction."""
    flat = vectors.reshape(-1, vectors.shape[-1]).astype(np.float64)
    lengths = np.where(has_direction(flat), np.linalg.norm(flat, axis=1), np.nan)
    return (flat / lengths[:, None]).reshape(vectors.shape)


def _lean(directions: Numbers, sums: Numbers, named: Labels, sense: str | None) -> NDArray[np.float64]:
    """(…, layer) cosine with the sense's centroid less the highest with another's, of (…, layer, dimension)."""
    if sense not in named.names or len(named.names) < 2:
        return np.full(directions.shape[:-1], np.nan)
    cosines = cosine(directions[..., None, :], sums)
    own = named.names.index(sense)
    other = _or_nowhere(np.delete(cosines, own, axis=-1)).max(axis=-1)
    return cosines[..., own] - np.where(other == NOWHERE, np.nan, other)
