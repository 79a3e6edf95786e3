"""Words taken out in turn, against the same sentences written by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from embedviz import occlusion
from embedviz.contextual import contextual_vectors, remembered
from embedviz.errors import BadInput
from embedviz.occlusion import nearest, without, without_each_word
from embedviz.occurrences import Occurrence
from embedviz.words import read_marked, words_in
from tiny_models import ARCHITECTURES

CAUSAL = [name for name in ARCHITECTURES if name != "bert"]


def occurrence(line: str) -> Occurrence:
    text, span = read_marked(line)
    assert span is not None
    return Occurrence(text, *span)


def relative(found: np.ndarray, expected: np.ndarray) -> float:
    return float((np.linalg.norm(found - expected, axis=-1) / np.linalg.norm(expected, axis=-1)).max())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's the café, 3 o'clock!", ["It's", "the", "café", "3", "o'clock"]),
        ("'quoted' – dash-word 😃 a_b ___ …", ["quoted", "dash", "word", "a_b"]),
        ("cafe\u0301 नमस्ते می\u200cخواهم", ["cafe\u0301", "नमस्ते", "می\u200cخواهم"]),
        ("银行在河边。好", ["银行在河边", "好"]),
        ("", []),
        ("' ’", []),
    ],
)
def test_words_are_runs_of_letters_digits_marks_and_inner_apostrophes(text: str, words: list[str]) -> None:
    assert [text[slice(*span)] for span in words_in(text)] == words


@pytest.mark.parametrize(
    ("line", "word", "left"),
    [
        ("the steep [bank] was", "steep", "the [bank] was"),
        ("The [bank] was", "The", "[bank] was"),
        ("a [bank] fell", "fell", "a [bank]"),
        ("(the [bank])", "the", "([bank])"),
        ("old,  muddy [bank].", "muddy", "old,  [bank]."),
        ("river-[bank]", "river", "-[bank]"),
        ("said\n [bank] so", "said", " [bank] so"),
    ],
)
def test_a_word_goes_with_one_space_and_the_marked_word_is_followed(line: str, word: str, left: str) -> None:
    text, span = read_marked(line)
    assert span is not None
    start = text.index(word)
    assert without(text, (start, start + len(word)), span) == read_marked(left)


def test_the_words_nearest_to_the_marked_one_are_kept_in_order() -> None:
    text = "a b c BANK d e f"
    kept = nearest([word for word in words_in(text) if word != (6, 10)], (6, 10), 3)
    assert [text[slice(*span)] for span in kept] == ["b", "c", "d"]


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("pooling", ["mean", "first", "last"])
def test_each_variant_equals_its_sentence_written_by_hand(tiny: Callable[[str], Any], name: str, pooling: Any) -> None:
    model = tiny(name)
    found = without_each_word(model, occurrence("Deposits at the muddy [bank] rose, naïve 😃 clerk."), pooling=pooling)
    lines = [
        "Deposits at the muddy [bank] rose, naïve 😃 clerk.",
        "at the muddy [bank] rose, naïve 😃 clerk.",
        "Deposits the muddy [bank] rose, naïve 😃 clerk.",
        "Deposits at muddy [bank] rose, naïve 😃 clerk.",
        "Deposits at the [bank] rose, naïve 😃 clerk.",
        "Deposits at the muddy [bank], naïve 😃 clerk.",
        "Deposits at the muddy [bank] rose, 😃 clerk.",
        "Deposits at the muddy [bank] rose, naïve 😃.",
    ]
    expected = [contextual_vectors(model, [occurrence(line)], pooling=pooling).vectors[0] for line in lines]
    assert [found.occurrence.sentence[slice(*span)] for span in found.words] == [
        "Deposits", "at", "the", "muddy", "rose", "naïve", "clerk",
    ]  # fmt: skip
    assert relative(found.whole, expected[0]) < 1e-4
    assert relative(found.vectors, np.stack(expected[1:])) < 1e-4
    assert not found.recut.any() and not found.vectors.flags.writeable


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_words_after_the_marked_one_move_it_by_exactly_nothing_if_the_model_reads_left_to_right(
    tiny: Callable[[str], Any], name: str
) -> None:
    for line in (
        "The [bank] of",
        "The bank of the [bank] of the river was steep.",
        "At the [bank] " + "by the water " * 9,
    ):
        marked = occurrence(line)
        found = without_each_word(tiny(name), marked)
        moved = np.abs(found.vectors - found.whole).max(axis=(1, 2))
        after = np.array([start >= marked.end for start, _ in found.words])
        assert after.any() and not after.all()
        assert (moved[~after] > 0).all()
        assert ((moved[after] == 0) == (name in CAUSAL)).all()


def test_a_marked_word_that_is_then_cut_otherwise_is_flagged(tiny: Callable[[str], Any]) -> None:
    for name in ("gpt2", "bert"):
        found = without_each_word(tiny(name), occurrence("The [bank] was steep."))
        assert found.recut.tolist() == [name == "gpt2", False, False]
        assert np.array_equal(found.vectors[0, 0], found.whole[0]) == (name == "bert")


def test_long_sentences_lose_the_words_farthest_away_and_say_so(
    tiny: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, marked = tiny("bert"), occurrence("the river was steep at the [bank] of the river the clerk left")
    found = without_each_word(model, marked, most=4)
    assert [marked.sentence[slice(*span)] for span in found.words] == ["at", "the", "of", "the"]
    assert "only the 4 words nearest to the marked one, of 12, were taken out" in found.notes[-1]
    monkeypatch.setattr(occlusion, "MOST_TOKENS", 3 * len(model.tokenise(marked.sentence)))
    assert len(without_each_word(model, marked, most=5).words) == 2


def test_a_sentence_beyond_the_limit_is_read_to_the_same_place_in_every_variant(tiny: Callable[[str], Any]) -> None:
    model, marked = tiny("gpt2"), occurrence("The [bank] " + "by the water " * 40)
    found = without_each_word(model, marked, limit=12)
    assert "12 of" in found.notes[0]
    assert max(end for _, end in found.words) < 50
    cut = Occurrence("by the water " * 40 + "bank", 520, 524)
    with pytest.raises(BadInput, match="cut off"):
        without_each_word(model, cut, limit=12)


def test_a_word_alone_and_a_second_look_run_nothing_more(tiny: Callable[[str], Any]) -> None:
    model, marked = tiny("gpt2"), occurrence("[bank]!")
    remembered.clear()
    runs: list[int] = []
    hook = model._network.base_model.register_forward_pre_hook(lambda *_: runs.append(1))
    try:
        found = without_each_word(model, marked)
        assert found.words == () and found.vectors.shape == (0, *found.whole.shape) and len(runs) == 1
        assert without_each_word(model, marked) is found and len(runs) == 1
    finally:
        hook.remove()


@pytest.mark.real_model
def test_the_bundled_model_cannot_be_moved_by_what_it_has_not_read(smollm2: Any) -> None:
    marked = occurrence("The children fished from the muddy [bank] of the river, where it's cold.")
    found = without_each_word(smollm2, marked)
    moved = np.linalg.norm(found.vectors - found.whole, axis=-1)
    after = np.array([start >= marked.end for start, _ in found.words])
    assert (moved[after] == 0).all() and (moved[~after, 1:] > 0).all() and (moved[:, 0] == 0).all()
