"""From text to tokens: what the tokenizer cut, where each token stands in the text, and how to name it.

A token is an entry of the model's list. The vocabulary's own spelling of an entry (`Ġbank`, `##ing`, `▁bank`) is made
for programs; people read `text`, in which the space is a space. A byte-level vocabulary can cut one character into
several tokens, none of which is text by itself: such a token is named by its bytes, and says which character it is a
part of. So nothing here ever decodes a token alone and hopes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from embedviz.errors import BadInput

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

Kind = Literal["text", "bytes", "special", "unknown", "unused"]
Span = tuple[int, int]

# The marks of pages, tables and figures for characters that cannot be seen (one function, `visible`, for all of them).
MARKS = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽"}
# Characters without a shape, shown by their code: those that turn the direction of a line, C1 controls, soft hyphen,
# separators, zero-width space, word joiner, byte order mark. The two joiners keep what they join (emoji, Persian,
# Hindi) in one piece, and are shown only where they join nothing.
_UNSEEN = re.compile(
    "[\u0080-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]"
    r"|(?<!\S)[\u200c\u200d]+|[\u200c\u200d]+(?!\S)"
)


@dataclass(frozen=True)
class Entry:
    """One entry of a vocabulary: a row of the embedding table with its name.

    id: place in the list, 0 to rows − 1.
    text: what a person reads, leading space kept; the bytes as hex pairs where they are no whole characters.
    piece: the vocabulary's own spelling.
    bytes: what the entry stands for in UTF-8, before it is joined to its neighbours.
    special: a control entry (`<|endoftext|>`, `[CLS]`), never produced by plain words.
    kind: "text", "bytes" (no whole characters), "special", "unknown" (the shared entry for what the vocabulary lacks),
        or "unused" (a row that no text selects: the tokenizer has no entry for it, or only BERT's `[unused7]`).
    """

    id: int
    text: str
    piece: str
    bytes: bytes
    special: bool
    kind: Kind

    @property
    def label(self) -> str:
        """The text with visible marks; never blank, even for a joiner or a combining mark that stands alone."""
        if self.kind != "text":
            return self.text
        categories = {unicodedata.category(character)[0] for character in map(_pictured, self.text)}
        if categories <= {"M"} and self.text:
            return "◌" + self.text
        if categories <= {"C", "Z", "M"}:
            return " ".join(map(_code, self.text)) or f"empty entry {self.id}"
        return visible(self.text)

    @property
    def hex(self) -> str:
        """The bytes as pairs, as in `20 62 61 6e 6b`."""
        return self.bytes.hex(" ")


@dataclass(frozen=True)
class Token(Entry):
    """An entry at its place in a text.

    position: 0 for the first token fed to the model.
    start, end: characters of the text, end exclusive; equal where the tokenizer added the token by itself. Tokens that
        share one character share its place.
    part: (k, n, characters) for the k-th of n tokens which only together make whole characters, else None.
    """

    position: int
    start: int
    end: int
    part: tuple[int, int, str] | None = None


@dataclass(frozen=True)
class Tokens:
    """A text as the model reads it.

    text: the text that was tokenised (characters that are no text replaced).
    tokens: in the model's order, special tokens of the tokenizer included.
    total: number of tokens of the whole text; more than `len(tokens)` where the text was cut.
    start_token: whether the first token is one that was put before the text on request.
    notes: one sentence for each thing that was changed or left out.
    """

    text: str
    tokens: tuple[Token, ...]
    total: int
    start_token: bool = False
    notes: tuple[str, ...] = field(default=())

    @property
    def ids(self) -> tuple[int, ...]:
        """The ids in order."""
        return tuple(token.id for token in self.tokens)

    def __len__(self) -> int:
        return len(self.tokens)


def visible_parts(text: str) -> list[tuple[bool, str]]:
    """Cut a text into runs of marks (True) and of characters as they are (False)."""
    unseen = {place for found in _UNSEEN.finditer(text) for place in range(*found.span())}
    shown = ((k in unseen, _code(one) if k in unseen else _pictured(one), one in MARKS) for k, one in enumerate(text))
    runs = groupby(((by_code or is_mark, part) for by_code, part, is_mark in shown), lambda x: x[0])
    return [(is_mark, "".join(part for _, part in run)) for is_mark, run in runs]


def visible(text: str) -> str:
    """Show spaces, newlines, tabs and other unseen characters by the marks of `MARKS`, or by their code."""
    return "".join(part for _, part in visible_parts(text))


def _code(character: str) -> str:
    return f"U+{ord(character):04X}"


def _pictured(character: str) -> str:
    return MARKS.get(character) or shown_control(character)


def shown_control(character: str) -> str:
    """A control character as its own picture (NUL as ␀, escape as ␛), any other character as it is."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else character


def clean(text: str) -> tuple[str, tuple[str, ...]]:
    """Replace lone surrogates and NUL, which are no text, by U+FFFD, and say how many were replaced."""
    cleaned, replaced = re.subn("[\ud800-\udfff\0]", "\ufffd", text)
    if not replaced:
        return text, ()
    what = "1 character that is no text was" if replaced == 1 else f"{replaced} characters that are no text were"
    return cleaned, (f"{what} replaced by {chr(0xFFFD)}.",)


class Vocabulary:
    """The list that ids point into: one entry for each row of the embedding table.

    Three kinds of spelling are read: byte-level (GPT-2, SmolLM2, Pythia, Qwen), WordPiece (BERT) and SentencePiece
    (Llama 2, T5). The kind is taken from the tokenizer's own decoder, never guessed from its name.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast, rows: int) -> None:
        self._tokenizer = tokenizer
        self.rows = rows
        backend = tokenizer.backend_tokenizer
        # A saved tokenizer may carry its training's padding or truncation, which would change ids silently.
        backend.no_padding()
        backend.no_truncation()
        self.spelling = spelling_of(backend)
        self.size = backend.get_vocab_size(with_added_tokens=True)
        added = tokenizer.added_tokens_decoder
        self.added_ids = frozenset(added)
        self.special_ids = frozenset(i for i, token in added.items() if token.special) | frozenset(
            tokenizer.all_special_ids
        )
        # A byte-level vocabulary spells everything, so text never produces its "unknown" entry (SmolLM2 names one).
        self.unknown_id = None if self.spelling == "byte-level" else tokenizer.unk_token_id
        self._entries: dict[int, Entry] = {}

    def entry(self, id: int) -> Entry:
        """The entry of one id. Raises BadInput outside 0 … rows − 1."""
        if not 0 <= id < self.rows:
            raise BadInput(f"Ids run from 0 to {self.rows - 1}; {id} is not one of them.")
        if id not in self._entries:
            self._entries[id] = self._read(id)
        return self._entries[id]

    def _read(self, id: int) -> Entry:
        piece = self._tokenizer.backend_tokenizer.id_to_token(id)
        if piece is None:
            return Entry(id, f"unused row {id}", "", b"", False, "unused")
        if id == self.unknown_id:
            return Entry(id, piece, piece, piece.encode(), True, "unknown")
        if id in self.special_ids:
            return Entry(id, piece, piece, piece.encode(), True, "special")
        if self.spelling == "wordpiece" and re.fullmatch(r"\[unused\d+\]", piece):
            return Entry(id, piece, piece, piece.encode(), False, "unused")
        raw = piece.encode() if id in self.added_ids else piece_bytes(piece, self.spelling)
        try:
            return Entry(id, raw.decode(), piece, raw, False, "text")
        except UnicodeDecodeError:
            return Entry(id, raw.hex(" ").upper(), piece, raw, False, "bytes")

    def text_of(self, ids: Sequence[int]) -> str:
        """The text that ids stand for together, special tokens spelt out."""
        return str(self._tokenizer.decode(list(ids), clean_up_tokenization_spaces=False))

    def id_of(self, piece: str) -> int | None:
        """The id whose own spelling is `piece`; None where there is none."""
        id = self._tokenizer.backend_tokenizer.token_to_id(piece)
        return None if id is None else int(id)

    def tokenise(
        self, text: str, *, limit: int | None = None, reader: str = "this model", start_token_id: int | None = None
    ) -> Tokens:
        """Cut a text into tokens.

        limit: most tokens to keep, the tokenizer's own special tokens included; the cut is said in `notes`, with
            `reader` as the one who reads no more.
        start_token_id: an id to feed before the text, unless the tokenizer puts it there by itself.
        """
        text, notes = clean(text)
        encoding = self._tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False)
        ids, spans = list(encoding["input_ids"]), [tuple(span) for span in encoding["offset_mapping"]]
        added = encoding["special_tokens_mask"]
        start_token = start_token_id is not None
        if start_token and ids[:1] != [start_token_id]:
            ids, spans, added = [start_token_id, *ids], [(0, 0), *spans], [1, *added]
        total = len(ids)
        if limit is not None and total > limit:
            kept = _kept_positions(added, limit)
            ids, spans = [ids[k] for k in kept], [spans[k] for k in kept]
            notes = (*notes, f"{limit:,} of {total:,} tokens used: {reader} reads no more at once.")
            added = [added[k] for k in kept]
        entries = [self.entry(id) for id in ids]
        if self.spelling == "byte-level":
            spans = byte_spans(text, entries, spans, added)
        parts = shared_characters(text, entries, spans)
        tokens = tuple(
            Token(**_fields(entry), position=k, start=start, end=end, part=part)
            for k, (entry, (start, end), part) in enumerate(zip(entries, spans, parts, strict=True))
        )
        if self.spelling != "byte-level" and (lost := _lost(text, tokens, len(tokens) < total)):
            notes = (*notes, f"This tokenizer leaves out: {lost}.")
        unknown = [visible(text[token.start : token.end]) for token in tokens if token.kind == "unknown"]
        if unknown:
            notes = (
                *notes,
                f"Not in the vocabulary, so the shared {entries_name(tokens)} row is used: {', '.join(unknown)}.",
            )
        return Tokens(text, tokens, total, start_token, notes)


def _lost(text: str, tokens: Sequence[Token], cut: bool) -> str:
    """The characters of a text, spaces aside, that no token stands for, as a list to read; at most ten of them."""
    held = {k for token in tokens for k in range(token.start, token.end)}
    end = max(held, default=-1) + 1 if cut else len(text)
    lost = [text[k] for k in range(end) if k not in held and not text[k].isspace()]
    named = [Entry(0, one, one, b"", False, "text").label for one in dict.fromkeys(lost)]
    return ", ".join(named[:10]) + (" and others" if len(named) > 10 else "")


def entries_name(tokens: Sequence[Token]) -> str:
    """The spelling of the unknown entry among some tokens."""
    return next(token.piece for token in tokens if token.kind == "unknown")


def _fields(entry: Entry) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in ("id", "text", "piece", "bytes", "special", "kind")}


def _kept_positions(added: Sequence[int], limit: int) -> list[int]:
    """Positions kept by a cut: the tokenizer's own special tokens at both ends stay, the text's end goes."""
    last = len(added)
    while last > 0 and added[last - 1]:
        last -= 1
    tail = list(range(last, len(added)))[-limit:]
    return list(range(limit - len(tail))) + tail


def spelling_of(backend: Any) -> Literal["byte-level", "wordpiece", "sentencepiece"]:
    """Tell how a fast tokenizer spells its pieces, from its decoder and pre-tokenizer."""
    described = " ".join(
        part.__getstate__().decode() for part in (backend.decoder, backend.pre_tokenizer) if part is not None
    )
    if '"ByteLevel"' in described:
        return "byte-level"
    if '"WordPiece"' in described:
        return "wordpiece"
    return "sentencepiece"


@cache
def byte_alphabet() -> dict[str, int]:
    """The byte that each letter of a byte-level vocabulary stands for.

    GPT-2's own table (Radford et al. 2019, `bytes_to_unicode`): printable Latin-1 characters stand for themselves,
    every other byte for a letter from U+0100 on, so that no piece holds a space or a control character. `Ġ` is a space.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + k): byte for k, byte in enumerate(others)}


