"""The commands `senses` and `vectors` on files as people have them, and the library calls of the same names."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from embedviz import cli
from embedviz.contextual import contextual_vectors, random_pairs
from embedviz.errors import BadInput
from embedviz.gallery import gallery
from embedviz.models.catalog import find
from embedviz.models.language_model import LanguageModel
from embedviz.models.load import load
from embedviz.models.prepare import prepare
from embedviz.nearest_sense import on_second_set
from embedviz.occurrence_files import read_file
from embedviz.sense_files import senses, uses, vectors
from embedviz.senses import by_layer
from tiny_models import BLOCKS, DIMENSIONS, save

ROOT = Path(__file__).resolve().parent.parent
TYPED = """The [bank] of the river was steep.\triver
The muddy [bank] rose.\triver
Children fished from the [bank].\triver
She opened an account at the [bank].\tmoney
The clerk left the [bank].\tmoney
Deposits at the [bank] rose.\tmoney
"""
SENTENCES = [line.replace("[", "").replace("]", "").split("\t") for line in TYPED.splitlines()]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("EMBEDVIZ_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def folder(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny GPT-2, prepared beforehand: no test finds the lines of preparation on stderr."""
    saved = str(save("gpt2", tmp_path_factory.mktemp("gpt2")))
    prepare(find(saved))
    return saved


@pytest.fixture(scope="module")
def model(folder: str) -> LanguageModel:
    return load(folder)


