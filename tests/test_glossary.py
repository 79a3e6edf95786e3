"""The glossary: every term is said once, briefly, and for pages that there are; the docs say the same."""

from __future__ import annotations

import re

import pytest

from conftest import ROOT
from embedviz.glossary import PAGE, Term, as_markdown, glossary, terms_of
from embedviz.ui.frame import PAGES


def test_no_term_is_told_twice() -> None:
    names = [term.name.lower() for term in glossary()]
    assert len(names) == len(set(names)) >= 40


@pytest.mark.parametrize("term", glossary(), ids=lambda term: term.name)
def test_a_term_is_short_and_belongs_to_pages_that_there_are(term: Term) -> None:
    sentences = re.split(r"(?<=[.;:])\s", term.meaning)
    assert len(sentences) <= 4 and term.meaning.endswith(".")
    assert max(len(sentence.split()) for sentence in sentences) <= 24
    assert term.pages and set(term.pages) <= {page.label for page in PAGES}


@pytest.mark.parametrize("page", [page for page in PAGES if page.label != "Lessons"], ids=lambda page: page.label)
def test_a_page_lists_words_that_stand_on_it(page) -> None:
    assert len(terms_of(page.label)) >= 5


def test_the_docs_are_written_from_the_same_file() -> None:
    assert PAGE.read_text(encoding="utf-8") == as_markdown()
    assert PAGE.parent == ROOT / "docs"
