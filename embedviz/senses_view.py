"""What the senses page opens on: the uses of a word at every layer, one picture of them, and how alike they are.

The result holds no torch, so the built-in example can be stored with the project and shown before any model has loaded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embedviz.context_measures import labels, shuffled
from embedviz.contextual import ContextualVectors, contextual_vectors, random_pairs
from embedviz.geometry import cosine
from embedviz.nearest_sense import what_moved
from embedviz.numbers import count, decimal, share
from embedviz.occlusion import without_each_word
from embedviz.occurrences import Occurrence
from embedviz.projection.aligned import AlignedProjection
from embedviz.senses import SensesByLayer, by_layer

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel

STORED = Path(__file__).parent / "data" / "senses.npz"
# The opening example: this word, with so many sentences of each sense, all with the clue before the word.
EXAMPLE, EXAMPLE_SENTENCES = "bank", 5
# Up to so many uses are named by their clue word.
MOST_CLUES = 14
# Uses nearer than this share of the frame's half height are drawn as one place, with a count.
SAME_PLACE = 1e-3
# Hollow marks stand at this share of the frame's half height or width: their true place is beyond the edge.
EDGE = 0.93
# Where no sense is named, a causal model's uses are first looked at this share of the way through its blocks.
OPENING = 0.3

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SensesView:
    """The uses of one word, layer by layer.

    layers: names of the layers, 0 is the table row. senses: each use's, None where none is given. names: the senses, in
    the order in which they first appear.
    within, between: (layer,) mean cosine of two uses of one sense, and of two senses; NaN where there is no such pair.
    any_two: (layer,) of any two uses. random: (layer,) of two different words of our own reference sentences.
    row_cosine: (layer,) mean cosine of a use with its own table row. accuracy: (layer,) leave-one-out, with `chance`.
    best_layer: of the accuracy. parting: the layer from which on the senses are apart; None for the reason beside it.
    projection: the picture's places. clues: (occurrence,) the word that takes most of the lean, "" where not known.
    rows: number of different table rows among the uses. pieces: the word's pieces, where it is several.
    """

    model: str
    title: str
    word: str
    layers: tuple[str, ...]
    occurrences: tuple[Occurrence, ...]
    within: Numbers
    between: Numbers
    any_two: Numbers
    random: Numbers
    row_cosine: Numbers
    accuracy: Numbers
    chance: float
    best_layer: int | None
    parting: int | None
    parting_reason: str
    projection: AlignedProjection
    clues: tuple[str, ...]
    rows: int
    pieces: tuple[str, ...]

    @property
    def senses(self) -> tuple[str | None, ...]:
        """(occurrence,) each use's sense."""
        return tuple(one.sense for one in self.occurrences)

    @property
    def names(self) -> tuple[str, ...]:
        """The senses, in the order in which they first appear."""
        return labels(self.senses).names

    @property
    def opening_layer(self) -> int:
        """Where the page opens: the layer at which the senses are best told apart, else part of the way up."""
        return self.best_layer or max(1, round(OPENING * (len(self.layers) - 1)))

    def layer_name(self, layer: int) -> str:
        """A layer's name for the scrubber: `Layer 9: after block 9`."""
        name = self.layers[layer]
        return f"Layer {layer}: {'after ' if name.startswith('block') else ''}{name}"

    def beyond(self, layer: int) -> int:
        """How many uses lie beyond the picture's edge."""
        places = self.projection.coordinates[layer]
        return int((np.abs(places[:, :2]) > np.array([WIDE, 1.0]) * self.projection.edge * EDGE).any(axis=1).sum())

    def sharing(self, layer: int) -> dict[int, tuple[int, ...]]:
        """For the first of several uses that share one place at a layer, all of these."""
        apart = SAME_PLACE * (self.projection.edge or 1.0)
        cells: dict[bytes, list[int]] = {}
        for use, place in enumerate(np.round(self.projection.coordinates[layer] / apart)):
            cells.setdefault(place.tobytes(), []).append(use)
        return {uses[0]: tuple(uses) for uses in cells.values() if len(uses) > 1}

    def sentence(self, layer: int, most: int | None = None) -> str:
        """The numbers at one layer. most: characters; what is last is dropped where it would be longer."""
        parts = self._said(layer)
        while most is not None and len(parts) > 1 and len(" ".join(parts)) > most:
            parts.pop()
        return " ".join(parts)

    def _said(self, layer: int) -> list[str]:
        uses = len(self.occurrences)
        if uses == 1:
            return ["One use: add a second to compare."]
        if layer == 0:
            if self.rows == 1:
                return [
                    f"All {count(uses)} uses are the same row, to the bit.",
                    "The table does not know the sentence.",
                ]
            return [
                f"The {count(uses)} uses have {self.rows} rows, one for each spelling.",
                "The table knows no sentence.",
            ]
        values = [("same sense", self.within[layer]), ("other sense", self.between[layer])]
        known = [(name, value) for name, value in values if np.isfinite(value)] or [("two uses", self.any_two[layer])]
        known.append(("random pair", self.random[layer]))
        said = ", ".join(f"{name} {decimal(float(value))}" for name, value in known)
        parts = [f"{said[0].upper()}{said[1:]}."]
        same, other = (decimal(float(value)) for _, value in values)
        if self.between[layer] >= self.within[layer] and same != other:
            parts[0] += f" Not in this case: {same} against {other}."
        if beyond := self.beyond(layer):
            parts.append(f"{count(beyond)} beyond the edge, hollow.")
        parts.append(f"A use and the table row {decimal(float(self.row_cosine[layer]))}.")
        if len(self.names) > 1:
            parts.append(
                f"The senses part at layer {self.parting}." if self.parting is not None else self.parting_reason
            )
        kept = self.projection.explained[layer] if self.projection.explained is not None else float("nan")
        if np.isfinite(kept):
            parts.append(f"The picture keeps {share(float(kept))}.")
        elif np.isfinite(near := float(self.projection.neighbours_kept[layer])):
            parts.append(f"The picture keeps {share(near)} of true neighbours.")
        return parts

    def alt(self, layer: int) -> str:
        """The picture's takeaway at one layer."""
        uses = f"{count(len(self.occurrences))} uses of {self.word}"
        senses = f" in {len(self.names)} senses" if self.names else ""
        values = (("same sense", self.within), ("other sense", self.between), ("random pair", self.random))
        told = ", ".join(f"{name} {decimal(float(v[layer]))}" for name, v in values if np.isfinite(v[layer]))
        return f"At layer {layer}, {uses}{senses}: {told}."

    def with_shuffled_senses(self, seed: int = 0) -> SensesView:
        """The same places with the senses dealt out anew: a picture of nothing, to compare with."""
        dealt = shuffled(self.senses, seed)
        return replace(
            self,
            occurrences=tuple(replace(one, sense=sense) for one, sense in zip(self.occurrences, dealt, strict=True)),
            clues=("",) * len(self.occurrences),
        )


