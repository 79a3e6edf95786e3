"""The shared parts in a real browser: what a reader sees, hears, and does with keys; and what Python hears of it."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from conftest import ROOT, answers

pytestmark = pytest.mark.browser
OTHERS = ("Table", "Senses", "Next token", "Learning", "Retrieval", "Lessons")
AWKWARD = (
    "$5 and $6, *a* _b_ `c` ~~d~~ :red[x] :material/home: :smile: [a](b) ![](x.png) <b>e</b> &lt; "
    "https://a.org a@b.org www.a.org -> >= # 1. \\"
)


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of a running copy of the small app, with all the other pages beside it, each nearly empty."""
    folder = tmp_path_factory.mktemp("components")
    shutil.copy(Path(__file__).with_name("components_app.py"), folder / "app.py")
    shutil.copytree(ROOT / ".streamlit", folder / ".streamlit")
    (folder / "pages").mkdir()
    for label in OTHERS:
        script = f"import streamlit as st\nfrom embedviz.ui.frame import page\npage({label!r})\nst.text('elsewhere')\n"
        (folder / "pages" / f"{label.lower().replace(' ', '_')}.py").write_text(script, encoding="utf-8")
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.headless=true", f"--server.port={port}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=quiet, stderr=quiet) as app:
        deadline = time.monotonic() + 60
        while not answers(port):
            assert app.poll() is None and time.monotonic() < deadline, "the small app did not start"
            time.sleep(0.1)
        yield f"http://localhost:{port}/"
        app.terminate()


@pytest.fixture
def opened(page: Page, address: str):
    """Open the small app with this query and wait until its figures stand at the scrubber's moment."""

    def go(query=""):
        page.goto(address + query)
        expect(page.locator(".js-plotly-plot .slider-container")).to_have_count(2, timeout=30_000)
        expect(page.get_by_role("slider", name="Step")).to_be_visible()
        return page

    return go


def bar(page: Page, key="bars"):
    """The height of the first bar as it is now in the browser."""
    return page.evaluate(f"document.querySelector('.st-key-{key} .js-plotly-plot').data[0].y[0]")


def wait_for_bar(page: Page, height: int, key="bars"):
    place = f"document.querySelector('.st-key-{key} .js-plotly-plot')"
    page.wait_for_function(f"{place}?.data && {place}.data[0].y[0] === {height}")


def runs(page: Page) -> int:
    return int(re.search(r"runs (\d+)", page.get_by_text(re.compile(r"^runs \d+")).inner_text())[1])


def settle(page: Page):
    page.wait_for_timeout(900)


def chip(page: Page, k: int):
    return page.get_by_role("option").nth(k)


def test_the_frame_has_its_measures(opened):
    page = opened()
    title = page.get_by_role("heading", level=1)
    assert title.bounding_box()["x"] == 24
    assert title.evaluate("e => getComputedStyle(e).fontSize") == "28px"
    assert page.get_by_role("slider").bounding_box()["y"] < 640
    menu = page.get_by_role("button", name="Main menu").bounding_box()
    assert menu["x"] + menu["width"] <= 1280, "light or dark cannot be chosen"
    button = page.get_by_role("button", name="Projector").bounding_box()
    assert button["x"] + button["width"] <= menu["x"]


def test_navigation_leads_to_every_page_and_choices_are_kept(opened):
    page = opened()
    chip(page, 3).click()
    expect(page.get_by_text("chosen 3")).to_be_visible()
    for label in OTHERS:
        page.get_by_role("link", name=label, exact=True).click()
        expect(page.get_by_text("elsewhere")).to_be_visible()
        expect(page).to_have_title(f"{label} · embedviz")
    page.get_by_role("link", name="Thread", exact=True).click()
    expect(chip(page, 3)).to_have_attribute("aria-selected", "true")
    expect(page.get_by_text("chosen 3")).to_be_visible()


@pytest.mark.parametrize("query", ["?projector=true", "?projector=1"])
def test_a_link_opens_projector_mode(opened, query):
    page = opened(query)
    assert page.evaluate("getComputedStyle(document.documentElement).fontSize") == "22px"
    title = page.get_by_role("heading", level=1).bounding_box()
    assert title["height"] < 70, "the claim takes more than one line"
    assert page.get_by_role("button", name="Menu", exact=True).bounding_box()["y"] < title["y"] + title["height"]
    expect(page.get_by_role("link", name="Table")).to_be_hidden()
    expect(page.get_by_role("button", name="Main menu")).to_be_hidden()
    expect(page.get_by_placeholder("Type here")).to_be_hidden()
    expect(page).to_have_url(re.compile(r"projector=true"))


