"""The next-token page's figures and tables: they draw any view, say labels verbatim, and keep names apart."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from embedviz import next_token_export as export
from embedviz.figures import next_token as figures
from embedviz.figures import next_token_parts as parts
from embedviz.figures.style import DESK, PROJECTOR, Sizes
from embedviz.next_token import Candidate, Distribution, Sampling
from embedviz.next_token_view import Kind, Line, Moment, NextTokenView, restore
from embedviz.position_effect import PositionEffect
from embedviz.score_parts import ScoreParts
from embedviz.tokens import Entry, Token, Tokens
from embedviz.two_prompts import Change, Surprise

# Markup, mathematics, numbers, twins, spaces, a control character, what is wide, and what is long.
HOSTILE = (" <b>x</b>", "$x$", "12", "12", "1e5", "  ", "\n", "\0", "&amp;", "年😃", "a" * 60, "%{y}")
KINDS: tuple[Kind, ...] = ("none", "way", "two")
BOTH = pytest.mark.parametrize("size", [DESK, PROJECTOR], ids=["desk", "projector"])


def entry(id: int) -> Entry:
    text = HOSTILE[id % len(HOSTILE)]
    return Entry(id, text, text, text.encode(), False, "text")


def text_of(number: int) -> Tokens:
    tokens = tuple(Token(**vars(entry(k)), position=k, start=k, end=k + 1) for k in range(number))
    return Tokens("<b>x</b> $x$", tokens, number)


def shown(kind: Kind, *, best: int = 6, rows: int = 400, scale: float = 1.0, fade: bool = False) -> NextTokenView:
    """A view whose tokens change places on the way, all of them near 0 at its end."""
    steps = {"none": 1, "way": 21, "two": 2}[kind]
    lines = {"none": min(best, 3), "way": min(best, 3), "two": best}[kind]
    chances = [
        [scale * (0.6 if k == 0 else 0.05 / (k + 1)) * (1 - step / 25) for k in range(best)] for step in range(steps)
    ]
    found = tuple(
        Moment(
            f"{step} of the way",
            tuple(Candidate(k + 1, entry(k + step), 1.0 - k, one) for k, one in enumerate(values)),
            tuple(reversed(values)), 1 - sum(values), "<b>x</b>" if step else "", 0.1 * step,
        )
        for step, values in enumerate(chances)
    )  # fmt: skip
    edits = {"none": (), "way": ("0:scale=0.5",) if fade else ('0:slide="<b>"@0.5',), "two": ("0:zero",)}[kind]
    return NextTokenView(
        model="tiny", title="Tiny", tokens=text_of(1), table_rows=rows, kind=kind, edits=edits, at=steps // 2,
        moments=found, lines=tuple(Line(entry(k).label, tuple(c[k] for c in chances)) for k in range(lines)),
        largest=max(map(max, chances)), change="" if kind == "none" else "<b>x</b> to $x$", self_check=0.0, notes=(),
    )  # fmt: skip


def sum_of(products: list[float], bias: float = 0.0) -> ScoreParts:
    values = np.array(products)
    order = np.argsort(-np.abs(values), kind="stable")
    running = np.cumsum(values[order])
    return ScoreParts(entry(0), values, bias, float(values.sum()) + bias, order, running)


def moved(offsets: int) -> PositionEffect:
    values = np.linspace(0, 1.2, offsets)[:, None] * np.array([0, 0.5, 1])
    return PositionEffect(text_of(3), (0, 1, 2, 4, 8, 16, 32, 64)[:offsets], 0 * values, values)


def scores(rows: int) -> tuple[tuple[Candidate, ...], Distribution]:
    found = Distribution(np.linspace(3, 0, rows).astype(np.float32))
    best = [(rank, int(id)) for rank, id in enumerate(found.order(20), start=1)]
    return tuple(
        Candidate(rank, entry(id), float(found.logits[id]), float(found.probabilities[id])) for rank, id in best
    ), found


def surprised(number: int) -> Surprise:
    return Surprise(text_of(number), np.array([np.nan, *np.linspace(0, 9, number - 1)]))


def pairs(size: Sizes) -> Iterator[go.Figure]:
    for kind in KINDS:
        for best, rows in ((1, 1), (6, 6), (12, 400)):
            view = shown(kind, best=best, rows=rows)
            for at in {0, view.at} if best == 6 else {0}:
                yield figures.bars(view, size, height=size.pair_with_chips, at=at, most=6, old=at == 0)
                yield figures.way(view, size, height=size.pair_with_chips, at=at)


def deeper(size: Sizes) -> Iterator[go.Figure]:
    for found in (sum_of([3.0, -2.0, 0.5] * 8), sum_of([1.0], -4.0), sum_of([-1e30, 1e30]), sum_of([0.0, 0.0])):
        yield parts.sum_of_products(found, size)
    for rows in (1, 3, 400):
        best, found = scores(rows)
        for way in (Sampling(), Sampling(0), Sampling(0.5, 2), Sampling(2, 0, 0), Sampling(1e-4), Sampling(1, 1)):
            yield parts.sampling(best, way.choice(found), found, size)
    for change in ([0.2, -0.1, 1e-7], [0.2], [-0.2], [0.0], []):
        told = [Change(entry(k), 0.5, 0.5 + value) for k, value in enumerate(change)]
        yield parts.changes(told, size, "<b>x</b> $x$", "\n")
    for number in (1, 2, 12, 500):
        yield parts.surprise(surprised(number), size)
    for ranks in ([1, 1], [49_152, 1], list(range(1, 33)), [150_000] * 31):
        yield parts.ranks(np.array(ranks), size, "<b>x</b> $x$", at=0)
    for offsets in (1, 2, 8):
        yield parts.position(moved(offsets), size)


def strings(value: Any) -> Iterator[str]:
    """All strings of a figure's JSON."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from strings(one)
    elif isinstance(value, str):
        yield value


