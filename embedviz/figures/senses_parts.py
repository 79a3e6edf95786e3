"""Figures of the senses page's deeper parts: every pair, what can be read off, how much is context, words, a guess.

Names stand in the right margin, whose width is in pixels, so that they fit at any width of the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go

from embedviz.context_measures import Labels, Numbers, SimilarityMatrix
from embedviz.figures.senses import colour_and_symbol, hues, layer_axis
from embedviz.figures.style import CODE_FONT, INK, PAGE, RAIL, SEQUENTIAL, Sizes, cut, figure, hide_axis, note
from embedviz.nearest_sense import Accuracy, Guess, Moved
from embedviz.numbers import decimal
from embedviz.safe_text import plotly_text

# Values are printed in the cells up to so many uses.
MOST_VALUES = 12
# A cell is this many times as wide as high, where the page is as wide as a full screen: room for `1.00`.
WIDE, FULL_WIDTH = 1.6, 1000
# From this share of the way up the colours on, a value is readable in the page's colour and not in ink.
STRONG = 0.6
# The picture's symbols as letters, by the place of the sense.
LETTERS = ("●", "■", "◆", "▲", "+", "×")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
# Pixels that the bars of words have at least: a full screen at 200 % zoom.
NARROWEST = 590
# A letter is no wider than this share of the font, in the text's font and in the code font.
LETTER = 0.6


def matrix(
    found: SimilarityMatrix, size: Sizes, *, layer: int, baseline: float, named: Labels | None = None
) -> go.Figure:
    """The cosine of every two uses, sense by sense; no colour stands for a random pair.

    baseline: cosine of a random pair at this layer; NaN where not known. named: the senses of all uses, where some
    have no direction and are not in `found`, so that every sense keeps its hue.
    """
    uses = len(found.order)
    head = round(1.5 * size.value)
    side = min(size.map - size.top - head - 12, 3 * size.value * uses)
    low = baseline if baseline < 0.999 else 0.0
    pale = f"no colour {decimal(low)}" + (", a random pair" if low == baseline else "")
    title = f"cosine of every two uses at layer {layer}: {pale}; full colour 1.00"
    made = figure(size, size.top + head + side + 12, title)
    made.add_heatmap(
        z=np.round(found.values, 4).astype(np.float32), x0=0.5, y0=0.5, dx=1, dy=1, zmin=low, zmax=1,
        showscale=False, hoverinfo="skip",
        colorscale=[[round(k / (len(SEQUENTIAL) - 1), 4), shade] for k, shade in enumerate(SEQUENTIAL)],
    )  # fmt: skip
    if uses <= MOST_VALUES:
        _values(made, found.values, size, low)
    ends = [*found.boundaries] if uses else []
    lines = [[(end, 0), (end, uses), (None, None), (0, end), (uses, end), (None, None)] for end in ends]
    points = [point for line in lines for point in line]
    made.add_scatter(
        x=[x for x, _ in points], y=[y for _, y in points], mode="lines", hoverinfo="skip", cliponaxis=False,
        line={"color": INK, "width": 2},
    )  # fmt: skip
    wide = min(WIDE * side, FULL_WIDTH)
    _sense_names(made, found, size, hues(named or _named(found)), side, wide)
    made.layout.annotations[0].yshift = head + 6
    made.update_layout(margin={"t": size.top + head})
    made.update_xaxes(range=[0, round(uses * FULL_WIDTH / wide, 3) if uses else 1], **hide_axis())
    made.update_yaxes(range=[uses or 1, 0], **hide_axis())
    return made


def _named(found: SimilarityMatrix) -> Labels:
    """The senses of a matrix, in its order."""
    sizes = [last - first for first, last in pairwise(found.boundaries)]
    names = [name for name in found.names if name is not None]
    codes = np.repeat(np.arange(len(found.names)), sizes)
    return Labels(tuple(names), np.where(codes < len(names), codes, -1))


def _values(made: go.Figure, values: Numbers, size: Sizes, low: float) -> None:
    """The cosines in their cells: in ink, and in the page's colour where the cell's is strong."""
    strong = values > low + STRONG * (1 - low)
    for colour, cells in ((INK, ~strong), (PAGE, strong)):
        rows, columns = np.nonzero(cells & np.isfinite(values))
        made.add_scatter(
            x=columns + 0.5, y=rows + 0.5, mode="text", hoverinfo="skip",
            text=[decimal(float(value)) for value in values[rows, columns]],
            textfont={"size": size.value, "color": colour},
        )  # fmt: skip


def _sense_names(
    made: go.Figure, found: SimilarityMatrix, size: Sizes, hue: dict[str, int], side: float, wide: float
) -> None:
    """The senses at the left of their rows, and above their columns where they fit; the largest where room is short."""
    uses, font = len(found.order), size.value
    blocks = [*zip(found.names, pairwise(found.boundaries), strict=True)]
    blocks.sort(key=lambda block: block[1][0] - block[1][1])
    blocks = blocks[: max(1, int(side / (1.3 * font)))]
    heights = apart([-(first + last) / 2 for _, (first, last) in blocks], 1.3 * font * uses / max(side, 1), -uses)
    widest = 0
    for (name, (first, last)), height in zip(blocks, heights, strict=True):
        place = None if name is None else hue.get(name)
        label = "no sense" if name is None else cut(name, 18)
        colour, mark = colour_and_symbol(place)[0], LETTERS[place or 0]
        widest = max(widest, len(label) + 2)
        text = f"<b>{plotly_text(label)} {mark}</b>"
        common = {"showarrow": False, "font": {"size": font, "color": colour}, "xref": "x", "yref": "y"}
        made.add_annotation(text=text, x=0, y=round(-height, 3), xanchor="right", xshift=-6, **common)
        room = (last - first) / uses * wide / font
        if room > 1:
            text = text if (len(label) + 2) * LETTER < room else f"<b>{mark}</b>"
            made.add_annotation(text=text, x=(first + last) / 2, y=0, yanchor="bottom", yshift=2, **common)
    made.update_layout(margin={"l": round(widest * font * LETTER) + 12})


def apart(values: Sequence[float], gap: float, low: float) -> list[float]:
    """Heights for labels of some values: in their order, at least `gap` apart, and from `low` on."""
    heights, order = list(values), sorted(range(len(values)), key=lambda k: -values[k])
    for above, below in pairwise(order):
        heights[below] = min(heights[below], heights[above] - gap)
    floor = low
    for k in reversed(order):
        heights[k] = max(heights[k], floor)
        floor = heights[k] + gap
    return heights


def accuracy(
    found: Accuracy, size: Sizes, *, at: int, best_layer: int | None = None, second: Accuracy | None = None
) -> go.Figure:
    """How many of 100 uses are nearest to their own sense, layer by layer, beside chance.

    at: the layer that is marked, whose values stand at the right. best_layer: is ringed. second: of a second file.
    """
    made = figure(size, size.pair - 60, "How many of 100 uses are nearest to their own sense?")
    lines = [("each left out in turn", "solid", found.by_layer)]
    if second is not None:
        lines.append(("second file", "dash", second.by_layer))
    lines.append(("chance", "dot", np.full(len(found.by_layer), found.chance)))
    lines = [(name, dash, 100 * values) for name, dash, values in lines if np.isfinite(values).any()]
    for _, dash, values in lines:
        _line(made, values, size, dash)
    right = found.by_layer
    if at < len(right) and np.isfinite(right[at]):
        made.add_scatter(
            x=[at, at], y=np.round([100 * found.chance, 100 * right[at]], 2), mode="lines+markers", hoverinfo="skip",
            cliponaxis=False, line={"width": 2 * size.line, "color": INK},
            marker={"size": size.marker - 3, "color": INK},
        )  # fmt: skip
    if best_layer is not None:
        made.layout.annotations[0].text += f" Ring: best, layer {best_layer}."
        made.add_scatter(
            x=[best_layer], y=[round(float(100 * right[best_layer]), 2)], mode="markers", hoverinfo="skip",
            name="best", cliponaxis=False, marker={"symbol": "circle-open", "size": size.marker + 10, "color": INK,
                                 "line": {"width": size.line}},
        )  # fmt: skip
    ends = [(float(values[at]), f"{_whole(float(values[at]))} {name}", INK) for name, _, values in lines]
    _layers(made, size, len(right) - 1, (0, 108), [0, 50, 100], ["0", "50", "100"], ends)
    return made


def _whole(value: float) -> str:
    return f"{value:.0f}" if np.isfinite(value) else "undefined"


def context(self_similarity: Numbers, explainable_variance: Numbers, size: Sizes) -> go.Figure:
    """How alike all uses are, and how much one vector for all could explain, layer by layer, less the random pair."""
    made = figure(size, size.pair - 60, "How much do all uses share? (each less random words)")
    lines = [
        ("self-similarity", "solid", self_similarity), ("explained by one vector", "dash", explainable_variance)
    ]  # fmt: skip
    lines = [line for line in lines if np.isfinite(line[2]).any()]
    for _, dash, values in lines:
        _line(made, values, size, dash)
    ends = [(float(values[-1]), f"{decimal(float(values[-1]))} {name}", INK) for name, dash, values in lines]
    _cosines(made, size, len(self_similarity) - 1, [values for _, _, values in lines], ends, near_one=False)
    return made


def guess(found: Guess, size: Sizes, *, named: Labels | None = None, at: int | None = None) -> go.Figure:
    """The cosine of a new sentence's use with each sense's centroid, layer by layer.

    named: the senses of the other uses, for the hues of more than six; else the first six have one. at: is marked.
    """
    made = figure(size, size.pair - 60, "How near is your sentence to each sense? (cosine)")
    hue = hues(named or Labels(found.senses, np.arange(len(found.senses))))
    lines, ends = [], []
    # Senses with a hue lie above those without.
    for name in sorted(found.senses, key=lambda one: one in hue):
        values = found.cosines[:, found.senses.index(name)]
        if not np.isfinite(values).any():
            continue
        place = hue.get(name)
        colour, symbol = colour_and_symbol(place)
        _line(made, values, size, DASHES[place or 0], colour, symbol)
        last = float(values[np.isfinite(values)][-1])
        lines.append(values)
        ends.append((last, f"{decimal(last)} {cut(name, 18)} {LETTERS[place or 0]}", colour))
    if at is not None and lines:
        here = [float(line[at]) for line in lines]
        made.add_scatter(
            x=[at, at], y=[round(min(here), 4), round(max(here), 4)], mode="lines", hoverinfo="skip",
            line={"width": 2 * size.line, "color": INK},
        )  # fmt: skip
    _cosines(made, size, len(found.cosines) - 1, lines, ends, near_one=True)
    return made


def _line(made: go.Figure, values: Numbers, size: Sizes, dash: str, colour: str = INK, symbol: str = "") -> None:
    """One value a layer as a line, with a few of its symbols on it where it has one."""
    made.add_scatter(
        x=list(range(len(values))), y=np.round(values, 4), hoverinfo="skip",
        mode="lines+markers" if symbol else "lines", line={"color": colour, "width": size.line, "dash": dash},
        marker={"symbol": symbol or "circle", "size": size.marker, "color": colour, "maxdisplayed": 8},
    )  # fmt: skip


End = tuple[float, str, str]


def _cosines(
    made: go.Figure, size: Sizes, last: int, lines: Sequence[Numbers], ends: Sequence[End], *, near_one: bool
) -> None:
    """Axes for cosines: from 0, or half, or lower where a line goes there. near_one: may leave out what lies below."""
    lowest = min((float(np.nanmin(line)) for line in lines), default=0.0)
    low = float(np.clip(np.floor(2 * lowest) / 2, -1.0, 0.5)) if near_one else min(0.0, lowest - 0.03)
    ticks = [tick for tick in (-1.0, -0.5, 0.0, 0.5, 1.0) if tick >= low]
    _layers(made, size, last, (low, 1.04), ticks, [decimal(tick) for tick in ticks], ends)


def _layers(
    made: go.Figure, size: Sizes, last: int, reach: tuple[float, float], ticks: Sequence[float],
    words: Sequence[str], ends: Sequence[End],
) -> None:  # fmt: skip
    """Axes of a figure by layer, and in the right margin the lines' names, as many of the highest as fit."""
    low, high = reach
    under = size.text + 18
    plot = size.pair - 60 - size.top - under
    gap = 1.3 * size.value * (high - low) / plot
    shown = sorted((end for end in ends if np.isfinite(end[0])), key=lambda end: -end[0])[: int((high - low) / gap)]
    for (_, text, colour), height in zip(shown, apart([end[0] for end in shown], gap, low + gap / 2), strict=True):
        made.add_annotation(
            text=f"<b>{plotly_text(text)}</b>", x=1, y=round(height, 4), xref="paper", yref="y", xanchor="left",
            xshift=4, showarrow=False, font={"size": size.value, "color": colour},
        )  # fmt: skip
    layer_axis(made, size, last, max(last, 1) * 1.02)
    made.update_yaxes(
        range=[low, high], tickvals=list(ticks), ticktext=list(words), fixedrange=True, zeroline=False,
        gridcolor=RAIL, tickfont={"size": size.text, "color": INK},
    )  # fmt: skip
    room = max((len(text) for _, text, _ in shown), default=0) * size.value * LETTER
    made.update_layout(margin={"l": 3 * size.text, "r": round(room) + 12, "b": under})


