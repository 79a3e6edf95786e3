"""Concepts to look for in a table: two lists of words each, those that have something and their like that do not."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from embedviz.meaning import word

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel


@dataclass(frozen=True)
class Concept:
    """Two lists of words: those that have something, and their like that do not.

    paired: the k-th word of one list answers the k-th of the other.
    """

    name: str
    counterpart: str
    paired: bool
    words: tuple[str, ...]
    others: tuple[str, ...]


@cache
def concepts() -> tuple[Concept, ...]:
    """The concepts that come with embedviz, from `data/concepts.toml`."""
    text = (files("embedviz") / "data" / "concepts.toml").read_text(encoding="utf-8")
    return tuple(
        Concept(
            one["name"], one["counterpart"], one["paired"], tuple(one["words"].split()), tuple(one["others"].split())
        )
        for one in tomllib.loads(text)["concept"]
    )


@dataclass(frozen=True)
class ConceptIds:
    """A concept's words as ids of one model: those that are one token with a space before them.

    left_out: the words that are several tokens here, or whose partner is, or that have the id of a word opposite.
    """

    concept: Concept
    words: tuple[int, ...]
    others: tuple[int, ...]
    left_out: tuple[str, ...]


def concept_ids(model: LanguageModel, concept: Concept) -> ConceptIds:
    """Look a concept's words up. A pair stays or goes as a whole; an id on both sides, as without capitals, goes."""
    ids = {text: word(model, text).ids for text in (*concept.words, *concept.others)}
    if concept.paired:
        pairs = [
            (text, other)
            for text, other in zip(concept.words, concept.others, strict=True)
            if len(ids[text]) == len(ids[other]) == 1 and ids[text] != ids[other]
        ]
        words, others = [text for text, _ in pairs], [other for _, other in pairs]
    else:
        words = [text for text in concept.words if len(ids[text]) == 1]
        taken = {ids[text] for text in words}
        others = [text for text in concept.others if len(ids[text]) == 1 and ids[text] not in taken]
    left_out = [text for text in concept.words if text not in words]
    left_out += [text for text in concept.others if text not in others]
    return ConceptIds(
        concept, tuple(ids[text][0] for text in words), tuple(ids[text][0] for text in others), tuple(left_out)
    )
