"""Edits of rows between the lookup and the model: named, repeatable, and always on a copy.

An edit is written `POSITION:OPERATION`, positions from 0:

    3:scale=0.5              the row times 0.5
    3:swap=" Germany"        another token's row in its place
    3:slide=" Germany"@0.65  65 % of the way to another token's row, in a straight line
    3:noise=0.1@7            plus a random direction of 0.1 times the row's length, seed 7
    3:zero                   a row of zeros
    3:mean                   the mean of all rows of the table
    3:shuffle@7              its coordinates in another order: torch.randperm with seed 7
    3:paste=0.1,-2,0.3       these numbers in its place, as many as a row has (commas, spaces, lines or a JSON list)

Several edits of one position are done in their order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embedviz.errors import BadInput
from embedviz.meaning import one_token
from embedviz.numbers import count, things
from embedviz.table import Vectors
from embedviz.tokens import Tokens, visible_line

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel

Row = NDArray[np.float64]

OPERATIONS = ("scale", "swap", "slide", "noise", "zero", "mean", "shuffle", "paste")
# Models square their coordinates in float32, whose largest number is 3.4e38.
LARGEST = 1e15

_HOW = (
    'such as 3:scale=0.5, 3:swap=" money", 3:slide=" money"@0.25, 3:noise=0.1@7, 3:zero, 3:mean, 3:shuffle@7 '
    "or 3:paste=NUMBERS"
)


@dataclass(frozen=True)
class Edit:
    """One edit of one row.

    position: of the token, from 0. operation: one of OPERATIONS. value: the factor, the share of the way, or the size
    of the noise relative to the row's length. target: the text of the token to swap with or slide to. seed: of noise
    and shuffle. values: the numbers to paste.
    """

    position: int
    operation: str
    value: float = 1.0
    target: str = ""
    seed: int = 0
    values: tuple[float, ...] = ()


def read_edit(written: str) -> Edit:
    """Read `POSITION:OPERATION`. Raises BadInput with the forms there are."""
    found = re.fullmatch(r"\s*(\d{1,9})\s*:\s*([a-z]+)\s*(.*)", written, re.DOTALL | re.ASCII)
    if not found or found[2] not in OPERATIONS:
        raise BadInput(f"{visible_line(written) or 'An empty edit'} is no edit: write POSITION:OPERATION, {_HOW}.")
    position, operation, rest = int(found[1]), found[2], found[3]
    if operation in ("zero", "mean") and not rest:
        return Edit(position, operation)
    if operation == "shuffle" and (seed := re.fullmatch(r"@(\d+)", rest, re.ASCII)):
        return Edit(position, operation, seed=_seed(seed[1]))
    if operation == "swap" and len(rest) > 1 and rest[0] == "=":
        return Edit(position, operation, target=_unquoted(rest[1:]))
    if operation == "scale" and rest[:1] == "=":
        return Edit(position, operation, _number(rest[1:], written))
    if operation == "slide" and (way := re.fullmatch(r"=(.+)@([^@]+)", rest, re.DOTALL)):
        return Edit(position, operation, _number(way[2], written), _unquoted(way[1]))
    if operation == "noise" and (noise := re.fullmatch(r"=([^@]+)@(\d+)", rest, re.ASCII)):
        return Edit(position, operation, _number(noise[1], written), seed=_seed(noise[2]))
    if operation == "paste" and rest[:1] == "=":
        return Edit(position, operation, values=read_numbers(rest[1:]))
    raise BadInput(f"{visible_line(written)} is no whole edit: write POSITION:OPERATION, {_HOW}.")


def written(edit: Edit) -> str:
    """The edit as `read_edit` reads it: for addresses and the command line."""
    said = {
        "scale": f"={edit.value!r}",
        "swap": f'="{edit.target}"',
        "slide": f'="{edit.target}"@{edit.value!r}',
        "noise": f"={edit.value!r}@{edit.seed}",
        "shuffle": f"@{edit.seed}",
        "paste": f"={','.join(map(repr, edit.values))}",
    }
    return f"{edit.position}:{edit.operation}{said.get(edit.operation, '')}"


def read_numbers(typed: str) -> tuple[float, ...]:
    """Numbers parted by commas, semicolons, spaces or lines, in brackets or not. Raises BadInput for what is none."""
    parts = re.split(r"[\s,;]+", typed.strip().removeprefix("[").removesuffix("]").strip())
    if parts == [""]:
        raise BadInput("No numbers were pasted: paste as many as a row has.")
    try:
        return tuple(map(float, parts))
    except ValueError as error:
        wrong = str(error).rpartition(": ")[2]
        raise BadInput(f"{visible_line(wrong)[:60]} is no number: paste numbers parted by commas or spaces.") from None


_ARE = ("is not a number", "are not numbers")


def _number(written: str, whole: str) -> float:
    try:
        value = float(written)
    except ValueError:
        raise BadInput(f"{visible_line(written)} is no number, in the edit {visible_line(whole)}.") from None
    if not np.isfinite(value):
        raise BadInput(f"{visible_line(written)} is no number to edit with, in {visible_line(whole)}.")
    return value


def _seed(written: str) -> int:
    # Python itself refuses to read numbers of thousands of digits.
    if len(written) > 19 or int(written) >= 2**63:
        raise BadInput(f"A seed is a number below {2**63}; {visible_line(written)[:40]} was given.")
    return int(written)


def _unquoted(written: str) -> str:
    quoted = len(written) > 1 and written[0] == written[-1] and written[0] in "\"'"
    return written[1:-1] if quoted else written


def edited(model: LanguageModel, tokens: Tokens, edits: Sequence[Edit]) -> Vectors:
    """The rows of a text with edits done: (token, dimension), a new array; the table stays as it is.

    Raises BadInput for a position the text does not have, a target that is not one token, and for numbers too large to
    compute with.
    """
    rows = model.rows(tokens)
    for edit in edits:
        if edit.position >= len(tokens):
            raise BadInput(f"Positions run from 0 to {len(tokens) - 1}.")
        # In float64, so that what is too large is seen as that, and not as infinite.
        with np.errstate(over="ignore", invalid="ignore"):
            row = _edited_row(model, rows[edit.position].astype(np.float64), edit)
        if wrong := int((~np.isfinite(row)).sum()):
            raise BadInput(f"That vector has {things(wrong, 'value')} that {_ARE[wrong > 1]}. Not run.")
        if np.abs(row).max() > LARGEST:
            raise BadInput(f"Values above {LARGEST:.0e} break the sum. Not run.")
        rows[edit.position] = row
    return rows


def _edited_row(model: LanguageModel, row: Row, edit: Edit) -> Row:
    import torch

    if edit.operation == "scale":
        return row * edit.value
    if edit.operation == "zero":
        return np.zeros_like(row)
    if edit.operation == "mean":
        return model.table.mean_row
    if edit.operation == "paste":
        if len(edit.values) != len(row):
            raise BadInput(f"A row has {count(len(row))} numbers; {count(len(edit.values))} were pasted. Not run.")
        return np.array(edit.values)
    if edit.operation == "shuffle":
        order = torch.randperm(len(row), generator=torch.Generator().manual_seed(edit.seed))
        return row[order.numpy()]
    if edit.operation == "noise":
        direction = torch.randn(len(row), generator=torch.Generator().manual_seed(edit.seed)).numpy()
        return row + direction * (edit.value * np.linalg.norm(row) / np.linalg.norm(direction))
    target = one_token(model, edit.target).vector.astype(np.float64)
    return target if edit.operation == "swap" else (1 - edit.value) * row + edit.value * target
