"""Next token (`/next_token`): rows are looked up, changed if one likes, and fed to the model; its scores answer."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from embedviz import next_token_export, snippets
from embedviz.edits import Edit, written
from embedviz.errors import EmbedvizError
from embedviz.figures import next_token as figures
from embedviz.figures.style import sizes
from embedviz.models.language_model import LanguageModel
from embedviz.next_token import NextToken, next_token
from embedviz.next_token_view import EXAMPLE, EXAMPLE_EDITS, NextTokenView, has_way, restore, view
from embedviz.ui import edit_row, frame
from embedviz.ui import next_token_parts as parts
from embedviz.ui.address import Parameter, refuse, remember, switch, whole_number
from embedviz.ui.charts import chart, data_menu
from embedviz.ui.model_picker import model_in_memory, model_parameter, pick_model, wait_for_model
from embedviz.ui.scrubber import Moment, scrubber
from embedviz.ui.token_strip import token_strip

# A page reads this many tokens at most, and follows an edit in 21 steps only as long as that takes a few seconds.
MOST_TOKENS = 512
OPENING_EDITS = "\n".join(written(edit) for edit in EXAMPLE_EDITS)
PRESETS = {
    "France to Germany": (EXAMPLE, EXAMPLE_EDITS),
    "river to national": ("The river bank", (Edit(1, "slide", 0.5, " national"),)),
    "fade France out": (EXAMPLE, (Edit(3, "scale", 0.5),)),
}


@st.cache_resource(max_entries=32, show_spinner=False)
def read_plain(_model: LanguageModel, model_name: str, text: str, start: bool) -> NextToken:
    """One text's unedited scores, kept for whoever types it again."""
    return next_token(_model, text, start_token=start, limit=MOST_TOKENS)


@st.cache_resource(max_entries=32, show_spinner=False)
def read_view(
    _model: LanguageModel, model_name: str, text: str, start: bool, edits: tuple[str, ...], _edits: tuple[Edit, ...]
) -> NextTokenView:
    """One text with its edits. edits: as written, a slide's or fade's own place left out: the whole way is one view."""
    return view(_model, read_plain(_model, model_name, text, start), _edits)


def type_text() -> None:
    """A new text begins without edits."""
    edit_row.keep(())


def choose_preset() -> None:
    """Put a preset's text and edits in place."""
    if chosen := st.session_state["next_preset"]:
        st.session_state["text"], edits = PRESETS[chosen]
        edit_row.keep(edits)
        st.session_state["token"] = edits[-1].position


page = frame.page(
    "Next token",
    [
        model_parameter(),
        Parameter("text", EXAMPLE),
        edit_row.parameter(OPENING_EDITS),
        Parameter("token", EXAMPLE_EDITS[-1].position, whole_number(0, MOST_TOKENS - 1)),
        switch("start_token", False),
        *parts.PARAMETERS,
    ],
    parts.NAMES,
)
# The example's edit is of the example's text; another page may have left another text.
if st.session_state["text"] != EXAMPLE and st.session_state["edits"] == OPENING_EDITS:
    st.session_state["edits"] = edit_row.NONE
# A link that names no token means the one it edits.
if "next view" not in st.session_state and "token" not in st.query_params and edit_row.edits():
    st.session_state["token"] = edit_row.edits()[-1].position
size = sizes(page.projector)
with page.controls():
    st.text_input(
        "Text", key="text", label_visibility="collapsed", on_change=type_text, persist_state="session", width=480
    )
    text = st.session_state["text"]
    now = (text, tuple(replace(edit, value=0) for edit in edit_row.edits()))
    st.session_state["next_preset"] = next(
        (
            name
            for name, (shown_text, edits) in PRESETS.items()
            if now == (shown_text, tuple(replace(edit, value=0) for edit in edits))
        ),
        None,
    )
    st.pills("Try", list(PRESETS), key="next_preset", on_change=choose_preset, label_visibility="collapsed")
    page.push_right()
    pick_model()

