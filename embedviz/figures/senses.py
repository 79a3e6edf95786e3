"""The senses page's pair: the uses of a word as points at one layer, and how alike they are at every layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from embedviz.context_measures import Labels, labels
from embedviz.figures.style import CODE_FONT, GREY, GROUPS, INK, PAGE, RAIL, Sizes, cut, figure, moments
from embedviz.numbers import count, decimal
from embedviz.safe_text import plotly_text
from embedviz.senses_view import EDGE, MOST_CLUES, WIDE, SensesView

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
# Plotly knows fewer symbols in space than on paper.
SYMBOLS_3D = ("circle", "square", "diamond", "diamond-open", "cross", "x")
# A name is tried beside so many of its points.
MOST_TRIED = 20
Numbers = NDArray[np.floating]
# Centre, half width, half height.
Box = tuple[float, float, float, float]


def colour_and_symbol(group: int | None, *, space: bool = False) -> tuple[str, str]:
    """How a sense is drawn, by its place among the drawn ones; None for those without a hue of their own."""
    if group is None:
        return GREY, "circle"
    return GROUPS[group], (SYMBOLS_3D if space else SYMBOLS)[group]


def hues(named: Labels) -> dict[str, int]:
    """The senses that have a hue, the largest six in order of appearance, each with its place among them."""
    counts = named.counts
    largest = sorted(range(len(counts)), key=lambda k: -counts[k])[: len(GROUPS)]
    return {named.names[k]: place for place, k in enumerate(sorted(largest))}


def groups(shown: SensesView) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """The senses that have a hue, in order of appearance, and each use's place among them or −1."""
    named = labels(shown.senses)
    hue = hues(named)
    place = np.array([*(hue.get(name, -1) for name in named.names), -1])
    return tuple(hue), place[named.codes]


def picture(
    shown: SensesView,
    size: Sizes,
    *,
    at: int,
    title: str = "",
    ringed: Sequence[int] = (),
    extra: Mapping[str, Numbers] | None = None,
    guess: Numbers | None = None,
) -> go.Figure:
    """Every use at one layer, one frame a layer, with the star of the table row.

    ringed: up to two uses whose paths through the layers are drawn. extra: names of other points with their places
    (layer, component). guess: places (layer, component) of a new sentence's use.
    """
    uses = len(shown.occurrences)
    height = size.pair
    words = title or f"{count(uses)} {'use' if uses == 1 else 'uses'} of {shown.word}, and the table row"
    made = figure(size, height, plotly_text(words))
    limit = shown.projection.edge or 1.0
    frames = [
        _layer(shown, size, layer, limit, extra or {}, guess, ringed) for layer in range(len(shown.layers))
    ]  # fmt: skip
    for number, use in enumerate(ringed):
        path = _inside(shown.projection.coordinates[1:, use, :2], limit)[0]
        made.add_scatter(
            x=np.round(path[:, 0], 4), y=np.round(path[:, 1], 4), mode="lines", hoverinfo="skip", opacity=0.6,
            line={"color": INK, "width": 1.5, "dash": "solid" if number == 0 else "dot"},
        )  # fmt: skip
    first = len(made.data)
    made.add_traces([go.Scatter(**trace) for trace in frames[at]])
    changing = list(range(first, len(made.data)))
    moments(made, [[go.Scatter(**trace) for trace in frame] for frame in frames], changing, at)
    box = {"showgrid": False, "zeroline": False, "showticklabels": False, "ticks": "", "showline": True,
           "mirror": True, "linecolor": RAIL, "fixedrange": True, "constrain": "domain"}  # fmt: skip
    made.update_xaxes(range=[-limit * WIDE, limit * WIDE], **box)
    made.update_yaxes(range=[-limit, limit], scaleanchor="x", **box)
    return made


