"""What a typed text stands for: one row, or the mean of its pieces' rows, said in a sentence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from embedviz.errors import BadInput
from embedviz.meaning import Meaning, meaning, notes_of, one_token, word
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
    (note,) = notes_of([found])
    assert note.startswith(f"bankers is {len(found.ids)} pieces: {found.entries[0].label}, ")
    assert note == f"{found.pieces} Shown: their mean."
    assert found.label == f"bankers (mean of {len(found.ids)})"
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
    assert all(len(note) < 200 for note in notes_of([found]))
    assert len(found.label) < 40


@pytest.mark.parametrize("read", [meaning, word, one_token])
def test_a_bare_number_is_an_id_and_says_so(tiny: Tiny, read: Callable[[LanguageModel, str], Meaning]) -> None:
    model = tiny("gpt2")
    note = "Read as id 321. Type a space before the number for its text."
    assert read(model, "321").ids == (321,)
    assert notes_of([read(model, "321")]) == (note,)
    for typed in ("#321", "id 321", "ID: 321"):
        assert read(model, typed).ids == (321,)
        assert notes_of([read(model, typed)]) == ()
    for typed in ("-1", "-12", "1,000", "#1,000", "99999"):
        with pytest.raises(BadInput, match="Ids run from 0 to 399"):
            read(model, typed)
    with pytest.raises(BadInput, match="An id is a whole number from 0 to 399; 1,00 is none"):
        read(model, "#1,00")


def test_the_text_of_a_number_is_typed_with_a_space_before_it(tiny: Tiny) -> None:
    model = tiny("gpt2")
    for read in (meaning, word):
        assert len(read(model, " 321").ids) > 1
        assert not read(model, " 321").number
    assert meaning(model, "3").label == "3"


def test_what_is_true_of_several_words_is_one_note(tiny: Tiny) -> None:
    model = tiny("gpt2")
    words = [word(model, typed) for typed in ("w12", "bank", "w13", "321", "322", "w13")]
    assert notes_of(words) == (
        "2 of the words are numbers and are read as ids.",
        "3 of the words are several pieces; the mean of their rows is shown.",
    )
    assert words[0].label == "w12 (mean of 3)"
    assert len(notes_of([words[2], words[2]])) == 1


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
    with pytest.raises(BadInput, match=r"bankbridge is \d+ tokens: .+\. Choose one\."):
        one_token(model, "bankbridge")
