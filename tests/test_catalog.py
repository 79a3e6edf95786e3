"""The catalog: which models there are, and finding one by what people type."""

import os
import subprocess
import sys

import pytest

from embedviz.errors import ModelUnavailable, UnknownModel
from embedviz.models.catalog import CATALOG, Folder, Hub, bundled, default, find, offered
from embedviz.models.spec import folder_key
from tiny_files import write_config

SMOLLM2 = CATALOG[0]


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    monkeypatch.delenv("EMBEDVIZ_MODEL", raising=False)
    monkeypatch.delenv("EMBEDVIZ_MODELS", raising=False)


def test_the_catalog_is_that_of_the_design_and_every_hub_entry_is_pinned():
    assert [spec.name for spec in CATALOG] == [
        "smollm2-135m", "minilm-l6", "gpt2", "distilgpt2", "gpt2-medium", "pythia-160m", "bert-base-uncased",
        "smollm2-135m-full", "qwen3-0.6b",
    ]  # fmt: skip
    assert all(len(spec.location.revision) == 40 for spec in CATALOG if isinstance(spec.location, Hub))
    assert [spec.name for spec in bundled()] == ["smollm2-135m", "minilm-l6"]
    assert [spec.name for spec in CATALOG if not spec.tied] == ["pythia-160m"]
    assert [spec.name for spec in CATALOG if spec.start_token is None] == ["minilm-l6", "bert-base-uncased"]


def test_the_panel_line_says_blocks_shape_size_and_licence():
    assert SMOLLM2.summary == "smollm2-135m: 30 blocks, 576 numbers a row, 49,152 rows, 98 MB. Apache-2.0."
    assert SMOLLM2.reading == "reads left to right"
    assert find("minilm-l6").reading == "reads both ways"


def test_names_are_found_with_spaces_around_them_and_by_their_hub_id():
    assert find(" gpt2 ") is find("openai-community/gpt2") is find("gpt2")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("gpt2-small", "There is no model 'gpt2-small': did you mean gpt2-medium or gpt2?"),
        ("SmolLM2", "smollm2-135m"),
        ("", "No model was named: choose one of smollm2-135m"),
        (" \n", "No model was named"),
        ("https://example.org/openai-community/gpt2", "is a web address"),
        ("someone/gpt3", "is neither in the list nor a folder here"),
        ("\0", "There is no model '\\x00': the names are smollm2-135m"),
        ("\ud800", "There is no model '\\ud800'"),
        ("x" * 5000, "There is no model 'xxxx"),
    ],
)
def test_an_unknown_name_gets_one_sentence_with_the_closest_names(typed, answer):
    with pytest.raises(UnknownModel) as caught:
        find(typed)
    assert answer in str(caught.value)
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


def test_a_missing_folder_and_a_folder_without_config_are_said(tmp_path):
    with pytest.raises(ModelUnavailable, match="There is no folder or file"):
        find(str(tmp_path / "nothing"))
    with pytest.raises(ModelUnavailable, match=r"has no config\.json"):
        find(str(tmp_path))


def test_a_folder_is_described_by_its_config(tmp_path):
    folder = write_config(tmp_path / "tiny model")
    (folder / "tokenizer_config.json").write_text('{"bos_token": {"content": "<s>"}}')
    spec = find(str(folder))
    assert (spec.name, spec.title, spec.location) == (str(folder), "tiny model", Folder(folder))
    assert (spec.blocks, spec.dimensions, spec.rows, spec.context) == (2, 16, 400, 64)
    assert (spec.start_token, spec.tied, spec.reads_left_to_right) == ("<s>", True, True)
    assert find(spec.name) == spec


def test_embedviz_models_adds_folders_under_short_names(tmp_path, monkeypatch):
    mine, same_name = write_config(tmp_path / "mine"), write_config(tmp_path / "gpt2")
    monkeypatch.setenv("EMBEDVIZ_MODELS", os.pathsep.join([str(mine), "gpt2", str(same_name), ""]))
    added = offered()[len(CATALOG) :]
    assert [spec.name for spec in added] == ["mine", folder_key(same_name)]
    assert find("mine", offered_only=True).location == Folder(mine)
    assert find("gpt2", offered_only=True) is find("gpt2")


def test_an_unreadable_entry_of_embedviz_models_is_left_out_and_logged(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("EMBEDVIZ_MODELS", str(tmp_path / "gone"))
    assert offered() == CATALOG
    assert "EMBEDVIZ_MODELS: There is no folder" in caplog.text
    with pytest.raises(UnknownModel):
        find("mystery")


def test_a_visitor_cannot_reach_a_path(tmp_path):
    folder = write_config(tmp_path / "private")
    with pytest.raises(UnknownModel):
        find(str(folder), offered_only=True)
    with pytest.raises(UnknownModel):
        find(str(tmp_path / "nothing"), offered_only=True)


def test_the_default_is_the_bundled_model_unless_set(monkeypatch):
    assert default() is SMOLLM2
    monkeypatch.setenv("EMBEDVIZ_MODEL", "minilm-l6")
    assert default().name == "minilm-l6"
    monkeypatch.setenv("EMBEDVIZ_MODEL", "no such model")
    with pytest.raises(UnknownModel):
        default()


def test_importing_the_catalog_is_light():
    code = "import sys, embedviz.models.prepare; print(*{'torch', 'transformers', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
