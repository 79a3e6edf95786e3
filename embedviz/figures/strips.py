"""Rows of the table as strips: all their numbers, a few of them magnified, and a row's place in the table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from embedviz.figures.style import CODE_FONT, INK, RAIL, Sizes, cut, figure, hide_axis
from embedviz.numbers import coordinate, count
from embedviz.safe_text import plotly_text
from embedviz.table_view import Line, TableView, cells

ROW = 0.72
# What the two ends of the strips' colours mean, in light and dark alike.
SIGNS = "brown +, teal −"


def drawn_lines(view: TableView, projector: bool) -> tuple[int, ...]:
    """Places of the lines that the opening picture shows."""
    return view.shown(2, 2, 8) if projector else view.shown(3, 3, 59)


def strips_of(z: NDArray[np.float64], centres: Sequence[float]) -> go.Heatmap:
    """Strips from 0 to 1, each at its height, with lines of nothing between; one range of colour for all."""
    number, width = z.shape
    spaced = np.full((2 * number - 1, width), np.nan)
    spaced[::2] = np.round(z, 4)
    edges = [round(centre + side, 4) for centre in reversed(centres) for side in (-ROW / 2, ROW / 2)]
    limit = float(np.abs(z).max()) or 1.0
    return go.Heatmap(
        z=spaced[::-1], x=np.round(np.linspace(0, 1, width + 1), 5), y=edges, zmin=-limit, zmax=limit, zmid=0,
        autocolorscale=True, showscale=False, hoverinfo="skip",
    )  # fmt: skip


def strips(view: TableView, size: Sizes, *, projector: bool, first: int, number: int) -> go.Figure:
    """Every coordinate of the rows shown, in the table's order; a frame round those under the magnifier."""
    places = drawn_lines(view, projector)[:9]
    z, _ = cells(view, places, by_value=False)
    lines, dimensions = [view.lines[k] for k in places], view.dimensions
    centres = [-k - 0.5 for k in range(len(lines))]
    height = size.top + len(lines) * (size.text + 22) + size.text + 16
    made = figure(size, height, f"all {count(dimensions)} numbers of each row; {SIGNS}", [strips_of(z, centres)])
    _labels(made, lines, centres, size, projector)
    left, right = first / dimensions, (first + number) / dimensions
    made.add_scatter(
        x=[left, right, right, left, left], y=[0, 0, -len(lines), -len(lines), 0], mode="lines", hoverinfo="skip",
        line={"color": INK, "width": size.line},
    )  # fmt: skip
    ticks = sorted({0, *(round(dimensions * k / 4) for k in (1, 2, 3)), dimensions - 1})
    made.update_xaxes(
        range=[-_room(projector), 1.005], tickvals=[(k + 0.5) / dimensions for k in ticks],
        ticktext=[str(k) for k in ticks], fixedrange=True, showgrid=False, zeroline=False,
        tickfont={"size": size.text, "color": INK},
    )  # fmt: skip
    made.update_yaxes(range=[-len(lines) - 0.08, 0.08], **hide_axis())
    made.update_layout(margin={"b": size.text + 12, "r": size.text})
    return made


def magnifier(view: TableView, size: Sizes, *, projector: bool, first: int, number: int) -> go.Figure:
    """The same few coordinates of each row, with their values."""
    places = drawn_lines(view, projector)[:9]
    z = view.rows[list(places), first : first + number].astype(float)
    lines = [view.lines[k] for k in places]
    limit = float(np.abs(view.rows[list(places)]).max()) or 1.0
    row = size.value + 20
    title = f"coordinates {first} to {first + z.shape[1] - 1}, the same of each row"
    made = figure(size, size.top + row * len(lines) + size.text + 16, title)
    edges = np.round(np.linspace(0, 1, z.shape[1] + 1), 5)
    made.add_heatmap(
        z=np.round(z, 4), x=edges, y=[-k for k in range(len(lines) + 1)], zmin=-limit, zmax=limit, zmid=0,
        autocolorscale=True, showscale=False, hoverinfo="skip", xgap=2, ygap=6,
        text=[[coordinate(value) for value in line] for line in z], texttemplate="%{text}",
        textfont={"size": size.value if not projector else 20},
    )  # fmt: skip
    _labels(made, lines, [-k - 0.5 for k in range(len(lines))], size, projector)
    made.update_xaxes(
        range=[-_room(projector), 1.005], tickvals=((edges[1:] + edges[:-1]) / 2).tolist(),
        ticktext=[str(first + k) for k in range(z.shape[1])], fixedrange=True, showgrid=False, zeroline=False,
        tickfont={"size": size.text, "color": INK},
    )  # fmt: skip
    made.update_yaxes(range=[-len(lines) - 0.05, 0.05], **hide_axis())
    made.update_layout(margin={"b": size.text + 12, "r": size.text})
    return made


def _room(projector: bool) -> float:
    """Room for the labels left of a full-width strip 1 wide."""
    return 0.24 if projector else 0.17


def _labels(
    made: go.Figure, lines: Sequence[Line], centres: Sequence[float], size: Sizes, projector: bool
) -> None:  # fmt: skip
    made.add_scatter(
        x=[-_room(projector)] * len(lines), y=list(centres), mode="text", textposition="middle right", hoverinfo="skip",
        text=[plotly_text(cut(line.label, 15)) for line in lines],
        textfont={"size": min(size.token, size.text + 2), "family": CODE_FONT, "color": INK,
                  "weight": [800 if line.group == "chosen" else 500 for line in lines]},
    )  # fmt: skip


def place_in_table(view: TableView, size: Sizes, *, height: int) -> go.Figure:
    """The whole table as one tall box, and a line where the chosen row really is."""
    made = figure(size, height, "the table")
    made.add_scatter(
        x=[0, 0.5, 0.5, 0, 0], y=[0, 0, 1, 1, 0], mode="lines", line={"color": INK, "width": 1}, fill="toself",
        fillcolor=RAIL, hoverinfo="skip",
    )  # fmt: skip
    last = view.table_rows - 1
    ends = [(0.0, "id 0"), (1.0, f"id {last}")]
    for id in [] if view.chosen.id is None else [view.chosen.id]:
        at = id / max(1, last)
        made.add_scatter(
            x=[0, 0.5], y=[at, at], mode="lines", line={"color": INK, "width": size.line + 1}, hoverinfo="skip"
        )
        # The ends give way where the row's own label needs their room.
        ends = [(y, text) for y, text in ends if abs(y - at) > 0.09] + [(at, f"<b>id {id}</b>")]
    made.add_scatter(
        x=[0.54] * len(ends), y=[y for y, _ in ends], mode="text", textposition="middle right", hoverinfo="skip",
        text=[text for _, text in ends], textfont={"size": size.text, "color": INK},
    )  # fmt: skip
    made.update_xaxes(range=[-0.02, 1.1], **hide_axis())
    made.update_yaxes(range=[1.04, -0.04], **hide_axis())
    return made
