"""The code of edited scores, run as a person would run it, prints the page's numbers."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable
from pathlib import Path

import pytest

from embedviz.edits import Edit
from embedviz.models.language_model import LanguageModel
from embedviz.next_token import candidates, next_token
from embedviz.snippets import edits_code

Tiny = Callable[[str], LanguageModel]
EDITS = [
    Edit(1, "scale", 0.5),
    Edit(1, "noise", 0.3, seed=7),
    Edit(2, "slide", 0.25, " bank"),
    Edit(2, "shuffle", seed=3),
    Edit(3, "swap", target="#40"),
    Edit(3, "scale", -2.0),
    Edit(0, "paste", values=tuple(k / 10 for k in range(16))),
]


def printed(code: str) -> list[str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "snippet", "exec"), {})
    return out.getvalue().splitlines()


@pytest.mark.parametrize("start_token", [False, True])
@pytest.mark.parametrize("edits", [[], EDITS, [Edit(2, "zero")], [Edit(2, "mean")]])
@pytest.mark.parametrize("name", ["gpt2", "llama", "gpt_neox"])
def test_each_operation(
    tiny: Tiny, name: str, edits: list[Edit], start_token: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBEDVIZ_CACHE", str(tmp_path))
    model = tiny(name)
    for text in ('The bank of the "river"\n', "The bank of the river " * 30):
        result = next_token(model, text, edits=edits, start_token=start_token)
        best = candidates(model, result.distribution, 4)
        lines = printed(edits_code(model, result.tokens, edits, top=4))
        assert [int(line.split()[0]) for line in lines] == [one.entry.id for one in best]
        assert [float(line.split()[-1]) for line in lines] == pytest.approx([one.probability for one in best], abs=2e-3)


@pytest.mark.real_model
def test_half_way_from_river_to_national(smollm2: LanguageModel) -> None:
    edits = [Edit(1, "slide", 0.5, " national")]
    code = edits_code(smollm2, smollm2.tokenise("The river bank"), edits, top=1)
    assert "rows[1] = 0.5 * rows[1] + 0.5 * table[" in code
    assert printed(code) == ["282 ' of' 0.393"]
