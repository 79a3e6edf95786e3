"""The senses page's picture: the choices that change it, what else stands in it, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from numpy.typing import NDArray

from embedviz.axes import read_words
from embedviz.context_measures import (
    shuffled,
    silhouette,
)
from embedviz.contextual import POOLINGS, ContextualVectors, Pooling
from embedviz.errors import EmbedvizError
from embedviz.figures import senses as figures
from embedviz.figures.style import Sizes
from embedviz.models import catalog
from embedviz.models.language_model import LanguageModel
from embedviz.numbers import count, decimal, share
from embedviz.projection.aligned import AlignedProjection, place_new
from embedviz.projection.job import Job
from embedviz.safe_text import markdown_text
from embedviz.senses_view import SensesView
from embedviz.ui import frame, senses_work
from embedviz.ui.address import Parameter, choice, forget_notes, switch, whole_number
from embedviz.ui.parts import closed_part
from embedviz.ui.senses_work import Uses

METHODS = {"pca": "PCA", "umap": "UMAP"}
SPACES = {"2": "2D", "3": "3D"}
PARAMETERS = (
    Parameter("method", "pca", choice(*METHODS)),
    Parameter("space", "2", choice(*SPACES)),
    Parameter("pooling", "mean", choice(*POOLINGS)),
    switch("start", True),
    Parameter("anchors", ""),
    Parameter("seed", 0, whole_number(0, 9999)),
    switch("shuffled", False),
)
MOST_ANCHORS = 8


def reading(model: LanguageModel) -> tuple[Pooling, bool | None]:
    """How pieces become one vector, and whether a start token is fed first."""
    start = None if st.session_state["start"] or model.start_token_id is None else False
    return cast(Pooling, st.session_state["pooling"]), start


def picture_choice() -> tuple[str, int, int]:
    """Method, dimensions, and seed of the picture."""
    return st.session_state["method"], int(st.session_state["space"]), int(st.session_state["seed"])


def in_space() -> bool:
    """Whether the picture has three dimensions."""
    return bool(st.session_state["space"] == "3")


def opening(shown: SensesView, layer: int) -> int:
    """The layer at which the figures of a view are drawn first; kept while the view is the same."""
    key = (shown.model, shown.occurrences, len(shown.layers))
    kept, at = st.session_state.get("senses drawn", (None, layer))
    if kept != key:
        st.session_state["senses drawn"] = (key, at := layer)
    return min(at, len(shown.layers) - 1)


def draw_picture(
    shown: SensesView, size: Sizes, at: int, title: str, ringed: Sequence[int],
    extra: Mapping[str, NDArray[np.float64]], guess: NDArray[np.float64] | None,
) -> go.Figure:  # fmt: skip
    """The picture in the chosen number of dimensions."""
    if shown.projection.coordinates.shape[2] == 3:
        return figures.picture_in_space(shown, size, at=at, title=title, guess=guess)
    return figures.picture(shown, size, at=at, title=title, ringed=ringed, extra=extra, guess=guess)


def piece_notes(shown: SensesView, found: ContextualVectors) -> list[str]:
    """Say that a word is several pieces, and what became of them."""
    if not shown.pieces:
        return []
    how = {"mean": "their mean is shown", "first": "the first is shown", "last": "the last is shown"}[found.pooling]
    return [f"{shown.word} is {len(shown.pieces)} pieces here; {how}."]


def new_points(
    model: LanguageModel, uses: Uses, word: str, projection: AlignedProjection
) -> tuple[NDArray[np.float64] | None, dict[str, NDArray[np.float64]], list[str]]:
    """Places (layer, component) of the guessed sentence and of the anchor words, with what cannot be placed."""
    guess, extra, said = None, dict[str, NDArray[np.float64]](), list[str]()
    vectors = uses.found.vectors
    if st.session_state["guess"].strip():
        try:
            new = senses_work.guessed(
                model, uses, word, st.session_state["guess"], inflected=st.session_state["inflected"]
            ).vectors
            guess = place_new(projection, vectors, new[None])[:, 0]
        except EmbedvizError:
            pass  # the part "Guess a new sentence" says why
    if st.session_state["anchors"].strip():
        try:
            words, total = read_words(st.session_state["anchors"], MOST_ANCHORS)
            places = place_new(projection, vectors, senses_work.anchored(model, uses, words))
            extra = {one: places[:, k] for k, one in enumerate(words)}
            if total > len(words):
                said.append(f"{len(words)} of {count(total)} other words are shown.")
        except EmbedvizError as error:
            said.append(str(error))
    return guess, extra, said


def show_notes(notes: Sequence[str]) -> None:
    """Show the notes; where the clue comes after the word, beside them a button to a model that reads both ways."""
    both_ways = [spec for spec in catalog.offered() if not spec.reads_left_to_right]
    if not both_ways or not any("the clue comes after" in note for note in notes):
        frame.show_notes(notes)
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(width="stretch", gap="small"):
            frame.show_notes(notes)

        def use() -> None:
            st.session_state["model"] = both_ways[0].name
            forget_notes()

        name = markdown_text(f"Use {both_ways[0].title}, which reads both ways")
        st.button(name, key="senses_encoder", on_click=use)


def wait_for_picture(job: Job[AlignedProjection]) -> None:
    """Say how far the UMAP is, once a second, and show it when it is there."""
    partly = job.so_far is not None

    @st.fragment(run_every=1.0)
    def line() -> None:
        if job.done or (job.so_far is not None) != partly:
            st.rerun()
        frame.SentenceLine("_picture").say(job.waiting.sentence)

    line()


def picture_part(uses: Uses | None, shown: SensesView, layer: int) -> None:
    """Method, dimensions, shuffled labels, other words, and what the picture keeps."""
    with closed_part("Can you trust this picture?", "picture") as open_now:
        if not open_now:
            return
        with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
            for label, key, words in (("Method", "method", METHODS), ("Dimensions", "space", SPACES)):
                st.segmented_control(
                    label, list(words), key=key, format_func=words.__getitem__, required=True, persist_state="session"
                )
            st.number_input("Seed of the UMAP", 0, 9999, key="seed", width=160, persist_state="session")
            st.segmented_control("Pieces", list(POOLINGS), key="pooling", required=True, persist_state="session")
            st.toggle("Start token", key="start", persist_state="session")
            mixed = st.session_state["shuffled"]
            st.button("Labels as they are" if mixed else "Shuffle the labels", key="senses_shuffle", on_click=_shuffle)
        st.text_input(
            "Other words in the picture, read alone", key="anchors", placeholder="river, money",
            persist_state="session",
        )  # fmt: skip
        places = shown.projection.coordinates[layer]
        kept = float(shown.projection.neighbours_kept[layer])
        said = [
            f"It keeps {share(kept)} of true neighbours."
            if np.isfinite(kept)
            else "Too few points to say what it keeps."
        ]
        apart = silhouette(places, shown.senses, metric="euclidean")
        mixed_apart = silhouette(places, shuffled(shown.senses, 0), metric="euclidean")
        if np.isfinite(apart):
            said.append(f"Senses apart (silhouette) {decimal(apart)}; with shuffled labels {decimal(mixed_apart)}.")
        said.append("Only distances within one layer mean anything; the frame is turned from layer to layer to fit.")
        if layer:
            said.append("The star marks where all uses started. It is not placed by distance.")
        if in_space():
            said.append("Other words and the paths of chosen uses are drawn in 2D only.")
        st.markdown(markdown_text(" ".join(said)))


def _shuffle() -> None:
    st.session_state["shuffled"] = not st.session_state["shuffled"]
