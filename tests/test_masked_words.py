"""Gaps filled by an encoder that has the head for it, against plain transformers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM, BertConfig, BertForMaskedLM

import embedviz
from embedviz.errors import BadInput
from embedviz.masked_words import masked_word
from embedviz.models.language_model import LanguageModel
from embedviz.thread import trace
from tiny_models import BLOCKS, CONTEXT, DIMENSIONS, wordpiece_tokenizer

TEXT = "The bank of the river"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    tokenizer, folder = wordpiece_tokenizer(), tmp_path_factory.mktemp("masked")
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=DIMENSIONS, intermediate_size=32, num_hidden_layers=BLOCKS,
        num_attention_heads=2, max_position_embeddings=CONTEXT, initializer_range=0.3,
    )  # fmt: skip
    tokenizer.save_pretrained(folder)
    BertForMaskedLM(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBEDVIZ_CACHE", str(tmp_path_factory.mktemp("cache")))
        return embedviz.load(str(folder))


def test_scores_in_a_gap_equal_a_plain_call_with_the_mask_there(model: LanguageModel, folder: Path) -> None:
    tokens = model.tokenise(TEXT)
    for position in range(1, len(tokens) - 1):
        ids = torch.tensor([tokens.ids])
        ids[0, position] = model.vocabulary.id_of("[MASK]")
        with torch.inference_mode():
            expected = AutoModelForMaskedLM.from_pretrained(folder)(ids).logits[0, position].numpy()
        found = masked_word(model, TEXT, position)
        assert np.abs(found.distribution.logits - expected).max() < 1e-4
        assert found.token == tokens.tokens[position]


def test_states_are_those_of_the_encoder_alone(model: LanguageModel) -> None:
    tokens = model.tokenise(TEXT)
    assert np.abs(model.read(tokens).states.vectors - model.states([tokens])[0].vectors).max() < 1e-4
    assert model.read(tokens).logits is None
    assert trace(model, TEXT).next == ()


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [(TEXT, 0, "is no part of the text"), (TEXT, 99, "Positions run from 0 to"), (" ", 1, "blank")],
)
def test_what_cannot_be_hidden_is_said(model: LanguageModel, text: str, position: int, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        masked_word(model, text, position)


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_models_without_the_head_say_so(tiny: Callable[[str], LanguageModel], name: str) -> None:
    assert tiny(name).mask_token_id is None
    with pytest.raises(BadInput, match="without the head that fills gaps"):
        masked_word(tiny(name), TEXT, 1)


def test_a_folder_that_promises_the_head_and_lacks_it_loads_without(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tiny_models import save

    monkeypatch.setenv("EMBEDVIZ_CACHE", str(tmp_path / "cache"))
    lacking = save("bert", tmp_path / "lacking")
    config = json.loads((lacking / "config.json").read_text(encoding="utf-8"))
    (lacking / "config.json").write_text(json.dumps(config | {"architectures": ["BertForMaskedLM"]}), encoding="utf-8")
    model = embedviz.load(str(lacking))
    assert model.mask_token_id is None
    assert model.states([model.tokenise(TEXT)])[0].vectors.shape[0] == BLOCKS + 1
