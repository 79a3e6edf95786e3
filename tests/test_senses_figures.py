"""The senses page's figures at every size of input: they draw, say things verbatim, and keep names apart."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from numpy.typing import NDArray

from embedviz.context_measures import explainable_variance, labels, self_similarity, similarity_matrix
from embedviz.figures import senses as figures
from embedviz.figures import senses_parts as parts
from embedviz.figures.style import (
    DESK,
    GREY,
    GROUPS,
    LIGHT,
    LIGHT_SEQUENTIAL,
    PAGE,
    PROJECTOR,
    SEQUENTIAL,
    Sizes,
    for_file,
)
from embedviz.nearest_sense import Moved, guess, leave_one_out, on_second_set, what_moved
from embedviz.occurrences import Occurrence
from embedviz.projection.aligned import aligned_pca
from embedviz.senses import by_layer
from embedviz.senses_view import SensesView

LAYERS, DIMENSIONS = 6, 16
EIGHT = ("river", "money", "<b>x</b>", "$x$", "tilt", "row", "store", "trust in someone for a long time")
Vectors = NDArray[np.float32]


def vectors_of(senses: Sequence[str | None], seed: int = 0) -> Vectors:
    """(occurrence, layer, dimension) one row for all at layer 0, then ever farther apart by sense."""
    random = np.random.default_rng(seed)
    centres = {name: random.normal(size=DIMENSIONS) for name in dict.fromkeys(senses)}
    steps = np.arange(LAYERS) / LAYERS
    apart = np.array([centres[name] + random.normal(0, 0.5, DIMENSIONS) for name in senses]).reshape(-1, DIMENSIONS)
    return (1 + steps[None, :, None] * apart[:, None]).astype(np.float32)


def dealt(uses: int, senses: int) -> list[str | None]:
    return [EIGHT[k % senses] if senses else None for k in range(uses)]


def shown(
    senses: Sequence[str | None], components: int = 2, seed: int = 0, vectors: Vectors | None = None
) -> SensesView:
    vectors = vectors_of(senses, seed) if vectors is None else vectors
    measures = by_layer(vectors, senses)
    missing = np.full(LAYERS, np.nan)
    return SensesView(
        model="tiny", title="Tiny", word="bank <b>x</b>", layers=tuple(f"block {k}" for k in range(LAYERS)),
        occurrences=tuple(Occurrence(f"{k}: <b>x</b> $x$ bank", 16, 20, name) for k, name in enumerate(senses)),
        within=measures.similarity.within, between=measures.similarity.between, any_two=measures.self_similarity,
        random=np.linspace(0.1, 0.6, LAYERS), row_cosine=missing, accuracy=measures.accuracy.by_layer,
        chance=measures.accuracy.chance, best_layer=measures.best_layer, parting=1, parting_reason="",
        projection=aligned_pca(vectors, components=components, start=LAYERS - 1, groups=senses),
        clues=("<b>x</b>",) * len(senses), rows=1, pieces=(),
    )  # fmt: skip


def drawn(senses: Sequence[str | None], size: Sizes, vectors: Vectors | None = None) -> Iterator[go.Figure]:
    """Every figure of the page that some uses have."""
    vectors = vectors_of(senses) if vectors is None else vectors
    opening, named = shown(senses, vectors=vectors), labels(senses)
    yield figures.picture(opening, size, at=1, ringed=range(min(2, len(senses))))
    yield figures.picture_in_space(shown(senses, 3, vectors=vectors), size, at=1)
    yield figures.curve(opening, size, at=1)
    yield parts.matrix(similarity_matrix(vectors[:, 2], senses), size, layer=2, baseline=0.2, named=named)
    right = leave_one_out(vectors, senses)
    yield parts.accuracy(right, size, at=3, second=on_second_set(vectors, senses, vectors, senses))
    yield parts.context(self_similarity(vectors), explainable_variance(vectors), size)
    new = vectors_of(["new"], 1)[0]
    yield parts.guess(guess(vectors, senses, new), size, named=named)
    sense = senses[0] if senses else None
    moved = what_moved(vectors, senses, sense, new, np.stack([new, 2 * new + vectors_of(["other"], 2)[0]]))
    yield parts.moved(moved, ["<b>x</b>", "$x$"], size, layer=2, sense=sense, word="bank", before=1)


def strings(value: Any) -> Iterator[str]:
    """All strings of a figure's JSON."""
    if isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)
    elif isinstance(value, str):
        yield value