# The picture's frame is this many times as wide as high.
WIDE = 1.6


def view(
    model: LanguageModel,
    word: str,
    found: ContextualVectors,
    measures: SensesByLayer,
    projection: AlignedProjection,
    random: Numbers,
    clues: Sequence[str] = (),
) -> SensesView:
    """Put together what the page opens on. found: at least one use. clues: one a use, where they are known."""
    layers = found.vectors.shape[1]
    spelt = {tuple(piece.id for piece in pieces) for pieces in found.pieces}
    several = found.pieces[0] if len(spelt) == 1 and len(found.pieces[0]) > 1 else ()
    return SensesView(
        model=model.spec.name,
        title=model.spec.title,
        word=word,
        layers=tuple(model.layer_name(layer) for layer in range(layers)),
        occurrences=found.occurrences,
        within=measures.similarity.within,
        between=measures.similarity.between,
        any_two=measures.self_similarity,
        random=random,
        row_cosine=np.nanmean(cosine(found.vectors, found.vectors[:, :1]), axis=0),
        accuracy=measures.accuracy.by_layer,
        chance=measures.accuracy.chance,
        best_layer=measures.best_layer,
        parting=measures.parting.layer,
        parting_reason=measures.parting.reason,
        projection=projection,
        clues=tuple(clues) or ("",) * len(found.occurrences),
        rows=len({vector.tobytes() for vector in found.vectors[:, 0]}),
        pieces=tuple(piece.label for piece in several),
    )


