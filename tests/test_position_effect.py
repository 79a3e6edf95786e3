"""Where position enters: added before block 1, turned in inside the blocks; against plain calls."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from embedviz.errors import BadInput
from embedviz.models.language_model import LanguageModel
from embedviz.next_token import next_token
from embedviz.position_effect import position_effect, reordered
from tiny_models import CONTEXT

Tiny = Callable[[str], LanguageModel]
TEXT = "The bank of the river"


def test_added_positions_move_the_vector_before_block_1_by_the_learned_rows(tiny: Tiny) -> None:
    model = tiny("gpt2")
    found = position_effect(model, TEXT, (0, 3))
    places, last = model._network.transformer.wpe.weight.numpy(), len(found.tokens) - 1
    row = model.rows(found.tokens)[-1]
    expected = np.linalg.norm(places[last + 3] - places[last]) / np.linalg.norm(row + places[last])
    assert found.together[1, 0] == pytest.approx(expected, rel=1e-4)
    assert found.apart[1, 0] == pytest.approx(expected, rel=1e-4)
    assert found.added and "Position is added before block 1" in found.sentence


@pytest.mark.parametrize("name", ["llama", "gpt_neox"])
def test_turned_positions_leave_the_row_and_count_distances_alone(tiny: Tiny, name: str) -> None:
    found = position_effect(tiny(name), TEXT)
    assert not found.added
    assert (found.together[:, 0] == 0).all() and (found.apart[:, 0] == 0).all()
    assert found.together.max() < 1e-4
    assert (found.apart[1:, 1] > 1e-3).all() and found.apart[0, 1] < 1e-5
    assert "only distances count" in found.sentence


@pytest.mark.parametrize("name", ["gpt2", "llama", "gpt_neox", "bert"])
def test_moved_tokens_equal_a_plain_call_with_those_positions(tiny: Tiny, name: str) -> None:
    model = tiny(name)
    tokens = model.tokenise(TEXT)
    places = np.arange(len(tokens))[None] + np.array([[0], [7]])
    places[1, -1] += 5
    found = model.last_states_placed(tokens, places)
    for variant, positions in zip(found, places, strict=True):
        with torch.inference_mode():
            hidden = model._network.base_model(
                torch.tensor([tokens.ids]),
                position_ids=torch.tensor(positions)[None],
                attention_mask=torch.ones(1, len(tokens), dtype=torch.long),
                output_hidden_states=True,
            ).hidden_states
        assert np.abs(variant - np.stack([state[0, -1] for state in hidden])).max() < 1e-4
    usual = model.states([tokens])[0]
    assert np.abs(found[0, 1:] - usual.vectors[1:, -1]).max() < 1e-4
    assert np.abs(found[0, 0] - usual.first_state[-1]).max() < 1e-5


def test_offsets_end_at_the_context_and_long_texts_are_cut(tiny: Tiny) -> None:
    found = position_effect(tiny("gpt2"), TEXT * 20)
    assert len(found.tokens) == 16 and max(found.offsets) + 16 <= CONTEXT
    with pytest.raises(BadInput, match="blank"):
        position_effect(tiny("gpt2"), " ")


@pytest.mark.parametrize("name", ["gpt2", "llama", "gpt_neox"])
def test_the_same_rows_in_another_order_score_as_a_plain_call_on_them(tiny: Tiny, name: str) -> None:
    model = tiny(name)
    before = next_token(model, TEXT, start_token=True)
    found = reordered(model, before, seed=4)
    places = len(before.tokens)
    assert sorted(found.order) == list(range(places)) != list(found.order)
    assert (found.order[0], found.order[-1]) == (0, places - 1)
    assert np.array_equal(found.rows, before.rows[list(found.order)])
    with torch.inference_mode():
        plain = model._network(inputs_embeds=torch.tensor(found.rows)[None]).logits[0, -1].numpy()
    assert np.abs(found.after.logits - plain).max() < 1e-4
    assert found.divergence > 0
    assert reordered(model, before, seed=4).order == found.order


def test_a_text_without_another_order_is_said(tiny: Tiny) -> None:
    model = tiny("gpt2")
    for text in ("b", " bank bank bank"):
        with pytest.raises(BadInput, match="no other order"):
            reordered(model, next_token(model, text))
