"""The problems a page names by itself, in its exact words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from embedviz.gallery import gallery
from embedviz.occurrences import Occurrence
from embedviz.sense_notes import clue_comes_after, notes


def use(marked: str, sense: str | None = None) -> Occurrence:
    """An occurrence from a sentence with [word]."""
    start, end = marked.index("["), marked.index("]") - 1
    return Occurrence(marked.replace("[", "").replace("]", ""), start, end, sense)


def said(uses: Sequence[Occurrence], **more: Any) -> list[str]:
    reading: dict[str, Any] = {"model": "SmolLM2", "causal": True, "start_token": True, **more}
    return [note.text for note in notes("bank", uses, **reading)]


RIVER, ENGLAND = use("The [bank] of the river", "river"), use("The [bank] of England", "money")
GOOD = [use(f"{what} {n} the [bank]", what) for what in ("river", "money") for n in range(8)]


def test_good_sentences_need_no_note() -> None:
    assert said(GOOD) == []
    assert said(GOOD, causal=False, start_token=False) == []
    assert said(GOOD, method="umap") == []


def test_a_clue_after_the_word_is_named_for_a_causal_model_alone() -> None:
    text = "In 2 of 18 sentences the clue comes after bank. SmolLM2 reads left to right, so there it cannot know it."
    assert said([*GOOD, RIVER, ENGLAND]) == [text]
    assert said([*GOOD, RIVER, ENGLAND], causal=False) == []


def test_the_clue_comes_after_only_where_senses_differ_and_texts_before_do_not() -> None:
    assert clue_comes_after([RIVER, *GOOD, ENGLAND]) == (0, 17)
    assert clue_comes_after([RIVER, use("The [bank] of mud", "river")]) == ()
    assert clue_comes_after([RIVER, use("A [bank] of England", "money")]) == ()
    assert clue_comes_after([RIVER, use("The [bank] of England")]) == ()
    # The word itself is read: another form may tell.
    assert clue_comes_after([RIVER, use("The [banks] of England", "money")]) == ()
    # One sentence given two senses has no clue before or after.
    assert clue_comes_after([RIVER, use("The [bank] of the river", "money")]) == ()
    assert clue_comes_after([]) == ()


def test_first_words_are_named_for_a_causal_model() -> None:
    uses = [*GOOD, use("[bank] of mud", "river"), use(" [bank] of mud", "river")]
    assert said(uses) == ["bank comes first in 2 sentences: nothing but the start token stands before it."]
    assert said(uses[:-1]) == ["bank comes first in 1 sentence: nothing but the start token stands before it."]
    assert said(uses, start_token=False) == ["bank comes first in 2 sentences: nothing stands before it."]
    assert said(uses, causal=False) == []


def test_without_a_start_token_the_length_of_first_words_is_told() -> None:
    uses = [*GOOD, use("[bank] of mud", "river")]
    vectors = np.ones((17, 3, 4), dtype=np.float32)
    vectors[-1, 1], vectors[0, 1], vectors[1, 2] = 137, np.nan, 0
    text = "Without a start token the first word's vector is 137 times longer and bends the picture."
    assert said(uses, start_token=False, vectors=vectors)[1:] == [text]
    assert text not in said(uses, vectors=vectors)
    assert len(said(uses, start_token=False, vectors=np.ones_like(vectors))) == 1
    assert len(said(uses[-1:] * 2, start_token=False, vectors=vectors[-1:].repeat(2, axis=0))) == 3


def test_repeated_sentences_are_counted() -> None:
    assert said([*GOOD, *GOOD[:1] * 19]) == ["20 sentences repeat; they share one point, marked ×20."]
    assert said([*GOOD, *GOOD[:2]]) == ["4 sentences repeat; they share 2 points, marked ×2."]
    assert said([*GOOD, *GOOD[:2], GOOD[0]]) == ["5 sentences repeat; they share 2 points, marked ×2 to ×3."]
    # The same word twice in one sentence is two places.
    assert said([*GOOD, use("the [bank] by the bank", "river"), use("the bank by the [bank]", "river")]) == []


@pytest.mark.parametrize(
    ("uses", "text"),
    [
        ([], "No sentence has [bank] in brackets yet."),
        (GOOD[:1], "One use: add a second to compare."),
        (GOOD[:8], "All sentences have the same sense. Name another in Sentences."),
        ([use("by the [bank]"), use("on the [bank]")], "No sentence has a sense. Name one in Sentences."),
        ([*GOOD[:8], use("a [bank]")], "Only one sense is named, river. Name another in Sentences."),
        ([*GOOD, use("a [bank]")], "1 sentence has no sense: left out where senses are compared."),
        ([*GOOD, use("a [bank]"), use("one [bank]")], "2 sentences have no sense: left out where senses are compared."),
        ([*GOOD, use("a [bank]", "row")], "row has one sentence, so it cannot be tested. Add a second."),
        (
            [RIVER, use("A [bank] of England", "money")],
            "2 senses have one sentence, so they cannot be tested. Add a second to each.",
        ),
    ],
)
def test_too_few_sentences_or_senses_are_named(uses: list[Occurrence], text: str) -> None:
    assert text in said(uses)


def test_umap_of_few_points_is_partly_chance() -> None:
    partly = "With {} uses the shape of a UMAP is partly chance. Compare it with PCA."
    assert said(GOOD[6:10], method="umap") == ["UMAP needs 5 uses; this is PCA."]
    assert said(GOOD[5:10], method="umap") == [partly.format(5)]
    assert said(GOOD[1:15], method="umap") == [partly.format(14)]
    assert said(GOOD[:15], method="umap") == [] and said(GOOD[6:10]) == []


def test_the_gravest_comes_first() -> None:
    uses = [RIVER, RIVER, ENGLAND, use("[bank] of mud", "mud"), use("a [bank]")]
    kinds = [note.kind for note in notes("bank", uses, model="SmolLM2", causal=True, start_token=True, method="umap")]
    assert kinds == ["clue after", "first", "repeats", "senses", "few uses", "umap"]


def test_the_gallerys_sentences_with_the_clue_after_the_word_are_known() -> None:
    word = gallery()["bank"]
    found = notes("bank", word.occurrences("all"), model="SmolLM2", causal=True, start_token=True)
    after = sum(len(sense.clue_after) for sense in word.senses)
    every = len(word.occurrences("all"))
    assert found[0].text.startswith(f"In {after} of {every} sentences the clue comes after bank.")
    before = notes("bank", word.occurrences("before"), model="SmolLM2", causal=True, start_token=True)
    assert not [note for note in before if note.kind == "clue after"]
