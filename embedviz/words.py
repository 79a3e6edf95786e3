r"""Finding a word in a text: in [square brackets], or whole and literal, or with an English ending.

In typed lines `\[` and `\]` are brackets that mark nothing. A backslash right before a bracket is itself doubled;
anywhere else it is just a backslash.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from embedviz.errors import BadInput
from embedviz.tokens import Span, visible, visible_line

VOWELS = "aeiou"
# A bracket with the backslashes before it; from their first one only, or a long run of them takes its square in time.
_BRACKET = r"(?<!\\)(\\*)([\[\]])"


def read_marked(line: str) -> tuple[str, Span | None]:
    """Take the brackets off a line such as `The [bank] was steep.`: the plain text and the span of the word.

    The first pair of brackets that holds something marks the word; without one the span is None.
    """
    text, marks = _marks(line)
    plain, spans = _unmarked(text, marks[:1])
    return plain, spans[0] if spans else None


def marked(text: str, span: Span) -> str:
    """Put brackets around a span, so that `read_marked` gives back this text and span; its own brackets are escaped."""
    start, end = span
    # A backslash before the added brackets would be read as their escape.
    before, word = (
        re.sub(r"(?<!\\)\\+\Z", lambda found: found[0] * 2, _escaped(part)) for part in (text[:start], text[start:end])
    )
    return f"{before}[{word}]{_escaped(text[end:])}"


def _escaped(text: str) -> str:
    return re.sub(_BRACKET, r"\1\1\\\2", text)


def _marks(line: str) -> tuple[str, list[Span]]:
    """The text without its escapes, and the span of each pair of brackets that holds something, brackets included."""
    if "[" not in line and "]" not in line:
        return line, []
    text: list[str] = []
    length, at, opened = 0, 0, -1
    marks: list[Span] = []
    for found in re.finditer(_BRACKET, line):
        slashes = len(found[1])
        text.append(line[at : found.start()] + "\\" * (slashes // 2) + found[2])
        length, at = length + len(text[-1]), found.end()
        if slashes % 2:
            continue
        if found[2] == "[":
            opened = length - 1
        elif opened >= 0:
            marks.append((opened, length))
            opened = -1
    plain = "".join(text) + line[at:]
    return plain, [(start, end) for start, end in marks if plain[start + 1 : end - 1].strip()]


def _unmarked(text: str, marks: Iterable[Span]) -> tuple[str, list[Span]]:
    """Take some pairs of brackets away: the text, and the span of what each held, without the spaces at its ends."""
    plain, at = "", 0
    spans: list[Span] = []
    for start, end in marks:
        held = text[start + 1 : end - 1]
        plain += text[at:start]
        first = len(plain) + len(held) - len(held.lstrip())
        spans.append((first, first + len(held.strip())))
        plain, at = plain + held, end
    return plain + text[at:], spans


def place(line: str, word: str, *, given: bool = True, inflected: bool = False) -> tuple[str, list[Span]]:
    """The plain text of a line, and where its word stands: in brackets, else as the whole word, else as a form of it.

    given: brackets mark only the word and its forms, whatever else they hold belongs to the text; without it they mark
    any word. Where brackets mark several words, `word` itself is preferred, then the first. Raises BadInput, naming
    what was found instead.
    """
    text, marks = _marks(line)
    held = [text[start + 1 : end - 1].strip() for start, end in marks]
    wanted = [one for one in held if not given or one.casefold() in _spellings(word)]
    if wanted:
        chosen = word if word.casefold() in {one.casefold() for one in wanted} else wanted[0]
        same = [mark for mark, one in zip(marks, held, strict=True) if one.casefold() == chosen.casefold()]
        return _unmarked(text, same)
    spans = find_word(text, word)
    if spans:
        return text, spans
    spans = find_forms(text, word)
    if spans and inflected:
        return text, spans
    missing = f"{visible(word)} does not stand in this line"
    if spans:
        raise BadInput(f"{missing}, but {text[slice(*spans[0])]} does: allow inflected forms to take it.")
    raise BadInput(f"{missing}; its brackets hold {visible_line(held[0])}." if held else f"{missing}.")


def find_word(text: str, word: str) -> list[Span]:
    """Every place where `word` stands as a whole word, in order; literal, capitals told apart only if need be.

    A word ends where letters, digits and their combining marks end, so `bank` is not found in `embankment`, and `C++`
    or `(bank` are looked for as they are. If the exact spelling is nowhere, capitals are ignored.
    """
    word = word.strip()
    if not word:
        raise BadInput("No word was given: name the word, or put it in [square brackets].")
    # Not casefold: it can change the length of a text, and the spans are places in the text as typed.
    return find_whole(text, re.escape(word)) or find_whole(text, re.escape(word), re.IGNORECASE)


def find_forms(text: str, word: str) -> list[Span]:
    """Every place where the word stands with an English ending, in order; capitals as in `find_word`."""
    # Longest first: the first alternative that matches is taken, and it has to reach the word's end.
    pattern = "|".join(re.escape(form) for form in sorted(forms(word), key=len, reverse=True))
    return (find_whole(text, pattern) or find_whole(text, pattern, re.IGNORECASE)) if pattern else []


@lru_cache
def forms(word: str) -> tuple[str, ...]:
    """A word with the endings s, es, ed and ing, spelt as English does: `cities`, `planned`, `waving`.

    Irregular forms (`mice`) are not among them. `bank's` needs no form: the whole word `bank` stands in it.
    """
    lower = word.lower()
    if not re.search(r"[a-z]{2}\Z", lower):
        return ()
    last, second = lower[-1], lower[-2]
    if last == "y" and second not in VOWELS:
        return (word[:-1] + "ies", word[:-1] + "ied", word + "ing")
    if last == "e":
        return (word + "s", word + "d", word[:-1] + "ing", word + "ing")
    plural = word + ("es" if re.search(r"(s|x|z|ch|sh|o)\Z", lower) else "s")
    found = [plural, word + "s", word + "ed", word + "ing"]
    if second in VOWELS and last not in VOWELS + "wxy" and not re.search(r"[aeiou]{2}.\Z", lower):
        doubled = [word + last + ending for ending in ("ed", "ing", *(["es"] if last in "sz" else []))]
        # A word of one syllable always doubles: `stared` and `planed` belong to other words than `star` and `plan`.
        short = len(re.findall(r"[aeiouy]+", lower)) == 1
        found = (found[:2] if short else found) + doubled
    return tuple(dict.fromkeys(found))


@lru_cache
def _spellings(word: str) -> frozenset[str]:
    """The word and its forms, capitals ignored."""
    return frozenset(one.casefold() for one in (word, *forms(word)))


def find_whole(text: str, pattern: str, flags: re.RegexFlag = re.NOFLAG) -> list[Span]:
    """The matches of a pattern that do not begin or end inside a word."""
    return [found.span() for found in re.finditer(pattern, text, flags) if is_whole(text, *found.span())]


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether neither end of a span cuts a word in two."""
    return not (
        (start > 0 and _in_word(text[start - 1]) and _in_word(text[start]))
        or (end < len(text) and _in_word(text[end]) and _in_word(text[end - 1]))
    )


