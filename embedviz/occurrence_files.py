"""Occurrences from files: TXT as typed lines, CSV and TSV with a header, JSONL with the same keys.

Columns: `sentence`, and where they are there `word`, `sense`, and `start` and `end` (characters, end exclusive; the
sentence is then taken to the letter, brackets and all). A row's own word is looked for in that row, the word asked for
in all others. One broken line costs that line alone.
"""

from __future__ import annotations

import csv
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BytesIO, TextIOWrapper
from pathlib import PurePath
from typing import Any

from embedviz.errors import BadInput
from embedviz.numbers import count, things
from embedviz.occurrences import MOST, Occurrences, Row, Rows, Skipped, gather, typed_rows
from embedviz.text_encoding import encoding_of
from embedviz.tokens import Span, visible, visible_line
from embedviz.words import find_word, is_whole

KEYS = ("sentence", "word", "sense", "start", "end")
MOST_BYTES = 100_000_000
# A quote that is never closed would swallow the rest of the file; no sentence is this long.
MOST_LINES_A_RECORD = 100


def read_file(
    name: str, data: bytes, word: str | None = None, *, inflected: bool = False, most: int = MOST
) -> Occurrences:
    """Read a TXT, CSV, TSV or JSONL file; its kind is told by the end of `name`, its encoding and delimiter by itself.

    word, inflected, most: as in `read_lines`. Raises BadInput for a file that is empty, too large, no text, of another
    kind, or without the column `sentence`.
    """
    shown = visible_line(name)
    suffix = PurePath(name).suffix.lower()
    if suffix not in READERS:
        raise BadInput(f"{shown} is none of {', '.join(READERS)}: save it as one of these.")
    if len(data) > MOST_BYTES:
        size, most_size = (f"{count(number // 10**6)} MB" for number in (len(data), MOST_BYTES))
        raise BadInput(f"{shown} has {size}, and files up to {most_size} are read: take a part of it.")
    try:
        encoding, notes = encoding_of(data)
        read = READERS[suffix]

        def rows() -> Rows:
            # "": lines end as they do in the file, so a sentence with line breaks keeps them.
            return read(TextIOWrapper(BytesIO(data), encoding, newline="" if read is csv_rows else None), word or "")

        return gather(rows, word, inflected=inflected, most=most, notes=notes)
    except BadInput as error:
        raise BadInput(f"{shown}: {error}") from None


def text_rows(lines: Iterable[str], word: str) -> Rows:
    """The rows of a TXT file, which are typed lines."""
    return typed_rows(lines)


def jsonl_rows(lines: Iterable[str], word: str) -> Rows:
    """The rows of a file with one JSON object a line."""
    for line, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        try:
            read = json.loads(text.rstrip())
        except (ValueError, RecursionError) as error:
            where = f" at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else ""
            yield Skipped(line, f"This line is no JSON object: it cannot be read{where}.")
            continue
        if isinstance(read, dict):
            yield row(line, read, word)
        else:
            yield Skipped(line, f"This line is {_kind(read)}, not a JSON object with a sentence.")


def csv_rows(lines: Iterable[str], word: str) -> Rows:
    """The rows of a table whose first line names its columns. Raises BadInput where none of them is `sentence`."""
    # The largest that is allowed everywhere: Python's own limit of 131,072 characters raises in the middle of a file.
    csv.field_size_limit(2**31 - 1)
    source = _Lines(lines)
    delimiter, columns = header_of(source.first())
    for line, cells in records(source, delimiter):
        if isinstance(cells, str):
            yield Skipped(line, cells)
        elif not any(cell.strip() for cell in cells):
            continue
        elif len(cells) < len(columns) or any(cell.strip() for cell in cells[len(columns) :]):
            last = f", and it runs to line {source.line}" if source.line > line else ""
            yield Skipped(line, f"{things(len(cells), 'cell')} where the header has {len(columns)}{last}.")
        else:
            # The first of two columns of one name counts.
            yield row(line, dict(reversed(list(zip(columns, cells, strict=False)))), word)


READERS: Mapping[str, Callable[[Iterable[str], str], Rows]] = {
    ".txt": text_rows,
    ".csv": csv_rows,
    ".tsv": csv_rows,
    ".jsonl": jsonl_rows,
    ".ndjson": jsonl_rows,
}


