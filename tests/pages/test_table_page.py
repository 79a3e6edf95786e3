"""The table page by Streamlit's own test frame: what stands on it for every kind of input, with tiny real models."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from threading import Event

import pytest
from streamlit.testing.v1 import AppTest

from conftest import ROOT
from embedviz import table_map
from embedviz.projection.job import Job
from embedviz.projection.umap_client import Readiness
from embedviz.table_map import TableMap
from embedviz.table_view import TableView
from embedviz.ui import model_picker, table_map_part
from embedviz.ui.shelf import Shelf
from page_frame import figure, offered, open_page, type_into, until_ready

Opened = Callable[..., AppTest]

SUM = ("sum_a", "sum_b", "sum_c", "sum_expected")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Names, as the list gives them, of a tiny causal model (the default) and one with two tables."""
    yield from offered(tmp_path_factory, "gpt2", "gpt_neox")


@pytest.fixture
def opened(models: dict[str, str]) -> Opened:
    """Open the page with some address values, and run it again until its model is there."""
    return partial(open_page, ROOT / "pages" / "table.py")


def look_for(page: AppTest, word: str) -> AppTest:
    return type_into(page, "word", word)


def labels(page: AppTest, key: str) -> list[str]:
    return [text for trace in figure(page, key)["data"] for text in trace.get("text", [])]


def said(page: AppTest, kind: str = "markdown") -> str:
    return "\n".join(one.value.replace("\\", "").replace("&nbsp;", " ") for one in page.get(kind))


def test_a_stored_result_is_shown_and_marked_until_the_model_is_there(models: dict[str, str]) -> None:
    page = AppTest.from_file(str(ROOT / "pages" / "table.py"), default_timeout=60).run()
    assert page.title[0].value == "An id only picks a row. The row carries the meaning."
    assert "Stored result of the example" in said(page)
    assert {"␣bank", "␣Bank", "id 5461"} <= set(labels(page, "table_rows"))


@pytest.mark.parametrize(
    ("word", "told"), [("bank", "the example ␣bank."), ("␣bank", "the example."), (" bank", "the example.")]
)
def test_a_stored_result_is_not_passed_off_as_another_word(
    models: dict[str, str], monkeypatch: pytest.MonkeyPatch, word: str, told: str
) -> None:
    seen = Event()
    slow = Shelf(lambda name, progress: seen.wait(60))  # type: ignore[arg-type, return-value]
    monkeypatch.setattr(model_picker, "shelf", lambda: slow)
    page = AppTest.from_file(str(ROOT / "pages" / "table.py"), default_timeout=60)
    page.query_params["word"] = word
    try:
        assert f"Stored result of {told} " in said(page.run())
    finally:
        seen.set()


def test_a_word_gives_its_row_and_those_beside_it(opened: Opened) -> None:
    page = look_for(opened(), "␣river")
    assert "␣river" in labels(page, "table_rows")
    assert "nearest row" in said(page) and "a random row" in said(page)
    assert page.query_params["word"] == "␣river"
    assert page.query_params["model"] == "tiny-gpt2"
    page.segmented_control(key="order").set_value("table")
    page.run()
    assert "In the table's own order" in json.dumps(figure(page, "table_rows"))
    assert page.query_params["order"] == "table"


def test_a_preset_puts_its_text_into_the_field(opened: Opened) -> None:
    page = opened()
    page.button_group(key="table_preset").set_value("cat, dog, river")
    page.run()
    assert page.text_input(key="word").value == "cat, dog, river"
    assert "rows compared" in labels(page, "table_rows")


@pytest.mark.parametrize(
    ("word", "note"),
    [
        ("zqxj", "Shown: their mean."),
        ("zqxj", "Nothing in the list contains zqxj."),
        ("#99999", "Ids run from 0 to 399; 99999 is not one of them."),
        ("#1.5", "An id is a whole number from 0 to 399; 1.5 is none."),
        (", ".join(f"word{k}" for k in range(70)), "60 of 70 words shown; the table has all."),
    ],
)
def test_what_a_reader_must_know_is_said(opened: Opened, word: str, note: str) -> None:
    page = look_for(opened(), word)
    assert note in said(page, "warning") + said(page), (said(page, "warning"), said(page))
    assert not page.error


def test_an_unused_row_is_said(opened: Opened, models: dict[str, str]) -> None:
    page = opened(model=models["gpt_neox"], word="#410")
    assert "Row 410 is unused: left out of neighbours." in said(page, "warning")


