"""The gallery: words with more than one meaning, in sentences written for this project, and pairs of them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType
from typing import Literal

from embedviz.occurrences import Occurrence
from embedviz.words import read_marked

Clue = Literal["before", "after"]


@dataclass(frozen=True)
class GallerySense:
    """One meaning of a word.

    clue_before: sentences in which what stands before the word tells the sense.
    clue_after: sentences that are open up to the word, and decided by what follows.
    """

    name: str
    meaning: str
    clue_before: tuple[Occurrence, ...]
    clue_after: tuple[Occurrence, ...]


@dataclass(frozen=True)
class GalleryPair:
    """Two sentences in two senses, the same but for the clue: one word before the word, or what stands after it."""

    clue: Clue
    occurrences: tuple[Occurrence, Occurrence]


@dataclass(frozen=True)
class GalleryWord:
    """A word with its senses and its minimal pairs, in the order of the file."""

    word: str
    senses: tuple[GallerySense, ...]
    pairs: tuple[GalleryPair, ...]

    def occurrences(
        self, which: Literal["before", "after", "all"] = "before", per_sense: int | None = None
    ) -> tuple[Occurrence, ...]:
        """Its sentences sense by sense, those with the clue before the word first; at most `per_sense` of each."""
        groups = [
            (sense.clue_before if which != "after" else ()) + (sense.clue_after if which != "before" else ())
            for sense in self.senses
        ]
        return tuple(one for group in groups for one in group[:per_sense])


@cache
def gallery() -> Mapping[str, GalleryWord]:
    """The words that come with embedviz, from `data/senses.toml`, the opening example first."""
    read = tomllib.loads(_data("senses.toml"))
    pairs: dict[str, list[GalleryPair]] = {}
    for pair in read["pair"]:
        one, two = (_occurrence(each["sentence"], each["sense"]) for each in pair["sentences"])
        pairs.setdefault(pair["word"], []).append(GalleryPair(pair["clue"], (one, two)))
    words = {}
    for entry in read["word"]:
        senses = tuple(
            GallerySense(
                sense["name"],
                sense["meaning"],
                _occurrences(sense["clue_before"], sense["name"]),
                _occurrences(sense["clue_after"], sense["name"]),
            )
            for sense in entry["sense"]
        )
        words[entry["word"]] = GalleryWord(entry["word"], senses, tuple(pairs.get(entry["word"], ())))
    return MappingProxyType(words)


@cache
def clues_after() -> frozenset[tuple[str, int]]:
    """Sentence and start of each of the gallery's uses whose clue stands after the word."""
    words = gallery().values()
    ones = [one for word in words for sense in word.senses for one in sense.clue_after]
    ones += [one for word in words for pair in word.pairs if pair.clue == "after" for one in pair.occurrences]
    return frozenset((one.sentence, one.start) for one in ones)


@cache
def reference_sentences() -> tuple[str, ...]:
    """Sentences about many things, from `data/reference.txt`: a source of pairs of different words."""
    return tuple(_data("reference.txt").splitlines())


def _occurrences(sentences: Iterable[str], sense: str) -> tuple[Occurrence, ...]:
    return tuple(_occurrence(sentence, sense) for sentence in sentences)


def _occurrence(sentence: str, sense: str) -> Occurrence:
    text, span = read_marked(sentence)
    if span is None:
        raise ValueError(f"no word is marked in the gallery's sentence {sentence!r}")
    return Occurrence(text, *span, sense)


def _data(name: str) -> str:
    return (files("embedviz") / "data" / name).read_text(encoding="utf-8")
