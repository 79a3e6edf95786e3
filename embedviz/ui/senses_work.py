"""What the senses page computes, shared by all visitors: each set of sentences is read, measured and placed once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from embedviz.contextual import ContextualVectors, Pooling, contextual_vectors, random_pairs
from embedviz.errors import BadInput, EmbedvizError
from embedviz.models.language_model import LanguageModel
from embedviz.nearest_sense import Guess, guess
from embedviz.numbers import decimal, things
from embedviz.occurrences import Occurrence, read_lines
from embedviz.probe import one_core
from embedviz.projection.aligned import AlignedProjection, aligned_pca, aligned_umap
from embedviz.projection.job import Job
from embedviz.projection.umap_client import shared
from embedviz.sense_notes import UMAP_LEAST
from embedviz.senses import SensesByLayer, by_layer
from embedviz.senses_view import OPENING, SensesView, restore
from embedviz.ui.frame import SentenceLine, stopped

# How long a run of the page waits for a UMAP that is nearly there, in seconds.
PATIENCE = 0.4


@dataclass(frozen=True, eq=False)
class Uses:
    """The uses of a word as one model read them.

    key: names everything the numbers depend on. random: (layer,) the random-pair baseline.
    """

    key: str
    found: ContextualVectors
    measures: SensesByLayer
    random: NDArray[np.float64]

    @property
    def senses(self) -> list[str | None]:
        """(occurrence,) each use's sense."""
        return [one.sense for one in self.found.occurrences]

    @property
    def last(self) -> int:
        """The last layer."""
        return int(self.found.vectors.shape[1]) - 1

    @property
    def start(self) -> int:
        """The layer from which pictures are aligned: where the senses are best told apart."""
        return self.measures.best_layer or max(1, round(OPENING * self.last))


def read(
    model: LanguageModel,
    occurrences: Sequence[Occurrence],
    line: SentenceLine,
    *,
    pooling: Pooling = "mean",
    start_token: bool | None = None,
) -> Uses:
    """Read the sentences, telling in the sentence's place how far it is; after Stop, those read till then.

    Raises BadInput where none can be read.
    """
    stop = stopped()
    found = contextual_vectors(
        model, occurrences, pooling=pooling, start_token=start_token, stop=lambda: stop,
        progress=lambda done, every: line.wait(done, every, "sentences"),
    )  # fmt: skip
    if not found.occurrences:
        reason = found.skipped[0].reason if found.skipped else "Stopped before the first sentence was read."
        raise BadInput(reason)
    key = _key(found)
    return Uses(key, found, _measured(key, found), random_pairs(model, start_token=found.start_token))


def _key(found: ContextualVectors) -> str:
    named = [(one.sentence, one.start, one.end, one.sense) for one in found.occurrences]
    # The vectors' own bytes tell one revision of a model's weights from another.
    some = found.vectors[:1, -1].tobytes()
    return hashlib.sha256(repr((found.model, found.pooling, found.start_token, named, some)).encode()).hexdigest()


@cache
def example() -> SensesView:
    """The stored result of the opening example."""
    return restore()


def stored_clues(uses: Uses) -> tuple[str, ...]:
    """The clue words of the opening example, which need not be looked for again; none for other uses."""
    stored, found = example(), uses.found
    same = stored.model == found.model and stored.occurrences == found.occurrences
    return stored.clues if same and found.start_token and found.pooling == "mean" else ()


@st.cache_resource(max_entries=16, show_spinner=False)
def _measured(key: str, _found: ContextualVectors) -> SensesByLayer:
    return by_layer(_found.vectors, [one.sense for one in _found.occurrences])


@st.cache_resource(max_entries=32, show_spinner=False)
def pca_picture(key: str, components: int, _uses: Uses) -> AlignedProjection:
    """The PCA of all layers in one frame."""
    with one_core():
        return aligned_pca(_uses.found.vectors, components=components, start=_uses.start, groups=_uses.senses)


def _good(job: Job[AlignedProjection]) -> bool:
    """Whether a job may be given to the next visitor: one that failed or was stopped is asked for anew."""
    if not job.done:
        return True
    try:
        job.result()
    except EmbedvizError:
        return False
    return True


