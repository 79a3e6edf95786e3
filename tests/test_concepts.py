"""The word lists: what they promise, and how they are looked up in a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from embedviz.concepts import Concept, concept_ids, concepts
from embedviz.models.language_model import LanguageModel

Tiny = Callable[[str], LanguageModel]


def test_there_are_at_least_ten_concepts_with_fifty_words_a_side() -> None:
    assert len(concepts()) >= 10
    assert len({concept.name for concept in concepts()}) == len(concepts())
    for concept in concepts():
        assert min(len(concept.words), len(concept.others)) >= 50, concept.name
        assert max(Counter(concept.words + concept.others).values()) == 1, concept.name
        assert not concept.paired or len(concept.words) == len(concept.others)


def test_pairs_stay_and_go_together(tiny: Tiny) -> None:
    concept = Concept("a", "b", True, ("bank", "bankers", "river", "the"), ("crane", "river", "bankers", "the"))
    found = concept_ids(tiny("gpt2"), concept)
    vocabulary = tiny("gpt2").vocabulary
    assert [vocabulary.entry(id).text for id in found.words] == [" bank"]
    assert [vocabulary.entry(id).text for id in found.others] == [" crane"]
    assert found.left_out == ("bankers", "river", "the", "river", "bankers", "the")


def test_words_of_several_tokens_are_left_out_and_named(tiny: Tiny) -> None:
    concept = Concept("a", "b", False, ("bank", "bankers", "the"), ("crane", "bank"))
    found = concept_ids(tiny("gpt2"), concept)
    vocabulary = tiny("gpt2").vocabulary
    assert [vocabulary.entry(id).text for id in found.words] == [" bank", " the"]
    assert [vocabulary.entry(id).text for id in found.others] == [" crane"]
    assert found.left_out == ("bankers", "bank")


@pytest.mark.real_model
@pytest.mark.parametrize("concept", concepts(), ids=lambda concept: concept.name)
def test_every_word_is_one_token_of_the_bundled_model(smollm2: LanguageModel, concept: Concept) -> None:
    found = concept_ids(smollm2, concept)
    assert found.left_out == ()
    texts = [smollm2.vocabulary.entry(id).text for id in (*found.words, *found.others)]
    assert texts == [f" {word}" for word in (*concept.words, *concept.others)]
