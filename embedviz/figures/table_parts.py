"""Figures of the table page's deeper parts: ids against cosines, words along two axes, what a probe needs."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from embedviz.axes import Placement
from embedviz.coordinates import Probe
from embedviz.figures.labels import place_labels
from embedviz.figures.style import CODE_FONT, GREY, INK, RAIL, Sizes, cut, figure, note, ring
from embedviz.id_order import IdOrder
from embedviz.numbers import count
from embedviz.safe_text import plotly_text

PAIRS_DRAWN = 1_500


def id_pairs(order: IdOrder, size: Sizes, *, shuffled: bool, ringed: int | None = None) -> go.Figure:
    """Random pairs of rows: how far apart their ids are, against their cosine, with the line that fits best.

    ringed: a pair to ring.
    """
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
    if ringed is not None:
        ring(made, int(distances[ringed]), round(float(order.cosines[ringed]), 4), size)
    ticks = _round_ticks(int(ends[1]))
    font = {"size": size.text, "color": INK}
    made.update_xaxes(tickvals=ticks, ticktext=[count(k) for k in ticks], fixedrange=True, showgrid=False,
                      zeroline=False, tickfont=font)  # fmt: skip
    made.update_yaxes(tickvals=[0, 0.5, 1], ticktext=[".00", ".50", "1.00"], fixedrange=True, range=[-0.55, 1.02],
                      zeroline=False, tickfont=font)  # fmt: skip
    made.update_layout(margin={"l": 3 * size.text, "b": size.text + 18, "r": 2 * size.text})
    return made


def _round_ticks(last: int) -> list[int]:
    """At most five round numbers from 0 to `last`, evenly apart."""
    step = next(k for power in range(12) for k in (10**power, 2 * 10**power, 5 * 10**power) if last // k < 5)
    return list(range(0, last + 1, step))


def plane(placed: Placement, size: Sizes, *, width: int, ringed: int | None = None) -> go.Figure:
    """Words by their cosine with two axes; names where they fit, the ends of the axes at the edges.

    The words of the axes' own pairs are hollow marks.

    ringed: the place of a word to ring.
    """
    height = size.pair + 40
    places = np.concatenate([placed.places, placed.landmark_places])
    known = np.flatnonzero(np.isfinite(places).all(axis=1))
    own = known[known >= len(placed.words)]
    asked = known[known < len(placed.words)]
    # Each axis has its own scale: the two are different questions.
    (left, right), (low, high) = (_both_sides(places[known, k]) for k in (0, 1))
    zero = (-left / (right - left), -low / (high - low))
    row = "row" if placed.uncentred is None else "row, less the mean row,"
    made = figure(size, height, f"cosine of each word's {row} with both axes; hollow: the words of the pairs")
    made.add_scatter(
        x=np.round(places[asked, 0], 4), y=np.round(places[asked, 1], 4), mode="markers", hoverinfo="skip",
        marker={"size": size.marker, "color": INK, "opacity": 0.9},
    )  # fmt: skip
    made.add_scatter(
        x=np.round(places[own, 0], 4), y=np.round(places[own, 1], 4), mode="markers", hoverinfo="skip",
        marker={"size": size.marker - 2, "symbol": "circle-open", "color": INK, "line": {"width": 2}},
    )  # fmt: skip
    if ringed in asked:
        x, y = np.round(places[ringed], 4).tolist()
        ring(made, x, y, size)
    inner = (width - 12, height - size.top - 12)
    pixels = [
        ((float(x) - left) / (right - left) * inner[0], (high - float(y)) / (high - low) * inner[1])
        for x, y in places[known]
    ]
    every = (*placed.words, *placed.landmarks)
    names = [cut(every[k].label, 18) for k in known]
    across, up = placed.axes
    ends = (
        (1, zero[1], f"{across.high} →", ("right", "bottom"), 4),
        (0, zero[1], f"← {across.low}", ("left", "bottom"), 4),
        (zero[0], 1, f"↑ {up.high}", ("left", "top"), 0), (zero[0], 0, f"↓ {up.low}", ("left", "bottom"), 0),
    )  # fmt: skip
    dot = size.marker / 2
    taken = [(x - dot, y - dot, x + dot, y + dot) for x, y in pixels]
    for x, y, text, anchor, _ in ends:
        room, start, top = len(text) * size.text * 0.62 + 8, x * inner[0], (1 - y) * inner[1]
        start -= room if anchor[0] == "right" else 0
        top -= 0 if anchor[1] == "top" else size.text * 1.6
        taken.append((start, top, start + room, top + size.text * 1.6))
    for label in place_labels(pixels, names, size.token, *inner, gap=size.marker * 0.75, taken=taken):
        point = known[label.number]
        made.add_scatter(
            x=[round(float(places[point, 0]), 4)], y=[round(float(places[point, 1]), 4)], mode="markers+text",
            text=[plotly_text(names[label.number])], textposition=label.side, hoverinfo="skip",
            marker={"size": size.marker, "opacity": 0},
            textfont={"size": size.token, "family": CODE_FONT, "color": INK},
        )  # fmt: skip
    for x, y, text, at, shift in ends:
        note(made, plotly_text(text), size, x=x, y=y, anchor=at, shift=shift)
    line = {"zeroline": True, "zerolinecolor": RAIL, "zerolinewidth": 2, "showgrid": False, "showticklabels": False}
    made.update_xaxes(range=[left, right], fixedrange=True, **line)
    made.update_yaxes(range=[low, high], fixedrange=True, **line)
    return made


def _both_sides(values: NDArray[np.float64]) -> tuple[float, float]:
    """A range that holds all values and both sides of 0, the one without words narrower than the other."""
    low, high = 1.25 * float(values.min(initial=0.0)), 1.25 * float(values.max(initial=0.0))
    return min(low, -0.3 * high, -0.03), max(high, -0.3 * low, 0.03)


def curve(probe: Probe, size: Sizes, *, ringed: int | None = None) -> go.Figure:
    """Accuracy on words not seen, by the number of coordinates, in the table's basis and after a rotation.

    ringed: the place of a number of coordinates whose two marks are ringed.
    """
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
            x=[probe.sizes[0]], y=[round(height, 2)], mode="markers+text", textposition="middle left",
            text=[f"{name} <b>{round(100 * values[0])}</b>"], hoverinfo="skip",
            # Plotly keeps a label's distance from its marker at any width, so an unseen one makes the gap.
            marker={"size": size.marker + 6, "opacity": 0},
            textfont={"size": size.value, "color": INK},
        )  # fmt: skip
        if ringed is not None:
            ring(made, probe.sizes[ringed], round(100 * values[ringed], 2), size)
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
