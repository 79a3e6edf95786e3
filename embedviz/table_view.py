"""One row of the table beside others: its nearest rows and the rows with the next ids, or a person's own list.

The result holds no torch, so the built-in example can be stored with the project and shown before any model has loaded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from embedviz.axes import list_notes, read_words
from embedviz.comparison import Baseline, Metric, compare
from embedviz.geometry import cosine
from embedviz.id_order import next_ids
from embedviz.meaning import Meaning, meaning, notes_of, word
from embedviz.neighbours import Neighbours, nearest
from embedviz.numbers import coordinate, count, decimal, length, told_apart
from embedviz.table import EmbeddingTable, Vectors
from embedviz.vocabulary_search import entry_list, is_id, search

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel

STORED = Path(__file__).parent / "data" / "table.npz"
EXAMPLE = "␣bank"
GROUPS_OF_CELLS = 24
# Bins of the histogram of cosines, from −1 to 1.
BINS = 100
NEAREST, NEXT = 5, 3
# Letters of a label that the line under the strips has room for, on a projector too.
LONGEST_NAME = 16
MEAN_OF_PIECES = "A mean of pieces is not the word's meaning; its neighbours can be chance."

Group = Literal["chosen", "nearest", "next", "listed"]


@dataclass(frozen=True)
class Line:
    """One row beside the chosen one. id: None for the mean of several rows. rank: in its group, 1 is the closest."""

    group: Group
    rank: int
    id: int | None
    label: str
    cosine: float
    length: float


@dataclass(frozen=True, eq=False)
class TableView:
    """A row and those beside it.

    typed: what was asked for. lines: the chosen row first, then its group or groups.
    rows: (line, dimension) float32, the rows themselves.
    counts: (bin,) of the chosen row's cosine with every row, `BINS` equal bins from −1 to 1.
    baseline: of these cosines. table_rows: number of rows of the table.
    left_out: what has no place among the nearest, as a sentence. notes: one sentence for each thing a reader must know.
    """

    model: str
    title: str
    typed: str
    lines: tuple[Line, ...]
    rows: Vectors
    counts: NDArray[np.int64]
    baseline: Baseline
    table_rows: int
    left_out: str
    notes: tuple[str, ...]

    @property
    def chosen(self) -> Line:
        """The row that all others stand beside."""
        return self.lines[0]

    @property
    def dimensions(self) -> int:
        """Number of coordinates of a row."""
        return int(self.rows.shape[1])

    def group(self, name: Group) -> tuple[Line, ...]:
        """The lines of one group."""
        return tuple(line for line in self.lines if line.group == name)

    def shown(self, most_nearest: int, most_next: int, most_listed: int) -> tuple[int, ...]:
        """Places of the lines that a figure of limited height shows; the closest ids stay in the order of the ids."""
        most = {"chosen": 1, "nearest": most_nearest, "next": most_next, "listed": most_listed}
        return tuple(k for k, line in enumerate(self.lines) if line.rank <= most[line.group])

    @property
    def sentence(self) -> str:
        """The numbers that the claim rests on, and the word that it fails where it does."""
        near, following = self.group("nearest")[:1], sorted(self.group("next"), key=lambda one: one.rank)[:1]
        written = [decimal(one.cosine) for one in (*near, *following)]
        if near and following:
            written = [*told_apart(near[0].cosine, following[0].cosine)]
        said = [f"nearest row {one.label} {written[0]}" for one in near]
        said += [f"next id {one.label} {written[-1]}" for one in following]
        listed = self.group("listed")
        said += [f"{one.label} {decimal(one.cosine)}" for one in listed[:3]]
        name = self.chosen.label if self.chosen.id is None else f"{self.chosen.label}, id {self.chosen.id}"
        told = f"{name}: {'; '.join([*said, f'a random row {decimal(self.baseline.mean)}'])}."
        if near and following and following[0].cosine >= near[0].cosine:
            told += f" Not in this case: {written[0]} against {written[1]}."
        return told


def view(model: LanguageModel, typed: str) -> TableView:
    """What the page shows for a typed text: one token, one id (`#5461` or a number), or several words.

    `read` says which. Of a list, the first word stands beside the others. Raises BadInput for an empty text, an id out
    of range, and a row without length.
    """
    asked = read(model, typed)
    words, chosen, listed = asked.words, asked.words[0], len(asked.words) > 1
    notes = [*asked.notes, *notes_of(words)]
    if chosen.pieces and not listed:
        notes = [" ".join([*notes, MEAN_OF_PIECES, *_nothing_contains(model, chosen.typed, chosen)])]
    elif any(one.pieces for one in words):
        notes[-1] += f" {MEAN_OF_PIECES}"
    table, vocabulary = model.table, model.vocabulary
    compared = compare(table, chosen.vector)
    found = nearest(compared, vocabulary, top=NEAREST, inputs=chosen.ids)
    lines, rows = [_line("chosen", 1, chosen, chosen)], [chosen.vector]
    if listed:
        lines += [_line("listed", rank, one, chosen) for rank, one in enumerate(words[1:], start=1)]
        rows += [one.vector for one in words[1:]]
    else:
        beside: list[tuple[Group, int, int, str, float]] = [
            ("nearest", one.rank, one.entry.id, one.entry.label, one.value) for one in found.nearest
        ]
        if len(chosen.ids) == 1:
            closest = next_ids(table, vocabulary, chosen.ids[0], most=NEXT)
            beside += [("next", one.rank, one.entry.id, one.entry.label, one.value) for one in closest]
        for group, rank, id, label, value in beside:
            lines.append(Line(group, rank, id, label, value, float(table.lengths[id])))
            rows.append(table.values[id])
    cosines = compared.values("cosine")
    counts, _ = np.histogram(cosines[np.isfinite(cosines)], bins=BINS, range=(-1, 1))
    return TableView(
        model=model.spec.name,
        title=model.spec.title,
        typed=typed,
        lines=tuple(lines),
        rows=np.stack(rows),
        counts=counts.astype(np.int64),
        baseline=compared.baseline("cosine"),
        table_rows=table.rows,
        left_out=found.left_out.sentence,
        notes=tuple(dict.fromkeys(notes)),
    )


@dataclass(frozen=True, eq=False)
class Asked:
    """What was typed: one thing, or the words of a list. notes: how it was read, where that is not plain."""

    words: tuple[Meaning, ...]
    notes: tuple[str, ...] = ()


def read(model: LanguageModel, typed: str) -> Asked:
    """Read a typed text: an entry's own text, an id, a text in quotes, a list of words, or else a text.

    Commas, semicolons, tabs, line breaks and spaces between words make a list. A mark `␣` is a space. Raises BadInput
    for an empty text and an id out of range.
    """
    text = typed.replace("␣", " ")
    known = entry_list(model.vocabulary).by_text
    if text in known or is_id(model.vocabulary, text):
        return Asked((meaning(model, text),))
    if quoted := re.fullmatch(r'\s*["“](.+)["”]\s*', text, re.DOTALL):
        return Asked((meaning(model, quoted[1]),))
    apart = re.search(r"[,;\t\n]", text)
    if not any(map(str.isalnum, text)) or not (apart or len(text.split()) > 1):
        single = text.rstrip() if text.rstrip() in known else text
        return Asked((meaning(model, single),))
    listed, _ = read_words(text)
    notes = list_notes(text, len(listed), "read")
    if not apart and len(listed) > 1:
        notes = (*notes, f"Read as a list of {count(len(listed))} words; in quotes it is one text.")
    return Asked(tuple(word(model, one) for one in listed), notes)


def _nothing_contains(model: LanguageModel, text: str, chosen: Meaning) -> list[str]:
    """Say that no token holds the text, with the nearest spelling, where it is several pieces for that reason."""
    if len(chosen.ids) == 1 or len(text.split()) > 1:
        return []
    hits = search(model.vocabulary, text, most=1)
    return [] if hits.total else [hits.sentence]


def _line(group: Group, rank: int, one: Meaning, chosen: Meaning) -> Line:
    return Line(
        group,
        rank,
        one.ids[0] if len(one.ids) == 1 else None,
        one.label,
        1.0 if one is chosen else float(cosine(one.vector, chosen.vector)),
        float(np.linalg.norm(one.vector)),
    )


def cells(view: TableView, places: Sequence[int], *, by_value: bool) -> tuple[NDArray[np.float64], float]:
    """(line, cell) numbers to colour, and how many coordinates a cell is the mean of.

    by_value: coordinates sorted by the chosen row, largest first, then averaged in `GROUPS_OF_CELLS` groups; else each
    coordinate by itself in the table's own order.
    """
    rows = view.rows[list(places)].astype(np.float64)
    if not by_value:
        return rows, 1.0
    order = np.argsort(-view.rows[0], kind="stable")
    groups = np.array_split(order, min(GROUPS_OF_CELLS, len(order)))
    return np.stack([rows[:, group].mean(axis=1) for group in groups], axis=1), len(order) / len(groups)


def order_sentence(view: TableView, coordinates: float, *, by_value: bool) -> tuple[str, ...]:
    """What the cells are, as lines of text."""
    if not by_value:
        return (f"In the table's own order, each cell one of {count(view.dimensions)} numbers.",)
    label = view.chosen.label
    label = label if len(label) <= LONGEST_NAME else label[: LONGEST_NAME - 1] + "…"
    mean = f"{coordinates:.0f}" if coordinates == round(coordinates) else f"about {coordinates:.0f}"
    cell = "one coordinate" if coordinates == 1 else f"the mean of {mean} coordinates"
    return (
        f"Sorted by {label}, each cell {cell}.",
        f"{label} is smooth by construction; another row only if it is alike.",
    )


def largest(view: TableView, place: int = 0, most: int = 5) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The coordinates of a line with the highest and with the lowest values, farthest first."""
    order = np.argsort(view.rows[place], kind="stable")
    return tuple(order[::-1][:most].tolist()), tuple(order[:most].tolist())


