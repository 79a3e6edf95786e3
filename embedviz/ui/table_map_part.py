"""The map of the whole table: made once on request, then searched, coloured and read."""

from __future__ import annotations

import time
from functools import partial

import streamlit as st

from embedviz import export, snippets, table_map
from embedviz.comparison import compare
from embedviz.errors import BadInput, EmbedvizError
from embedviz.figures import table_map as figures
from embedviz.figures.style import Sizes
from embedviz.meaning import notes_of
from embedviz.models.language_model import LanguageModel
from embedviz.neighbours import Neighbours, nearest
from embedviz.numbers import count
from embedviz.projection.job import Job, Stopped
from embedviz.safe_text import markdown_text
from embedviz.table_map import TableMap
from embedviz.table_view import read
from embedviz.ui import frame
from embedviz.ui.address import Parameter, choice
from embedviz.ui.charts import chart, chosen_line, data_menu
from embedviz.ui.parts import closed_part
from embedviz.ui.table_parts import neighbour_list

COLOURS = {"id": "Colour by id", "length": "Colour by length"}
PARAMETERS = (Parameter("find", ""), Parameter("colour", "id", choice(*COLOURS)))
# Two cores need 40 s for the first map of 49,152 rows, and half as long again beside a browser.
SECONDS_A_ROW = 60 / 49_152
SECONDS_TO_STOP = 10
WIDTH = 1200


def whole_map(model: LanguageModel | None, size: Sizes) -> None:
    """The map as a closed part."""
    with closed_part("Map of the whole table", "map", model) as open_now:
        if open_now and model is not None:
            draw_map(model, size)


def draw_map(model: LanguageModel, size: Sizes) -> None:
    """The map where it is made; else the button that makes it, and the line of those who wait."""
    # A job belongs to its model, and so does what is said of it.
    key = f"table map job {model.spec.name}"
    job: Job[TableMap] | None = st.session_state.get(key)
    stopped = False
    if job is not None and job.done:
        del st.session_state[key]
        try:
            show_map(model, job.result(), size)
            return
        except Stopped:
            stopped = True
    made = table_map.found(model.spec)
    if made is not None:
        show_map(model, made, size)
        return
    with st.container(height=size.map, border=True, key="table_map_place"):
        if job is not None and not job.done:
            wait_for_map(job, key)
            return
        seconds = max(5, round(model.table.rows * SECONDS_A_ROW))
        said = "Stopped. " if stopped or st.session_state.pop(f"{key} stopped", False) else ""
        st.markdown(f"{said}The map of {count(model.table.rows)} points takes about {seconds} s, once.")
        if unkept := table_map.cannot_keep(model.spec):
            st.warning(markdown_text(unkept))
        if st.button("Make the map", key="table_map_make"):
            st.session_state[key] = table_map.make(model)
            st.session_state[f"{key} began"] = time.monotonic()
            st.rerun()


def wait_for_map(job: Job[TableMap], key: str) -> None:
    """Say how far the map is, once a second, with a way to stop waiting from 10 s on.

    key: of the job in the session.
    """

    def stop() -> None:
        # Others may wait for the same map: it is theirs still.
        table_map.leave(job)
        st.session_state.pop(key, None)
        st.session_state[f"{key} stopped"] = True

    @st.fragment(run_every=1.0)
    def line() -> None:
        if job.done or key not in st.session_state:
            st.rerun()
        st.markdown(markdown_text(job.waiting.sentence))
        if time.monotonic() - st.session_state[f"{key} began"] >= SECONDS_TO_STOP:
            st.button("Stop", key="table_map_stop", on_click=stop)

    line()


def find(model: LanguageModel, made: TableMap, asked: str, wide: float) -> tuple[int, Neighbours, table_map.View]:
    """The id that was asked for, its nearest rows, and the view round it in a figure `wide` times as wide as high.

    Raises EmbedvizError for what is no point of the map.
    """
    typed = read(model, asked)
    found = typed.words[0]
    if found.pieces:
        raise BadInput(f"{found.pieces} Name one token.")
    ranked = nearest(compare(model.table, found.vector), model.vocabulary, inputs=found.ids)
    seen = table_map.close_view(made, found.ids[0], [one.entry.id for one in ranked.nearest], wide)
    notes = [*typed.notes, *notes_of([found])]
    if len(typed.words) > 1:
        notes = [f"{count(len(typed.words))} words were typed; the first, {found.label}, is ringed."]
    frame.show_notes(notes)
    return found.ids[0], ranked, seen


def show_map(model: LanguageModel, made: TableMap, size: Sizes) -> None:
    """The map with its search and its two colours."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        asked = st.text_input(
            "Find on the map", key="find", placeholder="Find a token on the map", width=280,
            label_visibility="collapsed", persist_state="session",
        )  # fmt: skip
        colour = st.segmented_control(
            "Colour", list(COLOURS), key="colour", format_func=COLOURS.__getitem__, required=True,
            label_visibility="collapsed", persist_state="session",
        )  # fmt: skip
    line = chosen_line("table map", "points")
    chosen, ranked, seen = None if line is None else int(made.ids[line]), None, None
    if asked.strip():
        try:
            chosen, ranked, seen = find(model, made, asked, WIDTH / size.map)
        except EmbedvizError as error:
            st.warning(markdown_text(f"{error} The whole map is shown."))
    near = [] if ranked is None else [one.entry.id for one in ranked.nearest]
    drawn_map = figures.table_map(
        made, size, width=WIDTH, colour=colour, chosen=chosen, neighbours=near, words=table_map.well_known(made),
        view=seen,
    )  # fmt: skip
    label = None if chosen is None else model.vocabulary.entry(chosen).label
    values = [] if ranked is None else [(one.entry.label, one.value) for one in ranked.nearest]
    # A figure of its own for each token: Plotly would keep the last view's scale in part.
    chart(drawn_map, key=f"table_map_{chosen}", alt=figures.alt(made, label, values))
    told = made.sentence
    if seen is not None:
        told += f" {table_map.in_view(made, seen, WIDTH / size.map, near)} of {len(near)} ringed rows are in sight."
    st.markdown(markdown_text(told))
    if ranked is not None:
        neighbour_list(ranked, "cosine, ringed on the map")
    data_menu(
        "table map", {"points": lambda: export.map_table(made)}, {"map": drawn_map},
        partial(snippets.map_code, model.spec.name),
    )  # fmt: skip