@st.cache_resource(max_entries=32, show_spinner=False, validate=_good)
def umap_job(key: str, components: int, seed: int, _layer: int, _uses: Uses) -> Job[AlignedProjection]:
    """The UMAP of all layers in one frame, as a job; the layer first looked at comes first.

    Raises BadInput where too few uses differ.
    """
    return aligned_umap(_uses.found.vectors, components=components, start=_layer, groups=_uses.senses, seed=seed)


def picture(
    uses: Uses, method: str, components: int, seed: int, layer: int
) -> tuple[AlignedProjection, str, Job[AlignedProjection] | None]:
    """The places to draw, a sentence where they are not those asked for, and the job to wait for, if there is one."""
    if method == "pca":
        return pca_picture(uses.key, components, uses), "", None
    number = len(uses.found.occurrences)
    try:
        if number < UMAP_LEAST:
            raise BadInput(f"UMAP needs {UMAP_LEAST} uses; this is PCA.")
        job = umap_job(uses.key, components, seed, layer, uses)
        if job.wait_for_part(PATIENCE) and job.done:
            return job.result(), "", None
    except EmbedvizError as error:
        said = str(error) if "this is PCA" in str(error) else f"{error} This is PCA."
        return pca_picture(uses.key, components, uses), said, None
    if (so_far := job.so_far) is not None:
        return so_far, "", job
    left = shared().readiness.seconds_left
    seconds = f", about {left:.0f} s" if left else ""
    return pca_picture(uses.key, components, uses), f"UMAP is getting ready{seconds}. This is PCA.", job


@dataclass(frozen=True, eq=False)
class Guessed:
    """A new sentence's use: (layer, dimension) vectors, and which sense it is nearest to."""

    occurrence: Occurrence
    notes: tuple[str, ...]
    vectors: NDArray[np.float32]
    result: Guess

    def at(self, layer: int) -> str:
        """Which sense at one layer, and by how much."""
        nearest = self.result.nearest[layer]
        known = self.result.cosines[layer][np.isfinite(self.result.cosines[layer])]
        if nearest is None:
            return f"At layer {layer}: as near to each sense."
        first, second = np.sort(known)[::-1][:2]
        return f"At layer {layer}: {nearest}, {decimal(float(first))} against {decimal(float(second))}."

    @property
    def sentence(self) -> str:
        """Which sense at the last layer, by how much, and from where on."""
        last = self.result.nearest[-1]
        if last is None or self.result.from_layer is None:
            return "Nearest: none; the senses are as near as each other, or there is only one."
        cosines = np.sort(self.result.cosines[-1][np.isfinite(self.result.cosines[-1])])[::-1]
        return (
            f"Nearest: {last}, {decimal(float(cosines[0]))} against {decimal(float(cosines[1]))}, "
            f"from layer {self.result.from_layer} on."
        )


def guessed(model: LanguageModel, uses: Uses, word: str, line: str, *, inflected: bool = False) -> Guessed:
    """Read one new sentence and compare its use with the senses. Raises BadInput where the word is not in it."""
    read_line = read_lines(line.replace("\t", " ").replace("\n", " "), word, inflected=inflected)
    if not read_line.occurrences:
        raise BadInput(f"{read_line.skipped[0].reason} Type a sentence with {word} in it.")
    one = read_line.occurrences[0]
    found = contextual_vectors(model, [one], pooling=uses.found.pooling, start_token=uses.found.start_token)
    if not found.occurrences:
        raise BadInput(found.skipped[0].reason)
    return Guessed(one, read_line.notes, found.vectors[0], guess(uses.found.vectors, uses.senses, found.vectors[0]))


def anchored(model: LanguageModel, uses: Uses, words: Sequence[str]) -> NDArray[np.float32]:
    """(word, layer, dimension) vectors of words read alone, after the start token where there is one."""
    ones = [Occurrence(word, 0, len(word)) for word in words]
    found = contextual_vectors(model, ones, pooling=uses.found.pooling, start_token=uses.found.start_token)
    if len(found.occurrences) < len(ones):
        raise BadInput(
            f"{things(len(ones) - len(found.occurrences), 'word')} cannot be read: {found.skipped[0].reason}"
        )
    return found.vectors
