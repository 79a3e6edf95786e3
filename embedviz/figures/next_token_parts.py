"""Figures of the next-token page's deeper parts: a score's sum, chances to be drawn, two texts, layers, position.

Labels stand in the left margin, whose width is in pixels, so that they fit at any width of the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from embedviz.figures.next_token import room, token_label
from embedviz.figures.senses import layer_axis
from embedviz.figures.senses_parts import apart
from embedviz.figures.style import CODE_FONT, GREY, INK, PAGE, PROBABILITY, RAIL, Sizes, figure, hide_axis, note
from embedviz.next_token import Candidate, Choice, Distribution
from embedviz.numbers import count, logit, probability, share, things
from embedviz.position_effect import ROUNDING, PositionEffect
from embedviz.safe_text import plotly_text
from embedviz.score_parts import ScoreParts
from embedviz.tokens import visible_line
from embedviz.two_prompts import Change, Surprise

# Bars of a text's tokens that are drawn at most.
MOST_TOKENS = 40
Marks = Sequence[tuple[float, float]]


def _rows(size: Sizes, title: str, labels: Sequence[tuple[str, str]], colours: Sequence[str] = ()) -> go.Figure:
    """An empty figure of one row a label, the first at height 0, the next at 1, downwards: name and bold value."""
    made = figure(size, size.top + round(1.6 * size.token * max(1, len(labels))) + 12, plotly_text(title))
    for place, (name, value) in enumerate(labels):
        made.add_annotation(
            text=f"{plotly_text(name)}  <b>{plotly_text(value)}</b>", x=0, y=place, xref="paper", yref="y",
            xanchor="right", xshift=-8, showarrow=False,
            font={"size": size.token, "family": CODE_FONT, "color": colours[place] if colours else INK},
        )  # fmt: skip
    left = round(room([f"{name}  {value}" for name, value in labels], size.token)) + 16
    # The title begins where the labels do, not where the bars do.
    made.layout.annotations[0].update(xshift=8 - left)
    made.update_layout(margin={"l": left})
    made.update_yaxes(range=[max(1, len(labels)) - 0.4, -0.6], **hide_axis())
    return made


def _vertical(made: go.Figure, marks: Marks, size: Sizes, colour: str = INK) -> None:
    """Upright marks, each at a value of a row."""
    made.add_scatter(
        x=[value for x, _ in marks for value in (round(x, 6), round(x, 6), None)],
        y=[value for _, row in marks for value in (row - 0.42, row + 0.42, None)],
        mode="lines", hoverinfo="skip", cliponaxis=False, line={"color": colour, "width": size.line},
    )  # fmt: skip


def sum_of_products(parts: ScoreParts, size: Sizes, most: int = 10) -> go.Figure:
    """A score added up: its largest products, what the others make together, the bias; the running total at the right.

    What adds is filled and goes right, what takes away is hollow and goes left.
    """
    drawn = parts.order[:most]
    steps = [(f"coordinate {k}", float(parts.products[k])) for k in drawn]
    left = len(parts.order) - len(drawn)
    if left:
        steps.append((f"and {count(left)} more", float(parts.running[-1] - parts.running[len(drawn) - 1])))
    if parts.bias:
        steps.append(("bias", parts.bias))
    totals = [0.0, *np.cumsum([value for _, value in steps]).tolist()]
    labels = [(name, _signed(logit(value))) for name, value in steps]
    labels.append(("logit", logit(parts.logit)))
    name = token_label(parts.entry.label, size)
    made = _rows(
        size, f"The score of {name}: {things(len(parts.products), 'product')} added up. Hollow: below 0.", labels
    )
    whole = [*zip(pairwise(totals), (value for _, value in steps), strict=True), ((0.0, parts.logit), parts.logit)]
    made.add_bar(
        base=[round(ends[0], 6) for ends, _ in whole], x=[round(ends[1] - ends[0], 6) for ends, _ in whole],
        y=list(range(len(whole))), orientation="h", width=0.7, hoverinfo="skip",
        marker={"color": [INK if value >= 0 else PAGE for _, value in whole], "line": {"color": INK, "width": 2}},
    )  # fmt: skip
    made.add_scatter(
        x=[0, 0], y=[-0.6, len(whole) - 0.4], mode="lines", hoverinfo="skip", line={"color": INK, "width": 2}
    )
    joints = [value for row, total in enumerate(totals[1:]) for value in ((total, row), (total, row + 1), (None, None))]
    made.add_scatter(
        x=[None if x is None else round(x, 6) for x, _ in joints], y=[y for _, y in joints], mode="lines",
        hoverinfo="skip", line={"color": INK, "width": 1},
    )  # fmt: skip
    told = [logit(total) for total in totals[1:]]
    for row, text in enumerate(told):
        made.add_annotation(
            text=plotly_text(text), x=1, y=row, xref="paper", yref="y", xanchor="right", showarrow=False,
            xshift=round(room(told, size.token)) + 14, font={"size": size.token, "family": CODE_FONT, "color": INK},
        )  # fmt: skip
    right = round(room(told, size.token)) + 14
    note(made, "running total", size, x=1, y=1, anchor=("right", "bottom"), shift=6)
    made.layout.annotations[-1].xshift = right
    made.update_layout(margin={"r": right + 6})
    low, high = min(0.0, *totals, parts.logit), max(0.0, *totals, parts.logit)
    edge = 0.03 * (high - low) or 1.0
    made.update_xaxes(range=[round(low - edge, 6), round(high + edge, 6)], **hide_axis())
    return made


def _signed(written: str) -> str:
    return written if written.startswith("−") or not written.strip("0.") else f"+{written}"


def sampling(
    candidates: Sequence[Candidate], choice: Choice, distribution: Distribution, size: Sizes, most: int = 15
) -> go.Figure:
    """The chance of each token to be drawn, with the model's own as a mark; what is cut stays as a grey dashed line."""
    shown = candidates[:most]
    own = distribution.probabilities
    gone = [bool(choice.by_top_k[one.entry.id] or choice.by_top_p[one.entry.id]) for one in shown]
    chances = [float(choice.probabilities[one.entry.id]) for one in shown]
    labels = [
        (token_label(one.entry.label, size), "– cut" if away else probability(chance))
        for one, away, chance in zip(shown, gone, chances, strict=True)
    ]
    made = _rows(
        size, "Chance to be drawn. Mark: the model's own.", labels, [GREY if away else INK for away in gone]
    )  # fmt: skip
    made.add_bar(
        x=[round(chance, 6) for chance in chances], y=list(range(len(shown))), orientation="h", width=0.7,
        marker={"color": PROBABILITY, "line": {"width": 0}}, hoverinfo="skip",
    )  # fmt: skip
    models = [float(own[one.entry.id]) for one in shown]
    away = [(value, row) for row, value in enumerate(models) if gone[row]]
    made.add_scatter(
        x=[value for x, _ in away for value in (0.0, round(x, 6), None)],
        y=[value for _, row in away for value in (row, row, None)],
        mode="lines", hoverinfo="skip", line={"color": GREY, "width": size.line, "dash": "dash"},
    )  # fmt: skip
    _vertical(made, away, size, GREY)
    _vertical(made, [(value, row) for row, value in enumerate(models) if not gone[row]], size)
    largest = max([*models, *chances], default=1.0) or 1.0
    made.update_xaxes(range=[0, round(1.03 * largest, 6)], **hide_axis())
    return made


