"""Finding entries of the vocabulary: by what they contain, by exact text, by id, and by the nearest spelling.

Entries are told apart by id alone: ` bank`, `bank` and ` Bank` are three of them, and even labels may be equal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from embedviz.errors import BadInput
from embedviz.numbers import count
from embedviz.tokens import Entry, Vocabulary, visible, visible_line

# More pieces than a sentence can name are counted.
PIECES_NAMED = 8
# Nothing longer is spelt like a word; the comparison's work grows with it.
LONGEST_SPELLING = 40
_ID = re.compile(r"\s*(?:#|id\b)[\s:#]*[+-]?[0-9][0-9.,]*\s*", re.IGNORECASE)
_NUMBER = re.compile(r"(?:[0-9]{2,}|[+-][0-9]+|[0-9]{1,3}(?:,[0-9]{3})+)\s*")


@dataclass(frozen=True, eq=False)
class EntryList:
    """Every entry of a vocabulary, read once.

    entries: one for each row of the table, in the order of the ids.
    folded: their texts without capitals.
    by_text: ids of the entries with one and the same text; whole characters before bytes.
    ordinary: (row,) True where plain text can select the row: no special, unknown or unused entry.
    """

    entries: tuple[Entry, ...]
    folded: tuple[str, ...]
    by_text: dict[str, list[int]]
    ordinary: NDArray[np.bool_]


_LISTS: WeakKeyDictionary[Vocabulary, EntryList] = WeakKeyDictionary()


def entry_list(vocabulary: Vocabulary) -> EntryList:
    """The list of a vocabulary's entries, kept as long as the vocabulary itself."""
    found = _LISTS.get(vocabulary)
    if found is None:
        entries = tuple(vocabulary.entry(id) for id in range(vocabulary.rows))
        by_text: dict[str, list[int]] = {}
        for entry in sorted(entries, key=lambda entry: entry.kind == "bytes"):
            by_text.setdefault(entry.text, []).append(entry.id)
        ordinary = np.array([entry.kind in ("text", "bytes") for entry in entries], dtype=bool)
        ordinary.flags.writeable = False
        found = EntryList(entries, tuple(entry.text.casefold() for entry in entries), by_text, ordinary)
        _LISTS[vocabulary] = found
    return found


def named(entries: Sequence[Entry], joint: str = ", ", most: int = PIECES_NAMED) -> str:
    """The labels of some entries in a row, the rest of a long list counted."""
    first = joint.join(entry.label for entry in entries[:most])
    return first if len(entries) <= most else f"{first} and {count(len(entries) - most)} more"


def is_id(vocabulary: Vocabulary, typed: str) -> bool:
    """Whether a typed text is read as an id: the one rule for pages and commands.

    `#5461` and `id 5461` are ids; so is a whole number of two or more digits, or with a sign, unless it is just the
    text of an entry. A space before a number makes it a text.
    """
    if _ID.fullmatch(typed):
        return True
    return bool(_NUMBER.fullmatch(typed)) and typed.strip() not in entry_list(vocabulary).by_text


def by_id(vocabulary: Vocabulary, typed: str) -> Entry:
    """The entry of an id as a person typed it: `5461`, `#5461`, `#5,461` or `id 5461`.

    Raises BadInput for what is no id of the list.
    """
    number = re.sub(r"^(?:#|id\b)[\s:#]*", "", typed.strip(), flags=re.IGNORECASE)
    if re.fullmatch(r"[0-9]{1,3}(?:,[0-9]{3})+", number):
        number = number.replace(",", "")
    # Longer than any list: Python itself refuses to read numbers of thousands of digits.
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", number):
        raise BadInput(
            f"An id is a whole number from 0 to {vocabulary.rows - 1}; {visible_line(number or typed)} is none."
        )
    return vocabulary.entry(int(number))


@dataclass(frozen=True)
class Hits:
    """What a search found.

    entries: the first of them: equal texts, then those that differ in capitals and spaces alone, then those that begin
        with what was typed, then the rest; each group in the order of the ids.
    total: number of all that were found.
    nearest: if nothing was found, the entries with the nearest spelling, best first.
    sentence: what a person must be told; empty if all that was found is in `entries`.
    """

    typed: str
    entries: tuple[Entry, ...]
    total: int
    nearest: tuple[Entry, ...]
    sentence: str


