"""What a model is, before any of it is read: its names, where its files lie, its shape."""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Package:
    """Files inside an installed Python package; `sha256` is that of the weight file."""

    distribution: str
    module: str
    path: str
    weights: str
    sha256: str


@dataclass(frozen=True)
class Hub:
    """A repository of the model hub at one revision."""

    repository: str
    revision: str


@dataclass(frozen=True)
class Folder:
    """A folder of safetensors, or a GGUF file, on this machine."""

    path: Path


@dataclass(frozen=True)
class ModelSpec:
    """What a model is, before any of it is read.

    `rows` and `dimensions` are the shape of the embedding table; `context` is the longest text in tokens;
    `start_token` is the piece fed first for contextual vectors, None for encoders, whose tokenizer adds its own.
    """

    name: str
    title: str
    location: Package | Hub | Folder
    architecture: str
    reads_left_to_right: bool
    next_token_head: bool
    tied: bool
    start_token: str | None
    context: int
    blocks: int
    dimensions: int
    rows: int
    download_bytes: int
    licence: str
    quantisation: str = "none"

    @property
    def reading(self) -> str:
        """How the model looks at a text, as shown on screen."""
        return "reads left to right" if self.reads_left_to_right else "reads both ways"

    @property
    def summary(self) -> str:
        """The model panel's line: blocks, shape of the table, size, licence."""
        return (
            f"{self.name}: {self.blocks} blocks, {self.dimensions:,} numbers a row, {self.rows:,} rows, "
            f"{size_words(self.download_bytes)}. {self.licence}."
        )


def folder_key(path: Path) -> str:
    """A name for a folder that is short, safe in file names and addresses, and differs between equal base names."""
    path = Path(os.path.expanduser(path)).resolve()
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", path.name)[:40]
    return f"folder-{base}-{hashlib.sha256(str(path).encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def size_words(size: float) -> str:
    """Bytes as people read them: "98 MB", "1.5 GB"."""
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= limit:
            return f"{size / limit:.1f} {unit}" if limit == 1e9 else f"{size / limit:.0f} {unit}"
    return f"{size:.0f} bytes"
