"""A word's senses and vectors straight from a file: the commands `senses` and `vectors`, as calls of the same names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from embedviz.context_measures import Numbers
from embedviz.contextual import ContextualVectors, Pooling, contextual_vectors, random_pairs
from embedviz.errors import BadInput
from embedviz.nearest_sense import Accuracy, on_second_set
from embedviz.numbers import things
from embedviz.occurrence_files import MOST_BYTES, read_file
from embedviz.occurrences import MOST, Occurrence, Occurrences, Skipped
from embedviz.senses import SensesByLayer, by_layer
from embedviz.tokens import visible_line

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel

# A file to read, or what was read before.
Given = str | Path | Occurrences | Sequence[Occurrence]
Told = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class WordSenses:
    """The senses of a word's uses, layer by layer.

    found: the uses that were read, with those skipped. test: those of the second set; None without one.
    measures: of `found` alone, leave one out. accuracy: on the second set where there is one, else that of `measures`.
    baseline: (layer,) mean cosine of two different words of our own text.
    """

    word: str
    found: ContextualVectors
    test: ContextualVectors | None
    measures: SensesByLayer
    accuracy: Accuracy
    baseline: Numbers

    @property
    def within(self) -> Numbers:
        """(layer,) mean cosine of two uses in one sense; NaN without such a pair."""
        return self.measures.similarity.within

    @property
    def between(self) -> Numbers:
        """(layer,) mean cosine of two uses in different senses; NaN without such a pair."""
        return self.measures.similarity.between


def senses(
    model: LanguageModel,
    given: Given,
    *,
    test: Given | None = None,
    word: str | None = None,
    pooling: Pooling = "mean",
    start_token: bool | None = None,
    progress: Told | None = None,
) -> WordSenses:
    """How far the senses of a word are apart at each layer, in the uses of a file or in some at hand.

    test: a second set, on which the accuracy of nearest centroids is measured. The others as in `vectors`.
    """
    read = uses(given, word)
    found = vectors(model, read, pooling=pooling, start_token=start_token, progress=progress)
    second = None
    if test is not None:
        second = vectors(model, uses(test, word), pooling=pooling, start_token=start_token, progress=progress)
    own = [one.sense for one in found.occurrences]
    measures = by_layer(found.vectors, own)
    accuracy = measures.accuracy
    if second is not None:
        accuracy = on_second_set(found.vectors, own, second.vectors, [one.sense for one in second.occurrences])
    baseline = random_pairs(model, start_token=found.start_token)
    return WordSenses(read.word, found, second, measures, accuracy, baseline)


def vectors(
    model: LanguageModel,
    given: Given,
    *,
    word: str | None = None,
    pooling: Pooling = "mean",
    start_token: bool | None = None,
    progress: Told | None = None,
) -> ContextualVectors:
    """The vectors of a word at all layers, in the uses of a file or in some at hand, as long as the model can read.

    word: as in `read_lines`, for a file. pooling, start_token, progress: as in `contextual_vectors`.
    The result's `skipped` and `notes` begin with the file's. Raises BadInput where no use can be read.
    """
    read = uses(given, word)
    found = contextual_vectors(
        model, read.occurrences, pooling=pooling, start_token=start_token, limit=None, progress=progress
    )
    skipped = tuple(sorted((*read.skipped, *found.skipped), key=lambda one: one.line))
    if not found.occurrences:
        raise BadInput(f"No use of {visible_line(read.word)} can be read; {_first(skipped)}")
    asked = found.asked + len(read.skipped)
    return replace(found, skipped=skipped, notes=(*read.notes, *found.notes), asked=asked)


def uses(given: Given, word: str | None = None, *, inflected: bool = False, most: int = MOST) -> Occurrences:
    """The uses in a file, read as `read_file` does, or those at hand. Raises BadInput where there is none."""
    if isinstance(given, Occurrences):
        read, where = given, ""
    elif isinstance(given, str | Path):
        path = Path(given)
        read = read_file(path.name, _bytes(path), word, inflected=inflected, most=most)
        where = f"{visible_line(path.name)}: "
    else:
        spelt = Counter(one.word for one in given).most_common(1)
        read, where = Occurrences(word or (spelt[0][0] if spelt else ""), tuple(given)), ""
    if read.occurrences:
        return read
    if not read.skipped:
        raise BadInput(f"{where}no sentence was found." if where else "No sentence was given.")
    raise BadInput(f"{where}nothing of {things(len(read.skipped), 'line')} can be used; {_first(read.skipped)}")


def _first(skipped: Sequence[Skipped]) -> str:
    return f"line {skipped[0].line}: {skipped[0].reason}"


def _bytes(path: Path) -> bytes:
    shown = visible_line(str(path))
    try:
        if path.is_dir():
            raise BadInput(f"{shown} is a folder: name a file in it.")
        with path.open("rb") as file:
            # One more than is read, so that the reader can refuse a file of any size.
            return file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise BadInput(f"There is no file {shown}: check its name and folder.") from None
    except OSError as error:
        raise BadInput(f"{shown} cannot be read ({error.strerror}): choose another file.") from error
