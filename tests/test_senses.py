"""Where the senses part and are best told apart, and what holds for all measures of senses."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from embedviz.context_measures import Similarity, labels, shuffled
from embedviz.nearest_sense import Accuracy
from embedviz.senses import SensesByLayer, best_layer, by_layer, needed, parting, random_variance

Vectors = NDArray[np.float32]
ZERO = np.zeros(1, dtype=np.int64)


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def random(occurrences: int, layers: int = 4, dimensions: int = 5, seed: int = 0) -> Vectors:
    return np.random.default_rng(seed).normal(0.4, 1, (occurrences, layers, dimensions)).astype(np.float32)


def parts_at(start: int, stop: int, senses: Sequence[str], layers: int = 8) -> Vectors:
    """River points east, money north, from `start` to before `stop`; elsewhere all point the same way."""
    vectors = np.ones((len(senses), layers, 2), dtype=np.float32)
    for n, sense in enumerate(senses):
        vectors[n, start:stop] = (1, 0) if sense == "river" else (0, 1)
    return vectors


def made(
    accuracy: Sequence[float], gap: Sequence[float], error: float = 0.0, each: int = 30
) -> tuple[Similarity, Accuracy]:
    """Two senses with `each` occurrences, and these results."""
    right = Accuracy(np.array(accuracy), 0.5, 0.5 / (2 * each) ** 0.5, 2 * each, ())
    return Similarity(np.array(gap), np.zeros(len(gap)), np.full(len(gap), error), ZERO), right


def numbers(found: SensesByLayer) -> dict[str, NDArray[np.float64]]:
    return {
        "within": found.similarity.within,
        "between": found.similarity.between,
        "error": found.similarity.error,
        "accuracy": found.accuracy.by_layer,
        "silhouette": found.silhouette,
        "self-similarity": found.self_similarity,
        "explainable variance": found.explainable_variance,
    }


FIVE_EACH = ["river"] * 5 + ["money"] * 5


def test_senses_part_at_the_first_layer_of_three_in_a_row() -> None:
    assert parting_of(parts_at(3, 8, FIVE_EACH)) == 3
    assert parting_of(parts_at(2, 5, FIVE_EACH)) == 2
    assert parting_of(parts_at(2, 4, FIVE_EACH)) is None


def test_senses_that_part_at_the_last_layer_part_there() -> None:
    assert parting_of(parts_at(7, 8, FIVE_EACH)) == 7
    assert parting_of(parts_at(6, 8, FIVE_EACH)) == 6


def test_equal_vectors_never_part_and_say_so() -> None:
    found = by_layer(parts_at(0, 0, FIVE_EACH), FIVE_EACH)
    assert found.parting.layer is None
    assert found.parting.reason == "The senses do not part clearly at any layer."
    assert found.accuracy.by_layer == pytest.approx(0.5)


def parting_of(vectors: Vectors, senses: Sequence[str | None] = FIVE_EACH) -> int | None:
    return by_layer(vectors, senses).parting.layer


def test_an_accuracy_half_way_from_chance_to_one_is_enough_of_many() -> None:
    named = labels(["river", "money"] * 30)
    assert needed(made([0], [0])[1]) == 0.75
    assert parting(*made([0.5, 0.74, 0.75, 0.9, 0.9], [0.1] * 5), named).layer == 2


def test_of_ten_nine_must_be_right() -> None:
    named = labels(FIVE_EACH)
    assert parting(*made([0.5, 0.8, 0.9, 0.9], [0.1] * 4, each=5), named).layer == 2


def test_a_similarity_that_is_no_higher_than_its_noise_does_not_count() -> None:
    named = labels(["river", "money"] * 30)
    assert parting(*made([1, 1, 1], [0.19, 0.21, 0.3], error=0.1), named).layer == 1
    assert parting(*made([1, 1, 1], [-0.1, 0, 0]), named).layer is None


@pytest.mark.parametrize(
    ("senses", "reason"),
    [
        ([], "No sentence has a sense."),
        ([None] * 5, "No sentence has a sense."),
        (["river"], "All sentences have the same sense."),
        (["river"] * 20, "All sentences have the same sense."),
        (["river", "money"], "Two senses need two sentences each, or more."),
        (["river"] * 9 + ["money"], "Two senses need two sentences each, or more."),
        (["river", "money"] * 3, "With 6 sentences, guessing could do as well."),
    ],
)
def test_too_few_to_tell_says_why(senses: list[str | None], reason: str) -> None:
    found = by_layer(random(len(senses)), senses).parting
    assert found.layer is None and found.reason == reason


def test_senses_of_random_vectors_part_rarely() -> None:
    """Layers that resemble their neighbours, as a model's do: with five of each, about 4 in 100."""
    parted = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        steps = generator.normal(size=(31, 10, 24))
        for layer in range(1, 31):
            steps[layer] = 0.9 * steps[layer - 1] + 0.19**0.5 * steps[layer]
        parted += parting_of((steps + 2).swapaxes(0, 1).astype(np.float32)) is not None
    assert parted <= 6