@pytest.mark.parametrize("word", ["", "   "])
def test_a_blank_search_is_a_hint_and_keeps_the_last_row(opened: Opened, word: str) -> None:
    page = look_for(look_for(opened(), "␣river"), word)
    assert "Shown: the last one." in said(page)
    assert "␣river" in labels(page, "table_rows")


def test_an_input_that_fails_says_what_is_shown_instead(opened: Opened) -> None:
    assert "Shown: the example ␣bank. ␣bank, id 5461" in said(opened(word="#99999"))
    page = look_for(look_for(opened(), "␣river"), "#99999")
    assert "Shown: the last one. ␣river, id" in said(page)
    assert "␣river" in labels(page, "table_rows")


@pytest.mark.parametrize("word", ["</div><script>alert(1)</script>", "$5 *a* :red[x] <b>", "😃", "שָׁלוֹם", "x" * 3000])
def test_awkward_words_make_no_error(opened: Opened, word: str) -> None:
    page = look_for(opened(), word)
    assert not page.error
    assert "<script" not in json.dumps(figure(page, "table_rows"))


@pytest.mark.parametrize(
    ("name", "value"), [("order", "up"), ("concept", "nothing"), ("colour", "red"), ("model", "nonsense")]
)
def test_an_impossible_address_is_noted(opened: Opened, name: str, value: str) -> None:
    assert f"The link asked for {name} = {value}." in said(opened(**{name: value}), "warning")


def test_the_code_on_the_page_prints_the_numbers_on_the_page(
    opened: Opened, capsys: pytest.CaptureFixture[str]
) -> None:
    page = look_for(opened(), "␣river")
    page.toggle(key="table_code").set_value(True)
    code = page.run().code[0].value
    exec(compile(code, "snippet", "exec"), {})
    ids = [int(line.split()[0]) for line in capsys.readouterr().out.strip().splitlines()]
    shown = page.session_state["table view"]
    assert ids[:5] == [line.id for line in shown.group("nearest")]


def part(page: AppTest, name: str) -> AppTest:
    """Open one closed part."""
    page.session_state[f"part_{name}"] = True
    page.run()
    assert not page.exception, page.exception
    return page


def test_closed_parts_compute_nothing(opened: Opened) -> None:
    page = opened()
    assert [one.proto.id.rsplit("-", 1)[1] for one in page.get("plotly_chart")] == ["table_rows", "table_cosines"]
    assert [one.label for one in page.expander] == [
        "All 16 numbers",
        "Neighbours by three measures",
        "The id is only an index",
        "Sums of rows",
        "Axes from opposites",
        "Do coordinates have names?",
        "Map of the whole table",
    ]


