"""The table page's deeper parts, in the order of the page; each is one closed part with its figure, words and data."""

from __future__ import annotations

from functools import partial

import streamlit as st

from embedviz import export, snippets
from embedviz.analogy import analogy, expected, expected_sentence
from embedviz.axes import Axis, axis, list_notes, place, read_pairs, read_words
from embedviz.comparison import Metric, compare
from embedviz.concepts import concepts
from embedviz.coordinates import Probe, extremes, probe
from embedviz.errors import EmbedvizError
from embedviz.figures import strips, table_parts
from embedviz.figures.style import Sizes
from embedviz.id_order import IdOrder, id_order
from embedviz.meaning import notes_of, word
from embedviz.models.language_model import LanguageModel
from embedviz.neighbours import Neighbours, TwoTables, by_every_metric, in_both_tables
from embedviz.numbers import count, decimal
from embedviz.safe_text import markdown_text
from embedviz.table_view import TableView, largest_sentence, measures_sentence, place_sentence, read
from embedviz.ui import frame
from embedviz.ui.address import Parameter, choice, switch, whole_number
from embedviz.ui.charts import chart, chosen_line, data_menu
from embedviz.ui.parts import closed_part

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
FIELDS = ("sum_a", "sum_b", "sum_c", "sum_expected")
MOST_PLACED = 60


# What of these parts is in the page's address.
NAMES = ("numbers", "neighbours", "ids", "sums", "axes", "coordinates", "map")
PARAMETERS = (
    Parameter("from", 0, whole_number(0, 99_999)),
    *(Parameter(field, text) for field, text in zip(FIELDS, SUMS["king − man + woman"], strict=True)),
    switch("sum_centre", False),
    Parameter("across", "man, woman\nking, queen\nboy, girl\nfather, mother"),
    Parameter("up", "small, big\nlittle, large\ntiny, huge"),
    switch("axes_centre", False),
    Parameter("placed", "nurse, engineer, uncle, aunt, mouse, elephant, ant, whale, table, house, baby, giant"),
    Parameter("concept", next(iter(CONCEPTS)), choice(*CONCEPTS)),
)


def code_of(model: LanguageModel, shown: TableView) -> str:
    """The code for the chosen row's neighbours."""
    return snippets.neighbours_code(model.spec, read(model, shown.typed).words[0])


@st.cache_data(max_entries=16, show_spinner=False)
def read_neighbours(
    _model: LanguageModel, model_name: str, typed: str
) -> tuple[dict[Metric, Neighbours], TwoTables | None]:
    """The lists by three measures, and where the model has two tables, those of both."""
    chosen = read(_model, typed).words[0]
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
            chosen = ranked.nearest[rows[0]].entry
            st.session_state["word"] = f"#{chosen.id}"
            st.session_state["table went"] = name, f"#{chosen.id}", chosen.label

    base = ranked.baseline
    st.markdown(markdown_text(f"{name}\nall rows: mean {decimal(base.mean)}, deviation {decimal(base.std)}"))
    went = st.session_state.get("table went")
    if went and went[:2] == (name, st.session_state["word"]):
        st.markdown(markdown_text(f"The page now shows {went[2]}."))
    st.dataframe(
        export.neighbour_table(ranked.nearest, "value"), hide_index=True, key=key, on_select=go,
        selection_mode="single-row", alt=f"Nearest rows by {name}. Choose one to show its row.",
    )  # fmt: skip


def choose_sum() -> None:
    """Put a preset's three words and its expected answer into the fields."""
    if chosen := st.session_state["table_sum"]:
        for field, text in zip(FIELDS, SUMS[chosen], strict=True):
            st.session_state[field] = text


def move() -> None:
    """Keep the magnifier where it is, for other rows too."""
    st.session_state["from"] = st.session_state["table_magnifier"]


def shuffle() -> None:
    """Deal the ids out anew, or put them back."""
    st.session_state["ids shuffled"] = not st.session_state.get("ids shuffled", False)


