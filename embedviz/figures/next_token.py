"""The next-token page's pair: the bars of what comes next at one step of an edit, and the whole way it goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from unicodedata import east_asian_width

import numpy as np
import plotly.graph_objects as go

from embedviz.edits import read_edit
from embedviz.figures.labels import LETTER
from embedviz.figures.senses_parts import apart
from embedviz.figures.style import CODE_FONT, INK, PROBABILITY, RAIL, Sizes, cut, figure, hide_axis, moments
from embedviz.next_token import Candidate
from embedviz.next_token_view import Moment, NextTokenView
from embedviz.numbers import count, probability
from embedviz.safe_text import plotly_text
from embedviz.tokens import visible_line

DASHES = ("solid", "dash", "dot")
# Letters of a token's label, at a desk and on a projector.
LETTERS = (14, 12)
# Where no line goes higher, the way's scale ends here: a back row sees little of lines that lie on the floor.
TOPS = (0.1, 0.2, 0.5, 1.0)
# Labels at the right stand this many lines apart.
APART = 1.3


def room(texts: Sequence[str], font: float) -> float:
    """Pixels that the widest of some labels takes; Chinese letters and emojis are wider than the code font's."""
    widths = (sum(1.7 if east_asian_width(one) in "WF" else 1.0 for one in text) for text in texts)
    return max(widths, default=0.0) * LETTER * font


def token_label(label: str, size: Sizes) -> str:
    """A token's label as figures show it: cut, but not escaped."""
    return cut(label, LETTERS[size.marker > 16])


def bars(shown: NextTokenView, size: Sizes, *, height: int, at: int, most: int, old: bool = False) -> go.Figure:
    """The most likely next tokens at each moment: bars, and marks where they stood without an edit.

    most: tokens drawn. at: the moment it opens on. old: whether it is of an earlier text, which its title then names.
    """
    projector = size.marker > 16
    title = "What comes next?" + (" Bar: edited. Mark: unedited." if shown.kind != "none" else "")
    if old:
        title += f" (for: {visible_line(shown.tokens.text, 16 if projector else 30)})"
    made = figure(size, height, plotly_text(title))
    largest = shown.largest or 1.0
    frames = [_bars(shown, moment, size, most, largest) for moment in shown.moments]
    made.add_traces(frames[at])
    # Bars that are not in a frame's own data vanish when Plotly shows it: every trace is in every frame.
    moments(made, frames, range(len(frames[at])), at)
    labels = [" ".join(_label(one, size)) for moment in shown.moments for one in moment.best[:most]]
    # The narrowest that the figure gets beside its neighbour, in pixels.
    left = min(0.6, (room(labels, size.token) + 20) / (620 if projector else 480))
    rows = max(len(moment.best[:most]) for moment in shown.moments)
    made.update_xaxes(range=[round(-left / (1 - left) * 1.03 * largest, 6), round(1.03 * largest, 6)], **hide_axis())
    made.update_yaxes(range=[-rows - 0.55, 0.55], **hide_axis())
    return made


def _bars(shown: NextTokenView, moment: Moment, size: Sizes, most: int, largest: float) -> list[Any]:
    """One moment's traces, always four: bars, marks of the unedited values, labels, and what the others share."""
    best = moment.best[:most]
    places = [-float(k) for k in range(len(best))]
    marked = [] if shown.kind == "none" else [*zip(moment.unedited, places, strict=False)]
    left = moment.others + sum(one.probability for one in moment.best[most:])
    others = shown.table_rows - len(best)
    said = f"{count(others)} other token{' shares' if others == 1 else 's share'} {probability(left)}" if others else ""
    return [
        go.Bar(
            x=[round(one.probability, 6) for one in best], y=places, orientation="h", width=0.72,
            marker={"color": PROBABILITY, "line": {"width": 0}}, hoverinfo="skip",
        ),
        go.Scatter(
            x=[value for x, _ in marked for value in (round(x, 6), round(x, 6), None)],
            y=[value for _, y in marked for value in (y - 0.44, y + 0.44, None)],
            mode="lines", line={"color": INK, "width": size.line}, hoverinfo="skip", cliponaxis=False,
        ),
        go.Scatter(
            x=[round(-0.012 * largest, 6)] * len(best), y=places, mode="text", textposition="middle left",
            text=["{}  <b>{}</b>".format(*map(plotly_text, _label(one, size))) for one in best], hoverinfo="skip",
            textfont={"size": size.token, "family": CODE_FONT, "color": INK},
        ),
        go.Scatter(
            x=[0.0], y=[-float(len(best))], mode="text", textposition="middle right", hoverinfo="skip",
            text=[said], textfont={"size": size.text, "color": INK},
        ),
    ]  # fmt: skip


