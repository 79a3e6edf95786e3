"""The thread (`/`): one sentence from text to the next token, every number from the model's own run."""

from __future__ import annotations

import streamlit as st

from embedviz.errors import EmbedvizError
from embedviz.export import row_table, score_table, token_table
from embedviz.figures import thread as figures
from embedviz.figures.style import sizes
from embedviz.models import catalog
from embedviz.models.language_model import LanguageModel
from embedviz.numbers import length, probability
from embedviz.safe_text import markdown_text
from embedviz.snippets import thread_code
from embedviz.thread import EXAMPLE, Thread, restore, row_sentence, steps, trace
from embedviz.ui import frame
from embedviz.ui.address import Parameter, forget_notes, refuse, remember, whole_number
from embedviz.ui.charts import chart, data_menu
from embedviz.ui.model_picker import model_in_memory, model_parameter, pick_model, wait_for_model
from embedviz.ui.scrubber import Moment, scrubber
from embedviz.ui.token_strip import token_strip

PRESETS = {
    "The capital of France is": EXAMPLE,
    "The river bank": "The river bank",
    "Emoji, accents": "She paid $5 at the café 😃",
}
# A page reads this many tokens at most: on two cores about three seconds.
MOST_TOKENS = 512
OPENING_STEP = 3


TEXT = Parameter("text", EXAMPLE)
STEP = Parameter("step", OPENING_STEP, whole_number(1, 8))
TOKEN = Parameter("token", 0, whole_number(0, MOST_TOKENS - 1))


@st.cache_data(max_entries=64, show_spinner=False)
def read_thread(_model: LanguageModel, model_name: str, text: str) -> Thread:
    """One text read once, kept for whoever types it again."""
    return trace(_model, text, limit=MOST_TOKENS)


def type_text() -> None:
    """What a person typed takes the place of a preset and of the last link's notes."""
    forget_notes()


def choose_preset() -> None:
    """Put a preset's text into the field."""
    if chosen := st.session_state["preset"]:
        st.session_state["text"] = PRESETS[chosen]
    forget_notes()


def add_token(longer: str) -> None:
    """Put the most likely next token at the end of the sentence."""
    st.session_state["text"] = longer
    forget_notes()


page = frame.page("Thread", [model_parameter(), TEXT, TOKEN, STEP])
with page.controls():
    text = st.text_input(
        "Sentence", key="text", label_visibility="collapsed", on_change=type_text, persist_state="session", width=480
    )
    st.session_state["preset"] = next((name for name, preset in PRESETS.items() if preset == text), None)
    st.pills("Try", list(PRESETS), key="preset", on_change=choose_preset, label_visibility="collapsed")
    page.push_right()
    pick_model()

notes, failure, hint = list(page.notes), "", ""
thread: Thread = st.session_state.get("thread") or restore()
model = None
try:
    model = model_in_memory()
    if model is not None:
        thread = read_thread(model, model.spec.name, text if text.strip() else thread.tokens.text)
        hint = "" if text.strip() else "Type a sentence and press Enter. Shown: the last one."
        if "thread" not in st.session_state and st.session_state["token"] >= len(thread.tokens):
            notes.append(refuse("token", st.session_state["token"], len(thread.tokens) - 1))
        st.session_state["thread"] = thread
        notes += [*model.notes, *thread.tokens.notes]
except EmbedvizError as error:
    failure = str(error)
frame.show_notes(notes)

size, told = sizes(page.projector), steps(thread)
at = min(st.session_state["step"], len(told)) - 1
position = token_strip(
    thread.tokens,
    key="chips",
    chosen=st.session_state["token"],
    label="Tokens of the sentence",
    on_choose=lambda place: remember("token", place),
)
if model is not None:
    st.session_state["token"] = position
token = thread.tokens.tokens[position]
after = (
    f"Next token {thread.next[0].entry.label}, probability {probability(thread.next[0].probability)}."
    if thread.next
    else ""
)

left, right = frame.pair(0.68)
shown = {
    "vectors": figures.picture(
        thread, size, most=5 if page.projector else 8, projector=page.projector, chosen=position,
        height=size.pair_with_chips, at=at, old=bool(failure) or (model is None and thread.tokens.text != text),
    )
}  # fmt: skip
with left:
    stages = f"{len(thread.tokens)} tokens, their table rows and their vectors after {', '.join(thread.stages[1:])}."
    chart(shown["vectors"], key="vectors", alt=f"{stages} {after}")
with right:
    if thread.next:
        most = 5 if page.projector else 6
        shown["scores"] = figures.bars(thread, size, height=size.pair_with_chips, at=at, most=most)
        chart(shown["scores"], key="scores", alt=f"The most likely next tokens. {after}")
    else:
        st.markdown("This model fills gaps; it has no next token.")
scrubber(
    key="steps",
    label="Steps from text to the next token",
    moments=[Moment(f"{k} of {len(told)}: {step.name}", step.sentence) for k, step in enumerate(told, start=1)],
    at=at,
    figures=list(shown),
    on_rest=lambda place: remember("step", place + 1),
    ticks=[(k, str(k + 1)) for k in range(len(told))],
    redraw=True,
    projector=page.projector,
)
if failure:
    frame.SentenceLine().fail(failure)
elif model is None:
    wait_for_model("Stored result of the example." if "thread" not in st.session_state else "Shown: the last one.")
elif hint:
    frame.SentenceLine().say(hint)

strip = figures.row_strip(token, thread.rows[position], size, height=84 if not page.projector else 110)
with st.container(horizontal=True, vertical_alignment="center"):
    if thread.next:
        top = thread.next[0].entry
        st.button(
            markdown_text(f"Add {top.label}"),
            key="add",
            on_click=add_token,
            args=(thread.tokens.text + top.text,),
            # Bytes that are no whole character cannot be typed at the end of a text.
            disabled=model is None or top.kind not in ("text", "special") or thread.tokens.total > len(thread.tokens),
        )
    chart(
        strip,
        key="row",
        alt=f"Row {token.id} of the table, {token.label}: {thread.dimensions} numbers, "
        f"length {length(float(thread.lengths[0, position]))}.",
    )
st.markdown(markdown_text(row_sentence(thread, position)))
tables = {"tokens": lambda: token_table(thread), "row": lambda: row_table(thread, position)}
if thread.next:
    tables["scores"] = lambda: score_table(thread)
data_menu(
    "thread",
    tables,
    shown | {"row": strip},
    lambda: thread_code(
        catalog.find(thread.model),
        thread.tokens,
        rows=thread.table_rows,
        dimensions=thread.dimensions,
        top=len(thread.next),
    ),
)
page.write_address()
