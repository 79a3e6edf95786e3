"""The thread's pair: the tokens' vectors stage by stage, and the bars of what comes next; and one row in full."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from embedviz.figures.style import CODE_FONT, INK, PROBABILITY, Sizes, cut, figure, hide_axis, moments
from embedviz.next_token import Candidate
from embedviz.numbers import count, length, probability
from embedviz.safe_text import plotly_text
from embedviz.table import Vectors
from embedviz.thread import Thread
from embedviz.tokens import Token, visible_line

# A column is 1 wide and a stage 1 high; the strip fills this much of each, the rest keeps neighbours apart.
STRIP_WIDTH, STRIP_HEIGHT = 0.86, 0.52
# Cells show value ÷ root mean square of their vector, so that long and short vectors use the same colours.
CELL_RANGE = 2.0
# Which lines each of the eight steps speaks of: names, ids, first stage, last stage, or the bars.
Box = tuple[float, float, float, float]


def columns(thread: Thread, most: int, chosen: int) -> list[int]:
    """Positions of the tokens drawn, at most `most`: the last ones, or those around the chosen one and the last."""
    number = len(thread.tokens)
    if number <= most or chosen >= number - most:
        return list(range(max(0, number - most), number))
    first = max(0, min(chosen - (most - 1) // 2, number - most))
    return [*range(first, first + most - 1), number - 1]


def stages_drawn(thread: Thread, projector: bool) -> tuple[int, ...]:
    """Places of the stages drawn: all, or on a projector the row, block 1, one between, and the last."""
    number = len(thread.stages)
    return tuple(range(number)) if not projector or number <= 4 else (0, 1, number // 2, number - 1)


def picture(
    thread: Thread, size: Sizes, *, most: int, projector: bool, chosen: int, height: int, at: int, old: bool = False
) -> go.Figure:
    """The tokens' vectors: a column a token, a line a stage, `DRAWN` true coordinates a cell row.

    chosen: position whose label is bold. at: the step it opens on; the box of each step is a frame. old: whether the
    figure is of an earlier text, which its title then names.
    """
    shown, lines = columns(thread, most, chosen), stages_drawn(thread, projector)
    z, x, y = _cells(thread, shown, lines)
    strips = go.Heatmap(
        z=z, x=x, y=y, zmin=-CELL_RANGE, zmax=CELL_RANGE, zmid=0, autocolorscale=True, showscale=False, hoverinfo="skip"
    )
    made = figure(size, height, plotly_text(_title(thread, shown, old)), [strips])
    tokens = [thread.tokens.tokens[k] for k in shown]
    room = max(6, int((50 if projector else 72) / len(tokens)))
    made.add_scatter(
        x=list(range(len(tokens))), y=[1.02] * len(tokens), mode="text", hoverinfo="skip",
        text=[plotly_text(cut(token.label, room)) for token in tokens],
        textfont={"size": size.token, "family": CODE_FONT, "color": INK,
                  "weight": [800 if k == chosen else 500 for k in shown]},
    )  # fmt: skip
    made.add_scatter(
        x=list(range(len(tokens))), y=[0.55] * len(tokens), mode="text", hoverinfo="skip",
        text=[f"id {token.id}" for token in tokens], textfont={"size": size.text, "family": CODE_FONT, "color": INK},
    )  # fmt: skip
    places = [(k, line) for line in range(len(lines)) for k in range(len(tokens))]
    made.add_scatter(
        x=[k for k, _ in places], y=[-line - 0.45 for _, line in places], mode="text", hoverinfo="skip",
        text=[f"length {length(float(thread.lengths[lines[line], shown[k]]))}" for k, line in places],
        textfont={"size": size.text - 2, "color": INK},
    )  # fmt: skip
    made.add_scatter(
        x=[-0.52] * len(lines), y=[-line for line in range(len(lines))], mode="text", hoverinfo="skip",
        text=[thread.stages[line] for line in lines], textposition="middle left",
        textfont={"size": size.text, "color": INK},
    )  # fmt: skip
    boxes = _boxes(len(tokens), len(lines))
    made.add_scatter(**_outline(boxes[at], size))
    moments(made, [[go.Scatter(**_outline(box, size))] for box in boxes], [len(made.data) - 1], at)
    # Names of the stages stand left of the first column; their room is a fixed share of the figure, not a column.
    left = 0.5 + (0.16 if projector else 0.13) * len(tokens)
    made.update_xaxes(range=[-left, len(tokens) - 0.48], **hide_axis())
    made.update_yaxes(range=[-len(lines) + 0.34, 1.34], **hide_axis())
    return made


def _title(thread: Thread, shown: Sequence[int], old: bool) -> str:
    number = len(thread.tokens)
    part = ""
    if len(shown) < number:
        whole = shown[-1] - shown[0] < len(shown)
        end = f"{count(shown[-1] + 1)}" if whole else f"{count(shown[-2] + 1)}, and {count(number)},"
        part = f"tokens {count(shown[0] + 1)} to {end} of {count(number)}"
    return " ".join(filter(None, [part, f"(for: {visible_line(thread.tokens.text)})" if old else ""]))


def _cells(thread: Thread, shown: Sequence[int], lines: Sequence[int]) -> tuple[Vectors, list[float], list[float]]:
    """The heatmap's numbers with the edges of its cells: strips parted by columns and lines of nothing."""
    drawn = thread.drawn[list(lines)][:, list(shown)]
    scale = thread.lengths[list(lines)][:, list(shown), None] / np.sqrt(thread.dimensions)
    cells = np.divide(drawn, scale, out=np.zeros_like(drawn), where=scale > 0)
    stages, tokens, width = cells.shape
    z = np.full((2 * stages - 1, tokens * (width + 1) - 1), np.nan, dtype=np.float32)
    for k in range(tokens):
        z[::2, k * (width + 1) : k * (width + 1) + width] = np.round(cells[:, k], 4)
    inside = np.linspace(-STRIP_WIDTH / 2, STRIP_WIDTH / 2, width + 1)
    x = [round(float(k + edge), 5) for k in range(tokens) for edge in inside]
    y = [
        round(float(-line + edge), 5)
        for line in reversed(range(stages))
        for edge in (-STRIP_HEIGHT / 2, STRIP_HEIGHT / 2)
    ]
    return z[::-1], x, y


