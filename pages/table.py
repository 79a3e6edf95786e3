"""The table (`/table`): an id picks a row, rows with like meanings lie near each other, ids say nothing of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import streamlit as st

from embedviz import export, table_map
from embedviz.analogy import analogy, expected, expected_sentence
from embedviz.axes import Axis, axis, place, read_pairs, read_words
from embedviz.comparison import Metric, compare
from embedviz.concepts import concepts
from embedviz.coordinates import Probe, extremes, probe
from embedviz.errors import EmbedvizError
from embedviz.figures import table as figures
from embedviz.figures import table_map as map_figures
from embedviz.figures.style import sizes
from embedviz.id_order import IdOrder, id_order
from embedviz.meaning import word
from embedviz.models.language_model import LanguageModel
from embedviz.neighbours import Neighbours, TwoTables, by_every_metric, in_both_tables, nearest
from embedviz.numbers import count, decimal
from embedviz.projection.umap_client import Job
from embedviz.safe_text import markdown_text
from embedviz.snippets import analogy_code, neighbours_code
from embedviz.table_map import TableMap
from embedviz.table_view import EXAMPLE, TableView, largest_sentence, place_sentence, restore, view, words_of
from embedviz.ui import frame
from embedviz.ui.address import Parameter, forget_notes
from embedviz.ui.charts import chart, data_menu
from embedviz.ui.model_picker import model_in_memory, model_parameter, pick_model, wait_for_model
from embedviz.ui.parts import closed_part
from embedviz.vocabulary_search import search

PRESETS = {"bank and its twins": EXAMPLE, "number words": "␣seven", "cat, dog, river": "cat, dog, river"}
ORDERS = {"sorted": "Sorted", "table": "Table's order"}
COLOURS = {"id": "Colour by id", "length": "Colour by length"}
CONCEPTS = {concept.name: concept for concept in concepts()}
MEASURES: dict[Metric, str] = {
    "cosine": "cosine, higher is nearer",
    "dot": "dot product, higher is nearer",
    "euclidean": "distance, lower is nearer",
}
SUMS = {
    "king − man + woman": ("king", "man", "woman", "queen"),
    "bigger − big + small": ("bigger", "big", "small", "smaller"),
    "Paris − France + Italy": ("Paris", "France", "Italy", "Rome"),
}
# What the fields of the deeper parts hold on a first visit.
FIELDS = {f"table_sum_{k}": text for k, text in enumerate(SUMS["king − man + woman"])} | {
    "table_across": "man, woman\nking, queen\nboy, girl\nfather, mother",
    "table_up": "small, big\nlittle, large\ntiny, huge",
    "table_words": "nurse, engineer, uncle, aunt, mouse, elephant, ant, whale, table, house, baby, giant",
}
MOST_PLACED = 60
# Two cores need about this long for the first map of 49,152 rows.
SECONDS_A_ROW = 90 / 49_152
SECONDS_TO_STOP = 10
MAP_WIDTH = 1200
NOTE_HEIGHT = 48


def read_choice(*allowed: str) -> Callable[[str], str]:
    """A reader for a value that must be one of some words."""

    def read(value: str) -> str:
        if value not in allowed:
            raise ValueError(value)
        return value

    return read


def read_place(value: str) -> int:
    """A coordinate's place, from 0."""
    if not 0 <= int(value) < 100_000:
        raise ValueError(value)
    return int(value)


@st.cache_data(max_entries=64, show_spinner=False)
def read_view(_model: LanguageModel, model_name: str, typed: str) -> TableView:
    """One search, kept for whoever types it again."""
    return view(_model, typed)


def code_of(model: LanguageModel, shown: TableView) -> str:
    """The code for the chosen row's neighbours."""
    return neighbours_code(model.spec, words_of(model, shown.typed.replace("␣", " "))[0][0])


@st.cache_data(max_entries=16, show_spinner=False)
def read_neighbours(
    _model: LanguageModel, model_name: str, typed: str
) -> tuple[dict[Metric, Neighbours], TwoTables | None]:
    """The lists by three measures, and where the model has two tables, those of both."""
    chosen = words_of(_model, typed.replace("␣", " "))[0][0]
    compared = compare(_model.table, chosen.vector)
    tables = None
    if _model.output_table is not _model.table and len(chosen.ids) == 1:
        tables = in_both_tables(_model.table, _model.output_table, _model.vocabulary, chosen.ids[0])
    return by_every_metric(compared, _model.vocabulary, inputs=chosen.ids), tables


@st.cache_data(max_entries=8, show_spinner=False)
def read_order(_model: LanguageModel, model_name: str) -> IdOrder:
    """The random pairs of one model's table."""
    return id_order(_model.table, _model.vocabulary)


