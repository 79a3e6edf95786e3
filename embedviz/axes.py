"""Axes from opposites: a direction in the table that several pairs of opposed words share, and words placed along two.

An axis is the mean of the differences `high − low` of its pairs, made unit length. Words are placed by the cosine of
their row, as it stands in the table, with each axis. The mean row is subtracted only on request: it is ruled by rare
rows, and in SmolLM2 it leans .37 toward "woman" itself, so that subtracting it moves ␣table from .03 to −.25, toward
"man". The axes are the same either way, since a difference of two rows does not change.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embedviz.errors import BadInput
from embedviz.geometry import cosine
from embedviz.meaning import Meaning
from embedviz.numbers import count, decimal, share
from embedviz.tokens import visible_line

MOST_WORDS = 500
# Words given more than once that a note names; the rest is counted.
MOST_NAMED = 5
# Below this share of its length in the second direction, two axes span a line, not a plane.
PARALLEL = 1e-6
ZERO = "0 is at a right angle to the axis, not half way between its ends."


@dataclass(frozen=True, eq=False)
class Axis:
    """A direction from the low words to the high words.

    pairs: (low, high) words.
    direction: (dimension,) float64, unit length.
    agreement: (pair,) cosine of each pair's own difference with the axis; 1 for a single pair.
    """

    pairs: tuple[tuple[Meaning, Meaning], ...]
    direction: NDArray[np.float64]
    agreement: NDArray[np.float64]

    @property
    def low(self) -> str:
        """Name of the low end, after its first pair."""
        return self.pairs[0][0].label

    @property
    def high(self) -> str:
        """Name of the high end, after its first pair."""
        return self.pairs[0][1].label


@dataclass(frozen=True, eq=False)
class Placement:
    """Words along two axes.

    places: (word, 2) cosine of the word's row with each axis; NaN for a row without length.
    left_out: (word,) share of the row's squared length that lies outside the plane of both axes, 0 … 1.
    between: cosine of the two axes; at ±1 both measure the same thing.
    landmarks: the words of the axes' own pairs that are not among `words`; landmark_places: (landmark, 2) as `places`.
    uncentred: (word, 2) the places before the mean row was subtracted; None where it was not.
    """

    words: tuple[Meaning, ...]
    axes: tuple[Axis, Axis]
    places: NDArray[np.float64]
    left_out: NDArray[np.float64]
    between: float
    landmarks: tuple[Meaning, ...]
    landmark_places: NDArray[np.float64]
    uncentred: NDArray[np.float64] | None = None

    @property
    def sentence(self) -> str:
        """How much of the words the axes leave out, and whether they measure two things."""
        known = np.flatnonzero(np.isfinite(self.left_out))
        if not len(known):
            return "None of these rows has a length, so none has a place."
        most = int(known[np.argmax(self.left_out[known])])
        least = int(known[np.argmin(self.left_out[known])])
        told = f"{share(float(self.left_out[most])).capitalize()} of {self.words[most].label}"
        told += " is left out by these two axes"
        if most != least:
            told += f", {share(float(self.left_out[least]))} of {self.words[least].label}"
        told += f". The axes have cosine {decimal(self.between)} with each other."
        return " ".join(filter(None, [told, ZERO, self.moved]))

    @property
    def moved(self) -> str:
        """Which word the subtracted mean row moves most, from where to where; empty where it is not subtracted."""
        if self.uncentred is None:
            return ""
        far = np.abs(self.places - self.uncentred)
        if np.isnan(far).all():
            return ""
        most, k = (int(one) for one in np.unravel_index(np.nanargmax(far), far.shape))
        before, after = (decimal(float(places[most, k])) for places in (self.uncentred, self.places))
        way = ("across", "up")[k]
        return f"With the mean row subtracted, {self.words[most].label} moves most: {way} from {before} to {after}."


def read_pairs(typed: str) -> tuple[tuple[str, str], ...]:
    """Pairs of opposed words, one pair a line or between semicolons: `man, woman` or `man woman`, low word first.

    Slashes and dashes part the words only where no comma does: `and/or, either` is a pair.

    Raises BadInput naming the first line that is not two words.
    """
    lines = [line.strip() for line in re.split(r"[\n;]+", typed) if line.strip()]
    if not lines:
        raise BadInput("An axis needs at least one pair of opposed words, such as: man, woman.")
    pairs = []
    for line in lines:
        between = r"[,\t]" if re.search(r"[,\t]", line) else r"[/|]|\s[-–—]\s"
        words = [part.strip() for part in re.split(between, line)]
        words = line.split() if len(words) == 1 else words
        if len(words) != 2 or not all(words):
            found = sum(map(bool, words))
            raise BadInput(f"An axis needs two words a line, such as man, woman; {visible_line(line)} has {found}.")
        pairs.append((words[0], words[1]))
    return tuple(pairs)


def read_words(typed: str, most: int = MOST_WORDS) -> tuple[tuple[str, ...], int]:
    """Words of a list, each once, and how many there are; at most `most` are given back.

    Where there are commas, semicolons or tabs, spaces belong to the words. Raises BadInput for an empty list.
    """
    words = tuple(dict.fromkeys(_listed(typed)))
    if not words:
        raise BadInput("No words were given: type some, with commas between them.")
    return words[:most], len(words)


def _listed(typed: str) -> list[str]:
    parts = re.split(r"[,;\t\n]+", typed) if re.search(r"[,;\t]", typed) else typed.split()
    return [part.strip() for part in parts if part.strip()]


def list_notes(typed: str, used: int, verb: str) -> tuple[str, ...]:
    """What a reader of a list must know first: how many of its words are used, and which were given more than once."""
    times = Counter(_listed(typed))
    notes = [] if used >= len(times) else [f"{count(used)} of {count(len(times))} words are {verb}."]
    again = [word for word, number in times.items() if number > 1]
    if len(again) == 1:
        number = times[again[0]]
        often = "twice" if number == 2 else f"{count(number)} times"
        notes.append(f"{visible_line(again[0])} was given {often}.")
    elif again:
        named = ", ".join(visible_line(word) for word in again[:MOST_NAMED])
        rest = f" and {count(len(again) - MOST_NAMED)} more" if len(again) > MOST_NAMED else ""
        notes.append(f"Given more than once: {named}{rest}.")
    return tuple(notes)


def axis(pairs: Sequence[tuple[Meaning, Meaning]]) -> Axis:
    """The axis of some (low, high) pairs: the mean of their differences, made unit length.

    Raises BadInput without pairs, for a pair of equal words, and where the differences cancel each other.
    """
    if not pairs:
        raise BadInput("An axis needs at least one pair of opposed words, such as: man, woman.")
    for low, high in pairs:
        if np.array_equal(low.vector, high.vector):
            raise BadInput(f"{low.label} and {high.label} have the same row: an axis needs two different words.")
    differences = np.stack([high.vector.astype(np.float64) - low.vector for low, high in pairs])
    mean = differences.mean(axis=0)
    length = np.linalg.norm(mean)
    if length <= PARALLEL * np.linalg.norm(differences, axis=1).max():
        raise BadInput("The pairs cancel each other: put the same side first in each of them.")
    direction = mean / length
    return Axis(tuple(pairs), direction, cosine(differences, direction))


def place(
    axes: tuple[Axis, Axis], words: Sequence[Meaning], *, mean_row: NDArray[np.float64] | None = None
) -> Placement:
    """Place words along two axes, with the share of each that both axes leave out. Raises BadInput without words.

    mean_row: (dimension,) the table's mean row, where it is to be subtracted from the words' rows first.
    """
    if not words:
        raise BadInput("No words were given: type some, with commas between them.")
    ends = {word.ids: word for one in axes for pair in one.pairs for word in pair}
    landmarks = [end for ids, end in ends.items() if ids not in {word.ids for word in words}]
    directions = np.stack([one.direction for one in axes])
    raw = np.stack([word.vector for word in (*words, *landmarks)]).astype(np.float64)
    uncentred = None if mean_row is None else _places(raw[: len(words)], directions)
    moved = raw if mean_row is None else raw - mean_row
    every, vectors = _places(moved, directions), moved[: len(words)]
    # The axes need not be at right angles, so their plane is spanned anew; parallel axes span a line.
    _, sizes, span = np.linalg.svd(directions, full_matrices=False)
    span = span[sizes > PARALLEL]
    squares = np.sum(vectors**2, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        left_out = np.clip(1 - np.sum((vectors @ span.T) ** 2, axis=1) / squares, 0.0, 1.0)
    return Placement(
        tuple(words), axes, every[: len(words)], left_out, float(cosine(*directions)), tuple(landmarks),
        every[len(words) :], uncentred,
    )  # fmt: skip


def _places(vectors: NDArray[np.float64], directions: NDArray[np.float64]) -> NDArray[np.float64]:
    """(vector, 2) cosine of each vector with both directions."""
    return np.stack([cosine(vectors, direction) for direction in directions], axis=1)
