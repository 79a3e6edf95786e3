"""The calls of UMAP itself, made in the worker alone: importing and compiling it takes up to half a minute."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embedviz.geometry import directions_up_to, finite, has_direction, nearest_directions, neighbours_kept, unit

Layout = NDArray[np.float32]
# What is being done, how much of it, of how much, and the share of the whole from 0 to 1.
Tell = Callable[[str, int, int, float], None]

FEWEST = 5
NEIGHBOURS = 15
# Each holds 100 MB while rows are compared.
MOST_THREADS = 4
# Shares of a large map's time: finding neighbours until the first, placing by the graph until the second, rounds of
# moving until the third, then measuring what is kept (49,152 rows of 576 on two cores).
NEIGHBOURS_FOUND, PLACED, MOVED = 0.55, 0.62, 0.98


def warm_up() -> None:
    """Import UMAP and have numba compile it, with a fit of a few points."""
    place(np.random.default_rng(0).normal(size=(8, 4)).astype(np.float32), 2, 0)


def place(vectors: NDArray[np.float32], components: int, seed: int, init: Layout | None = None) -> Layout:
    """A UMAP of vectors (point, dimension) by cosine (McInnes et al. 2018): (point, component).

    Equal vectors share one place; vectors without a direction get NaN, and so do all where fewer than `FEWEST` differ.
    init: (point, component) places to start from; those that are NaN start in the middle.
    """
    import umap

    layout = np.full((len(vectors), components), np.nan, dtype=np.float32)
    usable = np.flatnonzero(has_direction(vectors))
    if directions_up_to(vectors, FEWEST) < FEWEST:
        return layout
    _, first, same_as = np.unique(vectors[usable], axis=0, return_index=True, return_inverse=True)
    # In the order in which they were given, so that the picture does not depend on which numbers are smaller.
    order = np.argsort(first)
    back = np.argsort(order)[same_as.reshape(-1)]
    chosen = usable[first[order]]
    start = "spectral" if init is None else _start(init[chosen])
    found = umap.UMAP(
        n_components=components,
        n_neighbors=min(NEIGHBOURS, len(chosen) - 1),
        metric="cosine",
        init=start,
        random_state=seed,
        n_jobs=1,
    ).fit_transform(vectors[chosen])
    layout[usable] = found[back]
    return layout


def _start(places: Layout) -> Layout | str:
    """Places to start from, without gaps; "spectral" where they say nothing."""
    known = finite(places)
    if not known.any() or np.ptp(places[known], axis=0).min() == 0:
        return "spectral"
    return np.where(known[:, None], places, places[known].mean(axis=0)).astype(np.float32)


def place_all(vectors: NDArray[np.float32], seed: int, settings: Mapping[str, Any], tell: Tell) -> tuple[Layout, float]:
    """A map of many rows (point, dimension), each with a direction: (point, 2), and the share of neighbours kept.

    The graph of nearest neighbours is exact, from plain matrix products on all cores: as fast as UMAP's own search for
    49,152 rows, which finds most of them, and it can say how far it is. settings: UMAP's, `n_neighbors` among them.
    """
    import umap

    units, rows = unit(vectors), len(vectors)
    near = min(int(settings["n_neighbors"]), rows - 1)
    ids, cosines = nearest_directions(
        units,
        near - 1,
        told=lambda done: tell("rows compared", done, rows, NEIGHBOURS_FOUND * done / rows),
        threads=min(os.cpu_count() or 1, MOST_THREADS),
    )
    # UMAP wants each row as its own nearest, at distance 0.
    ids = np.concatenate([np.arange(rows, dtype=np.int32)[:, None], ids], axis=1)
    distances = np.concatenate([np.zeros((rows, 1), np.float32), np.maximum(1 - cosines, 0)], axis=1)
    layout = umap.UMAP(
        **{**settings, "n_neighbors": near},
        metric="cosine",
        precomputed_knn=(ids, distances),
        random_state=seed,
        n_jobs=1,
        tqdm_kwds={"file": _Rounds(tell), "disable": False, "bar_format": "{n_fmt} {total_fmt}", "mininterval": 0.2},
    ).fit_transform(units)
    tell("rows checked", 0, rows, MOVED)
    return layout, neighbours_kept(units, layout, seed=seed)


class _Rounds(io.StringIO):
    """Takes what UMAP's progress bar writes, `120 200`, and tells it."""

    def __init__(self, tell: Tell) -> None:
        super().__init__()
        self._tell = tell

    def write(self, text: str, /) -> int:
        numbers = text.split()
        if len(numbers) == 2:
            done, rounds = int(numbers[0]), int(numbers[1])
            self._tell("rounds of moving points", done, rounds, PLACED + (MOVED - PLACED) * done / max(rounds, 1))
        return len(text)