def as_json(made: go.Figure) -> dict[str, Any]:
    """The figure as the browser gets it; a NaN in it would be a syntax error there."""

    def refuse(token: str) -> None:
        raise AssertionError(token)

    return json.loads(made.to_json(), parse_constant=refuse)


@BOTH
def test_every_view_and_part_draws_in_the_themes_colours_and_escaped(size: Sizes) -> None:
    for made in [*pairs(size), *deeper(size)]:
        read = as_json(made)
        template = set(strings(read["layout"].pop("template", {})))
        told = list(strings(read))
        assert not [one for one in told if "<b>x" in one or "$x$" in one or "\n" in one or "\0" in one]
        colours = {one for one in told if re.fullmatch("#[0-9A-Fa-f]{3,8}|white|black|rgba?.*", one)}
        assert colours and colours - template <= {*(f"#{k:06d}" for k in range(1, 21)), "rgba(127,127,127,.6)"}
        assert not made.layout.showlegend and made.layout.height > 0


@BOTH
def test_every_frame_holds_every_trace_that_changes_and_bars_are_among_them(size: Sizes) -> None:
    for made in pairs(size):
        if not made.frames:
            continue
        assert len({(len(frame.data), tuple(frame.traces)) for frame in made.frames}) == 1
        assert all(len(frame.data) == len(frame.traces) for frame in made.frames)
        for place, trace in enumerate(made.data):
            # Without redrawing, Plotly drops bars that a frame leaves out.
            assert trace.type != "bar" or all(place in frame.traces for frame in made.frames)
    assert len(figures.way(shown("way"), size, height=350, at=3).frames) == 21


@BOTH
@pytest.mark.parametrize("at", [0, 10, 20])
def test_a_frame_is_what_the_figure_opens_on(size: Sizes, at: int) -> None:
    view = shown("way")
    bars = figures.bars(view, size, height=350, at=at, most=6)
    assert as_json(go.Figure(bars.frames[at].data))["data"] == as_json(go.Figure(bars.data))["data"]
    way = figures.way(view, size, height=350, at=at)
    opening = [way.data[k] for k in way.frames[at].traces]
    assert as_json(go.Figure(way.frames[at].data))["data"] == as_json(go.Figure(opening))["data"]


def test_equal_and_numeric_labels_keep_their_own_bars() -> None:
    made = figures.bars(shown("none", best=12), DESK, height=350, at=0, most=12)
    bar, _, words, rest = made.data
    assert len(set(bar.y)) == len(bar.x) == len(words.text) == 12
    assert [text.split("  <b>")[0] for text in words.text[:5]] == [
        "␣&lt;b&gt;x&lt;/b&gt;",
        "&#36;x&#36;",
        "12",
        "12",
        "1e5",
    ]
    assert words.y == bar.y and all(text for text in words.text)
    assert rest.text[0].startswith("388 other tokens share ")


