"""The glossary: the field's words as they stand on the pages, each with its meaning.

python -m embedviz.glossary          # writes docs/glossary.md anew
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

WRITTEN = Path(__file__).parent / "data" / "glossary.toml"
PAGE = Path(__file__).resolve().parent.parent / "docs" / "glossary.md"


_OPENING = """# Glossary

Written from `embedviz/data/glossary.toml`, which the pages use too: each page lists its own words under "Words on this
page". In italics: the pages where a word stands."""


@dataclass(frozen=True)
class Term:
    """A word of the field. also: other names for it, "" where there are none. pages: labels of those that use it."""

    name: str
    meaning: str
    pages: tuple[str, ...]
    also: str = ""


@cache
def glossary() -> tuple[Term, ...]:
    """All terms, in the order of the data's way from text to answer."""
    read = tomllib.loads(WRITTEN.read_text(encoding="utf-8"))["term"]
    return tuple(Term(**one | {"pages": tuple(one["pages"])}) for one in read)


def terms_of(page: str) -> tuple[Term, ...]:
    """The terms that stand on a page, by its label in the navigation."""
    return tuple(term for term in glossary() if page in term.pages)


def as_markdown() -> str:
    """The whole glossary as a page of the docs."""
    entries = [
        f"**{term.name}**{f' ({term.also})' if term.also else ''}: {term.meaning} *{', '.join(term.pages)}.*"
        for term in glossary()
    ]
    return "\n\n".join((_OPENING, *entries)) + "\n"


if __name__ == "__main__":
    PAGE.write_text(as_markdown(), encoding="utf-8")
