"""The same points at every layer, in one frame: each layer's own picture, turned onto its neighbour's.

Turning and reflecting change no distance within a layer. Places in different layers have no common unit, so a path
through the layers shows who moves towards whom, and no more.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embedviz.geometry import Floats, directions_up_to, finite, has_direction, neighbours_kept, procrustes, unit
from embedviz.projection.job import Job, Placed, Step
from embedviz.projection.pca import PcaProjection, pca
from embedviz.projection.umap_client import UmapWorker, must_differ, shared
from embedviz.projection.umap_fit import FEWEST

Numbers = NDArray[np.float64]
Groups = Sequence[str | None]
# One layer's own picture: a PCA, a UMAP's layout with the share of neighbours it keeps, or none yet.
Drawn: TypeAlias = PcaProjection | Placed | None

# A frame that holds every point is ruled by one late outlier; beyond this share of the coordinates, points lie outside.
INSIDE, ROOM = 97, 1.12
# A new point in a UMAP stands among this many of its nearest.
NEAREST = 3
# Two vectors whose cosine is nearer to 1 than this have one direction, as geometry.directions_up_to has it.
SAME = 1e-8


@dataclass(frozen=True, eq=False)
class AlignedProjection:
    """One picture a layer, all in one frame, whose centre is the mean of the points.

    coordinates: (layer, point, component) float64; NaN for points without a direction and layers not placed yet; 0 in
        layers in which all points have one direction. PCA: in the unit of the unit vectors. UMAP has no unit: the root
        mean square distance from the centre is 1 in each layer.
    explained: (layer,) share of the variance that the picture keeps, NaN where all are equal; None for UMAP.
    neighbours_kept: (layer,) share of each point's nearest by cosine that are among its nearest in the picture; NaN
        below 3 different points.
    left_out: (layer,) number of points without a direction.
    placed: (layer,) whether the layer has its picture; all but in a part of a UMAP.
    edge: half the side of the frame for all layers: 1.12 × the 97th percentile of |coordinate| from layer 1 on.
    start: the layer from which the others are aligned: the one asked for, or the nearest to it in which points differ.
    axes, means: (layer, component, dimension) and (layer, dimension), of the layers drawn by PCA: coordinates are
        (unit vector − mean) @ axes.T. NaN where UMAP draws, which it does not where fewer than 5 points differ.
    """

    method: Literal["pca", "umap"]
    coordinates: Numbers
    explained: Numbers | None
    neighbours_kept: Numbers
    left_out: NDArray[np.int64]
    placed: NDArray[np.bool_]
    edge: float
    start: int
    axes: Numbers
    means: Numbers

    def __post_init__(self) -> None:
        for array in vars(self).values():
            if isinstance(array, np.ndarray):
                array.flags.writeable = False

    @property
    def by_pca(self) -> NDArray[np.bool_]:
        """(layer,) whether PCA draws a layer: all for "pca"; for "umap" those in which fewer than 5 points differ."""
        return np.asarray(~np.isnan(self.axes).any(axis=(1, 2)))


def aligned_pca(vectors: Floats, *, components: int = 2, start: int, groups: Groups | None = None) -> AlignedProjection:
    """Exact PCA of the unit vectors at every layer, turned onto each other outwards from the layer `start`.

    vectors: (point, layer, dimension), of any number of points. groups: one a point; the first one named lies at the
    left of the start layer.
    """
    drawn = [_pca(layer, components) for layer in _layers(vectors)]
    return _aligned("pca", vectors, drawn, components, start, groups)


def aligned_umap(
    vectors: Floats,
    *,
    components: int = 2,
    start: int,
    groups: Groups | None = None,
    seed: int = 0,
    worker: UmapWorker | None = None,
) -> Job[AlignedProjection]:
    """A UMAP of every layer, each started from its neighbour's places and turned onto them, outwards from `start`.

    vectors: (point, layer, dimension). The job's `so_far` has the start layer as soon as that is placed, as it will be
    in the result; the frame's edge may still change. A layer in which fewer than 5 points differ is drawn by PCA. All
    are brought to one size, or the picture would grow and shrink from layer to layer without a reason.
    Raises BadInput where that is so of all layers.
    """
    return (worker or shared()).place_in_steps(_steps(vectors, components, start, groups, seed))


def _steps(
    vectors: Floats, components: int, start: int, groups: Groups | None, seed: int
) -> Generator[Step, Placed, AlignedProjection]:
    layers = [np.ascontiguousarray(layer, dtype=np.float32) for layer in _layers(vectors)]
    enough = np.array([directions_up_to(layer, FEWEST) == FEWEST for layer in layers])
    order = outwards(start, enough)
    if not order:
        must_differ(layers[start])
    drawn: list[Drawn] = [None if enough[k] else _pca(layer, components) for k, layer in enumerate(layers)]
    so_far = None
    for done, (layer, before) in enumerate(order):
        start_from = None if before is None else drawn[before]
        init = start_from[0] if isinstance(start_from, tuple) else None
        drawn[layer] = yield Step(layers[layer], components, seed, init, done, len(order), so_far)
        # A part once only: to make one at every step would cost more than the fits.
        so_far = _aligned("umap", vectors, drawn, components, layer, groups) if done == 0 else None
    return _aligned("umap", vectors, drawn, components, order[0][0], groups)


def place_new(projection: AlignedProjection, vectors: Floats, new: Floats) -> Numbers:
    """Where other vectors lie in a picture whose own points stay where they are: (layer, new, component) float64.

    vectors: (point, layer, dimension), those of the picture. new: (new, layer, dimension).
    PCA: exactly, on the same axes. In a layer in which all points have one direction there are no axes: what has that
    direction lies with them, and all else has no place (NaN). UMAP, which is not fitted again: the mean of the places
    of the 3 points nearest by cosine, each weighted by 1 / (1 − cosine), so that a copy lies on its original; such a
    point can never stand outside those that are there.
    """
    places = np.full((len(projection.coordinates), len(new), projection.coordinates.shape[2]), np.nan)
    by_pca = projection.by_pca
    for layer, asked in enumerate(_layers(new)):
        usable = has_direction(asked)
        units = unit(np.asarray(asked[usable], dtype=np.float64))
        if by_pca[layer]:
            places[layer, usable] = _on_axes(units, projection.means[layer], projection.axes[layer])
        elif projection.placed[layer]:
            places[layer, usable] = _among(units, vectors[:, layer], projection.coordinates[layer])
    return places


def outwards(start: int, usable: NDArray[np.bool_]) -> list[tuple[int, int | None]]:
    """The usable layers in the order in which they are drawn, each with the one it follows: None for the first.

    The first is `start`, or the usable one nearest to it; then come the later ones, then the earlier ones. Each follows
    the last usable one on its side.
    """
    chosen = np.flatnonzero(usable).tolist()
    if not chosen:
        return []
    first = min(chosen, key=lambda layer: (abs(layer - start), -layer))
    later = [layer for layer in chosen if layer >= first]
    earlier = [layer for layer in reversed(chosen) if layer <= first]
    followed = [pair for side in (later, earlier) for pair in zip(side[1:], side, strict=False)]
    return [(first, None), *followed]


def _layers(vectors: Floats) -> Iterator[Floats]:
    """One layer (point, dimension) after the other."""
    return (vectors[:, layer] for layer in range(vectors.shape[1]))


def _pca(vectors: Floats, components: int) -> PcaProjection:
    """PCA of one layer; where all have one direction, without spreading what is only rounding over the picture."""
    found = pca(vectors, components, unit=True)
    if directions_up_to(vectors, 2) > 1:
        return found
    none = np.full(components, np.nan)
    return replace(found, coordinates=found.coordinates * 0, axes=found.axes * 0, explained=none)


def _aligned(
    method: Literal["pca", "umap"],
    vectors: Floats,
    drawn: Sequence[Drawn],
    components: int,
    start: int,
    groups: Groups | None,
) -> AlignedProjection:
    """Bring the layers' own pictures into one frame."""
    points, layers, dimensions = vectors.shape
    places, axes = np.full((layers, points, components), np.nan), np.full((layers, components, dimensions), np.nan)
    means, explained, kept = np.full((layers, dimensions), np.nan), np.full(layers, np.nan), np.full(layers, np.nan)
    for layer, one in enumerate(drawn):
        if isinstance(one, PcaProjection):
            places[layer], axes[layer], means[layer], explained[layer] = one.coordinates, one.axes, one.mean, one.kept
            if directions_up_to(vectors[:, layer], 3) == 3:
                kept[layer] = neighbours_kept(vectors[:, layer], one.coordinates)
        elif one is not None:
            layout, kept[layer] = one
            places[layer] = layout - layout[finite(layout)].mean(axis=0, dtype=np.float64)
    turns, start = _turns(places, start, groups)
    if method == "umap":
        turns /= _radii(places)[:, None, None]
    places, axes = places @ turns, turns.transpose(0, 2, 1) @ axes
    placed = np.array([one is not None for one in drawn])
    return AlignedProjection(
        method,
        places,
        explained if method == "pca" else None,
        kept,
        np.array([(~has_direction(layer)).sum() for layer in _layers(vectors)], dtype=np.int64),
        placed,
        _edge(places),
        start,
        axes,
        means,
    )


