"""What the app and its UMAP process say to each other over two pipes: a few words of JSON, and arrays of numbers.

One message is the length of its JSON in 4 bytes, the JSON, and the arrays' bytes one after the other, as the JSON
describes them. Nothing in it can be run, unlike pickle.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]


def write_message(stream: IO[bytes], words: Mapping[str, Any], arrays: Arrays | None = None) -> None:
    """Send words (anything JSON holds) and named arrays of numbers. Raises OSError where the other end is gone."""
    flat = {name: np.ascontiguousarray(array) for name, array in (arrays or {}).items()}
    described = [[name, array.dtype.str, array.shape] for name, array in flat.items()]
    head = json.dumps({"words": words, "arrays": described}).encode()
    stream.write(struct.pack("<I", len(head)) + head)
    for array in flat.values():
        stream.write(array.reshape(-1).view(np.uint8).data)
    stream.flush()


def read_message(stream: IO[bytes]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Wait for the next message. Raises EOFError where the other end is gone, even in the middle of one."""
    (length,) = struct.unpack("<I", _exactly(stream, np.empty(4, np.uint8)).tobytes())
    head = json.loads(_exactly(stream, np.empty(length, np.uint8)).tobytes())
    arrays = {}
    for name, kind, shape in head["arrays"]:
        arrays[name] = np.empty(shape, np.dtype(kind))
        _exactly(stream, arrays[name].reshape(-1).view(np.uint8))
    return head["words"], arrays


def _exactly(stream: IO[bytes], into: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Fill an array with the next bytes of a stream."""
    left = into.data
    while left:
        read = stream.readinto(left)  # type: ignore[attr-defined]
        if not read:
            raise EOFError("the other end of the pipe is closed")
        left = left[read:]
    return into