def piece_bytes(piece: str, spelling: str) -> bytes:
    """The UTF-8 bytes that a vocabulary's piece stands for."""
    if spelling == "byte-level":
        alphabet = byte_alphabet()
        return bytes(alphabet[letter] for letter in piece) if set(piece) <= alphabet.keys() else piece.encode()
    if spelling == "sentencepiece":
        single = re.fullmatch(r"<0x([0-9A-F]{2})>", piece)
        return bytes([int(single[1], 16)]) if single else piece.replace("▁", " ").encode()
    return piece.encode()


def byte_spans(text: str, entries: Sequence[Entry], offsets: Sequence[Span], added: Sequence[int]) -> list[Span]:
    """Character spans of byte-level tokens, from their bytes.

    Tokenizers differ in whether a token's offsets hold its leading space. The bytes do not: laid end to end they are
    the text, so each token's span follows from them, leading space included. Where they are not the text (a tokenizer
    that normalises), the tokenizer's own offsets stand. `added` is 1 for tokens that stand for no text.
    """
    spans = list(offsets)
    typed = [k for k, is_added in enumerate(added) if not is_added]
    if not text.encode().startswith(b"".join(entries[k].bytes for k in typed)):
        return spans
    character_of = [k for k, character in enumerate(text) for _ in character.encode()]
    at = 0
    for k in typed:
        end = at + len(entries[k].bytes)
        if end > at:
            spans[k] = (character_of[at], character_of[end - 1] + 1)
        at = end
    return spans


