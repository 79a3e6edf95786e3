"""Writing folders so that a killed run, a full disk or a second process leaves nothing half-written behind.

Next to each other there can be:

    <name>/             whole, or not there at all
    .partial-<name>/    being written: gets its name when whole; cleared by the next run if killed
    .old-<name>/        on its way out
    .<name>.lock        held by the one process that writes <name>
"""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from embedviz.errors import ModelUnavailable
from embedviz.models.spec import size_words

_PARTIAL, _OLD = ".partial-", ".old-"


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


def disk_is_full(error: BaseException) -> bool:
    """Whether an error, the system's or a library's, comes from a full disk."""
    # safetensors reports the system's error in words only; 112 is Windows' number for a full disk.
    full = isinstance(error, OSError) and (error.errno == errno.ENOSPC or getattr(error, "winerror", None) == 112)
    return full or any(f"os error {number})" in str(error) for number in (errno.ENOSPC, 112))


@contextmanager
def only_writer(target: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold a folder's lock, which the system frees even when its holder is killed.

    `waiting` is called when another process holds it. Raises OSError where nothing can be written.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(target.with_name(f".{target.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        waiting()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """An empty folder to write into: it takes the target's place when the block ends, and is gone when that fails."""
    partial = target.with_name(_PARTIAL + target.name)
    _delete(partial)
    try:
        partial.mkdir()
        yield partial
        _flush(partial)
        _step_aside(target)
        os.replace(partial, target)
        _delete(target.with_name(_OLD + target.name))
    except BaseException:
        _delete(partial)
        raise


def remove_folder(target: Path) -> None:
    """Delete a folder and what killed runs have left of it. Raises OSError when it is in use."""
    _step_aside(target)
    for prefix in (_OLD, _PARTIAL):
        _delete(target.with_name(prefix + target.name))


def name_when_whole(folder: Path) -> str:
    """The name that a half-written or half-deleted folder belongs to; a whole one's own name."""
    return folder.name.removeprefix(_PARTIAL).removeprefix(_OLD)


def _step_aside(target: Path) -> None:
    # Windows replaces no folder by a folder, so the old one steps aside first; killed in between, there is none.
    old = target.with_name(_OLD + target.name)
    _delete(old)
    if target.exists():
        os.replace(target, old)


def _delete(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _flush(folder: Path) -> None:
    """Have the disk hold every file before the folder gets its final name."""
    for file in folder.iterdir():
        with file.open("r+b") as opened:
            os.fsync(opened.fileno())
