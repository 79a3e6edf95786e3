"""The next-token page's deeper parts, in the order of the page; all but "Two texts" follow the edits."""

from __future__ import annotations

import numpy as np
import streamlit as st

from embedviz import next_token_export
from embedviz.edit_effects import effect
from embedviz.edits import Edit, written
from embedviz.errors import EmbedvizError
from embedviz.figures import next_token_parts as figures
from embedviz.figures.style import Sizes
from embedviz.logit_lens import logit_lens
from embedviz.masked_words import masked_word
from embedviz.models.language_model import LanguageModel
from embedviz.next_token import (
    NextToken,
    Sampling,
    candidates,
    find,
    next_token,
    others_sentence,
    with_edits,
)
from embedviz.next_token_view import NextTokenView
from embedviz.numbers import count, decimal, length, logit, probability
from embedviz.position_effect import position_effect, reordered
from embedviz.safe_text import markdown_message, markdown_text
from embedviz.score_parts import score_parts
from embedviz.two_prompts import changes, surprise
from embedviz.ui import edit_row
from embedviz.ui.address import Parameter
from embedviz.ui.charts import chart, data_menu
from embedviz.ui.parts import ON_ITS_WAY, closed_part
from embedviz.walk import Walk, begin, go_on

NAMES = ("masked", "scores", "sum", "sampling", "texts", "edits", "layers", "order")
PARAMETERS = (Parameter("find", ""), Parameter("second", "The national bank"))
LISTED = 50


def place_of(shown: NextTokenView, edit: Edit | None) -> int:
    """The moment at which an edit's own value stands."""
    if shown.kind != "way" or edit is None:
        return shown.at
    part = edit.value if edit.operation == "slide" else 1 - edit.value
    return int(np.clip(round(part * (len(shown.moments) - 1)), 0, len(shown.moments) - 1))


def keep_place(shown: NextTokenView, place: int) -> None:
    """Keep where the slider was left: as the value of a slide or fade."""
    if shown.kind == "way":
        edit_row.move_to(place / (len(shown.moments) - 1))
    else:
        st.session_state["next moment"] = place


def opening(shown: NextTokenView, at: int) -> int:
    """The moment at which the figures of a view are drawn first; kept while the view is the same."""
    key = (shown.model, shown.tokens.text, shown.change, shown.kind, shown.edits[:-1])
    kept, first = st.session_state.get("next drawn", (None, at))
    if kept != key:
        st.session_state["next drawn"] = (key, first := at)
    return min(int(first), len(shown.moments) - 1)