def shared_characters(text: str, entries: Sequence[Entry], spans: Sequence[Span]) -> list[tuple[int, int, str] | None]:
    """For each token that is only a part of its characters: (k, n, those characters), else None.

    Neighbouring tokens belong together while their character spans overlap. A group counts only if one of its tokens
    is bytes: overlaps also come from a space that the tokenizer itself put first.
    """
    parts: list[tuple[int, int, str] | None] = [None] * len(entries)
    first = 0
    while first < len(entries):
        last, (start, end) = first, spans[first]
        while last + 1 < len(entries) and end > start and spans[last + 1][0] < end and spans[last + 1][1] > start:
            last += 1
            end = max(end, spans[last][1])
        count = last - first + 1
        if count > 1 and any(entry.kind == "bytes" for entry in entries[first : last + 1]):
            for k in range(first, last + 1):
                parts[k] = (k - first + 1, count, text[start:end].strip() or text[start:end])
        first = last + 1
    return parts


def visible_line(text: str, most: int = 60) -> str:
    """A text on one line for a message, cut after `most` characters; what has no shape is shown by its code."""
    line = _UNSEEN.sub(lambda found: "".join(map(_code, found[0])), " ".join(text.split()))
    shown = line or visible(text)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def positions(tokens: Tokens, span: Span) -> tuple[int, ...]:
    """Positions of the tokens that hold a span's characters. Raises BadInput where none does (cut text, empty span)."""
    start, end = span
    if not 0 <= start < end <= len(tokens.text):
        raise BadInput(f"The span {start} to {end} is not inside this text of {len(tokens.text)} characters.")
    found = tuple(token.position for token in tokens.tokens if token.start < end and token.end > start)
    if not found:
        raise BadInput(
            f"{visible(tokens.text[start:end])} was cut off: only {len(tokens)} of {tokens.total} tokens were read."
            if tokens.total > len(tokens)
            else f"The tokenizer leaves out {visible(tokens.text[start:end])}: no token holds it."
        )
    return found
