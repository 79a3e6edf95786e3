"""Cosines against vectors a person can check by eye."""

from __future__ import annotations

import numpy as np
import pytest

from embedviz.geometry import cosine


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [([1, 0], [0, 1], 0.0), ([1, 0], [1, 1], 2**-0.5), ([2, 0], [-3, 0], -1.0), ([1, 2], [10, 20], 1.0)],
)
def test_cosine_of_two_dimensional_vectors(a: list[float], b: list[float], expected: float) -> None:
    assert cosine(np.array(a, dtype=float), np.array(b, dtype=float)) == pytest.approx(expected, abs=1e-12)


def test_a_vector_with_itself_is_never_above_one() -> None:
    vectors = np.random.default_rng(0).normal(size=(1000, 7)).astype(np.float32)
    found = cosine(vectors, vectors)
    assert found.max() <= 1.0 and found.min() > 1 - 1e-9


def test_a_vector_without_length_has_no_cosine() -> None:
    assert np.isnan(cosine(np.zeros(3), np.ones(3)))
