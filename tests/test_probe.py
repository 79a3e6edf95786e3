"""The linear probe against scikit-learn's logistic regression."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from embedviz.probe import fit, right


@pytest.mark.parametrize(("examples", "coordinates"), [(80, 1), (80, 10), (80, 79), (80, 200), (12, 576)])
def test_weights_are_those_of_scikit_learn(examples: int, coordinates: int) -> None:
    generator = np.random.default_rng(coordinates)
    rows = generator.normal(size=(examples, coordinates))
    answers = rows[:, 0] + generator.normal(size=examples) > 0
    weights, offset = fit(rows, answers)
    expected = LogisticRegression(tol=1e-10, max_iter=10_000).fit(rows, answers)
    assert weights == pytest.approx(expected.coef_[0], abs=1e-5)
    assert offset == pytest.approx(expected.intercept_[0], abs=1e-5)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_sides_that_are_far_apart_are_told_apart(scale: float) -> None:
    rows = np.array([[-1.0], [-2.0], [1.0], [3.0]]) * scale
    answers = np.array([False, False, True, True])
    weights, offset = fit(rows, answers)
    assert np.isfinite(weights).all() and np.isfinite(offset)
    assert weights[0] > 0


def test_equal_examples_leave_nothing_to_learn() -> None:
    weights, offset = fit(np.zeros((6, 3)), np.array([True] * 3 + [False] * 3))
    assert weights == pytest.approx([0, 0, 0])
    assert offset == pytest.approx(0)


def test_each_side_counts_alike() -> None:
    answers = np.array([True, True, True, False])
    assert right(np.array([1.0, 1.0, 1.0, 1.0]), answers) == 0.5
    assert right(np.array([1.0, 1.0, -1.0, -1.0]), answers) == pytest.approx(5 / 6)