def _inside(places: Numbers, limit: float) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Places with those beyond the edge put on it, and which these are."""
    bounds = np.array([limit * WIDE, limit]) * EDGE
    inside = np.clip(places, -bounds, bounds)
    return np.asarray(inside, dtype=np.float64), np.asarray((np.abs(places) > bounds).any(axis=-1))


def _layer(
    shown: SensesView, size: Sizes, layer: int, limit: float, extra: Mapping[str, Numbers], guess: Numbers | None,
    ringed: Sequence[int],
) -> list[dict[str, Any]]:  # fmt: skip
    """The traces of one layer, always the same in number and order."""
    names, place = groups(shown)
    points, beyond = _inside(shown.projection.coordinates[layer, :, :2], limit)
    apart = layer > 0 and layer >= (shown.parting or 0)
    traces = []
    for group in [*range(len(names)), None]:
        inside = np.flatnonzero(place == (-1 if group is None else group))
        colour, symbol = colour_and_symbol(group)
        traces.append(
            {
                "x": np.round(points[inside, 0], 4), "y": np.round(points[inside, 1], 4), "mode": "markers",
                "marker": {"size": size.marker, "color": colour, "opacity": 0.9, "line": {"width": 1, "color": PAGE},
                           "symbol": [symbol + ("-open" if beyond[k] else "") for k in inside]},
                "text": [plotly_text(cut(shown.occurrences[k].sentence, 90)) for k in inside],
                "customdata": inside, "hovertemplate": "%{text}<extra></extra>",
            }
        )  # fmt: skip
    traces.append(_star(shown, size, layer))
    pixel = 2 * limit / (size.pair - size.top - 38)
    clues = _clues(shown, size, layer, points, place, pixel, shown_now=apart)
    traces.append(clues)
    words = [
        *_boxes(clues, size, pixel),
        (0.0, -1.5 * size.text * pixel, 5 * size.text * pixel, 2.5 * size.text * pixel),
    ]
    traces.append(
        _names(names, size, points, place, pixel, limit, words, shown_now=apart or (layer > 0 and not shown.parting))
    )
    traces.append(_extra(size, layer, limit, extra))
    traces.append(_rings(size, layer, limit, points, ringed, guess))
    return traces


def _star(shown: SensesView, size: Sizes, layer: int) -> dict[str, Any]:
    """The table row: filled at layer 0, hollow where it only marks the place that all uses started from."""
    star = size.marker + 8 if size.marker < 16 else 32
    text = f"all {count(len(shown.occurrences))} on the table row" if layer == 0 and shown.rows == 1 else "table row"
    return {
        "x": [0], "y": [0], "mode": "markers+text", "text": [text], "textposition": "bottom center",
        "textfont": {"size": size.text, "color": INK}, "hoverinfo": "skip",
        "marker": {"size": star, "symbol": "star" if layer == 0 else "star-open", "color": INK,
                   "line": {"width": 2, "color": INK}},
    }  # fmt: skip


def _clues(
    shown: SensesView, size: Sizes, layer: int, points: Numbers, place: NDArray[np.int64], pixel: float,
    *, shown_now: bool,
) -> dict[str, Any]:  # fmt: skip
    """The clue word beside each point, on the side away from the star; how many where several share one place."""
    tell = shown_now and len(shown.occurrences) <= MOST_CLUES
    texts = [cut(clue, 16) if tell else "" for clue in shown.clues]
    for first, uses in (shown.sharing(layer) if layer else {}).items():
        for use in uses:
            texts[use] = ""
        senses = list(dict.fromkeys(shown.senses[use] for use in uses))
        told = f": {', '.join(cut(one or 'no sense', 16) for one in senses)}" if len(senses) > 1 else ""
        clue = f"{cut(shown.clues[first], 16)} " if tell and not told and shown.clues[first] else ""
        texts[first] = f"{clue}×{len(uses)}{told}"
    heights = points[:, 1].astype(float)
    left = points[:, 0] < 0
    for side in (left, ~left):
        order = [k for k in np.argsort(-heights) if side[k] and texts[k]]
        for above, below in pairwise(order):
            # Words stand at least a line apart where they would meet.
            near = abs(points[above, 0] - points[below, 0]) < 9 * size.text * pixel
            if near and heights[above] - heights[below] < 1.2 * size.text * pixel:
                heights[below] = heights[above] - 1.2 * size.text * pixel
    told_in_ink = {k for k, text in enumerate(texts) if ": " in text}
    # A word that would cross the frame stands on the other side.
    wide = np.array([0.55 * len(text) * size.text + size.marker for text in texts]) * pixel
    edge = (shown.projection.edge or 1.0) * WIDE
    left = np.where(left, points[:, 0] - wide > -edge, points[:, 0] + wide > edge)
    colours = [colour_and_symbol(None if group < 0 else int(group))[0] for group in place]
    return {
        "x": np.round(points[:, 0], 4), "y": np.round(heights, 4), "mode": "markers+text", "hoverinfo": "skip",
        "text": [plotly_text(text) for text in texts], "marker": {"size": size.marker + 6, "opacity": 0},
        "textposition": ["middle left" if one else "middle right" for one in left],
        "textfont": {"size": size.text, "color": [INK if k in told_in_ink else one for k, one in enumerate(colours)]},
    }  # fmt: skip


def _names(
    names: Sequence[str], size: Sizes, points: Numbers, place: NDArray[np.int64], pixel: float, limit: float,
    words: Sequence[Box], *, shown_now: bool,
) -> dict[str, Any]:  # fmt: skip
    """The senses' names beside their points: on no other name, nearer to their own points than to others, on none."""
    font = 20 if size.marker < 16 else 32
    taken: list[Box] = []
    mark = 0.5 * size.marker * pixel
    marks = [*((float(x), float(y), mark, mark) for x, y in points), *words]
    xs, ys = [], []
    for group, name in enumerate(names):
        members = points[(place == group) & np.isfinite(points).all(axis=1)]
        if not len(members):  # none of its uses has a place at this layer
            xs.append(0.0)
            ys.append(2 * limit)
            continue
        half_wide, half_high = 0.3 * len(name) * font * pixel, 0.65 * font * pixel
        middle = np.median(members, axis=0)
        up, aside = half_high + 0.9 * size.marker * pixel, half_wide + 0.9 * size.marker * pixel
        around = [(0, up), (0, -up), (aside, 0), (-aside, 0)]
        tries = [(x + dx, y + dy) for x, y in (middle, *members[:MOST_TRIED]) for dx, dy in around]
        # Where all of these are taken, just above or below another name.
        tries += [(middle[0], y + side * (half_high + high) * 1.001) for _, y, _, high in taken for side in (1, -1)]
        room = np.array([limit * WIDE - half_wide, limit - half_high])
        boxes = [(*np.clip(place, -room, room).tolist(), half_wide, half_high) for place in tries]
        others = points[(place != group) & np.isfinite(points).all(axis=1)]

        def worse(box: Box, members: Numbers = members, others: Numbers = others, middle: Numbers = middle) -> Any:
            at = np.array(box[:2])
            stray = len(others) and np.hypot(*(others - at).T).min() < np.hypot(*(members - at).T).min()
            return _meets(box, taken), bool(stray), _meets(box, marks), float(np.hypot(*(at - middle)))

        taken.append(min(boxes, key=worse))
        xs.append(round(taken[-1][0], 4))
        ys.append(round(taken[-1][1], 4))
    return {
        "x": xs, "y": ys, "mode": "text", "hoverinfo": "skip",
        "text": [plotly_text(cut(name, 18)) if shown_now else "" for name in names],
        "textfont": {"size": font, "color": [GROUPS[group] for group in range(len(names))], "weight": 700},
    }  # fmt: skip


