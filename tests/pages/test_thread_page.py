"""The first page by Streamlit's own test frame: what stands on it for every kind of input, with a tiny real model."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from conftest import ROOT
from page_frame import figure, offered, open_page, type_into


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Names, as the list gives them, of a tiny causal model (the default) and a tiny encoder."""
    yield from offered(tmp_path_factory, "gpt2", "bert")


Opened = Callable[..., AppTest]


@pytest.fixture
def opened(tiny: dict[str, str]) -> Opened:
    """Open the page with some address values, and run it again until its model is there."""
    return partial(open_page, ROOT / "app.py")


def type_sentence(page: AppTest, text: str) -> AppTest:
    return type_into(page, "text", text)


def warnings(page: AppTest) -> list[str]:
    return [one.value.replace("\\", "") for one in page.warning]


def test_a_stored_result_is_shown_and_marked_until_the_model_is_there(tiny: dict[str, str]) -> None:
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert page.title[0].value == "Words become numbers; numbers give the next word."
    assert any(one.value.startswith("Stored result of the example") for one in page.markdown)
    assert "␣Paris" in json.dumps(figure(page, "scores"), ensure_ascii=False)


def test_a_sentence_gives_its_tokens_and_scores(opened: Opened) -> None:
    page = type_sentence(opened(), "The river bank")
    labels = [text for trace in figure(page, "vectors")["data"] for text in trace.get("text", [])]
    assert {"The", "␣river", "␣bank"} <= set(labels)
    assert page.query_params["text"] == "The river bank"
    assert page.query_params["model"] == "tiny-gpt2"


@pytest.mark.parametrize("text", ["", "   ", "\n", "\t \n"])
def test_blank_text_is_a_hint_and_keeps_the_last_one(opened: Opened, text: str) -> None:
    page = type_sentence(type_sentence(opened(), "The river bank"), text)
    assert any("Type a sentence and press Enter" in one.value for one in page.markdown)
    assert "␣river" in json.dumps(figure(page, "vectors"), ensure_ascii=False)
    assert not page.error


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("bank " * 10_000, "64 of 10,002 tokens used: this model reads no more at once."),
        ("a\0b", "1 character that is no text was replaced by �."),
    ],
)
def test_what_is_cut_or_replaced_is_said(opened: Opened, text: str, note: str) -> None:
    assert note in warnings(type_sentence(opened(), text))


@pytest.mark.parametrize(
    "text", ["</div><script>alert(1)</script>", "$5 *a* :red[x] <b>", "😃", "שָׁלוֹם", "<|endoftext|>", "x" * 3000]
)
def test_awkward_text_makes_no_error(opened: Opened, text: str) -> None:
    page = type_sentence(opened(), text)
    assert not page.error
    spec = json.dumps(figure(page, "vectors"))
    assert "<script" not in spec and "<b>" not in spec


def test_an_encoder_says_that_it_has_no_next_token(opened: Opened, tiny: dict[str, str]) -> None:
    page = opened(model=tiny["bert"])
    assert any("This model fills gaps; it has no next token." in one.value for one in page.markdown)
    assert [one.proto.id.rsplit("-", 1)[1] for one in page.get("plotly_chart")] == ["vectors", "row"]


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ({"model": "nonsense"}, "The link asked for model = nonsense. That is not possible here; tiny-gpt2 is shown."),
        ({"model": str(ROOT)}, "That is not possible here; tiny-gpt2 is shown."),
        ({"step": "99"}, "The link asked for step = 99. That is not possible here; 3 is shown."),
        ({"step": "abc"}, "The link asked for step = abc."),
        ({"token": "-1"}, "The link asked for token = -1."),
        ({"token": "400"}, "The link asked for token = 400. That is not possible here; 14 is shown."),
        ({"projector": "maybe"}, "The link asked for projector = maybe."),
    ],
)
def test_an_impossible_address_is_noted(opened: Opened, values: dict[str, str], note: str) -> None:
    assert any(note in one for one in warnings(opened(**values)))


def test_an_address_restores_sentence_token_and_step(opened: Opened) -> None:
    text = 'A & B + C # 100% <x> "q" 😃'
    page = opened(text=text, token="2", step="7", projector="true")
    assert page.text_input(key="text").value == text
    bold = [
        trace["textfont"]["weight"]
        for trace in figure(page, "vectors")["data"]
        if "weight" in trace.get("textfont", {})
    ]
    assert bold[0].index(max(bold[0])) == 2 or len(bold[0]) < 8
    assert page.query_params["projector"] == "true"


def test_the_code_on_the_page_prints_the_numbers_on_the_page(
    opened: Opened, capsys: pytest.CaptureFixture[str]
) -> None:
    page = type_sentence(opened(), 'The "river"\nbank 😃')
    page.toggle(key="thread_code").set_value(True)
    code = page.run().code[0].value
    exec(compile(code, "snippet", "exec"), {})
    printed = capsys.readouterr().out.strip().splitlines()
    from embedviz.thread import Thread

    thread: Thread = page.session_state["thread"]
    assert [(int(line.split()[0]), line.split()[-1]) for line in printed] == [
        (one.entry.id, f"{one.probability:.3f}") for one in thread.next
    ]


def test_the_table_holds_every_token(opened: Opened) -> None:
    page = type_sentence(opened(), "The river bank")
    page.toggle(key="thread_table").set_value(True)
    tables = [one.value for one in page.run().dataframe]
    assert list(tables[0]["text"]) == ["The", "␣river", "␣bank"] or "␣bank" in list(tables[0]["text"])
    assert len(tables[1]) == 16


def test_a_failing_model_leaves_the_page_and_says_why(opened: Opened, tiny: dict[str, str], tmp_path: Path) -> None:
    page = opened()
    page.session_state["model"] = "gpt2"
    page.run()
    deadline = time.monotonic() + 60
    while not page.error and time.monotonic() < deadline:
        time.sleep(0.2)
        page.run()
    assert "gpt2 is not on this machine" in page.error[0].value.replace("\\", "")
    assert not page.exception
    assert "for:" in json.dumps(figure(page, "vectors"))
