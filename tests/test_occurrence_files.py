"""Files become occurrences: encodings, delimiters, broken lines among good ones, spans, and sizes."""

from __future__ import annotations

import codecs
import json
import tracemalloc

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from embedviz.errors import BadInput
from embedviz.occurrence_files import MOST_BYTES, READERS, read_file
from embedviz.occurrences import Occurrence, Occurrences, Skipped

TABLE = "sentence,word,sense,start,end\nThe bank — naïve.,bank,river,4,8\n"
ONE = (Occurrence("The bank — naïve.", 4, 8, "river", 2),)


def table(text: str, word: str | None = "bank") -> Occurrences:
    return read_file("x.csv", text.encode(), word)


@pytest.mark.parametrize(
    "data",
    [
        TABLE.encode(),
        codecs.BOM_UTF8 + TABLE.encode(),
        TABLE.encode("utf-16"),
        codecs.BOM_UTF16_BE + TABLE.encode("utf-16-be"),
        TABLE.replace("\n", "\r\n").encode(),
        TABLE.replace("\n", "\r").encode(),
        ("\n".join(["", *TABLE.split("\n")])).replace("\n", "\r\n", 1).encode()[2:],
    ],
)
def test_unicode_files_need_no_note(data: bytes) -> None:
    read = read_file("uses.csv", data)
    assert (read.word, read.occurrences, read.skipped, read.notes) == ("bank", ONE, (), ())


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_found_by_its_zeros(encoding: str) -> None:
    read = read_file("uses.csv", TABLE.encode(encoding))
    assert (read.occurrences, read.notes) == (ONE, ("The file was read as UTF-16, which it does not say of itself.",))


def test_windows_1252_is_a_guess_and_said() -> None:
    read = read_file("uses.csv", TABLE.encode("cp1252"))
    assert read.occurrences == ONE
    assert read.notes == (
        "The file is not UTF-8 (see line 2) and was read as Windows-1252 (cp1252): check letters with accents.",
    )


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("name", ["x.csv", "X.TSV", "C:\\files\\my.old.csv"])
def test_the_header_tells_the_delimiter_whatever_the_name(name: str, delimiter: str) -> None:
    text = delimiter.join(["id", " Sentence ", "SENSE"]) + "\n" + delimiter.join(["7", '"a, b; c\tbank"', "007"])
    [one] = read_file(name, text.encode(), "bank").occurrences
    assert (one.sentence, one.sense) == ("a, b; c\tbank", "007")


def test_cells_stay_text() -> None:
    read = table("sentence,sense\nbank,NA\nbank,007\nbank,1e5\nbank,\nNA bank,null\n")
    assert [one.sense for one in read.occurrences] == ["NA", "007", "1e5", None, "null"]


def test_quoted_line_breaks_stay_and_lines_are_those_of_the_file() -> None:
    read = table('sentence,sense\n"one\r\nbank",a\n\n"She said ""bank"".",b\nbank\nbank,c\n')
    assert [(one.line, one.sentence, one.sense) for one in read.occurrences] == [
        (2, "one\r\nbank", "a"),
        (5, 'She said "bank".', "b"),
        (7, "bank", "c"),
    ]
    assert read.skipped == (Skipped(6, "1 cell where the header has 2."),)


def test_broken_lines_cost_themselves_alone() -> None:
    read = table(
        'sentence,sense\nbank,a\nbank,b,c\n,d\n"bank,e\nbank,f\n"bank" x,g\nriver,h\nbank,i,,\n,\n"x\ny"\nbank,j\n'
    )
    assert [one.sense for one in read.occurrences] == ["a", "f", "i", "j"]
    assert [(one.line, one.reason) for one in read.skipped] == [
        (3, "3 cells where the header has 2."),
        (4, "The sentence is empty."),
        (5, 'A quotation mark (") opens or closes in the wrong place.'),
        (7, 'A quotation mark (") opens or closes in the wrong place.'),
        (8, "bank does not stand in this line."),
        (11, "1 cell where the header has 2, and it runs to line 12."),
    ]


def test_a_quote_that_never_closes_does_not_swallow_the_file() -> None:
    read = table('sentence,sense\n"bank,a\n' + "bank,b\n" * 300)
    assert (len(read.occurrences), [one.line for one in read.skipped]) == (300, [2])
    assert [one.line for one in read.occurrences][:2] == [3, 4]


def test_a_table_of_one_column_needs_no_quotes_around_commas() -> None:
    [one] = table("sentence\nYes, the bank\n").occurrences
    assert one.sentence == "Yes, the bank"


