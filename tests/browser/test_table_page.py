"""The table page in a real browser, with the bundled model."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from page_browser import picture, serious

pytestmark = [pytest.mark.browser, pytest.mark.real_model]
EXAMPLE = "␣bank, id 5461: nearest row ␣Bank .77; next id ␣candid .25; a random row .25."


def ready(page: Page) -> Page:
    expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=30_000)
    expect(page.get_by_text("is loading")).to_have_count(0, timeout=120_000)
    expect(page.get_by_text("a random row").first).to_be_visible(timeout=60_000)
    expect(page.locator(".st-key-table_rows .heatmaplayer image")).to_have_count(1, timeout=30_000)
    return page


def labels(page: Page) -> list[str]:
    return page.locator(".st-key-table_rows .textpoint").all_text_contents()


def look_for(page: Page, word: str) -> None:
    field = page.get_by_label("Word, id or list of words", exact=True)
    field.fill(word)
    field.press("Enter")


def open_part(page: Page, title: str) -> None:
    page.locator("summary", has_text=title).click()


def test_a_row_stands_beside_its_nearest_and_the_next_ids(page: Page, app_server: str, complaints: list[str]) -> None:
    page.goto(f"{app_server}/table")
    ready(page)
    expect(page.get_by_text(EXAMPLE)).to_be_visible(timeout=60_000)
    shown = labels(page)
    assert shown[:7] == ["␣bank", "␣Bank", "␣banks", "bank", "␣phone", "␣candid", "wood"]
    assert {"id 5461", "id 7749", ".77", ".75", ".72"} <= set(shown)
    first_part = page.locator("summary").first.bounding_box()
    assert first_part is not None and first_part["y"] < 700, "nothing on the first screen says that the page goes on"
    picture(page, "table")
    look_for(page, "␣seven")
    expect(page.get_by_text("nearest row ␣eight .86")).to_be_visible(timeout=30_000)
    expect(page).to_have_url(re.compile("word="))
    page.get_by_role("radio", name="cat, dog, river").click()
    expect(page.get_by_text("␣dog .58; ␣river .24")).to_be_visible(timeout=30_000)
    assert complaints == []


def test_parts_open_and_show_the_bundled_models_numbers(page: Page, app_server: str, complaints: list[str]) -> None:
    page.goto(f"{app_server}/table")
    ready(page)
    expect(page.get_by_text(EXAMPLE)).to_be_visible(timeout=60_000)
    open_part(page, "All 576 numbers")
    expect(page.get_by_text("␣bank: length 2.2. Highest coordinates 269: +.33")).to_be_visible(timeout=30_000)
    expect(page.locator(".st-key-table_magnified .heatmaplayer image")).to_have_count(1)
    open_part(page, "All 576 numbers")
    open_part(page, "Sums of rows")
    expect(page.get_by_text("is nearest to ␣queen .72")).to_be_visible(timeout=30_000)
    page.get_by_role("radio", name="Paris − France + Italy").click()
    expect(page.get_by_text("The expected ␣Rome comes")).to_be_visible(timeout=30_000)
    assert complaints == []


def test_a_token_is_chosen_from_the_list_by_keyboard(page: Page, app_server: str) -> None:
    page.goto(f"{app_server}/table")
    ready(page)
    expect(page.get_by_text(EXAMPLE)).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page.get_by_text("tokens contain it")).to_be_visible(timeout=30_000)
    grid = page.locator("[data-testid='stDataFrame'] canvas").first
    expect(grid).to_be_visible()
    grid.focus()
    for key in ("ArrowDown", "ArrowDown", "Shift+Space"):
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile("word=%23"), timeout=30_000)


def test_a_line_chosen_in_a_list_says_what_the_page_now_shows(page: Page, app_server: str) -> None:
    page.goto(f"{app_server}/table?open=neighbours")
    ready(page)
    grid = page.locator("[data-testid='stDataFrame'] canvas").first
    expect(grid).to_be_visible(timeout=60_000)
    grid.focus()
    for key in ("ArrowDown", "Shift+Space"):
        page.keyboard.press(key)
    expect(page.get_by_text("The page now shows ␣banks.")).to_be_visible(timeout=30_000)
    expect(page).to_have_url(re.compile("word=%237908"))


def test_projector_shows_fewer_rows_larger(page: Page, app_server: str, complaints: list[str]) -> None:
    page.goto(f"{app_server}/table?projector=true")
    ready(page)
    expect(page.get_by_role("button", name="Menu")).to_be_visible()
    shown = labels(page)
    assert shown[:5] == ["␣bank", "␣Bank", "␣banks", "␣phone", "␣candid"]
    sentence = page.get_by_text("a random row .25.").bounding_box()
    assert sentence is not None and sentence["y"] + sentence["height"] < 720
    picture(page, "table-projector")
    assert complaints == []


@pytest.mark.parametrize(("scheme", "query"), [("light", ""), ("dark", ""), ("light", "?projector=true")])
def test_axe_finds_nothing_serious_of_ours(page: Page, app_server: str, scheme: str, query: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{app_server}/table{query}")
    ready(page)
    for title in ("All 576 numbers", "Neighbours by three measures", "Sums of rows"):
        open_part(page, title)
        page.wait_for_timeout(1500)
    assert not serious(page)
