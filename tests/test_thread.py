"""The thread: every number against the tensor it names, and the stored example against a fresh run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import embedviz
from embedviz.errors import BadInput
from embedviz.geometry import cosine
from embedviz.models.language_model import LanguageModel
from embedviz.thread import EXAMPLE, Thread, restore, save, stage_layers, steps, trace
from tiny_models import save as save_model


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LanguageModel]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBEDVIZ_CACHE", str(tmp_path_factory.mktemp("cache")))
        return {
            name: embedviz.load(str(save_model(name, tmp_path_factory.mktemp(name))))
            for name in ("gpt2", "llama", "bert")
        }


def test_every_number_is_that_of_the_states(models: dict[str, LanguageModel]) -> None:
    for model in models.values():
        thread = trace(model, "The bank 😃 of the river")
        states = model.states([thread.tokens])[0]
        assert np.array_equal(thread.rows, model.rows(thread.tokens))
        for line, layer in enumerate(thread.layers):
            assert np.allclose(thread.drawn[line], states.vectors[layer, :, :32], atol=1e-5)
            assert np.allclose(thread.lengths[line], np.linalg.norm(states.vectors[layer], axis=-1), atol=1e-4)
        last = states.vectors[-1, -1]
        assert thread.own_row == pytest.approx(float(cosine(last, thread.rows[-1])), abs=1e-5)
        assert thread.random_row == pytest.approx(float(np.nanmean(cosine(model.table.values, last))), abs=1e-5)
        assert thread.first_length == pytest.approx(float(np.linalg.norm(states.first_state[-1])), abs=1e-4)


def test_each_architecture_tells_its_own_story_of_position(models: dict[str, LanguageModel]) -> None:
    assert {name: trace(model, "The bank").position for name, model in models.items()} == {
        "gpt2": "added",
        "bert": "added",
        "llama": "turned",
    }
    added = steps(trace(models["gpt2"], "The bank"))[3].sentence
    assert added.startswith("A vector for each place is added to the row: length ")


def test_next_tokens_and_the_rest_make_one(models: dict[str, LanguageModel]) -> None:
    thread = trace(models["gpt2"], "The bank", top=5)
    assert len(thread.next) == 5
    assert sum(one.probability for one in thread.next) + thread.others == pytest.approx(1, abs=1e-6)


def test_a_model_without_a_next_token_says_so(models: dict[str, LanguageModel]) -> None:
    thread = trace(models["bert"], "The bank")
    assert thread.next == ()
    assert [step.name for step in steps(thread)][-1] == "last state"
    assert steps(thread)[-1].sentence == "This model fills gaps; it has no next token."


@pytest.mark.parametrize("text", ["", "  ", "\n\n"])
def test_blank_text_is_a_hint(models: dict[str, LanguageModel], text: str) -> None:
    with pytest.raises(BadInput, match="blank"):
        trace(models["gpt2"], text)


@pytest.mark.parametrize(
    ("blocks", "layers"),
    [(1, (0, 1)), (2, (0, 1, 2)), (6, (0, 1, 2, 4, 6)), (12, (0, 1, 2, 4, 8, 12)), (30, (0, 1, 5, 10, 20, 30))],
)
def test_stages_begin_with_the_row_and_end_with_the_last_state(blocks: int, layers: tuple[int, ...]) -> None:
    assert stage_layers(blocks) == layers


def assert_same(a: Thread, b: Thread, tolerance: float = 0.0) -> None:
    for name, value in vars(a).items():
        other = getattr(b, name)
        if isinstance(value, np.ndarray):
            scale = np.abs(value).max()
            assert np.abs(value - other).max() <= tolerance * scale, name
        elif isinstance(value, float):
            assert value == pytest.approx(other, abs=tolerance), name
        elif name == "next":
            assert [one.entry for one in value] == [one.entry for one in other]
            assert [one.probability for one in value] == pytest.approx([o.probability for o in other], abs=tolerance)
        else:
            assert value == other, name


def test_a_saved_thread_comes_back_to_the_bit(models: dict[str, LanguageModel], tmp_path: Path) -> None:
    thread = trace(models["llama"], "The bank 😃")
    save(thread, tmp_path / "thread.npz")
    assert_same(restore(tmp_path / "thread.npz"), thread)


@pytest.mark.real_model
def test_the_stored_example_is_what_the_bundled_model_says() -> None:
    assert_same(restore(), trace(embedviz.load("smollm2-135m"), EXAMPLE), tolerance=1e-3)


def test_sentences_of_the_stored_example() -> None:
    told = [step.sentence for step in steps(restore())]
    assert told[1] == "The text becomes 5 tokens. An id is a token's place in a list of 49,152."
    assert told[2] == "Each id picks one row of 576 numbers. The first 32 are drawn."
    assert told[3] == "Nothing is added here: this model turns vectors by their place, inside each block."
    assert told[7] == "␣Paris has probability .773. Press Add to put it at the end."
    assert all(len(sentence.split()) <= 40 for sentence in told)
