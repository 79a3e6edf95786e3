"""Going on step by step: with the cache as without, reversible, and the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from embedviz.edits import Edit
from embedviz.errors import BadInput
from embedviz.models.language_model import LanguageModel
from embedviz.next_token import Sampling, continuation, next_token
from embedviz.walk import MOST, Walk, begin, go_on

Tiny = Callable[[str], LanguageModel]


@pytest.fixture(params=["gpt2", "gpt_neox", "llama"])
def model(request: pytest.FixtureRequest, tiny: Tiny) -> LanguageModel:
    return tiny(request.param)


def start(model: LanguageModel) -> Walk:
    return begin(next_token(model, "The bank of the", edits=[Edit(1, "scale", -2.0)]))


def test_every_steps_scores_are_those_of_reading_all_again(model: LanguageModel) -> None:
    walk = go_on(model, start(model), Sampling(seed=3), 6)
    assert len(walk.distributions) == 7
    rows = walk.start.rows
    for step, before, after in zip(walk.steps, walk.distributions, walk.distributions[1:], strict=False):
        assert before.logits == pytest.approx(model.scores(rows), abs=1e-4)
        rows = np.concatenate([rows, model.table.lookup([step.id])])
        assert after.logits == pytest.approx(model.scores(rows), abs=1e-4)
    assert walk.ids == (*walk.start.tokens.ids, *(step.id for step in walk.steps))


def test_what_was_taken_back_comes_again_with_the_same_seed_and_not_with_another(model: LanguageModel) -> None:
    sampling = Sampling(temperature=3.0, seed=5)
    walk = go_on(model, start(model), sampling, 8)
    again = go_on(model, walk.back(3), sampling, 3)
    one_by_one = walk.back(99)
    assert one_by_one.ids == walk.start.tokens.ids
    assert len(one_by_one.distributions) == 1
    for _ in range(8):
        one_by_one = go_on(model, one_by_one, sampling)
    assert walk.ids == again.ids == one_by_one.ids
    assert go_on(model, start(model), Sampling(temperature=3.0, seed=6), 8).ids != walk.ids
    assert walk.steps[0].sampling.seed == 5


def test_a_continuation_is_the_text_of_a_walk(model: LanguageModel) -> None:
    walk = go_on(model, start(model), Sampling(seed=2), 5)
    assert continuation(model, walk.start, 5, Sampling(seed=2)) == model.vocabulary.text_of(walk.ids)


def test_greedy_takes_the_best_at_each_step(model: LanguageModel) -> None:
    walk = go_on(model, start(model), Sampling(temperature=0), 5)
    best = [int(one.logits.argmax()) for one in walk.distributions[:-1]]
    assert [step.id for step in walk.steps] == best


def test_a_walk_ends_at_the_context_and_at_what_is_kept(model: LanguageModel) -> None:
    walk = start(model)
    room = min(MOST, model.spec.context - len(walk.ids))
    full = go_on(model, walk, Sampling(), room)
    with pytest.raises(BadInput, match="0 more tokens can be added here; 1 were asked for"):
        go_on(model, full, Sampling())
    with pytest.raises(BadInput, match="at least 1; 0"):
        go_on(model, walk, Sampling(), 0)
