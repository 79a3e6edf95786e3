"""Show the code: every text is run as a person would run it, and prints the numbers of the page."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from embedviz.analogy import analogy
from embedviz.comparison import METRICS, compare
from embedviz.meaning import meaning
from embedviz.models.language_model import LanguageModel
from embedviz.neighbours import Neighbour, nearest
from embedviz.snippets import analogy_code, neighbours_code

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
