"""Make a model ready once per machine, so that every later start loads it by a plain `from_pretrained(folder)`.

A GGUF file is converted, once; files that are safetensors already are used where they lie. Either way the cache keeps a
`manifest.json` with each file's size and sha256:

    <cache>/models/<key>/manifest.json      one prepared model, with the converted files where there are any
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import platformdirs

from embedviz.errors import ModelUnavailable
from embedviz.models.checks import check_files, check_sums
from embedviz.models.conversion import convert
from embedviz.models.disk import disk_is_full, name_when_whole, only_writer, remove_folder, whole_folder
from embedviz.models.files import FileRecord, gguf_file, original_files, records_of, sha256_of
from embedviz.models.gguf import read_gguf_header
from embedviz.models.progress import Progress, part_of, silent
from embedviz.models.sources import local_folder
from embedviz.models.spec import Folder, Hub, ModelSpec, Package, folder_key, size_words

__all__ = [
    "Holding",
    "Prepared",
    "Progress",
    "cache_folder",
    "damage",
    "holdings",
    "prepare",
    "ready",
    "remove",
    "verify",
]

FORMAT = 1  # raise it when prepared folders of older versions must not be used any more


@dataclass(frozen=True)
class Prepared:
    """A model that `from_pretrained(folder)` loads; `notes` are sentences about it for the user."""

    spec: ModelSpec
    folder: Path
    files: tuple[FileRecord, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Holding:
    """What the cache holds of one model: its name, the bytes that removing it would free, and the folder."""

    name: str
    bytes: int
    path: Path


def cache_folder() -> Path:
    """The folder for everything embedviz keeps on this machine: EMBEDVIZ_CACHE, else the user's cache folder."""
    chosen = os.environ.get("EMBEDVIZ_CACHE")
    return (
        Path(os.path.expanduser(chosen)).resolve()
        if chosen
        else platformdirs.user_cache_path("embedviz", appauthor=False)
    )


def ready(spec: ModelSpec) -> Prepared | None:
    """The prepared model if all its files are there with the right sizes: no checksums, no torch, a millisecond."""
    found = _inspect(spec)
    return found if isinstance(found, Prepared) else None


def damage(spec: ModelSpec) -> str | None:
    """What is wrong with a model that was prepared before; None when it is ready, and when it never was prepared."""
    found = _inspect(spec)
    return found if isinstance(found, str) else None


def prepare(spec: ModelSpec, progress: Progress | None = None) -> Prepared:
    """Make a model ready and return it; at once when it is ready already. One process at a time for each model.

    Raises `ModelUnavailable` with one sentence; whatever it had begun to write is gone then.
    """
    progress = progress or silent
    if (prepared := ready(spec)) is not None:
        return prepared
    with _only_preparer(spec, progress):
        found = _inspect(spec)
        if isinstance(found, Prepared):
            return found
        if found is not None:
            progress(f"Preparing {spec.name} again: {found}", None)
        _make(spec, progress)
        progress(f"{spec.name} is ready", 1.0)
        found = _inspect(spec)
        if not isinstance(found, Prepared):
            raise ModelUnavailable(f"{spec.name} changed while it was prepared ({found}): try again.")
        return found


def verify(prepared: Prepared) -> tuple[str, ...]:
    """Read every file of a prepared model and return a sentence for each that differs from its record."""
    problems = []
    for record in prepared.files:
        file = prepared.folder / record.name
        try:
            if file.stat().st_size != record.size:
                problems.append(f"{file} has {file.stat().st_size:,} bytes instead of {record.size:,}.")
            elif sha256_of(file) != record.sha256:
                problems.append(f"{file} has changed since it was prepared: its checksum differs.")
        except OSError as error:
            problems.append(f"{file} cannot be read ({error.strerror}).")
    return tuple(problems)


def holdings() -> tuple[Holding, ...]:
    """What the cache holds, half-written leftovers included; models used where they lie count a few kilobytes."""
    found: dict[str, Holding] = {}
    for folder in sorted(_models_folder().glob("*"), reverse=True):  # leftovers, which begin with a dot, come last
        if not folder.is_dir():
            continue
        key = name_when_whole(folder)
        if key not in found:
            found[key] = Holding(str((_read_manifest(folder) or {}).get("name", key)), 0, _models_folder() / key)
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        found[key] = replace(found[key], bytes=found[key].bytes + size)
    return tuple(sorted(found.values(), key=lambda holding: holding.name))


