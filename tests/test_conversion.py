"""Conversion from GGUF: the same numbers as the original, and the model's own ids."""

import json
from pathlib import Path

import pytest
import torch

from embedviz.models.catalog import find
from embedviz.models.describe import describe
from embedviz.models.prepare import prepare, ready, verify
from embedviz.models.sources import local_folder
from tiny_files import write_gguf


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EMBEDVIZ_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def gguf(tmp_path, cache):
    return describe(write_gguf(tmp_path / "tiny.gguf"))


def original(path: Path) -> tuple[object, torch.nn.Module]:
    """What transformers itself reads from a GGUF file."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    return tokenizer, AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)


def converted(path: Path) -> tuple[object, torch.nn.Module]:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    return AutoTokenizer.from_pretrained(path), AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)


def assert_same_weights(ours: torch.nn.Module, theirs: torch.nn.Module) -> None:
    left, right = ours.state_dict(), theirs.state_dict()
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)
    assert ours.config.tie_word_embeddings
    assert ours.get_output_embeddings().weight is ours.get_input_embeddings().weight
    assert not hasattr(ours.config, "quantization_config")


def test_a_converted_gguf_loads_plainly_with_the_original_weights_to_the_bit(gguf, capfd):
    told = []
    prepared = prepare(gguf, lambda words, share: told.append((words, share)))
    assert capfd.readouterr() == ("", "")  # no bars of other people's on the terminal
    assert_same_weights(converted(prepared.folder)[1], original(gguf.location.path)[1])
    shares = [share for _, share in told if share is not None]
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert {record.name for record in prepared.files} >= {"model.safetensors", "tokenizer.json", "config.json"}
    assert ready(gguf) == prepared
    assert verify(prepared) == ()


def test_digits_after_spaces_keep_the_spaces_whole(gguf):
    tokenizer, _ = converted(prepare(gguf).folder)
    unmended, _ = original(gguf.location.path)
    assert tokenizer.tokenize("t  5") == ["t", "ĠĠ", "5"]
    assert unmended.tokenize("t  5") == ["t", "Ġ", "Ġ", "5"]
    assert tokenizer.tokenize("the\n\n37") == ["the", "ĊĊ", "3", "7"]
    assert tokenizer.backend_tokenizer.padding is None
    assert tokenizer.backend_tokenizer.truncation is None


def test_a_splitting_rule_that_is_not_known_is_said_and_a_known_one_is_not(tmp_path, cache):
    for rule, expected in (("viking", 1), ("gpt-2", 0), ("qwen2", 0), ("smollm", 0)):
        spec = describe(write_gguf(tmp_path / f"{rule}.gguf", rule=rule))
        assert len(prepare(spec).notes) == expected
        assert len(ready(spec).notes) == expected
    assert "'viking'" in prepare(describe(tmp_path / "viking.gguf")).notes[0]


@pytest.fixture(scope="module")
def smollm2():
    return prepare(find("smollm2-135m"))


@pytest.mark.real_model
def test_the_bundled_model_has_the_ids_of_its_own_tokenizer(smollm2):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(smollm2.folder)
    assert tokenizer("x  5").input_ids == [104, 256, 37]
    assert tokenizer("line\n\n3. item").input_ids == [1311, 1116, 35, 30, 5033]
    assert tokenizer("The river bank").input_ids == [504, 4626, 5461]


@pytest.mark.real_model
def test_the_bundled_model_has_the_weights_of_its_gguf_file_to_the_bit(smollm2):
    assert_same_weights(converted(smollm2.folder)[1], original(local_folder(smollm2.spec))[1])


@pytest.mark.real_model
def test_the_bundled_models_are_what_the_catalog_says(smollm2):
    for spec in (smollm2.spec, find("minilm-l6")):
        said = describe(local_folder(spec))
        for field in ("architecture", "blocks", "dimensions", "rows", "context", "tied", "quantisation", "reading"):
            assert getattr(said, field) == getattr(spec, field), field
        assert said.download_bytes == spec.download_bytes
    config = json.loads((smollm2.folder / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLM"]
