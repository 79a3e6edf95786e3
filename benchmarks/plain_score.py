"""The ten lines that the command line is measured against: load the same safetensors, print the same score."""

import sys

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

folder, text = sys.argv[1:]
tokenizer = AutoTokenizer.from_pretrained(folder)
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
with torch.inference_mode():
    scores = model(**tokenizer(text, return_tensors="pt")).logits[0, -1]
best = scores.softmax(-1).topk(1)
print(repr(tokenizer.decode(best.indices)), f"{best.values.item():.3f}")