def remove(name: str) -> int:
    """Free what the cache holds of a model, given by name, path or key, leftovers included, and return the bytes freed.

    Files outside the cache (packages, hub downloads, folders) stay. Raises `ModelUnavailable` when they are in use.
    """
    name, freed = name.strip(), 0
    for holding in holdings():
        if holding.name != name and holding.path.name not in (name, folder_key(Path(name))):
            continue
        try:
            with only_writer(holding.path, waiting=lambda: None):
                remove_folder(holding.path)
        except OSError as error:
            reason = error.strerror or error
            raise ModelUnavailable(f"{holding.name} cannot be removed ({reason}): stop what uses it first.") from error
        freed += holding.bytes
    return freed


# Where a prepared model lies, and whether it is still the one that was prepared.


def _models_folder() -> Path:
    return cache_folder() / "models"


def _target(spec: ModelSpec) -> Path:
    return _models_folder() / (folder_key(spec.location.path) if isinstance(spec.location, Folder) else spec.name)


def _identity(spec: ModelSpec) -> str:
    """What must be equal for a prepared model to be used again: the checksum, revision or path it was made from."""
    match spec.location:
        case Package() as package:
            return package.sha256
        case Hub() as hub:
            return f"{hub.repository}@{hub.revision}"
        case Folder(path):
            return str(path)


def _stamps(source: Path) -> list[list[Any]]:
    return [[file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in original_files(source)]


def _read_manifest(folder: Path) -> dict[str, Any] | None:
    try:
        found = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _inspect(spec: ModelSpec) -> Prepared | str | None:
    """The prepared model; or what is wrong with it; or None where there is none."""
    target = _target(spec)
    if not target.exists():
        return None
    manifest = _read_manifest(target)
    if manifest is None:
        return "its record in the cache is missing or damaged."
    if manifest.get("format") != FORMAT or manifest.get("identity") != _identity(spec):
        return "it was prepared from another version."
    try:
        folder = target
        if not manifest["converted"]:
            folder = Path(manifest["source"])
            if isinstance(spec.location, Package) and not folder.exists():
                folder = local_folder(spec)  # the package lies in another environment now
        if isinstance(spec.location, Folder) and _stamps(spec.location.path) != manifest["stamps"]:
            return "its files have changed since."
        files = tuple(FileRecord(**record) for record in manifest["files"])
        for record in files:
            size = (folder / record.name).stat().st_size
            if size != record.size:
                return f"{folder / record.name} has {size:,} bytes instead of {record.size:,}."
        return Prepared(spec, folder, files, tuple(manifest["notes"]))
    except OSError as error:
        return f"{error.filename} is missing."
    except ModelUnavailable as error:
        return str(error)
    except (KeyError, TypeError):
        return "its record in the cache is damaged."


# Making one.


@contextmanager
def _only_preparer(spec: ModelSpec, progress: Progress) -> Iterator[None]:
    try:
        _models_folder().mkdir(parents=True, exist_ok=True)
        with only_writer(_target(spec), lambda: progress(f"Another process is preparing {spec.name}", None)):
            yield
    except OSError as error:
        reason = error.strerror or error
        message = f"The cache folder {cache_folder()} cannot be written ({reason}): set EMBEDVIZ_CACHE to another."
        raise ModelUnavailable(message) from error


def _make(spec: ModelSpec, progress: Progress) -> None:
    """Find a model's files, check them, convert them if need be, and put the whole in its place in the cache."""
    need = 0
    try:
        source = local_folder(spec, part_of(progress, 0.0, 0.9))
        if not isinstance(spec.location, Package):
            progress("Checking the files", None)
            check_files(source, spec.architecture)
        stamps, gguf = _stamps(source), gguf_file(source)
        with whole_folder(_target(spec)) as folder:
            notes: tuple[str, ...] = ()
            if gguf is None:
                records = records_of(original_files(source), part_of(progress, 0.9, 1.0))
                check_sums(spec, source, records)
            else:
                if isinstance(spec.location, Package):
                    check_sums(spec, gguf.parent, records_of([gguf]))
                need = read_gguf_header(gguf).bytes_in_float32
                notes = convert(gguf, folder, progress)
                records = records_of(sorted(folder.iterdir()))
            manifest = {
                "format": FORMAT,
                "name": spec.name,
                "identity": _identity(spec),
                "source": str(source),
                "stamps": stamps,
                "converted": gguf is not None,
                "files": [asdict(record) for record in records],
                "notes": notes,
            }
            (folder / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    except Exception as error:
        if disk_is_full(error):
            free = shutil.disk_usage(_models_folder()).free
            raise ModelUnavailable(
                f"The disk became full while {spec.name} was prepared ({size_words(need)} are needed, "
                f"{size_words(free)} are free now in {_models_folder()}): free some space, or choose another "
                "folder with EMBEDVIZ_CACHE."
            ) from error
        if isinstance(error, OSError):
            raise ModelUnavailable(f"{spec.name} could not be prepared: {error}.") from error
        raise