def _meets(box: Box, others: Sequence[Box]) -> int:
    """How many boxes meet one."""
    x, y, wide, high = box
    return sum(abs(x - ox) < wide + ow and abs(y - oy) < high + oh for ox, oy, ow, oh in others)


def _boxes(labels: Mapping[str, Any], size: Sizes, pixel: float) -> list[Box]:
    """The boxes that the words beside the points take."""
    found = []
    for x, y, text, side in zip(labels["x"], labels["y"], labels["text"], labels["textposition"], strict=True):
        wide = 0.29 * len(text) * size.text * pixel
        centre = float(x) + (-1 if "left" in side else 1) * (wide + 0.6 * size.marker * pixel)
        found += [(centre, float(y), wide, 0.6 * size.text * pixel)] if text else []
    return found


def _extra(size: Sizes, layer: int, limit: float, extra: Mapping[str, Numbers]) -> dict[str, Any]:
    """Other words' points, in ink and hollow: they have no sense."""
    places = np.array([places[layer, :2] for places in extra.values()], dtype=float).reshape(-1, 2)
    inside, _ = _inside(places, limit)
    return {
        "x": np.round(inside[:, 0], 4), "y": np.round(inside[:, 1], 4), "mode": "markers+text", "hoverinfo": "skip",
        "text": [plotly_text(cut(name, 16)) for name in extra], "textposition": "top center",
        "textfont": {"size": size.text, "color": INK, "family": CODE_FONT},
        "marker": {"size": size.marker - 2, "symbol": "diamond-open", "color": INK, "line": {"width": 2, "color": INK}},
    }  # fmt: skip


