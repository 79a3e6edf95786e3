"""How a file writes its characters: UTF-8, UTF-16, or Windows-1252, told from its bytes."""

from __future__ import annotations

import codecs
import re

from embedviz.errors import BadInput

# So much is decoded at a time: a check of 100 MB needs no second copy of them.
CHUNK = 1 << 18
# Text holds no control characters but tab, line breaks, page break and the old marks of end and escape.
_CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\v\f\r\x1a\x1b")


def encoding_of(data: bytes) -> tuple[str, tuple[str, ...]]:
    """The encoding of a file by Python's name, and a note where it is a guess. Raises BadInput for no text."""
    if re.fullmatch(rb"(\xef\xbb\xbf)?\s*", data):
        raise BadInput("the file is empty.")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        if undecodable(data, "utf-16") is None:
            return "utf-16", ()
        raise BadInput("the file begins as UTF-16 and is damaged: save it as UTF-8.")
    if data.startswith(b"PK\x03\x04"):
        raise BadInput("this is a workbook or another archive, not text: save it as CSV.")
    if b"\0" in data:
        return _utf16_without_mark(data), ("The file was read as UTF-16, which it does not say of itself.",)
    wrong = undecodable(data, "utf-8")
    if wrong is None:
        return "utf-8-sig", ()
    if undecodable(data, "cp1252") is not None or len(data.translate(None, _CONTROLS)) < len(data):
        raise BadInput("this is not text in UTF-8, UTF-16 or Windows-1252: save it as UTF-8.")
    line = 1 + sum(1 for _ in re.finditer(rb"\r\n|\r|\n", data[:wrong]))
    return "cp1252", (
        f"The file is not UTF-8 (see line {line}) and was read as Windows-1252 (cp1252): check letters with accents.",
    )


def _utf16_without_mark(data: bytes) -> str:
    """Which UTF-16 it is, from where the zeros stand: English text has one in every other place."""
    head = data[: 1 << 16]
    zeros = {"utf-16-be": head[::2].count(0), "utf-16-le": head[1::2].count(0)}
    most, least = max(zeros, key=zeros.__getitem__), min(zeros.values())
    if zeros[most] * 10 < len(head) or least * 20 > zeros[most] or undecodable(data, most) is not None:
        raise BadInput("this is not text, since it holds bytes of zero: save it as UTF-8.")
    return most


def undecodable(data: bytes, encoding: str) -> int | None:
    """Where the first byte stands that an encoding cannot read; None where it reads them all."""
    decoder = codecs.getincrementaldecoder(encoding)()
    for start in range(0, len(data), CHUNK):
        held = len(decoder.getstate()[0])
        try:
            decoder.decode(data[start : start + CHUNK], final=start + CHUNK >= len(data))
        except UnicodeDecodeError as error:
            return start - held + error.start
    return None