def test_bars_and_marks_are_the_probabilities() -> None:
    view = shown("two")
    bar, marks, words, rest = figures.bars(view, DESK, height=350, at=1, most=5).data
    best = view.moments[1].best
    assert bar.x == tuple(round(one.probability, 6) for one in best[:5])
    assert marks.x[::3] == pytest.approx(view.moments[1].unedited[:5], abs=1e-6)
    # What is not drawn is among the others: their share and number grow.
    left = 1 - sum(one.probability for one in best[:5])
    assert rest.text[0] == f"395 other tokens share {left:.3f}".replace("0.", ".")
    assert words.text[0].endswith("<b>.576</b>")
    assert figures.bars(shown("none"), DESK, height=350, at=0, most=5).data[1].x in (None, ())
    one = figures.bars(shown("none", best=1, rows=2), DESK, height=350, at=0, most=5).data[3]
    assert one.text[0] == "1 other token shares .400"
    assert figures.bars(shown("none", best=1, rows=1), DESK, height=350, at=0, most=5).data[3].text[0] == ""


def test_the_bars_scale_is_that_of_the_whole_way() -> None:
    view = shown("way")
    ends = {figures.bars(view, DESK, height=350, at=at, most=6).layout.xaxis.range for at in (0, 20)}
    assert len(ends) == 1 and next(iter(ends))[1] == pytest.approx(1.03 * view.largest, abs=1e-5)


def title(made: go.Figure) -> str:
    return str(made.layout.annotations[0].text)


def test_titles() -> None:
    def told(view: NextTokenView, old: bool = False) -> tuple[str, str]:
        return (
            title(figures.bars(view, DESK, height=350, at=0, most=5, old=old)),
            title(figures.way(view, DESK, height=350, at=0)),
        )

    edited = "What comes next? Bar: edited. Mark: unedited."
    way = "The whole way from &lt;b&gt;x&lt;/b&gt; to &#36;x&#36;"
    assert told(shown("way"), old=True) == (f"{edited} (for: &lt;b&gt;x&lt;/b&gt; &#36;x&#36;)", way)
    assert told(shown("way", fade=True)) == (edited, "The whole way down to zero")
    assert told(shown("two")) == (edited, "Before and after")
    assert told(shown("none")) == ("What comes next?", " ")
    empty = figures.way(shown("none"), DESK, height=350, at=0)
    assert empty.data[-1].text == ("Choose a token and an edit.",)


@BOTH
@pytest.mark.parametrize("kind", ["way", "two"])
@pytest.mark.parametrize("scale", [1.0, 0.3, 0.01, 0.0])
@pytest.mark.parametrize("note", [0, 120])
def test_values_at_the_right_are_never_closer_than_1_2_lines(size: Sizes, kind: Kind, scale: float, note: int) -> None:
    made = figures.way(shown(kind, scale=scale), size, height=size.pair_with_chips - note, at=1)
    low, high = made.layout.yaxis.range
    # Plotly's hidden slider takes 26 pixels, the margins the rest.
    pixels = made.layout.height - made.layout.margin.t - made.layout.margin.b - 26
    drawn = [trace for frame in made.frames for trace in frame.data if trace.mode == "text"]
    drawn += [trace for trace in made.data if trace.mode == "text"]
    assert drawn
    for trace in drawn:
        heights = sorted(trace.y)
        assert all((b - a) * pixels / (high - low) >= 1.2 * size.value for a, b in pairwise(heights))
        assert low <= heights[0] and heights[-1] <= high


def test_low_lines_get_a_scale_that_a_back_row_can_read() -> None:
    tops = [figures.way(shown("way", scale=k), DESK, height=350, at=0).layout.yaxis.ticktext for k in (1, 0.5, 0.1)]
    assert tops == [("0", ".5", "1"), ("0", ".25", ".5"), ("0", ".05", ".1")]