def changes(changes: Sequence[Change], size: Sizes, first_name: str, second_name: str) -> go.Figure:
    """Tokens whose probability differs most after two texts: what loses goes left, what gains goes right."""
    labels = [(token_label(one.entry.label, size), _difference(one.difference)) for one in changes]
    letters = 20 if size.marker > 16 else 30
    first, second = (visible_line(name, letters) for name in (first_name, second_name))
    made = _rows(size, f"From “{first}” to “{second}”: left loses, right gains", labels)
    values = [one.difference for one in changes]
    made.add_bar(
        x=[round(value, 6) for value in values], y=list(range(len(values))), orientation="h", width=0.7,
        marker={"color": PROBABILITY, "line": {"width": 0}}, hoverinfo="skip",
    )  # fmt: skip
    made.add_scatter(
        x=[0, 0], y=[-0.6, max(1, len(values)) - 0.4], mode="lines", hoverinfo="skip", line={"color": INK, "width": 2}
    )
    largest = 1.03 * max((abs(value) for value in values), default=0.0) or 1.0
    low = -largest if any(value < 0 for value in values) else 0.0
    high = largest if any(value > 0 for value in values) or not low else 0.0
    made.update_xaxes(range=[round(low, 6), round(high, 6)], **hide_axis())
    return made


def _difference(value: float) -> str:
    return "0" if value == 0 else f"{'−' if value < 0 else '+'}{probability(abs(value))}"


def surprise(found: Surprise, size: Sizes) -> go.Figure:
    """How unexpected each token of a text is, in the text's order, in nats; of a long text the last tokens."""
    number = len(found.tokens)
    first = max(0, number - MOST_TOKENS)
    part = f" Tokens {count(first + 1)} to {count(number)} of {count(number)}." if first else ""
    tokens, nats = found.tokens.tokens[first:], found.nats[first:]
    labels = [
        (token_label(token.label, size), logit(float(value)) if np.isfinite(value) else "no token before")
        for token, value in zip(tokens, nats, strict=True)
    ]
    made = _rows(size, f"Surprise of each token, in nats.{part}", labels)
    values = np.nan_to_num(nats, posinf=0.0)
    made.add_bar(
        x=np.round(values, 4).tolist(), y=list(range(len(values))), orientation="h", width=0.7,
        marker={"color": INK, "line": {"width": 0}}, hoverinfo="skip",
    )  # fmt: skip
    made.update_xaxes(range=[0, round(1.03 * float(values.max(initial=0.0)), 4) or 1], **hide_axis())
    return made


