"""Preparation: whole or not at all, once, and verified."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import tiny_models
from embedviz.errors import ModelUnavailable
from embedviz.models import disk
from embedviz.models import prepare as module
from embedviz.models.catalog import find
from embedviz.models.describe import describe
from embedviz.models.files import sha256_of
from embedviz.models.prepare import damage, holdings, prepare, ready, remove, verify
from tiny_files import write_gguf

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EMBEDVIZ_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def gguf(tmp_path, cache):
    return describe(write_gguf(tmp_path / "tiny.gguf"))


@pytest.fixture
def folder(tmp_path, cache):
    return describe(tiny_models.save("gpt2", tmp_path / "tiny"))


def names(cache: Path) -> list[str]:
    return sorted(path.name for path in (cache / "models").iterdir() if path.is_dir())


def test_safetensors_are_used_where_they_lie(folder, cache):
    prepared = prepare(folder)
    assert prepared.folder == folder.location.path
    assert {record.name for record in prepared.files} == {
        file.name for file in prepared.folder.iterdir() if file.name != "chat_template.jinja"
    }
    assert [path.name for path in (cache / "models").glob("*/*")] == ["manifest.json"]


def test_the_second_time_nothing_is_done(folder, monkeypatch):
    first = prepare(folder)
    monkeypatch.setattr(module, "local_folder", lambda *_: pytest.fail("looked for the files again"))
    assert prepare(folder, lambda *_: pytest.fail("had something to tell")) == first


def test_a_changed_source_is_prepared_anew(folder):
    prepare(folder)
    file = folder.location.path / "tokenizer_config.json"
    file.write_text(file.read_text() + " ")
    assert ready(folder) is None
    assert damage(folder) == "its files have changed since."
    told = []
    prepare(folder, lambda words, _: told.append(words))
    assert told[0] == f"Preparing {folder.name} again: its files have changed since."
    assert ready(folder) is not None


def test_a_cut_or_missing_prepared_file_is_damage_and_is_mended(gguf):
    prepared = prepare(gguf)
    weights = prepared.folder / "model.safetensors"
    os.truncate(weights, 100)
    assert ready(gguf) is None
    assert "has 100 bytes instead of" in damage(gguf)
    weights.unlink()
    assert "is missing" in damage(gguf)
    assert verify(prepare(gguf)) == ()
    assert damage(gguf) is None


def test_a_changed_byte_is_found_by_checksum(gguf):
    prepared = prepare(gguf)
    with (prepared.folder / "model.safetensors").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    assert ready(gguf) is not None
    assert len(verify(prepared)) == 1
    assert "checksum differs" in verify(prepared)[0]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', "\0"])
def test_a_damaged_record_is_never_taken_for_a_model(folder, cache, text):
    prepare(folder)
    next((cache / "models").glob("*/manifest.json")).write_text(text)
    assert ready(folder) is None
    assert damage(folder)
    assert prepare(folder) == ready(folder)


def test_never_prepared_is_not_damaged(folder):
    assert ready(folder) is None
    assert damage(folder) is None


def test_bundled_weights_are_checked_against_the_published_sum(monkeypatch, tmp_path, cache):
    spec = find("minilm-l6")
    wrong = tiny_models.save("bert", tmp_path / "model")
    monkeypatch.setattr(module, "local_folder", lambda *_: wrong)
    with pytest.raises(ModelUnavailable, match=r"model\.safetensors is damaged.*--force-reinstall"):
        prepare(spec)
    assert names(cache) == []


def test_hub_files_are_checked_against_the_name_of_their_blob(tmp_path, cache, monkeypatch):
    blobs = tmp_path / "blobs"
    blobs.mkdir()
    snapshot = tiny_models.save("gpt2", tmp_path / "snapshot")
    weights = snapshot / "model.safetensors"
    blob = blobs / sha256_of(weights)
    weights.rename(blob)
    try:
        weights.symlink_to(blob)
    except OSError:
        pytest.skip("no symbolic links here")
    monkeypatch.setattr(module, "local_folder", lambda *_: snapshot)
    assert prepare(find("gpt2")).folder == snapshot
    remove("gpt2")
    false_name = blob.rename(blobs / ("0" * 64))
    weights.unlink()
    weights.symlink_to(false_name)
    with pytest.raises(ModelUnavailable, match="hf cache rm model/openai-community/gpt2"):
        prepare(find("gpt2"))


def test_remove_frees_the_space_and_leaves_the_original(gguf, folder, cache):
    prepare(gguf)
    prepare(folder)
    half_written = cache / "models" / f".partial-{names(cache)[0]}"
    half_written.mkdir()
    (half_written / "model.safetensors").write_bytes(bytes(1000))
    held = {holding.name: holding.bytes for holding in holdings()}
    assert set(held) == {gguf.name, folder.name}
    assert sum(held.values()) == sum(file.stat().st_size for file in (cache / "models").glob("*/*"))
    assert [remove(gguf.name), remove(folder.name)] == [held[gguf.name], held[folder.name]]
    assert names(cache) == []
    assert holdings() == ()
    assert gguf.location.path.exists()
    assert (folder.location.path / "model.safetensors").exists()
    assert remove("gpt2") == 0


def child(code: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


# Stops with everything written and nothing in place, until the file named second exists.
SLOW = """
import os, sys, time
from embedviz.models import disk, prepare
from embedviz.models.describe import describe
whole = disk._flush
def slow(folder):
    print("written", flush=True)
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.01)
    whole(folder)
