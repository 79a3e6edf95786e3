"""A person's text in places that read Markdown or Plotly's small HTML: it must appear as it was typed.

Whitespace is another matter: browsers draw runs of it as one space. Where it counts, `tokens.visible` puts its marks
in first.
"""

from __future__ import annotations

import html
import re

# Streamlit rewrites some text after the Markdown is read, where no backslash helps: `:smile:`, `->`, addresses that
# become links. An invisible character that forbids a line break (U+2060) inside each keeps it what it was.
_WORD_JOINER = "\u2060"
_REWRITTEN = re.compile(
    r":(?=[\w+-]+:|material/|//)"  # :smile:  :material_home:  :material/home:  https://
    r"|(?<=[\w.+-])@(?=[\w-])"  # a@b.c
    r"|www(?=\.)"
    r"|<(?=->|-|=)|-(?=>|-)|>(?==)|~(?==)",  # <->  ->  <-  --  >=  <=  ~=
    re.ASCII | re.IGNORECASE,
)
# What means something anywhere, and what does at the start of a line (lists, headings, quotations, rules).
_MEANT = re.compile(r"[\\`*_\[\]{}<&~|$:^]|^\d*[-+=>#.)]")
# Markdown drops spaces at the ends of a line and reads four of them as code; a browser merges runs.
_SPACES = re.compile(r"^ +| +$| {2,}|\t")


def markdown_text(text: str) -> str:
    """Escape a text so that Markdown, in a message as in a label, shows it as it is.

    Line breaks stay in messages; a label has one line and drops them.
    """
    return "\\\n".join(_markdown_line(line) for line in re.split(r"\r\n|\r|\n", text))


def markdown_message(text: str) -> str:
    """Escape a sentence of ours, leaving what stands between backticks as code: a command must stay copyable."""
    parts = re.split(r"`([^`\n]+)`", text)
    return "".join(f"`{part}`" if k % 2 else markdown_text(part) if part else "" for k, part in enumerate(parts))


def _markdown_line(line: str) -> str:
    joined = _REWRITTEN.sub(lambda found: found[0] + _WORD_JOINER, line)
    escaped = _MEANT.sub(lambda found: f"{found[0][:-1]}\\{found[0][-1]}", joined)
    spaced = _SPACES.sub(lambda found: "&#9;" if found[0] == "\t" else "&nbsp;" * len(found[0]), escaped)
    # Other whitespace at an end (and an empty line) would be stripped before the Markdown is read.
    return spaced if spaced and spaced == spaced.strip() else f"&#{ord(_WORD_JOINER)};{spaced}&#{ord(_WORD_JOINER)};"


def plotly_text(text: str) -> str:
    """Escape a text for Plotly's labels, titles and hover boxes, which read `<b>`, `&lt;` and, with MathJax, `$…$`.

    Not for templates (`%{…}` is read there) nor for the text of `scattergl`, which shows entities as they are.
    """
    return html.escape(text, quote=False).replace("$", "&#36;")
