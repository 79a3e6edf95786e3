"""Effects of edits and whole ways, against plain runs and closed forms; on the bundled model, its known figures."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy.special import kl_div, softmax

from embedviz.edit_effects import NO_DIRECTION, effect, nearest_entries, path
from embedviz.edits import Edit, read_edit
from embedviz.errors import BadInput
from embedviz.models.language_model import LanguageModel
from embedviz.next_token import candidates, find, next_token, others_sentence, with_edits

Tiny = Callable[[str], LanguageModel]
TEXT = "The bank of the river"


@pytest.fixture(params=["gpt2", "gpt_neox", "llama"])
def model(request: pytest.FixtureRequest, tiny: Tiny) -> LanguageModel:
    return tiny(request.param)


def plain(model: LanguageModel, rows: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        return model._network(inputs_embeds=torch.tensor(rows)).logits[:, -1].numpy()


def test_a_batch_of_rows_scores_as_each_alone_and_as_a_plain_call(model: LanguageModel) -> None:
    rows = np.random.default_rng(0).normal(size=(5, 7, 16)).astype(np.float32)
    together = model.scores_batch(rows)
    assert np.abs(together - plain(model, rows)).max() < 1e-4
    assert np.abs(together - [model.scores(one) for one in rows]).max() < 1e-3


@pytest.mark.parametrize("moving", ["slide", "scale"])
def test_a_way_equals_a_plain_batch_of_the_rows_it_goes_through(model: LanguageModel, moving: str) -> None:
    before = next_token(model, TEXT)
    edits = [Edit(2, "scale", 0.5), Edit(1, moving, 0.3, "#40"), Edit(1, "scale", 2.0), Edit(3, "zero")]
    found = path(model, before, edits, moving=1)
    rows = np.repeat(model.rows(before.tokens)[None], 21, axis=0)
    shares = np.linspace(0, 1, 21)[:, None]
    start, end = rows[0, 1].copy(), model.table.values[40] if moving == "slide" else np.zeros(16)
    rows[:, 1] = 2 * ((1 - shares) * start + shares * end)
    rows[:, 2] *= 0.5
    rows[:, 3] = 0
    assert np.abs(found.logits - plain(model, rows)).max() < 1e-3
    assert found.shares.tolist() == shares[:, 0].tolist()
    assert found.probabilities == pytest.approx(softmax(found.logits.astype(float), axis=1), abs=1e-6)
    assert found.largest == found.probabilities.max()
    assert found.highest(3)[0] == int(found.probabilities.max(axis=0).argmax())
    assert found.leaders == tuple(found.logits.argmax(axis=1))
    assert (found.nearest[-1] is None) == (moving == "scale")
    assert found.target == (model.vocabulary.entry(40) if moving == "slide" else None)
    assert not found.logits.flags.writeable


def test_only_slides_and_fades_have_a_way(model: LanguageModel) -> None:
    with pytest.raises(BadInput, match="zero has none"):
        path(model, next_token(model, TEXT), [Edit(1, "zero")])


def test_an_effect_names_what_each_edited_row_has_become(model: LanguageModel) -> None:
    before = next_token(model, TEXT)
    edits = [Edit(3, "zero"), Edit(1, "swap", target="#40"), Edit(1, "scale", 0.5)]
    found = effect(model, before, edits)
    assert [row.token.position for row in found.rows] == [1, 3]
    first, zero = found.rows
    assert first.nearest is not None and first.nearest.entry.id == 40
    assert first.nearest.cosine == pytest.approx(1, abs=1e-6)
    assert first.length == pytest.approx(np.linalg.norm(model.table.values[40]) / 2, rel=1e-5)
    was = model.table.values[before.tokens.ids[1]]
    assert first.cosine == pytest.approx(model.table.cosines(was)[40], abs=1e-5)
    assert first.baseline.mean == pytest.approx(np.nanmean(model.table.cosines(was)), abs=1e-5)
    assert zero.nearest is None and np.isnan(zero.cosine) and zero.length == 0
    assert found.notes == (NO_DIRECTION,)
    p, q = before.distribution.probabilities, found.after.distribution.probabilities
    assert found.divergence == pytest.approx(kl_div(p, q).sum(), rel=1e-6)


def test_without_edits_everything_is_the_same_to_the_bit(model: LanguageModel) -> None:
    before = next_token(model, TEXT)
    found = effect(model, before, [])
    assert found.after is before and found.divergence == 0 and not found.rows
    with_edits(model, before, [Edit(1, "noise", 5.0)])
    assert np.array_equal(next_token(model, TEXT).distribution.logits, before.distribution.logits)
    with torch.inference_mode():
        once = model._network(torch.tensor([before.tokens.ids]), logits_to_keep=1).logits[0, -1].numpy()
    assert np.array_equal(once, before.distribution.logits) or np.abs(once - before.distribution.logits).max() < 1e-4


def test_the_nearest_entry_is_that_of_a_full_search(model: LanguageModel) -> None:
    vectors = np.random.default_rng(1).normal(size=(20, 16)).astype(np.float32)
    for vector, found in zip(vectors, nearest_entries(model, vectors), strict=True):
        cosines = model.table.cosines(vector)
        special = [id for id in range(model.table.rows) if model.vocabulary.entry(id).kind not in ("text", "bytes")]
        cosines[special] = -1
        assert found is not None and found.entry.id == int(np.nanargmax(cosines))
        assert found.cosine == pytest.approx(np.nanmax(cosines), abs=1e-5)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_model_whose_rows_are_not_what_goes_in_has_no_edits(
    tiny: Tiny, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny(name)
    true = model.scores_from_ids
    monkeypatch.setattr(model, "scores_from_ids", lambda tokens: true(tokens) + 1)
    unlike = next_token(model, TEXT, check=True)
    assert unlike.self_check == pytest.approx(1, abs=1e-3)
    with pytest.raises(BadInput, match="changes its rows before use, so edits are off"):
        with_edits(model, unlike, [Edit(1, "zero")])


@pytest.mark.real_model
def test_the_whole_way_from_france_to_germany(smollm2: LanguageModel) -> None:
    before = next_token(smollm2, "The capital of France is")
    found = path(smollm2, before, [read_edit('3:slide=" Germany"@0.5')])
    paris, berlin = (find(smollm2, before.distribution, typed).entry.id for typed in (" Paris", " Berlin"))
    assert found.probabilities[[0, -1], paris] == pytest.approx([0.773, 0.007], abs=0.01)
    assert found.probabilities[[0, -1], berlin] == pytest.approx([0.001, 0.796], abs=0.01)
    crossing = found.shares[np.argmax(found.probabilities[:, berlin] > found.probabilities[:, paris])]
    assert 0.5 < crossing <= 0.65
    assert set(found.highest(2)) == {paris, berlin}
    assert [one.entry.text for one in found.nearest if one][::20] == [" France", " Germany"]
    assert found.leaders[0] == paris and found.leaders[-1] == berlin
    edited = with_edits(smollm2, before, [read_edit('3:slide=" Germany"@0.65')])
    assert np.abs(edited.distribution.logits - found.logits[13]).max() < 5e-3


@pytest.mark.real_model
def test_fading_france_and_sliding_river(smollm2: LanguageModel) -> None:
    before = next_token(smollm2, "The capital of France is")
    fade = path(smollm2, before, [Edit(3, "scale")])
    paris = find(smollm2, before.distribution, " Paris").entry.id
    leads = [one == paris for one in fade.leaders]
    assert all(leads[:9]) and not leads[10]
    river = path(smollm2, next_token(smollm2, "The river bank"), [Edit(1, "slide", target=" national")])
    best = [candidates(smollm2, river.at(step), 1)[0] for step in (10, 20)]
    assert [one.entry.text for one in best] == [" of", "'s"]
    assert [one.probability for one in best] == pytest.approx([0.393, 0.090], abs=0.01)
    assert others_sentence(river.at(20), best[1:]) == "49,151 other tokens share .910."