@pytest.fixture
def typed(tmp_path: Path) -> Path:
    return write(tmp_path / "bank.txt", TYPED)


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        cli.main([str(one) for one in arguments])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def answer(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    code, out, err = run(capsys, *arguments, "--json")
    assert code == 0, err

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(out, parse_constant=refuse)


def test_senses_gives_the_contract(
    capsys: pytest.CaptureFixture[str], folder: str, model: LanguageModel, typed: Path
) -> None:
    told = answer(capsys, "senses", typed, "--model", folder)
    assert list(told) == ["model", "word", "occurrences", "skipped", "baseline", "layers", "best_layer"]
    assert (told["word"], told["occurrences"], told["skipped"]) == ("bank", 6, [])
    assert [one["name"] for one in told["layers"]] == ["table row", "block 1", "final norm"]
    read = read_file(typed.name, typed.read_bytes())
    found = contextual_vectors(model, read.occurrences)
    measures = by_layer(found.vectors, [one.sense for one in read.occurrences])
    for one in told["layers"]:
        assert list(one) == ["layer", "name", "accuracy", "within", "between", "silhouette"]
        layer = one["layer"]
        assert one["accuracy"] == measures.accuracy.by_layer[layer]
        assert one["within"] == measures.similarity.within[layer]
        assert one["between"] == measures.similarity.between[layer]
        assert one["silhouette"] == measures.silhouette[layer]
    assert told["baseline"] == random_pairs(model).tolist()
    assert told["best_layer"] == measures.best_layer


def test_a_second_set_gives_the_accuracy_and_not_the_best_layer(
    capsys: pytest.CaptureFixture[str], folder: str, model: LanguageModel, typed: Path, tmp_path: Path
) -> None:
    second = write(
        tmp_path / "more.csv",
        "sentence,sense\nThe [bank] of England was not.,money\nThe [bank] was muddy.,river\nA [bank] shot.,billiards\n"
        "A crane.,money\n",
    )
    plain = answer(capsys, "senses", typed, "--model", folder)
    code, out, err = run(capsys, "senses", typed, "--test", second, "--model", folder, "--json")
    told = json.loads(out)
    own, tested = uses(typed), uses(second)
    a, b = (contextual_vectors(model, one.occurrences) for one in (own, tested))
    right = on_second_set(
        a.vectors, [one.sense for one in own.occurrences], b.vectors, [one.sense for one in tested.occurrences]
    )
    assert code == 0
    assert [one["accuracy"] for one in told["layers"]] == right.by_layer.tolist()
    assert (told["best_layer"], told["occurrences"], told["skipped"]) == (plain["best_layer"], 6, [])
    assert [one["within"] for one in told["layers"]] == [one["within"] for one in plain["layers"]]
    assert "more.csv, line 5 skipped: bank does not stand in this line." in err
    assert "more.csv: senses that the first file does not have, and so are not tested: billiards." in err
    lines = run(capsys, "senses", typed, "--test", second, "--model", folder)[1]
    assert "Accuracy of the nearest centroid on 2 uses of more.csv; chance is .50." in lines


def test_a_second_set_of_other_senses_tests_nothing(
    capsys: pytest.CaptureFixture[str], folder: str, typed: Path, tmp_path: Path
) -> None:
    second = write(tmp_path / "more.txt", "A [bank] shot.\tbilliards\n")
    told = answer(capsys, "senses", typed, "--test", second, "--model", folder)
    assert [one["accuracy"] for one in told["layers"]] == [None] * 3
    assert told["best_layer"] is not None


def test_without_senses_the_measures_are_null_and_two_uses_are_compared(
    capsys: pytest.CaptureFixture[str], folder: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "bank.txt", "The bank rose.\nThe bank was steep.\n")
    told = answer(capsys, "senses", path, "--word", "bank", "--model", folder)
    assert told["occurrences"] == 2 and told["best_layer"] is None
    assert all(one[name] is None for one in told["layers"] for name in ("accuracy", "within", "between", "silhouette"))
    assert None not in told["baseline"]
    lines = run(capsys, "senses", path, "--word", "bank", "--model", folder)[1]
    assert "two uses" in lines and "1.000" in lines and "No sentence has a sense." in lines


@pytest.mark.parametrize("text", ["The [bank] rose.\triver\n", "The [bank] rose.\ta\nA [bank] fell.\tb\n"])
def test_one_use_or_one_of_each_sense_is_no_error(
    capsys: pytest.CaptureFixture[str], folder: str, tmp_path: Path, text: str
) -> None:
    path = write(tmp_path / "few.txt", text)
    assert answer(capsys, "senses", path, "--model", folder)["best_layer"] is None
    assert run(capsys, "senses", path, "--model", folder)[0] == 0


def test_layers_are_chosen_for_what_is_shown_alone(
    capsys: pytest.CaptureFixture[str], folder: str, typed: Path
) -> None:
    whole = answer(capsys, "senses", typed, "--model", folder)
    part = answer(capsys, "senses", typed, "--layers", " 2, 0,2", "--model", folder)
    assert part["layers"] == [whole["layers"][2], whole["layers"][0]]
    assert part["baseline"] == [whole["baseline"][2], whole["baseline"][0]]
    assert part["best_layer"] == whole["best_layer"]


def test_lines_to_read_hold_the_table_the_parting_and_what_was_skipped(
    capsys: pytest.CaptureFixture[str], folder: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "bank.txt", TYPED + "A line without it.\triver\n")
    code, out, err = run(capsys, "senses", path, "--model", folder)
    assert (code, err) == (0, "")
    assert "bank: 6 uses (3 river, 3 money)." in out
    assert out.count("\n    ") == 3
    assert "With 6 sentences, guessing could do as well." in out
    assert "Line 7 skipped: bank does not stand in this line." in out


def table(delimiter: str) -> str:
    cells = [["sentence", "sense"], *SENTENCES]
    return "".join(delimiter.join(f'"{cell}"' for cell in row) + "\n" for row in cells)


@pytest.mark.parametrize(
    ("name", "text", "encoding"),
    [
        ("a.csv", table(","), "utf-8-sig"),
        ("a.csv", table(";"), "utf-8"),
        ("a.tsv", table("\t"), "utf-16"),
        ("a.csv", table(";").replace("muddy", "café"), "cp1252"),
        ("a.jsonl", "".join(json.dumps({"sentence": s, "sense": k}) + "\n" for s, k in SENTENCES), "utf-8"),
        ("a.txt", TYPED, "utf-16"),
    ],
)
def test_files_of_all_kinds_give_the_same_uses(
    capsys: pytest.CaptureFixture[str], folder: str, typed: Path, tmp_path: Path, name: str, text: str, encoding: str
) -> None:
    path = write(tmp_path / name, text, encoding)
    told = answer(capsys, "senses", path, "--word", "bank", "--model", folder)
    assert (told["occurrences"], told["skipped"]) == (6, [])
    if encoding != "cp1252":
        assert told == answer(capsys, "senses", typed, "--model", folder)


def test_a_broken_line_costs_that_line_alone(capsys: pytest.CaptureFixture[str], folder: str, tmp_path: Path) -> None:
    good = [json.dumps({"sentence": "The bank rose.", "start": 4, "end": 8, "sense": k}) for k in ("a", "007", "NA")]
    bad = json.dumps({"sentence": "The bank rose.", "word": "bank", "start": 5, "end": 9})
    path = write(tmp_path / "a.jsonl", "\n".join([good[0], "{broken", good[1], bad, good[2]]))
    told = answer(capsys, "senses", path, "--model", folder)
    assert told["occurrences"] == 3
    assert [one["line"] for one in told["skipped"]] == [2, 4]
    assert all(list(one) == ["line", "reason"] for one in told["skipped"])


def test_the_context_is_the_models_and_what_it_cuts_off_is_skipped(
    capsys: pytest.CaptureFixture[str], folder: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "long.txt", TYPED + "The " * 80 + "[bank] rose.\triver\n")
    told = answer(capsys, "senses", path, "--model", folder)
    assert told["occurrences"] == 6
    assert [one["line"] for one in told["skipped"]] == [7]


def test_inflected_forms_and_the_number_of_uses_are_options(
    capsys: pytest.CaptureFixture[str], folder: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.txt", "The bank rose.\nThe banks rose.\nA bank fell.\n")
    shared = ("senses", path, "--word", "bank", "--model", folder)
    assert answer(capsys, *shared)["occurrences"] == 2
    assert answer(capsys, *shared, "--inflected")["occurrences"] == 3
    code, out, err = run(capsys, *shared, "--most", "1", "--json")
    assert (code, json.loads(out)["occurrences"]) == (0, 1)
    assert "The first 1 of 2 occurrences are kept" in err


def test_pooling_and_the_start_token_reach_the_model(
    capsys: pytest.CaptureFixture[str], folder: str, model: LanguageModel, typed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "a.npz"
    read = read_file(typed.name, typed.read_bytes())
    answer(capsys, "vectors", typed, "--out", out, "--pooling", "last", "--no-start-token", "--model", folder)
    plain = contextual_vectors(model, read.occurrences, pooling="last", start_token=False)
    assert np.array_equal(np.load(out)["vectors"], plain.vectors)
    assert not np.array_equal(plain.vectors, contextual_vectors(model, read.occurrences).vectors)


def test_npz_holds_the_vectors_to_the_bit(
    capsys: pytest.CaptureFixture[str], folder: str, model: LanguageModel, typed: Path, tmp_path: Path
) -> None:
    out = tmp_path / "a.npz"
    told = answer(capsys, "vectors", typed, "--layers", "2,0", "--out", out, "--model", folder)
    assert (told["occurrences"], told["layers"], told["dimensions"]) == (6, [2, 0], DIMENSIONS)
    found = vectors(model, typed)
    with np.load(out, allow_pickle=False) as stored:
        assert stored["vectors"].dtype == np.float32
        assert np.array_equal(stored["vectors"], found.vectors[:, [2, 0]])
        assert stored["layers"].tolist() == [2, 0]
        assert stored["sentence"].tolist() == [one.sentence for one in found.occurrences]
        assert stored["sense"].tolist() == ["river"] * 3 + ["money"] * 3
        cut = [one.sentence[a:b] for one, a, b in zip(found.occurrences, stored["start"], stored["end"], strict=True)]
        assert cut == ["bank"] * 6
        assert len(stored["pieces"]) == 6


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_hold_one_row_per_use_and_layer(
    capsys: pytest.CaptureFixture[str], folder: str, model: LanguageModel, typed: Path, tmp_path: Path, kind: str
) -> None:
    out = tmp_path / f"a.{kind.upper()}"
    assert "Written to" in run(capsys, "vectors", typed, "--out", out, "--model", folder)[1]
    written = pd.read_csv(out) if kind == "csv" else pd.read_parquet(out)
    found = vectors(model, typed)
    assert len(written) == 6 * (BLOCKS + 1)
    assert {"sentence", "start", "end", "sense", "pieces", "layer"} <= set(written.columns)
    numbers = written.iloc[:, -DIMENSIONS:].to_numpy()
    flat = found.vectors.reshape(-1, DIMENSIONS)
    if kind == "csv":
        assert np.allclose(numbers, flat, rtol=1e-5, atol=0)
    else:
        assert np.array_equal(numbers.astype(np.float32), flat)
    assert written["layer"].tolist() == list(range(BLOCKS + 1)) * 6
    assert written["sentence"].iloc[BLOCKS + 1] == found.occurrences[1].sentence


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["senses", "none.txt"], "There is no file none.txt"),
        (["senses", "."], "is a folder: name a file in it"),
        (["senses", "bank.xlsx"], "is none of .txt, .csv"),
        (["senses", "bank.txt", "--test", "none.csv"], "There is no file none.csv"),
        (["senses", "bank.txt", "--layers", "99"], "has the layers 0 to 2; 99 is none of them."),
        (["senses", "bank.txt", "--layers", "0,x"], "such as 0,7,11; x is no such number."),
        (["senses", "bank.txt", "--layers", "-1"], "such as 0,7,11; -1 is no such number."),
        (["senses", "bank.txt", "--layers", ""], "a number is missing"),
        (["senses", "bank.txt", "--layers", "1,"], "a number is missing"),
        (["senses", "bank.txt", "--word", "zebra"], "bank.txt: nothing of 6 lines can be used; line 1: zebra does"),
        (["senses", "bank.txt", "--pooling", "median"], "is not one of 'mean', 'first', 'last'"),
        (["senses", "bank.txt", "--most", "0"], "at least 1; 0 was given"),
        (["senses", "empty.csv"], "empty.csv: the file is empty"),
        (["senses", "header.csv"], "header.csv: No sentence was found"),
        (["senses", "header.csv", "--word", "bank"], "header.csv: no sentence was found"),
        (["senses", "long.txt"], "No use of bank can be read; line 1: "),
        (["senses"], "Missing argument"),
        (["vectors", "bank.txt"], "Missing option '--out'"),
        (["vectors", "bank.txt", "--out", "x.xlsx"], "x.xlsx ends in none of these"),
        (["vectors", "bank.txt", "--out", "nowhere/x.npz"], "There is no folder nowhere"),
        (["vectors", "bank.txt", "--out", "folder.npz"], "folder.npz is a folder"),
        (["vectors", "bank.txt", "--out", "x.npz", "--layers", "3"], "3 is none of them"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    arguments: list[str], message: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    write(Path("bank.txt"), TYPED)
    write(Path("bank.xlsx"), "PK")
    write(Path("empty.csv"), "")
    write(Path("header.csv"), "sentence,sense\n")
    write(Path("long.txt"), "The " * 80 + "[bank] rose.\n")
    Path("folder.npz").mkdir()
    code, out, err = run(capsys, *arguments, "--model", folder)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err
    assert not Path("x.npz").exists()


def test_a_reader_that_goes_away_is_not_told(folder: str, typed: Path) -> None:
    command = [sys.executable, "-m", "embedviz", "senses", str(typed), "--model", folder, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as child:
        assert child.stdout is not None and child.stderr is not None
        child.stdout.close()
        assert child.stderr.read() == b""


def test_progress_is_for_those_who_watch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from embedviz.cli import senses as commands

    assert commands._progress() is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(commands, "SECONDS_BETWEEN_LINES", 0)
    told = commands._progress()
    assert told is not None
    told(300, 2000)
    told(2000, 2000)
    assert capsys.readouterr().err == "300 of 2,000 sentences read.\n"


def test_the_library_takes_a_file_or_uses_at_hand(model: LanguageModel, typed: Path) -> None:
    by_path, by_name, at_hand = (senses(model, given) for given in (typed, str(typed), uses(typed).occurrences))
    assert by_path.word == by_name.word == at_hand.word == "bank"
    assert np.array_equal(by_path.within, at_hand.within) and np.array_equal(by_name.between, at_hand.between)
    assert by_path.test is None and by_path.found.complete
    with pytest.raises(BadInput, match="No sentence was given"):
        vectors(model, [])


@pytest.mark.real_model
def test_the_gallerys_senses_part_in_the_real_model(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    bank = gallery()["bank"].occurrences("before", 5)
    rows = [json.dumps({"sentence": b.sentence, "start": b.start, "end": b.end, "sense": b.sense}) for b in bank]
    told = answer(capsys, "senses", write(tmp_path / "bank.jsonl", "\n".join(rows)), "--layers", "0,9,30")
    start, middle, _ = told["layers"]
    assert start["within"] == start["between"] == 1 and start["accuracy"] == 0.5
    assert middle["within"] > middle["between"] + 0.08
    assert middle["accuracy"] >= 0.9
    assert 0.4 < told["baseline"][1] < middle["between"]
