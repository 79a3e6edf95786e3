"""One frame over all layers: no distance within a layer changes, neighbours face the same way, and nobody is lost."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from embedviz.errors import BadInput
from embedviz.geometry import neighbours_kept, procrustes
from embedviz.projection.aligned import AlignedProjection, aligned_pca, aligned_umap, outwards, place_new
from embedviz.projection.job import Stopped
from embedviz.projection.pca import pca
from embedviz.projection.umap_client import UmapWorker

SECONDS = 240


def parting(points: int = 20, layers: int = 5, dimensions: int = 16, seed: int = 0) -> np.ndarray:
    """(point, layer, dimension) two groups in turn, all on one row at layer 0 and further apart at each later one."""
    random = np.random.default_rng(seed)
    row, centres = random.normal(size=dimensions), random.normal(size=(2, dimensions))
    own = 0.4 * random.normal(size=(points, 1, dimensions))
    way = np.linspace(0, 1, max(layers, 2))[:layers, None]
    moved = centres[np.arange(points) % 2][:, None] + own
    return (row + way * moved + 0.1 * way * random.normal(size=(points, layers, dimensions))).astype(np.float32)


def senses(points: int) -> list[str]:
    return ["river" if point % 2 == 0 else "money" for point in range(points)]


def distances(places: np.ndarray) -> np.ndarray:
    return np.linalg.norm(places[:, None] - places[None], axis=2)


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("components", [2, 3])
def test_each_layer_is_its_own_pca_turned_and_no_more(components: int) -> None:
    vectors = parting()
    found = aligned_pca(vectors, components=components, start=3, groups=senses(20))
    assert found.method == "pca" and found.start == 3 and found.by_pca.all() and found.placed.all()
    assert found.coordinates.shape == (5, 20, components) and found.coordinates.dtype == np.float64
    for layer in range(1, 5):
        alone = pca(vectors[:, layer], components, unit=True)
        assert np.allclose(distances(found.coordinates[layer]), distances(alone.coordinates), atol=1e-12)
        assert found.explained[layer] == alone.kept
        assert found.neighbours_kept[layer] == neighbours_kept(vectors[:, layer], alone.coordinates)
    assert np.allclose(found.coordinates.mean(axis=1), 0, atol=1e-12)


def test_every_layer_faces_as_its_neighbour_does_and_the_first_sense_starts_at_the_left() -> None:
    for seed in range(6):
        found = aligned_pca(parting(seed=seed), start=2, groups=senses(20)).coordinates
        assert found[2, ::2, 0].mean() < 0 < found[2, 1::2, 0].mean()
        for layer, before in [(3, 2), (4, 3), (1, 2)]:
            assert np.allclose(procrustes(found[layer], found[before]), np.eye(2), atol=1e-9)
        # Where the other sense is the first named, the start layer is the mirror image, along the first axis alone.
        other = aligned_pca(parting(seed=seed), start=2, groups=[None, *senses(20)[1:]]).coordinates
        assert np.allclose(other[2], found[2] * (-1, 1), atol=1e-12)


def test_the_first_sense_is_the_first_that_is_named() -> None:
    vectors = parting()
    named = aligned_pca(vectors, start=2, groups=[None, *senses(20)[1:]]).coordinates[2]
    assert named[1::2, 0].mean() < 0
    # No sense, or one only: the first point stands for it.
    for groups in (None, [None] * 20, ["one"] * 20):
        assert aligned_pca(vectors, start=2, groups=groups).coordinates[2, 0, 0] < 0


def test_layer_0_is_one_place_and_a_layer_of_equal_points_does_not_break_the_chain() -> None:
    vectors = parting()
    plain = aligned_pca(np.delete(vectors, 3, axis=1), start=2, groups=senses(20))
    vectors[:, 3] = vectors[:1, 3] * np.arange(1, 21)[:, None]  # one direction, at twenty lengths
    found = aligned_pca(vectors, start=2, groups=senses(20))
    assert not found.coordinates[[0, 3]].any()
    assert np.isnan(found.explained[[0, 3]]).all() and np.isnan(found.neighbours_kept[[0, 3]]).all()
    assert np.allclose(found.coordinates[4], plain.coordinates[3], atol=1e-12)


def test_a_start_layer_of_equal_points_gives_way_to_the_nearest_that_has_a_picture() -> None:
    vectors = parting()
    at_0, at_1 = (aligned_pca(vectors, start=start, groups=senses(20)) for start in (0, 1))
    assert at_0.start == 1
    assert np.array_equal(at_0.coordinates, at_1.coordinates)


def test_layers_are_drawn_outwards_past_those_that_have_no_picture() -> None:
    assert outwards(2, np.array([True, False, True, True])) == [(2, None), (3, 2), (0, 2)]
    assert outwards(1, np.array([True, False, True, True])) == [(2, None), (3, 2), (0, 2)]
    assert outwards(9, np.array([True, True])) == [(1, None), (0, 1)]
    assert outwards(0, np.array([False])) == []


def test_the_frame_holds_nearly_all_points_of_the_later_layers() -> None:
    vectors = parting()
    found = aligned_pca(vectors, start=3)
    sizes = np.abs(found.coordinates[1:])
    assert found.edge == pytest.approx(1.12 * np.percentile(sizes, 97))
    vectors[4, 4] *= -1
    outlier = aligned_pca(vectors, start=3)
    assert outlier.edge < np.abs(outlier.coordinates[4, 4]).max()
    assert aligned_pca(vectors[:, 3:4], start=0).edge > 0
    assert aligned_pca(vectors[:, :1], start=0).edge == 1


@pytest.mark.parametrize("points", [0, 1, 2, 3, 5, 14, 15, 500])
@pytest.mark.parametrize("components", [2, 3])
def test_any_number_of_points_has_a_frame(points: int, components: int) -> None:
    found = aligned_pca(parting(points, 3), components=components, start=2, groups=senses(points))
    assert found.coordinates.shape == (3, points, components)
    assert np.isfinite(found.coordinates).all() and found.edge > 0
    assert np.isnan(found.neighbours_kept[2]) == (points < 3)
    assert np.isnan(found.explained[2]) == (points < 2)
    if points == 2:
        assert found.coordinates[2, 0, 0] < 0 and not found.coordinates[:, :, 1].any()
    new = place_new(found, parting(points, 3), parting(4, 3, seed=1))
    assert new.shape == (3, 4, components)
    assert np.isfinite(new[2]).all() == (points > 1)


def test_copies_of_one_sentence_lie_on_one_place_even_where_rounding_differs() -> None:
    noise = 1 + 1e-5 * np.random.default_rng(1).normal(size=(20, 5, 16))
    found = aligned_pca(np.repeat(parting(1), 20, axis=0) * noise, start=2)
    assert not found.coordinates.any() and found.edge == 1


def test_points_without_direction_are_counted_and_not_drawn() -> None:
    vectors = parting()
    vectors[4, 2], vectors[7] = 0, np.nan
    found = aligned_pca(vectors, start=2, groups=senses(20))
    assert found.left_out.tolist() == [1, 1, 2, 1, 1]
    assert np.isnan(found.coordinates[2, [4, 7]]).all() and np.isfinite(found.coordinates[3, 4]).all()
    rest = aligned_pca(np.delete(vectors, 7, axis=0), start=2, groups=np.delete(senses(20), 7).tolist())
    assert np.allclose(np.delete(found.coordinates, 7, axis=1), rest.coordinates, equal_nan=True)


def test_a_picture_cannot_be_changed() -> None:
    found = aligned_pca(parting(), start=2)
    for array in (found.coordinates, found.explained, found.axes, found.left_out):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("components", [2, 3])
def test_new_points_are_placed_on_the_same_axes(components: int) -> None:
    vectors = parting()
    found = aligned_pca(vectors, components=components, start=2, groups=senses(20))
    assert np.allclose(place_new(found, vectors, 3 * vectors[[3, 8]]), found.coordinates[:, [3, 8]], atol=1e-6)
    # At layer 0 there are no axes: another word has no place, and neither has a vector without direction.
    other = np.random.default_rng(5).normal(size=(2, 5, 16))
    other[1] = np.nan
    placed = place_new(found, vectors, other)
    assert np.isnan(placed[0]).all() and np.isnan(placed[:, 1]).all() and np.isfinite(placed[1:, 0]).all()
    alone = pca(vectors[:, 4], components, unit=True)
    apart = np.linalg.norm(alone.place(other[:1, 4]) - alone.coordinates, axis=1)
    assert np.allclose(np.linalg.norm(placed[4, 0] - found.coordinates[4], axis=1), apart)


# UMAP.


@pytest.fixture(scope="module")
def by_umap(umap_worker: UmapWorker) -> AlignedProjection:
    return aligned_umap(parting(40), start=2, groups=senses(40), worker=umap_worker).result(SECONDS)


def test_umap_layers_are_those_of_the_chain_turned_and_brought_to_one_size(
    umap_worker: UmapWorker, by_umap: AlignedProjection
) -> None:
    vectors = parting(40)
    assert by_umap.method == "umap" and by_umap.explained is None and by_umap.start == 2 and by_umap.placed.all()
    assert by_umap.by_pca.tolist() == [True, False, False, False, False]
    places = by_umap.coordinates
    assert not places[0].any()
    assert np.allclose(np.square(places[1:]).sum(axis=2).mean(axis=1), 1)
    assert places[2, ::2, 0].mean() < 0
    raw = umap_worker.place(vectors[:, 2]).result(SECONDS)
    for layer, before in [(2, None), (3, 2), (4, 3)]:
        raw = raw if before is None else umap_worker.place(vectors[:, layer], init=raw).result(SECONDS)
        centred = raw - raw.mean(axis=0)
        expected = distances(centred) / np.sqrt(np.square(centred).sum(axis=1).mean())
        assert np.allclose(distances(places[layer]), expected, atol=1e-5)
        assert by_umap.neighbours_kept[layer] == neighbours_kept(vectors[:, layer], raw)
        if before is not None:
            assert np.allclose(procrustes(places[layer], places[before]), np.eye(2), atol=1e-9)


def test_the_start_layer_is_there_before_the_others_and_stays_as_it_is(
    umap_worker: UmapWorker, by_umap: AlignedProjection
) -> None:
    job = aligned_umap(parting(40), start=2, groups=senses(40), worker=umap_worker)
    assert job.wait_for_part(SECONDS)
    part = job.so_far
    if not job.done:
        assert part.placed.tolist() == [True, False, True, False, False]
        assert np.isnan(part.coordinates[[1, 3, 4]]).all() and np.isnan(part.neighbours_kept[[1, 3, 4]]).all()
    assert part.edge > 0 and part.neighbours_kept[2] == by_umap.neighbours_kept[2]
    assert np.array_equal(part.coordinates[[0, 2]], by_umap.coordinates[[0, 2]])
    assert np.isnan(place_new(part, parting(40), parting(40)[:1])[1, 0]).all() or job.done
    assert np.array_equal(job.result(SECONDS).coordinates, by_umap.coordinates)
    assert job.so_far is job.result()


def test_a_new_point_in_a_umap_stands_among_its_nearest(by_umap: AlignedProjection) -> None:
    vectors = parting(40)
    copied = place_new(by_umap, vectors, 2 * vectors[[5]])
    assert np.allclose(copied[:, 0], by_umap.coordinates[:, 5], atol=1e-3)
    new = parting(42, seed=0)[40:] * np.float32(1.0)
    placed = place_new(by_umap, vectors, new)
    for layer in range(1, 5):
        cosines = [
            float(v @ new[0, layer] / np.linalg.norm(v) / np.linalg.norm(new[0, layer])) for v in vectors[:, layer]
        ]
        nearest = np.argsort(cosines)[-3:]
        weights = 1 / (1 - np.array(cosines)[nearest])
        expected = weights @ by_umap.coordinates[layer, nearest] / weights.sum()
        assert np.allclose(placed[layer, 0], expected, atol=1e-3)


@pytest.mark.parametrize("points", [5, 14, 15])
@pytest.mark.parametrize("components", [2, 3])
def test_umap_of_few_points_and_layers_with_fewer(umap_worker: UmapWorker, points: int, components: int) -> None:
    vectors = parting(points, 4)
    vectors[:, 0] = parting(3, 4, seed=2)[np.arange(points) % 3, 3]  # three forms of the word: three rows
    vectors[1, 3] = np.nan
    job = aligned_umap(vectors, components=components, start=0, groups=senses(points), worker=umap_worker)
    found = job.result(SECONDS)
    assert found.by_pca.tolist() == [True, False, False, points == 5]
    assert found.start == 1 and found.left_out.tolist() == [0, 0, 0, 1]
    assert np.isnan(found.coordinates[3, 1]).all() and np.isfinite(np.delete(found.coordinates, 1, axis=1)).all()
    assert len(np.unique(found.coordinates[0].round(6), axis=0)) == 3
    assert np.allclose(np.square(found.coordinates[:3]).sum(axis=2).mean(axis=1), 1)
    assert np.allclose(place_new(found, vectors, vectors[[0]])[:, 0], found.coordinates[:, 0], atol=1e-3)


@pytest.mark.parametrize(
    ("vectors", "found"),
    [
        (parting(4), "are 4"),
        (parting(1), "is 1"),
        (parting(0), "are 0"),
        (np.repeat(parting(1), 20, axis=0), "is 1"),
    ],
)
def test_umap_says_why_it_cannot_draw(umap_worker: UmapWorker, vectors: np.ndarray, found: str) -> None:
    with pytest.raises(BadInput, match=f"needs 5 points that differ, and here {found}"):
        aligned_umap(vectors, start=3, worker=umap_worker)


def test_two_visitors_ten_times_over_with_the_process_killed_once_all_get_their_picture(
    umap_worker: UmapWorker,
) -> None:
    asked = [parting(20, 4), parting(24, 4, seed=1)]
    alone = [aligned_umap(one, start=2, worker=umap_worker).result(SECONDS).coordinates for one in asked]
    got: list[list[np.ndarray]] = [[], []]

    def visit(visitor: int) -> None:
        for _ in range(10):
            job = aligned_umap(asked[visitor], start=2, worker=umap_worker)
            got[visitor].append(job.result(SECONDS).coordinates)

    visitors = [threading.Thread(target=visit, args=(visitor,)) for visitor in range(2)]
    for one in visitors:
        one.start()
    until(lambda: len(got[0]) >= 4)
    killed = umap_worker.process_id
    os.kill(killed, signal.SIGTERM)
    for one in visitors:
        one.join()
    assert umap_worker.process_id != killed
    for mine, expected in zip(got, alone, strict=True):
        assert len(mine) == 10
        assert all(np.array_equal(picture, expected) for picture in mine)


def test_a_long_job_lets_others_in_between_and_is_stopped_without_ending_the_process(umap_worker: UmapWorker) -> None:
    long = aligned_umap(np.concatenate([parting(200)] * 20, axis=1), start=3, worker=umap_worker)
    until(lambda: long.waiting.done > 0)
    assert "of 80 layers placed" in long.waiting.sentence
    process = umap_worker.process_id
    assert np.isfinite(umap_worker.place(parting()[:, 4]).result(SECONDS)).all()
    assert not long.done
    long.cancel()
    with pytest.raises(Stopped):
        long.result(SECONDS)
    assert long.so_far is None
    assert np.isfinite(umap_worker.place(parting()[:, 4]).result(SECONDS)).all()
    assert umap_worker.process_id == process
