"""The table page's opening pair: a row beside other rows, and its cosines with all rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from embedviz.figures.strips import SIGNS, drawn_lines, strips_of
from embedviz.figures.style import CODE_FONT, GREY, INK, RAIL, Sizes, cut, figure, hide_axis, note, ring
from embedviz.numbers import count, decimal
from embedviz.safe_text import plotly_text
from embedviz.table_view import BINS, LONGEST_NAME, Group, Line, TableView, cells, order_sentence
from embedviz.tokens import visible_line

# A strip is 1 wide; labels and ids stand left of it, cosines right of it.
LABELS, LABELS_PROJECTOR, COSINES = 0.46, 0.62, 0.13
# Pixels that the right figure has at least, side by side at 1280.
NARROWEST = 420
HEADINGS: dict[Group, str] = {
    "chosen": "", "nearest": "nearest rows", "next": "ids beside it", "listed": "rows compared"
}  # fmt: skip


def rows(
    view: TableView, size: Sizes, *, projector: bool, by_value: bool, old: bool = False, ringed: int | None = None
) -> go.Figure:
    """The chosen row and those beside it, one strip each.

    old: whether the title must say what it is for. ringed: the place of a line of the view to put a frame round.

    The figure is as high as the pair, higher where a long list needs it.
    """
    places = drawn_lines(view, projector)
    z, coordinates = cells(view, places, by_value=by_value)
    lines = [view.lines[k] for k in places]
    centres, headings, bottom = _heights(lines)
    said = order_sentence(view, coordinates, by_value=by_value)
    under = (size.text + 6) * len(said) + 10
    height = max(size.pair, round(-bottom * size.text * 1.5) + size.top + under)
    label = cut(view.chosen.label, LONGEST_NAME)
    title = f"rows, sorted by {label}" if by_value else "rows, in the table's order"
    title += f" (for: {visible_line(view.typed, LONGEST_NAME)})" if old else ""
    title += f"; {SIGNS}"
    made = figure(size, height, plotly_text(title), [strips_of(z, centres)])
    left = LABELS_PROJECTOR if projector else LABELS
    room = 11 if projector else 15
    font = min(size.token, size.text + 2)
    made.add_scatter(
        x=[-left] * len(lines), y=centres, mode="text", textposition="middle right", hoverinfo="skip",
        text=[plotly_text(cut(line.label, room)) for line in lines],
        textfont={"size": font, "family": CODE_FONT, "color": INK,
                  "weight": [800 if line.group == "chosen" else 500 for line in lines]},
    )  # fmt: skip
    numbered = [k for k, line in enumerate(lines) if line.id is not None]
    made.add_scatter(
        x=[-0.015] * len(numbered), y=[centres[k] for k in numbered], mode="text", textposition="middle left",
        text=[f"id {lines[k].id}" for k in numbered], hoverinfo="skip",
        textfont={"size": size.text, "family": CODE_FONT, "color": INK},
    )  # fmt: skip
    made.add_scatter(
        x=[-left] * len(headings), y=[y for y, _ in headings], mode="text", textposition="middle right",
        text=[text for _, text in headings], hoverinfo="skip", textfont={"size": size.text, "color": INK},
    )  # fmt: skip
    made.add_scatter(
        x=[1 + COSINES - 0.01] * len(lines), y=centres, mode="text", textposition="middle left", hoverinfo="skip",
        text=[f"<b>{decimal(line.cosine)}</b>" for line in lines], textfont={"size": size.value, "color": INK},
    )  # fmt: skip
    if ringed in places:
        low, high = (centres[places.index(ringed)] + side for side in (-0.47, 0.47))
        made.add_scatter(
            x=[0, 1, 1, 0, 0], y=[low, low, high, high, low], mode="lines", hoverinfo="skip", name="ring",
            line={"color": INK, "width": size.line},
        )  # fmt: skip
    note(made, "cosine", size, x=1, y=1, anchor=("right", "bottom"), shift=6)
    note(made, plotly_text("\n".join(said)).replace("\n", "<br>"), size, x=0, y=0, anchor=("left", "top"), shift=-4)
    made.update_layout(margin={"b": under})
    made.update_xaxes(range=[-left - 0.005, 1 + COSINES], **hide_axis())
    made.update_yaxes(range=[bottom, 0], **hide_axis())
    return made


def _heights(lines: Sequence[Line]) -> tuple[list[float], list[tuple[float, str]], float]:
    """Where each line stands, where the headings, and the lower end; a line is 1 high, the top is 0."""
    centres, headings, y, before = list[float](), list[tuple[float, str]](), 0.0, "chosen"
    for line in lines:
        if line.group != before:
            headings.append((y - 0.4, HEADINGS[line.group]))
            y, before = y - 0.75, line.group
        centres.append(y - 0.5)
        y -= 1
    return centres, headings, y


def cosines(view: TableView, size: Sizes, *, projector: bool, ringed: int | None = None) -> go.Figure:
    """How alike the chosen row is to every row: a filled histogram, the mean, and marks for the rows beside it.

    ringed: the place of a line of the view whose mark is ringed.
    """
    edges = np.linspace(-1, 1, BINS + 1)
    filled = np.flatnonzero(view.counts)
    first = int(filled[0]) if len(filled) else 0
    top = float(view.counts.max()) or 1.0
    room = 20 if projector else 24
    title = f"{cut(view.chosen.label, room)} and all {count(view.table_rows)} rows"
    made = figure(size, size.pair, plotly_text(title))
    made.add_scatter(
        x=np.round((edges[:-1] + edges[1:]) / 2, 3)[first:], y=view.counts[first:], mode="lines", fill="tozeroy",
        fillcolor=RAIL, line={"color": INK, "width": 1, "shape": "hvh"}, hoverinfo="skip",
    )  # fmt: skip
    mean = view.baseline.mean
    made.add_scatter(
        x=[mean, mean], y=[-0.02 * top, 1.1 * top], mode="lines", hoverinfo="skip",
        line={"color": INK, "width": size.line, "dash": "dot"},
    )  # fmt: skip
    made.add_scatter(
        x=[mean], y=[1.16 * top], mode="text", text=[f"random row <b>{decimal(mean)}</b>"], hoverinfo="skip",
        textposition="middle right" if mean < 0.5 else "middle left", textfont={"size": size.value, "color": INK},
    )  # fmt: skip
    shown = [view.lines[k] for k in drawn_lines(view, projector)]
    lanes: list[tuple[Group, str, str]] = [
        ("nearest", "circle", "nearest"), ("listed", "circle", "compared"), ("next", "diamond", "ids beside it")
    ]  # fmt: skip
    y = -0.12 * top
    low = min(float(edges[first]), -0.05, *(line.cosine for line in shown if np.isfinite(line.cosine))) - 0.03
    for group, symbol, name in lanes:
        values = [round(line.cosine, 4) for line in shown if line.group == group and np.isfinite(line.cosine)]
        if not values:
            continue
        made.add_scatter(
            x=values, y=[y] * len(values), mode="markers", hoverinfo="skip",
            marker={"symbol": symbol, "size": size.marker, "color": INK if symbol == "circle" else GREY,
                    "line": {"width": 1, "color": INK}, "opacity": 0.9},
        )  # fmt: skip
        # The name stands on the side with more room, and the plot grows where that is not enough.
        right = 1.06 - max(values) > min(values) - low
        needed = 0.05 + len(name) * size.text * 0.6 / NARROWEST * (1.06 - low)
        low = low if right else min(low, min(values) - needed)
        if ringed is not None and view.lines[ringed].group == group and np.isfinite(view.lines[ringed].cosine):
            ring(made, round(view.lines[ringed].cosine, 4), y, size)
        made.add_scatter(
            x=[max(values) + 0.05 if right else min(values) - 0.05], y=[y], mode="text", text=[name], hoverinfo="skip",
            textposition="middle right" if right else "middle left", textfont={"size": size.text, "color": INK},
        )  # fmt: skip
        y -= 0.13 * top
    _cosine_ticks(made, size, [round(low, 3), 1.06])
    made.update_yaxes(range=[y, 1.25 * top], **hide_axis())
    made.update_layout(margin={"b": size.text + 14})
    return made


def _cosine_ticks(made: go.Figure, size: Sizes, ends: list[float]) -> None:
    ticks = [value for value in (-1.0, -0.5, 0.0, 0.5, 1.0) if ends[0] <= value <= ends[1]]
    made.update_xaxes(
        range=ends, tickvals=ticks, ticktext=[decimal(value) for value in ticks], fixedrange=True, showgrid=False,
        zeroline=False, tickfont={"size": size.text, "color": INK},
    )  # fmt: skip


def rows_alt(view: TableView) -> str:
    """The takeaway of the left figure."""
    near, following, listed = (view.group(name) for name in ("nearest", "next", "listed"))
    label = view.chosen.label
    if listed:
        return f"{label} beside {count(len(listed))} rows, cosine {_span(listed)}."
    said = f"{label} beside its {len(near)} nearest rows, cosine {_span(near)}"
    return said + (f", and the rows with the next ids, {_span(following)}." if following else ".")


def _span(lines: Sequence[Line]) -> str:
    values = sorted((line.cosine for line in lines if np.isfinite(line.cosine)), reverse=True)
    return f"{decimal(values[0])} to {decimal(values[-1])}" if values else "undefined"


def cosines_alt(view: TableView) -> str:
    """The takeaway of the right figure."""
    base, near = view.baseline, view.group("nearest") or view.group("listed")
    best = f", nearest {decimal(near[0].cosine)}" if near else ""
    return (
        f"Cosine of {view.chosen.label} with all rows: mean {decimal(base.mean)}, 99 of 100 below "
        f"{decimal(base.quantile)}{best}."
    )
