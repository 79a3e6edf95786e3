"""Neighbours over the whole table: equal to plain float64, and what does not belong in a list left out and counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from embedviz.comparison import METRICS, compare
from embedviz.errors import BadInput
from embedviz.models.language_model import LanguageModel
from embedviz.neighbours import by_every_metric, in_both_tables, nearest, rank_of
from embedviz.table import EmbeddingTable
from embedviz.vocabulary_search import entry_list

Tiny = Callable[[str], LanguageModel]


def plain_order(metric: str, rows: np.ndarray, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values in float64, and ids from the nearest on."""
    if metric == "dot":
        values = rows @ vector
    elif metric == "euclidean":
        values = np.sqrt(((rows - vector) ** 2).sum(axis=1))
    else:
        with np.errstate(invalid="ignore"):
            values = rows @ vector / np.sqrt((rows**2).sum(axis=1)) / np.sqrt((vector**2).sum())
    values = np.round(values, 12)
    return values, np.argsort(values if metric == "euclidean" else -values, kind="stable")


def assert_plain(model: Any, table: EmbeddingTable, id: int, top: int) -> None:
    rows = table.values.astype(np.float64)
    allowed = entry_list(model.vocabulary).ordinary & (table.lengths > 0)
    allowed[id] = False
    lists = by_every_metric(compare(table, table.values[id]), model.vocabulary, top=top, inputs=[id])
    for metric in METRICS:
        values, order = plain_order(metric, rows, rows[id])
        expected = [k for k in order if allowed[k]][:top]
        assert [one.entry.id for one in lists[metric].nearest] == expected, (metric, id)
        assert [one.value for one in lists[metric].nearest] == pytest.approx(values[expected].tolist(), abs=1e-9)
        assert [one.rank for one in lists[metric].nearest] == list(range(1, len(expected) + 1))


@pytest.mark.parametrize("architecture", ["gpt2", "gpt_neox", "bert"])
def test_lists_equal_plain_float64(tiny: Tiny, architecture: str) -> None:
    model = tiny(architecture)
    # Row 0 of the encoder is its padding, which is all zeros.
    for id in range(1, model.table.rows, 17):
        assert_plain(model, model.table, id, 12)


def test_rows_that_are_nearly_equal_are_put_in_order_by_float64(tiny: Tiny) -> None:
    model = tiny("gpt2")
    rows = np.tile(model.table.values[40], (400, 1))
    # Seven kinds of rows whose cosines differ by less than float32 can tell.
    rows[:, 0] *= 1 + np.arange(400, dtype=np.float32) % 7 * np.float32(2e-5)
    assert_plain(model, EmbeddingTable(rows, tied=True), 100, 30)


@pytest.mark.real_model
def test_lists_of_the_bundled_model_equal_plain_float64_on_200_random_rows(smollm2: LanguageModel) -> None:
    rows = smollm2.table.values.astype(np.float64)
    lengths = np.sqrt((rows**2).sum(axis=1))
    ids = np.random.default_rng(0).integers(smollm2.table.rows, size=200)
    products = rows @ rows[ids].T
    allowed = entry_list(smollm2.vocabulary).ordinary
    for column, id in enumerate(ids.tolist()):
        dots = products[:, column]
        plain = {
            "cosine": dots / lengths / lengths[id],
            "dot": dots,
            "euclidean": np.sqrt(np.maximum(lengths**2 - 2 * dots + lengths[id] ** 2, 0)),
        }
        lists = by_every_metric(compare(smollm2.table, smollm2.table.values[id]), smollm2.vocabulary, inputs=[id])
        for metric, values in plain.items():
            key = np.where(allowed, values if metric == "euclidean" else -values, np.inf)
            key[id] = np.inf
            expected = np.argsort(key, kind="stable")[:10]
            found = lists[metric]  # type: ignore[index]
            assert [one.entry.id for one in found.nearest] == expected.tolist(), (metric, id)
            assert [one.value for one in found.nearest] == pytest.approx(values[expected].tolist(), abs=1e-6)
            assert found.baseline.mean == pytest.approx(values.mean(), abs=1e-4)
            assert found.baseline.std == pytest.approx(values.std(), abs=1e-4)


def test_inputs_special_unused_and_zero_rows_are_left_out_and_counted(tiny: Tiny) -> None:
    model = tiny("gpt_neox")
    rows = model.table.values.copy()
    rows[[20, 30, 40]] = 0
    table = EmbeddingTable(rows, tied=False)
    for found in by_every_metric(compare(table, rows[50]), model.vocabulary, top=1000, inputs=[50, 30, 50]).values():
        left = found.left_out
        assert [entry.id for entry in left.inputs] == [50, 30]
        assert (left.special, left.unused, left.zero) == (1, 12, 2)
        assert left.total + len(found.nearest) == table.rows
        listed = {one.entry.id for one in found.nearest}
        assert not listed & {0, 20, 30, 40, 50, *range(400, 412)}
        assert not any(np.isnan(one.value) for one in found.nearest)
        assert left.sentence.endswith("1 special token, 12 unused rows, 2 rows without length.")