def _boxes(tokens: int, lines: int) -> list[Box]:
    """For each step, the corners (left, bottom, right, top) of what its sentence speaks of."""
    left, right, bottom = -0.48, tokens - 0.52, 0.4 - lines
    last = tokens - 1.48
    nothing = (right, bottom, right, bottom)
    return [
        (left, 0.8, right, 1.3),
        (left, 0.34, right, 1.3),
        (left, -0.62, right, 0.33),
        (left, -0.62, right, 0.33),
        (left, bottom, right, -0.64) if lines > 1 else nothing,
        (last, bottom, right, 1.36 - lines),
        (last, bottom, right, 1.36 - lines),
        nothing,
    ]


def _outline(box: Box, size: Sizes) -> dict[str, object]:
    left, bottom, right, top = box
    return {
        "x": [left, right, right, left, left],
        "y": [bottom, bottom, top, top, bottom],
        "mode": "lines",
        "line": {"color": INK, "width": size.line},
        "hoverinfo": "skip",
    }


def bars(thread: Thread, size: Sizes, *, height: int, at: int, most: int) -> go.Figure:
    """The most likely next tokens: label and value left of the bar, what all others share as a line of text."""
    best = thread.next[:most]
    others = 1.0 - sum(one.probability for one in best)
    made = figure(size, height, "what comes next")
    places = [-float(k) for k in range(len(best))]
    made.add_bar(
        x=[round(one.probability, 6) for one in best], y=places, orientation="h", width=0.7,
        marker={"color": PROBABILITY}, hoverinfo="skip",
    )  # fmt: skip
    largest = max(one.probability for one in best)
    made.add_scatter(
        x=[-0.02 * largest] * len(best), y=places, mode="text", textposition="middle left", hoverinfo="skip",
        text=[_bar_label(one) for one in best], textfont={"size": size.token, "family": CODE_FONT, "color": INK},
    )  # fmt: skip
    made.add_scatter(
        x=[-0.9 * largest], y=[-float(len(best))], mode="text", textposition="middle right", hoverinfo="skip",
        text=[f"{count(thread.table_rows - len(best))} other tokens share {probability(others)}"],
        textfont={"size": size.text, "color": INK},
    )  # fmt: skip
    left, right = -0.95 * largest, 1.04 * largest
    nothing = (right, -len(best) - 0.5, right, -len(best) - 0.5)
    boxes = [nothing] * 6 + [(left, -len(best) - 0.45, right, 0.55), (left, -0.45, right, 0.45)]
    made.add_scatter(**_outline(boxes[at], size))
    moments(made, [[go.Scatter(**_outline(box, size))] for box in boxes], [2 + 1], at)
    made.update_xaxes(range=[left - 0.02 * largest, right + 0.03 * largest], **hide_axis())
    made.update_yaxes(range=[-len(best) - 0.55, 0.7], **hide_axis())
    return made


def _bar_label(one: Candidate) -> str:
    return f"{plotly_text(cut(one.entry.label, 12))} <b>{plotly_text(probability(one.probability))}</b>"


def row_strip(token: Token, row: Vectors, size: Sizes, *, height: int) -> go.Figure:
    """One table row in full: every coordinate a cell, in the table's order, coloured from −limit to limit."""
    limit = float(np.abs(row).max()) or 1.0
    made = figure(size, height, f"row {token.id} of the table, {plotly_text(token.label)}: {count(len(row))} numbers")
    made.add_heatmap(
        z=[[round(float(value), 6) for value in row]], zmin=-limit, zmax=limit, zmid=0, autocolorscale=True,
        showscale=False, hovertemplate="coordinate %{x}: %{z:+.3f}<extra></extra>",
    )  # fmt: skip
    made.update_xaxes(
        fixedrange=True, showgrid=False, zeroline=False, tickfont={"size": size.text, "color": INK},
        tickvals=_round_ticks(len(row)),
    )  # fmt: skip
    made.update_yaxes(**hide_axis())
    made.update_layout(margin={"b": 26})
    return made


def _round_ticks(number: int) -> list[int]:
    """Four or five round places along a row, the first and the last among them."""
    step = max(1, round(number / 4 / 50) * 50) if number >= 200 else max(1, number // 4)
    return [*range(0, number - step // 2, step), number - 1]
