"""The map of the whole table: every row that text can select as one point, alike rows near each other.

UMAP on the rows themselves by cosine, no PCA before it: once per model, in the UMAP process, then kept on disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
import threading
import zipfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embedviz.errors import BadInput
from embedviz.models.prepare import cache_folder, ready
from embedviz.models.spec import Folder, ModelSpec, folder_key
from embedviz.numbers import count, share, things
from embedviz.projection.job import Job
from embedviz.projection.umap_client import UmapWorker, shared
from embedviz.table import Vectors
from embedviz.vocabulary_search import entry_list

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel

# Chosen among settings that take as long: benchmarks/table_map.py says which were tried and what each keeps.
SETTINGS: dict[str, Any] = {"n_neighbors": 10, "min_dist": 0.1, "spread": 2.0, "repulsion_strength": 2.0}
SEED = 0
FEWEST_IN_SIGHT = 40
FORMAT = 2  # raise it when maps kept by older versions must not be used any more


@dataclass(frozen=True, eq=False)
class TableMap:
    """A place for every row that text can select.

    model: the model's name.
    ids: (point,) int32, rising. labels: (point,) what a person reads, with visible marks; two may be equal.
    layout: (point, 2) float32; only relative distances mean anything.
    lengths: (point,) float32, of the rows.
    kept: the share of a row's 15 true neighbours by cosine that are among its 15 nearest points.
    note: why it is not kept on disk; empty if it is.
    rows: of the whole table. special, unused, zero: rows without a place: control entries and the unknown entry, rows
        that no text selects, rows without length.
    """

    model: str
    ids: NDArray[np.int32]
    labels: tuple[str, ...]
    layout: Vectors
    lengths: Vectors
    kept: float
    rows: int
    special: int
    unused: int
    zero: int
    note: str = ""

    @property
    def sentence(self) -> str:
        """What the map keeps, and what it leaves out."""
        parts = [] if not self.special else [things(self.special, "special token")]
        parts += [] if not self.unused else [things(self.unused, "unused row")]
        parts += [] if not self.zero else [things(self.zero, "row without length", "rows without length")]
        left_out = f" Left out of {count(self.rows)} rows: {', '.join(parts)}." if parts else ""
        kept = f"{share(self.kept).capitalize()} of a row's true neighbours are among its nearest here."
        return " ".join(filter(None, [kept + left_out, self.note]))

    def place(self, id: int) -> int:
        """The point of an id. Raises BadInput for a row without a place."""
        found = int(np.searchsorted(self.ids, id))
        if found == len(self.ids) or self.ids[found] != id:
            raise BadInput(f"Row {id} has no place on the map: special tokens and unused rows are left out.")
        return found


@dataclass(frozen=True)
class View:
    """A part of the map: the centre and half the height; the width follows from the figure's shape."""

    x: float
    y: float
    half: float


def whole_view(map: TableMap, wide: float) -> View:
    """The view of all points in a figure `wide` times as wide as high."""
    low, high = map.layout.min(axis=0), map.layout.max(axis=0)
    x, y = (low + high) / 2
    half = max((high[1] - low[1]) / 2, (high[0] - low[0]) / 2 / wide, 1e-3)
    # Room at the edge for half a line, so that a label beside any point fits.
    return View(float(x), float(y), float(half) * 1.08)


def close_view(map: TableMap, id: int, neighbours: Sequence[int], wide: float) -> View:
    """The view round a token: half of its true neighbours in sight, where that is nearer than a third of the map.

    Never so near that fewer than `FEWEST_IN_SIGHT` points are in sight: a place has a neighbourhood.
    """
    whole = whole_view(map, wide).half
    centre = map.layout[map.place(id)]
    far = (np.abs(map.layout - centre) / (wide, 1)).max(axis=1)
    others = [map.place(one) for one in neighbours]
    half = float(np.median(far[others])) if others else 0.0
    half = max(half, float(np.sort(far)[min(FEWEST_IN_SIGHT, len(far)) - 1]), whole / 1000)
    return View(float(centre[0]), float(centre[1]), min(half * 1.25, whole / 3))


def in_view(map: TableMap, view: View, wide: float, ids: Sequence[int]) -> int:
    """How many of some ids are in sight."""
    far = np.abs(map.layout[[map.place(id) for id in ids]] - (view.x, view.y))
    return int((far <= (view.half * wide, view.half)).all(axis=1).sum()) if len(ids) else 0


def well_known(map: TableMap) -> tuple[int, ...]:
    """Ids of well-known words on the map, in the order of our own list: one token each, with a space before it."""
    id_of = dict(zip(reversed(map.labels), reversed(map.ids.tolist()), strict=True))
    words = (files("embedviz") / "data" / "well_known_words.txt").read_text(encoding="utf-8")
    found = (
        id_of.get(f"␣{word}", id_of.get(word))
        for line in words.splitlines()
        if not line.startswith("#")
        for word in line.split()
    )
    return tuple(id for id in dict.fromkeys(found) if id is not None)


# On disk: one file a model and revision.


def file_of(spec: ModelSpec) -> Path | None:
    """Where a model's map is kept, whether it is there or not; None for a model that is not prepared."""
    prepared = ready(spec)
    if prepared is None:
        return None
    made_of = [[record.name, record.sha256] for record in prepared.files]
    key = hashlib.sha256(json.dumps([FORMAT, made_of, SETTINGS, SEED]).encode()).hexdigest()[:12]
    return cache_folder() / "maps" / f"{_name(spec)}-{key}.npz"