def _turns(places: Numbers, start: int, groups: Groups | None) -> tuple[Numbers, int]:
    """(layer, component, component) how each layer is turned or reflected, and the layer from which on that is done."""
    turns = np.tile(np.eye(places.shape[2]), (len(places), 1, 1))
    spread = np.array([bool(np.nan_to_num(layer).any()) for layer in places], dtype=bool)
    order = outwards(start, spread)
    for layer, before in order:
        if before is None:
            turns[layer] = _first_turn(places[layer], groups)
        else:
            turns[layer] = procrustes(places[layer], places[before] @ turns[before])
    return turns, order[0][0] if order else start


def _first_turn(places: Numbers, groups: Groups | None) -> Numbers:
    """Reflections that bring the first group named to the left, and along other axes the farthest point to the top.

    Where no groups are named, or only one, the first point stands for it.
    """
    there = np.flatnonzero(finite(places))
    named = [None if groups is None else groups[point] for point in there.tolist()]
    first = next((name for name in named if name is not None), None)
    members = there[[name == first for name in named]]
    left = places[members if len(members) < len(there) else there[:1], 0].mean()
    # Of points that are equally far but for rounding, the first decides.
    sizes = np.abs(places[there])
    farthest = places[there[(sizes >= sizes.max(axis=0) * (1 - 1e-9)).argmax(axis=0)], np.arange(places.shape[1])]
    return np.diag(np.where([left > 0, *(farthest[1:] < 0)], -1.0, 1.0))