def moved(
    found: Moved, words: Sequence[str], size: Sizes, *, layer: int, sense: str | None, word: str, before: int
) -> go.Figure:
    """For each other word of a sentence, how far the vector moves without it, and how much of its lean goes.

    words: those taken out, in the sentence's order. word: the marked one, which stands after `before` of them.
    The second column is left out where no sense leans.
    """
    columns = [("moves the vector", found.moved[:, layer])]
    if sense is not None and np.isfinite(found.lost[:, layer]).any():
        columns.append((f"moves it away from {cut(sense, 20)}", found.lost[:, layer]))
    row = round(1.5 * size.token)
    made = figure(size, size.top + row * (len(words) + 1) + 12, "")
    made.update_layout(margin={"t": size.top}, bargap=0.35)
    rows = [k if k < before else k + 1 for k in range(len(words))]
    for number, (title, values) in enumerate(columns):
        start, end = number / len(columns), (number + 1) / len(columns) - 0.02
        note(made, plotly_text(title), size, x=start, y=1, anchor=("left", "bottom"), shift=6)
        texts = [f"{cut(one, 14)} {_lost(float(value))}" for one, value in zip(words, values, strict=True)]
        texts.insert(before, f"[{cut(word, 14)}]")
        wide = max(len(text) for text in texts) * size.token * LETTER + 16
        bars = round(start + wide / (NARROWEST if size.marker < 16 else FULL_WIDTH), 4)
        known = np.nan_to_num(values)
        ends = [min(0.0, float(known.min(initial=0))), max(float(known.max(initial=0)), 1e-9)]
        axis = "" if number == 0 else "2"
        made.add_bar(
            x=np.round(values, 4), y=rows, orientation="h", xaxis=f"x{axis}", hoverinfo="skip",
            marker={"color": INK, "line": {"width": 0}},
        )  # fmt: skip
        # Where words move it both ways, the line between.
        made.add_scatter(
            x=[0, 0], y=[-0.5, len(words) + 0.5], xaxis=f"x{axis}", mode="lines", hoverinfo="skip",
            line={"color": INK, "width": 1},
        )  # fmt: skip
        for place, text in enumerate(texts):
            made.add_annotation(
                text=plotly_text(text), x=bars, y=place, xref="paper", yref="y", xanchor="right", xshift=-8,
                showarrow=False, font={"size": size.token, "family": CODE_FONT, "color": INK,
                                       "weight": 800 if place == before else 500},
            )  # fmt: skip
        made.update_layout({f"xaxis{axis}": {"domain": [bars, end], "range": ends, "anchor": "y", **hide_axis()}})
    made.update_yaxes(range=[len(words) + 0.5, -0.5], **hide_axis())
    return made


def _lost(value: float) -> str:
    """A value beside its bar; exactly 0 is a finding, what only rounds to .00 gets one more digit."""
    return "0" if value == 0 else decimal(value, 3 if abs(value) < 0.005 else 2)