@st.cache_data(max_entries=64, show_spinner=False)
def read_probe(_model: LanguageModel, model_name: str, concept: str) -> Probe:
    """One concept measured in one model's table."""
    return probe(_model, CONCEPTS[concept])


def axis_of(model: LanguageModel, typed: str) -> Axis:
    """The axis of the pairs that a person typed."""
    return axis([(word(model, low), word(model, high)) for low, high in read_pairs(typed)])


def neighbour_list(ranked: Neighbours, name: str) -> None:
    """One list as a table; choosing a line by mouse or keyboard makes it the page's row."""
    key = f"table_list_{name}_{st.session_state['word']}"

    def go() -> None:
        rows = st.session_state[key]["selection"]["rows"]
        if rows:
            st.session_state["word"] = f"#{ranked.nearest[rows[0]].entry.id}"

    base = ranked.baseline
    st.markdown(markdown_text(f"{name}\nall rows: mean {decimal(base.mean)}, deviation {decimal(base.std)}"))
    st.dataframe(
        export.neighbour_table(ranked.nearest, "value"), hide_index=True, key=key, on_select=go,
        selection_mode="single-row", alt=f"Nearest rows by {name}. Choose one to show its row.",
    )  # fmt: skip


def choose_sum() -> None:
    """Put a preset's three words and its expected answer into the fields."""
    if chosen := st.session_state["table_sum"]:
        for k, text in enumerate(SUMS[chosen]):
            st.session_state[f"table_sum_{k}"] = text


def move() -> None:
    """Keep the magnifier where it is, for other rows too."""
    st.session_state["from"] = st.session_state["table_magnifier"]


def shuffle() -> None:
    """Deal the ids out anew, or put them back."""
    st.session_state["ids shuffled"] = not st.session_state.get("ids shuffled", False)


def draw_map(model: LanguageModel) -> None:
    """The map where it is made; else the button that makes it, and the line of those who wait."""
    job: Job[TableMap] | None = st.session_state.get("table map job")
    made = table_map.stored(model.spec)
    if job is not None and job.done:
        del st.session_state["table map job"]
        made = job.result()
    if made is not None:
        show_map(model, made)
        return
    with st.container(height=size.map, border=True, key="table_map_place"):
        if job is not None:
            wait_for_map(job)
            return
        seconds = max(5, round(model.table.rows * SECONDS_A_ROW))
        rows = count(model.table.rows)
        st.markdown(f"The map of {rows} points takes about {seconds} s, once.")
        if st.button("Make the map", key="table_map_make"):
            st.session_state["table map job"] = table_map.make(model)
            st.rerun()


def wait_for_map(job: Job[TableMap]) -> None:
    """Say how far the map is, once a second, with a way to stop it from 10 s on."""
    began = st.session_state.setdefault("table map began", time.monotonic())

    @st.fragment(run_every=1.0)
    def line() -> None:
        if job.done:
            st.session_state.pop("table map began", None)
            st.rerun()
        st.markdown(markdown_text(job.waiting.sentence))
        if time.monotonic() - began >= SECONDS_TO_STOP:
            st.button("Stop", key="table_map_stop", on_click=job.cancel)

    line()