notes, failure, hint, old = list(page.notes), "", "", False
shown: NextTokenView = st.session_state.get("next view") or restore()
model, plain = None, None
try:
    model = model_in_memory()
    if model is not None and not model.spec.next_token_head:
        failure = f"{model.spec.title} reads both ways and has no next token. Choose one that reads left to right."
    elif model is not None and not text.strip():
        hint = "Type a sentence and press Enter. Shown: the last one."
    elif model is not None:
        start = st.session_state["start_token"] and model.start_token_id is not None
        plain = read_plain(model, model.spec.name, text, start)
        edits = edit_row.edits()
        named = tuple(written(edit) for edit in edits)
        if has_way(plain.tokens, edits):  # all places on the way are one view
            named = (*named[:-1], "way", written(replace(edits[-1], value=0)))
        shown = read_view(model, model.spec.name, text, start, named, edits)
        if st.session_state["token"] >= len(shown.tokens):
            asked_for = st.session_state["token"] != EXAMPLE_EDITS[-1].position
            if "next view" not in st.session_state and asked_for:
                notes.append(refuse("token", st.session_state["token"], len(shown.tokens) - 1))
            st.session_state["token"] = len(shown.tokens) - 1
        st.session_state["next view"] = shown
        notes += [*model.notes, *shown.notes]
except EmbedvizError as error:
    hint, old = str(error), True
if edit_row.failed():
    notes.append(edit_row.failed())
notes = list(dict.fromkeys(notes))
frame.show_notes(notes)

chips, row = st.columns([0.42, 0.58], gap="small", wrap=True) if not page.projector else (st.container(), None)
with chips:
    position = token_strip(
        shown.tokens, key="next_chips", chosen=st.session_state["token"], label="Tokens of the text",
        on_choose=lambda place: remember("token", place),
    )  # fmt: skip
if model is not None and plain is not None:
    st.session_state["edit row"] = plain.rows[min(position, len(plain.rows) - 1)]
if row is not None:
    with row:
        edit_row.edit_row(shown.tokens.tokens[position])
else:
    with page.controls():
        edit_row.edit_row(shown.tokens.tokens[position])

# Each note takes a line from the pair, so that the sentence stays on the first screen.
height = size.pair_with_chips - frame.NOTE_HEIGHT * min(len(notes), frame.NOTES_AT_ONCE)
last_edit = edit_row.edits()[-1:]
at = parts.place_of(shown, last_edit[0] if last_edit else None)
drawn_at = parts.opening(shown, at)
most = 5 if page.projector else 6
drawn = {
    "scores": figures.bars(shown, size, height=height, at=drawn_at, most=most, old=old or bool(failure)),
    "way": figures.way(shown, size, height=height, at=drawn_at),
}
left, right = frame.pair(0.54)
with left:
    chart(drawn["scores"], key="next_scores", alt=shown.alt(at))
with right:
    chart(drawn["way"], key="next_way", alt=shown.alt(at))
with st.container(gap=None):
    if len(shown.moments) > 1:
        ends = parts.ends(shown)
        scrubber(
            key="next_steps",
            label=f"The way of the edit: {shown.change}",
            moments=[Moment(one.name, shown.sentence(k)) for k, one in enumerate(shown.moments)],
            at=at,
            figures=["next_scores", "next_way"],
            ticks=ends,
            on_rest=lambda place: parts.keep_place(shown, place),
            rerun=parts.any_open(),
            projector=page.projector,
        )
    if failure:
        frame.SentenceLine().fail(failure)
    elif model is None:
        wait_for_model("Stored result of the example." if "next view" not in st.session_state else "Shown: the last.")
    elif hint:
        frame.SentenceLine().fail(hint) if old else frame.SentenceLine().say(hint)
    elif len(shown.moments) == 1:
        frame.SentenceLine().say(shown.sentence(0, most))
    else:
        st.empty()

if model is not None and not model.spec.next_token_head:
    parts.masked_part(model, text, size)
parts.scores_part(model, plain, size)
parts.sum_part(model, plain, size)
parts.sampling_part(model, plain, size)
parts.two_texts_part(model, plain, size)
parts.edits_part(model, plain)
parts.layers_part(model, plain, size)
parts.position_part(model, plain, size)
data_menu(
    "next token",
    {"scores": lambda: next_token_export.moment_table(shown, at), "way": lambda: next_token_export.way_table(shown)},
    drawn,
    None if model is None or plain is None
    else partial(snippets.edits_code, model, plain.tokens, edit_row.edits(), top=most),
)  # fmt: skip
page.write_address()
