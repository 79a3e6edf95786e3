"""Typed lines become occurrences: what is taken, what is skipped and said, and the way back to lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedviz.errors import BadInput
from embedviz.occurrences import MOST_SKIPPED, Occurrence, Skipped, places, read_lines, to_lines


def test_brackets_mark_the_word_and_a_tab_parts_the_sense() -> None:
    read = read_lines("The [bank] was steep.\triver\nThe [bank] was shut.\tmoney")
    assert read.word == "bank"
    assert read.occurrences == (
        Occurrence("The bank was steep.", 4, 8, "river", 1),
        Occurrence("The bank was shut.", 4, 8, "money", 2),
    )
    assert (read.skipped, read.notes) == ((), ())
    assert read.occurrences[0].word == "bank"


def test_blank_lines_count_but_are_not_named() -> None:
    read = read_lines("\n  \n[bank]\r\n\t\r\n[bank]\t\r[bank]\t \n")
    assert [(one.line, one.sense) for one in read.occurrences] == [(3, None), (5, None), (6, None)]
    assert read.skipped == ()


def test_a_line_without_the_word_is_skipped_with_its_number_and_the_reason() -> None:
    read = read_lines("The bank.\nThe river.\n\nAn embankment.\nTwo banks.", "bank")
    assert [one.line for one in read.occurrences] == [1]
    assert read.skipped == (
        Skipped(2, "bank does not stand in this line."),
        Skipped(4, "bank does not stand in this line."),
        Skipped(5, "bank does not stand in this line, but banks does: allow inflected forms to take it."),
    )


def test_of_several_places_the_first_is_taken_and_the_others_offered() -> None:
    read = read_lines("no\nThe bank by the bank.\n[bank] by the bank", "bank")
    assert read.notes == ("The word stands more than once in line 2 (2 times): the first is taken.",)
    assert (read.occurrences[0].start, places(read.occurrences[0])) == (4, [(4, 8), (16, 20)])
    assert places(read.occurrences[1]) == [(0, 4), (12, 16)]
    assert places(Occurrence("Bank by bank", 8, 12)) == [(0, 4), (8, 12)]
    assert places(Occurrence("embankment", 2, 6)) == [(2, 6)]


def test_lines_without_brackets_are_searched_for_the_word_marked_most() -> None:
    read = read_lines("the [shore]\nthe [Bank]\nthe [bank]\na bank\na shore\n[Bank] on\tx")
    assert read.word == "Bank"
    assert [one.word for one in read.occurrences] == ["shore", "Bank", "bank", "bank", "Bank"]
    assert read.skipped == (Skipped(5, "Bank does not stand in this line."),)
    assert read.notes == ("Words found: bank 4, shore 1.",)


def test_inflected_forms_are_taken_where_the_word_itself_is_not_and_counted() -> None:
    text = "Two banks.\nBanks by a bank.\nBanking is dull.\nThe bank's door.\nBanker"
    read = read_lines(text, "bank", inflected=True)
    assert [one.word for one in read.occurrences] == ["banks", "bank", "Banking", "bank"]
    assert read.notes == ("Words found: bank 2, banks 1, banking 1.",)
    assert [one.line for one in read.skipped] == [5]


@pytest.mark.parametrize(("text", "reason"), [("", "No sentence was found"), ("a bank", "No word is marked")])
@pytest.mark.parametrize("word", [None, "", "  "])
def test_nothing_to_look_for_is_said_in_one_sentence(text: str, reason: str, word: str | None) -> None:
    with pytest.raises(BadInput, match=reason):
        read_lines(text, word)


def test_a_word_that_is_nowhere_gives_no_occurrence_and_every_line() -> None:
    read = read_lines("a\nb", "bank")
    assert (read.word, read.occurrences, len(read.skipped)) == ("bank", (), 2)
    assert read_lines("", "bank").occurrences == ()


def test_three_columns_are_not_guessed_at() -> None:
    read = read_lines("The [bank]\triver\tyes\n[bank]\tsand")
    assert read.skipped == (Skipped(1, "This line has 3 columns: it takes a sentence, then a tab and its sense."),)
    with pytest.raises(BadInput, match="No line could be read; line 1: This line has 3 columns"):
        read_lines("The [bank]\triver\tyes")


def test_more_than_the_most_are_counted_and_copies_are_kept() -> None:
    read = read_lines("\n".join(["the bank"] * 1234), "bank", most=20)
    assert len(read.occurrences) == 20
    assert read.notes == ("The first 20 of 1,234 occurrences are kept, the others left out.",)


def test_a_long_list_of_skipped_lines_ends_with_their_number() -> None:
    read = read_lines("no\n" * (MOST_SKIPPED + 5), "bank")
    assert len(read.skipped) == MOST_SKIPPED
    assert read.notes == ("The first 1,000 of 1,005 skipped lines are listed.",)


def test_many_repeated_lines_are_named_briefly() -> None:
    [note] = read_lines("bank bank\n" * 13, "bank").notes
    assert note.endswith("9 (2 times), 10 (2 times) and 3 more: the first is taken.")


def test_what_is_no_text_is_replaced_and_spans_still_hold() -> None:
    read = read_lines("\ud800 [bank]\0\tse\udfffnse")
    assert read.occurrences == (Occurrence("� bank�", 2, 6, "se�nse", 1),)
    assert read.notes == ("Characters that are no text were replaced by � in 1 line.",)


@pytest.mark.parametrize("word", ["C++", "(bank", "a.b", "naïve", "😃", "बैंक"])
def test_a_word_is_read_literally(word: str) -> None:
    [one] = read_lines(f"see {word} now", word).occurrences
    assert (one.word, one.start) == (word, 4)


TEXT = st.text(alphabet=st.one_of(st.sampled_from("[]\\ ab\u2028\x0b"), st.characters(exclude_categories=["Cs"])))


@st.composite
def occurrences(draw: st.DrawFn) -> Occurrence:
    before, word, after = (draw(TEXT).translate({0: None}) for _ in range(3))
    word = word.strip() or "w"
    sense = draw(st.none() | TEXT)
    sense = " ".join(sense.replace("\0", "").split()) if sense else None
    return Occurrence(before + word + after, len(before), len(before + word), sense or None)


@given(st.lists(occurrences(), min_size=1, max_size=4))
def test_lines_come_back_as_the_same_occurrences(given_ones: list[Occurrence]) -> None:
    spaced = str.maketrans("\t\n\r", "   ")
    expected = [
        Occurrence(one.sentence.translate(spaced), one.start, one.end, one.sense, line)
        for line, one in enumerate(given_ones, start=1)
    ]
    assert list(read_lines(to_lines(given_ones)).occurrences) == expected


def test_brackets_of_the_sentence_survive_the_way_back() -> None:
    one = Occurrence("The bank [sic] of\tC:\\[x]", 4, 8, "river", 1)
    assert to_lines([one]) == r"The [bank] \[sic\] of C:\\\[x\]" + "\triver"


@given(st.text(), st.none() | st.text(max_size=5), st.booleans())
def test_any_text_is_read_or_refused(text: str, word: str | None, inflected: bool) -> None:
    try:
        read = read_lines(text, word, inflected=inflected)
    except BadInput:
        return
    for one in read.occurrences:
        assert 0 <= one.start < one.end <= len(one.sentence)
        assert one.word == one.word.strip()