def test_a_query_ten_times_as_long_changes_the_dot_products_and_not_the_cosines(tiny: Tiny) -> None:
    model = tiny("gpt2")
    once, ten = (
        by_every_metric(compare(model.table, k * model.table.values[60]), model.vocabulary, top=20, inputs=[60])
        for k in (1, 10)
    )
    assert [one.entry.id for one in once["cosine"].nearest] == [one.entry.id for one in ten["cosine"].nearest]
    for a, b in zip(once["cosine"].nearest, ten["cosine"].nearest, strict=True):
        assert a.value == pytest.approx(b.value, abs=1e-7)
    assert ten["dot"].nearest[0].value == pytest.approx(10 * once["dot"].nearest[0].value, rel=1e-6)
    assert [one.entry.id for one in once["euclidean"].nearest] != [one.entry.id for one in ten["euclidean"].nearest]


def test_a_zero_vector_has_neighbours_by_distance_alone(tiny: Tiny) -> None:
    model = tiny("gpt2")
    compared = compare(model.table, np.zeros(16, dtype=np.float32))
    for metric in ("cosine", "dot"):
        with pytest.raises(BadInput, match="all zeros"):
            nearest(compared, model.vocabulary, metric)
    shortest = nearest(compared, model.vocabulary, "euclidean", top=1).nearest[0]
    assert shortest.value == pytest.approx(float(model.table.lengths[1:].min()), abs=1e-5)


def test_the_mean_of_several_rows_can_be_asked_about(tiny: Tiny) -> None:
    model = tiny("gpt2")
    mean = model.table.values[[60, 61]].mean(axis=0)
    found = nearest(compare(model.table, mean), model.vocabulary, inputs=[60, 61])
    assert not {60, 61} & {one.entry.id for one in found.nearest}


def test_rank_is_the_place_in_the_list(tiny: Tiny) -> None:
    model = tiny("gpt2")
    compared = compare(model.table, model.table.values[60])
    for metric in METRICS:
        full = nearest(compared, model.vocabulary, metric, top=1000, inputs=[60])
        for one in full.nearest[::29]:
            assert rank_of(compared, model.vocabulary, one.entry.id, metric, inputs=[60]) == one
    with pytest.raises(BadInput, match="left out"):
        rank_of(compared, model.vocabulary, 60, inputs=[60])


def test_a_list_may_be_longer_than_the_table_but_not_empty(tiny: Tiny) -> None:
    model = tiny("gpt2")
    compared = compare(model.table, model.table.values[60])
    assert len(nearest(compared, model.vocabulary, top=10**9).nearest) == 399
    with pytest.raises(BadInput, match="at least 1; 0 was given"):
        nearest(compared, model.vocabulary, top=0)


def test_input_and_output_rows_of_an_untied_model(tiny: Tiny) -> None:
    model = tiny("gpt_neox")
    both = in_both_tables(model.table, model.output_table, model.vocabulary, 60, top=400)
    assert_plain(model, model.output_table, 60, 12)
    a, b = model.table.values[60].astype(float), model.output_table.values[60].astype(float)
    assert both.own == pytest.approx(a @ b / np.sqrt((a @ a) * (b @ b)))
    assert both.own < 0.9
    assert both.shared == len(both.input.nearest) == len(both.output.nearest)
    tied = tiny("gpt2")
    with pytest.raises(BadInput, match="one table"):
        in_both_tables(tied.table, tied.output_table, tied.vocabulary, 60)


@pytest.mark.real_model
def test_neighbours_of_bank(smollm2: LanguageModel) -> None:
    found = nearest(compare(smollm2.table, smollm2.table.values[5461]), smollm2.vocabulary, top=5, inputs=[5461])
    assert [(one.entry.text, round(one.value, 2)) for one in found.nearest] == [
        (" Bank", 0.77),
        (" banks", 0.75),
        ("bank", 0.72),
        ("Bank", 0.70),
        (" banking", 0.65),
    ]
    assert round(found.baseline.mean, 2) == 0.25
    assert found.left_out.sentence == "Left out: ␣bank, 17 special tokens."
    the = smollm2.tokenise(" the").ids[0]
    assert round(compare(smollm2.table, smollm2.table.values[the]).baseline("cosine").mean, 2) == -0.40


@pytest.mark.real_model
def test_neighbours_of_seven_are_the_next_number_words(smollm2: LanguageModel) -> None:
    id = smollm2.tokenise(" seven").ids[0]
    found = nearest(compare(smollm2.table, smollm2.table.values[id]), smollm2.vocabulary, top=3, inputs=[id])
    assert [(one.entry.label, round(one.value, 2)) for one in found.nearest] == [
        ("␣eight", 0.86),
        ("␣six", 0.85),
        ("␣nine", 0.84),
    ]
