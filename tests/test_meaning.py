"""What a typed text stands for: one row, or the mean of its pieces' rows, said in a sentence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from embedviz.errors import BadInput
from embedviz.meaning import meaning, one_token, word
from embedviz.models.language_model import LanguageModel

Tiny = Callable[[str], LanguageModel]


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "bert"])
def test_one_token_is_its_own_row(tiny: Tiny, architecture: str) -> None:
    model = tiny(architecture)
    found = meaning(model, "bank" if architecture == "bert" else " bank")
    assert len(found.ids) == 1
    assert np.array_equal(found.vector, model.table.values[found.ids[0]])
    assert not found.vector.flags.writeable
    assert found.notes == ()


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "bert"])
def test_several_pieces_are_named_and_their_mean_is_offered(tiny: Tiny, architecture: str) -> None:
    model = tiny(architecture)
    found = meaning(model, "bankers")
    assert len(found.ids) > 1
    assert found.vector == pytest.approx(model.table.values[list(found.ids)].mean(axis=0), abs=1e-6)
    assert found.notes[0].startswith(f"bankers is {len(found.ids)} pieces: {found.entries[0].label}, ")
    assert found.notes[0].endswith(" Shown: their mean.")
    assert found.label.startswith("mean of ")
    assert not any(entry.special for entry in found.entries)


def test_text_is_taken_exactly_as_typed(tiny: Tiny) -> None:
    model = tiny("gpt2")
    assert meaning(model, " bank").label == "␣bank"
    assert meaning(model, "bank").ids != meaning(model, " bank").ids


def test_an_entry_is_found_where_the_tokenizer_would_put_a_space_first(tiny: Tiny) -> None:
    model = tiny("llama")
    assert [entry.text for entry in meaning(model, "an").entries] == ["an"]
    assert [entry.text for entry in word(model, "the").entries] == [" the"]


def test_an_id_is_typed_with_a_number_sign(tiny: Tiny) -> None:
    model = tiny("gpt_neox")
    assert meaning(model, "#60").ids == (60,)
    assert meaning(model, "#405").notes == ("Row 405 is unused: left out of neighbours.",)
    for typed, said in (("#412", "Ids run from 0 to 411"), ("#-1", "Ids run from"), ("#1.5", "whole number")):
        with pytest.raises(BadInput, match=said):
            meaning(model, typed)
    assert len(meaning(model, "#bank").ids) > 1


@pytest.mark.parametrize("architecture", ["gpt2", "llama", "bert"])
def test_empty_text_is_a_hint(tiny: Tiny, architecture: str) -> None:
    with pytest.raises(BadInput, match="Nothing was typed"):
        meaning(tiny(architecture), "")
    with pytest.raises(BadInput, match="blank"):
        word(tiny(architecture), " \n")
    with pytest.raises(BadInput, match="leaves out ␣"):
        meaning(tiny("bert"), "   ")


def test_a_character_the_vocabulary_lacks_is_said(tiny: Tiny) -> None:
    found = meaning(tiny("bert"), "☃")
    assert found.entries[0].kind == "unknown"
    assert "shared [UNK] row is used" in found.notes[0]


def test_a_page_of_text_stays_one_sentence(tiny: Tiny) -> None:
    found = meaning(tiny("gpt2"), "bank river " * 500)
    assert len(found.ids) == 64
    assert all(len(note) < 200 for note in found.notes)


def test_a_word_has_a_space_before_it_where_that_is_one_token(tiny: Tiny) -> None:
    model = tiny("gpt2")
    assert word(model, "bank").label == "␣bank"
    assert word(model, " bank ").label == "␣bank"
    assert word(model, "#60").ids == (60,)
    assert word(model, "e").label == "e"


def test_what_must_be_one_token_shows_its_pieces(tiny: Tiny) -> None:
    model = tiny("gpt2")
    assert one_token(model, " bank").label == "␣bank"
    with pytest.raises(BadInput, match=r"bank is \d tokens: .+\. With a space before it, ␣bank is one token\."):
        one_token(model, "bank")
    with pytest.raises(BadInput, match=r"bankbridge is \d+ tokens: .+\. Name one of them, or an id as #5461\."):
        one_token(model, "bankbridge")