def _name(spec: ModelSpec) -> str:
    return folder_key(spec.location.path) if isinstance(spec.location, Folder) else spec.name


def stored(spec: ModelSpec) -> TableMap | None:
    """The map kept on disk, in a few milliseconds and without the model; None where there is none that can be read."""
    file = file_of(spec)
    if file is None:
        return None
    try:
        with np.load(file, allow_pickle=False) as kept:
            numbers = {name: kept[name] for name in ("ids", "layout", "lengths")}
            labels = tuple(kept["labels"].tobytes().decode().split("\n"))
            rows, special, unused, zero = (int(value) for value in kept["counts"])
            share_kept = float(kept["kept"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # none, or damaged: it can be made again
        return None
    points = len(numbers["ids"])
    if numbers["layout"].shape != (points, 2) or len(numbers["lengths"]) != points or len(labels) != points:
        return None
    return _frozen(
        TableMap(
            spec.name, labels=labels, **numbers, kept=share_kept, rows=rows, special=special, unused=unused, zero=zero
        )
    )


def _frozen(map: TableMap) -> TableMap:
    for array in (map.ids, map.layout, map.lengths):
        array.flags.writeable = False
    return map


def cannot_keep(spec: ModelSpec) -> str:
    """Why a map of this model could not be kept, before it is made; empty if it can."""
    file = file_of(spec)
    if file is None:
        return ""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=file.parent):
            return ""
    except OSError as error:
        return _not_kept(file, error)


def _not_kept(file: Path, error: OSError) -> str:
    return (
        f"The map cannot be kept in {file.parent} ({error.strerror or error}) and lasts until the app ends: free some "
        "space, or choose another folder with EMBEDVIZ_CACHE."
    )


def _store(map: TableMap, spec: ModelSpec) -> str:
    """Keep a map under its own name at once and whole, and let maps of earlier versions of the model go.

    Returns why it is not kept, where it is not.
    """
    file = file_of(spec)
    if file is None:
        return ""  # a model made in memory has no name to keep it under
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, partial = tempfile.mkstemp(dir=file.parent, suffix=".partial")
        try:
            with os.fdopen(handle, "wb") as stream:
                np.savez(
                    stream,
                    ids=map.ids,
                    labels=np.frombuffer("\n".join(map.labels).encode(), dtype=np.uint8),
                    layout=map.layout,
                    lengths=map.lengths,
                    counts=np.array([map.rows, map.special, map.unused, map.zero]),
                    kept=np.array(map.kept),
                )
            os.replace(partial, file)
        except BaseException:
            Path(partial).unlink(missing_ok=True)
            raise
    except OSError as error:
        return _not_kept(file, error)
    with suppress(OSError):
        for other in file.parent.iterdir():
            if other != file and re.fullmatch(re.escape(_name(spec)) + r"-[0-9a-f]{12}\.npz", other.name):
                other.unlink(missing_ok=True)
    return ""


# Making one.

# For each model the last job, and how many wait for it.
_making: dict[str, tuple[Job[TableMap], int]] = {}
_making_lock = threading.Lock()


def make(model: LanguageModel, worker: UmapWorker | None = None) -> Job[TableMap]:
    """Have the map made and kept on disk; whoever asks while it is being made gets the same job.

    A map that cannot be kept is made all the same, and says so. Raises BadInput for a table with too few rows that
    differ.
    """
    with _making_lock:
        job, waiting = _making.get(_key(model.spec), (None, 0))
        if job is None or job.done:
            job, waiting = _start(model, worker or shared()), 0
        _making[_key(model.spec)] = job, waiting + 1
        return job


def leave(job: Job[TableMap]) -> None:
    """Stop waiting for a map. Its making stops only with the last of those who asked for it."""
    with _making_lock:
        for key, (running, waiting) in _making.items():
            if running is job:
                _making[key] = job, waiting - 1
                if waiting <= 1:
                    job.cancel()


def found(spec: ModelSpec) -> TableMap | None:
    """The map kept on disk, or the one that this process made and could not keep; None where there is neither."""
    with _making_lock:
        job, _ = _making.get(_key(spec), (None, 0))
    return stored(spec) or (job.so_far if job is not None and job.done else None)


def _key(spec: ModelSpec) -> str:
    return str(file_of(spec) or spec.name)


def _start(model: LanguageModel, worker: UmapWorker) -> Job[TableMap]:
    table, listed = model.table, entry_list(model.vocabulary)
    has_length = table.lengths > 0
    ids = np.flatnonzero(listed.ordinary & has_length).astype(np.int32)
    kinds = [listed.entries[id].kind for id in np.flatnonzero(~listed.ordinary)]
    unused = kinds.count("unused")
    zero = int((listed.ordinary & ~has_length).sum())

    def finish(layout: Vectors, kept: float) -> TableMap:
        # Four digits of a map some 40 wide are a thousandth of a pixel.
        made = TableMap(
            model.spec.name, ids, tuple(listed.entries[id].label.replace("\n", "⏎") for id in ids),
            np.round(layout - np.median(layout, axis=0), 4), table.lengths[ids], kept,
            rows=table.rows, special=len(kinds) - unused, unused=unused, zero=zero,
        )  # fmt: skip
        return _frozen(replace(made, note=_store(made, model.spec)))

    rows = table.values if len(ids) == table.rows else table.values[ids]
    return worker.place_all(rows, SETTINGS, finish, seed=SEED)