def _in_word(character: str) -> bool:
    return character == "_" or unicodedata.category(character)[0] in "LNM"


def locate(text: str, word: str, occurrence: int = 1) -> Span:
    """The span of a word's n-th occurrence (1 is the first). Raises BadInput with what was found."""
    spans = find_word(text, word)
    if not spans:
        raise BadInput(f"The word {visible(word)} does not stand in: {visible_line(text)}")
    if not 1 <= occurrence <= len(spans):
        times = "once" if len(spans) == 1 else f"{len(spans)} times"
        raise BadInput(f"{visible(word)} stands {times} in this text; there is no occurrence {occurrence}.")
    return spans[occurrence - 1]


# Between letters these belong to the word: apostrophes, soft hyphen, and the two joiners.
_INSIDE = "'’\u00ad\u200c\u200d"


def words_in(text: str) -> list[Span]:
    """The span of every word, in order: runs of letters, digits and their marks, with the apostrophes inside them.

    Punctuation, symbols and emoji are no words. Scripts without spaces give long ones.
    """
    within = [_in_word(character) for character in text]
    for k in range(1, len(text) - 1):
        within[k] = within[k] or (text[k] in _INSIDE and within[k - 1] and _in_word(text[k + 1]))
    runs = re.finditer("1+", "".join("01"[inside] for inside in within))
    return [run.span() for run in runs if any(character.isalnum() for character in text[slice(*run.span())])]