_ARRAYS = ("within", "between", "any_two", "random", "row_cosine", "accuracy")


def save(shown: SensesView, path: Path) -> None:
    """Keep a view as one NPZ file without pickles: the arrays as they are, everything else as JSON text."""
    others: dict[str, Any] = {
        name: value for name, value in vars(shown).items() if name not in (*_ARRAYS, "projection", "occurrences")
    }
    others["occurrences"] = [asdict(one) for one in shown.occurrences]
    # The axes would be most of the file, and place new points only where the model is there, which draws anew.
    drawn = vars(shown.projection) | {name: getattr(shown.projection, name)[:, ..., :1] for name in ("axes", "means")}
    projection = {name: value for name, value in drawn.items() if not isinstance(value, np.ndarray)}
    places = {f"p_{name}": value for name, value in drawn.items() if isinstance(value, np.ndarray)}
    np.savez_compressed(
        path, allow_pickle=False, json=np.array(json.dumps(others | {"projection": projection})),
        **{name: getattr(shown, name) for name in _ARRAYS}, **places,
    )  # fmt: skip


def restore(path: Path = STORED) -> SensesView:
    """Read a view that `save` wrote; by default the built-in example, as the bundled model gave it."""
    with np.load(path, allow_pickle=False) as stored:
        others = json.loads(str(stored["json"]))
        places = {name[2:]: stored[name] for name in stored.files if name.startswith("p_")}
        projection = AlignedProjection(**others.pop("projection"), **places)
        others["occurrences"] = tuple(Occurrence(**one) for one in others["occurrences"])
        for name in ("layers", "clues", "pieces"):
            others[name] = tuple(others[name])
        return SensesView(**others, projection=projection, **{name: stored[name] for name in _ARRAYS})


def clue_words(
    model: LanguageModel, found: ContextualVectors, layer: int, told: Callable[[int, int], None] | None = None
) -> tuple[str, ...]:
    """For each use, the word whose absence takes most of its lean to its own sense at a layer; "" where none does.

    told: (done, all) uses, after each.
    """
    senses = [one.sense for one in found.occurrences]
    words = []
    for number, one in enumerate(found.occurrences):
        taken = without_each_word(model, one, pooling=found.pooling, start_token=found.start_token)
        moved = what_moved(found.vectors, senses, one.sense, taken.whole, taken.vectors, leave_out=number)
        clue = moved.clue[layer]
        words.append("" if clue is None else one.sentence[slice(*taken.words[clue])])
        if told is not None:
            told(number + 1, len(senses))
    return tuple(words)


def store_example() -> None:
    """Write the built-in example anew, from the bundled model (`python -m embedviz.senses_view`)."""
    from embedviz.gallery import gallery
    from embedviz.models.load import load
    from embedviz.projection.aligned import aligned_pca

    model = load("smollm2-135m")
    found = contextual_vectors(model, gallery()[EXAMPLE].occurrences("before", EXAMPLE_SENTENCES))
    senses = [one.sense for one in found.occurrences]
    measures = by_layer(found.vectors, senses)
    opening = measures.best_layer or 1
    places = aligned_pca(found.vectors, start=opening, groups=senses)
    clues = clue_words(model, found, opening)
    save(view(model, EXAMPLE, found, measures, places, random_pairs(model), clues), STORED)


if __name__ == "__main__":
    store_example()
