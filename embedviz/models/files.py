"""The files of a model: which of a folder's count, and reading the small ones.

Only safetensors and GGUF are read: pickle files can run code when they are opened.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embedviz.errors import ModelUnavailable
from embedviz.models.progress import Progress, silent

CONFIG_FILES = ("config.json", "generation_config.json", "model.safetensors.index.json")
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "tokenizer.model",
)


@dataclass(frozen=True)
class FileRecord:
    """One file of a model: its name in the folder, its size in bytes, its sha256 in hex."""

    name: str
    size: int
    sha256: str


def gguf_file(path: Path) -> Path | None:
    """The one GGUF file at a path or in its folder; None for a folder with a `config.json` or without GGUF."""
    with readable(path):
        if path.is_file():
            if path.suffix.lower() == ".gguf":
                return path
            raise ModelUnavailable(f"{path} is a file but not GGUF: give a .gguf file or a model folder.")
        if not path.exists():
            raise ModelUnavailable(f"There is no folder {path}: check the path.")
        names = sorted(entry.name for entry in path.iterdir())
    found = [name for name in names if name.lower().endswith(".gguf")]
    if "config.json" in names or not found:
        return None
    if len(found) > 1:
        raise ModelUnavailable(f"{path} holds {len(found)} GGUF files: name one, for example {path / found[0]}.")
    return path / found[0]


def original_files(path: Path) -> tuple[Path, ...]:
    """The files of a model folder that decide its numbers, or the one GGUF file: weights, configuration, tokenizer."""
    if (gguf := gguf_file(path)) is not None:
        return (gguf,)
    names = [path / name for name in (*CONFIG_FILES, *TOKENIZER_FILES)]
    return tuple(sorted({*(file for file in names if file.exists()), *path.glob("*.safetensors")}))


def weight_files(path: Path) -> list[Path]:
    """The safetensors files that together hold the weights, all of them present. Raises `ModelUnavailable`."""
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


def read_json(path: Path) -> dict[str, Any]:
    """An object from a model folder's JSON file. Raises `ModelUnavailable` with what is wrong."""
    with readable(path):
        refuse_lfs_pointer(path, "file")
        content = path.read_bytes()
    try:
        found = json.loads(content.decode("utf-8"))
    except ValueError as error:
        raise ModelUnavailable(f"{path} is not valid JSON ({error}): get the folder again from its source.") from error
    if not isinstance(found, dict):
        raise ModelUnavailable(f"{path} holds no JSON object: get the folder again from its source.")
    return found


def refuse_lfs_pointer(path: Path, what: str) -> None:
    """Raise `ModelUnavailable` for the short text that Git LFS leaves in the place of a file."""
    with path.open("rb") as file:
        if file.read(26) == b"version https://git-lfs.gi":
            raise ModelUnavailable(f"{path} is a Git LFS pointer, not the {what}: run `git lfs pull` in that folder.")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn the system's refusals to read a path into `ModelUnavailable`."""
    try:
        yield
    except OSError as error:
        raise ModelUnavailable(f"{path} cannot be read ({error.strerror}): check its permissions.") from error


def sha256_of(file: Path, block: int = 1 << 22) -> str:
    """The sha256 of a file, in hex."""
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while piece := opened.read(block):
            digest.update(piece)
    return digest.hexdigest()


def records_of(files: Iterable[Path], progress: Progress = silent) -> list[FileRecord]:
    """Name, size and checksum of each file."""
    files = list(files)
    records = []
    for count, file in enumerate(files):
        progress(f"Checking {file.name}", count / len(files))
        records.append(FileRecord(file.name, file.stat().st_size, sha256_of(file)))
    return records
