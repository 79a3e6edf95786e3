"""From a GGUF file to a folder that a plain `from_pretrained(folder)` loads, its tokenizer mended on the way.

Reading a GGUF file takes transformers 20 s each time, so it is written once as float32 safetensors. torch and
transformers are imported only when a file is converted.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from embedviz.errors import ModelUnavailable
from embedviz.models.disk import require_space
from embedviz.models.gguf import read_gguf_header
from embedviz.models.progress import Progress

# transformers reads weights under process-wide settings, so two models must not be read at the same moment.
loading = threading.Lock()

# transformers gives byte-level vocabularies GPT-2's splitting rule unless it knows better, so for these it is right.
_GPT2_RULE = {
    "gpt-2", "gpt2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "roberta-bpe", "gigachat", "mellum",
    "a.x-4.0", "modern-bert", "jina-es", "jina-de", "jina-v1-en", "jina-v2-es", "jina-v2-de", "jina-v2-code",
}  # fmt: skip
# These split off every digit first, which transformers drops: "x  5" would become x, two single spaces, 5.
_DIGITS_FIRST = {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"}


def convert(gguf: Path, into: Path, progress: Progress) -> tuple[str, ...]:
    """Write a GGUF file's tokenizer, float32 weights (tied head left out) and configuration into a folder.

    Returns notes about the model for the user. Raises `ModelUnavailable` where the disk has no room for it.
    """
    header = read_gguf_header(gguf)
    require_space(into.parent, header.bytes_in_float32 + 50_000_000, f"prepare {gguf.name}")
    # Shares of a first run on two cores: 4 s to start, 6 for the tokenizer, 21 for the weights, 3 for the rest.
    progress("Starting torch and transformers", 0.0)
    import torch
    import transformers

    with loading, _quiet_transformers():
        progress("Reading the tokenizer", 0.1)
        tokenizer = transformers.AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
        notes = _mend_tokenizer(tokenizer, header.metadata)
        tokenizer.save_pretrained(into)
        progress("Reading the weights", 0.3)
        model = transformers.AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    progress("Writing the weights", 0.92)
    config = model.config
    config.architectures = [type(model).__name__]
    for attribute in ("quantization_config", "_name_or_path"):
        if hasattr(config, attribute):
            delattr(config, attribute)
    config.save_pretrained(into)
    _write_weights(model, into / "model.safetensors", progress)
    return notes


def _write_weights(model: Any, file: Path, progress: Progress) -> None:
    import safetensors
    import torch
    from safetensors.torch import save_file

    weights: dict[str, Any] = {}
    seen = set()
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen:  # a tied head is the table itself, stored once
            weights[name] = tensor.contiguous()
        seen.add(tensor.data_ptr())
    save_file(weights, file, metadata={"format": "pt"})
    progress("Checking what was written", 0.97)
    with safetensors.safe_open(file, framework="pt") as written:
        for name, tensor in weights.items():
            if not torch.equal(written.get_tensor(name), tensor):
                raise ModelUnavailable(
                    f"{name} was not written as it was read: check the disk of {file.parent.parent}."
                )


def _mend_tokenizer(tokenizer: Any, said: Mapping[str, Any]) -> tuple[str, ...]:
    """Give a byte-level tokenizer the splitting rule its file names; return a note where that rule is not known."""
    from tokenizers import pre_tokenizers
    from transformers.integrations.gguf.gguf_tokenizer_mapping import GGUF_PRE_TOKENIZER_SPLITS

    backend, rule = tokenizer.backend_tokenizer, said.get("tokenizer.ggml.pre")
    backend.no_padding()
    backend.no_truncation()
    if said.get("tokenizer.ggml.model") != "gpt2" or rule in _GPT2_RULE or rule in GGUF_PRE_TOKENIZER_SPLITS:
        return ()
    if rule in _DIGITS_FIRST:
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=True),
            ]
        )
        return ()
    return (
        f"This file names the splitting rule {rule!r}, which is not known here: GPT-2's rule is used, so the ids of "
        "digits, punctuation and spaces can differ from the model's own.",
    )


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """Keep transformers' bars and notes off the terminal, where our own progress is shown."""
    from transformers import modeling_gguf_pytorch_utils as reader
    from transformers.utils import logging

    bar, verbosity, bars = reader.tqdm, logging.get_verbosity(), logging.is_progress_bar_enabled()
    reader.tqdm = lambda items, **_: items  # this one bar obeys no switch
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        reader.tqdm = bar
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
