"""Cosines against vectors a person can check by eye."""

from __future__ import annotations

import numpy as np
import pytest

from embedviz.geometry import (
    cosine,
    directions_up_to,
    has_direction,
    nearest_directions,
    neighbours_kept,
    procrustes,
    unit,
)


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


def test_points_without_direction_are_told_from_those_with_one() -> None:
    vectors = np.array([[1, 0], [0, 0], [np.nan, 1], [np.inf, 1], [0, -2]])
    assert has_direction(vectors).tolist() == [True, False, False, False, True]
    assert unit(vectors[[0, 4]]).tolist() == [[1, 0], [0, -1]]


def test_directions_are_counted_once_whatever_their_length() -> None:
    vectors = np.array([[1, 0], [5, 0], [1, 1], [-1, -1], [0, 0], [np.nan, 1], [1, 1 + 1e-5]])
    assert directions_up_to(vectors, 9) == 3
    assert directions_up_to(vectors, 2) == 2
    # The differing ones may stand behind a thousand equal ones.
    assert directions_up_to(np.concatenate([np.repeat(vectors[:1], 2000, axis=0), vectors]), 3) == 3


@pytest.mark.parametrize(("points", "k"), [(7, 3), (130, 15), (64 * 20, 15), (64 * 20 + 37, 15)])
def test_nearest_directions_are_those_of_a_plain_sort(points: int, k: int) -> None:
    units = unit(np.random.default_rng(0).normal(size=(points, 5)).astype(np.float32))
    cosines = units.astype(np.float64) @ units.T
    np.fill_diagonal(cosines, -2)
    told: list[int] = []
    ids, values = nearest_directions(units, k, told=told.append, threads=2)
    assert np.allclose(values, -np.sort(-cosines, axis=1)[:, :k], atol=1e-6)
    assert np.allclose(np.take_along_axis(cosines, ids.astype(int), axis=1), values, atol=1e-6)
    assert told[-1] == points and told == sorted(told)


def test_a_picture_that_is_the_points_themselves_keeps_all_and_a_shuffled_one_next_to_none() -> None:
    angles = np.linspace(0, np.pi, 400)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert neighbours_kept(circle * np.arange(1, 401)[:, None], circle) > 0.95
    assert neighbours_kept(circle, np.random.default_rng(0).permutation(circle), sample=100) < 0.15


def test_neighbours_kept_of_few_points() -> None:
    line = np.array([[1, 0], [1, 0.5], [0, 1], [-1, 1]], dtype=float)
    assert np.isnan(neighbours_kept(line[:2], line[:2]))
    assert neighbours_kept(line[:3], line[:3]) == 1.0
    # 0 stands beside 2 here, and 1 beside 3.
    assert neighbours_kept(line, np.array([[0, 0], [9, 0], [0.1, 0], [9.1, 0]])) == 0.0
    gaps = np.array([[1, 0], [1, 0.5], [np.nan, 1], [-1, 1]])
    assert neighbours_kept(gaps, line) == neighbours_kept(line[[0, 1, 3]], line[[0, 1, 3]])
    # All on one place: as many are kept as chance has it, and nothing fails.
    assert 0 <= neighbours_kept(np.random.default_rng(0).normal(size=(40, 3)), np.zeros((40, 2))) <= 1


@pytest.mark.parametrize("components", [2, 3])
@pytest.mark.parametrize("reflected", [False, True])
def test_procrustes_undoes_a_turn_and_a_reflection_and_never_scales(components: int, reflected: bool) -> None:
    random = np.random.default_rng(3)
    turn = np.linalg.qr(random.normal(size=(components, components)))[0]
    if (np.linalg.det(turn) < 0) != reflected:
        turn[:, 0] *= -1
    points = random.normal(size=(9, components))
    onto = 5 * points @ turn + 7
    assert np.allclose(procrustes(points, onto), turn, atol=1e-12)
    onto[2], points[4] = np.nan, np.inf
    assert np.allclose(procrustes(points, onto), turn, atol=1e-12)


def test_procrustes_is_no_further_from_the_goal_than_any_turn_by_a_degree() -> None:
    random = np.random.default_rng(4)
    points, onto = (side - side.mean(axis=0) for side in random.normal(size=(2, 8, 2)))
    best = np.linalg.norm(points @ procrustes(points, onto) - onto)
    for angle in np.radians(np.arange(360)):
        c, s = np.cos(angle), np.sin(angle)
        for turn in ([[c, s], [-s, c]], [[c, s], [s, -c]]):
            assert best <= np.linalg.norm(points @ np.array(turn) - onto) + 1e-12


@pytest.mark.parametrize(
    "points",
    [np.zeros((0, 2)), np.ones((1, 2)), np.ones((5, 2)), np.full((5, 2), np.nan), np.array([[1, 2], [np.nan, 3]])],
)
def test_procrustes_changes_nothing_without_two_points_that_differ(points: np.ndarray) -> None:
    other = np.random.default_rng(0).normal(size=points.shape)
    for pair in ((points, other), (other, points)):
        assert np.array_equal(procrustes(*pair), np.eye(2))
