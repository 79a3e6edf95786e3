"""Show the code: every text is run as a person would run it, and prints the numbers of the page."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from embedviz import table_map
from embedviz.analogy import analogy
from embedviz.axes import axis, place
from embedviz.comparison import METRICS, compare
from embedviz.concepts import concepts
from embedviz.contextual import POOLINGS, Pooling, contextual_vectors
from embedviz.coordinates import probe
from embedviz.gallery import gallery
from embedviz.id_order import id_order
from embedviz.meaning import meaning
from embedviz.models.language_model import LanguageModel
from embedviz.neighbours import Neighbour, nearest
from embedviz.occurrences import Occurrence
from embedviz.senses import by_layer
from embedviz.snippets import (
    analogy_code,
    axes_code,
    ids_code,
    map_code,
    neighbours_code,
    probe_code,
    senses_code,
)
from embedviz.table_map import TableMap

Tiny = Callable[[str], LanguageModel]


def printed(code: str) -> list[str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "snippet", "exec"), {})
    return out.getvalue().splitlines()


def lines(model: LanguageModel, found: Sequence[Neighbour]) -> list[str]:
    return [f"{one.entry.id} {model.vocabulary.text_of([one.entry.id])!r} {one.value:.3f}" for one in found]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDVIZ_CACHE", str(tmp_path))


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("architecture", ["gpt2", "gpt_neox"])
def test_neighbours(tiny: Tiny, architecture: str, metric: str) -> None:
    model = tiny(architecture)
    for typed in (" bank", "bankers"):
        one = meaning(model, typed)
        found = nearest(compare(model.table, one.vector), model.vocabulary, metric, top=5, inputs=one.ids)  # type: ignore[arg-type]
        assert printed(neighbours_code(model.spec, one, metric, top=5)) == lines(model, found.nearest)  # type: ignore[arg-type]


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("centre", [False, True])
def test_analogy(tiny: Tiny, centre: bool) -> None:
    model = tiny("gpt2")
    asked = [meaning(model, typed) for typed in (" bank", " the", "bankers")]
    result = analogy(model.table, model.vocabulary, *asked, centre=centre, top=5)
    assert printed(analogy_code(model.spec, result, top=5)) == lines(model, result.neighbours.nearest)


@pytest.mark.real_model
def test_the_bundled_model(smollm2: LanguageModel) -> None:
    one = meaning(smollm2, " bank")
    assert printed(neighbours_code(smollm2.spec, one, top=2)) == ["7749 ' Bank' 0.773", "7908 ' banks' 0.747"]


@pytest.mark.usefixtures("cache")
def test_id_order(tiny: Tiny) -> None:
    for architecture in ("gpt2", "bert"):
        model = tiny(architecture)
        order = id_order(model.table, model.vocabulary, pairs=500)
        assert printed(ids_code(model.spec, 500)) == [
            f"as they are {order.correlation:.3f}",
            f"shuffled {order.shuffled:.3f}",
        ]


@pytest.mark.usefixtures("cache")
def test_axes(tiny: Tiny) -> None:
    model = tiny("gpt2")
    bank, the, several = (meaning(model, typed) for typed in (" bank", " the", "bankers"))
    placed = place((axis([(bank, the)]), axis([(the, several), (bank, several)])), [bank, several])
    assert printed(axes_code(model.spec, placed)) == [
        f"{one.label} {places[0]:.3f} {places[1]:.3f}" for one, places in zip(placed.words, placed.places, strict=True)
    ]


@pytest.mark.real_model
def test_the_library_calls_of_probe_and_map(smollm2: LanguageModel, monkeypatch: pytest.MonkeyPatch) -> None:
    found = probe(smollm2, concepts()[0])
    assert printed(probe_code("smollm2-135m", concepts()[0].name)) == [
        f"{size} {plain:.3f} {rotated:.3f}"
        for size, plain, rotated in zip(found.sizes, found.accuracy, found.rotated, strict=True)
    ]
    made = TableMap("m", np.arange(3), ("a", "b", "c"), np.zeros((3, 2)), np.ones(3), 0.5, 3, 0, 0, 0)
    monkeypatch.setattr(table_map, "stored", lambda spec: made)
    assert printed(map_code("smollm2-135m")) == ["3 points, 0.500 of the true neighbours kept"]


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("architecture", ["gpt2", "llama", "gpt_neox", "bert"])
def test_senses(tiny: Tiny, architecture: str) -> None:
    model = tiny(architecture)
    uses = (*gallery()["bank"].occurrences("before", 2), Occurrence("bank notes", 0, 4, "money"))
    found = by_layer(contextual_vectors(model, uses).vectors, [one.sense for one in uses])
    for layer in (0, 1, model.spec.blocks):
        assert printed(senses_code(model.spec, uses, layer)) == [
            f"same sense {found.similarity.within[layer]:.3f}",
            f"other sense {found.similarity.between[layer]:.3f}",
        ]


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("pooling", POOLINGS)
def test_senses_read_otherwise(tiny: Tiny, pooling: Pooling) -> None:
    model = tiny("llama")
    uses = (Occurrence("The unbelievable river", 4, 16, "a"), Occurrence("An unbelievable bank", 3, 15, "a"))
    uses += (Occurrence("unbelievable money", 0, 12, "b"),)
    vectors = contextual_vectors(model, uses, pooling=pooling, start_token=False).vectors
    found = by_layer(vectors, [one.sense for one in uses]).similarity
    assert printed(senses_code(model.spec, uses, 2, start_token=False, pooling=pooling)) == [
        f"same sense {found.within[2]:.3f}",
        f"other sense {found.between[2]:.3f}",
    ]
