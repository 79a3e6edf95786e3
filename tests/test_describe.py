"""What a folder or a GGUF file says of itself."""

import shutil
from pathlib import Path

import pytest

from embedviz.errors import ModelUnavailable
from embedviz.models.describe import describe
from embedviz.models.gguf import read_gguf_header
from tiny_files import LFS_POINTER, write_config, write_gguf


@pytest.fixture
def gguf(tmp_path):
    return write_gguf(tmp_path / "tiny.gguf")


def test_a_folder_without_a_start_token_has_none(tmp_path):
    assert describe(write_config(tmp_path / "m")).start_token is None


def test_an_encoder_folder_reads_both_ways_and_roberta_keeps_two_positions(tmp_path):
    spec = describe(write_config(tmp_path / "m", model_type="roberta", max_position_embeddings=514))
    assert (spec.reads_left_to_right, spec.next_token_head, spec.start_token, spec.context) == (False, False, None, 512)


@pytest.mark.parametrize(
    ("config", "answer"),
    [
        ({"auto_map": {"AutoModel": "modeling.Mine"}}, "needs code of its own"),
        ({"model_type": ""}, "names no model_type"),
        ({"is_encoder_decoder": True, "model_type": "t5"}, "is an encoder-decoder"),
        ({"vocab_size": None, "model_type": "vit"}, "is no text model"),
    ],
)
def test_a_folder_that_cannot_be_shown_is_refused_with_the_reason(tmp_path, config, answer):
    with pytest.raises(ModelUnavailable, match=answer):
        describe(write_config(tmp_path / "m", **config))


@pytest.mark.parametrize("text", ["{", "[]", "\ud800", "version https://git-lfs.github.com/spec/v1\noid sha256:1\n"])
def test_a_config_that_is_no_config_is_refused(tmp_path, text):
    (tmp_path / "config.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(ModelUnavailable, match=r"config\.json (is|holds)"):
        describe(tmp_path)


def test_an_unreadable_folder_is_said(tmp_path, monkeypatch):
    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", denied)
    with pytest.raises(ModelUnavailable, match=r"cannot be read \(Permission denied\)"):
        describe(tmp_path)


def test_a_gguf_file_or_its_folder_is_described_by_its_header(gguf):
    for path in (gguf, gguf.parent):
        spec = describe(path)
        assert (spec.architecture, spec.blocks, spec.dimensions, spec.rows) == ("llama", 1, 32, 261)
        assert (spec.context, spec.tied, spec.start_token, spec.quantisation) == (64, True, "<|end|>", "none")
    assert read_gguf_header(gguf).bytes_in_float32 == 4 * (261 * 32 + 3 * 32 + 2 * 32 * 32 + 2 * 16 * 32 + 3 * 64 * 32)


def test_an_empty_gguf_file_and_a_pointer_are_refused(gguf):
    gguf.write_bytes(b"")
    with pytest.raises(ModelUnavailable, match="cut short"):
        describe(gguf)
    gguf.write_text(LFS_POINTER)
    with pytest.raises(ModelUnavailable, match="Git LFS pointer"):
        describe(gguf)


def test_several_gguf_files_in_a_folder_ask_for_one(gguf):
    shutil.copy(gguf, gguf.with_name("other.gguf"))
    with pytest.raises(ModelUnavailable, match="holds 2 GGUF files: name one"):
        describe(gguf.parent)