disk._flush = slow
prepare.prepare(describe(sys.argv[1]), lambda words, share: print(words, flush=True))
"""


def lines(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None
    return (line.rstrip("\n") for line in process.stdout)


def test_a_killed_run_leaves_nothing_that_is_taken_for_a_model(gguf, cache):
    process = child(SLOW, str(gguf.location.path), str(cache / "never"))
    assert any(line == "written" for line in lines(process))
    process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    process.communicate(timeout=30)
    assert [name[:9] for name in names(cache)] == [".partial-"]
    assert ready(gguf) is None
    assert damage(gguf) is None
    assert holdings()[0].bytes > 1000
    assert verify(prepare(gguf)) == ()
    assert len(names(cache)) == 1


def test_of_two_processes_one_prepares_and_the_other_waits(gguf, cache):
    go_on = cache / "go on"
    first = child(SLOW, str(gguf.location.path), str(go_on))
    assert any(line == "written" for line in lines(first))
    second = child(SLOW, str(gguf.location.path), str(go_on))
    told = lines(second)
    assert next(told) == f"Another process is preparing {gguf.name}"
    go_on.touch()
    assert list(told) == []  # it found the model ready
    assert (first.communicate(timeout=60)[1], second.communicate(timeout=60)[1]) == ("", "")
    assert (first.returncode, second.returncode) == (0, 0)
    assert ready(gguf) is not None


def fail_to_write(*_: object, **__: object) -> None:
    import safetensors

    raise safetensors.SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")


def system_says_full(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_disk_that_fills_up_is_a_sentence_and_nothing_stays(gguf, cache, monkeypatch):
    import safetensors.torch

    monkeypatch.setattr(safetensors.torch, "save_file", fail_to_write)
    with pytest.raises(ModelUnavailable, match=r"The disk became full while .* kB are needed, .*B are free"):
        prepare(gguf)
    assert names(cache) == []
    monkeypatch.undo()
    monkeypatch.setenv("EMBEDVIZ_CACHE", str(cache))
    monkeypatch.setattr(disk, "_flush", system_says_full)
    with pytest.raises(ModelUnavailable, match="The disk became full"):
        prepare(gguf)
    assert names(cache) == []


def test_too_little_space_is_said_before_anything_is_written(gguf, cache, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1_000_000))
    with pytest.raises(ModelUnavailable, match="50 MB are needed and 1 MB are free"):
        prepare(gguf)
    assert names(cache) == []


def test_a_cache_that_cannot_be_written_is_a_sentence(folder, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("EMBEDVIZ_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(ModelUnavailable, match=r"cannot be written .*set EMBEDVIZ_CACHE"):
        prepare(folder)
    assert holdings() == ()


def test_a_prepared_model_needs_no_writing(folder, cache, monkeypatch):
    prepare(folder)
    monkeypatch.setattr(module, "only_writer", lambda *_: pytest.fail("wrote in a folder that may be read-only"))
    prepare(folder)


@pytest.mark.real_model
def test_the_bundled_encoder_is_used_where_it_lies(cache):
    start = time.perf_counter()
    prepared = prepare(find("minilm-l6"))
    assert time.perf_counter() - start < 60
    assert prepared.folder.name == "model"
    assert verify(prepared) == ()
