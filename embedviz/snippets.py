"""Show the code: the few lines of torch and transformers that give the numbers on screen, for the current input.

Tests run every one of them and compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from embedviz.analogy import Analogy
from embedviz.axes import Placement
from embedviz.comparison import Metric
from embedviz.contextual import Pooling
from embedviz.edits import Edit
from embedviz.meaning import Meaning, one_token
from embedviz.models.catalog import Hub, ModelSpec
from embedviz.occurrences import Occurrence
from embedviz.tokens import Tokens

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel

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

_EDITS = """\
ids = {start}tokenizer({text!r}{cut}).input_ids
with torch.inference_mode():
    table = model.get_input_embeddings().weight
    rows = table[ids]  # ({tokens}, {dimensions}): one table row a token, a copy
{edits}
    scores = model(inputs_embeds=rows[None]).logits[0, -1]

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


_PAIRS = """\
table = model.get_input_embeddings().weight.detach()
left_out = {{id for id, token in tokenizer.added_tokens_decoder.items() if token.special}}
left_out |= {{id for piece, id in tokenizer.get_vocab().items() if piece.startswith("[unused")}}
lengths = table.norm(dim=-1)
ids = np.array([id for id in range(len(tokenizer)) if id not in left_out and lengths[id] > 0])
draw = np.random.default_rng(0)
first = draw.integers(len(ids), size={pairs})
second = (first + draw.integers(1, len(ids), size={pairs})) % len(ids)  # never the same row twice
cosines = torch.nn.functional.cosine_similarity(table[ids[first]], table[ids[second]], dim=-1).numpy()
dealt = draw.permutation(ids)
for name, order in (("as they are", ids), ("shuffled", dealt)):
    print(name, f"{{np.corrcoef(abs(order[first] - order[second]), cosines)[0, 1]:.3f}}")"""

_PLACE = """\
for word, row in words.items():
    print(word, *(f"{torch.nn.functional.cosine_similarity(row, axis, dim=0):.3f}" for axis in (across, up)))"""

_PROBE = """\
# Run this in the project's folder, with its own Python.
import embedviz
from embedviz.concepts import concepts
from embedviz.coordinates import probe

model = embedviz.load({model!r})
concept = next(one for one in concepts() if one.name == {concept!r})
found = probe(model, concept)  # five-fold accuracy of a linear probe
for size, plain, rotated in zip(found.sizes, found.accuracy, found.rotated):
    print(size, f"{{plain:.3f}} {{rotated:.3f}}")"""

_MAP = """\
# Run this in the project's folder, with its own Python.
import embedviz
from embedviz.table_map import make, stored

model = embedviz.load({model!r})
made = stored(model.spec) or make(model).result()  # UMAP on the rows by cosine, kept on disk
print(len(made.ids), "points,", f"{{made.kept:.3f}} of the true neighbours kept")"""


_USES = """\
layer, start = {layer}, {start}
vectors, senses = [], []
for sentence, begin, end, sense in uses:
    read = tokenizer(sentence, return_offsets_mapping=True)
    places = [k for k, (a, b) in enumerate(read["offset_mapping"]) if a < end and b > begin]
    added = [] if read["input_ids"][:1] == start else start  # some tokenizers put it there by themselves
    ids = torch.tensor([added + read["input_ids"]])
    with torch.inference_mode():
        states = model(input_ids=ids, output_hidden_states=True).hidden_states
    states = (model.get_input_embeddings()(ids), *states[1:])  # layer 0 is the table row, without a position
    vectors.append(states[layer][0, [k + len(added) for k in places]]{pooled} of the word's pieces
    senses.append(sense)

units = torch.nn.functional.normalize(torch.stack(vectors), dim=-1)
cosines = units @ units.T
same = torch.tensor([[a == b for b in senses] for a in senses])
different_use = ~torch.eye(len(uses), dtype=torch.bool)
print("same sense", f"{{cosines[same & different_use].mean():.3f}}")
print("other sense", f"{{cosines[~same].mean():.3f}}")"""


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


