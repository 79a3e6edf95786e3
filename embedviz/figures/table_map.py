"""The map of the whole table: every row a point, a chosen token ringed with its neighbours, words where they fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from embedviz.figures.labels import Box, place_labels
from embedviz.figures.style import CODE_FONT, GREY, INK, SHADES, Sizes, cut, figure
from embedviz.numbers import decimal, share
from embedviz.safe_text import plotly_text
from embedviz.table_map import TableMap, View, whole_view

Colour = Literal["id", "length"]
Points = NDArray[np.int64] | slice

LONGEST_LABEL = 16
MARGIN = 4
# Portions in which the points of a shade are drawn, between those of the others.
ROUNDS = 4
# Labels keep off squares of this many pixels that are as good as covered by points.
SQUARE = 12
# In a close view, ordinary words are named too, the most frequent first.
MOST_NAMED = 40


def table_map(
    map: TableMap,
    size: Sizes,
    *,
    width: int,
    colour: Colour = "id",
    chosen: int | None = None,
    neighbours: Sequence[int] = (),
    words: Sequence[int] = (),
    view: View | None = None,
) -> go.Figure:
    """One point for each row on the map, `customdata` its id; the figure is as high as `size.map`.

    width: pixels that the page has for it, for the labels' room.
    colour: what the points' colour says, stronger for more; with a token chosen they are grey.
    chosen, neighbours: ids to ring and name. words: ids to name where there is room, most welcome first.
    view: the part to show; all where None.
    """
    made = figure(size, size.map, _title(colour, chosen))
    x, y = map.layout[:, 0], map.layout[:, 1]
    dot = 3 if size.marker < 16 else 4
    # Round a chosen token there are few points: they may be larger and less pale.
    grey = {"color": GREY, "opacity": 0.2} if view is None else {"color": GREY, "opacity": 0.6, "size": dot + 2}
    # An array, which plotly.py takes as it is instead of looking at each label.
    texts = np.array(plotly_text("\n".join(map.labels)).split("\n"), dtype=object)
    # Traces of one shade each: one trace with a colour for each point takes half as long again to draw.
    for marker, points in _shades(map, colour) if chosen is None else [(grey, slice(None))]:
        made.add_scattergl(
            x=x[points], y=y[points], mode="markers", customdata=map.ids[points], text=texts[points],
            hovertemplate="%{text}, id %{customdata}<extra></extra>", marker={"size": dot} | marker,
        )  # fmt: skip
    inner = (width - MARGIN * 2, size.map - size.top - MARGIN)
    seen = view or whole_view(map, inner[0] / inner[1])
    half = seen.half * inner[0] / inner[1]
    ringed = [] if chosen is None else [map.place(chosen)]
    ringed += [map.place(id) for id in neighbours]
    if ringed:
        made.add_scatter(
            x=x[ringed], y=y[ringed], mode="markers", hoverinfo="skip", customdata=map.ids[ringed],
            marker={"symbol": "circle-open", "color": INK, "size": [size.marker + 4] + [size.marker] * len(neighbours),
                    "line": {"width": [size.line + 1] + [size.line - 1] * len(neighbours)}},
        )  # fmt: skip
    pixels = np.stack([(x - seen.x + half) / (2 * half), (seen.y + seen.half - y) / (2 * seen.half)], axis=1) * inner
    visible = np.flatnonzero(((pixels >= 0) & (pixels <= inner)).all(axis=1))
    named = ringed if chosen is not None and view is None else [*ringed, *(map.place(id) for id in words)]
    if view is not None:
        named = [*named, *(int(k) for k in visible[:400] if map.labels[k].lstrip("␣").isalpha())]
    named = list(dict.fromkeys(named))
    shown = [cut(map.labels[point], LONGEST_LABEL) for point in named]
    # A label stands clear of its own ring and of all others.
    radius = size.marker / 2 + 2 + size.line
    gap = radius + 3 if ringed else 6.0
    rings = [(x - radius, y - radius, x + radius, y + radius) for x, y in pixels[ringed].tolist()]
    placed = place_labels(
        [(float(pixels[k, 0]), float(pixels[k, 1])) for k in named], shown, size.text + 1, *inner, gap=gap,
        taken=rings if ringed else _crowded(pixels[visible], dot), most=None if view is None else MOST_NAMED,
        must=0 if chosen is None else 1,
    )  # fmt: skip
    if placed:
        at = [named[label.number] for label in placed]
        made.add_scatter(
            x=x[at], y=y[at], mode="markers+text", hoverinfo="skip",
            text=[plotly_text(shown[one.number]) for one in placed], textposition=[one.side for one in placed],
            # Plotly keeps a label's distance from its marker, so an unseen one of the right size makes the gap.
            marker={"size": [1.6 * (one.gap - 1) for one in placed], "opacity": 0},
            textfont={"size": size.text + 1, "family": CODE_FONT, "color": INK,
                      "weight": [800 if k in ringed[:1] else 600 for k in at]},
        )  # fmt: skip
    axis = {"visible": False, "fixedrange": False}
    made.update_xaxes(range=[seen.x - half, seen.x + half], **axis)
    made.update_yaxes(range=[seen.y - seen.half, seen.y + seen.half], scaleanchor="x", **axis)
    made.update_layout(dragmode="pan", margin={"l": MARGIN, "r": MARGIN, "b": MARGIN}, hovermode="closest")
    return made


def _title(colour: Colour, chosen: int | None) -> str:
    if chosen is not None:
        return "ringed: the chosen token and its nearest rows by cosine"
    return {
        "id": "every row of the table; stronger colour: higher id",
        "length": "every row of the table; stronger colour: longer row",
    }[colour]


def _shades(map: TableMap, colour: Colour) -> list[tuple[dict[str, object], Points]]:
    """The points of each shade, in `ROUNDS` portions: a shade for each quarter of the ranks, from little to much.

    Each round begins with another shade, so that none covers all others.
    """
    values = map.ids if colour == "id" else map.lengths
    number = len(SHADES)
    steps = np.empty(len(values), dtype=np.int64)
    steps[np.argsort(values, kind="stable")] = np.arange(len(values)) * number // max(1, len(values))
    rounds = np.random.default_rng(0).integers(ROUNDS, size=len(values))
    order = [(turn, (turn + k) % number) for turn in range(ROUNDS) for k in range(number)]
    portions = [(k, np.flatnonzero((steps == k) & (rounds == turn))) for turn, k in order]
    return [({"color": SHADES[k], "opacity": 0.8}, points) for k, points in portions if len(points)]


def _crowded(pixels: NDArray[np.float64], dot: int) -> list[Box]:
    """The squares that points of `dot` pixels cover, where no label could be read."""
    squares, points = np.unique((pixels // SQUARE).astype(int), axis=0, return_counts=True)
    full = squares[points * dot * dot > SQUARE * SQUARE] * SQUARE
    return [(float(x), float(y), float(x + SQUARE), float(y + SQUARE)) for x, y in full]


def alt(map: TableMap, chosen: str | None, neighbours: Sequence[tuple[str, float]]) -> str:
    """The takeaway for those who do not see it. chosen, neighbours: labels, with cosines."""
    kept = f"{share(map.kept).capitalize()} of a row's true neighbours are among its nearest."
    if chosen is None:
        return f"Map of {len(map.ids):,} rows of the table. {kept}"
    listed = ", ".join(f"{label} {decimal(value)}" for label, value in neighbours)
    return f"Map of {len(map.ids):,} rows of the table, ringed: {chosen} and its nearest rows {listed}. {kept}"