def test_every_claim_fits_beside_the_buttons_of_projector_mode(page, address):
    for name in ("", "table", "senses", "next_token", "learning", "retrieval", "lessons"):
        page.goto(f"{address}{name}?projector=true")
        expect(page.get_by_role("button", name="Menu", exact=True)).to_be_visible(timeout=30_000)
        page.evaluate("document.fonts.ready")
        assert page.get_by_role("heading", level=1).bounding_box()["height"] < 70, name


def test_p_enters_and_leaves_projector_mode_but_not_while_typing(opened):
    page = opened()
    page.get_by_placeholder("Type here").press("p")
    settle(page)
    expect(page.get_by_role("button", name="Menu", exact=True)).to_be_hidden()
    page.get_by_placeholder("Type here").blur()
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Menu", exact=True)).to_be_visible()
    expect(page).to_have_url(re.compile("projector=true"))
    page.get_by_role("slider").focus()
    page.keyboard.press("p")
    expect(page.get_by_placeholder("Type here")).to_be_visible()
    expect(page).not_to_have_url(re.compile("projector"))


def test_the_menu_of_projector_mode_holds_controls_then_pages(opened):
    page = opened("?projector=true")
    page.get_by_role("button", name="Menu", exact=True).click()
    places = [page.get_by_text("awkward"), page.get_by_text("SmolLM2 135M"), page.get_by_role("link", name="Table")]
    tops = [place.bounding_box()["y"] for place in places]
    assert tops == sorted(tops)
    page.get_by_text("awkward").click()
    expect(page.get_by_role("option")).to_have_count(17)
    page.get_by_role("link", name="Table").click()
    expect(page.get_by_text("elsewhere")).to_be_visible()
    expect(page.get_by_role("button", name="Exit")).to_be_visible()


def test_an_impossible_address_is_said(opened):
    page = opened("?projector=maybe")
    note = "The link asked for projector = maybe. That is not possible here; false is shown."
    expect(page.get_by_text(note)).to_be_visible()


def test_chips_are_one_tab_stop_and_arrows_choose(opened):
    page = opened()
    expect(page.get_by_role("listbox", name="Tokens")).to_be_visible()
    chip(page, 0).focus()
    for key, place in {"ArrowRight": 1, "End": 4, "ArrowLeft": 3, "Home": 0}.items():
        page.keyboard.press(key)
        expect(chip(page, place)).to_have_attribute("aria-selected", "true")
        expect(chip(page, place)).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("chosen 1")).to_be_visible()
    settle(page)
    expect(chip(page, 1)).to_be_focused()
    assert [chip(page, k).get_attribute("tabindex") for k in range(5)] == ["-1", "0", "-1", "-1", "-1"]


def test_a_held_arrow_key_ends_where_the_reader_ends(opened):
    page = opened("?text=long")
    chip(page, 0).focus()
    for _ in range(40):
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(20)
    expect(page.get_by_text("chosen 40")).to_be_visible()
    expect(chip(page, 40)).to_be_focused()
    page.wait_for_timeout(300)
    expect(chip(page, 40)).to_have_attribute("aria-selected", "true")


def test_the_choice_is_kept_within_a_shorter_text(opened):
    page = opened("?text=awkward")
    chip(page, 16).click()
    expect(page.get_by_text("chosen 16")).to_be_visible()
    page.get_by_text("plain", exact=True).click()
    expect(page.get_by_text("chosen 4")).to_be_visible()
    expect(chip(page, 4)).to_have_attribute("aria-selected", "true")


