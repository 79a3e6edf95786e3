"""The next-token page by Streamlit's own test frame: scores and edits of every kind, with tiny real models."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from conftest import ROOT
from embedviz import next_token_view
from embedviz.edits import read_edit
from embedviz.models.load import load
from embedviz.next_token import next_token
from embedviz.next_token_view import NextTokenView, restore
from embedviz.numbers import probability
from page_frame import figure, offered, open_page, type_into

Opened = Callable[..., AppTest]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Names, as the list gives them: a causal model (the default), one with two tables, one that reads both ways."""
    yield from offered(tmp_path_factory, "gpt2", "gpt_neox", "bert")


@pytest.fixture
def opened(models: dict[str, str]) -> Opened:
    """Open the page with some address values, and run it again until its model is there."""
    return partial(open_page, ROOT / "pages" / "next_token.py")


def said(page: AppTest, kind: str = "markdown") -> str:
    text = "\n".join(one.value for one in page.get(kind))
    return text.replace("\\", "").replace("&nbsp;", " ").replace("\u2060", "")


def view(page: AppTest) -> NextTokenView:
    shown: NextTokenView = page.session_state["next view"]
    return shown


def labels(page: AppTest, key: str) -> str:
    return " ".join(str(text) for trace in figure(page, key)["data"] for text in trace.get("text", []))


def test_a_stored_result_is_shown_and_marked_until_the_model_is_there(models: dict[str, str]) -> None:
    page = AppTest.from_file(str(ROOT / "pages" / "next_token.py"), default_timeout=60).run()
    assert page.title[0].value == "Change one vector, and the model expects another word."
    assert "Stored result of the example" in said(page)
    assert "␣Berlin" in labels(page, "next_scores")
    assert restore().moments[13].best[0].entry.label == "␣Berlin"


def test_without_edits_the_scores_are_the_plain_calls(opened: Opened) -> None:
    page = opened(text="The river bank", edits="none")
    plain = next_token(load("tiny-gpt2"), "The river bank").distribution
    best = view(page).moments[0].best
    assert [one.entry.id for one in best] == plain.order(6).tolist()
    assert np.allclose([one.probability for one in best], plain.probabilities[plain.order(6)], rtol=1e-5)
    assert f"Most likely next: {best[0].entry.label} {probability(best[0].probability)}." in said(page)
    assert "Choose a token and an edit." in labels(page, "next_way")


@pytest.mark.parametrize(
    "edit",
    ['1:slide=" the"@0.5', "1:scale=0.3", '1:swap=" the"', "1:noise=0.5@3", "1:zero", "1:mean", "1:shuffle@2"],
)
@pytest.mark.parametrize("name", ["gpt2", "gpt_neox"])
def test_an_edit_from_the_address_gives_the_librarys_scores(
    opened: Opened, models: dict[str, str], edit: str, name: str
) -> None:
    page = opened(text="The river bank", edits=edit, model=models[name])
    shown = view(page)
    now = next_token(load(models[name]), "The river bank", edits=[read_edit(edit)]).distribution
    moment = shown.moments[shown.at]
    assert [one.probability for one in moment.best] == pytest.approx(now.probabilities[now.order(6)].tolist(), rel=1e-3)
    assert len(shown.moments) == (21 if "slide" in edit or "scale" in edit else 2)
    assert page.query_params["edits"] == edit


def test_a_new_text_begins_without_edits(opened: Opened) -> None:
    page = type_into(opened(), "text", "The river bank")
    assert view(page).kind == "none" and page.query_params["edits"] == "none"


def test_an_edit_is_chosen_changed_kept_and_undone(opened: Opened) -> None:
    page = opened(text="The river bank", edits="none", token="1")
    page.selectbox(key="edit operation").set_value("scale").run()
    assert view(page).edits == ("1:scale=0.5",)
    page.number_input(key="edit value").set_value(0.25).run()
    assert page.query_params["edits"] == "1:scale=0.25"
    page.selectbox(key="edit operation").set_value("slide").run()
    page.text_input(key="edit text").set_value("␣the").run()
    assert view(page).edits[-1].startswith('1:slide=" the"')
    page.button(key="edit_more").click().run()
    page.session_state["token"] = 2
    page.run()
    page.selectbox(key="edit operation").set_value("zero").run()
    assert len(view(page).edits) == 2
    page.button(key="edit_undo").click().run()
    assert len(view(page).edits) == 1
    page.selectbox(key="edit operation")
    assert not page.exception


@pytest.mark.parametrize(
    ("edits", "words"),
    [("9:zero", "Positions run from 0 to"), ('1:swap=" zzqx river"', "Choose one."), ("1:scale=1e30", "break the sum")],
)
def test_an_edit_that_is_not_possible_says_why_and_keeps_the_picture(opened: Opened, edits: str, words: str) -> None:
    page = opened(text="The river bank", edits=edits)
    assert words in said(page, "error")
    assert figure(page, "next_scores")["data"]


@pytest.mark.parametrize("edits", ["x", "1:fly", "1:scale=nan", "-1:zero", "1:paste=a"])
def test_malformed_edits_in_the_address_are_refused_with_a_note(opened: Opened, edits: str) -> None:
    page = opened(text="The river bank", edits=edits)
    assert "The link asked for edits" in said(page, "warning")