def test_a_sum_is_a_chain_that_ends_at_the_logit() -> None:
    found = sum_of([3.0, -2.0, 0.5, 0.25, -0.125], bias=1.0)
    bar = parts.sum_of_products(found, DESK, most=3).data[0]
    assert bar.base == (0.0, 3.0, 1.0, 1.5, 1.625, 0.0)
    assert bar.x == (3.0, -2.0, 0.5, 0.125, 1.0, found.logit) and found.logit == 2.625
    told = [one.text for one in parts.sum_of_products(found, DESK, most=3).layout.annotations]
    assert "coordinate 1  <b>−2.00</b>" in told and "and 2 more  <b>+0.12</b>" in told and "bias  <b>+1.00</b>" in told
    assert len(set(parts.sum_of_products(found, DESK).data[0].marker.color)) == 2
    assert not [one.text for one in parts.sum_of_products(sum_of([1.0]), DESK).layout.annotations if "bias" in one.text]


def test_cut_tokens_stay_in_grey_and_say_so() -> None:
    best, found = scores(10)
    made = parts.sampling(best, Sampling(1, 4).choice(found), found, DESK)
    words = [one for one in made.layout.annotations if "<b>" in one.text]
    assert ["cut" in one.text for one in words] == [False] * 4 + [True] * 6
    assert {one.font.color for one in words[4:]} == {parts.GREY} and {one.font.color for one in words[:4]} == {
        parts.INK
    }
    bar, dashed = made.data[:2]
    assert bar.x[4:] == (0,) * 6 and sum(bar.x) == pytest.approx(1, abs=1e-5)
    assert dashed.line.dash == "dash" and len(dashed.x) == 18


def test_losses_go_left_and_gains_right() -> None:
    made = parts.changes([Change(entry(2), 0.5, 0.2), Change(entry(3), 0.1, 0.1 + 1e-5)], DESK, "one", "two")
    assert made.data[0].x == (-0.3, 1e-5)
    assert title(made) == "From “one” to “two”: left loses, right gains"
    assert [one.text for one in made.layout.annotations[1:]] == ["12  <b>−.300</b>", "12  <b>+&lt;.001</b>"]


def test_the_first_token_has_no_surprise_and_long_texts_are_cut() -> None:
    told = [one.text for one in parts.surprise(surprised(3), DESK).layout.annotations]
    assert told[1].endswith("<b>no token before</b>") and told[3].endswith("<b>9.00</b>")
    long = parts.surprise(surprised(500), DESK)
    assert len(long.data[0].x) == 40 and title(long).endswith("Tokens 461 to 500 of 500.")


def test_rank_1_is_at_the_top() -> None:
    made = parts.ranks(np.array([10_000, 100, 1]), DESK, "x", at=1)
    assert made.data[0].y == (4, 2, 0)
    assert made.layout.yaxis.range[0] > made.layout.yaxis.range[1]
    assert made.layout.annotations[1].text == "<b>100 at layer 1</b>" and made.layout.annotations[1].y == 2


def test_tables_hold_every_number_in_full() -> None:
    view = restore()
    moment = export.moment_table(view, 13)
    assert list(moment.columns) == ["rank", "id", "text", "logit", "probability", "unedited"]
    assert moment.text[0] == "␣Berlin" and moment.probability[0] == view.moments[13].best[0].probability
    assert "unedited" not in export.candidates_table(view.moments[0].best)
    way = export.way_table(view)
    assert len(way) == 3 * 21 and way.probability[13] == view.lines[0].probabilities[13]
    found = sum_of([3.0, -2.0, 0.5], bias=1.0)
    summed = export.parts_table(found)
    assert summed["coordinate"].tolist()[:3] == [0, 1, 2] and summed["coordinate"].isna().tolist() == [False] * 3 + [
        True
    ]
    assert summed["product"].sum() == summed["running total"].iloc[-1] == found.logit
    changed = export.changes_table([Change(entry(2), 0.5, 0.25)])
    assert changed.to_dict("records") == [{"id": 2, "text": "12", "first": 0.5, "second": 0.25, "difference": -0.25}]
    heard = export.surprise_table(surprised(3))
    assert np.isnan(heard.surprise[0]) and heard.surprise.tolist()[1:] == [0, 9]
    assert export.ranks_table(np.array([5, 1])).to_dict("list") == {"layer": [0, 1], "rank": [5, 1]}
    place = export.position_table(moved(2))
    assert place["places later"].tolist() == [0, 0, 0, 1, 1, 1] and place["alone"].tolist()[3:] == [0, 0.6, 1.2]
