"""Model files that are written without torch: a folder's config.json, a whole GGUF model, a Git LFS pointer."""

import json
from pathlib import Path

import numpy as np
from gguf import GGUFWriter
from tokenizers.pre_tokenizers import ByteLevel

LFS_POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 540000000\n"


def write_config(path: Path, **config) -> Path:
    """A folder that holds only the config.json of a small GPT-2."""
    path.mkdir(parents=True)
    shape = {"n_layer": 2, "n_embd": 16, "vocab_size": 400, "n_positions": 64}
    (path / "config.json").write_text(json.dumps({"model_type": "gpt2", **shape, **config}))
    return path


def write_gguf(path: Path, architecture: str = "llama", rule: str = "smollm") -> Path:
    """A Llama of one block, 32 dimensions and 261 rows: a special token, the 256 bytes, four merges."""
    letters = sorted(ByteLevel.alphabet())
    merges = ["Ġ Ġ", "Ċ Ċ", "t h", "th e"]
    tokens = ["<|end|>", *letters, *(merge.replace(" ", "") for merge in merges)]
    writer = GGUFWriter(path, architecture)
    writer.add_name("tiny")
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(64)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(rule)
    writer.add_token_list(tokens)
    writer.add_token_types([3] + [1] * (len(tokens) - 1))
    writer.add_token_merges(merges)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    random = np.random.default_rng(0)
    shapes = {
        "token_embd": (len(tokens), 32), "output_norm": (32,), "blk.0.attn_norm": (32,), "blk.0.ffn_norm": (32,),
        "blk.0.attn_q": (32, 32), "blk.0.attn_k": (16, 32), "blk.0.attn_v": (16, 32), "blk.0.attn_output": (32, 32),
        "blk.0.ffn_gate": (64, 32), "blk.0.ffn_up": (64, 32), "blk.0.ffn_down": (32, 64),
    }  # fmt: skip
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", random.normal(size=shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