def test_tokens_have_visible_labels_and_spoken_names(opened):
    page = opened("?text=awkward")
    expect(page.get_by_role("option")).to_have_count(17)
    labels = [chip(page, k).locator(".shown").inner_text() for k in range(17)]
    assert all(label.strip() for label in labels)
    assert labels[1] == "<img␣src=x␣onerror=alert(1)>" and labels[3] == "␣␣␣" and labels[9] == "U+200B"
    spoken = [chip(page, k).get_attribute("aria-label") for k in range(17)]
    assert spoken[0] == "<|endoftext|>, special token, id 500"
    assert spoken[2] == "space, id 502" and spoken[3] == "3 spaces, id 503" and spoken[5] == "a newline, id 505"
    assert spoken[10] == "[UNK], not in the list, id 510" and spoken[11] == "[unused7], unused row, id 511"
    assert spoken[12] == "F0 9F 98, piece 1 of 2 of 😃, id 512"
    expect(page.get_by_role("group", name="😃").get_by_role("option")).to_have_count(2)
    # A newline ends its row.
    assert chip(page, 6).bounding_box()["y"] > chip(page, 5).bounding_box()["y"]
    # The model's order from left to right, in right-to-left writing too.
    assert chip(page, 6).bounding_box()["x"] < chip(page, 7).bounding_box()["x"]


def test_many_tokens_scroll_and_are_counted(opened):
    page = opened("?text=long")
    expect(page.get_by_role("option")).to_have_count(512)
    expect(page.get_by_text("512 tokens")).to_be_visible()
    assert page.get_by_role("listbox").bounding_box()["height"] < 200
    page = opened("?text=plain")
    expect(page.get_by_text("5 tokens")).to_be_hidden()


def test_the_scrubber_moves_both_figures_and_runs_nothing(opened):
    page = opened()
    wait_for_bar(page, 2)
    before = runs(page)
    slider = page.get_by_role("slider", name="Step")
    slider.focus()
    for key, place in [("ArrowRight", 3), ("PageUp", 8), ("PageDown", 3), ("Home", 0), ("End", 8), ("ArrowLeft", 7)]:
        page.keyboard.press(key)
        expect(slider).to_have_value(str(place))
        wait_for_bar(page, place)
        wait_for_bar(page, place, "path")
    name = f"7 of 8: table rows. At step 7 the sentence <i>says</i> {7 * 7}."
    expect(slider).to_have_attribute("aria-valuetext", name)
    expect(page.get_by_text("At step 7 the sentence <i>says</i> 49.")).to_be_visible()
    expect(page).to_have_url(re.compile("step=7"))
    settle(page)
    assert runs(page) == before
    expect(slider).to_be_focused()


def test_figures_drawn_anew_go_to_the_chosen_moment(opened):
    page = opened()
    page.get_by_role("button", name="one step on").click()
    wait_for_bar(page, 3)
    page.get_by_text("awkward").click()
    expect(page.get_by_role("option")).to_have_count(17)
    settle(page)
    assert bar(page) == bar(page, "path") == 3
    assert page.evaluate("document.querySelector('.st-key-bars .js-plotly-plot').data[0].y[2]") == len("awkward")


def test_a_change_of_theme_keeps_the_moment(opened):
    page = opened()
    page.get_by_role("button", name="one step on").click()
    wait_for_bar(page, 3)
    page.emulate_media(color_scheme="dark")
    dark = "getComputedStyle(document.querySelector('.stApp')).backgroundColor === 'rgb(14, 17, 23)'"
    page.wait_for_function(dark)
    settle(page)
    assert bar(page) == bar(page, "path") == 3


def test_python_moves_the_scrubber_and_the_reader_moves_it_back(opened):
    page = opened()
    slider = page.get_by_role("slider")
    slider.fill("4")
    settle(page)
    for _ in range(2):
        page.get_by_role("button", name="Go to 6").click()
        expect(slider).to_have_value("6")
        wait_for_bar(page, 6)
        slider.fill("4")
        settle(page)
        expect(page).to_have_url(re.compile("step=4"))


def test_a_run_of_the_page_leaves_a_moving_reader_alone(opened):
    page = opened()
    slider = page.get_by_role("slider")
    slider.fill("5")
    page.wait_for_timeout(520)
    slider.fill("7")
    page.get_by_text("awkward").click()
    expect(page.get_by_role("option")).to_have_count(17)
    settle(page)
    expect(slider).to_have_value("7")
    expect(page).to_have_url(re.compile("step=7"))


def test_play_steps_to_the_end_and_stops(opened):
    page = opened("?step=6")
    page.get_by_role("button", name="Play").click()
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.get_by_role("slider")).to_have_value("8")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_play_is_absent_where_motion_is_not_wanted(opened, page):
    page.emulate_media(reduced_motion="reduce")
    opened()
    expect(page.get_by_role("button", name="Play")).to_be_hidden()


