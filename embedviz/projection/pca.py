"""Principal component analysis, exact: the flat picture that keeps most of the variance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedviz.geometry import Floats, finite, has_direction, unit

# Below this share of the mean square, variance is rounding: all points are equal.
ROUNDING = 1e-24


@dataclass(frozen=True, eq=False)
class PcaProjection:
    """Points on the axes of greatest variance.

    coordinates: (point, component) float64; NaN for points left out, 0 along axes that the points do not need.
    explained: (component,) share of the variance along each axis; NaN where there is none: one point, or all equal.
    axes: (component, dimension) float64, unit vectors (0 where not needed); the number farthest from 0 is positive.
    mean: (dimension,) float64, of the points used.
    left_out: number of points with a number that is not finite, or without a direction where that is needed.
    unit: whether the points were brought to length 1 first, so that distance in the picture follows their cosine.
    """

    coordinates: NDArray[np.float64]
    explained: NDArray[np.float64]
    axes: NDArray[np.float64]
    mean: NDArray[np.float64]
    left_out: int
    unit: bool

    @property
    def kept(self) -> float:
        """Share of the variance that the picture keeps, 0 to 1; NaN where there is none."""
        return float(self.explained.sum())

    def place(self, vectors: Floats) -> NDArray[np.float64]:
        """(point, component) where other vectors (point, dimension) lie in this picture, which stays as it is."""
        usable, used = _usable(vectors, self.unit)
        places = np.full((len(vectors), len(self.axes)), np.nan)
        places[usable] = (used - self.mean) @ self.axes.T
        return places


def pca(vectors: Floats, components: int = 2, *, unit: bool) -> PcaProjection:
    """Project vectors (point, dimension) onto their axes of greatest variance (Pearson 1901), the mean subtracted.

    unit: bring each vector to length 1 first. The same vectors always give the same picture.
    """
    usable, used = _usable(vectors, unit)
    count, dimensions = used.shape
    coordinates = np.full((len(vectors), components), np.nan)
    coordinates[usable] = 0.0
    explained, axes = np.full(components, np.nan), np.zeros((components, dimensions))
    mean = used.mean(axis=0) if count else np.full(dimensions, np.nan)
    centred = used - mean
    total = float(np.square(centred).sum())
    if total > ROUNDING * float(np.square(used).sum()):
        # The smaller of the two products has the same eigenvalues, other than zeros.
        few = count <= dimensions
        values, vectors_of = np.linalg.eigh(centred @ centred.T if few else centred.T @ centred)
        explained[:] = 0.0
        for k in range(min(components, len(values))):
            value, vector = values[-1 - k], vectors_of[:, -1 - k]
            if value <= 1e-14 * len(values) * values[-1]:
                break
            axis = vector @ centred / np.sqrt(value) if few else vector
            axes[k] = axis * np.sign(axis[np.abs(axis).argmax()])
            explained[k] = value / total
        coordinates[usable] = centred @ axes.T
    return PcaProjection(coordinates, explained, axes, mean, int((~usable).sum()), unit)


def _usable(vectors: Floats, to_unit: bool) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """(point,) which vectors can be placed, and those vectors in float64."""
    exact = np.asarray(vectors, dtype=np.float64)
    usable = has_direction(exact) if to_unit else finite(exact)
    used = exact[usable]
    return usable, unit(used) if to_unit else used