def show_map(model: LanguageModel, made: TableMap) -> None:
    """The map with its search and its two colours."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        asked = st.text_input(
            "Find on the map", key="table_map_word", placeholder="Find a token on the map", width=280,
            label_visibility="collapsed", persist_state="session",
        )  # fmt: skip
        colour = st.segmented_control(
            "Colour", list(COLOURS), key="colour", format_func=COLOURS.__getitem__, required=True,
            label_visibility="collapsed", persist_state="session",
        )  # fmt: skip
    chosen, ranked, seen = None, None, None
    if asked.strip():
        found = words_of(model, asked.replace("␣", " "))[0][0]
        if len(found.ids) > 1:
            st.warning(markdown_text(f"{found.label} is no single point: name one token. The whole map is shown."))
        else:
            chosen = found.ids[0]
            ranked = nearest(compare(model.table, found.vector), model.vocabulary, inputs=found.ids)
            near = [one.entry.id for one in ranked.nearest]
            seen = table_map.close_view(made, chosen, near, MAP_WIDTH / size.map)
    near = [] if ranked is None else [one.entry.id for one in ranked.nearest]
    drawn_map = map_figures.table_map(
        made, size, width=MAP_WIDTH, colour=colour, chosen=chosen, neighbours=near, words=table_map.well_known(made),
        view=seen,
    )  # fmt: skip
    label = None if chosen is None else model.vocabulary.entry(chosen).label
    values = [] if ranked is None else [(one.entry.label, one.value) for one in ranked.nearest]
    # A figure of its own for each token: Plotly would keep the last view's scale in part.
    chart(drawn_map, key=f"table_map_{chosen}", alt=map_figures.alt(made, label, values))
    told = made.sentence
    if seen is not None:
        told += f" {table_map.in_view(made, seen, MAP_WIDTH / size.map, near)} of {len(near)} ringed rows are in sight."
    st.markdown(markdown_text(told))
    if ranked is not None:
        neighbour_list(ranked, "cosine, ringed on the map")
    data_menu("table map", {"points": lambda: export.map_table(made)}, {"map": drawn_map})


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
        Parameter("order", "sorted", read_choice(*ORDERS)),
        Parameter("concept", next(iter(CONCEPTS)), read_choice(*CONCEPTS)),
        Parameter("colour", "id", read_choice(*COLOURS)),
        Parameter("from", 0, read_place),
    ],
)
for field, text in FIELDS.items():
    st.session_state.setdefault(field, text)
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
            notes, old = [*notes, str(error)], True
        st.session_state["table view"] = shown
    elif model is not None:
        hint = "Type a word, an id as #5461, or words with commas between them. Shown: the last one."
except EmbedvizError as error:
    failure, old = str(error), True
places = figures.drawn_lines(shown, page.projector)
if len(shown.group("listed")) >= len(places):
    notes.append(f"{count(len(places))} of {count(len(shown.lines))} words shown; the table has all.")
frame.show_notes(notes)
# Each note takes a line from the pair, so that the sentence stays on the first screen.
pair_size = replace(size, pair=size.pair - NOTE_HEIGHT * min(len(notes), frame.NOTES_AT_ONCE))

with found:
    if found.open and model is not None and typed.strip():
        # An id stands in the field after a choice from a list: then its own text is what to look for.
        by_id = typed.strip().startswith("#") and shown.chosen.id is not None
        text = model.vocabulary.entry(shown.chosen.id or 0).text if by_id else typed.replace("␣", " ")
        hits = search(model.vocabulary, text)
        listed = hits.entries or hits.nearest

        def choose_hit() -> None:
            """Put the chosen entry's id into the field."""
            rows = st.session_state[f"table_hits {typed}"]["selection"]["rows"]
            if rows:
                st.session_state["word"] = f"#{listed[rows[0]].id}"

        st.markdown(markdown_text(hits.sentence or f"{count(hits.total)} tokens contain it."))
        st.dataframe(
            export.entry_table(listed), hide_index=True, key=f"table_hits {typed}", on_select=choose_hit,
            selection_mode="single-row", alt="Tokens that contain the typed text. Choose one to show its row.",
        )  # fmt: skip

