"""A row beside others: every number against the plain one, the words around it, and the stored example."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embedviz.comparison import compare
from embedviz.errors import BadInput
from embedviz.figures.style import DESK, PROJECTOR
from embedviz.figures.table import cosines, cosines_alt, rows, rows_alt
from embedviz.geometry import cosine
from embedviz.meaning import meaning
from embedviz.neighbours import by_every_metric
from embedviz.table import EmbeddingTable
from embedviz.table_view import EXAMPLE, cells, largest, measures_sentence, order_sentence, restore, save, view

Tiny = Callable[[str], Any]


def test_every_number_is_that_of_the_table(tiny: Tiny) -> None:
    for name in ("gpt2", "llama", "bert", "gpt_neox"):
        model = tiny(name)
        found = view(model, "#150")
        row = model.table.values[150]
        plain = cosine(model.table.values.astype(np.float64), row)
        assert found.chosen.id == 150 and np.array_equal(found.rows[0], row)
        assert found.baseline.mean == pytest.approx(float(np.nanmean(plain)), abs=1e-5)
        assert found.counts.sum() == np.isfinite(plain).sum()
        assert {line.id for line in found.group("next")} == {149, 151, 152}
        for line, vector in zip(found.lines, found.rows, strict=True):
            assert line.id is not None and np.array_equal(vector, model.table.values[line.id])
            assert line.cosine == pytest.approx(float(plain[line.id]), abs=1e-5)


def test_cells_are_means_of_groups_in_the_chosen_rows_order(tiny: Tiny) -> None:
    found = view(tiny("gpt2"), "#150")
    values, coordinates = cells(found, range(len(found.lines)), by_value=True)
    assert coordinates == 1 and values.shape == (len(found.lines), found.dimensions)
    assert (np.diff(values[0]) <= 0).all()
    assert np.allclose(values.mean(axis=1), found.rows.mean(axis=1), atol=1e-6)
    plain, _ = cells(found, [0], by_value=False)
    assert np.array_equal(plain[0].astype(np.float32), found.rows[0])
    high, low = largest(found)
    assert found.rows[0][high[0]] == found.rows[0].max() and found.rows[0][low[0]] == found.rows[0].min()


def test_a_list_stands_in_place_of_the_two_groups(tiny: Tiny) -> None:
    model = tiny("gpt2")
    found = view(model, "bank, river, crane")
    assert [line.group for line in found.lines] == ["chosen", "listed", "listed"]
    assert found.sentence.endswith(f"a random row {f'{found.baseline.mean:.2f}'.replace('0.', '.').replace('-', '−')}.")
    assert [line.group for line in view(model, "bank river crane").lines] == ["chosen", "listed", "listed"]
    assert len(view(model, " ".join(f"w{k}" for k in range(600))).lines) == 500


def test_a_space_may_be_typed_as_its_mark_and_tells_twins_apart(tiny: Tiny) -> None:
    model = tiny("gpt2")
    assert view(model, "␣bank").chosen.label == "␣bank" == view(model, " bank").chosen.label
    assert view(model, "150").chosen.id == 150


def test_several_pieces_are_named_and_have_no_next_id(tiny: Tiny) -> None:
    found = view(tiny("gpt2"), "zqxj")
    assert found.chosen.id is None and not found.group("next") and found.group("nearest")
    assert any("pieces" in note and "Shown: their mean." in note for note in found.notes)
    assert any("Nothing in the list contains zqxj." in note for note in found.notes)
    for typed in ("zqxj", "zqxj, bank", "zqxj, qjxz"):
        said = " ".join(view(tiny("gpt2"), typed).notes)
        assert said.count("A mean of pieces is not the word's meaning; its neighbours can be chance.") == 1
    assert "A mean of pieces" not in " ".join(view(tiny("gpt2"), "bank, river").notes)


def test_the_lengths_of_two_lists_say_only_what_is_so(tiny: Tiny) -> None:
    model = tiny("gpt2")
    row = np.array([1.0, 0.0], dtype=np.float32)
    rows = np.full((400, 2), 0.1, dtype=np.float32)
    rows[100:110], rows[200:210] = (1, 0.1), (9, 9)
    for scale, said in ((1, "The dot product favours long rows: its nearest have mean length 13, those by cosine 1.0."),
                        (0.05, "The dot product can favour long rows. Not in this case: mean length ")):  # fmt: skip
        table = EmbeddingTable(rows * np.where(np.arange(400) < 200, 1, scale)[:, None].astype(np.float32), tied=True)
        lists = by_every_metric(compare(table, row), model.vocabulary)
        assert measures_sentence(table, lists).startswith(said)


def test_every_single_row_has_its_id_beside_it_and_the_colours_a_key(tiny: Tiny) -> None:
    found = view(tiny("gpt2"), "#150")
    for size in (DESK, PROJECTOR):
        drawn = rows(found, size, projector=size is PROJECTOR, by_value=True)
        texts = [text for trace in drawn.data for text in trace.text or ()]
        places = found.shown(2, 2, 8) if size is PROJECTOR else found.shown(3, 3, 59)
        assert {f"id {found.lines[k].id}" for k in places} | {"ids beside it"} <= set(texts)
        assert drawn.layout.annotations[0].text.endswith("brown +, teal −")


@pytest.mark.parametrize("typed", ["99999999", "#-1", "-12", "", "#1.5"])
def test_what_is_no_row_is_answered(tiny: Tiny, typed: str) -> None:
    with pytest.raises(BadInput, match=r"Ids run from 0 to|An id is a whole number|Nothing was typed"):
        view(tiny("gpt2"), typed)


def test_words_with_spaces_are_a_list_and_say_so(tiny: Tiny) -> None:
    model = tiny("gpt2")
    note = "Read as a list of {} words; in quotes it is one text."
    for typed in ("bank river", "bank river crane"):
        found = view(model, typed)
        assert len(found.lines) == len(typed.split()) and found.notes == (note.format(len(found.lines)),)
    for typed in ("bank, river", "bank\nriver"):
        assert view(model, typed).notes == ()
    assert view(model, '"bank river"').chosen.label.startswith("bank␣river (mean of ")
    assert view(model, ",,,").chosen.label == meaning(model, ",,,").label


def test_a_word_given_twice_is_one_row(tiny: Tiny) -> None:
    found = view(tiny("gpt2"), "bank, bank")
    assert found.chosen.label == "␣bank" and found.group("nearest")
    assert found.notes == ("bank was given twice.",)
    assert view(tiny("gpt2"), "bank, river, bank").notes == ("bank was given twice.",)


def test_numbers_are_ids_also_in_a_list(tiny: Tiny) -> None:
    model = tiny("gpt2")
    assert view(model, "321").notes == ("Read as id 321. Type a space before the number for its text.",)
    assert [line.id for line in view(model, "#321, id 322, 323").lines] == [321, 322, 323]
    assert view(model, "␣321").chosen.id is None


def test_a_long_list_begins_with_its_cut_and_tells_its_pieces_once(tiny: Tiny) -> None:
    found = view(tiny("gpt2"), ", ".join(f"w{k}" for k in range(600)))
    assert found.notes == (
        "500 of 600 words are read.",
        "500 of the words are several pieces; the mean of their rows is shown. "
        "A mean of pieces is not the word's meaning; its neighbours can be chance.",
    )
    assert found.lines[12].label == "w12 (mean of 3)"


def test_two_cosines_that_differ_are_not_written_alike(tiny: Tiny) -> None:
    found = view(tiny("gpt2"), "#150")
    values = {"nearest": 0.9961, "next": 0.9982}
    lines = tuple(replace(one, cosine=values.get(one.group, one.cosine)) for one in found.lines)
    said = replace(found, lines=lines).sentence
    assert " .996; next id" in said and said.endswith("Not in this case: .996 against .998.")


def test_the_line_under_the_strips_fits_a_long_label(tiny: Tiny) -> None:
    said = order_sentence(view(tiny("gpt2"), "zqxj" * 30), 1.0, by_value=True)
    assert max(map(len, said)) <= 80


def test_an_unused_row_is_said(tiny: Tiny) -> None:
    model = tiny("gpt_neox")
    last = model.table.rows - 1
    found = view(model, f"#{last}")
    assert f"Row {last} is unused: left out of neighbours." in found.notes
    assert len(found.group("next")) == 3


def test_a_view_survives_its_file_and_the_figures_are_drawn_from_it(tiny: Tiny, tmp_path: Path) -> None:
    for typed in ("#150", "zqxj", "bank, river"):
        first = view(tiny("gpt2"), typed)
        save(first, tmp_path / "view.npz")
        again = restore(tmp_path / "view.npz")
        assert again.lines == first.lines and np.array_equal(again.rows, first.rows)
        assert again.sentence == first.sentence
        for size in (DESK, PROJECTOR):
            for by_value in (True, False):
                made = rows(again, size, projector=size is PROJECTOR, by_value=by_value)
                assert made == rows(first, size, projector=size is PROJECTOR, by_value=by_value)
            assert cosines(again, size, projector=False).to_json() == cosines(first, size, projector=False).to_json()
        assert "undefined" not in rows_alt(again) + cosines_alt(again)


def test_hostile_labels_stay_text(tiny: Tiny) -> None:
    found = view(tiny("gpt2"), "<b>x</b>, $5 & $6")
    drawn = rows(found, DESK, projector=False, by_value=True).to_json()
    assert "<b>x" not in drawn and "$5" not in drawn


@pytest.mark.real_model
def test_the_stored_example_is_what_the_bundled_model_gives(smollm2: Any) -> None:
    stored, fresh = restore(), view(smollm2, EXAMPLE)
    assert stored.sentence == fresh.sentence
    assert stored.sentence == ("␣bank, id 5461: nearest row ␣Bank .77; next id ␣candid .25; a random row .25.")
    assert np.array_equal(stored.rows, fresh.rows)
    assert [line.label for line in fresh.group("nearest")] == ["␣Bank", "␣banks", "bank", "Bank", "␣banking"]


@pytest.mark.real_model
def test_number_words_are_near_each_other(smollm2: Any) -> None:
    found = view(smollm2, "␣seven")
    assert [(one.label, round(one.cosine, 2)) for one in found.group("nearest")[:3]] == [
        ("␣eight", 0.86),
        ("␣six", 0.85),
        ("␣nine", 0.84),
    ]
    listed = view(smollm2, "cat, dog, river")
    assert [line.label for line in listed.lines] == ["␣cat", "␣dog", "␣river"]
