"""Similarity, silhouette and what is shared, against closed forms, plain loops and scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from embedviz.context_measures import (
    explainable_variance,
    labels,
    self_similarity,
    shuffled,
    silhouette,
    silhouette_by_layer,
    similarity,
    similarity_matrix,
)

HALF = 0.5**0.5


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def one_layer(*points: tuple[float, float]) -> NDArray[np.float32]:
    return np.array(points, dtype=np.float32)[:, None]


def random(occurrences: int, layers: int = 3, dimensions: int = 6, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(0.4, 1, (occurrences, layers, dimensions)).astype(np.float32)


def some_senses(occurrences: int) -> list[str | None]:
    """Three senses of different sizes, and every seventh without one."""
    return [None if n % 7 == 6 else ["river", "money", "row"][min(n % 4, 2)] for n in range(occurrences)]


def test_senses_are_numbered_as_they_first_appear() -> None:
    found = labels(["money", None, "river", "money"])
    assert found.names == ("money", "river")
    assert found.codes.tolist() == [0, -1, 1, 0]
    assert found.counts == (2, 1) and found.without_sense == 1


def test_similarity_of_vectors_one_can_check_by_eye() -> None:
    # River points east and north-east, money north twice: 45° within river, 0° within money.
    found = similarity(one_layer((1, 0), (2, 2), (0, 3), (0, 1)), ["river", "river", "money", "money"])
    assert found.within[0] == pytest.approx((HALF + 1) / 2)
    assert found.between[0] == pytest.approx((0 + 0 + HALF + HALF) / 4)
    gaps = [HALF - 0, HALF - HALF, 1 - HALF / 2, 1 - HALF / 2]
    assert found.error[0] == pytest.approx(np.std(gaps, ddof=1) / 2)


def test_similarity_is_that_of_a_plain_loop_over_pairs() -> None:
    vectors, senses = random(23), some_senses(23)
    found = similarity(vectors, senses)
    for layer in range(3):
        pairs: dict[bool, list[float]] = {True: [], False: []}
        gaps = []
        for a in range(23):
            mine: dict[bool, list[float]] = {True: [], False: []}
            for b in range(23):
                if a != b and senses[a] is not None and senses[b] is not None:
                    x, y = vectors[a, layer].astype(float), vectors[b, layer].astype(float)
                    mine[senses[a] == senses[b]].append(float(x @ y / np.linalg.norm(x) / np.linalg.norm(y)))
            for same in (True, False):
                pairs[same] += mine[same]
            if mine[True] and mine[False]:
                gaps.append(np.mean(mine[True]) - np.mean(mine[False]))
        assert found.error[layer] == pytest.approx(np.std(gaps, ddof=1) / len(gaps) ** 0.5, abs=1e-11)
        assert found.within[layer] == pytest.approx(np.mean(pairs[True]), abs=1e-11)
        assert found.between[layer] == pytest.approx(np.mean(pairs[False]), abs=1e-11)


def test_equal_vectors_are_alike_to_the_last_digit() -> None:
    vectors = np.repeat(random(1), 60, axis=0)
    found = similarity(vectors, ["river", "money", "row"] * 20)
    assert (found.within == 1).all() and (found.between == 1).all() and (found.error == 0).all()
    assert (self_similarity(vectors) == 1).all()
    assert (silhouette_by_layer(vectors, ["river", "money", "row"] * 20) == 0).all()


def test_vectors_without_direction_are_left_out_of_their_layer_and_counted() -> None:
    vectors, senses = random(12), some_senses(12)
    vectors[0, 1], vectors[1, 1], vectors[2, 1, 3] = 0, np.nan, np.inf
    found, without = similarity(vectors, senses), similarity(vectors[3:], senses[3:])
    assert found.without_direction.tolist() == [0, 3, 0]
    assert found.within[1] == without.within[1] and found.between[1] == without.between[1]
    assert np.isfinite(found.within).all()
    assert silhouette(vectors[:, 1], senses) == pytest.approx(silhouette(vectors[3:, 1], senses[3:]))
    assert explainable_variance(vectors)[1] == explainable_variance(vectors[3:])[1]
    matrix = similarity_matrix(vectors[:, 1], senses)
    assert matrix.without_direction == 3 and not set(matrix.order.tolist()) & {0, 1, 2}


def test_the_matrix_stands_sense_by_sense_with_those_without_one_last() -> None:
    found = similarity_matrix(np.array([[1, 0], [0, 1], [5, 0], [1, 1]]), ["river", None, "river", "money"])
    assert found.order.tolist() == [0, 2, 3, 1]
    assert found.names == ("river", "money", None) and found.boundaries == (0, 2, 3, 4)
    assert found.values == pytest.approx(
        np.array([[1, 1, HALF, 0], [1, 1, HALF, 0], [HALF, HALF, 1, HALF], [0, 0, HALF, 1]])
    )


def test_the_matrix_of_nothing_is_empty() -> None:
    found = similarity_matrix(np.empty((0, 4)), [])
    assert found.values.shape == (0, 0) and found.boundaries == (0,) and found.names == ()


def test_silhouette_of_points_one_can_check_by_eye() -> None:
    # 1 apart within, 4 or 5 across: (4.5 − 1) / 4.5 outside, (3.5 − 1) / 3.5 inside.
    points = np.array([[0.0, 0], [1, 0], [4, 0], [5, 0]])
    found = silhouette(points, ["river", "river", "money", "money"], "euclidean")
    assert found == pytest.approx((2 * 3.5 / 4.5 + 2 * 2.5 / 3.5) / 4)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("occurrences", [5, 14, 300])
def test_silhouette_is_that_of_scikit_learn(metric: str, occurrences: int) -> None:
    from sklearn.metrics import silhouette_score

    points = random(occurrences, seed=occurrences)[:, 0]
    senses = [["river", "money", "row"][min(n % 5, 2)] for n in range(occurrences)]
    senses[-1] = "alone"
    expected = silhouette_score(points.astype(float), senses, metric=metric)
    assert silhouette(points, senses, metric) == pytest.approx(expected, abs=1e-9)  # type: ignore[arg-type]


def test_no_silhouette_without_two_senses_or_two_of_one() -> None:
    points = random(3)[:, 0]
    for senses in (["river"] * 3, [None] * 3, ["river", "money", "row"], ["river", None, "money"]):
        assert np.isnan(silhouette(points, senses))
    assert np.isnan(silhouette(points[:0], []))


def test_a_place_that_is_not_finite_is_left_out_of_the_picture() -> None:
    points = np.array([[0.0, 0], [1, 0], [4, 0], [5, 0], [np.nan, 0]])
    senses = ["river", "river", "money", "money", "money"]
    assert silhouette(points, senses, "euclidean") == silhouette(points[:4], senses[:4], "euclidean")


def test_shuffled_labels_keep_the_sizes_and_the_places_without_one() -> None:
    senses = some_senses(40)
    found = shuffled(senses, 1)
    assert found != tuple(senses) and found == shuffled(senses, 1) and found != shuffled(senses, 2)
    assert sorted(map(str, found)) == sorted(map(str, senses))
    assert [one is None for one in found] == [one is None for one in senses]
    assert shuffled([], 0) == () and shuffled([None], 0) == (None,)


def test_shuffled_labels_take_the_senses_apart_no_more() -> None:
    senses = ["river", "money"] * 30
    vectors = random(60) + np.where(np.arange(60) % 2, 3, -3)[:, None, None]
    assert silhouette(vectors[:, 0], senses) > 0.7
    assert abs(silhouette(vectors[:, 0], shuffled(senses, 0))) < 0.1


def test_self_similarity_is_the_mean_over_all_pairs_less_the_baseline() -> None:
    found = one_layer((1, 0), (0, 1), (3, 3))
    assert self_similarity(found)[0] == pytest.approx((0 + HALF + HALF) / 3)
    assert self_similarity(found, np.array([0.1]))[0] == pytest.approx(2 * HALF / 3 - 0.1)


def test_explainable_variance_is_the_first_singular_values_share() -> None:
    # Two at right angles, of lengths 2 and 1: squared singular values 4 and 1.
    assert explainable_variance(one_layer((2, 0), (0, 1)))[0] == pytest.approx(4 / 5)
    assert explainable_variance(one_layer((2, 0), (0, 1)), np.array([0.3]))[0] == pytest.approx(0.5)
    assert explainable_variance(one_layer((1, 2), (2, 4), (-1, -2)))[0] == 1
    for occurrences in (4, 50):
        vectors = random(occurrences)
        values = np.linalg.svd(vectors[:, 1].astype(float), compute_uv=False) ** 2
        assert explainable_variance(vectors)[1] == pytest.approx(values[0] / values.sum(), abs=1e-11)


def test_one_occurrence_has_nothing_to_be_compared_with() -> None:
    for vectors in (random(0), random(1)):
        senses = ["river"] * len(vectors)
        found = similarity(vectors, senses)
        for values in (found.within, found.between, found.error, self_similarity(vectors)):
            assert values.shape == (3,) and np.isnan(values).all()
        assert np.isnan(explainable_variance(vectors)).all() and np.isnan(silhouette_by_layer(vectors, senses)).all()


def test_results_are_read_only() -> None:
    found = similarity(random(5), some_senses(5))
    for values in (found.within, found.error, self_similarity(random(5)), labels(["river"]).codes):
        assert not values.flags.writeable
