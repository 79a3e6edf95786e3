"""The senses page in a real browser, with the bundled models."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from embedviz.ui.address import packed
from page_browser import picture, serious

pytestmark = [pytest.mark.browser, pytest.mark.real_model]
EXAMPLE = re.compile(r"Same sense \.96, other sense \.81, random pair \.58\. A use and the table row \.00\.")
LAYERS = "Layers of the model"


def ready(page: Page) -> Page:
    expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=30_000)
    expect(page.get_by_text("is loading")).to_have_count(0, timeout=120_000)
    expect(page.locator(".st-key-senses_picture .scatterlayer path.point").first).to_be_visible(timeout=60_000)
    expect(page.get_by_role("slider", name=LAYERS)).to_be_visible(timeout=30_000)
    return page


def places(page: Page) -> list[str]:
    """Where the picture's marks stand on the screen."""
    return page.eval_on_selector_all(  # type: ignore[no-any-return]
        ".st-key-senses_picture .scatterlayer path.point", "all => all.map(one => one.getAttribute('transform'))"
    )


def words(page: Page) -> list[str]:
    return page.locator(".st-key-senses_picture .textpoint").all_text_contents()


def open_part(page: Page, title: str) -> None:
    page.locator("summary", has_text=title).click()


def test_the_example_stands_apart_with_its_numbers(page: Page, app_server: str, complaints: list[str]) -> None:
    page.goto(f"{app_server}/senses")
    ready(page)
    expect(page.get_by_text(EXAMPLE)).to_be_visible(timeout=60_000)
    assert {"river", "money", "table row"} <= set(words(page))
    first_part = page.locator("summary").first.bounding_box()
    assert first_part is not None and first_part["y"] < 720, "nothing on the first screen says that the page goes on"
    picture(page, "senses")
    assert complaints == []


def test_the_slider_moves_both_figures_without_a_run_and_then_the_address(page: Page, app_server: str) -> None:
    asked: list[object] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda sent: asked.append(sent)))
    page.goto(f"{app_server}/senses")
    ready(page)
    expect(page.get_by_text(EXAMPLE)).to_be_visible(timeout=60_000)
    page.wait_for_timeout(2000)
    slider = page.get_by_role("slider", name=LAYERS)
    before, opening = places(page), slider.input_value()
    slider.focus()
    asked.clear()
    page.keyboard.press("ArrowRight")
    assert slider.input_value() == str(int(opening) + 1)
    assert "layer=" not in page.url
    assert asked == [], "the server is asked before the slider rests"
    expect(page.get_by_text(re.compile(rf"^Layer {int(opening) + 1}: after block"))).to_be_visible()
    assert places(page) != before
    page.keyboard.press("Home")
    expect(page.get_by_text("All 10 uses are the same row, to the bit.")).to_be_visible()
    expect(page).to_have_url(re.compile("layer=0"), timeout=10_000)
    assert "all 10 on the table row" in words(page)
    picture(page, "senses-layer-0")


def test_a_link_opens_at_its_layer_with_that_layers_numbers(page: Page, app_server: str) -> None:
    page.goto(f"{app_server}/senses?layer=30")
    ready(page)
    expect(page.get_by_text("Same sense .85, other sense .68, random pair .43.")).to_be_visible(timeout=60_000)
    assert page.get_by_role("slider", name=LAYERS).input_value() == "30"
    assert any(".43 random pair" in one for one in page.locator(".st-key-senses_curve .textpoint").all_text_contents())


def test_a_clue_after_the_word_is_told_and_another_model_offered(page: Page, app_server: str) -> None:
    page.goto(f"{app_server}/senses")
    ready(page)
    page.get_by_role("radio", name="the clue comes after").click()
    expect(page.get_by_text("In 2 of 12 sentences the clue comes after bank.")).to_be_visible(timeout=60_000)
    expect(page.locator(".st-key-senses_picture .textpoint", has_text="×2: river, money")).to_be_visible(timeout=30_000)
    picture(page, "senses-clue-after")
    page.get_by_role("button", name="Use MiniLM L6, which reads both ways").click()
    expect(page.get_by_text("the clue comes after bank")).to_have_count(0, timeout=120_000)
    expect(page.locator(".st-key-senses_picture .textpoint", has_text="×2")).to_have_count(0, timeout=60_000)