def _rings(
    size: Sizes, layer: int, limit: float, points: Numbers, ringed: Sequence[int], guess: Numbers | None
) -> dict[str, Any]:
    """Rings round the chosen uses, and the ring of a new sentence's use."""
    places, side = points[list(ringed)].reshape(-1, 2), "bottom center"
    if guess is not None:
        new = _inside(guess[None, layer, :2], limit)[0]
        places = np.concatenate([places, new])
        side = _free_side(new[0] - points, size, 2 * limit / (size.pair - size.top - 38))
    texts = [""] * len(ringed) + ["your sentence"] * (guess is not None)
    return {
        "x": np.round(places[:, 0], 4), "y": np.round(places[:, 1], 4), "mode": "markers+text", "hoverinfo": "skip",
        "text": texts, "textposition": side, "textfont": {"size": size.text, "color": INK, "weight": 700},
        "marker": {"size": size.marker + 10, "symbol": "circle-open", "color": INK,
                   "line": {"width": size.line, "color": INK}},
    }  # fmt: skip


def _free_side(away: Numbers, size: Sizes, pixel: float) -> str:
    """The side of a point on which `your sentence` meets the fewest others. away: the point less each other."""
    x, y = away.T / pixel
    wide, high = 14 * size.text * 0.5, 1.6 * size.text
    meets = {
        "bottom center": (np.abs(x) < wide / 2) & (y > 0) & (y < 2 * high),
        "top center": (np.abs(x) < wide / 2) & (y < 0) & (y > -2 * high),
        "middle left": (np.abs(y) < high) & (x > 0) & (x < wide + high),
        "middle right": (np.abs(y) < high) & (x < 0) & (x > -wide - high),
    }
    return min(meets, key=lambda side: int(meets[side].sum()))