def test_a_cell_longer_than_any_sentence_is_skipped_and_a_long_one_read() -> None:
    read = table(f"sentence,sense,id\n{'x ' * 49_000}bank,a,1\n{'x ' * 300_000}bank,a,2\nbank,a,{'3' * 200_000}\n")
    assert [(one.line, one.start) for one in read.occurrences] == [(2, 98_000), (4, 0)]
    assert read.skipped == (Skipped(3, "This sentence has 600,004 characters; up to 100,000 are read."),)


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ("bank,3,7", "The span 3 to 7 holds ␣ban, not bank, which stands at 4 to 8."),
        ("bank,5,9", "The span 5 to 9 holds ank␣, not bank, which stands at 4 to 8."),
        ("bank,5,8", "The span 5 to 8 holds ank, not bank, which stands at 4 to 8."),
        ("bank,4,9", "The span 4 to 9 holds bank␣, not bank, which stands at 4 to 8."),
        ("shore,5,8", "The span 5 to 8 holds ank, not shore."),
        (",3,7", "The span 3 to 7 holds ␣ban, which is no whole word."),
        ("bank,-4,8", "The span -4 to 8 begins before the sentence: characters count from 0."),
        ("bank,4,80", "The span 4 to 80 ends after the sentence, which has 16 characters."),
        ("bank,8,4", "The span 8 to 4 is empty: the end comes after the word's last character."),
        ("bank,4,4", "The span 4 to 4 is empty: the end comes after the word's last character."),
        ("bank,four,8", "The start is four, not a whole number."),
        ("bank,4,8.5", "The end is 8.5, not a whole number."),
        ("bank,4,", "There is start 4 but no end."),
        ("bank,,8", "There is end 8 but no start."),
    ],
)
def test_a_span_that_cannot_hold_the_word_is_skipped_with_its_numbers(cells: str, reason: str) -> None:
    text = (
        f"sentence,word,start,end\nThe bank was shut,bank,4,8\nThe bank is shut,{cells}\nThe bank was shut,bank,4,8\n"
    )
    read = table(text, None)
    assert [one.line for one in read.occurrences] == [2, 4]
    assert read.skipped == (Skipped(3, reason),)


def test_a_true_span_is_taken_to_the_letter() -> None:
    read = table('sentence,word,start,end\n"[1] went off",go,4.0,8\nembankment,bank,2,6\n銀行員,,0,2\n', None)
    assert [one.word for one in read.occurrences] == ["went", "bank", "銀行"]
    assert read.occurrences[0].sentence == "[1] went off"


def test_a_row_has_its_own_word_and_the_argument_serves_the_others() -> None:
    read = table("sentence,word\nbank and shore,shore\nbank and shore,\nthe [shore] bank,\n")
    assert [one.word for one in read.occurrences] == ["shore", "bank", "bank"]
    assert read.notes == ("Words found: bank 2, shore 1.",)
    read = table("sentence,word\nbank and shore,shore\nbank and shore,\n", None)
    assert (read.word, [one.word for one in read.occurrences]) == ("shore", ["shore", "shore"])


def test_txt_is_typed_lines() -> None:
    read = read_file("uses.txt", "The [bank]\triver\r\n\r\nA bank\rno\n".encode("utf-8-sig"))
    assert read.occurrences == (Occurrence("The bank", 4, 8, "river", 1), Occurrence("A bank", 2, 6, None, 3))
    assert [one.line for one in read.skipped] == [4]