def as_json(made: go.Figure) -> dict[str, Any]:
    """The figure as the browser gets it; a NaN in it would be a syntax error there."""

    def refuse(token: str) -> None:
        raise AssertionError(token)

    return json.loads(made.to_json(), parse_constant=refuse)


CASES = [(0, 0), (1, 0), (1, 1), (2, 2), (5, 0), (5, 1), (15, 5), (24, 8), (500, 3)]


@pytest.mark.parametrize("size", [DESK, PROJECTOR], ids=["desk", "projector"])
@pytest.mark.parametrize(("uses", "senses"), CASES)
def test_every_number_of_uses_and_senses_draws(uses: int, senses: int, size: Sizes) -> None:
    given = dealt(uses, senses)
    for made in drawn(given, size):
        read = as_json(made)
        told = list(strings({"data": read["data"], "layout": read["layout"], "frames": read.get("frames", [])}))
        assert not [one for one in told if "<b>x</b>" in one or "$x$" in one]
        colours = [one for one in told if re.fullmatch("#[0-9A-Fa-f]{3,8}|white|black|rgba?.*", one)]
        known = {*(f"#{k:06d}" for k in range(1, 21)), "rgba(127,127,127,.6)"}
        template = set(strings(read["layout"].get("template", {})))
        assert colours and set(colours) - template <= known
        changing = [len(frame["data"]) for frame in read.get("frames", [])]
        assert len(set(changing)) <= 1
        assert all(frame["traces"][-1] < len(read["data"]) for frame in read.get("frames", []))
        assert not made.layout.showlegend


def test_typed_text_stands_there_as_it_was_typed() -> None:
    given = dealt(24, 8)
    told = "".join(one for made in drawn(given, DESK) for one in strings(as_json(made)))
    assert "&lt;b&gt;x&lt;/b&gt;" in told and "&#36;x&#36;" in told


def test_vectors_without_a_direction_are_left_out() -> None:
    given = dealt(10, 2)
    vectors = vectors_of(given).copy()
    vectors[0], vectors[3, 2] = np.nan, 0
    for made in drawn(given, DESK, vectors):
        as_json(made)
    found = similarity_matrix(vectors[:, 2], given)
    assert len(parts.matrix(found, DESK, layer=2, baseline=float("nan")).data[0].z) == 8


def boxes(trace: Any, size: Sizes, made: go.Figure) -> list[tuple[float, float, float, float]]:
    """Centre and half size in pixels of a trace's words, with letters half as wide as high, as bold ones are."""
    high = made.layout.yaxis.range[1] - made.layout.yaxis.range[0]
    pixels = (size.pair - size.top - 12) / high
    font = trace.textfont.size
    return [
        (x * pixels, y * pixels, 0.25 * font * len(text), 0.5 * font)
        for x, y, text in zip(trace.x, trace.y, trace.text, strict=True)
        if text
    ]


