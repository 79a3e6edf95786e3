"""What a reader must know before believing the picture of a word's senses: each problem found, in one sentence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from embedviz.context_measures import labels
from embedviz.gallery import clues_after
from embedviz.geometry import Floats, has_direction
from embedviz.numbers import count, length, things

if TYPE_CHECKING:
    from embedviz.occurrences import Occurrence

Kind = Literal["none", "one use", "clue after", "first", "start token", "repeats", "senses", "few uses", "umap"]

# UMAP draws nothing below so many points; below the second number its shape is partly chance.
UMAP_LEAST, UMAP_ENOUGH = 5, 15
# The first word's vector counts as longer from this ratio on; a model without an attention sink stays below.
LONGER = 2.0


@dataclass(frozen=True)
class Note:
    """One problem. kind: what it is about, for a page that adds a button. text: the sentence to show."""

    kind: Kind
    text: str


def notes(
    word: str,
    occurrences: Sequence[Occurrence],
    *,
    model: str,
    causal: bool,
    start_token: bool,
    method: Literal["pca", "umap"] = "pca",
    vectors: Floats | None = None,
) -> tuple[Note, ...]:
    """The problems of some occurrences, the gravest first.

    model: its name as shown. causal: it reads left to right. start_token: one is fed first. method: of the picture
    asked for. vectors: (occurrence, layer, dimension), from which the length of first words is told.
    """
    if not occurrences:
        return (Note("none", f"No sentence has [{word}] in brackets yet."),)
    found: list[Note] = []
    if causal:
        found += _clue_after(word, occurrences, model) + _first(word, occurrences, start_token, vectors)
    found += _repeats(occurrences) + _senses(occurrences)
    if method == "umap":
        found += _umap(len(occurrences))
    return tuple(found)


def clue_comes_after(occurrences: Sequence[Occurrence]) -> tuple[int, ...]:
    """Numbers of the occurrences that share all up to and with the marked word with another sentence in another sense.

    A model that reads left to right has the same vectors for both, so it cannot tell their senses.
    """
    alike = defaultdict[tuple[str, int], set[tuple[str, str]]](set)
    for one in occurrences:
        if one.sense is not None:
            alike[one.sentence[: one.end], one.start].add((one.sentence, one.sense))
    return tuple(
        place
        for place, one in enumerate(occurrences)
        if one.sense is not None
        # One sentence given two senses has no clue at all.
        and any(
            sentence != one.sentence and sense != one.sense
            for sentence, sense in alike[one.sentence[: one.end], one.start]
        )
    )


def _clue_after(word: str, occurrences: Sequence[Occurrence], model: str) -> list[Note]:
    known = clues_after()
    listed = {place for place, one in enumerate(occurrences) if (one.sentence, one.start) in known}
    blind = len(listed | set(clue_comes_after(occurrences)))
    if not blind:
        return []
    said = f"In {count(blind)} of {things(len(occurrences), 'sentence')} the clue comes after {word}. "
    return [Note("clue after", f"{said}{model} reads left to right, so there it cannot know it.")]


def _first(word: str, occurrences: Sequence[Occurrence], start_token: bool, vectors: Floats | None) -> list[Note]:
    first = np.array([not one.sentence[: one.start].strip() for one in occurrences])
    if not first.any():
        return []
    before = "nothing but the start token stands before it" if start_token else "nothing stands before it"
    found = [Note("first", f"{word} comes first in {things(int(first.sum()), 'sentence')}: {before}.")]
    longer = 1.0 if start_token or vectors is None else _times_longer(vectors, first)
    if longer >= LONGER:
        said = f"Without a start token the first word's vector is {length(longer)} times longer and bends the picture."
        found.append(Note("start token", said))
    return found


def _times_longer(vectors: Floats, first: np.ndarray) -> float:
    """How many times longer first words' vectors are than the others', medians, at the layer where it is most."""
    ratios = [1.0]
    for layer in range(vectors.shape[1]):
        usable = has_direction(vectors[:, layer])
        lengths = np.linalg.norm(vectors[:, layer].astype(np.float64), axis=1)
        if (usable & first).any() and (usable & ~first).any():
            ratios.append(float(np.median(lengths[usable & first]) / np.median(lengths[usable & ~first])))
    return max(ratios)


def _repeats(occurrences: Sequence[Occurrence]) -> list[Note]:
    times = Counter((one.sentence, one.start, one.end) for one in occurrences)
    several = sorted(number for number in times.values() if number > 1)
    if not several:
        return []
    marks = f"×{several[0]}" if several[0] == several[-1] else f"×{several[0]} to ×{several[-1]}"
    shared = "one point" if len(several) == 1 else f"{count(len(several))} points"
    return [Note("repeats", f"{count(sum(several))} sentences repeat; they share {shared}, marked {marks}.")]


def _senses(occurrences: Sequence[Occurrence]) -> list[Note]:
    """What keeps the measures of senses from being made."""
    if len(occurrences) == 1:
        return [Note("one use", "One use: add a second to compare.")]
    named = labels([one.sense for one in occurrences])
    found: list[Note] = []
    if not named.names:
        found.append(Note("senses", "No sentence has a sense. Name one in Sentences."))
    elif len(named.names) == 1 and not named.without_sense:
        found.append(Note("senses", "All sentences have the same sense. Name another in Sentences."))
    elif len(named.names) == 1:
        found.append(Note("senses", f"Only one sense is named, {named.names[0]}. Name another in Sentences."))
    if named.names and named.without_sense:
        has = "has" if named.without_sense == 1 else "have"
        said = f"{things(named.without_sense, 'sentence')} {has} no sense: left out where senses are compared."
        found.append(Note("senses", said))
    alone = [name for name, number in zip(named.names, named.counts, strict=True) if number == 1]
    if len(named.names) > 1 and len(alone) == 1:
        found.append(Note("few uses", f"{alone[0]} has one sentence, so it cannot be tested. Add a second."))
    elif len(named.names) > 1 and alone:
        said = f"{count(len(alone))} senses have one sentence, so they cannot be tested. Add a second to each."
        found.append(Note("few uses", said))
    return found


def _umap(uses: int) -> list[Note]:
    if uses < UMAP_LEAST:
        return [Note("umap", f"UMAP needs {UMAP_LEAST} uses; this is PCA.")]
    if uses < UMAP_ENOUGH:
        return [Note("umap", f"With {uses} uses the shape of a UMAP is partly chance. Compare it with PCA.")]
    return []
