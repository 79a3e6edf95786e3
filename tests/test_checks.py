"""Refusing files that cannot be loaded, each with one sentence."""

import json
import shutil
from pathlib import Path

import pytest

import tiny_models
from embedviz.errors import ModelUnavailable
from embedviz.models.checks import check_files
from embedviz.models.describe import describe
from embedviz.models.sources import local_folder
from tiny_files import LFS_POINTER, write_gguf


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return tiny_models.save("gpt2", tmp_path_factory.mktemp("saved") / "tiny")


@pytest.fixture
def folder(saved, tmp_path):
    return Path(shutil.copytree(saved, tmp_path / "tiny"))


def refusal(path: Path) -> str:
    with pytest.raises(ModelUnavailable) as caught:
        check_files(path, describe(path).architecture)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("architecture", sorted(tiny_models.ARCHITECTURES))
def test_whole_folders_of_every_architecture_are_taken(architecture, tmp_path):
    path = tiny_models.save(architecture, tmp_path / architecture)
    spec = describe(path)
    check_files(path, spec.architecture)
    assert local_folder(spec) == path
    assert (spec.blocks, spec.dimensions) == (tiny_models.BLOCKS, tiny_models.DIMENSIONS)


def test_pickle_weights_are_refused(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "only as pickle (pytorch_model.bin)" in refusal(folder)


def test_no_weights_are_said(folder):
    (folder / "model.safetensors").unlink()
    assert "has no weights" in refusal(folder)


def test_an_lfs_pointer_in_place_of_weights_is_said(folder):
    (folder / "model.safetensors").write_text(LFS_POINTER)
    assert "Git LFS pointer" in refusal(folder)


@pytest.mark.parametrize("keep", [0, 4, 50, 5000])
def test_truncated_weights_are_refused(folder, keep):
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:keep])
    assert "get it again" in refusal(folder)


def test_weights_with_bytes_too_many_are_refused(folder):
    with (folder / "model.safetensors").open("ab") as file:
        file.write(b"\0")
    assert "where its header says" in refusal(folder)


def test_a_missing_shard_is_named(folder):
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    weight_map = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    assert "lacks 1 of 2 weight files (model-00002-of-00002.safetensors)" in refusal(folder)


def test_a_cut_shard_is_found(folder):
    (folder / "model.safetensors").rename(folder / "one.safetensors")
    (folder / "two.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{")
    weight_map = {"a": "one.safetensors", "b": "two.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))
    assert "two.safetensors is cut short" in refusal(folder)


def test_a_folder_without_tokenizer_json_is_refused(folder):
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.json").write_text("{}")
    assert "has no tokenizer.json (only vocab.json)" in refusal(folder)


def test_an_unknown_architecture_and_one_without_text_are_refused(folder):
    config = json.loads((folder / "config.json").read_text())
    for kind, answer in (("nosuch", "unknown to the installed transformers"), ("vit", "no table of text tokens")):
        (folder / "config.json").write_text(json.dumps({**config, "model_type": kind}))
        assert answer in refusal(folder)


def test_a_whole_gguf_file_is_taken_by_its_path_and_by_its_folder(tmp_path):
    gguf = write_gguf(tmp_path / "tiny.gguf")
    for path in (gguf, tmp_path):
        check_files(path, describe(path).architecture)


def test_every_truncation_of_a_gguf_file_is_refused(tmp_path):
    gguf = write_gguf(tmp_path / "tiny.gguf")
    whole = gguf.read_bytes()
    for keep in (*range(1, 200, 7), *range(200, len(whole), len(whole) // 40), len(whole) - 33):
        gguf.write_bytes(whole[:keep])
        with pytest.raises(ModelUnavailable, match=r"cut short|not GGUF"):
            check_files(gguf, describe(gguf).architecture)


def test_a_gguf_architecture_that_transformers_does_not_read_is_named(tmp_path):
    assert "architecture 'rwkv7'" in refusal(write_gguf(tmp_path / "x.gguf", "rwkv7"))