def test_a_part_stays_open_when_its_title_changes(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    page = part(opened(), "numbers")
    monkeypatch.setattr(TableView, "dimensions", property(lambda self: 15))
    page.run()
    assert page.expander[0].label == "All 15 numbers"
    assert page.query_params["open"] == "numbers"
    assert figure(page, "table_magnified")
    page.session_state["part_numbers"] = False
    page.run()
    assert "open" not in page.query_params


def test_a_coordinate_that_rows_do_not_have_is_noted(opened: Opened) -> None:
    page = opened(**{"from": "99999", "open": "numbers"})
    assert "The link asked for from = 99999. That is not possible here; 4 is shown." in said(page, "warning")
    assert page.query_params["from"] == "4"
    assert "from" not in said(opened(**{"from": "4"}), "warning")


def test_a_link_without_a_value_reads_well(opened: Opened) -> None:
    page = opened(sum_centre="", colour="", open="nothing", **{"from": ""})
    notes = "\n".join([said(page, "warning"), said(page)])
    assert "The link asked for sum_centre without a value. That is not possible here; it is off." in notes
    assert "The link asked for from without a value. That is not possible here; 0 is shown." in notes
    assert "The link asked for colour without a value. That is not possible here; id is shown." in notes
    assert "The link asked for open = nothing. That is not possible here." in notes
    assert "; is shown" not in notes.replace("; it is", "").replace(";  is shown", "; is shown")


def test_too_much_for_a_link_is_said(opened: Opened) -> None:
    page = look_for(opened(), ", ".join(f"word{k}" for k in range(500)))
    assert "Too much for a link. Save it as a file." in said(page)
    assert said(page, "warning").startswith("60 of 500 words shown; the table has all.")


def test_one_hit_contains_it(opened: Opened) -> None:
    page = look_for(opened(), "#0")
    page.session_state["table_find"] = True
    page.run()
    assert "1 token contains it." in said(page)


def test_the_magnifier_stays_on_its_coordinates_for_another_row(opened: Opened) -> None:
    page = part(opened(), "numbers")
    page.slider(key="table_magnifier").set_value(3).run()
    assert "coordinates 3 to 14" in json.dumps(figure(page, "table_magnified"))
    assert page.query_params["from"] == "3"
    look_for(page, "␣river")
    assert "coordinates 3 to 14" in json.dumps(figure(page, "table_magnified"))
    assert "Highest coordinates" in said(page)


def test_three_measures_stand_side_by_side(opened: Opened, models: dict[str, str]) -> None:
    page = part(look_for(opened(), "␣river"), "neighbours")
    assert [len(one.value) for one in page.dataframe] == [10, 10, 10]
    for name in ("cosine, higher is nearer", "dot product, higher is nearer", "distance, lower is nearer"):
        assert name in said(page)
    assert "Left out: ␣river, 1 special token." in said(page)
    assert "The dot product " in said(page)
    page = part(opened(model=models["gpt_neox"], word="␣river"), "neighbours")
    assert len(page.dataframe) == 5
    assert "a second table for the scores" in said(page)


def test_a_line_chosen_in_a_list_is_said_above_it_until_another_word_is_typed(opened: Opened) -> None:
    page = part(look_for(opened(), "#150"), "neighbours")
    page.session_state["table went"] = ("cosine, higher is nearer", "#150", "x y")
    assert said(page.run()).count("The page now shows x y.") == 1
    assert "The page now shows" not in said(look_for(page, "␣river"))


def test_ids_can_be_shuffled(opened: Opened) -> None:
    page = part(opened(), "ids")
    assert "ids as they are" in json.dumps(figure(page, "table_ids"))
    page.button(key="table_shuffle").click().run()
    assert "ids shuffled" in json.dumps(figure(page, "table_ids"))
    assert "Rows far apart in id are about as alike: correlation" in said(page)
    assert "For ␣bank alone the mean is" in said(page)
    ticks = figure(page, "table_ids")["layout"]["xaxis"]["tickvals"]
    assert ticks == [0, 100, 200, 300]


def test_sums_are_said_in_both_notations_and_failures_as_failures(opened: Opened) -> None:
    page = part(opened(), "sums")
    for field, text in zip(SUM, ("bank", "river", "crane", "seal"), strict=True):
        page.text_input(key=field).set_value(text)
    page.run()
    assert "␣river is to ␣bank as ␣crane is to …" in said(page)
    assert "␣bank − ␣river + ␣crane is nearest to" in said(page)
    assert "␣bank, ␣river and ␣crane are left out." in said(page)
    assert "The expected ␣seal comes" in said(page)
    page.text_input(key="sum_expected").set_value("zqxj").run()
    assert "The expected answer must be one token. zqxj is" in said(page, "warning")
    assert "Shown: their mean." not in said(page, "warning") and not page.error
    assert "␣bank − ␣river + ␣crane is nearest to" in said(page) and len(page.dataframe) == 1
    page.text_input(key="sum_a").set_value("").run()
    assert "One of the words is blank" in said(page, "error") + "".join(one.value for one in page.error)
    for field in SUM[:3]:
        page.text_input(key=field).set_value("bank")
    page.run()
    assert "All three are ␣bank" in said(page, "warning")


def test_words_are_placed_along_two_axes_and_a_bad_pair_is_answered(opened: Opened) -> None:
    page = part(opened(), "axes")
    assert "is left out by these two axes" in said(page)
    page.text_area(key="placed").set_value(", ".join(f"word{k}" for k in range(500))).run()
    assert said(page, "warning").startswith("60 of 500 words are shown.")
    assert "of the words are several pieces; the mean of their rows is shown." in said(page, "warning")
    page.text_area(key="placed").set_value("bank, river").run()
    assert "0 is at a right angle to the axis" in said(page) and "mean row subtracted" not in said(page)
    page.toggle(key="axes_centre").set_value(True).run()
    assert "With the mean row subtracted, " in said(page) and page.query_params["axes_centre"] == "true"
    assert opened(axes_centre="true", open="axes").toggle(key="axes_centre").value is True
    page.text_area(key="up").set_value("small").run()
    assert "An axis needs two words a line" in "".join(one.value for one in page.error)


def test_a_concept_with_too_few_words_is_answered(opened: Opened) -> None:
    page = part(opened(), "coordinates")
    assert "a measure needs 10" in "".join(one.value for one in page.error)


def test_a_map_that_is_not_made_offers_to_make_it(opened: Opened) -> None:
    page = part(opened(), "map")
    assert "The map of 400 points takes about 5 s, once." in said(page)
    assert page.button(key="table_map_make").label == "Make the map"


class NeverDone(Job[TableMap]):
    """A job that goes on until it is stopped, without a process."""

    def __init__(self) -> None:
        worker = type("Worker", (), {"readiness": Readiness("ready", 0.0), "_stop": lambda self, job: None})()
        super().__init__(worker, {}, {}, lambda words, layout: None)


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Maps that are never done, and a Stop button at once."""
    monkeypatch.setattr(table_map, "_start", lambda model, worker: NeverDone())
    monkeypatch.setattr(table_map, "shared", lambda: None)
    monkeypatch.setattr(table_map_part, "SECONDS_TO_STOP", 0)
    monkeypatch.setattr(table_map, "_making", {})


def test_a_stopped_map_is_a_sentence_and_the_button_again(opened: Opened, endless: None) -> None:
    page = part(opened(), "map")
    page.button(key="table_map_make").click().run()
    other = part(opened(), "map")
    other.button(key="table_map_make").click().run()
    page.button(key="table_map_stop").click().run()
    assert "Stopped. The map of 400 points" in said(page) and not page.error
    assert page.button(key="table_map_make")
    other.run()
    assert "Placing the points" in said(other) or "Another picture" in said(other)
    other.button(key="table_map_stop").click().run()
    assert "Stopped. The map of 400 points" in said(other) and not other.error
    assert all(job.done for job, _ in table_map._making.values())


def test_a_map_being_made_belongs_to_its_model(opened: Opened, models: dict[str, str], endless: None) -> None:
    page = part(opened(), "map")
    page.button(key="table_map_make").click().run()
    page.session_state["model"] = models["gpt_neox"]
    until_ready(page.run())
    assert "The map of 412 points" in said(page)
    assert page.button(key="table_map_make")
    page.session_state["model"] = "tiny-gpt2"
    until_ready(page.run())
    assert page.button(key="table_map_stop")


def test_a_folder_that_takes_no_map_is_said_before_it_is_made(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_map, "cannot_keep", lambda spec: "The map cannot be kept in maps.")
    page = part(opened(), "map")
    assert "cannot be kept" in said(page, "warning") and page.button(key="table_map_make")


def test_the_map_is_made_once_and_zooms_to_a_token(opened: Opened) -> None:
    page = part(opened(), "map")
    page.button(key="table_map_make").click().run()
    deadline = time.monotonic() + 120
    while "true neighbours are among its nearest here" not in said(page):
        assert time.monotonic() < deadline, "the map was not made"
        time.sleep(1)
        page.run()
        assert not page.exception, page.exception
    assert "every row of the table" in json.dumps(figure(page, "table_map_None"))
    page.text_input(key="find").set_value("#300").run()
    assert "ringed rows are in sight" in said(page)
    assert "ringed: the chosen token" in json.dumps(figure(page, "table_map_300"))
    for typed in ("#0", "#99999", "-1", "#1,00", "\0", "zqxj", "#1.5"):
        type_into(page, "find", typed)
        assert "every row of the table" in json.dumps(figure(page, "table_map_None")), typed
        assert "The whole map is shown." in said(page, "warning"), typed
        assert not page.error, typed
    type_into(page, "find", "bank, river, crane")
    assert "3 words were typed; the first, ␣bank, is ringed." in said(page, "warning")
    type_into(page, "find", "321")
    assert "Read as id 321." in said(page, "warning")


def test_a_link_opens_parts_with_their_words(opened: Opened) -> None:
    page = opened(open="sums,axes", sum_a="river", sum_b="bank", sum_c="crane", sum_centre="true", placed="bank, seal")
    assert page.text_input(key="sum_a").value == "river"
    assert page.toggle(key="sum_centre").value is True
    assert page.text_area(key="placed").value == "bank, seal"
    assert page.query_params["open"] == "sums,axes"
    page.session_state["part_axes"] = False
    page.run()
    assert page.query_params["open"] == "sums"
    assert "open = sums,nothing" in said(opened(open="sums,nothing"), "warning").replace("\u2060", "")


def test_a_line_chosen_in_the_data_rings_its_mark(opened: Opened) -> None:
    page = opened()
    page.toggle(key="table_table").set_value(True).run()
    assert not [trace for trace in figure(page, "table_rows")["data"] if trace.get("name") == "ring"]
    page.session_state["table_data_rows"] = {"selection": {"rows": [1], "columns": [], "cells": []}}
    page.run()
    for key in ("table_rows", "table_cosines"):
        assert len([trace for trace in figure(page, key)["data"] if trace.get("name") == "ring"]) == 1
