"""Distributions and sampling, against closed forms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from embedviz.errors import BadInput
from embedviz.models.language_model import LanguageModel
from embedviz.next_token import Distribution, Sampling, candidates, find, next_token, others_sentence
from embedviz.numbers import probability

LOGITS = np.log(np.array([0.4, 0.3, 0.2, 0.1], dtype=np.float32))
FOUR = Distribution(LOGITS)


def test_probabilities_are_the_softmax() -> None:
    assert FOUR.probabilities == pytest.approx([0.4, 0.3, 0.2, 0.1], abs=1e-6)
    wide = Distribution(np.random.default_rng(0).normal(0, 30, 50_000).astype(np.float32))
    assert abs(wide.probabilities.sum() - 1) < 1e-6


def test_huge_logits_do_not_overflow() -> None:
    assert Distribution(np.array([1e30, 0.0], dtype=np.float32)).probabilities.tolist() == [1.0, 0.0]


def test_order_is_best_first_and_ties_go_by_id() -> None:
    logits = np.array([1, 5, 3, 5, 0, 3], dtype=np.float32)
    assert Distribution(logits).order(4).tolist() == [1, 3, 2, 5]
    assert Distribution(logits).order(99).tolist() == [1, 3, 2, 5, 0, 4]


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (Sampling(), [0.4, 0.3, 0.2, 0.1]),
        (Sampling(temperature=0), [1, 0, 0, 0]),
        (Sampling(temperature=1e-4), [1, 0, 0, 0]),
        (Sampling(temperature=0.5), np.array([16, 9, 4, 1]) / 30),
        (Sampling(top_k=1), [1, 0, 0, 0]),
        (Sampling(top_k=2), [4 / 7, 3 / 7, 0, 0]),
        (Sampling(top_k=4), [0.4, 0.3, 0.2, 0.1]),
        (Sampling(top_k=99), [0.4, 0.3, 0.2, 0.1]),
        (Sampling(top_p=0), [1, 0, 0, 0]),
        (Sampling(top_p=0.5), [4 / 7, 3 / 7, 0, 0]),
        (Sampling(top_p=1), [0.4, 0.3, 0.2, 0.1]),
        (Sampling(top_k=3, top_p=0.7), [4 / 7, 3 / 7, 0, 0]),
    ],
)
def test_sampling_cuts_and_sums_to_one(sampling: Sampling, expected: list[float]) -> None:
    found = sampling.probabilities(FOUR)
    assert found == pytest.approx(expected, abs=1e-6)
    assert found.sum() == pytest.approx(1, abs=1e-6)


def test_what_is_cut_says_by_which_rule() -> None:
    choice = Sampling(top_k=3, top_p=0.7).choice(FOUR)
    assert choice.by_top_k.tolist() == [False, False, False, True]
    assert choice.by_top_p.tolist() == [False, False, True, False]
    assert ((choice.probabilities > 0) == ~(choice.by_top_k | choice.by_top_p)).all()
    assert not choice.probabilities.flags.writeable
    greedy = Sampling(temperature=0, top_k=2, top_p=0.1).choice(FOUR)
    assert not greedy.by_top_k.any() and not greedy.by_top_p.any()


def test_drawing_follows_the_probabilities_and_repeats_with_its_seed() -> None:
    drawn = [Sampling(seed=seed).draw(FOUR, 0) for seed in range(4000)]
    assert np.bincount(drawn) / 4000 == pytest.approx([0.4, 0.3, 0.2, 0.1], abs=0.03)
    assert [Sampling(seed=9).draw(FOUR, 5) for _ in range(3)] == [Sampling(seed=9).draw(FOUR, 5)] * 3
    assert len({Sampling(seed=9).draw(FOUR, step) for step in range(30)}) > 1


def test_divergence_is_the_closed_form_and_bears_probabilities_of_nothing() -> None:
    half = Distribution(np.log(np.array([0.5, 0.5], dtype=np.float32)))
    quarter = Distribution(np.log(np.array([0.25, 0.75], dtype=np.float32)))
    assert half.divergence(quarter) == pytest.approx(0.5 * np.log(2) + 0.5 * np.log(0.5 / 0.75), abs=1e-6)
    assert half.divergence(half) == 0
    certain, other = (Distribution(np.array(one, dtype=np.float32)) for one in ([1e4, 0, 0], [0, 1e4, 0]))
    assert certain.divergence(other) == pytest.approx(1e4)
    assert other.probabilities[0] == 0 and np.isfinite(other.log_probabilities).all()


def test_a_rank_counts_equal_scores_by_id() -> None:
    logits = np.array([1, 5, 3, 5, 0, 3], dtype=np.float32)
    found = Distribution(logits)
    assert [found.rank(int(id)) for id in found.order(6)] == [1, 2, 3, 4, 5, 6]
    with pytest.raises(ValueError, match="read-only"):
        found.logits[0] = 1


def test_any_token_has_its_rank_and_the_rest_is_a_sentence(tiny: Callable[[str], LanguageModel]) -> None:
    model = tiny("gpt2")
    result = next_token(model, "The bank of the")
    best = candidates(model, result.distribution, 400)
    for one in (best[0], best[17]):
        assert find(model, result.distribution, f"#{one.entry.id}") == one
    assert find(model, result.distribution, " bank").entry.text == " bank"
    with pytest.raises(BadInput, match="Choose one"):
        find(model, result.distribution, "bankbridge")
    left = sum(one.probability for one in best[2:])
    rest = len(result.distribution.logits) - 2
    assert others_sentence(result.distribution, best[:2]) == f"{rest} other tokens share {probability(left)}."


def test_rows_are_checked_against_ids_at_a_models_first_use_and_when_asked(
    tiny: Callable[[str], LanguageModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, runs = tiny("llama"), []
    next_token(model, "The bank")
    true = model.scores_from_ids
    monkeypatch.setattr(model, "scores_from_ids", lambda tokens: runs.append(1) or true(tokens))
    next_token(model, "The bank of the")
    assert not runs
    assert next_token(model, "The bank of the", check=True).self_check < 1e-4
    assert runs == [1]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"temperature": -1.0}, "temperature must be 0 or more; -1.0"),
        ({"temperature": float("nan")}, "temperature must be 0 or more; nan"),
        ({"temperature": float("inf")}, "temperature must be 0 or more; inf"),
        ({"top_k": -1}, "Top-k"),
        ({"top_p": 1.5}, "Top-p"),
        ({"top_p": float("nan")}, "Top-p"),
    ],
)
def test_values_that_mean_nothing_are_refused(values: dict[str, float], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Sampling(**values)  # type: ignore[arg-type]