def magnified(shown: TableView, *, projector: bool) -> tuple[int, int]:
    """How many coordinates the magnifier holds, and the last one that it can begin at."""
    number = min(8 if projector else 12, shown.dimensions)
    return number, shown.dimensions - number


def numbers(shown: TableView, size: Sizes, *, projector: bool) -> None:
    """Every number of the rows, a few under a magnifier that stays put, and the row's place in the table."""
    with closed_part(f"All {count(shown.dimensions)} numbers", "numbers") as open_now:
        if open_now:
            number, last = magnified(shown, projector=projector)
            first = min(st.session_state["from"], last)
            if last:
                first = st.slider("Magnifier: first coordinate", 0, last, first, key="table_magnifier", on_change=move)
            full = {
                "strips": strips.strips(shown, size, projector=projector, first=first, number=number),
                "magnifier": strips.magnifier(shown, size, projector=projector, first=first, number=number),
            }
            full["place"] = strips.place_in_table(shown, size, height=sum(one.layout.height for one in full.values()))
            wide, narrow = st.columns([0.86, 0.14], gap="small", wrap=True)
            with wide:
                chart(
                    full["strips"], key="table_strips", alt=f"All {shown.dimensions} numbers. {largest_sentence(shown)}"
                )
                chart(full["magnifier"], key="table_magnified", alt=f"Coordinates {first} to {first + number - 1}.")
            with narrow:
                chart(full["place"], key="table_place", alt=place_sentence(shown))
            st.markdown(markdown_text(f"{largest_sentence(shown)} {place_sentence(shown)}"))
            data_menu("table numbers", {"rows": lambda: export.view_table(shown)}, full)


def neighbours(model: LanguageModel | None, shown: TableView) -> None:
    """The nearest rows by three measures, and in both tables where there are two."""
    with closed_part("Neighbours by three measures", "neighbours", model) as open_now:
        if open_now and model is not None:
            lists, tables = read_neighbours(model, model.spec.name, shown.typed)
            for column, (metric, found_rows) in zip(st.columns(3, wrap=True), lists.items(), strict=True):
                with column:
                    neighbour_list(found_rows, MEASURES[metric])
            said = (measures_sentence(model.table, lists), lists["cosine"].left_out.sentence)
            st.markdown(markdown_text(" ".join(filter(None, said))))
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


def ids(model: LanguageModel | None, shown: TableView, size: Sizes) -> None:
    """What the size of an id says, and what the order of the list still carries."""
    with closed_part("The id is only an index", "ids", model) as open_now:
        if open_now and model is not None:
            order = read_order(model, model.spec.name)
            shuffled = st.session_state.get("ids shuffled", False)
            st.button("Ids as they are" if shuffled else "Shuffle the ids", key="table_shuffle", on_click=shuffle)
            ids_figure = table_parts.id_pairs(order, size, shuffled=shuffled, ringed=chosen_line("table ids", "pairs"))
            chart(ids_figure, key="table_ids", alt=order.sentence)
            # While another model's row is still shown, its mean says nothing of this table.
            same = shown.model == model.spec.name
            beside = order.beside(shown.chosen.label, shown.baseline.mean) if same else ""
            st.markdown(markdown_text(f"{order.sentence} {beside}"))
            data_menu(
                "table ids", {"pairs": lambda: export.pair_table(order)}, {"pairs": ids_figure},
                partial(snippets.ids_code, model.spec, len(order.cosines)),
            )  # fmt: skip