def ranks(ranks: NDArray[np.int64], size: Sizes, label: str, at: int | None = None) -> go.Figure:
    """The rank of one token at every layer, each step down ten times as far; 1 is at the top.

    ranks: (layer,) from 1. at: the layer that is marked, whose rank stands at the right; the last one without.
    """
    last = len(ranks) - 1
    at = last if at is None else at
    name = token_label(label, size)
    made = figure(size, size.pair - 60, plotly_text(f"The rank of {name} at every layer, 1 at the top"))
    depths = np.log10(ranks)
    made.add_scatter(
        x=list(range(last + 1)), y=np.round(depths, 4).tolist(), mode="lines+markers", hoverinfo="skip",
        cliponaxis=False, line={"color": INK, "width": size.line}, marker={"size": size.marker // 2, "color": INK},
    )  # fmt: skip
    made.add_scatter(
        x=[at], y=[round(float(depths[at]), 4)], mode="markers", hoverinfo="skip", cliponaxis=False,
        marker={"size": size.marker + 4, "color": INK},
    )  # fmt: skip
    deepest = max(1.0, float(depths.max()))
    step = 1 if deepest < 4.5 else 2
    powers = list(range(0, int(deepest) + 1, step))
    _right_labels(made, size, [(-float(depths[at]), f"{count(int(ranks[at]))} at layer {at}")], -deepest, 0.0)
    layer_axis(made, size, last, max(last, 1) * 1.02)
    made.update_yaxes(
        range=[1.04 * deepest, -0.04 * deepest], tickvals=powers, ticktext=[count(10**power) for power in powers],
        fixedrange=True, zeroline=False, gridcolor=RAIL, tickfont={"size": size.text, "color": INK},
    )  # fmt: skip
    made.update_layout(margin={"l": round(room([count(10 ** powers[-1])], size.text)) + 12})
    return made


def position(effect: PositionEffect, size: Sizes) -> go.Figure:
    """How far the last vector moves where its text, or it alone, is counted as standing later.

    The whole text moved is a solid line, the last token alone a dashed one; hollow is what block 1 gets, filled what
    it makes of it.
    """
    made = figure(size, size.pair - 60, "How far does the last vector move, standing later? (share of its length)")
    lines = [
        (name, dash, symbol, values[:, layer])
        for layer, where, symbol in ((1, "after block 1", "circle"), (0, "before block 1", "circle-open"))
        for how, dash, values in (("alone", "dash", effect.apart), ("all together", "solid", effect.together))
        for name in [f"{where}, {how}"]
    ]
    places = list(range(len(effect.offsets)))
    for _, dash, symbol, values in lines:
        made.add_scatter(
            x=places, y=np.round(values, 4).tolist(), mode="lines+markers", hoverinfo="skip", cliponaxis=False,
            line={"color": INK, "width": size.line, "dash": dash},
            marker={"symbol": symbol, "size": size.marker, "color": INK, "line": {"width": 2, "color": INK}},
        )  # fmt: skip
    highest = max(0.1, *(float(values.max()) for *_, values in lines))
    top = float(np.ceil(10 * highest - 1e-9)) / 10
    ends = [
        (float(values[-1]), f"{share(float(values[-1]) if values[-1] > ROUNDING else 0.0)} {name}")
        for name, _, _, values in lines
    ]
    _right_labels(made, size, ends, 0.0, top)
    ticks = [0.0, top / 2, top]
    made.update_xaxes(
        range=[-0.15, max(places[-1], 1) + 0.1], tickvals=places, fixedrange=True, showgrid=False, zeroline=False,
        ticktext=[*(str(one) for one in effect.offsets[:-1]), f"{effect.offsets[-1]} later"],
        tickfont={"size": size.text, "color": INK},
    )  # fmt: skip
    made.update_yaxes(
        range=[-0.04 * top, 1.04 * top], tickvals=ticks, ticktext=[share(tick) for tick in ticks], fixedrange=True,
        zeroline=False, gridcolor=RAIL, tickfont={"size": size.text, "color": INK},
    )  # fmt: skip
    made.update_layout(margin={"l": round(room(["100%"], size.text)) + 10})
    return made


def _right_labels(made: go.Figure, size: Sizes, ends: Sequence[tuple[float, str]], low: float, high: float) -> None:
    """Heights between low and high, with their words in the right margin, spread; an axis down has negative heights."""
    under = size.text + 18
    gap = 1.3 * size.value * 1.08 * (high - low) / (made.layout.height - size.top - under)
    heights = apart([value for value, _ in ends], gap, low)
    for (_, text), height in zip(ends, heights, strict=True):
        made.add_annotation(
            text=f"<b>{plotly_text(text)}</b>", x=1, y=abs(round(height, 5)), xref="paper", yref="y",
            xanchor="left", xshift=size.marker // 2 + 4, showarrow=False, font={"size": size.value, "color": INK},
        )  # fmt: skip
    widest = room([text for _, text in ends], size.value) * 0.9
    made.update_layout(margin={"r": round(widest) + size.marker + 4, "b": under})
