"""The nearest sense, on two-dimensional vectors and against plain loops."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from embedviz.nearest_sense import guess, leave_one_out, on_second_set, what_moved

HALF = 0.5**0.5
EAST, NORTH, WEST = (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def one_layer(*points: tuple[float, float]) -> NDArray[np.float32]:
    return np.array(points, dtype=np.float32)[:, None]


def random(occurrences: int, layers: int = 3, dimensions: int = 6, seed: int = 0) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(0.4, 1, (occurrences, layers, dimensions)).astype(np.float32)


def plain_accuracy(
    points: NDArray[np.floating],
    senses: Sequence[str | None],
    tests: NDArray[np.floating],
    answers: Sequence[str | None],
) -> float:
    """Leave one out where `tests` is `points` itself."""
    recalls: dict[str, list[bool]] = {}
    for n, (test, answer) in enumerate(zip(tests, answers, strict=True)):
        cosines = {}
        for name in {one for one in senses if one is not None}:
            mine = [p for m, p in enumerate(points) if senses[m] == name and not (tests is points and m == n)]
            if mine:
                centroid = np.mean(np.array(mine, dtype=float), axis=0)
                cosines[name] = test.astype(float) @ centroid / np.linalg.norm(test) / np.linalg.norm(centroid)
        if answer in cosines:
            recalls.setdefault(str(answer), []).append(max(cosines, key=lambda name: cosines[name]) == answer)
    return float(np.mean([np.mean(one) for one in recalls.values()]))


def test_apart_is_always_right_and_mixed_is_always_wrong() -> None:
    apart = leave_one_out(one_layer(EAST, (2, 0.1), NORTH, (0.1, 5)), ["river", "river", "money", "money"])
    assert apart.by_layer.tolist() == [1] and apart.chance == 0.5 and apart.tested == 4
    assert apart.noise == pytest.approx(0.25)
    mixed = leave_one_out(one_layer(EAST, NORTH, EAST, NORTH), ["river", "river", "money", "money"])
    # What is left of its own sense points the other way: held out, an occurrence cannot vote for itself.
    assert mixed.by_layer.tolist() == [0]


def test_the_centroid_is_the_mean_of_raw_vectors() -> None:
    # By unit vectors river would point north-east and take the test; by raw ones its long east vector rules.
    found = on_second_set(
        one_layer((100, 0), NORTH, (1, 5)), ["river", "river", "money"], one_layer((1, 1.5)), ["river"]
    )
    assert found.by_layer.tolist() == [0]


@pytest.mark.parametrize("number", [2, 3, 5])
def test_equal_vectors_give_chance_whatever_the_sizes(number: int) -> None:
    senses = [str(n % number) for n in range(4 * number)] + ["0"] * 7
    vectors = np.repeat(random(1, dimensions=576), len(senses), axis=0)
    found = leave_one_out(vectors, senses)
    assert found.by_layer == pytest.approx(1 / number) and found.chance == 1 / number
    assert on_second_set(vectors, senses, vectors, senses).by_layer == pytest.approx(1 / number)


def test_equal_vectors_give_chance_when_a_sense_has_one_member() -> None:
    found = leave_one_out(np.repeat(random(1), 5, axis=0), ["river", "river", "money", "money", "row"])
    assert found.by_layer == pytest.approx(1 / 3) and found.chance == 1 / 3


def test_a_tie_of_two_among_three_counts_half() -> None:
    training = one_layer(EAST, EAST, WEST)
    found = on_second_set(training, ["river", "money", "row"], one_layer(EAST), ["river"])
    assert found.by_layer.tolist() == [0.5]


def test_accuracy_is_the_mean_of_the_senses_and_not_of_the_occurrences() -> None:
    points = one_layer(*[EAST] * 6, NORTH, (1, 0.1))
    found = on_second_set(one_layer(EAST, NORTH), ["river", "money"], points, ["river"] * 6 + ["money"] * 2)
    assert found.by_layer.tolist() == [0.75]


def test_leave_one_out_is_that_of_a_plain_loop() -> None:
    senses = [None if n % 7 == 6 else ["river", "money", "row"][min(n % 4, 2)] for n in range(40)]
    vectors = (
        random(40) + np.array([len(one or "") for one in senses])[:, None, None] * np.float32([1, 0, 0, 0, 0, -1]) / 4
    )
    found = leave_one_out(vectors, senses)
    for layer in range(3):
        points = vectors[:, layer]
        assert found.by_layer[layer] == pytest.approx(plain_accuracy(points, senses, points, senses))
    assert found.tested == sum(one is not None for one in senses)


def test_a_second_set_is_that_of_a_plain_loop() -> None:
    names = ["river", "money", "row", None]
    senses, answers = [names[n % 4] for n in range(30)], [[*names, "new"][n % 5] for n in range(33)]
    vectors, tests = random(30), random(33, seed=1)
    found = on_second_set(vectors, senses, tests, answers)
    for layer in range(3):
        plain = plain_accuracy(vectors[:, layer], senses, tests[:, layer], answers)
        assert found.by_layer[layer] == pytest.approx(plain)
    assert found.left_out == ("new",) and found.chance == 1 / 3
    assert found.tested == sum(one not in (None, "new") for one in answers)


def test_a_sense_with_one_member_is_not_tested_but_can_be_chosen() -> None:
    vectors = one_layer(EAST, (1, 0.9), NORTH, NORTH, (1, 1))
    found = leave_one_out(vectors, ["river", "river", "money", "money", "alone"])
    # The second river vector is nearer to the lone one than to the other river.
    assert found.by_layer.tolist() == [0.75]
    assert found.left_out == ("alone",) and found.tested == 4


def test_a_vector_without_direction_is_neither_tested_nor_part_of_a_centroid() -> None:
    vectors = one_layer(EAST, EAST, (np.nan, 0), NORTH, NORTH, (0, 0))
    found = leave_one_out(vectors, ["river"] * 3 + ["money"] * 3)
    assert found.by_layer.tolist() == [1]


def test_a_centroid_without_direction_is_never_the_nearest() -> None:
    found = on_second_set(one_layer(EAST, WEST, NORTH), ["river", "river", "money"], one_layer(WEST), ["river"])
    assert found.by_layer.tolist() == [0]


@pytest.mark.parametrize("senses", [[], [None], [None] * 3, ["river"], ["river"] * 5, ["river", "money", "row"]])
def test_too_few_to_test_is_undefined(senses: list[str | None]) -> None:
    found = leave_one_out(random(len(senses)), senses)
    assert np.isnan(found.by_layer).all() and found.by_layer.shape == (3,)
    assert np.isnan(found.noise) and found.tested == 0


def test_a_second_set_without_a_known_sense_is_undefined() -> None:
    found = on_second_set(random(4), ["river", "river", "money", "money"], random(2), ["new", None])
    assert np.isnan(found.by_layer).all() and found.tested == 0 and found.left_out == ("new",)
    assert np.isnan(on_second_set(random(0), [], random(2), ["new", None]).by_layer).all()


def test_a_guess_names_the_nearest_by_how_much_and_from_where_on() -> None:
    layers = np.array([[EAST] * 4, [NORTH] * 4], dtype=np.float32)
    new = np.array([(1, 1), (0, 2), (3, 0), (1, 0)], dtype=np.float32)
    found = guess(layers, ["river", "money"], new)
    assert found.senses == ("river", "money")
    assert found.cosines == pytest.approx(np.array([[HALF, HALF], [0, 1], [1, 0], [1, 0]]))
    assert found.nearest == (None, "money", "river", "river")
    assert found.margin == pytest.approx([0, 1, 1, 1], abs=1e-12)
    assert found.from_layer == 2


def test_a_guess_that_ends_in_a_tie_has_no_answer() -> None:
    found = guess(one_layer(EAST, NORTH), ["river", "money"], np.array([(1, 1)]))
    assert found.nearest == (None,) and found.from_layer is None


def test_a_guess_without_two_senses_or_a_direction_has_no_answer() -> None:
    for senses in ([], [None], ["river"], ["river"] * 3):
        found = guess(random(len(senses)), senses, random(1)[0])
        assert found.nearest == (None,) * 3 and np.isnan(found.margin).all() and found.from_layer is None
        assert found.cosines.shape == (3, len(set(senses) - {None}))
    for nothing in (0.0, np.nan, np.inf):
        found = guess(random(2), ["river", "money"], np.full((3, 6), nothing))
        assert np.isnan(found.cosines).all() and found.from_layer is None


def test_the_clue_word_takes_the_lean_and_another_may_move_more() -> None:
    vectors = one_layer(EAST, EAST, NORTH)
    whole = np.array([[1, 0.0]], dtype=np.float32)
    without = np.array([[[1, 1]], [[1, -2]], [[1, 0]]], dtype=np.float32)
    found = what_moved(vectors, ["river", "river", "money"], "river", whole, without, leave_out=0)
    assert found.lean == pytest.approx([1])
    assert found.moved[:, 0] == pytest.approx([1 - HALF, 1 - 5**-0.5, 0])
    assert found.lost[:, 0] == pytest.approx([1, 1 - 3 * 5**-0.5, 0])
    assert found.clue == (0,)


def test_words_that_change_no_bit_move_it_by_exactly_nothing() -> None:
    vectors, whole = random(9, dimensions=576), random(1, dimensions=576)[0]
    without = np.stack([whole, whole * np.float32(1.5), whole])
    found = what_moved(vectors, ["river", "money", "row"] * 3, "river", whole, without)
    assert (found.moved[[0, 2]] == 0).all() and (found.lost[[0, 2]] == 0).all()
    assert (found.moved < 1e-12).all() and found.clue == (None, None, None)


def test_lean_is_to_its_own_sense_less_the_highest_of_the_others() -> None:
    vectors = one_layer(EAST, NORTH, (1, 1), (5, 5))
    whole, without = np.array([EAST]), np.array([[NORTH]])
    found = what_moved(vectors, ["river", "money", "row", None], "river", whole, without)
    assert found.lean == pytest.approx([1 - HALF])
    assert found.lost[0] == pytest.approx([(1 - HALF) - (0 - 1)])


def test_the_sentence_looked_at_is_left_out_of_its_own_centroid() -> None:
    vectors = one_layer((1, 1), EAST, NORTH)
    senses, whole, without = ["river", "river", "money"], np.array([(1, 1)]), np.array([[EAST]])
    assert what_moved(vectors, senses, "river", whole, without, leave_out=0).lean == pytest.approx([0], abs=1e-12)
    assert what_moved(vectors, senses, "river", whole, without).lean[0] > 0.1


def test_a_lean_needs_another_of_its_sense_and_another_sense() -> None:
    whole, without = random(1)[0], random(4)
    for senses, sense in (
        (["river", "money"], "river"),
        (["river", "river"], "river"),
        (["river", "money"], None),
        ([None, None], None),
    ):
        found = what_moved(random(2), senses, sense, whole, without, leave_out=0)
        assert np.isnan(found.lean).all() and np.isnan(found.lost).all() and found.clue == (None,) * 3
        assert np.isfinite(found.moved).all()


def test_a_sentence_of_the_word_alone_has_no_clue() -> None:
    found = what_moved(random(4), ["river", "money"] * 2, "river", random(1)[0], random(0))
    assert found.moved.shape == found.lost.shape == (0, 3) and found.clue == (None,) * 3


def test_a_vector_without_direction_has_moved_by_no_number() -> None:
    whole, without = random(1)[0], random(3)
    without[0], without[1] = 0, np.inf
    found = what_moved(random(4), ["river", "money"] * 2, "river", whole, without)
    assert np.isnan(found.moved[:2]).all() and np.isfinite(found.moved[2]).all()
    assert np.isnan(found.lost[:2]).all() and set(found.clue) <= {2, None}
    # Where nothing changed nothing moved, even so.
    assert (what_moved(random(4), ["river", "money"] * 2, "river", whole * 0, without[:1]).moved == 0).all()
