"""Edits of rows: what each form means, against plain torch, and that the table stays as it is."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from embedviz.edits import OPERATIONS, Edit, edited, read_edit, written
from embedviz.errors import BadInput
from embedviz.models.language_model import LanguageModel
from embedviz.next_token import Sampling, continuation, next_token


@pytest.mark.parametrize(
    ("written", "edit"),
    [
        ("3:scale=0.5", Edit(3, "scale", 0.5)),
        ('0:swap=" money"', Edit(0, "swap", target=" money")),
        ("0:swap= money", Edit(0, "swap", target=" money")),
        ('2:slide=" money"@0.25', Edit(2, "slide", 0.25, " money")),
        ('2:slide="@"@1', Edit(2, "slide", 1.0, "@")),
        ("1:noise=0.1@7", Edit(1, "noise", 0.1, seed=7)),
        ("1:zero", Edit(1, "zero")),
        ("1:mean", Edit(1, "mean")),
        ("1:shuffle@3", Edit(1, "shuffle", seed=3)),
        ("1:paste=1, -2\n3e-1", Edit(1, "paste", values=(1.0, -2.0, 0.3))),
        ("1:paste=[1, -2, 3]", Edit(1, "paste", values=(1.0, -2.0, 3.0))),
    ],
)
def test_each_form_is_read(written: str, edit: Edit) -> None:
    assert read_edit(written) == edit


@pytest.mark.parametrize(
    "written",
    ["", "scale=0.5", "3:scale", "3:scale=x", "3:scale=nan", "3:scale=inf", "-1:zero", "3:zero=1", "3:swap", "3:swap=",
     "3:paste", "3:paste=", "3:paste=[]", "3:paste=1,x", "9999999999:zero",
     f"{'9' * 5000}:zero", f"3:shuffle@{'9' * 5000}",
     "3:slide=x", "3:noise=0.1", "3:shuffle", "3:shuffle@x", "3:explode", "٣:zero", "3:shuffle@99999999999999999999"],
)  # fmt: skip
def test_what_is_no_edit_is_refused(written: str) -> None:
    with pytest.raises(BadInput):
        read_edit(written)


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
SEEDS, TARGETS = st.integers(0, 2**63 - 1), st.text(st.characters(codec="utf-8"))
PARTS = {
    "scale": {"value": NUMBERS},
    "swap": {"target": TARGETS},
    "slide": {"value": NUMBERS, "target": TARGETS},
    "noise": {"value": NUMBERS, "seed": SEEDS},
    "zero": {},
    "mean": {},
    "shuffle": {"seed": SEEDS},
    "paste": {"values": st.lists(NUMBERS, min_size=1, max_size=20).map(tuple)},
}


def test_every_operation_is_written() -> None:
    assert tuple(PARTS) == OPERATIONS


@given(
    st.integers(0, 10**9 - 1),
    st.one_of([st.fixed_dictionaries({"operation": st.just(name), **parts}) for name, parts in PARTS.items()]),
)
def test_what_is_written_is_read_back(position: int, parts: dict[str, Any]) -> None:
    edit = Edit(position, **parts)
    assert read_edit(written(edit)) == edit


@pytest.fixture(scope="module", params=["gpt2", "gpt_neox", "llama"])
def model(request: pytest.FixtureRequest, tiny: Callable[[str], LanguageModel]) -> LanguageModel:
    return tiny(request.param)


TEXT = "The bank of the"


def test_each_operation_does_what_plain_torch_does(model: LanguageModel) -> None:
    tokens = model.tokenise(TEXT)
    rows = model.rows(tokens)
    bank = next(token.id for token in model.tokenise("x bank").tokens if token.text == " bank")
    target = model.table.values[bank]
    order = torch.randperm(16, generator=torch.Generator().manual_seed(3)).numpy()
    expected = {
        "1:scale=0.5": rows[1] * 0.5,
        f"1:swap=#{bank}": target,
        f"1:slide=#{bank}@0.25": 0.75 * rows[1] + 0.25 * target,
        f"1:slide=#{bank}@0": rows[1],
        "1:zero": np.zeros(16),
        "1:mean": model.table.values.mean(axis=0),
        "1:shuffle@3": rows[1][order],
        f"1:paste={' '.join(map(str, range(16)))}": np.arange(16),
    }
    for typed, row in expected.items():
        found = edited(model, tokens, [read_edit(typed)])
        assert found.dtype == np.float32
        assert np.allclose(found[1], row, atol=1e-6), typed
        others = [k for k in range(len(tokens)) if k != 1]
        assert np.array_equal(found[others], rows[others])


def test_noise_has_the_asked_length_and_repeats_with_its_seed(model: LanguageModel) -> None:
    tokens = model.tokenise(TEXT)
    rows = model.rows(tokens)
    first, again, other = (edited(model, tokens, [Edit(1, "noise", 0.1, seed=seed)]) for seed in (7, 7, 8))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.linalg.norm(first[1] - rows[1]) == pytest.approx(0.1 * np.linalg.norm(rows[1]), rel=1e-4)


def test_edits_of_one_position_are_done_in_order(model: LanguageModel) -> None:
    tokens = model.tokenise(TEXT)
    both = edited(model, tokens, [Edit(1, "zero"), Edit(1, "mean")])
    assert np.allclose(both[1], model.table.mean_row, atol=1e-6)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (Edit(99, "zero"), r"^Positions run from 0 to \d+\.$"),
        (Edit(1, "scale", 1e30), r"^Values above 1e\+15 break the sum\. Not run\.$"),
        (Edit(1, "scale", float("nan")), r"^That vector has 16 values that are not numbers\. Not run\.$"),
        (Edit(1, "scale", float("inf")), r"^That vector has 16 values that are not numbers\. Not run\.$"),
        (Edit(1, "noise", 1e308), r"^(That vector has|Values above)"),
        (Edit(1, "swap", target="the bank of"), r"^the␣bank␣of is \d tokens: .+\. Choose one\.$"),
        (read_edit("1:paste=" + "1," * 15 + "nan"), r"^That vector has 1 value that is not a number\. Not run\.$"),
        (read_edit("1:paste=" + "1e30," * 15 + "1"), r"^Values above 1e\+15 break the sum\. Not run\.$"),
        (read_edit("1:paste=1,2"), r"^A row has 16 numbers; 2 were pasted\. Not run\.$"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(model: LanguageModel, edit: Edit, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        next_token(model, TEXT, edits=[edit])


def checksum(model: LanguageModel) -> str:
    digest = hashlib.sha256()
    for weight in model._network.state_dict().values():
        digest.update(weight.numpy().tobytes())
    return digest.hexdigest()


def test_a_long_series_of_edits_changes_no_weight_and_leaves_the_unedited_scores_to_the_bit(
    model: LanguageModel,
) -> None:
    before, plain = checksum(model), next_token(model, TEXT).distribution.logits
    random = np.random.default_rng(0)
    for _ in range(40):
        operation = str(random.choice(["scale", "noise", "zero", "mean", "shuffle"]))
        edit = Edit(int(random.integers(4)), operation, float(random.normal()), seed=int(random.integers(100)))
        next_token(model, TEXT, edits=[edit])
    assert checksum(model) == before
    assert np.array_equal(next_token(model, TEXT).distribution.logits, plain)


def test_scores_of_edited_rows_equal_a_plain_call_on_those_rows(model: LanguageModel) -> None:
    result = next_token(model, TEXT, edits=[Edit(1, "shuffle", seed=3), Edit(2, "scale", 0.3)])
    with torch.inference_mode():
        plain = model._network(inputs_embeds=torch.tensor(result.rows)[None]).logits[0, -1].numpy()
    assert np.abs(result.distribution.logits - plain).max() < 1e-4


def test_continuing_starts_from_the_edited_rows_and_stops_at_the_context(model: LanguageModel) -> None:
    swapped = next_token(model, TEXT, edits=[Edit(1, "scale", -4.0)])
    greedy = Sampling(temperature=0)
    text = continuation(model, swapped, 2, greedy)
    step = model.stepper(swapped.rows)
    first = int(swapped.distribution.order(1)[0])
    second = int(step(first).argmax())
    assert text == model.vocabulary.text_of([*swapped.tokens.ids, first, second])
    with pytest.raises(BadInput, match="can be added; 1000 were asked for"):
        continuation(model, swapped, 1000, greedy)


@pytest.mark.real_model
def test_sliding_and_scaling_on_the_bundled_model(smollm2: LanguageModel) -> None:
    def top(text: str, written: str) -> tuple[str, float]:
        result = next_token(smollm2, text, edits=[read_edit(written)])
        best = int(result.distribution.order(1)[0])
        return smollm2.vocabulary.entry(best).text, float(result.distribution.probabilities[best])

    assert top("The river bank", '1:slide=" national"@0.5') == (" of", pytest.approx(0.393, abs=0.01))
    assert top("The river bank", '1:swap=" national"') == ("'s", pytest.approx(0.090, abs=0.01))
    assert top("The capital of France is", '3:slide=" Germany"@1') == (" Berlin", pytest.approx(0.796, abs=0.01))
    assert top("The capital of France is", "3:scale=0.6") == (" Paris", pytest.approx(0.64, abs=0.01))
    assert top("The capital of France is", "3:scale=0.5")[0] != " Paris"
