"""Typed text must appear verbatim; a CommonMark parser of its own says what a reader would see."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from embedviz.safe_text import markdown_text, plotly_text

AWKWARD = [
    "$5 at the bank, $6 later",
    "*a* _b_ **c** `d` ~~e~~ # f | g |",
    "# title",
    "1. one",
    "2) two",
    "- item",
    "+ item",
    "> quote",
    "    code",
    ":red[x] :material/home: :smile: :+1: :streamlit: :badge[x]",
    "[a](b) ![](http://example.org/x.png) [^1] [x]: y",
    "<b>bold</b> <br> a<b <img onerror=x> &lt; &#36; &amp;",
    "</div><script>alert(1)</script><s>",
    "https://example.org www.example.org a@example.org",
    "a -> b <- c <-> d -- e >= f <= g ~= h",
    "back\\slash \\* \\",
    "two  spaces, and one at the end ",
    "line\nline\n\nline\n",
    "\ttab",
    "---",
    "===",
    "```python",
    "☃ 😃 é שָׁלוֹם",
    "",
]


def seen(tokens):
    """The text a reader sees, and the kinds of Markdown that were found on the way."""
    text, kinds = "", set()
    for token in tokens:
        kinds.add(token.type)
        if token.type == "inline":
            inner, more = seen(token.children)
            text, kinds = text + inner, kinds | more
        elif token.type in ("hardbreak", "softbreak"):
            text += "\n"
        else:
            text += token.content
    return text, kinds


def as_read(text):
    """What may differ: kinds of line end, no-break spaces for spaces, invisible joiners; NUL is no text in Markdown."""
    return re.sub(r"\r\n?", "\n", text).replace("\xa0", " ").replace("\u2060", "").replace("\0", "\ufffd")


@pytest.mark.parametrize("text", AWKWARD)
def test_awkward_text_is_shown_as_typed(text):
    check_markdown(text)


@given(st.text(st.one_of(st.sampled_from(" \n\t#*_`$:[]()<>&;!~|\\-+.=@/wxa1"), st.characters(codec="utf-8"))))
@example("www.a.b\n\n    x")
def test_any_text_is_shown_as_typed(text):
    check_markdown(text)


def check_markdown(text):
    # Streamlit strips what it is given before it reads it.
    read = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown_text(text).strip())
    shown, kinds = seen(read)
    assert as_read(shown) == as_read(text)
    assert kinds <= {"paragraph_open", "paragraph_close", "inline", "text", "text_special", "hardbreak"}


# What Streamlit's page does to text once the Markdown is read (its own and its plugins' patterns).
REWRITTEN = [
    r":\+1:|:-1:|:[\w-]+:",
    r":material_(\w+):",
    r":streamlit:",
    r"(https?://|www(?=\.))([-.\w]+)",
    r"(?<![-.\w+])[-.\w+]+@[-\w]+(\.[-\w]+)+",
    r"(^|\s)(<->|->|<-|--|>=|<=|~=)(\s|$)",
]


@given(st.text(st.sampled_from(" :+-1sawhtp/.@<>=~_\n"), max_size=30))
@pytest.mark.parametrize("pattern", REWRITTEN)
def test_nothing_is_left_for_later_rewriting(pattern, text):
    shown, _ = seen(MarkdownIt().parse(markdown_text(text)))
    assert not re.search(pattern, shown.replace("\xa0", " "), re.IGNORECASE | re.ASCII)


def test_no_icon_is_left_in_the_source():
    # Streamlit replaces this one before it reads the Markdown.
    assert ":material/" not in markdown_text(":material/home: a:material/home:")


@given(st.text())
def test_plotly_text_has_no_tag_left_and_reads_back(text):
    escaped = plotly_text(text)
    assert not set("<>$") & set(escaped)
    assert re.sub(r"&(amp|lt|gt|#36);", lambda found: html.unescape(found[0]), escaped) == text
