"""Where labels fit: each at one side of its point, none over another, the most welcome first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
    """A label that has a place: which of those asked for, and on which side of its point."""

    number: int
    side: Side


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
) -> tuple[Label, ...]:
    """Give labels a place in their order; one that fits nowhere is left out, as is one out of sight.

    points: (x, y) in pixels from the top left corner of an area of width × height. font, gap: in pixels; a label
    stands `gap` away from its point. taken: boxes (left, top, right, bottom) to keep free.
    """
    boxes, placed = np.array([*taken], dtype=float).reshape(-1, 4), list[Label]()
    for number, ((x, y), text) in enumerate(zip(points, texts, strict=True)):
        if len(placed) == most:
            break
        if not (0 <= x <= width and 0 <= y <= height):
            continue
        wide, high = len(text) * font * LETTER, font * LINE
        sides: dict[Side, Box] = {
            "middle right": (x + gap, y - high / 2, x + gap + wide, y + high / 2),
            "middle left": (x - gap - wide, y - high / 2, x - gap, y + high / 2),
            "top center": (x - wide / 2, y - gap - high, x + wide / 2, y - gap),
            "bottom center": (x - wide / 2, y + gap, x + wide / 2, y + gap + high),
        }
        for side, box in sides.items():
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= width and box[3] <= height
            if inside and not _touches(box, boxes):
                boxes = np.vstack([boxes, box])
                placed.append(Label(number, side))
                break
    return tuple(placed)


def _touches(box: Box, others: NDArray[np.float64]) -> bool:
    left, top, right, bottom = others.T
    return bool(((box[0] < right) & (left < box[2]) & (box[1] < bottom) & (top < box[3])).any())
