"""What a model folder or a GGUF file says of itself: its `config.json` or its header, turned into a `ModelSpec`."""

import os
from pathlib import Path
from typing import Any

from embedviz.errors import ModelUnavailable
from embedviz.models.files import gguf_file, read_json
from embedviz.models.gguf import read_gguf_header
from embedviz.models.spec import Folder, ModelSpec

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


def describe(path: str | Path) -> ModelSpec:
    """What a folder of safetensors or a GGUF file says of itself. Raises `ModelUnavailable` if it is no text model."""
    path = Path(os.path.expanduser(path)).resolve()
    gguf = gguf_file(path)
    return _describe_folder(path) if gguf is None else _describe_gguf(path, gguf)


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

    def number(*keys: str) -> int:
        """The first of these that the configuration gives: architectures name the same thing differently."""
        for key in keys:
            if isinstance(text.get(key), int):
                return int(text[key])
        raise ModelUnavailable(f"{path} ({kind}) is no text model: its config.json gives no {keys[0]}.")

    blocks = number("num_hidden_layers", "n_layer", "n_layers", "num_layers")
    dimensions = number("hidden_size", "n_embd", "dim", "d_model")
    rows = number("vocab_size")
    places = number("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len")
    causal = kind not in _BOTH_WAYS or bool(config.get("is_decoder"))
    return ModelSpec(
        name=str(path),
        title=path.name or str(path),
        location=Folder(path),
        architecture=kind,
        reads_left_to_right=causal,
        next_token_head=causal,
        tied=bool(text.get("tie_word_embeddings", config.get("tie_word_embeddings", kind not in _UNTIED))),
        start_token=_bos(path) if causal else None,
        context=places - 2 if kind in _COUNTED_FROM_2 else places,
        blocks=blocks,
        dimensions=dimensions,
        rows=rows,
        download_bytes=sum(file.stat().st_size for file in path.glob("*.safetensors")),
        licence="Licence not stated",
        quantisation=str((config.get("quantization_config") or {}).get("quant_method", "none")),
    )


def _bos(path: Path) -> str | None:
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        if (path / name).exists() and (bos := read_json(path / name).get("bos_token")):
            return str(bos["content"] if isinstance(bos, dict) else bos)
    return None


def _describe_gguf(path: Path, gguf: Path) -> ModelSpec:
    header = read_gguf_header(gguf)
    said, kind = header.metadata, str(header.metadata.get("general.architecture", ""))
    table = header.tensors.get("token_embd.weight")
    blocks, context = said.get(f"{kind}.block_count"), said.get(f"{kind}.context_length")
    if table is None or len(table[0]) != 2 or blocks is None or context is None:
        raise ModelUnavailable(f"{gguf} ({kind or 'no architecture named'}) holds no text model with a token table.")
    rows, dimensions = table[0]
    bos, pieces = said.get("tokenizer.ggml.bos_token_id"), said.get("tokenizer.ggml.tokens", [])
    return ModelSpec(
        name=str(path),
        title=path.name or str(path),
        location=Folder(path),
        architecture=kind,
        reads_left_to_right=True,
        next_token_head=True,
        tied="output.weight" not in header.tensors,
        start_token=pieces[bos] if bos is not None and bos < len(pieces) else None,
        context=context,
        blocks=blocks,
        dimensions=dimensions,
        rows=rows,
        download_bytes=gguf.stat().st_size,
        licence=str(said.get("general.license", "Licence not stated")),
        quantisation=header.quantisation,
    )
