"""One vector against every row: the three metrics and their baselines against plain float64 computations."""

from __future__ import annotations

import numpy as np
import pytest

from embedviz.comparison import METRICS, compare, metric_named
from embedviz.errors import BadInput
from embedviz.table import EmbeddingTable

SQUARE = EmbeddingTable(np.array([[2, 0], [0, 1], [-1, 0], [0, 0], [3, 3]], dtype=np.float32), tied=True)
MANY = EmbeddingTable(np.random.default_rng(0).normal(1, 1, size=(300, 12)).astype(np.float32), tied=True)


def plain(metric: str, rows: np.ndarray, vector: np.ndarray) -> np.ndarray:
    rows, vector = rows.astype(np.float64), vector.astype(np.float64)
    if metric == "dot":
        return np.array([sum(row * vector) for row in rows])
    if metric == "euclidean":
        return np.array([sum((row - vector) ** 2) ** 0.5 for row in rows])
    return np.array([sum(row * vector) / (sum(row**2) ** 0.5 * sum(vector**2) ** 0.5) for row in rows])


def test_two_dimensions_by_eye() -> None:
    compared = compare(SQUARE, np.array([1, 0], dtype=np.float32))
    assert compared.values("dot").tolist() == [2, 0, -1, 0, 3]
    assert compared.values("cosine")[:3].tolist() == [1, 0, -1]
    assert np.isnan(compared.values("cosine")[3])
    assert compared.values("euclidean")[:4] == pytest.approx([1, 2**0.5, 2, 1])


@pytest.mark.parametrize("metric", METRICS)
def test_values_are_those_of_float64(metric: str) -> None:
    vector = MANY.values[7]
    compared = compare(MANY, vector)
    expected = plain(metric, MANY.values, vector)
    # Near distance 0 float32 loses half its digits: the lists take `exact` instead.
    assert compared.values(metric) == pytest.approx(expected, abs=2e-3 if metric == "euclidean" else 1e-4)
    assert compared.exact(metric, np.arange(300)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_centring_is_the_same_as_a_table_of_centred_rows(metric: str) -> None:
    vector = MANY.values[7] * 2
    compared = compare(MANY, vector, centre=True)
    mean = MANY.values.astype(np.float64).mean(axis=0)
    expected = plain(metric, MANY.values - mean, vector - mean)
    assert compared.values(metric) == pytest.approx(expected, abs=1e-3)
    assert compared.exact(metric, np.arange(300)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_baseline_is_over_all_rows_that_have_a_length(metric: str) -> None:
    rows = MANY.values.copy()
    rows[[3, 50]] = 0
    table = EmbeddingTable(rows, tied=True)
    baseline = compare(table, rows[7]).baseline(metric)
    expected = plain(metric, np.delete(rows, [3, 50], axis=0), rows[7])
    assert (baseline.mean, baseline.std) == pytest.approx((expected.mean(), expected.std()), abs=1e-3)
    assert baseline.rows == 298
    beyond = expected > baseline.quantile if metric == "euclidean" else expected < baseline.quantile
    assert beyond.mean() == pytest.approx(0.99, abs=0.01)


def test_a_vector_without_length_has_no_cosine() -> None:
    compared = compare(MANY, np.zeros(12, dtype=np.float32))
    assert np.isnan(compared.values("cosine")).all()
    assert np.isnan(compared.baseline("cosine").mean)
    assert compared.values("euclidean") == pytest.approx(MANY.lengths, abs=1e-5)


def test_a_row_with_itself_is_never_above_1() -> None:
    for id in range(300):
        assert compare(MANY, MANY.values[id]).values("cosine")[id] <= 1.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(bad: float) -> None:
    with pytest.raises(BadInput, match="not finite"):
        compare(SQUARE, np.array([1, bad], dtype=np.float32))


def test_metrics_have_three_names() -> None:
    assert [metric_named(name) for name in ("cosine", "dot", "euclidean")] == list(METRICS)
    with pytest.raises(BadInput, match="'manhattan': choose cosine, dot or euclidean"):
        metric_named("manhattan")
