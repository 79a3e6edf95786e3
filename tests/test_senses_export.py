"""The senses page's tables, and vectors written as files that other programs read back unchanged."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from embedviz import senses_export
from embedviz.context_measures import similarity_matrix
from embedviz.contextual import ContextualVectors
from embedviz.errors import BadInput
from embedviz.nearest_sense import guess, leave_one_out, what_moved
from embedviz.occurrences import Occurrence
from embedviz.senses_export import vectors_file, write_vectors
from embedviz.senses_view import restore
from embedviz.tokens import Token

SENSES = ("river", None, "NA")


def piece(text: str) -> Token:
    return Token(1, text, text, text.encode(), False, "text", 1, 0, 1)


def found(number: int = 3, layers: int = 4) -> ContextualVectors:
    vectors = np.random.default_rng(0).normal(size=(number, layers, 5)).astype(np.float32)
    uses = tuple(Occurrence(f'{k}, "the"\nbank ü', 9, 13, SENSES[k % 3], k + 1) for k in range(number))
    pieces = tuple((piece("Ġba"), piece("nk")) for _ in range(number))
    return ContextualVectors("tiny", uses, pieces, vectors, "mean", True, (), (), number)


def read(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, keep_default_na=False)


def test_npz_holds_the_vectors_to_the_bit_and_an_array_a_column(tmp_path: Path) -> None:
    one = found()
    write_vectors(one, tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz", allow_pickle=False) as stored:
        assert set(stored.files) == {"vectors", "layers", "sentence", "start", "end", "sense", "pieces"}
        assert stored["vectors"].dtype == np.float32 and np.array_equal(stored["vectors"], one.vectors)
        assert stored["layers"].tolist() == [0, 1, 2, 3]
        assert stored["sentence"].tolist() == [use.sentence for use in one.occurrences]
        assert stored["sense"].tolist() == ["river", "", "NA"] and stored["pieces"].tolist() == ["Ġba nk"] * 3
        assert stored["start"].tolist() == [9] * 3 and stored["end"].tolist() == [13] * 3


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("layers", [None, (3, 0)])
def test_tables_have_a_line_for_each_occurrence_and_layer(
    tmp_path: Path, ending: str, layers: Sequence[int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(senses_export, "ROWS_AT_ONCE", 8)  # several parts, the last one smaller
    one, path = found(7), tmp_path / f"out.{ending.upper() if ending == 'csv' else ending}"
    write_vectors(one, path, layers)
    table, chosen = read(path), list(range(4)) if layers is None else list(layers)
    assert list(table.columns[:6]) == ["sentence", "sense", "start", "end", "pieces", "layer"]
    assert table["layer"].tolist() == chosen * 7
    assert table["sentence"].tolist() == [use.sentence for use in one.occurrences for _ in chosen]
    expected = ["" if use.sense is None else use.sense for use in one.occurrences for _ in chosen]
    assert table["sense"].fillna("").tolist() == expected and table["pieces"].iloc[0] == "Ġba nk"
    values = table[[f"coordinate {k}" for k in range(5)]].to_numpy(dtype=np.float32).reshape(7, -1, 5)
    assert np.array_equal(values, one.vectors[:, chosen])


@pytest.mark.parametrize("ending", ["npz", "csv", "parquet"])
def test_no_occurrence_makes_a_file_with_its_columns(tmp_path: Path, ending: str) -> None:
    write_vectors(found(0), path := tmp_path / f"out.{ending}")
    if ending == "npz":
        with np.load(path, allow_pickle=False) as stored:
            assert stored["vectors"].shape == (0, 4, 5) and stored["sense"].dtype.kind == "U"
    else:
        assert len(read(path)) == 0 and "coordinate 4" in read(path).columns


def test_parquet_whose_first_part_has_no_sense(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(senses_export, "ROWS_AT_ONCE", 1)
    uses = (Occurrence("a bank", 2, 6), Occurrence("b bank", 2, 6, "river"))
    one = ContextualVectors("tiny", uses, ((piece("a"),),) * 2, found(2).vectors, "mean", True, (), (), 2)
    write_vectors(one, tmp_path / "out.parquet")
    assert read(tmp_path / "out.parquet")["sense"].dropna().tolist() == ["river"] * 4


def test_a_download_is_what_a_file_would_be(tmp_path: Path) -> None:
    one = found()
    with np.load(io.BytesIO(vectors_file(one, "npz")), allow_pickle=False) as stored:
        assert np.array_equal(stored["vectors"], one.vectors)
    write_vectors(one, tmp_path / "out.csv")
    assert vectors_file(one, "csv") == (tmp_path / "out.csv").read_bytes()
    assert pd.read_parquet(io.BytesIO(vectors_file(one, "parquet"))).shape == (12, 11)


@pytest.mark.parametrize("name", ["out.txt", "out", "npz"])
def test_another_ending_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadInput, match=f"written as .npz, .csv or .parquet: {name} ends in none"):
        write_vectors(found(), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_written_is_refused_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadInput, match=r"cannot be written \(No such file"):
        write_vectors(found(), tmp_path / "nowhere" / "out.npz")
    (tmp_path / "out.npz").mkdir()
    with pytest.raises(BadInput, match=r"cannot be written"):
        write_vectors(found(), tmp_path / "out.npz")
    write_vectors(found(1), kept := tmp_path / "kept.csv")
    before = kept.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(senses_export, "_write", full)
    with pytest.raises(BadInput, match="No space left"):
        write_vectors(found(), kept)
    assert kept.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.csv", "out.npz"]


def test_a_text_that_would_fill_the_memory_is_refused_for_npz_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(senses_export, "MOST_TEXT", 100)
    with pytest.raises(BadInput, match=r"write \.parquet instead"):
        write_vectors(found(), tmp_path / "out.npz")
    write_vectors(found(), tmp_path / "out.parquet")


def test_the_pages_tables_have_every_number_of_the_figures() -> None:
    shown = restore()
    uses, layers = senses_export.uses_table(shown, 9), senses_export.layers_table(shown)
    assert uses["sentence"].tolist() == [one.sentence for one in shown.occurrences]
    assert np.array_equal(uses[["x", "y"]], shown.projection.coordinates[9]) and "z" not in uses
    assert len(layers) == len(shown.layers) and np.array_equal(layers["within"], shown.within)
    assert np.array_equal(layers["random"], shown.random) and np.array_equal(layers["accuracy"], shown.accuracy)


def test_tables_of_the_deeper_parts() -> None:
    one = found(6)
    senses = [use.sense for use in one.occurrences]
    matrix = similarity_matrix(one.vectors[:, 1], senses)
    table = senses_export.matrix_table(matrix, one.occurrences)
    assert table["use"].tolist() == [1, 4, 3, 6, 2, 5]
    assert table.loc[0, "with 4"] == table.loc[1, "with 1"] == matrix.values[0, 1]
    assert table["sense"].dropna().tolist() == ["river"] * 2 + ["NA"] * 2
    right = leave_one_out(one.vectors, senses)
    assert list(senses_export.accuracy_table(right)) == ["layer", "accuracy", "chance"]
    assert senses_export.accuracy_table(right, right)["accuracy, second file"].tolist() == right.by_layer.tolist()
    nearest = guess(one.vectors, senses, one.vectors[0])
    table = senses_export.guess_table(nearest)
    assert list(table) == ["layer", "cosine with river", "cosine with NA", "nearest", "margin"] and len(table) == 4
    moved = what_moved(one.vectors, senses, "river", one.vectors[0], one.vectors[1:3])
    table = senses_export.moved_table(moved, ["a", "b"], 2)
    assert table["moved"].tolist() == moved.moved[:, 2].tolist() and table["word"].tolist() == ["a", "b"]
    assert len(senses_export.context_table(right.by_layer, right.by_layer)) == 4
    assert list(senses_export.guess_table(guess(one.vectors, [None] * 6, one.vectors[0]))) == [
        "layer", "nearest", "margin"
    ]  # fmt: skip