def test_an_encoder_says_why_there_is_no_next_token_and_fills_a_gap(opened: Opened, models: dict[str, str]) -> None:
    page = opened(model=models["bert"], text="The river bank", edits="none", open="masked")
    assert "reads both ways and has no next token" in said(page, "error")
    assert not page.exception


@pytest.mark.parametrize("text", ["x", "   ", "😃", "<b>$x$</b>", "1 2 3 4"])
def test_texts_of_every_kind(opened: Opened, text: str) -> None:
    page = opened(text=text, edits="none", open="scores,sum,sampling,texts,edits,layers,order")
    assert not page.exception
    if not text.strip():
        assert "Shown: the last one." in said(page)


@pytest.mark.parametrize("where", [{}, {"projector": "true"}, {"edits": "none"}])
def test_every_part_opens_without_an_error(opened: Opened, where: dict[str, str]) -> None:
    page = opened(text="The river bank", **{"edits": '1:slide=" the"@0.5', **where},
                  open="scores,sum,sampling,texts,edits,layers,order")  # fmt: skip
    assert not page.error and not page.exception
    text = said(page)
    assert "products make" in text and "Same scores from vectors as from ids:" in text
    assert "never trained to be read this way" in text and "before block 1" in text


def test_sampling_is_reversible_and_seeded(opened: Opened) -> None:
    page = opened(text="The river bank", edits="none", open="sampling")
    page.button(key="sample_ten").click().run()
    first = page.session_state["next walk"][1].ids
    page.button(key="sample_back").click().run()
    page.button(key="sample_one").click().run()
    assert page.session_state["next walk"][1].ids == first


def test_a_tokens_rank_is_found(opened: Opened) -> None:
    page = opened(text="The river bank", edits="none", open="scores")
    type_into(page, "next_find", "␣the")
    rank = next_token(load("tiny-gpt2"), "The river bank").distribution.rank(
        load("tiny-gpt2").vocabulary.tokenise(" the").ids[0]
    )
    assert f"rank {rank:,}" in said(page)


def test_values_beyond_the_way_are_not_shown_as_its_end(opened: Opened) -> None:
    within, model = opened(text="The river bank", edits="1:scale=0.5"), load("tiny-gpt2")
    assert view(within).kind == "way"
    for edit in ("1:scale=2.0", '1:slide=" the"@1.5'):
        page = opened(text="The river bank", edits=edit)
        now = next_token(model, "The river bank", edits=[read_edit(edit)]).distribution
        assert view(page).kind == "two"
        assert view(page).moments[1].best[0].probability == pytest.approx(float(now.probabilities.max()), rel=1e-4)
    assert "break the sum" in said(opened(text="The river bank", edits="1:scale=1e30"), "error")


def test_unedited_means_without_any_edit(opened: Opened) -> None:
    page = opened(text="The river bank", edits="0:zero\n1:scale=0.5")
    plain = next_token(load("tiny-gpt2"), "The river bank").distribution
    assert view(page).unedited.entry.id == int(plain.order(1)[0])
    assert f"Unedited: {view(page).unedited.entry.label} " in view(page).sentence(3)


def test_a_long_text_is_not_followed_in_21_steps(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(next_token_view, "MOST_FOLLOWED", 5)
    page = opened(text="The river bank the bank the bank", edits="1:scale=0.5")
    assert len(view(page).tokens) > 5 and view(page).kind == "two"
    assert "texts of up to 5 tokens" in said(page, "warning")


def test_a_new_text_forgets_which_edits_were_kept(opened: Opened) -> None:
    page = opened(text="The river bank", edits="1:zero", token="1")
    page.button(key="edit_more").click().run()
    type_into(page, "text", "The bank of the river")
    for name in ("zero", "mean"):
        page.selectbox(key="edit operation").set_value(name).run()
    assert view(page).edits == ("1:mean",)


def test_choosing_no_edit_takes_back_that_tokens_own(opened: Opened) -> None:
    page = opened(text="The river bank", edits="1:zero\n2:mean", token="1")
    page.selectbox(key="edit operation").set_value("").run()
    assert view(page).edits == ("2:mean",)


def test_a_check_is_shown_for_the_text_it_was_made_for_alone(opened: Opened) -> None:
    page = opened(text="The river bank", edits="none", open="scores")
    page.session_state["next checked"] = (("tiny-gpt2", (1, 2)), 0.5)
    page.run()
    assert "difference 0.5" not in said(page)
    page.button(key="next_check").click().run()
    assert "as from ids: to the bit" in said(page)


@pytest.mark.parametrize("projector", ["true", "false"])
def test_figure_and_sentence_leave_out_the_same_tokens(opened: Opened, projector: str) -> None:
    page = opened(text="The river bank", edits="none", projector=projector)
    told = next(text for text in labels(page, "next_scores").split("<br>") if "other tokens share" in text)
    share = re.search(r"(\d+) other tokens share (\S+)", told)
    assert share is not None and f"{share[1]} other tokens share {share[2]}. Choose" in said(page)