def meet(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
    return abs(a[0] - b[0]) < a[2] + b[2] and abs(a[1] - b[1]) < a[3] + b[3]


@pytest.mark.parametrize("size", [DESK, PROJECTOR], ids=["desk", "projector"])
@pytest.mark.parametrize("seed", range(4))
def test_no_two_sense_names_overlap_in_the_picture(size: Sizes, seed: int) -> None:
    names = ["river", "money", "tilt", "row", "store"]
    made = figures.picture(shown([names[k % 5] for k in range(25)], seed=seed), size, at=1)
    for frame in made.frames[1:]:
        trace = next(trace for trace in frame.data if trace.mode == "text")
        placed = boxes(trace, size, made)
        assert len(placed) == 5
        assert not [pair for pair in combinations(placed, 2) if meet(*pair)]


def test_names_beside_a_figure_stand_in_the_order_of_their_values_and_never_meet() -> None:
    values = [0.9, 0.2, 0.9, 0.21, 0.0]
    heights = parts.apart(values, 0.1, 0.05)
    order = sorted(range(5), key=lambda k: -heights[k])
    assert [values[k] for k in order] == sorted(values, reverse=True)
    assert all(a - b >= 0.1 - 1e-9 for a, b in zip(sorted(heights)[1:], sorted(heights), strict=False))
    assert min(heights) >= 0.05 and heights[0] == 0.9
    assert parts.apart([], 1, 0) == []


def test_the_largest_six_senses_have_a_hue_and_the_others_are_grey() -> None:
    given = [name for k, name in enumerate(EIGHT) for _ in range(2 if k in (1, 4) else 3)]
    hue = figures.hues(labels(given))
    assert list(hue) == [name for k, name in enumerate(EIGHT) if k not in (1, 4)]
    assert [figures.colour_and_symbol(place)[0] for place in hue.values()] == list(GROUPS)
    made = parts.guess(guess(vectors_of(given), given, vectors_of(["new"])[0]), DESK, named=labels(given))
    assert [trace.line.color for trace in made.data].count(GREY) == 2
    matrix = parts.matrix(similarity_matrix(vectors_of(given)[:, 3], given), DESK, layer=3, baseline=0.0)
    named = {one.font.color for one in matrix.layout.annotations if "money" in one.text or "tilt" in one.text}
    assert named == {GREY}


def test_a_sense_whose_uses_have_no_direction_takes_no_other_its_hue() -> None:
    given = ["river", "money", "money"]
    vectors = vectors_of(given).copy()
    vectors[0] = np.nan
    made = parts.matrix(
        similarity_matrix(vectors[:, 2], given), DESK, layer=2, baseline=0.0, named=labels(given)
    )  # fmt: skip
    assert {one.font.color for one in made.layout.annotations if "money" in one.text} == {GROUPS[1]}


def test_the_matrix_prints_values_up_to_twelve_uses_and_marks_where_senses_begin() -> None:
    given: list[str | None] = ["river"] * 5 + ["money"] * 7
    vectors = vectors_of(given)[:, 3]
    found = similarity_matrix(vectors, given)
    made = parts.matrix(found, DESK, layer=3, baseline=0.31)
    texts = [trace for trace in made.data[1:] if trace.mode == "text"]
    assert sum(len(trace.text) for trace in texts) == 144
    ink, page = texts
    assert page.textfont.color == PAGE and set(page.text) >= {"1.00"} and "1.00" not in ink.text
    assert "layer 3: no colour .31, a random pair" in made.layout.annotations[0].text
    lines = next(trace for trace in made.data[1:] if trace.mode == "lines")
    assert {x for x in lines.x if x is not None} == {0, 5, 12}
    heat = made.data[0]
    assert (heat.zmin, heat.zmax) == (0.31, 1) and [shade for _, shade in heat.colorscale] == list(SEQUENTIAL)
    assert np.allclose(heat.z, found.values, atol=1e-4)
    more = [*given, "money"]
    made = parts.matrix(similarity_matrix(vectors_of(more)[:, 3], more), DESK, layer=3, baseline=float("nan"))
    assert not [trace for trace in made.data[1:] if trace.mode == "text"]
    assert "no colour .00;" in made.layout.annotations[0].text


def test_a_file_keeps_the_matrix_in_its_hue_and_strips_in_theirs() -> None:
    given = dealt(6, 2)
    made = for_file(parts.matrix(similarity_matrix(vectors_of(given)[:, 2], given), DESK, layer=2, baseline=0.0))
    assert [shade for _, shade in made.data[0].colorscale] == list(LIGHT_SEQUENTIAL)
    assert {one.font.color for one in made.layout.annotations[1:]} == set(LIGHT[:2])
    strips = for_file(go.Figure(go.Heatmap(z=[[-1, 1]], autocolorscale=True)))
    assert strips.data[0].colorscale[0][1] != LIGHT_SEQUENTIAL[0]


def test_accuracy_names_its_lines_at_the_marked_layer() -> None:
    given = dealt(20, 2)
    vectors = vectors_of(given)
    right = leave_one_out(vectors, given)
    made = parts.accuracy(right, DESK, at=0, best_layer=4, second=right)
    said = [one.text for one in made.layout.annotations]
    assert said[1:] == ["<b>50 each left out in turn</b>", "<b>50 second file</b>", "<b>50 chance</b>"]
    assert [trace.line.dash for trace in made.data[:3]] == ["solid", "dash", "dot"]
    assert said[0].endswith("best, layer 4.") and made.data[-1].x == (4,)
    alone = parts.accuracy(right, DESK, at=5)
    assert [one.text for one in alone.layout.annotations[1:]] == [
        f"<b>{100 * right.by_layer[5]:.0f} each left out in turn</b>", "<b>50 chance</b>"
    ]  # fmt: skip
    assert alone.data[-1].y == pytest.approx([50, 100 * right.by_layer[5]])


def test_words_that_moved_it_stand_in_their_order_with_the_marked_one_among_them() -> None:
    moved = np.array([[0.3], [0.001], [0.0]])
    lost = np.array([[-0.2], [0.5], [0.0]])
    found = Moved(moved, np.array([0.6]), lost, (1,))
    made = parts.moved(found, ["The", "grassy", "was"], DESK, layer=0, sense="river", word="bank", before=2)
    said = [one.text for one in made.layout.annotations if one.text]
    assert said == [
        "moves the vector", "The .30", "grassy .001", "[bank]", "was 0",
        "moves it away from river", "The −.20", "grassy .50", "[bank]", "was 0",
    ]  # fmt: skip
    bars = [trace for trace in made.data if trace.type == "bar"]
    assert [tuple(bar.y) for bar in bars] == [(0, 1, 3)] * 2
    assert [tuple(bar.x) for bar in bars] == [(0.3, 0.001, 0), (-0.2, 0.5, 0)]
    assert made.layout.xaxis2.range == (-0.2, 0.5) and made.layout.xaxis.range[0] == 0
    bold = [one.font.weight for one in made.layout.annotations if one.text == "[bank]"]
    assert bold == [800, 800]
    without = parts.moved(found, ["The", "grassy", "was"], DESK, layer=0, sense=None, word="bank", before=2)
    assert len([trace for trace in without.data if trace.type == "bar"]) == 1
    first = parts.moved(found, ["a", "b", "c"], DESK, layer=0, sense=None, word="bank", before=0)
    assert tuple(first.data[0].y) == (1, 2, 3)


def test_the_guess_draws_one_line_a_sense_and_says_the_last_cosine() -> None:
    vectors = np.zeros((2, 2, 2), dtype=np.float32)
    vectors[0], vectors[1] = (1, 0), (0, 1)
    new = np.array([(1, 1), (1, 0)], dtype=np.float32)
    made = parts.guess(guess(vectors, ["river", "money"], new), DESK)
    assert [one.text for one in made.layout.annotations[1:]] == ["<b>1.00 river ●</b>", "<b>.00 money ■</b>"]
    assert [tuple(trace.y) for trace in made.data] == [(0.7071, 1), (0.7071, 0)]
    assert [(t.line.color, t.marker.symbol, t.line.dash) for t in made.data] == [
        (GROUPS[0], "circle", "solid"), (GROUPS[1], "square", "dash")
    ]  # fmt: skip


def test_uses_beyond_the_edge_are_hollow_and_stay_inside() -> None:
    view = shown(dealt(30, 2))
    view.projection.coordinates.flags.writeable = True
    view.projection.coordinates[3, 4] = (99, -99)
    made = figures.picture(view, DESK, at=3)
    limit = view.projection.edge
    marks = [trace for trace in made.data if trace.customdata is not None]
    hollow = [symbol for trace in marks for symbol in trace.marker.symbol if symbol.endswith("-open")]
    assert hollow and all(np.abs(trace.y).max(initial=0) <= limit for trace in marks)