def _radii(places: Numbers) -> Numbers:
    """(layer,) the root mean square distance from the centre; 1 where that is 0 or no point is placed."""
    squares = np.square(places).sum(axis=2)
    there = np.isfinite(squares)
    radii = np.sqrt(np.where(there, squares, 0).sum(axis=1) / np.maximum(there.sum(axis=1), 1))
    return np.where(radii > 0, radii, 1.0)


def _edge(places: Numbers) -> float:
    """Half the side of the frame; 1 where no point lies off the centre."""
    sizes = np.abs(places[1:] if len(places) > 1 else places)
    sizes = sizes[np.isfinite(sizes)]
    return float(ROOM * np.percentile(sizes, INSIDE)) or 1.0 if len(sizes) else 1.0


def _on_axes(units: Numbers, mean: Numbers, axes: Numbers) -> Numbers:
    """(new, component) unit vectors in a picture drawn by PCA."""
    places = (units - mean) @ axes.T
    if not axes.any():
        places[~(np.square(units - mean).sum(axis=1) / 2 < SAME)] = np.nan
    return places


def _among(units: Numbers, vectors: Floats, places: Numbers) -> Numbers:
    """(new, component) unit vectors among the places of those nearest by cosine."""
    there = has_direction(vectors) & finite(places)
    others, places = unit(np.asarray(vectors[there], dtype=np.float64)), places[there]
    nearest = np.argsort(-(units @ others.T), axis=1, kind="stable")[:, :NEAREST]
    # Half the square of the distance is 1 − cosine, without the rounding of a value near 1.
    apart = np.square(units[:, None] - others[nearest]).sum(axis=2) / 2
    weights = 1 / np.maximum(apart, 1e-12)
    return np.asarray((places[nearest] * weights[:, :, None]).sum(axis=1) / weights.sum(axis=1)[:, None])