def largest_sentence(view: TableView, place: int = 0, most: int = 5) -> str:
    """A line's length and its largest coordinates each way."""
    line, row = view.lines[place], view.rows[place]
    high, low = largest(view, place, most)
    parts = [", ".join(f"{k}: {coordinate(float(row[k]))}" for k in side) for side in (high, low)]
    return f"{line.label}: length {length(line.length)}. Highest coordinates {parts[0]}. Lowest {parts[1]}."


def measures_sentence(table: EmbeddingTable, lists: Mapping[Metric, Neighbours]) -> str:
    """How the nearest rows by dot product and by cosine differ in length; empty without rows."""
    found = [[one.entry.id for one in lists[metric].nearest] for metric in ("dot", "cosine")]
    if not all(found):
        return ""
    by_dot, by_cosine = (float(table.lengths[ids].mean()) for ids in found)
    a, b = length(by_dot), length(by_cosine)
    if by_dot <= by_cosine or a == b:
        return f"The dot product can favour long rows. Not in this case: mean length {a} against {b} by cosine."
    return f"The dot product favours long rows: its nearest have mean length {a}, those by cosine {b}."


def place_sentence(view: TableView) -> str:
    """Where the chosen row stands in the table."""
    line, rows = view.chosen, count(view.table_rows)
    if line.id is None:
        return f"{line.label} is no single row of the {rows}."
    return f"Row {line.id} of {rows}, counted from 0."


def save(view: TableView, path: Path) -> None:
    """Keep a view as one NPZ file without pickles: the arrays as they are, everything else as JSON text."""
    others = {name: value for name, value in vars(view).items() if name not in ("rows", "counts")}
    others |= {"lines": [asdict(line) for line in view.lines], "baseline": asdict(view.baseline)}
    np.savez_compressed(path, allow_pickle=False, json=np.array(json.dumps(others)), rows=view.rows, counts=view.counts)


def restore(path: Path = STORED) -> TableView:
    """Read a view that `save` wrote; by default the built-in example, as the bundled model gave it."""
    with np.load(path, allow_pickle=False) as stored:
        others = json.loads(str(stored["json"]))
        others |= {
            "lines": tuple(Line(**line) for line in others["lines"]),
            "baseline": Baseline(**others["baseline"]),
            "notes": tuple(others["notes"]),
        }
        return TableView(rows=stored["rows"], counts=stored["counts"], **others)


def store_example() -> None:
    """Write the built-in example anew, from the bundled model (`python -m embedviz.table_view`)."""
    from embedviz.models.load import load

    save(view(load("smollm2-135m"), EXAMPLE), STORED)


if __name__ == "__main__":
    store_example()
