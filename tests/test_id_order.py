"""The id is only an index: correlations that are known beforehand, and the rows next to an id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from embedviz.errors import BadInput
from embedviz.id_order import id_order, next_ids
from embedviz.models.language_model import LanguageModel
from embedviz.table import EmbeddingTable

Tiny = Callable[[str], LanguageModel]


def test_pairs_are_of_different_rows_and_the_seed_decides(tiny: Tiny) -> None:
    model = tiny("gpt2")
    one, again, other = (id_order(model.table, model.vocabulary, pairs=2_500, seed=seed) for seed in (0, 0, 1))
    assert one.distances.min() >= 1
    assert one.distances.max() < 400
    assert len(one.cosines) == len(one.distances) == len(one.shuffled_distances) == 2_500
    assert np.array_equal(one.cosines, again.cosines)
    assert not np.array_equal(one.cosines, other.cosines)
    assert one.correlation == pytest.approx(np.corrcoef(one.distances, one.cosines)[0, 1])
    assert (one.mean, one.std) == pytest.approx((one.cosines.mean(), one.cosines.std()))


def test_an_order_that_carries_everything_is_lost_when_ids_are_shuffled(tiny: Tiny) -> None:
    vocabulary = tiny("gpt2").vocabulary
    angle = np.linspace(0, np.pi, 400)
    length = 1 + np.log(np.arange(400) + 1)
    table = EmbeddingTable((length * [np.cos(angle), np.sin(angle)]).T.astype(np.float32), tied=True)
    found = id_order(table, vocabulary)
    assert found.correlation < -0.95
    assert abs(found.shuffled) < 0.1
    assert found.length_correlation == pytest.approx(1, abs=1e-6)
    assert "Rows far apart in id are less alike: correlation −" in found.sentence
    assert "a little more alike" in replace(found, correlation=0.2).sentence
    none = replace(found, correlation=0.01).sentence
    assert "not empty" not in none and "about as alike: correlation .01" in none


def test_a_rows_own_mean_is_explained_only_where_rare_rows_are_more_alike(tiny: Tiny) -> None:
    model = tiny("gpt2")
    rows = np.random.default_rng(0).normal(size=(400, 16)).astype(np.float32)
    rows[300:] += 3
    found = id_order(EmbeddingTable(rows, tied=True), model.vocabulary)
    assert found.high > 0.8 > 0.1 > abs(found.low)
    assert "rows of rare tokens are much alike" in found.beside("␣bank", 0.02)
    assert found.beside("␣bank", 0.9) == "For ␣bank alone the mean is .90."
    assert replace(found, high=0.0).beside("␣bank", 0.02) == "For ␣bank alone the mean is .02."


def test_unused_and_zero_rows_are_not_drawn(tiny: Tiny) -> None:
    model = tiny("gpt_neox")
    rows = model.table.values.copy()
    rows[100:200] = 0
    found = id_order(EmbeddingTable(rows, tied=True), model.vocabulary)
    assert found.rows == 412 - 12 - 1 - 100
    assert not np.isnan(found.cosines).any()


def test_a_correlation_needs_something_to_correlate(tiny: Tiny) -> None:
    model = tiny("gpt2")
    with pytest.raises(BadInput, match="at least 3 pairs"):
        id_order(model.table, model.vocabulary, pairs=2)
    same = EmbeddingTable(np.ones((400, 4), dtype=np.float32), tied=True)
    assert np.isnan(id_order(same, model.vocabulary).length_correlation)


@pytest.mark.parametrize(
    ("id", "ids"), [(50, [49, 51, 52]), (0, [1, 2, 3]), (411, [408, 409, 410]), (410, [408, 409, 411])]
)
def test_next_ids_stay_inside_the_list(tiny: Tiny, id: int, ids: list[int]) -> None:
    model = tiny("gpt_neox")
    found = next_ids(model.table, model.vocabulary, id)
    assert [one.entry.id for one in found] == ids
    rows = model.table.values.astype(float)
    for one in found:
        a, b = rows[id], rows[one.entry.id]
        assert one.value == pytest.approx(a @ b / np.sqrt((a @ a) * (b @ b)))


def test_no_next_id_outside_the_table(tiny: Tiny) -> None:
    model = tiny("gpt2")
    with pytest.raises(BadInput, match="Ids run from 0 to 399"):
        next_ids(model.table, model.vocabulary, 400)
    assert len(next_ids(model.table, model.vocabulary, 50, most=10_000)) == 399


@pytest.mark.real_model
def test_the_bundled_order_carries_frequency(smollm2: LanguageModel) -> None:
    found = id_order(smollm2.table, smollm2.vocabulary)
    # Over 300,000 pairs −.195; a draw of 20,000 is within .02 of it.
    assert found.correlation == pytest.approx(-0.195, abs=0.02)
    assert abs(found.shuffled) < 0.02
    assert found.length_correlation == pytest.approx(0.35, abs=0.02)
    assert (found.mean, found.std) == pytest.approx((0.44, 0.14), abs=0.01)
    assert "a little less alike: correlation −.19" in found.sentence
    assert (found.low, found.high) == pytest.approx((0.25, 0.55), abs=0.02)
    near = next_ids(smollm2.table, smollm2.vocabulary, 5461)
    assert [(one.entry.text, round(one.value, 2)) for one in near] == [
        (" phone", 0.28),
        (" candid", 0.25),
        ("wood", 0.28),
    ]
