"""Word senses (`/senses`): every use of a word starts from one row of the table, and its sentence moves it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from embedviz import sense_notes, senses_export
from embedviz.errors import EmbedvizError
from embedviz.figures import senses as figures
from embedviz.figures.style import sizes
from embedviz.models import catalog
from embedviz.numbers import count
from embedviz.occurrences import Occurrences
from embedviz.projection.umap_client import shared
from embedviz.senses_view import MOST_CLUES, SensesView, clue_words, view
from embedviz.snippets import senses_code
from embedviz.ui import frame, senses_input, senses_picture, senses_work
from embedviz.ui import senses_parts as parts
from embedviz.ui.address import Parameter, refuse, remember, whole_number
from embedviz.ui.charts import chart, chosen_lines, data_menu
from embedviz.ui.model_picker import model_in_memory, model_parameter, pick_model, wait_for_model
from embedviz.ui.scrubber import Moment, scrubber
from embedviz.ui.two_models_part import two_models_part

PROJECTOR_LINE = 110
# The pair gives so much room to the title of the first part, in pixels, so that the page is seen to go on.
ROOM_BELOW = 16


page = frame.page(
    "Senses",
    [
        model_parameter(),
        *senses_input.PARAMETERS,
        Parameter("layer", -1, whole_number(0, 999)),
        *senses_picture.PARAMETERS,
        *parts.PARAMETERS,
    ],
    parts.NAMES,
)
senses_input.tidy_word()
size = sizes(page.projector)
notes, failure, hint = [*page.notes, *senses_input.said()], "", ""
asked = Occurrences("", ())
try:
    asked = senses_input.read_uses()
    notes += asked.notes
    if not asked.occurrences:
        hint = f"No sentence has [{asked.word}] in brackets yet. Mark your word so, or name it at the top left."
    elif asked.skipped:
        notes.append(senses_input.left_out(asked.skipped))
except EmbedvizError as error:
    hint = str(error)

with page.controls():
    st.text_input(
        "Word", key="word", label_visibility="collapsed", on_change=senses_input.type_word, persist_state="session",
        width=160,
    )  # fmt: skip
    st.session_state["senses_preset"] = senses_input.preset_shown()
    st.pills(
        "Try", list(senses_input.PRESETS), key="senses_preset", on_change=senses_input.choose_preset,
        label_visibility="collapsed",
    )  # fmt: skip
    page.push_right()
    senses_input.sentences_popover(len(asked.occurrences))
    pick_model()

# The places are there before what stands in them: what was shown last stays while something new is computed.
notes_place = st.container(gap="small")
left, right = frame.pair(0.52)
slider = st.container(gap=None)

shown: SensesView = st.session_state.get("senses view") or senses_work.example()
model, uses, job, guess = None, None, None, None
extra: dict[str, NDArray[np.float64]] = {}
with slider:
    place = st.container(gap=None)
    line = frame.SentenceLine()
try:
    model = model_in_memory()
    if model is not None and asked.occurrences:
        pooling, start_token = senses_picture.reading(model)
        uses = senses_work.read(model, asked.occurrences, line, pooling=pooling, start_token=start_token)
        found = uses.found
        looked_at = st.session_state["layer"] if st.session_state["layer"] >= 0 else uses.start
        projection, said, job = senses_work.picture(
            uses, *senses_picture.picture_choice(), layer=min(looked_at, uses.last)
        )
        clues = st.session_state.get("senses clues", {}).get(uses.key, senses_work.stored_clues(uses))
        shown = view(model, asked.word, found, uses.measures, projection, uses.random, clues)
        notes += [
            one.text
            for one in sense_notes.notes(
                asked.word, found.occurrences, model=model.spec.title, causal=model.spec.reads_left_to_right,
                start_token=found.start_token, method=projection.method,
                vectors=found.vectors,
            )
        ]  # fmt: skip
        notes += [*model.notes, *found.notes, *([said] if said else []), *senses_picture.piece_notes(shown, found)]
        notes += [f"Line {count(one.line)}: {one.reason}" for one in found.skipped[:3]]
        if not found.complete:
            notes.append(f"Stopped. {count(len(found.occurrences))} of {count(found.asked)} sentences are shown.")
        if st.session_state["layer"] >= len(shown.layers) and "senses view" not in st.session_state:
            notes.append(refuse("layer", st.session_state["layer"], shown.opening_layer))
            st.session_state["layer"] = -1
        st.session_state["layer"] = min(st.session_state["layer"], len(shown.layers) - 1)
        st.session_state["senses view"] = shown
        guess, extra, more = senses_picture.new_points(model, uses, asked.word, projection)
        notes += more
except EmbedvizError as error:
    failure = str(error)
with notes_place:
    notes = list(dict.fromkeys(notes))
    senses_picture.show_notes(notes)

last = len(shown.layers) - 1
layer = min(st.session_state["layer"] if st.session_state["layer"] >= 0 else shown.opening_layer, last)
# Each note takes a line from the pair, so that the sentence stays on the first screen.
pair = replace(size, pair=size.pair - ROOM_BELOW - frame.NOTE_HEIGHT * min(len(notes), frame.NOTES_AT_ONCE))
# The figures open where this view was first asked for, and stay the same while the slider moves: nothing is drawn anew.
drawn_at = senses_picture.opening(shown, layer)
title = f"{count(len(shown.occurrences))} uses of {shown.word} (shown: the last ones)" if failure or hint else ""
figure_of = shown.with_shuffled_senses() if st.session_state["shuffled"] and uses is not None else shown
ringed = [place for place in chosen_lines("senses", "uses") if place < len(shown.occurrences)][:2]
drawn = {
    "picture": senses_picture.draw_picture(figure_of, pair, drawn_at, title, ringed, extra, guess),
    "curve": figures.curve(shown, pair, at=drawn_at),
}
with left:
    chart(drawn["picture"], key="senses_picture", alt=shown.alt(layer))
with right:
    if len(shown.occurrences) > 1:
        chart(drawn["curve"], key="senses_curve", alt=f"Cosine of two uses by layer. {shown.alt(layer)}")
    else:
        st.markdown("One use: add a second to compare.")
most = PROJECTOR_LINE if page.projector else None
step = 5 if last > 10 else 1
with place:
    scrubber(
        key="senses_layers",
        label="Layers of the model",
        moments=[Moment(shown.layer_name(k), shown.sentence(k, most)) for k in range(last + 1)],
        at=layer,
        figures=["senses_picture", "senses_curve"],
        on_rest=lambda place: remember("layer", place),
        ticks=[(0, "0 table row"), *((k, str(k)) for k in range(step, last - step + 1, step)), (last, str(last))],
        redraw=senses_picture.in_space(),
        rerun=parts.any_follows_the_layer(),
        projector=page.projector,
    )
with slider:
    if failure:
        line.fail(failure)
    elif model is None:
        wait_for_model("Stored result of the example." if "senses view" not in st.session_state else "Shown: the last.")
    elif hint:
        line.say(hint)
    elif job is not None:
        senses_picture.wait_for_picture(job)
    else:
        st.empty()  # the line of those who waited goes at once

senses_input.edit_part(asked)
parts.guess_part(model, uses, size, asked.word, layer)
parts.moved_part(model, uses, size, layer)
parts.matrix_part(uses, size, layer, page.projector)
parts.accuracy_part(model, uses, size, layer, asked.word)
parts.context_part(model, uses, size)
parts.rows_part(model, uses, layer)
senses_picture.picture_part(uses, shown, layer)
two_models_part(model, asked, size, projector=page.projector)
spec = catalog.find(shown.model)
data_menu(
    "senses",
    {"uses": lambda: senses_export.uses_table(shown, layer), "layers": lambda: senses_export.layers_table(shown)},
    drawn,
    partial(
        senses_code, spec, shown.occurrences, layer,
        start_token=uses is None or uses.found.start_token, pooling="mean" if uses is None else uses.found.pooling,
    ),
    files={} if uses is None else {
        ending: partial(senses_export.vectors_file, uses.found, ending) for ending in ("npz", "parquet")
    },
    several=True,
)  # fmt: skip
page.write_address()

shared().start()
known = st.session_state.setdefault("senses clues", {})
if uses is not None and model is not None and uses.key not in known and not any(shown.clues):
    if len(uses.found.occurrences) <= MOST_CLUES and len(shown.names) > 1:
        known[uses.key] = clue_words(
            model, uses.found, uses.start, lambda done, every: line.wait(done, every, "clue words")
        )
        st.rerun()
    known[uses.key] = ()