def test_a_presenters_remote_steps_in_projector_mode_only(opened):
    page = opened("?projector=true")
    slider = page.get_by_role("slider")
    for key, place in [("PageDown", 3), (" ", 4), ("PageUp", 3)]:
        page.keyboard.press(key)
        expect(slider).to_have_value(str(place))
    box = slider.bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.76, box["y"] + box["height"] / 2)
    expect(slider).to_have_value("6")
    page.keyboard.press("PageDown")
    expect(slider).to_have_value("7")
    settle(page)
    page = opened("")
    before = slider.input_value()
    page.keyboard.press("PageDown")
    settle(page)
    expect(slider).to_have_value(before)


def test_without_plotly_in_reach_the_figures_own_slider_leads(opened, page):
    page.add_init_script("Object.defineProperty(window, 'Plotly', { get() { return undefined; }, set() {} })")
    opened()
    expect(page.locator("html")).to_have_attribute("data-figure-sliders", "shown")
    assert page.locator(".slider-container").first.evaluate("e => getComputedStyle(e).opacity") == "1"


def test_a_new_text_neither_fades_nor_empties_the_page(opened):
    page = opened()
    page.evaluate(
        """() => {
            window.lowest = 1;
            const look = () => {
                for (const e of document.querySelectorAll('.stElementContainer'))
                    window.lowest = Math.min(window.lowest, +getComputedStyle(e).opacity);
                if (!document.querySelector('.js-plotly-plot')) window.lowest = -1;
                requestAnimationFrame(look);
            };
            look();
        }"""
    )
    page.get_by_text("awkward").click()
    expect(page.get_by_role("option")).to_have_count(17)
    settle(page)
    assert page.evaluate("window.lowest") == 1


def test_typed_text_is_shown_as_typed(opened):
    page = opened()
    page.get_by_placeholder("Type here").fill(f"{AWKWARD}|two|three|four {AWKWARD}")
    page.get_by_placeholder("Type here").press("Enter")
    expect(page.get_by_text("and 2 more notes")).to_be_visible()
    page.get_by_text("and 2 more notes").click()
    expect(page.get_by_text("three", exact=True)).to_be_visible()
    # The page's last line: the run has come to its end.
    expect(page.get_by_text(re.compile("^echo .*three"))).to_be_visible()
    shown = [text.replace("\u2060", "") for text in page.get_by_test_id("stMarkdownContainer").all_inner_texts()]
    assert AWKWARD in shown and f"four {AWKWARD}" in shown
    assert f"echo {AWKWARD}|two|three|four {AWKWARD}" in shown
    expect(page.get_by_test_id("stMarkdownContainer").locator("a[href*='.org'], img, b, svg, .katex")).to_have_count(0)
    expect(page.locator(".gtitle").first).to_have_text("What comes next? <b>not bold</b> $5 & $6")


def test_an_error_takes_the_sentences_place(opened):
    page = opened()
    sentence = page.get_by_text("At step 2 the sentence")
    expect(sentence).to_be_visible()
    page.get_by_placeholder("Type here").fill("fail")
    page.get_by_placeholder("Type here").press("Enter")
    expect(page.get_by_role("alert").filter(has_text="This part failed.")).to_be_visible()
    expect(sentence).to_be_hidden()


@pytest.mark.parametrize("query", ["?text=plain", "?text=awkward", "?text=awkward&projector=true"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened, page, query, scheme):
    page.emulate_media(color_scheme=scheme)
    opened(query)
    settle(page)
    found = [v for v in Axe().run(page).response["violations"] if v["impact"] in ("serious", "critical")]
    assert not found, [(v["id"], [node["html"] for node in v["nodes"]]) for v in found]


def test_the_pair_stacks_on_a_narrow_page(opened, page):
    page.set_viewport_size({"width": 880, "height": 720})
    opened()
    first, second = (page.locator(f".st-key-{key}").bounding_box() for key in ("bars", "path"))
    assert second["y"] >= first["y"] + first["height"]
    page.set_viewport_size({"width": 320, "height": 720})
    settle(page)
    assert page.evaluate("document.querySelector('.stMain').scrollWidth") <= 320
