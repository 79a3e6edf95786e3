"""The first page in a real browser, with the bundled model: what a person does in the first minutes."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from conftest import ROOT, answers
from page_browser import picture, serious

pytestmark = [pytest.mark.browser, pytest.mark.real_model]
SENTENCE = "The river bank"


def ready(page: Page) -> Page:
    """Wait until the model is there and the figures show its own result."""
    expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=30_000)
    expect(page.get_by_text("is loading")).to_have_count(0, timeout=120_000)
    expect(page.get_by_role("slider", name="Steps from text to the next token")).to_be_visible(timeout=30_000)
    expect(page.locator(".st-key-chips .chip").first).to_be_visible(timeout=30_000)
    expect(page.locator(".st-key-scores .barlayer .point path").first).to_be_visible(timeout=30_000)
    return page


def chips(page: Page) -> list[str]:
    return page.locator(".st-key-chips .chip .shown").all_inner_texts()


def bars(page: Page) -> list[str]:
    """The labels of the bars as they are drawn."""
    return page.locator(".st-key-scores .textpoint").all_text_contents()


def type_sentence(page: Page, text: str) -> None:
    field = page.get_by_label("Sentence", exact=True)
    field.fill(text)
    field.press("Enter")


def test_the_page_stands_before_the_model_has_loaded(tmp_path: Path, page: Page) -> None:
    """On a server of its own, whose model is not in memory yet."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "embedviz", "serve", "--port", str(port), "--no-open-browser"]
    log = tmp_path / "log.txt"
    with log.open("wb") as out, subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out) as app:
        try:
            deadline = time.monotonic() + 90
            while not answers(port):
                assert time.monotonic() < deadline
                time.sleep(0.1)
            page.goto(f"http://localhost:{port}")
            expect(page.get_by_text("Stored result of the example.")).to_be_visible(timeout=30_000)
            expect(page.locator(".st-key-scores .barlayer .point path").first).to_be_visible()
            assert any("Paris" in label for label in bars(page))
            picture(page, "thread-before-the-model")
            ready(page)
            type_sentence(page, SENTENCE)
            expect(page.locator(".st-key-chips .chip")).to_have_count(3, timeout=30_000)
        finally:
            app.terminate()
    said = log.read_text(encoding="utf-8").splitlines()
    assert said[0] == f"embedviz runs at http://localhost:{port} (Ctrl+C stops it)."
    assert [line.strip() for line in said[1:]] in ([], ["Stopping..."])


@pytest.fixture(scope="module")
def start(app_server: str) -> str:
    return app_server


def test_a_sentence_gives_tokens_rows_and_scores(page: Page, start: str, complaints: list[str]) -> None:
    page.goto(start)
    ready(page)
    assert chips(page) == ["The", "␣capital", "␣of", "␣France", "␣is"]
    assert bars(page)[0].startswith("␣Paris .77")
    type_sentence(page, SENTENCE)
    expect(page.locator(".st-key-chips .chip")).to_have_count(3)
    expect(page.locator(".st-key-scores .textpoint").first).to_contain_text("␣was .147")
    assert [int(text) for text in page.locator(".st-key-chips .chip .id").all_inner_texts()] == [504, 4626, 5461]
    expect(page.locator(".st-key-scores .barlayer .point path")).to_have_count(6)
    expect(page.locator(".st-key-vectors .heatmaplayer image")).to_have_count(1)
    picture(page, "thread")
    assert complaints == []


def test_a_new_sentence_neither_fades_nor_flashes_the_page(page: Page, start: str) -> None:
    page.goto(start)
    ready(page)
    page.evaluate(
        """() => {
            window.seen = { least: 1, titles: 0 };
            const look = () => {
                const title = document.querySelector("h1");
                if (!title) window.seen.titles += 1;
                for (const one of document.querySelectorAll("h1, .stPlotlyChart, [data-testid=stElementContainer]"))
                    window.seen.least = Math.min(window.seen.least, +getComputedStyle(one).opacity);
                window.seen.id = requestAnimationFrame(look);
            };
            look();
        }"""
    )
    type_sentence(page, SENTENCE)
    expect(page.locator(".st-key-chips .chip")).to_have_count(3)
    page.wait_for_timeout(1500)
    seen = page.evaluate("() => window.seen")
    assert (seen["least"], seen["titles"]) == (1, 0)


def test_a_chip_chosen_by_key_shows_its_row_and_stays_in_the_address(page: Page, start: str) -> None:
    page.goto(start)
    ready(page)
    page.locator(".st-key-chips .chip[tabindex='0']").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".st-key-row .annotation-text").first).to_contain_text("row 4649 of the table, ␣France")
    expect(page).to_have_url(re.compile("token=3"))
    drawn = page.evaluate("document.querySelector('.st-key-row .js-plotly-plot')._fullData[0].z[0].length")
    assert drawn == 576


