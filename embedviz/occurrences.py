"""From lines to occurrences: a word at its place in a sentence, and the sense it has there.

A line is a sentence, and after a tab its sense. The word stands in [square brackets], or is named once for all lines.
What cannot be read is skipped with its line and the reason, never quietly. Files follow in `occurrence_files`.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from embedviz.errors import BadInput
from embedviz.numbers import count, things
from embedviz.tokens import Span, clean, visible_line
from embedviz.words import find_whole, marked, place, read_marked

# More points than these tell nothing new in a picture, and take minutes to read.
MOST = 1_000
# Enough to see what is wrong with a file; a note counts the rest.
MOST_SKIPPED = 1_000
MOST_NAMED = 10
# No model here reads a tenth of it; a file without line breaks is one such line.
MOST_CHARACTERS = 100_000


@dataclass(frozen=True)
class Occurrence:
    """A word at its place in a sentence.

    start, end: characters of the sentence, end exclusive.
    line: line of its source, from 1, where it begins; None where there is no source.
    """

    sentence: str
    start: int
    end: int
    sense: str | None = None
    line: int | None = None

    @property
    def word(self) -> str:
        """The word as it is spelt here."""
        return self.sentence[self.start : self.end]


@dataclass(frozen=True)
class Skipped:
    """A line that was left out, and why, in one sentence."""

    line: int
    reason: str


@dataclass(frozen=True)
class Occurrences:
    """What was read.

    word: the word asked for, else the one marked most often.
    skipped: the lines left out, in order; the first `MOST_SKIPPED` of them.
    notes: one sentence for each thing that was chosen, changed or cut.
    """

    word: str
    occurrences: tuple[Occurrence, ...]
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A line or record before its word is found; word and sense are "" and the span None where it gives none."""

    line: int
    sentence: str
    word: str = ""
    sense: str = ""
    span: Span | None = None


Rows = Iterator[Row | Skipped]


def read_lines(text: str, word: str | None = None, *, inflected: bool = False, most: int = MOST) -> Occurrences:
    """Read one sentence a line, its word in [square brackets] or given by `word`; after a tab, its sense.

    Without `word`, a line without brackets is searched for the word marked most often. With it, brackets mark only that
    word and its forms; what else they hold is part of the sentence. Of several places the first is taken, and said.
    inflected: where the word does not stand, take it with an English ending (`banks`, `banking`).
    most: occurrences kept; the others are counted. Raises BadInput where there is no word to look for.
    """
    return gather(lambda: typed_rows(io.StringIO(text, newline=None)), word, inflected=inflected, most=most)


def typed_rows(lines: Iterable[str]) -> Rows:
    """The rows of typed lines, blank ones left out but counted."""
    for line, text in enumerate(lines, start=1):
        cells = text.rstrip("\n").strip("\t").split("\t")
        if len(cells) > 2:
            yield Skipped(line, f"This line has {len(cells)} columns: it takes a sentence, then a tab and its sense.")
        elif any(cell.strip() for cell in cells):
            yield Row(line, cells[0], sense=cells[-1] if len(cells) == 2 else "")


def to_lines(occurrences: Iterable[Occurrence]) -> str:
    r"""The lines that `read_lines` reads as these occurrences, with lines counted anew.

    Brackets of the sentence are escaped (`\[`). Its tabs and line breaks become spaces, one for one, so spans stay.
    """
    return "\n".join(
        marked(re.sub(r"[\t\n\r]", " ", one.sentence), (one.start, one.end))
        + (f"\t{' '.join(one.sense.split())}" if one.sense else "")
        for one in occurrences
    )


def places(occurrence: Occurrence) -> list[Span]:
    """Every span of the same word in its sentence, capitals ignored, its own among them; in order."""
    same = find_whole(occurrence.sentence, re.escape(occurrence.word), re.IGNORECASE)
    return sorted({*same, (occurrence.start, occurrence.end)})


def gather(
    rows: Callable[[], Rows], word: str | None, *, inflected: bool, most: int, notes: tuple[str, ...] = ()
) -> Occurrences:
    """Find the word of each row. `rows` begins anew at each call: without `word` they are read twice."""
    given = clean(word or "")[0].strip()
    reading = _Reading(given or most_marked(_short_enough(rows())), bool(given), inflected, most)
    for row in _short_enough(rows()):
        reading.add(row)
    return Occurrences(reading.word, tuple(reading.kept), tuple(reading.skipped), (*notes, *reading.notes()))


