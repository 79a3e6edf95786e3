"""Finding a word: in brackets, whole and literal, and with an English ending."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedviz.errors import BadInput
from embedviz.words import find_forms, find_word, forms, locate, marked, place, read_marked


@pytest.mark.parametrize(
    ("line", "text", "span"),
    [
        ("The [bank] was steep.", "The bank was steep.", (4, 8)),
        ("[Bank] first", "Bank first", (0, 4)),
        ("none here", "none here", None),
        ("empty [] then [x]", "empty [] then x", (14, 15)),
        ("😃 [naïve] end", "😃 naïve end", (2, 7)),
    ],
)
def test_brackets_mark_a_word(line: str, text: str, span: tuple[int, int] | None) -> None:
    assert read_marked(line) == (text, span)


@pytest.mark.parametrize(
    ("text", "word", "spans"),
    [
        ("The bank by the bank.", "bank", [(4, 8), (16, 20)]),
        ("embankment … bank", "bank", [(13, 17)]),
        ("the     bank", "bank", [(8, 12)]),
        ("Bank first, bank last", "bank", [(12, 16)]),
        ("Bank only", "bank", [(0, 4)]),
        ("C++ and C", "C++", [(0, 3)]),
        ("see (bank) now", "(bank", [(4, 9)]),
        ("axb a.b", "a.b", [(4, 7)]),
        ("cafe\u0301 cafe", "cafe", [(6, 10)]),
        ("bank's", "bank", [(0, 4)]),
        ("no such word", "bank", []),
        ("बैंक पास", "बैंक", [(0, 4)]),
    ],
)
def test_a_word_is_found_whole_and_literally(text: str, word: str, spans: list[tuple[int, int]]) -> None:
    assert find_word(text, word) == spans


def test_occurrences_are_counted_from_one_and_absence_is_said() -> None:
    assert locate("The bank by the bank.", "bank", 2) == (16, 20)
    with pytest.raises(BadInput, match="stands 2 times"):
        locate("The bank by the bank.", "bank", 3)
    with pytest.raises(BadInput, match="does not stand in: The river"):
        locate("The river", "bank")
    with pytest.raises(BadInput, match="No word was given"):
        locate("The river", "  ")


@pytest.mark.parametrize(
    ("line", "text", "span"),
    [
        (r"a\[1\] [bank]", "a[1] bank", (5, 9)),
        (r"C:\bank [x]", r"C:\bank x", (8, 9)),
        (r"C:\\[x]", "C:\\x", (3, 4)),
        (r"\\\[x]", "\\[x]", None),
        ("[ bank ] here", " bank  here", (1, 5)),
        ("[ ] to do", "[ ] to do", None),
        ("open [ bank", "open [ bank", None),
        ("[a [b] c]", "[a b c]", (3, 4)),
    ],
)
def test_a_backslash_keeps_brackets_from_marking(line: str, text: str, span: tuple[int, int] | None) -> None:
    assert read_marked(line) == (text, span)


def test_a_long_run_of_backslashes_takes_no_time() -> None:
    line = "\\" * 100_000 + "x[y]" + "\\" * 100_000
    assert read_marked(marked(*read_marked(line)))[0] == line.replace("[y]", "y")  # type: ignore[arg-type]


@given(st.text(alphabet="[]\\ab ", max_size=12), st.data())
def test_a_marked_span_is_read_back_whatever_stands_around_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    if text[start:end] and text[start:end] == text[start:end].strip():
        assert read_marked(marked(text, (start, end))) == (text, (start, end))


@pytest.mark.parametrize(
    ("word", "spelt", "not_spelt"),
    [
        ("bank", {"banks", "banked", "banking"}, {"bankes", "bankking", "banker"}),
        ("city", {"cities"}, {"citys"}),
        ("play", {"plays", "played"}, {"plaies"}),
        ("plan", {"plans", "planned", "planning"}, {"planed", "planing"}),
        ("open", {"opened", "opening"}, set()),
        ("wave", {"waves", "waved", "waving"}, {"waveed"}),
        ("match", {"matches", "matched"}, set()),
        ("car", {"cars"}, {"cares", "cared", "caring"}),
        ("bus", {"buses", "busses"}, set()),
        ("rain", {"rained"}, {"rainned"}),
        ("C++", set(), {"C++s"}),
        ("銀行", set(), {"銀行s"}),
    ],
)
def test_endings_are_spelt_as_in_english(word: str, spelt: set[str], not_spelt: set[str]) -> None:
    assert spelt <= set(forms(word))
    assert not not_spelt & set(forms(word))


def test_forms_are_whole_words_too() -> None:
    assert find_forms("bankings, banking and Banks", "bank") == [(10, 17)]
    assert find_forms("BANKS only", "bank") == [(0, 5)]
    assert find_forms("C++s", "C++") == []


@pytest.mark.parametrize(
    ("line", "text", "words"),
    [
        ("The [shore] by the bank", "The [shore] by the bank", ["bank"]),
        ("bank [1] and [Bank]", "bank [1] and Bank", ["Bank"]),
        ("our [banks] and bank", "our banks and bank", ["banks"]),
        ("[bank] by [bank]", "bank by bank", ["bank", "bank"]),
    ],
)
def test_brackets_mark_only_the_word_that_was_named(line: str, text: str, words: list[str]) -> None:
    found, spans = place(line, "bank")
    assert (found, [found[start:end] for start, end in spans]) == (text, words)


def test_a_word_that_is_missing_is_said_with_what_was_found() -> None:
    with pytest.raises(BadInput, match=r"^bank does not stand in this line\.$"):
        place("An embankment", "bank")
    with pytest.raises(BadInput, match="but Banks does: allow inflected forms"):
        place("Banks", "bank")
    with pytest.raises(BadInput, match="its brackets hold shore"):
        place("The [shore]", "bank")
    assert place("Banks", "bank", inflected=True) == ("Banks", [(0, 5)])
