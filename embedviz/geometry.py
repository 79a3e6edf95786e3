"""Lengths and angles of vectors: arrays in, numbers out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]


def cosine(a: Floats, b: Floats) -> NDArray[np.float64]:
    """Cosine of the angle between vectors along the last axis, computed in float64; NaN where a vector has no length.

    a, b: (…, dimension), broadcast against each other. Never outside −1 … 1.
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    lengths = np.linalg.norm(a, axis=-1) * np.linalg.norm(b, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.clip(np.sum(a * b, axis=-1) / lengths, -1.0, 1.0)
    return np.where(lengths > 0, found, np.nan)
