"""A score added up and the layers read as scores, against plain modules of each architecture."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from embedviz.errors import BadInput
from embedviz.logit_lens import UNCALIBRATED, logit_lens
from embedviz.models.language_model import LanguageModel
from embedviz.next_token import find, next_token
from embedviz.score_parts import score_parts

Tiny = Callable[[str], LanguageModel]
TEXT = "The bank of the river"


@pytest.fixture(params=["gpt2", "gpt_neox", "llama"])
def model(request: pytest.FixtureRequest, tiny: Tiny) -> LanguageModel:
    return tiny(request.param)


def test_the_products_of_a_score_sum_to_the_models_own_logit(model: LanguageModel) -> None:
    result = next_token(model, TEXT)
    rows = result.rows * np.float32(1.5)
    logits = model.scores(rows)
    for id in (3, 17, int(logits.argmax())):
        parts = score_parts(model, rows, id)
        assert parts.running[-1] + parts.bias == pytest.approx(float(logits[id]), abs=1e-3)
        assert parts.logit == pytest.approx(float(logits[id]), abs=1e-4)
        assert (np.diff(np.abs(parts.products[parts.order])) <= 0).all()
        assert parts.products[parts.largest(1)[0]] == parts.products.max()
        assert parts.products[parts.smallest(1)[0]] == parts.products.min()
        assert (parts.products[parts.largest(16)] > 0).all()
        assert not parts.products.flags.writeable


def test_a_bias_of_the_head_is_named(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("gpt2")
    head = model._network.get_output_embeddings()
    bias = torch.nn.Parameter(torch.linspace(0, 2, model.table.rows), requires_grad=False)
    monkeypatch.setitem(head._parameters, "bias", bias)
    parts = score_parts(model, next_token(model, TEXT).rows, 9)
    assert parts.bias == pytest.approx(float(bias[9]))
    assert parts.running[-1] + parts.bias == pytest.approx(parts.logit, abs=1e-3)


def test_scores_that_are_more_than_a_product_are_not_taken_apart(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("llama")
    true = model._network.forward

    def capped(*args: object, **named: object) -> object:
        output = true(*args, **named)
        output.logits = torch.tanh(output.logits)
        return output

    monkeypatch.setattr(model._network, "forward", capped)
    with pytest.raises(BadInput, match="does more than one product"):
        score_parts(model, model.rows(model.tokenise(TEXT)), 3)


NORMS = {"gpt2": "transformer.ln_f", "gpt_neox": "gpt_neox.final_layer_norm", "llama": "model.norm"}


@pytest.mark.parametrize("name", NORMS)
def test_each_layer_is_normed_and_scored_as_plain_modules_do(tiny: Tiny, name: str) -> None:
    model = tiny(name)
    result = next_token(model, TEXT)
    lens = logit_lens(model, result.rows)
    network = model._network
    with torch.inference_mode():
        hidden = network(torch.tensor([result.tokens.ids]), output_hidden_states=True).hidden_states
        norm, head = network.get_submodule(NORMS[name]), network.get_output_embeddings()
        expected = [head(norm(torch.tensor(result.rows[-1])))]
        expected += [head(norm(state[0, -1])) for state in hidden[1:-1]]
    for layer, logits in enumerate(expected):
        assert np.abs(lens.logits[layer] - logits.numpy()).max() < 1e-3
    assert np.abs(lens.logits[-1] - result.distribution.logits).max() < 1e-4
    id = int(result.distribution.logits.argmax())
    assert lens.winner.id == id
    ranks = lens.ranks(id)
    assert ranks[-1] == 1 and ranks[lens.first] == 1 and (ranks[: lens.first] > 1).all()
    assert (ranks[lens.stays :] == 1).all() and (lens.stays == 0 or ranks[lens.stays - 1] > 1)
    assert lens.probabilities(id)[-1] == pytest.approx(result.distribution.probabilities[id], abs=1e-5)


def test_an_encoder_and_an_unknown_norm_are_refused(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadInput, match="more than one product"):
        logit_lens(tiny("bert"), tiny("bert").rows(tiny("bert").tokenise(TEXT)))
    model = tiny("llama")
    monkeypatch.setattr("embedviz.models.language_model.FINAL_NORMS", ("other",))
    with pytest.raises(BadInput, match="has no final norm known here"):
        logit_lens(model, model.rows(model.tokenise(TEXT)))


@pytest.mark.real_model
def test_paris_comes_up_in_the_last_blocks(smollm2: LanguageModel) -> None:
    result = next_token(smollm2, "The capital of France is")
    lens = logit_lens(smollm2, result.rows)
    paris = find(smollm2, result.distribution, " Paris")
    assert lens.winner == paris.entry and paris.rank == 1
    assert lens.first >= 24
    assert lens.sentence.startswith("␣Paris first leads after block ") and lens.sentence.endswith(UNCALIBRATED)
    parts = score_parts(smollm2, result.rows, paris.entry.id)
    assert len(parts.products) == 576
    assert parts.running[-1] == pytest.approx(parts.logit, abs=1e-3)
