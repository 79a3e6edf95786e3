"""The table page's figures: rows beside a row, its cosines with all rows, and the figures of the deeper parts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from embedviz.axes import Placement
from embedviz.coordinates import Probe
from embedviz.figures.labels import place_labels
from embedviz.figures.style import CODE_FONT, GREY, INK, RAIL, Sizes, cut, figure, hide_axis
from embedviz.id_order import IdOrder
from embedviz.numbers import coordinate, count, decimal
from embedviz.safe_text import plotly_text
from embedviz.table_view import BINS, Group, Line, TableView, cells, order_sentence
from embedviz.tokens import visible_line

# A strip is 1 wide; labels and ids stand left of it, cosines right of it.
LABELS, LABELS_PROJECTOR, COSINES = 0.46, 0.62, 0.13
ROW = 0.72
HEADINGS: dict[Group, str] = {"chosen": "", "nearest": "nearest rows", "next": "next ids", "listed": "rows compared"}


def drawn_lines(view: TableView, projector: bool) -> tuple[int, ...]:
    """Places of the lines that the opening picture shows."""
    return view.shown(2, 2, 8) if projector else view.shown(3, 3, 59)


def rows(view: TableView, size: Sizes, *, projector: bool, by_value: bool, old: bool = False) -> go.Figure:
    """The chosen row and those beside it, one strip each. old: whether the title must say what it is for.

    The figure is as high as the pair, higher where a long list needs it.
    """
    places = drawn_lines(view, projector)
    z, coordinates = cells(view, places, by_value=by_value)
    lines = [view.lines[k] for k in places]
    centres, headings, bottom = _heights(lines)
    said = order_sentence(view, coordinates, by_value=by_value)
    under = (size.text + 6) * len(said) + 10
    height = max(size.pair, round(-bottom * size.text * 1.5) + size.top + under)
    title = f"rows, sorted by {view.chosen.label}" if by_value else "rows, in the table's order"
    title += f" (for: {visible_line(view.typed)})" if old else ""
    made = figure(size, height, plotly_text(title), [_strips(z, centres)])
    left = LABELS_PROJECTOR if projector else LABELS
    room = 11 if projector else 15
    font = min(size.token, size.text + 2)
    made.add_scatter(
        x=[-left] * len(lines), y=centres, mode="text", textposition="middle right", hoverinfo="skip",
        text=[plotly_text(cut(line.label, room)) for line in lines],
        textfont={"size": font, "family": CODE_FONT, "color": INK,
                  "weight": [800 if line.group == "chosen" else 500 for line in lines]},
    )  # fmt: skip
    numbered = [k for k, line in enumerate(lines) if line.id is not None and line.group != "nearest"]
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
    _note(made, "cosine", size, x=1, y=1, anchor=("right", "bottom"), shift=6)
    _note(made, plotly_text("\n".join(said)).replace("\n", "<br>"), size, x=0, y=0, anchor=("left", "top"), shift=-4)
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


def _strips(z: NDArray[np.float64], centres: Sequence[float]) -> go.Heatmap:
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


def _note(
    made: go.Figure, text: str, size: Sizes, *, x: float, y: float, anchor: tuple[str, str], shift: float
) -> None:
    made.add_annotation(
        text=text, x=x, y=y, xref="paper", yref="paper", xanchor=anchor[0], yanchor=anchor[1], yshift=shift,
        align="left", showarrow=False, font={"size": size.text, "color": INK},
    )  # fmt: skip


def cosines(view: TableView, size: Sizes, *, projector: bool) -> go.Figure:
    """How alike the chosen row is to every row: a filled histogram, the mean, and marks for the rows beside it."""
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
        ("nearest", "circle", "nearest"), ("listed", "circle", "compared"), ("next", "diamond", "next ids")
    ]  # fmt: skip
    y = -0.12 * top
    for group, symbol, name in lanes:
        values = [round(line.cosine, 4) for line in shown if line.group == group and np.isfinite(line.cosine)]
        if not values:
            continue
        made.add_scatter(
            x=values, y=[y] * len(values), mode="markers", hoverinfo="skip",
            marker={"symbol": symbol, "size": size.marker, "color": INK if symbol == "circle" else GREY,
                    "line": {"width": 1, "color": INK}, "opacity": 0.9},
        )  # fmt: skip
        right = max(values) < 0.55
        made.add_scatter(
            x=[max(values) + 0.05 if right else min(values) - 0.05], y=[y], mode="text", text=[name], hoverinfo="skip",
            textposition="middle right" if right else "middle left", textfont={"size": size.text, "color": INK},
        )  # fmt: skip
        y -= 0.13 * top
    low = min(float(edges[first]), -0.05, *(line.cosine for line in shown if np.isfinite(line.cosine)))
    _cosine_ticks(made, size, [round(low - 0.03, 3), 1.06])
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


# All numbers: the strips in full, a magnifier over the same coordinates of each, and the row's place in the table.


def strips(view: TableView, size: Sizes, *, projector: bool, first: int, number: int) -> go.Figure:
    """Every coordinate of the rows shown, in the table's order; a frame round those under the magnifier."""
    places = drawn_lines(view, projector)[:9]
    z, _ = cells(view, places, by_value=False)
    lines, dimensions = [view.lines[k] for k in places], view.dimensions
    centres = [-k - 0.5 for k in range(len(lines))]
    height = size.top + len(lines) * (size.text + 22) + size.text + 16
    made = figure(size, height, f"all {count(dimensions)} numbers of each row", [_strips(z, centres)])
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


