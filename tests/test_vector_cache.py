"""What is kept of a model's work: bounded, least recently used first to go, freed with its model."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from embedviz.vector_cache import VectorCache


class Model:
    """Anything a weak reference can point to."""


def test_the_least_recently_used_goes_first_over_all_models() -> None:
    cache = VectorCache(most=30)
    one: Any = Model()
    other: Any = Model()
    cache.put(one, "a", 1, 10)
    cache.put(other, "a", 2, 10)
    cache.put(one, "b", 3, 10)
    assert cache.get(one, "a") == 1
    cache.put(other, "c", 4, 20)
    assert [cache.get(one, "a"), cache.get(other, "a"), cache.get(one, "b"), cache.get(other, "c")] == [
        1,
        None,
        None,
        4,
    ]
    assert cache.size == 30


def test_a_value_put_again_counts_once_and_one_too_large_is_not_kept() -> None:
    cache = VectorCache(most=30)
    model: Any = Model()
    cache.put(model, "a", 1, 20)
    cache.put(model, "a", 2, 25)
    assert cache.get(model, "a") == 2 and cache.size == 25
    cache.put(model, "b", 3, 31)
    assert cache.get(model, "b") is None and cache.size == 0


def test_a_freed_model_frees_what_it_computed() -> None:
    cache = VectorCache(most=30)
    model: Any = Model()
    cache.put(model, "a", 1, 20)
    assert cache.size == 20
    del model
    gc.collect()
    assert cache.size == 0


def test_many_threads_at_once_stay_within_the_bound() -> None:
    cache = VectorCache(most=100)
    models: list[Any] = [Model() for _ in range(3)]

    def work(seed: int) -> bool:
        for k in range(300):
            cache.put(models[(seed + k) % 3], k % 40, k, 1 + k % 9)
            cache.get(models[k % 3], k % 7)
        return cache.size <= 100 + 9

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
    assert cache.size <= 100
