"""Search in the vocabulary: what is found, in what order, how much of it, and what is offered where nothing is."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from functools import cache
from weakref import ref

import pytest

from embedviz.errors import BadInput
from embedviz.models.language_model import LanguageModel
from embedviz.tokens import Vocabulary
from embedviz.vocabulary_search import _edit_distances, by_id, entry_list, named, nearest_spellings, search, twins
from tiny_models import byte_level_tokenizer, gpt2_tokenizer

Tiny = Callable[[str], LanguageModel]


@pytest.fixture(scope="module")
def vocabulary(tiny: Tiny) -> Vocabulary:
    return tiny("gpt_neox").vocabulary


def test_the_list_holds_every_row_once(vocabulary: Vocabulary) -> None:
    listed = entry_list(vocabulary)
    assert [entry.id for entry in listed.entries] == list(range(vocabulary.rows))
    assert listed.ordinary.sum() == vocabulary.rows - 12 - 1
    assert entry_list(vocabulary) is listed
    assert not listed.ordinary.flags.writeable


def test_the_list_goes_with_its_vocabulary() -> None:
    vocabulary = Vocabulary(byte_level_tokenizer(), 400)
    gone = ref(entry_list(vocabulary))
    del vocabulary
    gc.collect()
    assert gone() is None


def test_a_part_is_found_whatever_its_capitals_equal_texts_first(vocabulary: Vocabulary) -> None:
    hits = search(vocabulary, "BANK")
    texts = [entry.text for entry in hits.entries]
    assert " bank" in texts
    assert hits.total == len(texts)
    assert hits.sentence == ""
    groups = [entry.text == "an" for entry in search(vocabulary, "an").entries]
    assert groups[0] and not any(groups[1:])


def test_a_leading_space_counts(vocabulary: Vocabulary) -> None:
    assert all(" b" in entry.text for entry in search(vocabulary, " b").entries)
    assert [entry.text for entry in search(vocabulary, " bank", exact=True).entries] == [" bank"]


def test_long_results_are_cut_and_counted(vocabulary: Vocabulary) -> None:
    hits = search(vocabulary, "e", most=5)
    assert len(hits.entries) == 5
    assert hits.total == sum("e" in text for text in entry_list(vocabulary).folded)
    assert hits.sentence == f"5 of {hits.total} are shown."


def test_nothing_found_offers_the_nearest_spelling(vocabulary: Vocabulary) -> None:
    hits = search(vocabulary, " bnak")
    assert (hits.entries, hits.total) == ((), 0)
    assert hits.sentence == "Nothing in the list contains ␣bnak. Nearest spelling: ␣bank."
    assert search(vocabulary, "☃" * 200).sentence == f"Nothing in the list contains {'☃' * 59}…."


def test_letters_go_before_bytes_that_are_written_alike() -> None:
    # GPT-2's list holds the letters `AE`, and the byte AE that is no character by itself.
    vocabulary = Vocabulary(gpt2_tokenizer(), 50257)
    first, second = search(vocabulary, "AE", exact=True).entries
    assert (first.kind, second.kind) == ("text", "bytes")


@pytest.mark.parametrize("typed", ["(", "\\", "[a", "$.*"])
def test_signs_are_looked_for_as_they_are(vocabulary: Vocabulary, typed: str) -> None:
    assert all(typed in entry.text for entry in search(vocabulary, typed).entries)


def test_an_empty_search_is_a_hint(vocabulary: Vocabulary) -> None:
    with pytest.raises(BadInput, match="Nothing was typed"):
        search(vocabulary, "")


@pytest.mark.parametrize("typed", ["7", "#7", " 7 ", "# 7", "+7", "id 7", "ID: 7"])
def test_an_id_may_be_typed_in_several_ways(vocabulary: Vocabulary, typed: str) -> None:
    assert by_id(vocabulary, typed).id == 7


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("-1", "Ids run from 0 to 411; -1 is not one of them."),
        ("412", "Ids run from 0 to 411; 412 is not one of them."),
        ("bank", "An id is a whole number from 0 to 411; bank is none."),
        ("1.5", "An id is a whole number from 0 to 411; 1.5 is none."),
        ("#", "An id is a whole number from 0 to 411; # is none."),
        ("9" * 5000, "An id is a whole number from 0 to 411; 999"),
    ],
)
def test_what_is_no_id_of_the_list_is_one_sentence(vocabulary: Vocabulary, typed: str, said: str) -> None:
    with pytest.raises(BadInput) as error:
        by_id(vocabulary, typed)
    assert str(error.value).startswith(said)
    assert len(str(error.value)) < 130


def test_long_lists_of_names_are_counted(vocabulary: Vocabulary) -> None:
    entries = entry_list(vocabulary).entries[60:72]
    assert named(entries, " + ", most=2) == f"{entries[0].label} + {entries[1].label} and 10 more"


def test_twins_differ_in_capitals_and_spaces_alone(vocabulary: Vocabulary) -> None:
    for entry in entry_list(vocabulary).entries:
        if entry.kind == "text" and entry.text.strip():
            found = twins(vocabulary, entry.id)
            assert entry not in found
            assert {one.text.strip().casefold() for one in found} <= {entry.text.strip().casefold()}
    the = search(vocabulary, " the", exact=True).entries[0]
    assert {" The", "the"} <= {one.text for one in twins(vocabulary, the.id)}


def test_edit_distances_equal_the_plain_recursion() -> None:
    @cache
    def plain(a: str, b: str) -> int:
        if not a or not b:
            return len(a) + len(b)
        best = min(plain(a[:-1], b) + 1, plain(a, b[:-1]) + 1, plain(a[:-1], b[:-1]) + (a[-1] != b[-1]))
        if len(a) > 1 and len(b) > 1 and a[-1] == b[-2] and a[-2] == b[-1]:
            best = min(best, plain(a[:-2], b[:-2]) + 1)
        return best

    generator = random.Random(0)
    words = ["".join(generator.choices("abcé😃", k=generator.randint(1, 7))) for _ in range(200)]
    for wanted in words[:20]:
        assert _edit_distances(wanted, words).tolist() == [plain(wanted, word) for word in words]


@pytest.mark.parametrize("typed", ["", "   ", "x" * 41, "é", "qé", "4711", "ban1k", "?!?!", "bxyk"])
def test_no_spelling_is_near_to_nothing_or_to_a_paragraph(vocabulary: Vocabulary, typed: str) -> None:
    assert nearest_spellings(vocabulary, typed) == ()


@pytest.mark.real_model
def test_the_bundled_vocabulary(smollm2: LanguageModel) -> None:
    vocabulary = smollm2.vocabulary
    assert {entry.text for entry in twins(vocabulary, 5461)} == {" Bank", "bank", "Bank"}
    assert [entry.text for entry in search(vocabulary, "bank").entries[:4]] == ["bank", " bank", " Bank", "Bank"]
    assert search(vocabulary, "definately").sentence.endswith("Nearest spelling: ␣definitely.")
    assert nearest_spellings(vocabulary, "recieve")[0].text == " receive"


@pytest.mark.real_model
def test_rows_that_bert_keeps_free_are_unused() -> None:
    import embedviz

    model = embedviz.load("minilm-l6")
    assert model.vocabulary.entry(1).kind == "unused"
    assert sum(entry.kind == "unused" for entry in entry_list(model.vocabulary).entries) > 900
