"""The senses page by Streamlit's own test frame: what stands on it for every kind of input, with tiny real models."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from conftest import ROOT
from embedviz.contextual import contextual_vectors
from embedviz.gallery import gallery
from embedviz.models.load import load
from embedviz.numbers import decimal
from embedviz.occurrences import read_lines
from embedviz.senses import by_layer
from embedviz.senses_view import SensesView, restore
from embedviz.ui import senses_input
from embedviz.ui.address import packed
from page_frame import figure, offered, open_page, type_into, until_ready

Opened = Callable[..., AppTest]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Names, as the list gives them, of a tiny causal model (the default) and of one that reads both ways."""
    yield from offered(tmp_path_factory, "gpt2", "bert")


@pytest.fixture
def opened(models: dict[str, str]) -> Opened:
    """Open the page with some address values, and run it again until its model is there."""
    return partial(open_page, ROOT / "pages" / "senses.py")


def link(lines: str) -> str:
    """Sentences as an address carries them."""
    return packed("sentences").write(lines)


def said(page: AppTest, kind: str = "markdown") -> str:
    text = "\n".join(one.value for one in page.get(kind))
    return text.replace("\\", "").replace("&nbsp;", " ").replace("\u2060", "")


def drawn(page: AppTest, layer: int) -> list[tuple[float, float]]:
    """The places of the uses in one frame of the picture, in no order."""
    frame = next(one for one in figure(page, "senses_picture")["frames"] if one["name"] == str(layer))
    points = [trace for trace in frame["data"] if "customdata" in trace]
    return [place for trace in points for place in zip(trace["x"], trace["y"], strict=True)]


def view(page: AppTest) -> SensesView:
    shown: SensesView = page.session_state["senses view"]
    return shown


def part(page: AppTest, name: str) -> AppTest:
    page.session_state[f"part_{name}"] = True
    page.run()
    assert not page.exception, page.exception
    return page


TWO = "The [bank] of the river\triver\nThe [bank] of England\tmoney"


def test_a_stored_result_is_shown_and_marked_until_the_model_is_there(models: dict[str, str]) -> None:
    page = AppTest.from_file(str(ROOT / "pages" / "senses.py"), default_timeout=60).run()
    assert page.title[0].value == "A word starts from one row. Its sentence moves it."
    assert "Stored result of the example" in said(page)
    stored = restore()
    assert len(drawn(page, stored.opening_layer)) == len(stored.occurrences) == 10


def test_the_example_has_the_numbers_of_the_library(opened: Opened) -> None:
    page = opened()
    model = load("tiny-gpt2")
    uses = gallery()["bank"].occurrences("before", 5)
    vectors = contextual_vectors(model, uses).vectors
    alike = by_layer(vectors, [one.sense for one in uses]).similarity
    assert view(page).within == pytest.approx(alike.within, abs=1e-6)
    assert view(page).between == pytest.approx(alike.between, abs=1e-6)
    assert view(page).sentence(1).startswith(f"Same sense {decimal(float(alike.within[1]))}, ")
    assert len(drawn(page, 2)) == 10


def test_sentences_travel_in_the_address(opened: Opened) -> None:
    text = "She sat by the [bank] & the river\triver\nThe <b>[bank]</b> lends $5 #1 😃\tmoney 100%\nשלום [bank]\t"
    page = opened(sentences=link(text), layer="2")
    assert [one.sentence for one in view(page).occurrences] == [one.sentence for one in read_lines(text).occurrences]
    assert view(page).names == ("river", "money 100%")
    assert page.query_params["layer"] == "2" and page.query_params["sentences"] == link(text)


@pytest.mark.parametrize("value", ["x", "AAAA", "eJw=", "%00", link("a" * 10)[:-4], link("word " * 100_000)])
def test_a_malformed_list_of_sentences_is_refused_with_a_note(opened: Opened, value: str) -> None:
    page = opened(sentences=value)
    assert "The link asked for sentences" in said(page, "warning")
    assert len(view(page).occurrences) == 10


def test_a_layer_the_model_does_not_have_is_refused_with_a_note(opened: Opened) -> None:
    page = opened(layer="99")
    assert "The link asked for layer = 99" in said(page, "warning")
    assert "layer" not in page.query_params


def test_a_word_of_the_gallery_brings_its_sentences(opened: Opened) -> None:
    page = type_into(opened(), "word", "crane")
    assert view(page).names == ("bird", "machine")
    assert page.query_params["word"] == "crane"


def test_an_unknown_word_says_what_to_do_and_keeps_the_picture(opened: Opened) -> None:
    page = type_into(opened(), "word", "zeppelin")
    assert "There are no sentences of zeppelin here" in said(page)
    assert len(drawn(page, 1)) == 10


def test_a_word_from_the_table_page_is_taken_as_a_word(opened: Opened) -> None:
    assert view(opened(word="␣spring")).names == ("season", "water", "coil")
    assert view(opened(word="#5461")).word == "bank"


@pytest.mark.parametrize("number", [1, 2, 3, 5, 14, 15])
def test_any_number_of_uses_is_drawn(opened: Opened, number: int) -> None:
    lines = "\n".join(f"Number {k} at the [bank]\t{'ab'[k % 2]}" for k in range(number))
    page = opened(sentences=link(lines), open="moved,matrix,accuracy,context,rows,picture,sentences")
    assert len(drawn(page, 2)) == number
    if number == 1:
        assert "One use: add a second to compare." in said(page)