def header_of(line: str) -> tuple[str, list[str]]:
    """The delimiter that a header shows, whatever the file is called, and its columns in small letters."""
    readings = []
    for delimiter in ",;\t":
        cells = next(csv.reader([line], delimiter=delimiter), [])
        readings.append((delimiter, [cell.strip().lower() for cell in cells]))
    delimiter, columns = max(readings, key=lambda reading: (KEYS[0] in reading[1], len(reading[1])))
    if KEYS[0] not in columns:
        named = visible_line(", ".join(columns), 200)
        raise BadInput(f"no column is called sentence; the first line has {things(len(columns), 'column')}: {named}.")
    # With one column nothing needs parting, and a comma belongs to the sentence.
    return (delimiter if len(columns) > 1 else "\t"), columns


class _Lines:
    """The lines of a file with their number; those taken since `begin` can be given back."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._lines = iter(lines)
        self._back: deque[str] = deque()
        self._taken: list[str] = []
        self.line = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if len(self._taken) > MOST_LINES_A_RECORD:
            raise csv.Error
        line = self._back.popleft() if self._back else next(self._lines)
        self._taken.append(line)
        self.line += 1
        return line

    def first(self) -> str:
        """The first line that is not blank, or "" where there is none."""
        for line in self:
            if line.strip():
                return line
            self.begin()
        return ""

    def begin(self) -> int:
        """Start a record: the number of its first line."""
        self._taken.clear()
        return self.line + 1

    def give_back(self) -> None:
        """Give back all lines of the record but its first."""
        self._back.extendleft(reversed(self._taken[1:]))
        self.line -= len(self._taken) - 1


def records(source: _Lines, delimiter: str) -> Iterator[tuple[int, list[str] | str]]:
    """The records of a table, each with its first line; a reason instead of cells where its quotes do not close.

    Reading goes on at the line after, so that an open quote does not swallow good lines.
    """
    reader = csv.reader(source, delimiter=delimiter, strict=True)
    while True:
        line = source.begin()
        try:
            yield line, next(reader)
        except StopIteration:
            return
        except csv.Error:
            source.give_back()
            yield line, 'A quotation mark (") opens or closes in the wrong place.'


def row(line: int, values: Mapping[str, Any], word: str) -> Row | Skipped:
    """A row from its values by name, or why it cannot be one."""
    sentence = values.get("sentence")
    if not isinstance(sentence, str):
        if "sentence" in values:
            return Skipped(line, f"The sentence is {_kind(sentence)}, not a text.")
        return Skipped(line, f"There is no sentence; the keys are: {visible_line(', '.join(map(str, values)))}.")
    if not sentence.strip():
        return Skipped(line, "The sentence is empty.")
    others = {}
    for key in KEYS[1:]:
        value = values.get(key)
        if not isinstance(value, str | int | float | None) or isinstance(value, bool):
            return Skipped(line, f"The {key} is {_kind(value)}, neither a text nor a number.")
        others[key] = "" if value is None else str(value).strip()
    span: Span | None = None
    if others["start"] or others["end"]:
        try:
            span = span_of(sentence, others["start"], others["end"], others["word"] or word.strip())
        except BadInput as error:
            return Skipped(line, str(error))
    return Row(line, sentence, others["word"], others["sense"], span)


def span_of(sentence: str, start: str, end: str, word: str = "") -> Span:
    """The span that two cells give. Raises BadInput, with the numbers found, where it cannot hold the word."""
    if not (start and end):
        given, missing = ("start", "end") if start else ("end", "start")
        raise BadInput(f"There is {given} {visible_line(start or end)} but no {missing}.")
    first, last = _whole_number("start", start), _whole_number("end", end)
    shown = f"The span {first} to {last}"
    if first < 0:
        raise BadInput(f"{shown} begins before the sentence: characters count from 0.")
    if first >= last:
        raise BadInput(f"{shown} is empty: the end comes after the word's last character.")
    if last > len(sentence):
        raise BadInput(f"{shown} ends after the sentence, which has {things(len(sentence), 'character')}.")
    held = sentence[first:last]
    # Without a word to compare with, only scripts with capitals are sure to write their words apart.
    parted = bool(word) or held.lower() != held.upper()
    cut = held != held.strip() or (parted and not is_whole(sentence, first, last))
    if cut and held != word:
        spans = find_word(sentence, word) if word else []
        where = f", not {visible(word)}, which stands at {spans[0][0]} to {spans[0][1]}" if spans else ""
        where = where or (f", not {visible(word)}" if word else ", which is no whole word")
        raise BadInput(f"{shown} holds {visible_line(visible(held))}{where}.")
    return first, last


def _whole_number(name: str, cell: str) -> int:
    # 4.0 is how a spreadsheet with empty cells writes 4.
    found = re.fullmatch(r"([+-]?[0-9]{1,18})(\.0*)?", cell)
    if not found:
        raise BadInput(f"The {name} is {visible_line(cell)}, not a whole number.")
    return int(found[1])


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
