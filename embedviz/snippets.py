"""Show the code: the few lines of torch and transformers that give the numbers on screen, for the current input.

Tests run every one of them and compare.
"""

from __future__ import annotations

from collections.abc import Sequence

from embedviz.analogy import Analogy
from embedviz.comparison import Metric
from embedviz.meaning import Meaning
from embedviz.models.catalog import Hub, ModelSpec
from embedviz.tokens import Tokens

_BUNDLED = """\
# Run this in the project's folder, with its own Python.
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


_LEAVE_OUT = """\
special = [id for id, token in tokenizer.added_tokens_decoder.items() if token.special]
left_out = [*{inputs}, *special, *range(len(tokenizer), len(table))]  # the last ones are rows that no text selects"""

_VALUES = {
    "cosine": "values = torch.nn.functional.cosine_similarity(table, vector, dim=-1)  # higher is nearer",
    "dot": "values = table @ vector  # higher is nearer",
    "euclidean": "values = -(table - vector).norm(dim=-1)  # a smaller distance is nearer",
}

_NEAREST = """\
values[left_out] = -torch.inf
best = values.topk({top})
for value, id in zip({values}.tolist(), best.indices.tolist()):
    print(id, repr(tokenizer.decode([id])), f"{{value:.3f}}")"""


def _opening(spec: ModelSpec) -> str:
    """The lines that load tokenizer and model."""
    auto = "AutoModelForCausalLM" if spec.next_token_head else "AutoModel"
    if isinstance(spec.location, Hub):
        load = _HUB.format(auto=auto, repository=spec.location.repository, revision=spec.location.revision)
    else:
        load = _BUNDLED.format(auto=auto, name=spec.name)
    return f"import torch\nfrom transformers import {auto}, AutoTokenizer\n\n{load}\n"


def _row(one: Meaning) -> str:
    return f"table[{one.ids[0]}]" if len(one.ids) == 1 else f"table[{list(one.ids)}].mean(0)"


def _nearest(spec: ModelSpec, vector: str, inputs: Sequence[int], metric: Metric, top: int, *, centre: bool) -> str:
    lines = [_opening(spec), "table = model.get_input_embeddings().weight.detach()", f"vector = {vector}"]
    if centre:
        lines += ["mean = table.mean(0)", "table, vector = table - mean, vector - mean"]
    nearest = _NEAREST.format(top=top, values="(-best.values)" if metric == "euclidean" else "best.values")
    return "\n".join([*lines, _LEAVE_OUT.format(inputs=list(dict.fromkeys(inputs))), _VALUES[metric], nearest])


def neighbours_code(spec: ModelSpec, one: Meaning, metric: Metric = "cosine", *, top: int = 10) -> str:
    """Code for the neighbours of a row, or of the mean of several."""
    return _nearest(spec, f"{_row(one)}  # {one.typed!r}", one.ids, metric, top, centre=False)


def analogy_code(spec: ModelSpec, result: Analogy, *, top: int = 10) -> str:
    """Code for a sum of three rows and its neighbours."""
    vector = f"{_row(result.a)} - {_row(result.b)} + {_row(result.c)}"
    return _nearest(spec, vector, result.inputs, "cosine", top, centre=result.centred)


def thread_code(spec: ModelSpec, tokens: Tokens, *, rows: int, dimensions: int, top: int) -> str:
    """Code for the thread: scores from rows, or the states' lengths for a model that has no next token."""
    cut = f", truncation=True, max_length={len(tokens)}" if tokens.total > len(tokens) else ""
    body = (_SCORES if spec.next_token_head else _STATES).format(
        tokens=len(tokens), dimensions=dimensions, rows=rows, top=top
    )
    return "\n".join(
        [
            _opening(spec),
            f'inputs = tokenizer({tokens.text!r}, return_tensors="pt"{cut})',
            body,
        ]
    )