# The id is only an index.

PAIRS_DRAWN = 1_500


def id_pairs(order: IdOrder, size: Sizes, *, shuffled: bool) -> go.Figure:
    """Random pairs of rows: how far apart their ids are, against their cosine, with the line that fits best."""
    distances = order.shuffled_distances if shuffled else order.distances
    number = min(PAIRS_DRAWN, len(distances))
    name = "ids shuffled" if shuffled else "ids as they are"
    made = figure(size, size.pair - 60, f"{name}: cosine of two rows, by the difference of their ids")
    made.add_scatter(
        x=distances[:number], y=np.round(order.cosines[:number], 4), mode="markers", hoverinfo="skip",
        marker={"size": size.marker // 3, "color": GREY, "opacity": 0.45},
    )  # fmt: skip
    slope, start = np.polyfit(distances, order.cosines, 1)
    ends = np.array([0, int(distances.max())])
    made.add_scatter(
        x=ends, y=np.round(start + slope * ends, 4), mode="lines", hoverinfo="skip",
        line={"color": INK, "width": size.line},
    )  # fmt: skip
    ticks = [round(float(ends[1]) * k / 4) for k in range(5)]
    font = {"size": size.text, "color": INK}
    made.update_xaxes(tickvals=ticks, ticktext=[count(k) for k in ticks], fixedrange=True, showgrid=False,
                      zeroline=False, tickfont=font)  # fmt: skip
    made.update_yaxes(tickvals=[0, 0.5, 1], ticktext=[".00", ".50", "1.00"], fixedrange=True, range=[-0.55, 1.02],
                      zeroline=False, tickfont=font)  # fmt: skip
    made.update_layout(margin={"l": 3 * size.text, "b": size.text + 18, "r": 2 * size.text})
    return made


# Axes from opposites.


def plane(placed: Placement, size: Sizes, *, width: int) -> go.Figure:
    """Words by their cosine with two axes; names where they fit, the ends of the axes at the edges."""
    height = size.pair + 40
    places = placed.places
    known = np.flatnonzero(np.isfinite(places).all(axis=1))
    # Each axis has its own scale: the two are different questions.
    wide, high = (max(0.05, float(np.abs(places[known, k]).max(initial=0.0)) * 1.25) for k in (0, 1))
    made = figure(size, height, "cosine of each word's row with both axes")
    made.add_scatter(
        x=np.round(places[known, 0], 4), y=np.round(places[known, 1], 4), mode="markers", hoverinfo="skip",
        marker={"size": size.marker, "color": INK, "opacity": 0.9},
    )  # fmt: skip
    inner = (width - 12, height - size.top - 12)
    pixels = [
        ((float(x) + wide) / (2 * wide) * inner[0], (high - float(y)) / (2 * high) * inner[1]) for x, y in places[known]
    ]
    names = [cut(placed.words[k].label, 18) for k in known]
    across, up = placed.axes
    ends = (
        (1, 0.5, f"{across.high} →", ("right", "bottom"), 4), (0, 0.5, f"← {across.low}", ("left", "bottom"), 4),
        (0.5, 1, f"↑ {up.high}", ("left", "top"), 0), (0.5, 0, f"↓ {up.low}", ("left", "bottom"), 0),
    )  # fmt: skip
    dot = size.marker / 2
    taken = [(x - dot, y - dot, x + dot, y + dot) for x, y in pixels]
    for x, y, text, anchor, _ in ends:
        room, left, top = len(text) * size.text * 0.62 + 8, x * inner[0], (1 - y) * inner[1]
        left -= room if anchor[0] == "right" else 0
        top -= 0 if anchor[1] == "top" else size.text * 1.6
        taken.append((left, top, left + room, top + size.text * 1.6))
    for label in place_labels(pixels, names, size.token, *inner, gap=size.marker * 0.75, taken=taken):
        point = known[label.number]
        made.add_scatter(
            x=[round(float(places[point, 0]), 4)], y=[round(float(places[point, 1]), 4)], mode="markers+text",
            text=[plotly_text(names[label.number])], textposition=label.side, hoverinfo="skip",
            marker={"size": size.marker, "opacity": 0},
            textfont={"size": size.token, "family": CODE_FONT, "color": INK},
        )  # fmt: skip
    for x, y, text, at, shift in ends:
        _note(made, plotly_text(text), size, x=x, y=y, anchor=at, shift=shift)
    line = {"zeroline": True, "zerolinecolor": RAIL, "zerolinewidth": 2, "showgrid": False, "showticklabels": False}
    made.update_xaxes(range=[-wide, wide], fixedrange=True, **line)
    made.update_yaxes(range=[-high, high], fixedrange=True, **line)
    return made


# Do coordinates have names?


def curve(probe: Probe, size: Sizes) -> go.Figure:
    """Accuracy on words not seen, by the number of coordinates, in the table's basis and after a rotation."""
    made = figure(size, size.pair - 60, "right of 100, by how many coordinates the probe may use")
    low = min(45.0, 100 * min(*probe.accuracy, *probe.rotated) - 5)
    # Names stand at the left end, where the lines are farthest apart, and never closer than a line and a bit.
    apart = 1.25 * size.value * (103 - low) / (size.pair - 60 - size.top - size.text - 18)
    ends = [100 * probe.accuracy[0], 100 * probe.rotated[0]]
    middle, half = sum(ends) / 2, max(abs(ends[0] - ends[1]), apart) / 2
    upper = ends[0] >= ends[1]
    heights = (middle + half, middle - half) if upper else (middle - half, middle + half)
    for values, name, dash, symbol, height in (
        (probe.accuracy, "as it is", "solid", "circle", heights[0]),
        (probe.rotated, "rotated", "dash", "diamond", heights[1]),
    ):
        made.add_scatter(
            x=list(probe.sizes), y=[round(100 * value, 2) for value in values], mode="lines+markers", hoverinfo="skip",
            line={"color": INK, "width": size.line, "dash": dash},
            marker={"size": size.marker - 4, "symbol": symbol, "color": INK},
        )  # fmt: skip
        made.add_scatter(
            x=[probe.sizes[0] * 0.94], y=[round(height, 2)], mode="text", textposition="middle left",
            text=[f"{name} <b>{round(100 * values[0])}</b>"], hoverinfo="skip",
            textfont={"size": size.value, "color": INK},
        )  # fmt: skip
    font = {"size": size.text, "color": INK}
    made.update_xaxes(
        type="log", range=[-0.75, float(np.log10(probe.sizes[-1])) + 0.08], tickvals=list(probe.sizes),
        ticktext=[*(str(one) for one in probe.sizes[:-1]), f"all {probe.sizes[-1]}"], fixedrange=True, showgrid=False,
        tickfont=font,
    )  # fmt: skip
    made.update_yaxes(
        range=[low, 103], tickvals=[50, 100], ticktext=["50, chance", "100"], side="right", fixedrange=True,
        tickfont=font, zeroline=False,
    )  # fmt: skip
    made.update_layout(margin={"r": 6 * size.text, "b": size.text + 18})
    return made
