"""Where labels fit: each at one side of its point, none over another, the most welcome first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Side = Literal["middle right", "middle left", "top center", "bottom center"]
Box = tuple[float, float, float, float]

# The code font's letters are .6 of its size wide, and a line 1.2 high.
LETTER, LINE = 0.6, 1.2


@dataclass(frozen=True)
class Label:
    """A label that has a place: which of those asked for, on which side of its point, and how far from it."""

    number: int
    side: Side
    gap: float


def place_labels(
    points: Sequence[tuple[float, float]],
    texts: Sequence[str],
    font: float,
    width: float,
    height: float,
    *,
    gap: float = 6,
    taken: Iterable[Box] = (),
    most: int | None = None,
    must: int = 0,
) -> tuple[Label, ...]:
    """Give labels a place in their order; one that fits nowhere is left out, as is one out of sight.

    points: (x, y) in pixels from the top left corner of an area of width × height. font, gap: in pixels; a label
    stands `gap` away from its point. taken: boxes (left, top, right, bottom) to keep free. must: so many of the first
    labels go up to four times as far from their point, rather than be left out.
    """
    boxes, placed = np.array([*taken], dtype=float).reshape(-1, 4), list[Label]()
    for number, ((x, y), text) in enumerate(zip(points, texts, strict=True)):
        if len(placed) == most:
            break
        if not (0 <= x <= width and 0 <= y <= height):
            continue
        wide, high = len(text) * font * LETTER, font * LINE
        for side, far, box in _sides(x, y, wide, high, [gap * k for k in ((1, 2, 3, 4) if number < must else (1,))]):
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height
            if inside and not _touches(box, boxes):
                boxes = np.vstack([boxes, box])
                placed.append(Label(number, side, far))
                break
    return tuple(placed)


def _sides(x: float, y: float, wide: float, high: float, gaps: Iterable[float]) -> Iterator[tuple[Side, float, Box]]:
    for gap in gaps:
        yield "middle right", gap, (x + gap, y - high / 2, x + gap + wide, y + high / 2)
        yield "middle left", gap, (x - gap - wide, y - high / 2, x - gap, y + high / 2)
        yield "top center", gap, (x - wide / 2, y - gap - high, x + wide / 2, y - gap)
        yield "bottom center", gap, (x - wide / 2, y + gap, x + wide / 2, y + gap + high)


def _touches(box: Box, others: NDArray[np.float64]) -> bool:
    left, top, right, bottom = others.T
    return bool(((box[0] < right) & (left < box[2]) & (box[1] < bottom) & (top < box[3])).any())
