"""The command line as people call it: what it prints, and one line and exit code 2 for what cannot be done."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from embedviz import cli
from embedviz.models.catalog import find
from embedviz.models.prepare import prepare
from tiny_models import save

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("EMBEDVIZ_CACHE", str(folder))
        yield folder


def prepared(folder: Path) -> str:
    """Prepare a folder beforehand, so that no test finds the lines of preparation on stderr."""
    prepare(find(str(folder)))
    return str(folder)


@pytest.fixture(scope="module")
def folder(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return prepared(save("gpt2", tmp_path_factory.mktemp("gpt2")))


@pytest.fixture(scope="module")
def encoder(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return prepared(save("bert", tmp_path_factory.mktemp("bert")))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def test_lookup_gives_the_contract(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    code, out, _ = run(capsys, "lookup", "The bank 😃", "--rows", "--json", "--model", folder)
    answer = json.loads(out)
    assert code == 0
    assert set(answer) == {"model", "table", "tokens"}
    assert answer["table"] == {"rows": 400, "dimensions": 16, "tied": True}
    bank = answer["tokens"][1]
    assert {key: bank[key] for key in ("position", "text", "piece", "bytes", "start", "end", "special")} == {
        "position": 1, "text": " bank", "piece": "Ġbank", "bytes": "20 62 61 6e 6b", "start": 3, "end": 8,
        "special": False,
    }  # fmt: skip
    assert len(bank["row"]) == 16
    assert bank["norm"] == pytest.approx(sum(value**2 for value in bank["row"]) ** 0.5, rel=1e-5)
    assert answer["tokens"][-1]["part"] == {"number": 4, "of": 4, "characters": "😃"}


def test_scores_give_the_contract(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    code, out, _ = run(capsys, "scores", "The bank", "--top", "3", "--json", "--model", folder)
    answer = json.loads(out)
    assert code == 0
    assert set(answer) == {"model", "tokens", "path", "self_check", "next", "continuation"}
    assert answer["path"] == "inputs_embeds"
    assert answer["self_check"]["max_abs_difference"] < 1e-4
    assert [one["rank"] for one in answer["next"]] == [1, 2, 3]
    assert set(answer["next"][0]) == {"rank", "id", "text", "logit", "probability"}
    assert answer["continuation"] is None


def test_continuing_is_repeatable_and_greedy_at_zero(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    answers = [
        json.loads(run(capsys, "scores", "The bank", "--continue", "5", *extra, "--json", "--model", folder)[1])
        for extra in (["--seed", "3"], ["--seed", "3"], ["--temperature", "0"])
    ]
    assert answers[0]["continuation"] == answers[1]["continuation"]
    best = answers[2]["next"][0]["text"]
    assert answers[2]["continuation"].startswith("The bank" + best)


def test_text_from_standard_input(folder: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "embedviz", "lookup", "-", "--json", "--model", folder],
        input=b"a\0b\nc\n", capture_output=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert json.loads(done.stdout)["tokens"][-1]["text"].endswith("c")
    assert "1 character that is no text was replaced" in done.stderr.decode()


def test_long_text_is_cut_and_said(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    code, out, err = run(capsys, "scores", "bank " * 10_000, "--json", "--model", folder)
    assert code == 0
    assert "64 of 10,002 tokens used: this model reads no more at once." in err
    assert len(json.loads(out)["tokens"]) == 64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scores", ""], "blank: type a sentence"),
        (["scores", " \n\t"], "blank: type a sentence"),
        (["lookup", ""], "empty: type a word"),
        (["scores", "x", "--top", "0"], "at least 1; 0 was given"),
        (["scores", "x", "--top", "many"], "valid integer"),
        (["scores", "x", "--temperature", "-1"], "temperature must be 0 or more"),
        (["scores", "x", "--temperature", "nan"], "temperature must be 0 or more"),
        (["scores", "x", "--top-p", "2"], "between 0 and 1"),
        (["scores", "x", "--continue", "-3"], "0 or more; -3"),
        (["neighbours", "x", "--top", "0"], "at least 1; 0 was given"),
        (["neighbours", "x", "--metric", "manhattan"], "choose cosine, dot or euclidean"),
        (["analogy", "x", "y", "z", "--top", "-1"], "at least 1; -1 was given"),
        (["analogy", "x", "y"], "Missing argument"),
        (["scores"], "Missing argument"),
        (["scores", "x", "--nonsense"], "No such option"),
        (["nonsense"], "No such command"),
        (["lookup", "x", "--model", "gpt2-small"], "There is no model 'gpt2-small'"),
        (["lookup", "x", "--model", ""], "No model was named"),
        (["serve", "--port", "0"], "from 1 to 65535"),
        (["serve", "--address", "no.such.host.invalid"], "no address of this machine"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], cache: Path, arguments: list[str], message: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err


def test_an_encoder_has_no_next_token(capsys: pytest.CaptureFixture[str], encoder: str) -> None:
    code, _, err = run(capsys, "scores", "The bank", "--model", encoder)
    assert code == 2
    assert "reads both ways and has no next token" in err


def test_neighbours_gives_the_contract(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    for metric in ("cosine", "dot", "euclidean"):
        arguments = ("neighbours", " bank", "--top", "4", "--metric", metric, "--model", folder)
        code, out, _ = run(capsys, *arguments, "--json")
        answer = json.loads(out)
        assert code == 0
        assert set(answer) == {"token", "baseline", "neighbours"}
        assert set(answer["baseline"]) == {"mean", "std"}
        assert answer["token"]["text"] == " bank"
        assert answer["token"]["bytes"] == "20 62 61 6e 6b"
        values = [one["value"] for one in answer["neighbours"]]
        assert values == sorted(values, reverse=metric != "euclidean")
        assert len(values) == 4
        assert all(set(one) == {"id", "text", "value"} for one in answer["neighbours"])
        assert answer["token"]["id"] not in [one["id"] for one in answer["neighbours"]]
        told = run(capsys, *arguments)[1]
        assert "Left out: ␣bank, 1 special token." in told
        assert f"{'lower' if metric == 'euclidean' else 'higher'} is nearer" in told


def test_a_token_may_be_named_by_its_id(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    by_text = json.loads(run(capsys, "neighbours", " bank", "--json", "--model", folder)[1])
    by_id = run(capsys, "neighbours", f"#{by_text['token']['id']}", "--json", "--model", folder)[1]
    assert json.loads(by_id) == by_text


def test_a_twin_with_a_space_is_hinted_at_beside_the_result(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    _, out, err = run(capsys, "neighbours", "at", "--json", "--model", folder)
    assert json.loads(out)["token"]["text"] == "at"
    assert err == "No space stands before at; ␣at is another row.\n"
    assert "␣at is another row" in run(capsys, "analogy", "at", " the", " of", "--model", folder)[2]
    assert run(capsys, "neighbours", " at", "--model", folder)[2] == ""


def test_analogy_gives_the_contract(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    plain, centred = (
        json.loads(run(capsys, "analogy", " bank", " the", " of", *extra, "--json", "--model", folder)[1])
        for extra in ((), ("--centre",))
    )
    assert set(plain) == {"neighbours"}
    assert len(plain["neighbours"]) == 10
    assert all(set(one) == {"id", "text", "value"} for one in plain["neighbours"])
    assert plain != centred
    told = run(capsys, "analogy", " bank", " the", " of", "--model", folder)[1]
    assert "␣bank − ␣the + ␣of. ␣the is to ␣bank as ␣of is to …" in told
    assert "Left out: ␣bank, ␣the, ␣of, 1 special token." in told


def test_equal_words_in_a_sum_are_said_on_stderr(capsys: pytest.CaptureFixture[str], folder: str) -> None:
    code, out, err = run(capsys, "analogy", " the", " the", " the", "--json", "--model", folder)
    assert (code, len(json.loads(out)["neighbours"])) == (0, 10)
    assert err == "All three are ␣the: the sum is its own row, and these are its neighbours.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["neighbours", "bankers"], "tokens: "),
        (["analogy", " bank", "bankers", " the"], "bankers is "),
        (["neighbours", "#400"], "Ids run from 0 to 399; 400 is not one of them."),
        (["neighbours", "#1.5"], "An id is a whole number from 0 to 399; 1.5 is none."),
        (["neighbours", ""], "Nothing was typed"),
    ],
)
def test_what_is_not_one_token_is_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], folder: str, arguments: list[str], message: str
) -> None:
    code, out, err = run(capsys, *arguments, "--model", folder)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert message in err


def test_models_lists_the_catalog_and_where_it_is_kept(capsys: pytest.CaptureFixture[str], cache: Path) -> None:
    listed = json.loads(run(capsys, "models", "--json")[1])
    assert [one["name"] for one in listed][:3] == ["smollm2-135m", "minilm-l6", "gpt2"]
    assert {one["name"]: one["state"] for one in listed}["gpt2"] == "not prepared"
    assert run(capsys, "models", "--path")[1].strip() == str(cache)
    assert "4-bit" in next(one["quantisation"] for one in listed if one["name"] == "smollm2-135m")


def test_prepare_then_remove(capsys: pytest.CaptureFixture[str], cache: Path, tmp_path: Path) -> None:
    folder = str(save("llama", tmp_path / "llama"))
    assert run(capsys, "prepare", folder)[0] == 0
    assert json.loads(run(capsys, "models", "--model", folder, "--json")[1])[0]["state"] == "ready"
    assert "freed" in run(capsys, "prepare", "--remove", folder)[1]
    assert json.loads(run(capsys, "models", "--model", folder, "--json")[1])[0]["state"] == "not prepared"


def test_importing_the_package_and_its_help_needs_neither_torch_nor_streamlit() -> None:
    code = "import sys, embedviz, embedviz.cli, embedviz.thread as t; t.restore()"
    code += "; print({'torch', 'transformers', 'streamlit'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["scores", "x", "--seed", "-1", "--continue", "2"], "A seed is a number from 0 on"),
        (["scores", "x", "--edit", "explode"], "is no edit"),
        (["doctor", "--port", "-5"], "from 1 to 65535"),
    ],
)
def test_numbers_that_mean_nothing_are_refused_before_a_model_is_loaded(
    capsys: pytest.CaptureFixture[str], cache: Path, arguments: list[str], message: str
) -> None:
    code, _, err = run(capsys, *arguments)
    assert (code, err.count("\n")) == (2, 1)
    assert message in err


def test_a_wrong_default_model_is_said_before_the_server_starts(
    capsys: pytest.CaptureFixture[str], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBEDVIZ_MODEL", "zzz")
    code, _, err = run(capsys, "serve", "--no-open-browser")
    assert code == 2
    assert "There is no model 'zzz'" in err
