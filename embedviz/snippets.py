"""Show the code: the few lines of torch and transformers that give the numbers on screen, for the current input.

Tests run every one of them and compare.
"""

from __future__ import annotations

from embedviz.models.catalog import Hub, ModelSpec
from embedviz.tokens import Tokens

_BUNDLED = """\
from embedviz.models.catalog import find
from embedviz.models.prepare import prepare

folder = prepare(find({name!r})).folder  # where this machine keeps the model
tokenizer = AutoTokenizer.from_pretrained(folder)
model = {auto}.from_pretrained(folder, dtype=torch.float32)"""

_HUB = """\
tokenizer = AutoTokenizer.from_pretrained({repository!r}, revision={revision!r})
model = {auto}.from_pretrained({repository!r}, revision={revision!r}, dtype=torch.float32)"""

_SCORES = """\
with torch.inference_mode():
    vectors = model.get_input_embeddings()(inputs.input_ids)  # (1, {tokens}, {dimensions}): one table row a token
    scores = model(inputs_embeds=vectors).logits[0, -1]  # one score for each of the {rows} entries

best = scores.softmax(-1).topk({top})
for probability, id in zip(best.values.tolist(), best.indices.tolist()):
    print(id, repr(tokenizer.decode([id])), f"{{probability:.3f}}")"""

_STATES = """\
with torch.inference_mode():
    vectors = model.get_input_embeddings()(inputs.input_ids)  # (1, {tokens}, {dimensions}): one table row a token
    states = model(inputs_embeds=vectors, output_hidden_states=True).hidden_states  # the vectors after each block

for state in states[1:]:
    print([f"{{length:.1f}}" for length in state[0].norm(dim=-1).tolist()])"""


def thread_code(spec: ModelSpec, tokens: Tokens, *, rows: int, dimensions: int, top: int) -> str:
    """Code for the thread: scores from rows, or the states' lengths for a model that has no next token."""
    auto = "AutoModelForCausalLM" if spec.next_token_head else "AutoModel"
    if isinstance(spec.location, Hub):
        load = _HUB.format(auto=auto, repository=spec.location.repository, revision=spec.location.revision)
    else:
        load = _BUNDLED.format(auto=auto, name=spec.name)
    cut = f", truncation=True, max_length={len(tokens)}" if tokens.total > len(tokens) else ""
    body = (_SCORES if spec.next_token_head else _STATES).format(
        tokens=len(tokens), dimensions=dimensions, rows=rows, top=top
    )
    return "\n".join(
        [
            "import torch",
            f"from transformers import {auto}, AutoTokenizer",
            "",
            load,
            "",
            f'inputs = tokenizer({tokens.text!r}, return_tensors="pt"{cut})',
            body,
        ]
    )
