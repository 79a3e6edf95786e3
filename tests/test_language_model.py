"""The loaded model against the same computation done plainly through transformers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoModelForCausalLM, AutoTokenizer

import embedviz
from embedviz.errors import BadInput, ModelUnavailable
from embedviz.models.language_model import LanguageModel
from tiny_models import ARCHITECTURES, BLOCKS, CONTEXT, DIMENSIONS, save

CAUSAL = [name for name in ARCHITECTURES if name != "bert"]
TEXTS = ["The bank of the river was steep.", "bank", "Seán café 😃 bank", "A crane stood by the water; another crane."]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("EMBEDVIZ_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: save(name, tmp_path_factory.mktemp(name)) for name in ARCHITECTURES}


@pytest.fixture(scope="module")
def tiny(cache: Path, folders: dict[str, Path]) -> dict[str, LanguageModel]:
    return {name: embedviz.load(str(folder)) for name, folder in folders.items()}


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_table_is_the_input_embedding_and_says_whether_it_is_tied(
    tiny: dict[str, LanguageModel], folders: dict[str, Path], name: str
) -> None:
    plain = AutoModel.from_pretrained(folders[name])
    assert np.array_equal(tiny[name].table.values, plain.get_input_embeddings().weight.detach().numpy())
    assert tiny[name].table.tied == (name in ("gpt2", "llama"))
    assert tiny[name].table.dimensions == DIMENSIONS
    with pytest.raises(ValueError, match="read-only"):
        tiny[name].table.values[0, 0] = 1.0


@pytest.mark.parametrize("name", CAUSAL)
@pytest.mark.parametrize("text", TEXTS)
def test_scores_equal_a_plain_call_by_both_routes(
    tiny: dict[str, LanguageModel], folders: dict[str, Path], name: str, text: str
) -> None:
    model = tiny[name]
    plain, tokenizer = AutoModelForCausalLM.from_pretrained(folders[name]), AutoTokenizer.from_pretrained(folders[name])
    ids = tokenizer(text, return_tensors="pt").input_ids
    with torch.inference_mode():
        expected = plain(ids).logits[0, -1].numpy()
    tokens = model.tokenise(text)
    assert list(tokens.ids) == ids[0].tolist()
    assert np.abs(model.scores(model.rows(tokens)) - expected).max() < 1e-4
    assert np.abs(model.read(tokens).logits - expected).max() < 1e-4
    assert model.self_check(tokens) < 1e-4


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_states_equal_a_plain_call_in_any_batch(
    tiny: dict[str, LanguageModel], folders: dict[str, Path], name: str
) -> None:
    model, plain = tiny[name], AutoModel.from_pretrained(folders[name])
    texts = [model.tokenise(text) for text in TEXTS]
    together = model.states(texts)
    for tokens, batched in zip(texts, together, strict=True):
        with torch.inference_mode():
            hidden = plain(torch.tensor([tokens.ids]), output_hidden_states=True).hidden_states
        expected = np.stack([state[0].numpy() for state in hidden])
        alone = model.states([tokens])[0]
        assert batched.vectors.shape == (BLOCKS + 1, len(tokens), DIMENSIONS)
        assert np.array_equal(batched.vectors[0], model.table.values[list(tokens.ids)])
        for found in (batched, alone, model.read(tokens).states):
            assert np.abs(found.vectors[1:] - expected[1:]).max() < 1e-4
            assert np.abs(found.first_state - expected[0]).max() < 1e-4


def test_what_block_one_gets_differs_from_the_row_only_where_position_is_added(
    tiny: dict[str, LanguageModel],
) -> None:
    for name, added in (("gpt2", True), ("bert", True), ("llama", False), ("gpt_neox", False)):
        states = tiny[name].states([tiny[name].tokenise("bank bank bank")])[0]
        assert np.array_equal(states.first_state, states.vectors[0]) == (not added)
        assert tiny[name].turns_positions == (not added)


def test_a_token_starts_from_the_same_row_wherever_it_stands(tiny: dict[str, LanguageModel]) -> None:
    for model in tiny.values():
        vectors = model.states([model.tokenise("The bank by the bank")])[0].vectors
        first, second = (k for k, t in enumerate(model.tokenise("The bank by the bank").tokens) if "bank" in t.text)
        assert np.array_equal(vectors[0, first], vectors[0, second])
        assert not np.allclose(vectors[1, first], vectors[1, second])


@pytest.mark.parametrize("name", CAUSAL)
def test_a_start_token_is_fed_first_and_left_out_of_the_results(tiny: dict[str, LanguageModel], name: str) -> None:
    model = tiny[name]
    started, plain = model.tokenise("The bank", start_token=True), model.tokenise("The bank")
    states = model.states([started])[0]
    assert started.ids[0] == model.start_token_id
    if not plain.tokens[0].special:
        assert states.vectors.shape[1] == len(plain)
        assert np.array_equal(states.vectors[0], model.rows(plain))


def test_an_encoder_has_no_start_token_and_says_so(tiny: dict[str, LanguageModel]) -> None:
    with pytest.raises(BadInput, match="has no start token"):
        tiny["bert"].tokenise("The bank", start_token=True)


@pytest.mark.parametrize("name", CAUSAL)
def test_going_on_with_the_cache_equals_reading_everything_again(tiny: dict[str, LanguageModel], name: str) -> None:
    model = tiny[name]
    tokens = model.tokenise("The bank of the")
    step, ids = model.stepper(model.rows(tokens)), list(tokens.ids)
    for added in (5, 17, 5):
        ids.append(added)
        assert np.abs(step(added) - model.scores(model.table.lookup(ids))).max() < 1e-4


def test_too_many_tokens_are_cut_with_a_note_and_refused_as_rows(tiny: dict[str, LanguageModel]) -> None:
    model = tiny["gpt2"]
    tokens = model.tokenise("The bank " * 100)
    assert len(tokens) == CONTEXT and "of 2" in tokens.notes[0]
    assert model.scores(model.rows(tokens)).shape == (model.table.rows,)
    with pytest.raises(BadInput, match="too many"):
        model.scores(np.zeros((CONTEXT + 1, DIMENSIONS), dtype=np.float32))
    with pytest.raises(BadInput, match="no token"):
        model.scores(np.zeros((0, DIMENSIONS), dtype=np.float32))


def test_weights_that_do_not_fit_the_config_are_refused(cache: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = save("gpt2", tmp_path / "lacking")
    weights = load_file(folder / "model.safetensors")
    del weights["transformer.h.1.mlp.c_fc.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelUnavailable, match="would be made up"):
        embedviz.load(str(folder))


@pytest.fixture(scope="module")
def smollm2() -> LanguageModel:
    return embedviz.load("smollm2-135m")


@pytest.mark.real_model
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("The river bank", (504, 4626, 5461)),
        ("x  5", (104, 256, 37)),
        ("line\n\n3. item", (1311, 1116, 35, 30, 5033)),
    ],
)
def test_ids_of_the_bundled_model(smollm2: LanguageModel, text: str, ids: tuple[int, ...]) -> None:
    assert smollm2.tokenise(text).ids == ids


@pytest.mark.real_model
def test_bundled_model_decodes_awkward_text_without_loss(smollm2: LanguageModel) -> None:
    from test_tokens import AWKWARD

    for text in AWKWARD:
        tokens = smollm2.tokenise(text)
        assert b"".join(token.bytes for token in tokens.tokens).decode() == text
        assert smollm2.vocabulary.text_of(tokens.ids) == text


@pytest.mark.real_model
def test_bundled_model_says_paris_and_both_routes_agree_to_the_bit(smollm2: LanguageModel) -> None:
    from embedviz.next_token import candidates, next_token

    result = next_token(smollm2, "The capital of France is")
    best = candidates(smollm2, result.distribution, 2)
    assert best[0].entry.text == " Paris"
    assert best[0].probability == pytest.approx(0.773, abs=0.01)
    assert result.self_check == 0.0
    assert next_token(smollm2, "bank").self_check == 0.0


@pytest.mark.real_model
@pytest.mark.parametrize("name", ["smollm2-135m", "minilm-l6"])
def test_batched_and_single_runs_of_the_bundled_models_agree(name: str) -> None:
    model = embedviz.load(name)
    texts = [model.tokenise(text) for text in [*TEXTS, "The bank of the river " * 12]]
    for tokens, batched in zip(texts, model.states(texts), strict=True):
        alone = model.states([tokens])[0]
        lengths = np.linalg.norm(alone.vectors, axis=-1)
        assert (np.linalg.norm(batched.vectors - alone.vectors, axis=-1) <= 1e-4 * lengths).all()


@pytest.mark.real_model
def test_states_of_the_bundled_model_equal_a_plain_call(smollm2: LanguageModel) -> None:
    from embedviz.models.catalog import find
    from embedviz.models.prepare import prepare

    plain = AutoModelForCausalLM.from_pretrained(prepare(find("smollm2-135m")).folder, dtype=torch.float32)
    tokens = smollm2.tokenise("The capital of France is")
    with torch.inference_mode():
        output = plain(torch.tensor([tokens.ids]), output_hidden_states=True)
    found = smollm2.read(tokens)
    for layer in range(1, 31):
        expected = output.hidden_states[layer][0].numpy()
        assert np.abs(found.states.vectors[layer] - expected).max() <= 1e-4 * np.linalg.norm(expected, axis=-1).max()
    assert np.abs(found.logits - output.logits[0, -1].numpy()).max() < 1e-2
    assert int(output.logits[0, -1].argmax()) == int(found.logits.argmax())


def test_weights_that_are_no_numbers_are_refused(cache: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    folder = save("gpt2", tmp_path / "broken")
    weights = load_file(folder / "model.safetensors")
    weights["transformer.wte.weight"][7, 3] = float("nan")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelUnavailable, match="not finite"):
        embedviz.load(str(folder))


def test_a_folder_that_transformers_cannot_read_is_one_sentence(cache: Path, tmp_path: Path) -> None:
    folder = save("gpt2", tmp_path / "junk")
    (folder / "tokenizer.json").write_text('{"a": 1}', encoding="utf-8")
    with pytest.raises(ModelUnavailable, match="cannot be read by transformers"):
        embedviz.load(str(folder))
