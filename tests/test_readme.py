"""What the README shows, run as it stands: its Python prints what it says, and its commands know their options."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from embedviz import cli

README = (Path(__file__).resolve().parent.parent / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.+?)```\s+This prints `(.+?)`", README, re.DOTALL)
COMMANDS = re.findall(r"^\.venv/bin/python -m embedviz (.+)$", README, re.MULTILINE)


def test_there_is_something_to_check() -> None:
    assert len(EXAMPLES) == README.count("```python")
    assert len(COMMANDS) >= 10


@pytest.mark.real_model
@pytest.mark.parametrize(("code", "printed"), EXAMPLES)
def test_an_example_prints_what_the_readme_says(capsys: pytest.CaptureFixture[str], code: str, printed: str) -> None:
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip() == printed


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_understood(command: str) -> None:
    name, *arguments = shlex.split(command, comments=True)
    known = typer.main.get_command(cli.app).commands[name]
    known.make_context(name, arguments)
