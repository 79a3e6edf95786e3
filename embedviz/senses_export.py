"""The senses page's results as tables, and a word's vectors as files."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embedviz.context_measures import Numbers, SimilarityMatrix
from embedviz.contextual import ContextualVectors
from embedviz.errors import BadInput
from embedviz.nearest_sense import Accuracy, Guess, Moved
from embedviz.numbers import count
from embedviz.occurrences import Occurrence
from embedviz.senses_view import SensesView

if TYPE_CHECKING:
    import pandas as pd

ENDINGS = ("npz", "csv", "parquet")
# Rows of a file that are in memory at once, beside the vectors themselves.
ROWS_AT_ONCE = 4_000
# NumPy gives every text of a column the room of the longest, four bytes a character.
MOST_TEXT = 2**30


def uses_table(shown: SensesView, layer: int) -> pd.DataFrame:
    """One line a use at one layer of the picture: sentence, sense, start, end, clue word, place x, y (and z)."""
    import pandas as pd

    places = shown.projection.coordinates[layer]
    columns = _uses(shown.occurrences) | {"clue word": list(shown.clues)}
    return pd.DataFrame(columns | {name: places[:, k] for k, name in zip(range(places.shape[1]), "xyz", strict=False)})


def _uses(occurrences: Sequence[Occurrence]) -> dict[str, list[str] | list[int] | list[str | None]]:
    return {
        "sentence": [one.sentence for one in occurrences],
        "sense": [one.sense for one in occurrences],
        "start": [one.start for one in occurrences],
        "end": [one.end for one in occurrences],
    }


def layers_table(shown: SensesView) -> pd.DataFrame:
    """One line a layer: its mean cosines within and between senses, of any two uses, of a random pair, with the row."""
    import pandas as pd

    return pd.DataFrame(
        {
            "layer": range(len(shown.layers)),
            "name": shown.layers,
            "within": shown.within,
            "between": shown.between,
            "any two": shown.any_two,
            "random": shown.random,
            "row cosine": shown.row_cosine,
            "accuracy": shown.accuracy,
        }
    )


def matrix_table(found: SimilarityMatrix, occurrences: Sequence[Occurrence]) -> pd.DataFrame:
    """One line a use, sense by sense: number, sentence, sense, and the cosine with each use under its number."""
    import pandas as pd

    numbers = found.order + 1
    told = _uses([occurrences[place] for place in found.order.tolist()])
    named = pd.DataFrame({"use": numbers, "sentence": told["sentence"], "sense": told["sense"]})
    return pd.concat([named, pd.DataFrame(found.values, columns=[f"with {k}" for k in numbers])], axis=1)


def moved_table(found: Moved, words: Sequence[str], layer: int) -> pd.DataFrame:
    """One line a word taken out, at one layer: how far the vector moves, and how much of its lean to its sense goes."""
    import pandas as pd

    return pd.DataFrame({"word": words, "moved": found.moved[:, layer], "lean lost": found.lost[:, layer]})


def guess_table(found: Guess) -> pd.DataFrame:
    """One line a layer: the cosine with each sense, the nearest sense, and how far it leads."""
    import pandas as pd

    cosines = {f"cosine with {name}": found.cosines[:, k] for k, name in enumerate(found.senses)}
    answer = {"nearest": found.nearest, "margin": found.margin}
    return pd.DataFrame({"layer": range(len(found.cosines))} | cosines | answer)


def accuracy_table(found: Accuracy, second: Accuracy | None = None) -> pd.DataFrame:
    """One line a layer: accuracy leaving one out, chance, and the accuracy on a second file where there is one."""
    import pandas as pd

    columns = {"layer": range(len(found.by_layer)), "accuracy": found.by_layer, "chance": found.chance}
    return pd.DataFrame(columns | ({} if second is None else {"accuracy, second file": second.by_layer}))


def context_table(self_similarity: Numbers, explainable_variance: Numbers) -> pd.DataFrame:
    """One line a layer: both measures of Ethayarajh (2019) as they are drawn, less the random pair."""
    import pandas as pd

    return pd.DataFrame(
        {
            "layer": range(len(self_similarity)),
            "self-similarity": self_similarity,
            "explainable variance": explainable_variance,
        }
    )


def write_vectors(found: ContextualVectors, path: Path, layers: Sequence[int] | None = None) -> None:
    """Write a word's vectors to a file that ends in .npz, .csv or .parquet; whole, or not at all.

    layers: those to write; None for all. NPZ: `vectors` (occurrence, layer, dimension) float32, `layers`, and an array
    a column: sentence, start, end, sense ("" for none), pieces (the vocabulary's own spelling, a space between).
    CSV and Parquet: a line for each occurrence and layer with the same columns, then the layer and its coordinates.
    Raises BadInput for another ending, and where the file cannot be written.
    """
    ending = _known(path.suffix.lower().removeprefix("."), path.name)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        try:
            with partial.open("wb") as file:
                _write(found, file, ending, layers)
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BadInput(f"{path} cannot be written ({error.strerror or error}): choose another file.") from error


def vectors_file(found: ContextualVectors, ending: str) -> bytes:
    """What `write_vectors` would write to a file with this ending, such as "npz"."""
    file = io.BytesIO()
    _write(found, file, _known(ending, ending), None)
    return file.getvalue()


def _known(ending: str, name: str) -> str:
    if ending not in ENDINGS:
        raise BadInput(f"Vectors are written as .npz, .csv or .parquet: {name} ends in none of these.")
    return ending


def _write(found: ContextualVectors, file: IO[bytes], ending: str, layers: Sequence[int] | None) -> None:
    chosen = np.arange(found.vectors.shape[1]) if layers is None else np.array(layers, dtype=np.int64)
    if ending == "npz":
        _write_npz(found, file, chosen)
        return
    tables = _tables(found, chosen)
    if ending == "csv":
        for number, table in enumerate(tables):
            table.to_csv(file, index=False, header=number == 0, lineterminator="\n")
        return
    import pyarrow as pa
    import pyarrow.parquet

    first = pa.Table.from_pandas(next(tables), preserve_index=False)
    # A column without any sense yet would be of no type, and the next part of another.
    schema = first.schema.set(first.schema.get_field_index("sense"), pa.field("sense", pa.string()))
    with pyarrow.parquet.ParquetWriter(file, schema) as writer:
        writer.write_table(first.cast(schema))
        for table in tables:
            writer.write_table(pa.Table.from_pandas(table, schema=schema, preserve_index=False))


def _pieces(found: ContextualVectors) -> list[str]:
    return [" ".join(piece.piece for piece in pieces) for pieces in found.pieces]


def _write_npz(found: ContextualVectors, file: IO[bytes], chosen: NDArray[np.int64]) -> None:
    columns = _uses(found.occurrences)
    longest = max((len(one.sentence) for one in found.occurrences), default=0)
    if 4 * longest * len(found.occurrences) > MOST_TEXT:
        raise BadInput(f"A sentence of {count(longest)} characters makes the .npz too large: write .parquet instead.")
    # Without a type, a column of no texts would be one of numbers.
    texts = {
        "sentence": columns["sentence"], "sense": [sense or "" for sense in columns["sense"]], "pieces": _pieces(found)
    }  # fmt: skip
    np.savez(
        file, allow_pickle=False, vectors=found.vectors[:, chosen], layers=chosen,
        **{name: np.array(text, dtype=np.str_) for name, text in texts.items()},
        **{name: np.array(columns[name], dtype=np.int64) for name in ("start", "end")},
    )  # fmt: skip


def _tables(found: ContextualVectors, chosen: NDArray[np.int64]) -> Iterator[pd.DataFrame]:
    """The lines of the file, some occurrences at a time; at least one table, so that there are columns."""
    import pandas as pd

    pieces, step = _pieces(found), max(1, ROWS_AT_ONCE // max(1, len(chosen)))
    dimensions = found.vectors.shape[2]
    for first in range(0, max(1, len(found.occurrences)), step):
        part = slice(first, first + step)
        told = pd.DataFrame(_uses(found.occurrences[part]) | {"pieces": pieces[part]})
        lines = told.loc[told.index.repeat(len(chosen))].reset_index(drop=True)
        lines["layer"] = np.tile(chosen, len(told))
        values = found.vectors[part][:, chosen].reshape(-1, dimensions)
        yield pd.concat([lines, pd.DataFrame(values, columns=[f"coordinate {k}" for k in range(dimensions)])], axis=1)