def test_sentences_of_ones_own_are_pasted_guessed_and_linked(
    page: Page, app_server: str, complaints: list[str]
) -> None:
    page.goto(f"{app_server}/senses")
    ready(page)
    page.get_by_role("button", name=re.compile("10 sentences")).click()
    field = page.get_by_label("Or your own: a sentence a line", exact=False)
    field.fill(
        "He threw the [ball] to the dog | round thing\nShe kicked the [ball] over the fence\tround thing\n"
        'They danced all night at the [ball]\tdance\nThe prince gave a [ball] in the palace & "more" <b>\tdance'
    )
    field.press("Control+Enter")
    expect(page.locator(".st-key-senses_picture .textpoint", has_text="dance").first).to_be_visible(timeout=60_000)
    expect(page).to_have_url(re.compile("sentences="), timeout=30_000)
    address = page.url
    page.keyboard.press("Escape")
    page.goto(address)
    ready(page)
    expect(page.get_by_role("button", name=re.compile("4 sentences"))).to_be_visible(timeout=60_000)
    assert complaints == []


def test_umap_comes_in_when_it_is_ready(page: Page, app_server: str, complaints: list[str]) -> None:
    page.goto(f"{app_server}/senses?method=umap&set=all&layer=9")
    ready(page)
    expect(page.get_by_text("of true neighbours.")).to_be_visible(timeout=180_000)
    assert page.locator(".st-key-senses_picture .scatterlayer path.point").count() >= 20
    picture(page, "senses-umap")
    assert complaints == []


def test_parts_follow_the_slider(page: Page, app_server: str) -> None:
    page.goto(f"{app_server}/senses?open=matrix")
    ready(page)
    expect(page.get_by_text("At layer 9: same sense .96")).to_be_visible(timeout=60_000)
    page.get_by_role("slider", name=LAYERS).focus()
    page.keyboard.press("End")
    expect(page.get_by_text("At layer 30: same sense .85")).to_be_visible(timeout=30_000)


def test_a_hostile_address_gives_notes_and_nothing_active(page: Page, app_server: str, complaints: list[str]) -> None:
    lines = packed("sentences").write(
        "<img src=x onerror=alert(1)> [bank] $x$ **b**\t<script>alert(1)</script>\nA [bank]\t:red[b]"
    )
    page.on("dialog", lambda dialog: complaints.append(dialog.message))
    page.goto(f"{app_server}/senses?sentences={lines}&layer=1e9&method=x&guess=%3Cb%3Ebank&open=guess,matrix,moved")
    ready(page)
    expect(page.get_by_text("The link asked for layer = 1e9.")).to_be_visible(timeout=60_000)
    assert page.locator("img[src=x]").count() == 0
    assert complaints == []


@pytest.mark.parametrize(("scheme", "query"), [("light", ""), ("dark", ""), ("light", "?projector=true")])
def test_axe_finds_nothing_serious_of_ours(page: Page, app_server: str, scheme: str, query: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{app_server}/senses{query}")
    ready(page)
    for title, words in (
        ("Guess a new sentence", "A new sentence with bank in it"),
        ("Which words moved it", "this model has not read them yet"),
        ("Every pair", "At layer 9: same sense"),
        ("Can you trust this picture?", "Only distances within one layer mean anything"),
    ):
        open_part(page, title)
        expect(page.get_by_text(words)).to_be_visible(timeout=60_000)
    page.wait_for_timeout(1500)
    picture(page, f"senses-{scheme}{'-projector' if query else ''}")
    assert not serious(page)
