"""The table (`/table`): an id picks a row, rows with like meanings lie near each other, ids say nothing of it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import streamlit as st

from embedviz import export
from embedviz.errors import EmbedvizError
from embedviz.figures import table as figures
from embedviz.figures.strips import drawn_lines
from embedviz.figures.style import sizes
from embedviz.models.language_model import LanguageModel
from embedviz.numbers import count, things
from embedviz.safe_text import markdown_text
from embedviz.table_view import EXAMPLE, TableView, restore, view
from embedviz.ui import frame, table_map_part
from embedviz.ui import table_parts as parts
from embedviz.ui.address import Parameter, choice, forget_notes, refuse
from embedviz.ui.charts import chart, chosen_line, data_menu
from embedviz.ui.model_picker import model_in_memory, model_parameter, pick_model, wait_for_model
from embedviz.vocabulary_search import is_id, search

PRESETS = {"bank and its twins": EXAMPLE, "number words": "␣seven", "cat, dog, river": "cat, dog, river"}
ORDERS = {"sorted": "Sorted", "table": "Table's order"}
NOTE_HEIGHT = 48


@st.cache_data(max_entries=64, show_spinner=False)
def read_view(_model: LanguageModel, model_name: str, typed: str) -> TableView:
    """One search, kept for whoever types it again."""
    return view(_model, typed)


def choose_preset() -> None:
    """Put a preset's text into the field."""
    if chosen := st.session_state["table_preset"]:
        st.session_state["word"] = PRESETS[chosen]
    forget_notes()


page = frame.page(
    "Table",
    [
        model_parameter(),
        Parameter("word", EXAMPLE),
        Parameter("order", "sorted", choice(*ORDERS)),
        *parts.PARAMETERS,
        *table_map_part.PARAMETERS,
    ],
    parts.NAMES,
)
size = sizes(page.projector)
with page.controls():
    typed = st.text_input(
        "Word, id or list of words", key="word", label_visibility="collapsed", on_change=forget_notes,
        persist_state="session", width=260,
    )  # fmt: skip
    found = st.popover("Find", key="table_find", on_change="rerun")
    st.session_state["table_preset"] = next((name for name, preset in PRESETS.items() if preset == typed), None)
    st.pills("Try", list(PRESETS), key="table_preset", on_change=choose_preset, label_visibility="collapsed")
    page.push_right()
    pick_model()

notes, failure, hint, old = list(page.notes), "", "", False
kept = "Shown: the last one." if "table view" in st.session_state else f"Shown: the example {EXAMPLE}."
shown: TableView = st.session_state.get("table view") or restore()
model = None
try:
    model = model_in_memory()
    if model is not None and typed.strip():
        notes += model.notes
        try:
            shown = read_view(model, model.spec.name, typed)
            notes += shown.notes
        except EmbedvizError as error:
            notes, old, hint = [*notes, str(error)], True, f"{kept} {shown.sentence}"
        last = parts.magnified(shown, projector=page.projector)[1]
        if "table view" not in st.session_state and st.session_state["from"] > last:
            notes.append(refuse("from", st.session_state["from"], last))
            st.session_state["from"] = last
        if not old:
            st.session_state["table view"] = shown
    elif model is not None:
        hint = f"Type a word, an id as #5461, or words with commas between them. {kept}"
except EmbedvizError as error:
    failure, old = str(error), True
places = drawn_lines(shown, page.projector)
if len(shown.group("listed")) >= len(places):
    notes.insert(0, f"{count(len(places))} of {count(len(shown.lines))} words shown; the table has all.")
notes = list(dict.fromkeys(notes))
frame.show_notes(notes)
# Each note takes a line from the pair, so that the sentence stays on the first screen.
pair_size = replace(size, pair=size.pair - NOTE_HEIGHT * min(len(notes), frame.NOTES_AT_ONCE))

with found:
    if found.open and model is not None and typed.strip():
        # An id stands in the field after a choice from a list: then its own text is what to look for.
        by_id = is_id(model.vocabulary, typed) and shown.chosen.id is not None
        text = model.vocabulary.entry(shown.chosen.id or 0).text if by_id else typed.replace("␣", " ")
        hits = search(model.vocabulary, text)
        listed = hits.entries or hits.nearest

        def choose_hit() -> None:
            """Put the chosen entry's id into the field."""
            rows = st.session_state[f"table_hits {typed}"]["selection"]["rows"]
            if rows:
                st.session_state["word"] = f"#{listed[rows[0]].id}"

        contain = "contains" if hits.total == 1 else "contain"
        st.markdown(markdown_text(hits.sentence or f"{things(hits.total, 'token')} {contain} it."))
        st.dataframe(
            export.entry_table(listed), hide_index=True, key=f"table_hits {typed}", on_select=choose_hit,
            selection_mode="single-row", alt="Tokens that contain the typed text. Choose one to show its row.",
        )  # fmt: skip

left, right = frame.pair(0.62)
by_value = st.session_state["order"] == "sorted"
ringed = chosen_line("table", "rows")
ringed = None if ringed is None or ringed >= len(shown.lines) else ringed
drawn = {
    "rows": figures.rows(shown, pair_size, projector=page.projector, by_value=by_value, old=old, ringed=ringed),
    "cosines": figures.cosines(shown, pair_size, projector=page.projector, ringed=ringed),
}
with left:
    chart(drawn["rows"], key="table_rows", alt=figures.rows_alt(shown))
with right:
    chart(drawn["cosines"], key="table_cosines", alt=figures.cosines_alt(shown))
with st.container(horizontal=True, vertical_alignment="top", gap="small"):
    with st.container(width="stretch"):
        if failure:
            frame.SentenceLine().fail(failure)
        elif model is None:
            # A word in the address is not yet what the figures show.
            asked = "" if typed.replace("␣", " ") == EXAMPLE.replace("␣", " ") else f" {EXAMPLE}"
            wait_for_model(kept if "table view" in st.session_state else f"Stored result of the example{asked}.")
        else:
            frame.SentenceLine().say(hint or shown.sentence)
    st.segmented_control(
        "Order of the coordinates", list(ORDERS), key="order", format_func=ORDERS.__getitem__, required=True,
        label_visibility="collapsed", persist_state="session",
    )  # fmt: skip

parts.numbers(shown, size, projector=page.projector)
parts.neighbours(model, shown)
parts.ids(model, shown, size)
parts.sums(model)
parts.axes(model, size)
parts.coordinates(model, size)
table_map_part.whole_map(model, size)

data_menu(
    "table",
    {"rows": lambda: export.view_table(shown), "cosines": lambda: export.histogram_table(shown)},
    drawn,
    None if model is None else partial(parts.code_of, model, shown),
)
page.write_address()
