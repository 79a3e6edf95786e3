"""Tokens: names, bytes, places in the text, and finding a marked word, for the three ways of spelling."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embedviz.errors import BadInput
from embedviz.tokens import (
    Entry,
    Vocabulary,
    piece_bytes,
    positions,
    visible,
    visible_line,
    visible_parts,
)
from embedviz.words import find_word
from tiny_models import byte_level_tokenizer, gpt2_tokenizer, sentencepiece_tokenizer, wordpiece_tokenizer

AWKWARD = [
    "bank 😃😃",
    "Seán café",
    "“curly” quotes — and a dash…",
    "two  spaces   three",
    " leading and trailing ",
    "tab\there",
    "line\n\n3. item\r\n",
    "שָׁלוֹם",
    "مرحبا بالعالم",
    "नमस्ते",
    "漢字かな交じり文",
    "👩‍👩‍👧 family",
    "e\u0301 combining",
    "x  5",
    "0123456789 3.14159",
    "We print <|endoftext|> here",
    "[CLS] [MASK] <s> </s>",
    "$5 at *the* `bank`, #1 :red[x]",
    "<b>bold</b> &lt; a<b",
    "C++ and a.b",
    "\u200d\u200b\ufeff",
    "nonbreaking\u00a0space",
    "𝕬𝖇𝖈 ℵ₀ ∑",
    "🇩🇪🏴󠁧󠁢󠁥󠁮󠁧󠁿",
    "ﬁne ligature",
    "ÀÉÎõü ß",
    "a" * 300,
    "\x01\x1b control",
    "ไทยไม่มีช่องว่าง",
    "Ω≈ç√∫˜µ≤≥÷",
]


@pytest.fixture(scope="module")
def byte_level() -> Vocabulary:
    return Vocabulary(byte_level_tokenizer(), 410)


@pytest.fixture(scope="module")
def true_gpt2() -> Vocabulary:
    return Vocabulary(gpt2_tokenizer(), 50257)


@pytest.fixture(scope="module")
def sentencepiece() -> Vocabulary:
    return Vocabulary(sentencepiece_tokenizer(), 500)


@pytest.fixture(scope="module")
def wordpiece() -> Vocabulary:
    tokenizer = wordpiece_tokenizer()
    return Vocabulary(tokenizer, len(tokenizer))


@pytest.mark.parametrize("text", AWKWARD)
def test_bytes_of_byte_level_tokens_laid_end_to_end_are_the_text(true_gpt2: Vocabulary, text: str) -> None:
    tokens = true_gpt2.tokenise(text)
    assert b"".join(token.bytes for token in tokens.tokens).decode() == text
    assert true_gpt2.text_of(tokens.ids) == text


@settings(deadline=None, max_examples=150)
@given(st.text(alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=40))
def test_any_text_survives_and_every_span_holds_its_bytes(text: str) -> None:
    tokens = _byte_level().tokenise(text)
    assert b"".join(token.bytes for token in tokens.tokens).decode() == text
    for token in tokens.tokens:
        assert token.bytes in text[token.start : token.end].encode()
        assert token.label.strip() != ""
        assert (token.kind == "bytes") <= (token.part is not None)


def _byte_level(made: list[Vocabulary] = []) -> Vocabulary:  # noqa: B006 - made once, on purpose
    if not made:
        made.append(Vocabulary(byte_level_tokenizer(), 400))
    return made[0]


def test_true_gpt2_ids_and_spans_of_the_classic_example(true_gpt2: Vocabulary) -> None:
    tokens = true_gpt2.tokenise("The river bank")
    assert tokens.ids == (464, 7850, 3331)
    assert [(token.text, token.start, token.end) for token in tokens.tokens] == [
        ("The", 0, 3),
        (" river", 3, 9),
        (" bank", 9, 14),
    ]
    assert tokens.tokens[2].hex == "20 62 61 6e 6b"
    assert tokens.tokens[2].piece == "Ġbank"
    assert tokens.tokens[2].label == "␣bank"


def test_pieces_of_one_emoji_know_their_character(true_gpt2: Vocabulary) -> None:
    first, second = true_gpt2.tokenise(" 😃").tokens
    assert (first.kind, first.label, first.part) == ("bytes", "20 F0 9F 98", (1, 2, "😃"))
    assert (second.kind, second.label, second.part) == ("bytes", "83", (2, 2, "😃"))


def test_typed_and_spaced_word_are_two_entries(true_gpt2: Vocabulary) -> None:
    assert true_gpt2.tokenise(" bank").ids != true_gpt2.tokenise("bank").ids


def test_sentencepiece_space_and_byte_fallback(sentencepiece: Vocabulary) -> None:
    assert sentencepiece.spelling == "sentencepiece"
    tokens = sentencepiece.tokenise("The bank 😃").tokens
    assert tokens[0].special and tokens[0].label == "<s>" and tokens[0].start == tokens[0].end
    assert " bank" in [token.text for token in tokens]
    emoji = [token for token in tokens if token.kind == "bytes"]
    assert b"".join(token.bytes for token in emoji).decode() == "😃"
    assert [token.part for token in emoji] == [(k, 4, "😃") for k in range(1, 5)]


def test_a_space_put_first_by_the_tokenizer_is_not_a_piece_of_the_first_character(sentencepiece: Vocabulary) -> None:
    assert all(token.part is None for token in sentencepiece.tokenise("zebra qux").tokens)


def test_wordpiece_keeps_its_mark_and_names_the_unknown(wordpiece: Vocabulary) -> None:
    assert wordpiece.spelling == "wordpiece"
    tokens = wordpiece.tokenise("The Banks 😃")
    labels = [token.label for token in tokens.tokens]
    assert labels[0] == "[CLS]" and labels[-1] == "[SEP]" and "##s" in labels
    assert [token.kind for token in tokens.tokens].count("unknown") == 1
    assert tokens.notes == ("Not in the vocabulary, so the shared [UNK] row is used: 😃.",)


def test_byte_level_never_claims_an_unknown_entry(byte_level: Vocabulary) -> None:
    assert byte_level.unknown_id is None
    assert all(token.kind != "unknown" for token in byte_level.tokenise("😃 <|endoftext|>").tokens)


def test_special_text_typed_by_a_person_is_marked_special(byte_level: Vocabulary) -> None:
    special = [token for token in byte_level.tokenise("We print <|endoftext|> here").tokens if token.special]
    assert [(token.id, token.label, token.start, token.end) for token in special] == [(0, "<|endoftext|>", 9, 22)]


def test_a_row_without_an_entry_is_unused(byte_level: Vocabulary) -> None:
    assert byte_level.entry(405) == Entry(405, "unused row 405", "", b"", False, "unused")


@pytest.mark.parametrize("id", [-1, 410, 10**9])
def test_ids_outside_the_table_are_refused_with_its_limits(byte_level: Vocabulary, id: int) -> None:
    with pytest.raises(BadInput, match="Ids run from 0 to 409"):
        byte_level.entry(id)


def test_lone_surrogates_and_nul_are_replaced_and_counted(byte_level: Vocabulary) -> None:
    tokens = byte_level.tokenise("a\ud800\0b")
    assert tokens.text == "a��b"
    assert tokens.notes == ("2 characters that are no text were replaced by �.",)


def test_a_cut_is_said_and_keeps_the_tokenizers_own_tokens(wordpiece: Vocabulary) -> None:
    tokens = wordpiece.tokenise("the bank " * 20, limit=8, reader="this page")
    assert len(tokens) == 8 and tokens.total == 42
    assert [tokens.tokens[0].label, tokens.tokens[-1].label] == ["[CLS]", "[SEP]"]
    assert tokens.notes == ("8 of 42 tokens used: this page reads no more at once.",)


def test_a_start_token_stands_first_and_is_not_doubled(byte_level: Vocabulary, sentencepiece: Vocabulary) -> None:
    assert byte_level.tokenise("The bank", start_token_id=0).ids[0] == 0
    assert sentencepiece.tokenise("The bank", start_token_id=1).ids.count(1) == 1


def test_saved_padding_and_truncation_do_not_change_ids() -> None:
    tokenizer = wordpiece_tokenizer()
    tokenizer.backend_tokenizer.enable_truncation(4)
    tokenizer.backend_tokenizer.enable_padding(length=32)
    assert len(Vocabulary(tokenizer, len(tokenizer)).tokenise("the bank of the river")) == 7


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" bank", "␣bank"),
        ("a\n\tb\r", "a⏎⇥b␍"),
        ("\0", "␀"),
        ("\x7f", "␡"),
        ("a\u00a0b", "a⍽b"),
        ("naïve 😃", "naïve␣😃"),
        ("a\u202eb\u2066", "aU+202EbU+2066"),
        ("\u200e\u200f\u061c", "U+200EU+200FU+061C"),
        ("\ufeffThe", "U+FEFFThe"),
        (" \u200b", "␣U+200B"),
        ("\u00ad", "U+00AD"),
        ("\u200dbank\u200c", "U+200DbankU+200C"),
        ("👩\u200d👩\u200d👧", "👩\u200d👩\u200d👧"),
        ("می\u200cخواهم", "می\u200cخواهم"),
    ],
)
def test_visible_marks(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert "".join(part for _, part in visible_parts(text)) == shown


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("\u0301", "◌\u0301"),
        ("\u200d", "U+200D"),
        ("", "empty entry 7"),
        ("\ufeff\u200b", "U+FEFF U+200B"),
        (" \u202e", "␣U+202E"),
    ],
)
def test_a_label_is_never_blank(text: str, label: str) -> None:
    assert Entry(7, text, text, text.encode(), False, "text").label == label


def test_no_message_turns_the_direction_of_a_line() -> None:
    assert visible_line("two words\u202e here") == "two wordsU+202E here"
    assert visible_line("\u200b") == "U+200B"


def test_piece_bytes_of_each_spelling() -> None:
    assert piece_bytes("Ġbank", "byte-level") == b" bank"
    assert piece_bytes("▁bank", "sentencepiece") == b" bank"
    assert piece_bytes("<0xF0>", "sentencepiece") == b"\xf0"
    assert piece_bytes("##ing", "wordpiece") == b"##ing"


SENTENCES = [
    "The bank was steep.",
    "Bank on it",
    "the     bank",
    "\tbank\nbank",
    "The naïve clerk left the bank.",
    "bank",
    "😃 the bank 😃",
    "(bank) embankment",
]


@pytest.mark.parametrize("spelling", ["byte_level", "true_gpt2", "sentencepiece", "wordpiece"])
@pytest.mark.parametrize("text", SENTENCES)
def test_the_tokens_of_a_found_word_hold_it_and_little_else(
    request: pytest.FixtureRequest, spelling: str, text: str
) -> None:
    vocabulary: Vocabulary = request.getfixturevalue(spelling)
    tokens = vocabulary.tokenise(text)
    for span in find_word(text, "bank"):
        held = positions(tokens, span)
        first, last = tokens.tokens[held[0]], tokens.tokens[held[-1]]
        assert text[first.start : last.end].strip(" \t\n(").casefold().startswith("bank")
        assert len(text[first.start : last.end].strip(" \t\n().")) == 4
        assert not any(tokens.tokens[k].special for k in held)


def test_a_word_cut_off_is_said(byte_level: Vocabulary) -> None:
    tokens = byte_level.tokenise("x " * 30 + "bank", limit=10)
    with pytest.raises(BadInput, match="bank was cut off: only 10 of"):
        positions(tokens, (60, 64))
    with pytest.raises(BadInput, match="not inside this text"):
        positions(tokens, (60, 999))


def test_what_a_tokenizer_leaves_out_is_said(wordpiece: Vocabulary) -> None:
    assert wordpiece.tokenise("the e\u0301 bank").notes[0] == "This tokenizer leaves out: ◌\u0301."
    assert wordpiece.tokenise("the bank").notes == ()
