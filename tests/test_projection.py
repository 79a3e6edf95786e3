"""PCA against closed forms and scikit-learn, from one point up, and the messages between the app and UMAP's process."""

from __future__ import annotations

import io

import numpy as np
import pytest
from sklearn.decomposition import PCA

from embedviz.projection.messages import read_message, write_message
from embedviz.projection.pca import pca


@pytest.mark.parametrize(("points", "dimensions"), [(12, 40), (200, 7), (5, 5)])
@pytest.mark.parametrize("components", [2, 3])
def test_pca_is_that_of_scikit_learn(points: int, dimensions: int, components: int) -> None:
    vectors = np.random.default_rng(0).normal(size=(points, dimensions))
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    ours, theirs = pca(vectors, components, unit=True), PCA(components, svd_solver="full").fit(units)
    signs = np.sign(np.sum(ours.axes * theirs.components_, axis=1))
    assert np.allclose(ours.axes, signs[:, None] * theirs.components_, atol=1e-9)
    assert np.allclose(ours.coordinates, signs * theirs.transform(units), atol=1e-9)
    assert np.allclose(ours.explained, theirs.explained_variance_ratio_, atol=1e-12)
    assert ours.kept == pytest.approx(theirs.explained_variance_ratio_.sum())


def test_a_line_in_space_lies_on_the_first_axis() -> None:
    found = pca(np.array([[0, 0, 1], [1, 1, 1], [2, 2, 1], [3, 3, 1]], dtype=np.float32), unit=False)
    assert np.allclose(found.coordinates[:, 0], np.sqrt(2) * np.array([-1.5, -0.5, 0.5, 1.5]))
    assert np.allclose(found.axes[0], [0.5**0.5, 0.5**0.5, 0])
    assert found.coordinates[:, 1].tolist() == [0, 0, 0, 0]
    assert found.explained.tolist() == [pytest.approx(1), 0]


def test_length_counts_only_without_unit() -> None:
    vectors = np.array([[1, 0], [3, 0], [0, 1], [0, 2]], dtype=float)
    assert np.allclose(pca(vectors, unit=True).coordinates[0], pca(vectors, unit=True).coordinates[1])
    assert not np.allclose(pca(vectors, unit=False).coordinates[0], pca(vectors, unit=False).coordinates[1])


def test_signs_do_not_depend_on_the_order_of_the_points() -> None:
    vectors = np.random.default_rng(1).normal(size=(9, 30))
    order = np.random.default_rng(2).permutation(9)
    assert np.allclose(pca(vectors, unit=True).coordinates[order], pca(vectors[order], unit=True).coordinates)


@pytest.mark.parametrize("points", range(6))
@pytest.mark.parametrize("components", [2, 3])
def test_few_points_have_a_picture(points: int, components: int) -> None:
    found = pca(np.random.default_rng(0).normal(size=(points, 8)), components, unit=True)
    assert found.coordinates.shape == (points, components)
    assert np.isfinite(found.coordinates).all()
    if points < 2:
        assert np.isnan(found.explained).all() and np.isnan(found.kept)
    else:
        assert found.kept == pytest.approx(1) or points > components + 1


def test_equal_points_lie_on_one_place_and_nothing_is_explained() -> None:
    row = np.random.default_rng(0).normal(size=576).astype(np.float32)
    found = pca(np.repeat(row[None], 20, axis=0), unit=True)
    assert not found.coordinates.any()
    assert np.isnan(found.explained).all()


def test_points_that_are_no_numbers_are_counted_and_not_drawn() -> None:
    vectors = np.random.default_rng(0).normal(size=(6, 4))
    vectors[1], vectors[4, 2] = 0, np.nan
    found = pca(vectors, unit=True)
    assert found.left_out == 2
    assert np.isnan(found.coordinates[[1, 4]]).all()
    assert np.allclose(found.coordinates[[0, 2, 3, 5]], pca(vectors[[0, 2, 3, 5]], unit=True).coordinates)
    assert pca(vectors, unit=False).left_out == 1


def test_a_new_point_is_placed_in_the_picture_that_is_there() -> None:
    vectors = np.random.default_rng(0).normal(size=(10, 5))
    found = pca(vectors, unit=True)
    assert np.allclose(found.place(vectors[:3] * 7), found.coordinates[:3])
    assert np.isnan(found.place(np.zeros((1, 5)))).all()


def test_messages_arrive_as_they_were_sent() -> None:
    pipe = io.BytesIO()
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3).T, "empty": np.zeros((0, 3)), "ids": np.array([7])}
    arrays["a"].flags.writeable = False
    write_message(pipe, {"id": 1, "words": "␣bank"}, arrays)
    write_message(pipe, {"id": 2})
    pipe.seek(0)
    words, found = read_message(pipe)
    assert words == {"id": 1, "words": "␣bank"}
    for name, array in arrays.items():
        assert np.array_equal(found[name], array) and found[name].dtype == array.dtype
    assert read_message(pipe) == ({"id": 2}, {})
    with pytest.raises(EOFError):
        read_message(pipe)


def test_half_a_message_is_the_end_and_never_a_result() -> None:
    pipe = io.BytesIO()
    write_message(pipe, {"id": 1}, {"a": np.ones(9)})
    with pytest.raises(EOFError):
        read_message(io.BytesIO(pipe.getvalue()[:-1]))