left, right = frame.pair(0.62)
by_value = st.session_state["order"] == "sorted"
drawn = {
    "rows": figures.rows(shown, pair_size, projector=page.projector, by_value=by_value, old=old),
    "cosines": figures.cosines(shown, pair_size, projector=page.projector),
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
            first = "table view" not in st.session_state
            wait_for_model("Stored result of the example." if first else "Shown: the last one.")
        else:
            frame.SentenceLine().say(hint or shown.sentence)
    st.segmented_control(
        "Order of the coordinates", list(ORDERS), key="order", format_func=ORDERS.__getitem__, required=True,
        label_visibility="collapsed", persist_state="session",
    )  # fmt: skip

with closed_part(f"All {count(shown.dimensions)} numbers", "numbers") as open_now:
    if open_now:
        number = min(8 if page.projector else 12, shown.dimensions)
        last = shown.dimensions - number
        first = min(st.session_state["from"], last)
        if last:
            first = st.slider("Magnifier: first coordinate", 0, last, first, key="table_magnifier", on_change=move)
        full = {
            "strips": figures.strips(shown, size, projector=page.projector, first=first, number=number),
            "magnifier": figures.magnifier(shown, size, projector=page.projector, first=first, number=number),
        }
        full["place"] = figures.place_in_table(shown, size, height=sum(one.layout.height for one in full.values()))
        wide, narrow = st.columns([0.86, 0.14], gap="small", wrap=True)
        with wide:
            chart(full["strips"], key="table_strips", alt=f"All {shown.dimensions} numbers. {largest_sentence(shown)}")
            chart(full["magnifier"], key="table_magnified", alt=f"Coordinates {first} to {first + number - 1}.")
        with narrow:
            chart(full["place"], key="table_place", alt=place_sentence(shown))
        st.markdown(markdown_text(f"{largest_sentence(shown)} {place_sentence(shown)}"))
        data_menu("table numbers", {"rows": lambda: export.view_table(shown)}, full)

with closed_part("Neighbours by three measures", "neighbours", model) as open_now:
    if open_now and model is not None:
        lists, tables = read_neighbours(model, model.spec.name, shown.typed)
        for column, (metric, found_rows) in zip(st.columns(3, wrap=True), lists.items(), strict=True):
            with column:
                neighbour_list(found_rows, MEASURES[metric])
        st.markdown(markdown_text(lists["cosine"].left_out.sentence))
        if tables is not None:
            st.markdown(markdown_text(tables.sentence))
            for column, found_rows, name in zip(
                st.columns(2), (tables.input, tables.output), ("input rows", "output rows"), strict=True
            ):
                with column:
                    neighbour_list(found_rows, f"cosine, {name}")
        data_menu(
            "table neighbours",
            {metric: partial(export.neighbour_table, one.nearest, metric) for metric, one in lists.items()},
            {},
            partial(code_of, model, shown),
        )

with closed_part("The id is only an index", "ids", model) as open_now:
    if open_now and model is not None:
        order = read_order(model, model.spec.name)
        shuffled = st.session_state.get("ids shuffled", False)
        st.button("Ids as they are" if shuffled else "Shuffle the ids", key="table_shuffle", on_click=shuffle)
        ids_figure = figures.id_pairs(order, size, shuffled=shuffled)
        chart(ids_figure, key="table_ids", alt=order.sentence)
        st.markdown(markdown_text(order.sentence))
        data_menu("table ids", {"pairs": lambda: export.pair_table(order)}, {"pairs": ids_figure})

with closed_part("Sums of rows", "sums", model) as open_now:
    if open_now and model is not None:
        st.pills("Try", list(SUMS), key="table_sum", on_change=choose_sum, label_visibility="collapsed")
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            a, b, c, answer = (
                st.text_input(label, key=f"table_sum_{k}", persist_state="session", width=200)
                for k, label in enumerate(("A", "− B", "+ C", "Expected (may stay empty)"))
            )
            centre = st.toggle("Subtract the mean row first", key="table_centre", persist_state="session")
        result = analogy(
            model.table, model.vocabulary, word(model, a), word(model, b), word(model, c), centre=centre
        )  # fmt: skip
        frame.show_notes(result.notes)
        st.markdown(markdown_text(f"{result.sum}, or: {result.proportion}"))
        said = [result.sentence]
        if answer.strip():
            said.append(expected_sentence(expected(result, model.vocabulary, word(model, answer))))
        st.markdown(markdown_text(" ".join(said)))
        neighbour_list(result.neighbours, "cosine with the sum")
        data_menu(
            "table sums",
            {"nearest": lambda: export.neighbour_table(result.neighbours.nearest, "cosine")},
            {},
            partial(analogy_code, model.spec, result),
        )

with closed_part("Axes from opposites", "axes", model) as open_now:
    if open_now and model is not None:
        with st.container(horizontal=True, gap="small"):
            across = st.text_area("Across: low, high; one pair a line", key="table_across", persist_state="session")
            upward = st.text_area("Up: low, high; one pair a line", key="table_up", persist_state="session")
            listed_words = st.text_area("Words to place", key="table_words", persist_state="session")
        words, total = read_words(listed_words, MOST_PLACED)
        placed = place((axis_of(model, across), axis_of(model, upward)), [word(model, one) for one in words])
        if total > len(words):
            st.warning(f"{count(len(words))} of {count(total)} words are shown.")
        plane_figure = figures.plane(placed, size, width=1200)
        chart(plane_figure, key="table_plane", alt=placed.sentence)
        st.markdown(markdown_text(placed.sentence))
        data_menu("table axes", {"words": lambda: export.placement_table(placed)}, {"words": plane_figure})

with closed_part("Do coordinates have names?", "coordinates", model) as open_now:
    if open_now and model is not None:
        concept = st.selectbox("Concept", list(CONCEPTS), key="concept", persist_state="session", width=320)
        probed = read_probe(model, model.spec.name, concept)
        curve_figure = figures.curve(probed, size)
        chart(curve_figure, key="table_curve", alt=probed.sentence)
        st.markdown(markdown_text(f"{probed.sentence} {probed.note}"))
        data_menu("table coordinates", {"accuracy": lambda: export.probe_table(probed)}, {"accuracy": curve_figure})
        at = st.number_input(
            "Coordinate", 0, model.table.dimensions - 1, probed.best, key=f"table_coordinate_{concept}", width=320
        )
        ends = extremes(model.table, model.vocabulary, int(at))
        for column, ranked, name in zip(st.columns(2), (ends.highest, ends.lowest), ("highest", "lowest"), strict=True):
            with column:
                st.markdown(f"Tokens {name} in coordinate {ends.coordinate}")
                st.dataframe(export.neighbour_table(ranked, "value"), hide_index=True, key=f"table_ends_{name}")

with closed_part("Map of the whole table", "map", model) as open_now:
    if open_now and model is not None:
        draw_map(model)

data_menu(
    "table",
    {"rows": lambda: export.view_table(shown), "cosines": lambda: export.histogram_table(shown)},
    drawn,
    None if model is None else partial(code_of, model, shown),
)
page.write_address()
