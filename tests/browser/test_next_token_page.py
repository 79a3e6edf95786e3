"""The next-token page in a real browser, with the bundled model."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from page_browser import picture, serious

pytestmark = [pytest.mark.browser, pytest.mark.real_model]
WAY = re.compile("The way of the edit")
EXAMPLE = "Most likely next: ␣Berlin .504. Unedited: ␣Paris .773. Nearest row of the table: ␣Germany."


def ready(page: Page) -> Page:
    expect(page.get_by_role("heading", level=1)).to_be_visible(timeout=30_000)
    expect(page.get_by_text("is loading")).to_have_count(0, timeout=120_000)
    expect(page.locator(".st-key-next_scores .barlayer .point path").first).to_be_visible(timeout=60_000)
    return page


def labels(page: Page) -> list[str]:
    return page.locator(".st-key-next_scores .textpoint").all_text_contents()


def test_a_slide_crosses_where_the_numbers_say(page: Page, app_server: str, complaints: list[str]) -> None:
    page.goto(f"{app_server}/next_token")
    ready(page)
    expect(page.get_by_text(EXAMPLE)).to_be_visible(timeout=60_000)
    picture(page, "next-token")
    slider = page.get_by_role("slider", name=WAY)
    slider.focus()
    page.keyboard.press("End")
    expect(page.get_by_text("Most likely next: ␣Berlin .796.")).to_be_visible()
    expect(page).to_have_url(re.compile("edits="), timeout=10_000)
    page.keyboard.press("Home")
    expect(page.get_by_text("Most likely next: ␣Paris .773.")).to_be_visible()
    assert page.locator(".st-key-next_scores .barlayer .point path").count() == 6
    assert any("␣Paris" in one for one in labels(page))
    assert complaints == []


def test_an_edit_is_made_by_hand_and_taken_back(page: Page, app_server: str, complaints: list[str]) -> None:
    page.goto(f"{app_server}/next_token?text=The+river+bank&edits=none&token=1")
    ready(page)
    expect(page.get_by_text("Most likely next: ␣was .147.")).to_be_visible(timeout=60_000)
    page.get_by_label("What to do with its row").click()
    page.get_by_role("option", name="Slide to").click()
    field = page.get_by_label("Token", exact=True)
    field.fill("national")
    field.press("Enter")
    expect(page.get_by_text("Most likely next: 's .090.")).to_be_visible(timeout=30_000)
    expect(page).to_have_url(re.compile("national"), timeout=10_000)
    page.reload()
    ready(page)
    expect(page.get_by_text("Most likely next: 's .090.")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_text("Most likely next: ␣was .147.")).to_be_visible(timeout=30_000)
    assert complaints == []


def test_parts_open_with_the_bundled_models_numbers(page: Page, app_server: str, complaints: list[str]) -> None:
    page.goto(f"{app_server}/next_token?edits=none&open=scores,sum,layers,order,sampling,texts,edits")
    ready(page)
    expect(page.get_by_text("576 products make 17.37, the score of ␣Paris.")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("Same scores from vectors as from ids: to the bit.")).to_be_visible()
    expect(page.get_by_text("␣Paris first leads after block 30")).to_be_visible(timeout=30_000)
    expect(page.get_by_text("only distances count")).to_be_visible(timeout=30_000)
    assert complaints == []


def test_a_copied_link_opens_the_same_view(page: Page, app_server: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{app_server}/next_token")
    ready(page)
    slider = page.get_by_role("slider", name=WAY)
    slider.focus()
    page.keyboard.press("End")
    expect(page).to_have_url(re.compile("edits="), timeout=10_000)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Link copied. It opens this view, on this machine only.")).to_be_visible()
    page.goto(str(page.evaluate("navigator.clipboard.readText()")))
    ready(page)
    expect(page.get_by_text("Most likely next: ␣Berlin .796.")).to_be_visible(timeout=30_000)


@pytest.mark.parametrize(("scheme", "query"), [("light", ""), ("dark", ""), ("light", "?projector=true")])
def test_axe_finds_nothing_serious_of_ours(page: Page, app_server: str, scheme: str, query: str) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(f"{app_server}/next_token{query}")
    ready(page)
    for title, words in (
        ("All the scores", "Same scores from vectors as from ids"),
        ("One score, added up", "products make"),
        ("Temperature and sampling", "tokens can be drawn"),
    ):
        page.locator("summary", has_text=title).click()
        expect(page.get_by_text(words)).to_be_visible(timeout=60_000)
    page.wait_for_timeout(1500)
    picture(page, f"next-token-{scheme}{'-projector' if query else ''}")
    assert not serious(page)