def test_blank_sentences_and_one_sense_only(opened: Opened) -> None:
    page = opened(sentences=link("No word here\n\nNor here"))
    assert "bank" in said(page, "warning") + said(page)
    page = opened(sentences=link("A [bank]\triver\nThe [bank]\triver\nOne [bank]\triver"), open="accuracy,matrix")
    assert "All sentences have the same sense." in said(page) + said(page, "warning")


def test_twenty_copies_share_one_marked_place(opened: Opened) -> None:
    page = opened(sentences=link("\n".join(["The old [bank] was closed\ta"] * 20)))
    assert "20 sentences repeat" in said(page, "warning")
    texts = [text for trace in figure(page, "senses_picture")["data"] for text in trace.get("text", [])]
    assert "×20" in " ".join(texts)


def test_a_clue_after_the_word_brings_a_banner_and_a_way_out(opened: Opened, models: dict[str, str]) -> None:
    page = opened(sentences=link(TWO))
    assert "In 2 of 2 sentences the clue comes after bank" in said(page, "warning")
    coordinates = view(page).projection.coordinates
    assert np.ptp(coordinates, axis=1).max() < 1e-6
    page.session_state["model"] = models["bert"]
    page.run()
    page = until_ready(page)
    assert "the clue comes after" not in said(page, "warning")
    assert np.ptp(view(page).projection.coordinates[1], axis=0).max() > 1e-6


def test_words_after_the_marked_one_move_it_by_exactly_nothing(opened: Opened) -> None:
    page = opened(open="moved")
    assert "Words after bank move it by exactly 0: this model has not read them yet." in said(page)


def test_a_guess_says_the_nearest_sense_and_is_ringed(opened: Opened) -> None:
    page = opened(open="guess", guess="We sat down on the bank and watched the ducks.")
    assert "Nearest: " in said(page) and "The ring in the picture is your sentence" in said(page)
    rings = [trace for trace in figure(page, "senses_picture")["data"] if "your sentence" in trace.get("text", [])]
    assert len(rings) == 1
    old = drawn(opened(), 2)
    assert np.array(drawn(page, 2)) == pytest.approx(np.array(old))


def test_a_guess_without_the_word_says_so(opened: Opened) -> None:
    page = opened(open="guess", guess="We sat down.")
    assert "bank" in said(page, "error")
    assert not page.exception


def test_other_words_stand_in_the_picture(opened: Opened) -> None:
    page = opened(anchors="river, money")
    texts = [text for trace in figure(page, "senses_picture")["data"] for text in trace.get("text", [])]
    assert {"river", "money"} <= set(texts)


def test_shuffled_labels_move_no_point(opened: Opened) -> None:
    page = opened(open="picture")
    before = sorted(drawn(page, 2))
    page.button(key="senses_shuffle").click().run()
    assert np.array(sorted(drawn(page, 2))) == pytest.approx(np.array(before))


def test_two_chosen_uses_have_paths(opened: Opened) -> None:
    page = opened()
    page.toggle(key="senses_table").set_value(True).run()
    page.session_state["senses_data_uses"] = {"selection": {"rows": [0, 3], "columns": [], "cells": []}}
    page.run()
    paths = [trace for trace in figure(page, "senses_picture")["data"] if trace.get("mode") == "lines"]
    assert len(paths) == 2 and all(len(trace["x"]) == len(view(page).layers) - 1 for trace in paths)


def test_a_second_model_reads_the_same_sentences(opened: Opened, models: dict[str, str]) -> None:
    page = opened(open="models", beside=models["bert"])
    for _ in range(100):
        if not any("is loading" in one.value for one in page.markdown):
            break
        time.sleep(0.2)
        page.run()
    assert not page.exception
    assert len(figure(page, "beside_picture")["frames"]) == load(str(models["bert"])).spec.blocks + 1


@pytest.mark.parametrize("where", ["every part", "projector", "3D"])
def test_every_part_opens_without_an_error(opened: Opened, where: str) -> None:
    extra = {"projector": {"projector": "true"}, "3D": {"space": "3"}}.get(where, {})
    page = opened(open="sentences,guess,moved,matrix,accuracy,context,rows,picture", set="all", **extra)
    assert not page.error


def test_lines_that_cannot_be_used_survive_an_edit_of_another() -> None:
    typed = "The [bank] a\triver\nNo word here\nThe [bank] b\tmoney"
    found = read_lines(typed)
    table = pd.DataFrame({"sentence": ["The [bank] changed", "The [bank] b"], "sense": ["river", "money"]})
    edited = senses_input._edited_lines(table, found.occurrences, typed)
    assert edited.split("\n") == ["The [bank] changed\triver", "The [bank] b\tmoney", "No word here"]
    fewer = senses_input._edited_lines(table.drop(index=0), found.occurrences, typed)
    assert fewer.split("\n") == ["The [bank] b\tmoney", "No word here"]


def test_the_address_holds_the_layer_that_is_shown(opened: Opened, models: dict[str, str]) -> None:
    page = opened(model=models["gpt2"], layer="2")
    last = len(view(page).layers) - 1
    page.session_state["layer"] = 50
    page.run()
    assert page.query_params["layer"] == str(last)


def test_seed_and_shuffled_labels_travel(opened: Opened) -> None:
    page = opened(seed="7", shuffled="true", use="x")
    assert page.query_params["seed"] == "7" and page.query_params["shuffled"] == "true"
    assert "The link asked for use = x" in said(page, "warning")