def sums(model: LanguageModel | None) -> None:
    """A − B + C: its nearest rows, and where the expected one comes."""
    with closed_part("Sums of rows", "sums", model) as open_now:
        if open_now and model is not None:
            st.pills("Try", list(SUMS), key="table_sum", on_change=choose_sum, label_visibility="collapsed")
            with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
                a, b, c, answer = (
                    st.text_input(label, key=field, persist_state="session", width=200)
                    for field, label in zip(FIELDS, ("A", "− B", "+ C", "Expected (may stay empty)"), strict=True)
                )
                centre = st.toggle("Subtract the mean row first", key="sum_centre", persist_state="session")
            result = analogy(
                model.table, model.vocabulary, word(model, a), word(model, b), word(model, c), centre=centre
            )  # fmt: skip
            said, notes = [result.sentence], [*result.notes]
            if answer.strip():
                try:
                    said.append(expected_sentence(expected(result, model.vocabulary, word(model, answer))))
                except EmbedvizError as error:
                    notes.insert(0, str(error))
            frame.show_notes(notes)
            st.markdown(markdown_text(f"{result.sum}, or: {result.proportion}"))
            st.markdown(markdown_text(" ".join(said)))
            neighbour_list(result.neighbours, "cosine with the sum")
            data_menu(
                "table sums",
                {"nearest": lambda: export.neighbour_table(result.neighbours.nearest, "cosine")},
                {},
                partial(snippets.analogy_code, model.spec, result),
            )


def axes(model: LanguageModel | None, size: Sizes) -> None:
    """Words along two axes from opposites."""
    with closed_part("Axes from opposites", "axes", model) as open_now:
        if open_now and model is not None:
            with st.container(horizontal=True, gap="small"):
                across = st.text_area("Across: low, high; one pair a line", key="across", persist_state="session")
                upward = st.text_area("Up: low, high; one pair a line", key="up", persist_state="session")
                listed_words = st.text_area("Words to place", key="placed", persist_state="session")
            centre = st.toggle("Subtract the mean row first", key="axes_centre", persist_state="session")
            words, _ = read_words(listed_words, MOST_PLACED)
            placed = place(
                (axis_of(model, across), axis_of(model, upward)), [word(model, one) for one in words],
                mean_row=model.table.mean_row if centre else None,
            )  # fmt: skip
            ends = [one for both in placed.axes for pair in both.pairs for one in pair]
            frame.show_notes([*list_notes(listed_words, len(words), "shown"), *notes_of([*ends, *placed.words])])
            line = chosen_line("table axes", "words")
            line = None if line is None or line >= len(words) else line
            plane_figure = table_parts.plane(placed, size, width=1200, ringed=line)
            chart(plane_figure, key="table_plane", alt=placed.sentence)
            st.markdown(markdown_text(placed.sentence))
            data_menu(
                "table axes", {"words": lambda: export.placement_table(placed)}, {"words": plane_figure},
                # The snippet places rows as they stand: with the mean row subtracted it would print other numbers.
                None if centre else partial(snippets.axes_code, model.spec, placed),
            )  # fmt: skip


def coordinates(model: LanguageModel | None, size: Sizes) -> None:
    """How many coordinates a concept needs, before and after a rotation."""
    with closed_part("Do coordinates have names?", "coordinates", model) as open_now:
        if open_now and model is not None:
            concept = st.selectbox("Concept", list(CONCEPTS), key="concept", persist_state="session", width=320)
            probed = read_probe(model, model.spec.name, concept)
            curve_figure = table_parts.curve(probed, size, ringed=chosen_line("table coordinates", "accuracy"))
            chart(curve_figure, key="table_curve", alt=probed.sentence)
            st.markdown(markdown_text(f"{probed.conclusion} {probed.sentence} {probed.note}".strip()))
            data_menu(
                "table coordinates", {"accuracy": lambda: export.probe_table(probed)}, {"accuracy": curve_figure},
                partial(snippets.probe_code, model.spec.name, concept),
            )  # fmt: skip
            at = st.number_input(
                "Coordinate", 0, model.table.dimensions - 1, probed.best, key=f"table_coordinate_{concept}", width=320
            )
            ends = extremes(model.table, model.vocabulary, int(at))
            for column, ranked, name in zip(
                st.columns(2), (ends.highest, ends.lowest), ("highest", "lowest"), strict=True
            ):
                with column:
                    st.markdown(f"Tokens {name} in coordinate {ends.coordinate}")
                    st.dataframe(export.neighbour_table(ranked, "value"), hide_index=True, key=f"table_ends_{name}")
