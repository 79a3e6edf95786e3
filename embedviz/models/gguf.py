"""The header of a GGUF file: what it says of its model, and which tensors it holds; the weights stay unread.

The layout is that of the GGUF specification, versions 2 and 3. The gguf package takes 1.8 s to read the bundled model's
header, this takes a tenth of it, and a file is read once until it changes.
"""

import functools
import math
import mmap
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embedviz.errors import ModelUnavailable
from embedviz.models.files import readable, refuse_lfs_pointer


@dataclass(frozen=True)
class GgufHeader:
    """A GGUF file's metadata and tensors: name → (shape, type number, first byte counted from the file's start)."""

    metadata: Mapping[str, Any]
    tensors: Mapping[str, tuple[tuple[int, ...], int, int]]

    @property
    def bytes_in_float32(self) -> int:
        """The size of the weights once they are float32."""
        return 4 * sum(math.prod(shape) for shape, _, _ in self.tensors.values())

    @property
    def quantisation(self) -> str:
        """The bits of blocks and table as their type names state them: "4-bit blocks, 8-bit table", or "none"."""
        matrices = {name: kind for name, (shape, kind, _) in self.tensors.items() if len(shape) > 1}
        blocks = {_bits(kind) for name, kind in matrices.items() if name.startswith("blk.")}
        table = _bits(self.tensors["token_embd.weight"][1])
        if min(blocks | {table}) >= 16:
            return "none"
        return f"{min(blocks, default=table)}-bit blocks, {table}-bit table"


def read_gguf_header(path: Path) -> GgufHeader:
    """Read a GGUF file's header. Raises `ModelUnavailable` when it is cut short or of a version not read here."""
    with readable(path):
        stat = path.stat()
        return _read(path, stat.st_size, stat.st_mtime_ns)


@functools.lru_cache(maxsize=8)
def _read(path: Path, size: int, _mtime_ns: int) -> GgufHeader:
    refuse_lfs_pointer(path, "weights")
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _parse(data, path)
    except (struct.error, ValueError, KeyError, OverflowError, MemoryError) as error:
        message = f"{path} is cut short or damaged ({size:,} bytes): get it again from its source."
        raise ModelUnavailable(message) from error


_SCALARS = dict(zip(range(13), ("<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?", "", "", "<Q", "<q", "<d"), strict=True))


def _parse(data: mmap.mmap, path: Path) -> GgufHeader:
    at = 4

    def take(form: str) -> Any:
        nonlocal at
        (value,) = struct.unpack_from(form, data, at)
        at += struct.calcsize(form)
        return value

    def take_text() -> str:
        nonlocal at
        length = take("<Q")
        if at + length > len(data):
            raise ValueError
        at += length
        return data[at - length : at].decode("utf-8")

    def take_value(kind: int) -> Any:
        if kind == 8:
            return take_text()
        if kind != 9:
            return take(_SCALARS[kind])
        item, count = take("<I"), take("<Q")
        return [take_value(item) for _ in range(count)]

    if data[:4] != b"GGUF":
        raise ModelUnavailable(f"{path} is not GGUF (it begins with {data[:4]!r}): get it again from its source.")
    if (version := take("<I")) not in (2, 3):
        raise ModelUnavailable(f"{path} is GGUF version {version}, and embedviz reads 2 and 3: get a newer file.")
    tensor_count, pair_count = take("<Q"), take("<Q")
    metadata = {take_text(): take_value(take("<I")) for _ in range(pair_count)}
    tensors = {}
    for _ in range(tensor_count):
        name, dims = take_text(), take("<I")
        shape = tuple(take("<Q") for _ in range(dims))[::-1]
        tensors[name] = (shape, take("<I"), take("<Q"))
    step = int(metadata.get("general.alignment", 32))
    first = -(-at // step) * step
    return GgufHeader(metadata, {name: (shape, kind, first + at) for name, (shape, kind, at) in tensors.items()})


def _bits(kind: int) -> int:
    """Bits a weight: 4 for Q4_1, 16 for BF16."""
    from gguf import GGMLQuantizationType

    return int(re.sub(r"\D*(\d+).*", r"\1", GGMLQuantizationType(kind).name))