def search(vocabulary: Vocabulary, typed: str, *, exact: bool = False, most: int = 50) -> Hits:
    """Entries that contain a typed text, capitals ignored; with `exact`, those whose text is just that, space included.

    Raises BadInput for an empty text.
    """
    if not typed:
        raise BadInput("Nothing was typed: type a part of a token, or #5461 for an id.")
    listed = entry_list(vocabulary)
    if exact:
        ids = listed.by_text.get(typed, [])
    else:
        part = typed.casefold()
        bare = part.strip()

        def order(id: int) -> tuple[int, int]:
            folded = listed.folded[id]
            if listed.entries[id].text == typed:
                return 0, id
            if folded.strip() == bare:
                return 1, id
            return (2 if folded.strip().startswith(bare) else 3), id

        ids = sorted((id for id, text in enumerate(listed.folded) if part in text), key=order)
    entries = tuple(listed.entries[id] for id in ids[:most])
    if not ids:
        nearest = nearest_spellings(vocabulary, typed)
        verb = "is" if exact else "contains"
        sentence = f"Nothing in the list {verb} {shown(typed)}."
        if nearest:
            sentence += f" Nearest spelling: {nearest[0].label}."
        return Hits(typed, (), 0, nearest, sentence)
    sentence = f"{count(most)} of {count(len(ids))} are shown." if len(ids) > most else ""
    return Hits(typed, entries, len(ids), (), sentence)


def shown(typed: str, most: int = 60) -> str:
    """A typed text as it stands in a sentence: spaces as marks, and no longer than a sentence bears."""
    return visible(typed if len(typed) <= most else typed[: most - 1] + "…")


def twins(vocabulary: Vocabulary, id: int) -> tuple[Entry, ...]:
    """Entries that differ from one entry in capitals and outer spaces alone, in the order of their ids.

    WordPiece's `##` counts as such a mark: it says that no space stands before.
    """
    listed, wordpiece = entry_list(vocabulary), vocabulary.spelling == "wordpiece"

    def bare(k: int) -> str:
        text = listed.folded[k].strip()
        return text.removeprefix("##") if wordpiece else text

    wanted = bare(vocabulary.entry(id).id)
    return tuple(e for k, e in enumerate(listed.entries) if k != id and e.kind == "text" and bare(k) == wanted)


def nearest_spellings(vocabulary: Vocabulary, typed: str, most: int = 5) -> tuple[Entry, ...]:
    """Entries whose spelling is nearest, best first: fewest letters put in, left out, changed or swapped with the next.

    Capitals and outer spaces are ignored. Among equals an equal first letter counts, then the lower id, because lower
    ids are the more frequent tokens. Empty if more than a third of the letters are wrong even in the nearest, and for
    what is no word: fewer than three letters, digits, signs. All entries are compared at once, letter by letter
    (optimal string alignment: Damerau 1964).
    """
    wanted = typed.casefold().strip()
    letters = sum(map(str.isalpha, wanted))
    if len(wanted) > LONGEST_SPELLING or letters < max(3, len(wanted) - 2) or any(map(str.isdigit, wanted)):
        return ()
    listed = entry_list(vocabulary)
    reach = len(wanted) // 3
    texts = [(id, text.strip()) for id, text in enumerate(listed.folded) if listed.entries[id].kind == "text"]
    texts = [(id, text) for id, text in texts if text and abs(len(text) - len(wanted)) <= reach]
    if not texts:
        return ()
    distances = _edit_distances(wanted, [text for _, text in texts])
    ranked = sorted(
        (int(distance), text[0] != wanted[0], id)
        for distance, (id, text) in zip(distances, texts, strict=True)
        if distance <= reach
    )
    return tuple(listed.entries[id] for _, _, id in ranked[:most])


def _edit_distances(wanted: str, texts: Sequence[str]) -> NDArray[np.int8]:
    """(text,) letters to put in, leave out, change or swap in order to get from one text to each of the others."""
    lengths = np.array([len(text) for text in texts])
    codes = np.array(texts).view(np.uint32).reshape(len(texts), -1)
    letters, width = np.ascontiguousarray(codes.T), codes.shape[1]  # (place, text)
    lines: list[NDArray[np.int8]] = [np.repeat(np.arange(width + 1, dtype=np.int8)[:, None], len(texts), axis=1)]
    for i, letter in enumerate(map(ord, wanted)):
        line = np.empty_like(lines[-1])
        line[0] = i + 1
        for j in range(width):
            cost = (letters[j] != letter).astype(np.int8)
            line[j + 1] = np.minimum(np.minimum(lines[-1][j + 1], line[j]) + 1, lines[-1][j] + cost)
            if i and j:
                swapped = (letters[j] == ord(wanted[i - 1])) & (letters[j - 1] == letter)
                line[j + 1] = np.where(swapped, np.minimum(line[j + 1], lines[-2][j - 1] + 1), line[j + 1])
        lines.append(line)
    return lines[-1][lengths, np.arange(len(texts))]