def ids_code(spec: ModelSpec, pairs: int) -> str:
    """Code for the correlation of id distance with cosine, over random pairs of rows."""
    return f"import numpy as np\n{_opening(spec)}\n{_PAIRS.format(pairs=pairs)}"


def axes_code(spec: ModelSpec, placed: Placement) -> str:
    """Code for the cosines of some words' rows with two axes of opposed words."""
    lines = [_opening(spec), "table = model.get_input_embeddings().weight.detach()"]
    for name, one in zip(("across", "up"), placed.axes, strict=True):
        pairs = ", ".join(f"{_row(high)} - {_row(low)}" for low, high in one.pairs)
        lines.append(f"{name} = torch.stack([{pairs}]).mean(0)")
    words = ", ".join(f"{one.label!r}: {_row(one)}" for one in placed.words)
    return "\n".join([*lines, f"words = {{{words}}}", _PLACE])


def probe_code(model: str, concept: str) -> str:
    """Code for the accuracy of a probe on one concept, by the number of coordinates it may use."""
    return _PROBE.format(model=model, concept=concept)


def map_code(model: str) -> str:
    """Code for the map of the whole table."""
    return _MAP.format(model=model)


_POOLED = {"mean": ".mean(0))  # the mean", "first": "[0])  # the first", "last": "[-1])  # the last"}


def senses_code(
    spec: ModelSpec,
    occurrences: Sequence[Occurrence],
    layer: int,
    *,
    start_token: bool = True,
    pooling: Pooling = "mean",
) -> str:
    """Code for how alike the uses of a word are at one layer, within a sense and between senses."""
    uses = ",\n".join(f"    {(one.sentence, one.start, one.end, one.sense)!r}" for one in occurrences)
    start = f"[tokenizer.convert_tokens_to_ids({spec.start_token!r})]" if start_token and spec.start_token else "[]"
    return "\n".join([_opening(spec), f"uses = [  # sentence, start and end of the word, sense\n{uses},\n]",
                      _USES.format(layer=layer, start=start, pooled=_POOLED[pooling])])  # fmt: skip


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


def edits_code(model: LanguageModel, tokens: Tokens, edits: Sequence[Edit], *, top: int) -> str:
    """Code for the next-token scores with edits done on the rows, each edit a line."""
    lines = [line for edit in edits for line in _edit_lines(model, edit)]
    # Where the tokenizer puts the start token first by itself, the text's own ids hold it already.
    own = tokens.start_token and model.vocabulary.tokenise("").ids[:1] != tokens.ids[:1]
    body = _EDITS.format(
        start=f"[{tokens.ids[0]}] + " if own else "",
        text=tokens.text,
        cut=f", truncation=True, max_length={len(tokens) - own}" if tokens.total > len(tokens) else "",
        tokens=len(tokens),
        dimensions=model.table.dimensions,
        edits="\n".join(f"    {line}" for line in lines),
        top=top,
    ).replace("copy\n\n", "copy\n")
    return f"{_opening(model.spec)}\n{body}"


def _edit_lines(model: LanguageModel, edit: Edit) -> list[str]:
    row, dimensions = f"rows[{edit.position}]", model.table.dimensions
    seeded = f"generator=torch.Generator().manual_seed({edit.seed})"
    if edit.operation in ("swap", "slide"):
        found = one_token(model, edit.target)
        way = "" if edit.operation == "swap" else f"{1 - edit.value!r} * {row} + {edit.value!r} * "
        return [f"{row} = {way}table[{found.ids[0]}]  # {found.entries[0].text!r}"]
    return {
        "scale": [f"{row} *= {edit.value!r}"],
        "zero": [f"{row} = 0"],
        "mean": [f"{row} = table.mean(0)"],
        "shuffle": [f"{row} = {row}[torch.randperm({dimensions}, {seeded})]"],
        "noise": [
            f"noise = torch.randn({dimensions}, {seeded})",
            f"{row} += noise * ({edit.value!r} * {row}.norm() / noise.norm())",
        ],
        "paste": [f"{row} = torch.tensor({list(edit.values)})"],
    }[edit.operation]