def test_shuffled_labels_do_not_part() -> None:
    senses = ["river", "money"] * 15
    vectors = parts_at(2, 8, senses) + random(30, 8, 2) / 5
    assert parting_of(vectors, senses) == 2
    assert [parting_of(vectors, shuffled(senses, seed)) for seed in range(5)] == [None] * 5


def test_the_best_layer_is_the_most_accurate_then_the_widest_apart_then_the_first() -> None:
    def best(accuracy: list[float], apart: list[float]) -> int | None:
        return best_layer(made(accuracy, apart)[1], np.array(apart))

    assert best([0.5, 0.9, 0.8], [0.1, 0.1, 0.9]) == 1
    assert best([0.9, 0.9, 0.9], [0.1, 0.3, 0.2]) == 1
    assert best([0.5, 0.9, 0.9], [0.9, 0.2, 0.2]) == 1
    assert best([np.nan, 0.5, np.nan], [0.9, np.nan, 0.2]) == 1
    assert best([np.nan, np.nan], [0.9, 0.2]) is None


SIZES = [0, 1, 2, 3, 5, 14, 15, 500]
KINDS = ["two senses", "three senses", "one sense", "one alone", "each alone", "none", "some"]


def senses_of(kind: str, occurrences: int) -> list[str | None]:
    given = {
        "two senses": lambda n: "ab"[n % 2],
        "three senses": lambda n: "abc"[n % 3],
        "one sense": lambda n: "a",
        "one alone": lambda n: "a" if n else "b",
        "each alone": lambda n: str(n),
        "none": lambda n: None,
        "some": lambda n: [None, "a", "b"][n % 3],
    }[kind]
    return [given(n) for n in range(occurrences)]


@pytest.mark.parametrize("occurrences", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_occurrences_gives_numbers_or_reasons(kind: str, occurrences: int) -> None:
    senses = senses_of(kind, occurrences)
    broken = random(occurrences)
    broken[::4, 1], broken[1::4, 2] = 0, np.nan
    for vectors in (random(occurrences), np.repeat(random(1), occurrences, axis=0), broken, np.zeros_like(broken)):
        found = by_layer(vectors, senses)
        for values in numbers(found).values():
            assert values.shape == (4,) and not np.isinf(values).any() and not values.flags.writeable
        assert (found.parting.layer is None) == bool(found.parting.reason)
        assert (found.best_layer is None) == np.isnan(found.accuracy.by_layer).all()


def test_twenty_copies_of_one_sentence_are_at_chance_everywhere() -> None:
    copies = np.repeat(random(1), 20, axis=0)
    found = by_layer(copies, ["river", "money"] * 10)
    assert found.accuracy.by_layer == pytest.approx(0.5) and (found.silhouette == 0).all()
    assert (found.similarity.within == 1).all() and (found.explainable_variance == 1).all()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.sampled_from(["river", "money", "row", None]), min_size=2, max_size=20),
    st.integers(0, 2**32 - 1),
)
def test_scale_order_and_names_change_nothing(senses: list[str | None], seed: int) -> None:
    vectors = random(len(senses), seed=seed)
    found = by_layer(vectors, senses)
    order = np.random.default_rng(seed).permutation(len(senses))
    renamed = {"river": "b", "money": "a", "row": "", None: None}
    for other in (
        by_layer(vectors * 10, senses),
        by_layer(vectors[order], [senses[n] for n in order]),
        by_layer(vectors, [renamed[one] for one in senses]),
    ):
        for name, values in numbers(found).items():
            assert numbers(other)[name] == pytest.approx(values, abs=1e-6, nan_ok=True), name
        assert dataclasses.astuple(other.parting) == dataclasses.astuple(found.parting)
        assert other.best_layer == found.best_layer


def test_random_words_share_as_much_as_few_vectors_must() -> None:
    apart = np.eye(50, dtype=np.float32)[:, None]
    assert random_variance(apart, 10) == pytest.approx(0.1)
    assert random_variance(np.repeat(apart[:1], 50, axis=0), 10) == pytest.approx(1)
    assert np.isnan(random_variance(apart, 1)).all()
