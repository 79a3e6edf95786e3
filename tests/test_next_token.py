"""Distributions and sampling, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from embedviz.errors import BadInput
from embedviz.next_token import Distribution, Sampling

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