def _label(one: Candidate, size: Sizes) -> tuple[str, str]:
    return token_label(one.entry.label, size), probability(one.probability)


def way(shown: NextTokenView, size: Sizes, *, height: int, at: int) -> go.Figure:
    """The whole way of an edit, or before and after, with the moment marked; empty axes where there is no edit."""
    projector = size.marker > 16
    title = {"way": "The whole way", "two": "Before and after", "none": ""}[shown.kind]
    if shown.kind == "way":
        fades = read_edit(shown.edits[-1]).operation == "scale"
        title += " down to zero" if fades else f" from {cut(shown.change, 34 if projector else 50)}"
    made = figure(size, height, plotly_text(title) or " ")
    highest = max((value for line in shown.lines for value in line.probabilities), default=1.0)
    top = next(top for top in TOPS if highest <= top or top == TOPS[-1]) if shown.kind != "none" else 1.0
    ticks = [0.0, top / 2, top]
    # Not a grid: rails end where the lines do, so that none runs through a name.
    made.add_scatter(
        x=[0, 1, None] * len(ticks), y=[value for tick in ticks for value in (tick, tick, None)], mode="lines",
        hoverinfo="skip", cliponaxis=False, line={"color": RAIL, "width": 1},
    )  # fmt: skip
    if shown.kind == "none":
        empty = go.Scatter(
            x=[0.5], y=[0.6], mode="text", text=["Choose a token and an edit."], hoverinfo="skip",
            textfont={"size": size.value, "color": INK},
        )  # fmt: skip
        made.add_trace(empty)
        moments(made, [[empty]], [1], 0)
        made.update_xaxes(range=[0, 1], **hide_axis())
    else:
        # Plotly's own slider, hidden, takes some of the height.
        gap = APART * size.value * 1.06 * top / (height - size.top - size.text - 50)
        if shown.kind == "way":
            _lines(made, shown, size, at, gap)
        else:
            _slopes(made, shown, size, at, gap, top)
    made.update_yaxes(
        range=[-0.02 * top, 1.04 * top], tickvals=ticks, ticktext=[f"{tick:g}".lstrip("0") or "0" for tick in ticks],
        fixedrange=True, zeroline=False, showgrid=False, tickfont={"size": size.text, "color": INK},
    )  # fmt: skip
    made.update_layout(margin={"l": 3 * size.text} | ({"b": size.text + 14} if shown.kind == "two" else {}))
    return made


def _share(texts: Sequence[str], size: Sizes) -> float:
    """The share of the way's width that labels of some texts take, where it is as narrow as it gets."""
    return min(0.55, (room(texts, size.value) * 0.9 + 16) / (500 if size.marker > 16 else 400))