def test_jsonl_good_lines_are_kept_and_bad_ones_listed() -> None:
    lines = [
        json.dumps({"sentence": "The bank", "start": 4, "end": 8, "sense": 1}),
        "",
        '{"sentence": "The bank"',
        "[1]",
        json.dumps({"sentence": 5}),
        json.dumps({"text": "The bank"}),
        json.dumps({"sentence": " "}),
        json.dumps({"sentence": "bank", "sense": ["a"]}),
        json.dumps({"sentence": "bank", "start": True, "end": 4}),
        json.dumps({"sentence": "bank", "sense": None, "start": None}),
        "[" * 100_000,
        '{"sentence": "bank", "start": ' + "9" * 5000 + "}",
        json.dumps({"sentence": "a\n\ud800bank"}),
    ]
    read = read_file("x.JSONL", codecs.BOM_UTF8 + "\n".join(lines).encode(), "bank")
    assert [(one.line, one.sentence, one.sense) for one in read.occurrences] == [
        (1, "The bank", "1"),
        (10, "bank", None),
        (13, "a\n�bank", None),
    ]
    assert [(one.line, one.reason) for one in read.skipped] == [
        (3, "This line is no JSON object: it cannot be read at character 24."),
        (4, "This line is a list, not a JSON object with a sentence."),
        (5, "The sentence is a number, not a text."),
        (6, "There is no sentence; the keys are: text."),
        (7, "The sentence is empty."),
        (8, "The sense is a list, neither a text nor a number."),
        (9, "The start is true or false, neither a text nor a number."),
        (11, "This line is no JSON object: it cannot be read."),
        (12, "This line is no JSON object: it cannot be read."),
    ]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("x.csv", b"", "x.csv: the file is empty."),
        ("x.txt", codecs.BOM_UTF8 + b" \r\n\t", "x.txt: the file is empty."),
        ("x.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "x.csv: this is not text, since it holds bytes of zero"),
        ("x.csv", b"\xff\x01\x02bank", "x.csv: this is not text in UTF-8"),
        ("x.csv", b"\x81\x8d bank", "x.csv: this is not text in UTF-8"),
        ("x.csv", b"PK\x03\x04rest", "x.csv: this is a workbook"),
        ("x.txt", codecs.BOM_UTF16_LE + b"a", "x.txt: the file begins as UTF-16 and is damaged"),
        ("x.docx", b"bank", "x.docx is none of .txt, .csv, .tsv, .jsonl, .ndjson"),
        ("noend", b"bank", "noend is none of"),
        ("x.csv", b"text,label\nbank,a", "no column is called sentence; the first line has 2 columns: text, label."),
        ("x.csv", b"\n" * 300 + b"The bank\n", "no column is called sentence; the first line has 1 column: the bank."),
        ("x.csv", b"sentence,sense\n", "x.csv: No sentence was found"),
        ("x.csv", b"sentence,sense\nbank,a\n", "x.csv: No word is marked"),
        ("x.jsonl", b"{\n[\n", "x.jsonl: No line could be read; line 1: This line is no JSON object"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_sentence(name: str, data: bytes, reason: str) -> None:
    with pytest.raises(BadInput) as error:
        read_file(name, data)
    assert str(error.value).startswith(reason) or reason in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_beyond_the_limit_is_refused_with_both_sizes() -> None:
    with pytest.raises(BadInput, match=r"x.txt has 101 MB, and files up to 100 MB are read"):
        read_file("x.txt", bytes(MOST_BYTES + 1_000_000), "bank")


def test_memory_follows_what_is_kept_not_the_file() -> None:
    data = b"sentence,sense\n" + b"The bank was open until four and then it closed.,money\n" * 60_000
    tracemalloc.start()
    read = read_file("x.csv", data, "bank", most=10)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert read.notes == ("The first 10 of 60,000 occurrences are kept, the others left out.",)
    assert peak < len(data) / 2


MARKS = [bytes([code]) for code in b'",;\t\n\r\0[]{}:4\\\x1a\xe9\x81']
WORDS = [b"bank", b"sentence", b"start,end", b'{"sentence":"', codecs.BOM_UTF8, codecs.BOM_UTF16_LE]
PIECES = st.sampled_from(MARKS + WORDS)
BYTES = st.binary(max_size=60) | st.lists(PIECES, max_size=25).map(b"".join)


@settings(deadline=None, max_examples=400)
@given(st.sampled_from(list(READERS)), st.sampled_from([b"", b"sentence,sense\n", b"sentence,word,start,end\n"]), BYTES)
@example(".csv", b"", b'"')
def test_any_bytes_are_read_or_refused(suffix: str, header: bytes, data: bytes) -> None:
    for word in (None, "bank"):
        try:
            read = read_file("x" + suffix, header + data, word)
        except BadInput:
            continue
        for one in read.occurrences:
            assert 0 <= one.start < one.end <= len(one.sentence)
            assert one.word == one.word.strip()


def test_a_span_that_cuts_a_word_is_refused_without_a_word_too() -> None:
    data = b'{"sentence": "The bank b", "start": 4, "end": 7}\n{"sentence": "The bank b", "start": 4, "end": 8}'
    found = read_file("spans.jsonl", data)
    assert [one.word for one in found.occurrences] == ["bank"]
    assert found.skipped[0].line == 1 and "holds ban, which is no whole word" in found.skipped[0].reason
