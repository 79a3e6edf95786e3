"""The senses of one word by layer: everything the pages and the command line say about them, and where they part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from embedviz.context_measures import (
    Labels,
    Numbers,
    Similarity,
    explainable_variance,
    labels,
    read_only,
    self_similarity,
    silhouette_by_layer,
    similarity,
)
from embedviz.geometry import Floats
from embedviz.nearest_sense import TIE, Accuracy, leave_one_out

# Layers in a row for which the senses must stay apart.
RUNNING = 3
# How many standard deviations an accuracy must lie above chance, and standard errors one similarity above the other.
SURE_OF_ACCURACY, SURE_OF_SIMILARITY = 2.5, 2.0


@dataclass(frozen=True)
class Parting:
    """The layer where the senses part; None with the reason, in a sentence, where they do not or nobody can tell."""

    layer: int | None
    reason: str = ""


@dataclass(frozen=True, eq=False)
class SensesByLayer:
    """What the senses of a word's occurrences do from layer to layer.

    labels: the senses and each occurrence's. similarity: within and between senses. accuracy: nearest centroid, leave
    one out. silhouette: (layer,) by cosine. self_similarity, explainable_variance: (layer,) of all occurrences, without
    a baseline taken off. best_layer: where the accuracy is highest; None where it is undefined at all layers.
    parting: where the senses part.
    """

    labels: Labels
    similarity: Similarity
    accuracy: Accuracy
    silhouette: Numbers
    self_similarity: Numbers
    explainable_variance: Numbers
    best_layer: int | None
    parting: Parting


def by_layer(vectors: Floats, senses: Sequence[str | None]) -> SensesByLayer:
    """All measures of the senses of a word, layer by layer.

    vectors: (occurrence, layer, dimension). senses: one an occurrence, None where none is given: such an occurrence
    counts for self-similarity and explainable variance alone. Nothing is raised for too few: NaN and None say so.
    """
    alike, right = similarity(vectors, senses), leave_one_out(vectors, senses)
    apart = silhouette_by_layer(vectors, senses)
    return SensesByLayer(
        labels=labels(senses),
        similarity=alike,
        accuracy=right,
        silhouette=apart,
        self_similarity=self_similarity(vectors),
        explainable_variance=explainable_variance(vectors),
        best_layer=best_layer(right, apart),
        parting=parting(alike, right, labels(senses)),
    )


def random_variance(sample: Floats, number: int, draws: int = 5) -> Numbers:
    """(layer,) explainable variance of as many random words, the baseline of a word's: few of anything share much.

    sample: (word, layer, dimension) of different words. number: of the word's occurrences. The mean of some draws.
    """
    generator = np.random.default_rng(0)
    chosen = [generator.permutation(len(sample))[:number] for _ in range(draws)]
    return read_only(np.mean([explainable_variance(sample[one]) for one in chosen], axis=0))


def best_layer(right: Accuracy, apart: Numbers) -> int | None:
    """The layer of the highest accuracy; of equal ones that of the highest silhouette, then the earliest.

    apart: (layer,) silhouette, which has the same scale at all layers, unlike a difference of cosines.
    """
    if np.isnan(right.by_layer).all():
        return None
    highest = right.by_layer >= np.nanmax(right.by_layer) - TIE
    return int(np.argmax(np.where(highest, np.nan_to_num(apart, nan=-3.0), -4.0)))


def parting(alike: Similarity, right: Accuracy, named: Labels) -> Parting:
    """The first layer from which on, for three layers or up to the last, the senses are clearly apart.

    Clearly apart is a layer at which both hold:
    - leave-one-out accuracy is at least half way from chance to 1, and at least 2.5 standard deviations of guessing
      above chance. The first asks for a sense that can be read off, and decides from about 25 occurrences of two senses
      up; the second asks more of fewer: with five of each sense nine of ten must be right, with three of each nothing
      would be enough.
    - within-sense similarity is above between-sense similarity by more than two standard errors.
    """
    reason = _why_not(right, named)
    if reason:
        return Parting(None, reason)
    gap = alike.within - alike.between
    apart = (right.by_layer >= needed(right) - TIE) & (gap > SURE_OF_SIMILARITY * alike.error)
    for layer in range(len(apart)):
        if apart[layer : layer + RUNNING].all():
            return Parting(layer)
    return Parting(None, "The senses do not part clearly at any layer.")


def needed(right: Accuracy) -> float:
    """The accuracy from which on senses count as apart; above 1 where there are too few occurrences to tell."""
    return max((1 + right.chance) / 2, right.chance + SURE_OF_ACCURACY * right.noise)


def _why_not(right: Accuracy, named: Labels) -> str:
    """Why nobody can tell where the senses part; empty where it can be told."""
    if not named.names:
        return "No sentence has a sense."
    if len(named.names) == 1:
        return "All sentences have the same sense."
    if len(named.names) - len(right.left_out) < 2:
        return "Two senses need two sentences each, or more."
    if needed(right) > 1 + TIE:
        return f"With {right.tested} sentences, guessing could do as well."
    return ""