def _lines(made: go.Figure, shown: NextTokenView, size: Sizes, at: int, gap: float) -> None:
    """A line a token over the way; dots at the moment, values and names at the right edge, spread."""
    shares = np.linspace(0, 1, len(shown.moments)).round(4).tolist()
    for k, line in enumerate(shown.lines):
        made.add_scatter(
            x=shares, y=np.round(line.probabilities, 4).tolist(), mode="lines", hoverinfo="skip", cliponaxis=False,
            line={"color": PROBABILITY, "width": size.line, "dash": DASHES[k % len(DASHES)]},
        )  # fmt: skip
    names = [token_label(line.label, size) for line in shown.lines]
    right = round(1 / (1 - _share([f"<.001 {name}" for name in names], size)), 4)

    def moment(step: int) -> list[Any]:
        values = [line.probabilities[step] for line in shown.lines]
        return [
            go.Scatter(
                x=[shares[step]] * len(values), y=np.round(values, 4).tolist(), mode="markers", hoverinfo="skip",
                cliponaxis=False, marker={"size": size.marker, "color": INK},
            ),
            _words(
                [right] * len(values), apart(values, gap, 0.0), [*zip(values, names, strict=True)], size, "middle left"
            ),
        ]  # fmt: skip

    first = len(made.data)
    made.add_traces(moment(at))
    moments(made, [moment(step) for step in range(len(shown.moments))], [first, first + 1], at)
    made.update_xaxes(range=[-0.02, right], **hide_axis())


def _slopes(made: go.Figure, shown: NextTokenView, size: Sizes, at: int, gap: float, top: float) -> None:
    """A line a token from before to after, with values at both ends and names at the right; dots at the moment.

    Where labels had to be spread, thin lines lead to them.
    """
    # A low figure has room for fewer labels, so the largest lines are drawn alone.
    lines = shown.lines[: 1 + int(top / gap)]
    ends = [[line.probabilities[k] for line in lines] for k in (0, -1)]
    heights = [apart(values, gap, 0.0) for values in ends]
    for before, after in zip(*ends, strict=True):
        made.add_scatter(
            x=[0, 1], y=[round(before, 4), round(after, 4)], mode="lines", hoverinfo="skip", cliponaxis=False,
            line={"color": PROBABILITY, "width": size.line},
        )  # fmt: skip
    for x, away, values, spread in zip((0, 1), (-0.09, 1.09), ends, heights, strict=True):
        points = [
            [(x, value), (away, height), (None, None)] for value, height in zip(values, spread, strict=True)
        ]  # fmt: skip
        made.add_scatter(
            x=[one for line in points for one, _ in line], mode="lines", hoverinfo="skip", cliponaxis=False,
            y=[None if one is None else round(one, 4) for line in points for _, one in line],
            line={"color": INK, "width": 1},
        )  # fmt: skip
    names = [token_label(line.label, size) for line in lines]
    told = [*zip(ends[1], names, strict=True)]
    made.add_trace(_words([-0.1] * len(names), heights[0], [(value, "") for value in ends[0]], size, "middle left"))
    made.add_trace(_words([1.1] * len(names), heights[1], told, size, "middle right"))

    def moment(step: int) -> list[Any]:
        return [
            go.Scatter(
                x=[step] * len(names), y=np.round(ends[step], 4).tolist(), mode="markers", hoverinfo="skip",
                cliponaxis=False, marker={"size": size.marker, "color": INK},
            )
        ]  # fmt: skip

    made.add_traces(moment(at))
    moments(made, [moment(0), moment(1)], [len(made.data) - 1], at)
    left, right = _share(["<.001"], size), _share([f"<.001 {name}" for name in names], size)
    scale = 1.2 / max(0.25, 1 - left - right)
    made.update_xaxes(
        range=[round(-0.1 - left * scale, 4), round(1.1 + right * scale, 4)], fixedrange=True, showgrid=False,
        zeroline=False, tickvals=[0, 1], ticktext=["before", "after"], tickfont={"size": size.text, "color": INK},
    )  # fmt: skip


def _words(
    x: list[float], heights: Sequence[float], told: Sequence[tuple[float, str]], size: Sizes, side: str
) -> go.Scatter:
    """Values with names at some heights."""
    return go.Scatter(
        x=x, y=np.round(heights, 5).tolist(), mode="text", textposition=side, hoverinfo="skip", cliponaxis=False,
        text=[f"<b>{plotly_text(f'{probability(value)} {name}'.strip())}</b>" for value, name in told],
        textfont={"size": size.value, "color": INK},
    )  # fmt: skip
