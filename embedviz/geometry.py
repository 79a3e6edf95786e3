"""Lengths, angles and nearness of vectors: arrays in, numbers out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
Ids = NDArray[np.int64]
Number = TypeVar("Number", bound=np.floating)

# Rows compared at a time with all others: about 50 MB of cosines for 49,152 rows, and no faster with more.
BATCH = 256
# Columns are looked through in groups of this many: a row's k best lie in the k groups with the best maxima.
GROUP = 64


def cosine(a: Floats, b: Floats) -> NDArray[np.float64]:
    """Cosine of the angle between vectors along the last axis, computed in float64; NaN where a vector has no length.

    a, b: (…, dimension), broadcast against each other. Never outside −1 … 1.
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.clip(np.sum(a * b, axis=-1) / lengths, -1.0, 1.0)
    return np.where(lengths > 0, found, np.nan)


def finite(vectors: Floats) -> NDArray[np.bool_]:
    """(point,) whether all numbers of a vector (point, dimension) are finite."""
    return np.asarray(np.isfinite(vectors).all(axis=1))


def has_direction(vectors: Floats) -> NDArray[np.bool_]:
    """(point,) whether a vector (point, dimension) has a direction: all its numbers are finite and it has a length."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return np.isfinite(lengths) & (lengths > 0)


def unit(vectors: NDArray[Number]) -> NDArray[Number]:
    """The vectors (point, dimension) at length 1, in their own precision. Each must have a direction."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64))
    return vectors / lengths[:, None].astype(vectors.dtype)


def directions_up_to(vectors: Floats, most: int, tolerance: float = 1e-8) -> int:
    """How many different directions some vectors have, counted no further than `most`.

    tolerance: two count as one where their cosine is nearer to 1 than this; runs of a model in batches of other shapes
    differ by less (6e-5 of a length).
    """
    for part in (vectors[:1000], vectors):  # the first few of a whole table nearly always do
        left = unit(np.asarray(part[has_direction(part)], dtype=np.float64))
        found = 0
        while len(left) and found < most:
            # Half the square of the distance is 1 − cosine, without the rounding of a value near 1.
            left = left[np.square(left - left[0]).sum(axis=1) / 2 > tolerance]
            found += 1
        if found == most:
            break
    return found


def nearest_directions(
    units: NDArray[np.float32],
    k: int,
    asked: Ids | None = None,
    told: Callable[[int], None] | None = None,
    threads: int = 1,
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The k other rows with the highest cosine, best first, for some rows among all: exact, in bounded memory.

    units: (point, dimension) at length 1. asked: the rows to find neighbours for; all where None. told: is called with
    the number of rows done. threads: batches compared at once, for a process whose matrix products use one core each.
    Returns places and cosines, both (asked, k).
    """
    places = np.arange(len(units)) if asked is None else asked
    ids = np.empty((len(places), k), dtype=np.int32)
    values = np.empty((len(places), k), dtype=np.float32)

    def compare(batch: slice) -> int:
        cosines = units[places[batch]] @ units.T
        cosines[np.arange(len(cosines)), places[batch]] = -np.inf
        ids[batch], values[batch] = _largest(cosines, k)
        return int(batch.stop)

    parts = batches(len(places), BATCH)
    with ThreadPoolExecutor(threads) if threads > 1 else nullcontext() as pool:
        for done in pool.map(compare, parts) if pool else map(compare, parts):
            if told is not None:
                told(done)
    return ids, values


def batches(number: int, size: int) -> Iterator[slice]:
    """Slices that cover a number of things, `size` at a time."""
    return (slice(start, min(start + size, number)) for start in range(0, number, size))


def _largest(values: NDArray[np.float32], k: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Places and values of each row's k largest, largest first; equal ones in the order of their places."""
    groups = values.shape[1] // GROUP
    if groups > k:
        # Partitioning whole rows would take longer than the products: but the k largest lie in at most k groups, which
        # have the k largest maxima. What is left after the last whole group is looked through as well.
        grouped = values[:, : groups * GROUP].reshape(len(values), GROUP, groups)
        best = np.argpartition(grouped.max(axis=1), groups - k, axis=1)[:, groups - k :]
        places = (best[:, :, None] + groups * np.arange(GROUP)).reshape(len(values), -1)
        rest = np.broadcast_to(np.arange(groups * GROUP, values.shape[1]), (len(values), values.shape[1] % GROUP))
        places = np.concatenate([places, rest], axis=1)
    else:
        places = np.broadcast_to(np.arange(values.shape[1]), values.shape)
    found = np.take_along_axis(values, places, axis=1)
    if k < found.shape[1]:
        kept = np.argpartition(found, found.shape[1] - k, axis=1)[:, -k:]
        places, found = (np.take_along_axis(one, kept, axis=1) for one in (places, found))
    order = np.lexsort((places, -found), axis=1)
    return np.take_along_axis(places, order, axis=1), np.take_along_axis(found, order, axis=1)


def neighbours_kept(vectors: Floats, layout: Floats, k: int = 15, sample: int = 2000, seed: int = 0) -> float:
    """The share of a point's k nearest by cosine that are among its k nearest in the picture; NaN below 3 points.

    vectors: (point, dimension). layout: (point, 2 or 3). Points without a direction or a place are left out. k: cut to
    half of the other points, so that few points can fail too. sample: most points asked, drawn with `seed`; their
    neighbours are looked for among all.
    """
    from scipy.spatial import KDTree

    usable = has_direction(vectors) & finite(layout)
    points = int(usable.sum())
    if points < 3:
        return float("nan")
    units, places = unit(vectors[usable].astype(np.float32)), np.asarray(layout[usable], dtype=np.float64)
    k = min(k, max(1, (points - 1) // 2))
    asked = np.arange(points)
    if points > sample:
        asked = np.sort(np.random.default_rng(seed).choice(points, sample, replace=False))
    true, _ = nearest_directions(units, k, asked)
    # One more than k, because a point is its own nearest; among equal places it may not even be in the list.
    drawn = KDTree(places).query(places[asked], k + 1)[1]
    itself = drawn == asked[:, None]
    itself[~itself.any(axis=1), -1] = True
    drawn = drawn[~itself].reshape(len(asked), k)
    kept = (true[:, :, None] == drawn[:, None, :]).any(axis=2)
    return float(kept.mean())


def procrustes(points: Floats, onto: Floats) -> NDArray[np.float64]:
    """The turn and reflection that brings points nearest to others: points @ it ≈ onto (Schönemann 1966).

    points, onto: (point, component), both taken about the mean of the points that are finite in both.
    Returns (component, component), orthogonal: it never scales. Without two points that differ it changes nothing.
    """
    both = finite(points) & finite(onto)
    same = np.eye(points.shape[1])
    if both.sum() < 2:
        return same
    a, b = (np.asarray(side[both], dtype=np.float64) for side in (points, onto))
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    if not np.isfinite(lengths := np.linalg.norm(a) * np.linalg.norm(b)) or lengths == 0:
        return same
    left, strengths, right = np.linalg.svd(a.T @ b / lengths)
    return left @ right if strengths[0] > 0 else same