def test_the_slider_moves_the_picture_without_a_run_and_then_the_address(page: Page, start: str) -> None:
    page.goto(start)
    ready(page)
    slider = page.get_by_role("slider", name="Steps from text to the next token")
    slider.focus()
    page.keyboard.press("End")
    expect(page.get_by_text("has probability .77")).to_be_visible()
    box = "document.querySelector('.st-key-scores .js-plotly-plot').data[3].y"
    page.wait_for_function(f"JSON.stringify({box}) !== '[]'")
    assert page.locator(".st-key-scores .barlayer .point path").count() == 6
    assert page.locator(".st-key-vectors .heatmaplayer image").count() == 1
    expect(page).to_have_url(re.compile("step=8"))
    page.reload()
    ready(page)
    expect(page.get_by_text("8 of 8: next token")).to_be_visible()


def test_text_of_every_kind_survives_the_address(page: Page, start: str, complaints: list[str]) -> None:
    text = '  A & B + C # 100% <b>x</b> "q" $5 😃 שלום'
    page.goto(start)
    ready(page)
    type_sentence(page, text)
    expect(page.locator(".st-key-chips .chip").first).to_contain_text("␣")
    expect(page).to_have_url(re.compile("text="))
    before = chips(page)
    page.goto(page.url)
    ready(page)
    assert page.get_by_label("Sentence", exact=True).input_value() == text
    assert chips(page) == before
    assert page.locator("b", has_text="x").count() == 0 or "<b>" in "".join(before)
    assert complaints == []


@pytest.mark.parametrize("text", ["", "   "])
def test_blank_text_is_a_hint(page: Page, start: str, text: str) -> None:
    page.goto(start)
    ready(page)
    type_sentence(page, text)
    expect(page.get_by_text("Type a sentence and press Enter. Shown: the last one.")).to_be_visible()
    assert chips(page)[-1] == "␣is"


def test_a_text_of_ten_thousand_words_is_cut_and_said(page: Page, start: str) -> None:
    page.goto(start)
    ready(page)
    type_sentence(page, "bank " * 10_000)
    expect(page.get_by_text("512 of 10,001 tokens used: this page reads no more at once.")).to_be_visible(
        timeout=60_000
    )
    expect(page.locator(".st-key-chips .chip")).to_have_count(512)
    expect(page.get_by_text("tokens 1 to 7, and 512, of 512")).to_be_visible()
    assert len(page.url) < 2500
    picture(page, "thread-long")


def test_projector_mode_by_key_and_by_address(page: Page, start: str) -> None:
    page.goto(start)
    ready(page)
    page.locator("h1").click()
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Menu")).to_be_visible()
    expect(page).to_have_url(re.compile("projector=true"))
    assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "22px"
    picture(page, "thread-projector")
    page.goto(f"{start}/?projector=1&text=The+river+bank")
    ready(page)
    assert chips(page) == ["The", "␣river", "␣bank"]


def test_a_hostile_address_gives_notes_and_nothing_active(page: Page, start: str, complaints: list[str]) -> None:
    page.goto(
        f"{start}/?model=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&step=99&text=%3Cscript%3Ealert(1)%3C%2Fscript%3E"
    )
    ready(page)
    expect(page.get_by_text("The link asked for model = <img src=x onerror=alert(1)>.")).to_be_visible()
    expect(page.get_by_text("The link asked for step = 99.")).to_be_visible()
    assert page.locator("img[src=x]").count() == 0
    assert complaints == []


@pytest.mark.parametrize(("scheme", "query"), [("light", ""), ("dark", ""), ("light", "?projector=true")])
def test_axe_finds_nothing_serious_of_ours(page: Page, start: str, scheme: str, query: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{start}/{query}")
    ready(page)
    assert not serious(page)


def test_all_downloads_hold_the_data(page: Page, start: str, tmp_path: Path) -> None:
    page.goto(start)
    ready(page)
    with page.expect_download() as csv:
        page.get_by_role("button", name="CSV: scores").click()
    rows = csv.value.path().read_text(encoding="utf-8").splitlines()
    assert rows[0] == "rank,id,text,logit,probability"
    assert rows[1].startswith("1,7042,␣Paris,17.37")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Page (HTML): vectors").click()
    target = tmp_path / "vectors.html"
    os.replace(saved.value.path(), target)
    page.goto(target.as_uri())
    expect(page.locator(".heatmaplayer image").first).to_be_visible()
