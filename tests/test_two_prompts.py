"""Two texts by id, and surprise along a text, against a plain run over all positions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from embedviz.errors import BadInput
from embedviz.models.language_model import LanguageModel
from embedviz.next_token import Distribution, next_token
from embedviz.two_prompts import changes, surprise

Tiny = Callable[[str], LanguageModel]


@pytest.mark.parametrize("name", ["gpt2", "gpt_neox", "llama"])
@pytest.mark.parametrize("text", ["The bank", "The bank of the river was steep, and the bank of England was not."])
def test_surprise_is_the_loss_of_each_token_in_one_plain_run(
    tiny: Tiny, name: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("embedviz.models.language_model.SCORED_AT_ONCE", 5)
    model = tiny(name)
    result = next_token(model, text)
    found = surprise(model, result)
    ids = torch.tensor([result.tokens.ids])
    with torch.inference_mode():
        logits = model._network(ids).logits[0]
    expected = torch.nn.functional.cross_entropy(logits[:-1], ids[0, 1:], reduction="none").numpy()
    assert np.isnan(found.nats[0])
    assert found.nats[1:] == pytest.approx(expected, abs=1e-4)
    assert found.mean == pytest.approx(expected.mean(), abs=1e-4)
    assert not found.nats.flags.writeable


def test_one_token_surprises_nobody(tiny: Tiny) -> None:
    found = surprise(tiny("gpt2"), next_token(tiny("gpt2"), "b"))
    assert len(found.nats) == 1 and np.isnan(found.nats[0]) and np.isnan(found.mean)


def test_an_encoder_has_no_surprise(tiny: Tiny) -> None:
    bert = tiny("bert")
    with pytest.raises(BadInput, match="cannot be taken apart"):
        bert.log_probabilities(bert.rows(bert.tokenise("bank")), bert.tokenise("bank").ids)


def test_changes_are_matched_by_id_from_the_largest_loss_to_the_largest_gain(tiny: Tiny) -> None:
    model = tiny("gpt2")
    first, second = np.zeros((2, model.table.rows), dtype=np.float32)
    first[[3, 4]], second[[5, 4]] = (5, 3), (5, 3.5)
    found = changes(model, Distribution(first), Distribution(second), 3)
    assert [one.entry.id for one in found] == [3, 4, 5]
    assert [np.sign(one.difference) for one in found] == [-1, 1, 1]
    assert found[0].first == pytest.approx(Distribution(first).probabilities[3])
    with pytest.raises(BadInput, match="at least 1; 0"):
        changes(model, Distribution(first), Distribution(second), 0)


@pytest.mark.real_model
def test_river_bank_and_national_bank(smollm2: LanguageModel) -> None:
    river, national = (next_token(smollm2, f"The {word} bank") for word in ("river", "national"))
    found = {one.entry.text: one for one in changes(smollm2, river.distribution, national.distribution)}
    assert found[" was"].first == pytest.approx(0.147, abs=0.01)
    assert found["'s"].second == pytest.approx(0.090, abs=0.01)
    assert surprise(smollm2, river).nats[2] > 0