def _short_enough(rows: Rows) -> Rows:
    for row in rows:
        if isinstance(row, Row) and len(row.sentence) > MOST_CHARACTERS:
            size, most = count(len(row.sentence)), count(MOST_CHARACTERS)
            yield Skipped(row.line, f"This sentence has {size} characters; up to {most} are read.")
        else:
            yield row


def most_marked(rows: Rows) -> str:
    """The word that most rows mark, capitals ignored, in its commonest spelling. Raises BadInput where none does."""
    words: Counter[str] = Counter()
    first: Row | Skipped | None = None
    for row in rows:
        if isinstance(row, Skipped):
            first = first or row
            continue
        if not isinstance(first, Row):
            first = row
        sentence, span = (row.sentence, row.span) if row.span else read_marked(row.sentence)
        if own := clean(row.word.strip() or (sentence[slice(*span)] if span else ""))[0]:
            words[own] += 1
    if words:
        together: Counter[str] = Counter()
        for word, times in words.items():
            together[word.casefold()] += times
        [(common, _)] = together.most_common(1)
        return max((word for word in words if word.casefold() == common), key=words.__getitem__)
    if isinstance(first, Skipped):
        raise BadInput(f"No line could be read; line {first.line}: {first.reason}")
    if first is None:
        raise BadInput("No sentence was found: write one a line, its word in [square brackets].")
    raise BadInput("No word is marked: put it in [square brackets], as in The [bank] was steep, or name it.")


@dataclass
class _Reading:
    """The rows read so far."""

    word: str
    given: bool
    inflected: bool
    most: int
    kept: list[Occurrence] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    found: int = 0
    missed: int = 0
    cleaned: int = 0
    repeated: list[tuple[int, int]] = field(default_factory=list)

    def add(self, row: Row | Skipped) -> None:
        if isinstance(row, Row):
            try:
                self._find(row)
                return
            except BadInput as error:
                row = Skipped(row.line, str(error))
        self.missed += 1
        if len(self.skipped) < MOST_SKIPPED:
            self.skipped.append(row)

    def _find(self, row: Row) -> None:
        (sentence, changed), (own, _), (sense, _) = (
            clean(row.sentence),
            clean(row.word.strip()),
            clean(row.sense.strip()),
        )
        if row.span:
            spans = [row.span]
        else:
            sentence, spans = place(sentence, own or self.word, given=self.given or bool(own), inflected=self.inflected)
        self.found += 1
        if self.found > self.most:
            return
        self.kept.append(Occurrence(sentence, *spans[0], clean(sense)[0] or None, row.line))
        self.cleaned += bool(changed)
        if len(spans) > 1:
            self.repeated.append((row.line, len(spans)))

    def notes(self) -> Iterator[str]:
        words = Counter(one.word.lower() for one in self.kept)
        if len(words) > 1 or (self.inflected and words):
            yield f"Words found: {_listed(f'{visible_line(word)} {count(n)}' for word, n in words.most_common())}."
        if self.repeated:
            lines = _listed(f"{line} ({n} times)" for line, n in self.repeated)
            many = "line" if len(self.repeated) == 1 else "lines"
            yield f"The word stands more than once in {many} {lines}: the first is taken."
        if self.found > self.most:
            yield f"The first {count(self.most)} of {things(self.found, 'occurrence')} are kept, the others left out."
        if self.missed > len(self.skipped):
            yield f"The first {count(len(self.skipped))} of {things(self.missed, 'skipped line')} are listed."
        if self.cleaned:
            yield f"Characters that are no text were replaced by {chr(0xFFFD)} in {things(self.cleaned, 'line')}."


def _listed(parts: Iterable[str]) -> str:
    """Some parts as a list to read; those after the first `MOST_NAMED` are counted."""
    named = list(parts)
    more = len(named) - MOST_NAMED
    return ", ".join(named[:MOST_NAMED]) + (f" and {count(more)} more" if more > 0 else "")