def ends(shown: NextTokenView) -> list[tuple[int, str]]:
    """Ticks of the slider: where the way begins and ends."""
    last = len(shown.moments) - 1
    if shown.kind == "two":
        return [(0, "before"), (1, "after")]
    if shown.moments[0].name.endswith("of the length"):
        return [(0, "whole"), (last // 2, "½"), (last, "zero")]
    start, _, end = shown.change.partition(" to ")
    return [(0, start), (last // 4, "¼"), (last // 2, "½"), (3 * last // 4, "¾"), (last, end)]


def any_open() -> bool:
    """Whether a part is open that must follow the slider."""
    return any(st.session_state.get(f"part_{name}") for name in ("scores", "sum", "sampling", "edits", "layers"))


def edited(model: LanguageModel, plain: NextToken) -> NextToken:
    """The scores with the edits done, as they stand."""
    return with_edits(model, plain, edit_row.edits())


def why(model: LanguageModel | None) -> str:
    """Why a part has nothing to compute with."""
    if model is not None and not model.spec.next_token_head:
        return f"{model.spec.title} has no next token. Choose a model that reads left to right."
    return ON_ITS_WAY if model is None else "Type a sentence first."


def masked_part(model: LanguageModel, text: str, size: Sizes) -> None:
    """What a model that reads both ways expects in a gap, if it has learnt to fill gaps."""
    with closed_part("Fill a gap instead", "masked", model) as open_now:
        if not open_now:
            return
        if model.mask_token_id is None:
            st.markdown(markdown_text(f"{model.spec.title} was not given out with the part that fills gaps."))
            return
        found = masked_word(model, text, st.session_state["token"] + 1, limit=512)
        best = candidates(model, found.distribution, 6)
        st.markdown(markdown_text(f"In the place of {found.token.label} this model expects:"))
        st.dataframe(next_token_export.candidates_table(best), hide_index=True, key="masked_scores")


def scores_part(model: LanguageModel | None, plain: NextToken | None, size: Sizes) -> None:
    """The scores as a table, any token's rank, and whether vectors and ids give the same."""
    with closed_part("All the scores", "scores", plain, why(model)) as open_now:
        if not open_now or model is None or plain is None:
            return
        now = edited(model, plain)
        best = candidates(model, now.distribution, LISTED)
        checked = (model.spec.name, plain.tokens.ids)
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            st.text_input("Rank of a token", key="next_find", placeholder="␣money", width=240)
            if st.button("Check vectors against ids", key="next_check"):
                again = next_token(
                    model, plain.tokens.text, start_token=plain.tokens.start_token, limit=len(plain.tokens), check=True
                )
                st.session_state["next checked"] = (checked, again.self_check)
        if asked := st.session_state["next_find"].replace("␣", " "):
            try:
                one = find(model, now.distribution, asked)
                said = f"{one.entry.label}, id {one.entry.id}: rank {count(one.rank)}"
                st.markdown(markdown_text(f"{said}, logit {logit(one.logit)}, {probability(one.probability)}."))
            except EmbedvizError as error:
                st.markdown(markdown_message(str(error)))
        listed = next_token_export.candidates_table(best)
        st.dataframe(listed, hide_index=True, key="next_all", alt="The most likely next tokens with their scores.")
        of, found = st.session_state.get("next checked", (None, 0.0))
        difference = found if of == checked else now.self_check
        same = "to the bit" if difference == 0 else f"difference {difference:.2g}"
        st.markdown(
            markdown_text(f"{others_sentence(now.distribution, best)} Same scores from vectors as from ids: {same}.")
        )
        data_menu("next token scores", {"scores": lambda: listed}, {})


def sum_part(model: LanguageModel | None, plain: NextToken | None, size: Sizes) -> None:
    """One score as the sum of products that it is."""
    with closed_part("One score, added up", "sum", plain, why(model)) as open_now:
        if not open_now or model is None or plain is None:
            return
        now = edited(model, plain)
        asked = st.text_input("Token", key="next_sum", placeholder="the most likely one", width=240).replace("␣", " ")
        best = candidates(model, now.distribution, 1)[0]
        one = find(model, now.distribution, asked) if asked.strip() else best
        found = score_parts(model, now.rows, one.entry.id)
        drawn = figures.sum_of_products(found, size)
        said = f"{count(len(found.products))} products make {logit(found.logit)}, the score of {one.entry.label}."
        chart(drawn, key="next_sum_figure", alt=said)
        table = "the table itself" if model.table.tied else "a second table"
        st.markdown(
            markdown_text(f"{said} Each is a number of the last vector times one of the token's row in {table}.")
        )
        data_menu("next token sum", {"products": lambda: next_token_export.parts_table(found)}, {"sum": drawn})


def sampling_part(model: LanguageModel | None, plain: NextToken | None, size: Sizes) -> None:
    """Choose a token by chance from stored scores; every choice can be taken back."""
    with closed_part("Temperature and sampling", "sampling", plain, why(model)) as open_now:
        if not open_now or model is None or plain is None:
            return
        now = edited(model, plain)
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            temperature = st.slider("Temperature", 0.0, 2.0, 1.0, 0.05, key="temperature", width=260)
            top_k = st.number_input("Top-k, 0 keeps all", 0, len(now.distribution.logits), key="top_k", width=160)
            top_p = st.slider("Top-p", 0.0, 1.0, 1.0, 0.01, key="top_p", width=260)
            seed = st.number_input("Seed", 0, 9999, key="next_seed", width=120)
        sampling = Sampling(temperature, int(top_k), top_p, int(seed))
        key = (model.spec.name, plain.tokens.ids, edit_row.edits())
        kept_key, kept = st.session_state.get("next walk", (None, None))
        walk: Walk = kept if kept_key == key and kept is not None else begin(now)
        with st.container(horizontal=True, gap="small"):
            if st.button("Sample one", key="sample_one"):
                walk = go_on(model, walk, sampling)
            if st.button("Sample ten", key="sample_ten"):
                walk = go_on(model, walk, sampling, 10)
            if st.button("Take back", key="sample_back", disabled=not walk.steps):
                walk = walk.back()
        st.session_state["next walk"] = (key, walk)
        ids = [step.id for step in walk.steps]
        st.code(
            plain.tokens.text + model.vocabulary.text_of(ids) if ids else plain.tokens.text,
            language=None,
            wrap_lines=True,
        )
        distribution = walk.distributions[-1]
        choice = sampling.choice(distribution)
        best = candidates(model, distribution, 12)
        drawn = figures.sampling(best, choice, distribution, size)
        left = int((choice.probabilities > 0).sum())
        said = f"{count(left)} of {count(len(distribution.logits))} tokens can be drawn. Seed {seed}."
        chart(drawn, key="next_sampling", alt=said)
        st.markdown(f"{said} {count(len(ids))} added; the model did not run again for temperature, top-k or top-p.")
        data_menu(
            "next token sampling", {"scores": lambda: next_token_export.candidates_table(best)}, {"chances": drawn}
        )


def two_texts_part(model: LanguageModel | None, plain: NextToken | None, size: Sizes) -> None:
    """Two texts: which next tokens gain and lose, and how much each token of each text surprises."""
    with closed_part("Two texts", "texts", plain, why(model)) as open_now:
        if not open_now or model is None or plain is None:
            return
        st.text_input("Second text", key="second", persist_state="session")
        other = next_token(model, st.session_state["second"], start_token=plain.tokens.start_token, limit=512)
        found = changes(model, plain.distribution, other.distribution, 10)
        drawn = {"changes": figures.changes(found, size, plain.tokens.text, other.tokens.text)}
        gain, loss = found[-1], found[0]
        said = (
            f"{gain.entry.label} gains most, from {probability(gain.first)} to {probability(gain.second)}; "
            f"{loss.entry.label} loses most, from {probability(loss.first)} to {probability(loss.second)}."
        )
        chart(drawn["changes"], key="next_changes", alt=said)
        st.markdown(markdown_text(said))
        for name, result in (("first", plain), ("second", other)):
            heard = surprise(model, result)
            drawn[name] = figures.surprise(heard, size)
            mean = f"mean {decimal(heard.mean)} nats" if np.isfinite(heard.mean) else "one token, so no mean"
            chart(drawn[name], key=f"next_surprise_{name}", alt=f"Surprise of each token of the {name} text: {mean}.")
            st.markdown(f"Surprise is −ln p of each token, given those before it: {mean}.")
        data_menu("next token two texts", {"changes": lambda: next_token_export.changes_table(found)}, drawn)


def edits_part(model: LanguageModel | None, plain: NextToken | None) -> None:
    """Every edit in its order, with what it did."""
    with closed_part("All edits", "edits", plain, why(model)) as open_now:
        if not open_now or model is None or plain is None:
            return
        done = edit_row.edits()
        if not done:
            st.markdown("No edit: the scores are those of the rows as they are.")
            return
        st.code("\n".join(written(edit) for edit in done), language=None)
        with st.container(horizontal=True, gap="small"):
            st.button("Undo the last", key="edits_undo", on_click=edit_row.undo)
            st.button("Reset: the same to the bit", key="edits_reset", on_click=edit_row.reset)
        found = effect(model, plain, done)
        st.markdown(f"From the unedited scores to these: {decimal(found.divergence)} nats (Kullback–Leibler).")
        for row in found.rows:
            near = row.nearest
            said = "" if near is None else f" Nearest row: {near.entry.label} {decimal(near.cosine)}."
            st.markdown(
                markdown_text(
                    f"{row.token.label} at {row.token.position}: length {length(row.original_length)} became "
                    f"{length(row.length)}; cosine with its own row {_cosine(row.cosine)}, a random row "
                    f"{decimal(row.baseline.mean)}.{said}"
                )
            )


def _cosine(value: float) -> str:
    return decimal(value) if np.isfinite(value) else "undefined"


def layers_part(model: LanguageModel | None, plain: NextToken | None, size: Sizes) -> None:
    """The last vector of each layer scored as if it were the last one."""
    with closed_part("Layer by layer", "layers", plain, why(model)) as open_now:
        if not open_now or model is None or plain is None:
            return
        now = edited(model, plain)
        found = logit_lens(model, now.rows)
        asked = st.text_input("Token to follow", key="next_lens", placeholder="the winner", width=240).replace("␣", " ")
        entry = find(model, now.distribution, asked).entry if asked.strip() else found.winner
        ranks = found.ranks(entry.id)
        drawn = figures.ranks(ranks, size, entry.label)
        chart(drawn, key="next_ranks", alt=found.sentence)
        st.markdown(markdown_text(found.sentence))
        data_menu("next token layers", {"ranks": lambda: next_token_export.ranks_table(ranks)}, {"ranks": drawn})


def position_part(model: LanguageModel | None, plain: NextToken | None, size: Sizes) -> None:
    """The same words in another order, and the same tokens counted as standing later."""
    with closed_part("Order and position", "order", plain, why(model)) as open_now:
        if not open_now or model is None or plain is None:
            return
        try:
            other = reordered(model, plain)
            words = "".join(plain.tokens.tokens[k].text for k in other.order)
            best = candidates(model, other.after, 1)[0]
            st.markdown("The same rows in another order:")
            st.code(words, language=None, wrap_lines=True)
            st.markdown(
                markdown_text(
                    f"Most likely next: {best.entry.label} {probability(best.probability)}; "
                    f"{decimal(other.divergence)} nats from the first order."
                )
            )
        except EmbedvizError as error:
            st.markdown(markdown_message(str(error)))
        found = position_effect(model, plain.tokens.text)
        drawn = figures.position(found, size)
        chart(drawn, key="next_position", alt=found.sentence)
        st.markdown(markdown_text(found.sentence))
        data_menu("next token position", {"moved": lambda: next_token_export.position_table(found)}, {"moved": drawn})