def picture_in_space(
    shown: SensesView, size: Sizes, *, at: int, title: str = "", guess: Numbers | None = None
) -> go.Figure:
    """The same in three dimensions, turned by dragging; the star of the row stands in the middle."""
    uses = len(shown.occurrences)
    made = figure(size, size.pair, plotly_text(title or f"{count(uses)} uses of {shown.word}, in 3D: drag to turn"))
    names, place = groups(shown)
    limit = shown.projection.edge or 1.0

    def traces(layer: int) -> list[go.Scatter3d]:
        places = np.clip(shown.projection.coordinates[layer], -limit, limit)
        drawn = []
        for group in [*range(len(names)), None]:
            inside = np.flatnonzero(place == (-1 if group is None else group))
            colour, symbol = colour_and_symbol(group, space=True)
            text = [""] * len(inside)
            if group is not None and len(inside) and layer:
                text[int(np.argmax(places[inside, 2]))] = plotly_text(cut(names[group], 18))
            drawn.append(
                go.Scatter3d(
                    x=np.round(places[inside, 0], 4), y=np.round(places[inside, 1], 4),
                    z=np.round(places[inside, 2], 4), mode="markers+text", hoverinfo="skip", text=text,
                    textfont={"size": 18 if size.marker < 16 else 26, "color": colour},
                    marker={"size": size.marker // 2, "color": colour, "symbol": symbol, "opacity": 0.9},
                )
            )  # fmt: skip
        new = np.zeros((0, 3)) if guess is None else np.clip(guess[None, layer], -limit, limit)
        drawn.append(
            go.Scatter3d(
                x=[0, *np.round(new[:, 0], 4)], y=[0, *np.round(new[:, 1], 4)], z=[0, *np.round(new[:, 2], 4)],
                mode="markers+text", hoverinfo="skip", text=["table row", *["your sentence"] * len(new)],
                textfont={"size": size.text, "color": INK},
                marker={"size": size.marker // 2 + 2, "color": INK,
                        "symbol": ["diamond", "circle-open"][: 1 + len(new)]},
            )
        )  # fmt: skip
        return drawn

    made.add_traces(traces(at))
    moments(made, [traces(layer) for layer in range(len(shown.layers))], list(range(len(names) + 2)), at)
    axis = {"range": [-limit, limit], "showticklabels": False, "title": "", "showbackground": False, "gridcolor": RAIL}
    made.update_layout(
        scene={"xaxis": axis, "yaxis": axis, "zaxis": axis, "aspectmode": "cube", "dragmode": "orbit"},
        dragmode="orbit",
    )
    return made


LINES = (("same sense", "solid"), ("other sense", "dash"), ("random pair", "dot"))


def curve(shown: SensesView, size: Sizes, *, at: int) -> go.Figure:
    """How alike two uses are at every layer: same sense, other sense, and two random words."""
    made = figure(size, size.pair, "How alike are two uses? (cosine)")
    one_sense = not np.isfinite(shown.between).any()
    values = (shown.any_two if one_sense and not np.isfinite(shown.within).any() else shown.within, shown.between)
    lines = [(name, dash, line) for (name, dash), line in zip(LINES, (*values, shown.random), strict=True)]
    if not np.isfinite(shown.within).any():
        lines[0] = ("two uses", "solid", values[0])
    lines = [line for line in lines if np.isfinite(line[2]).any()]
    last = len(shown.layers) - 1
    low = min(0.0, *(float(np.nanmin(line)) for _, _, line in lines))
    for _, dash, line in lines:
        made.add_scatter(
            x=list(range(last + 1)), y=np.round(line, 4), mode="lines", hoverinfo="skip",
            line={"color": INK, "width": size.line, "dash": dash},
        )  # fmt: skip
    right = last * (1.68 if size.marker > 16 else 1.47)

    def moment(layer: int) -> list[go.Scatter]:
        ends = [float(line[layer]) for _, _, line in lines[:2]] if not one_sense else [float(lines[0][2][layer])] * 2
        texts = [f"<b>{decimal(float(line[layer]))} {name}</b>" for name, _, line in lines]
        heights = spread(
            [float(line[layer]) for _, _, line in lines], 1.3 * size.value / (size.pair - 90) * (1.05 - low)
        )
        return [
            go.Scatter(
                x=[layer, layer], y=np.round(ends, 4), mode="lines+markers", hoverinfo="skip",
                line={"width": 2 * size.line, "color": INK}, marker={"size": size.marker - 3, "color": INK},
            ),
            go.Scatter(
                x=[right] * len(lines), y=np.round(heights, 4), mode="text", text=texts, hoverinfo="skip",
                textposition="middle left", textfont={"size": size.value, "color": INK},
            ),
        ]  # fmt: skip

    made.add_traces(moment(at))
    moments(made, [moment(layer) for layer in range(last + 1)], [len(lines), len(lines) + 1], at)
    layer_axis(made, size, last, right)
    ticks = [0.0, 0.5, 1.0] if low > -0.3 else [-0.5, 0.0, 0.5, 1.0]
    made.update_yaxes(
        range=[low, 1.05], tickvals=ticks, ticktext=[decimal(tick) for tick in ticks], fixedrange=True,
        zeroline=False, gridcolor=RAIL, tickfont={"size": size.text, "color": INK},
    )  # fmt: skip
    made.update_layout(margin={"l": 3 * size.text})
    return made


def layer_axis(made: go.Figure, size: Sizes, last: int, right: float) -> None:
    """Layers along the bottom: at most five ticks, the last one named."""
    step = next(step for step in (1, 2, 5, 10, 20, 50) if last / step <= 4)
    ticks = [k for k in range(0, last, step) if last - k >= step / 2] + [last]
    made.update_xaxes(
        range=[-0.02 * right, right], tickvals=ticks, ticktext=[*(str(k) for k in ticks[:-1]), f"layer {last}"],
        fixedrange=True, showgrid=False, zeroline=False, tickfont={"size": size.text, "color": INK},
    )  # fmt: skip


def spread(values: Sequence[float], gap: float) -> list[float]:
    """Heights for labels of some values: in their order, at least `gap` apart."""
    heights = list(values)
    order = sorted((k for k in range(len(values)) if np.isfinite(values[k])), key=lambda k: -values[k])
    for above, below in pairwise(order):
        heights[below] = min(heights[below], heights[above] - gap)
    return heights
