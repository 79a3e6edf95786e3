"""The thread: one text from characters to the next token, every number taken from the run itself.

`trace` reads a text once. The result holds no torch, so the built-in example can be stored with the project and shown
before any model has loaded.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from embedviz.errors import BadInput
from embedviz.geometry import cosine
from embedviz.next_token import Candidate, Distribution, candidates
from embedviz.numbers import coordinate, count, decimal, length, logit, probability, things
from embedviz.table import Vectors
from embedviz.tokens import Entry, Token, Tokens

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel, States

STORED = Path(__file__).parent / "data" / "thread.npz"
EXAMPLE = "The capital of France is"
DRAWN = 32
# The first vector is said to stand out from this many times the others' length on: sinks are above 5, others below 2.
SINK = 5

Position = Literal["turned", "added", "unchanged"]


@dataclass(frozen=True, eq=False)
class Thread:
    """One text on its way through one model.

    tokens: the text as read. rows: (token, dimension) float32, its table rows.
    stages, layers: name and layer of each line drawn, from the table row to the last state.
    drawn: (stage, token, coordinate) float32, the first coordinates of each vector, at most `DRAWN`.
    lengths: (stage, token) float32, Euclidean.
    position: what is done to a row before block 1: "turned" (nothing; places are turned in inside the blocks), "added"
        (a vector for the place), or "unchanged" (nothing, and no turning either).
    first_length: length of the last token's vector as block 1 gets it.
    own_row, random_row: cosine of the last state with the token's own table row, and its mean over all rows.
    next: the most likely next tokens; empty for a model that has none. others: the probability of all the rest.
    tied: whether the output rows are the table itself.
    """

    model: str
    title: str
    tokens: Tokens
    rows: Vectors
    stages: tuple[str, ...]
    layers: tuple[int, ...]
    drawn: Vectors
    lengths: Vectors
    position: Position
    first_length: float
    own_row: float
    random_row: float
    next: tuple[Candidate, ...]
    others: float
    tied: bool
    blocks: int
    table_rows: int

    @property
    def dimensions(self) -> int:
        """Number of coordinates of a row."""
        return int(self.rows.shape[1])


@dataclass(frozen=True)
class Step:
    """One moment of the thread: a short name, and the sentence that says what is seen, with its numbers."""

    name: str
    sentence: str


def trace(model: LanguageModel, text: str, *, limit: int | None = None, top: int = 6) -> Thread:
    """Read a text once and keep what the thread shows.

    limit: most tokens to read. Raises BadInput for a blank text.
    """
    if not text.strip():
        raise BadInput("The text is blank: type a sentence.")
    tokens = model.tokenise(text, limit=limit)
    if not tokens.tokens:
        raise BadInput("The tokenizer finds no token in this text: type a sentence.")
    reading = model.read(tokens)
    states = reading.states
    layers = stage_layers(model.spec.blocks)
    last = states.vectors[-1, -1]
    distribution = None if reading.logits is None else Distribution(reading.logits)
    best = () if distribution is None else candidates(model, distribution, top)
    return Thread(
        model=model.spec.name,
        title=model.spec.title,
        tokens=tokens,
        rows=states.vectors[0],
        stages=tuple(model.layer_name(layer) for layer in layers),
        layers=layers,
        drawn=states.vectors[list(layers), :, :DRAWN],
        lengths=np.linalg.norm(states.vectors[list(layers)], axis=-1),
        position=_position(model, states),
        first_length=float(np.linalg.norm(states.first_state[-1])),
        own_row=float(cosine(last, states.vectors[0, -1])),
        random_row=float(np.nanmean(model.table.cosines(last))),
        next=best,
        others=1.0 - sum(one.probability for one in best) if best else 0.0,
        tied=model.output_table is model.table,
        blocks=model.spec.blocks,
        table_rows=model.table.rows,
    )


def _position(model: LanguageModel, states: States) -> Position:
    """Measured, not looked up: whether block 1 gets something else than the rows."""
    if not np.array_equal(states.first_state, states.vectors[0]):
        return "added"
    return "turned" if model.turns_positions else "unchanged"


def stage_layers(blocks: int, most: int = 6) -> tuple[int, ...]:
    """The layers drawn for a model: row, block 1, a few between, the last; all of them while they are few.

    For 30 blocks these are 0, 1, 5, 10, 20 and 30.
    """
    if blocks + 1 <= most:
        return tuple(range(blocks + 1))
    between = [round(blocks * part) for part in (1 / 6, 1 / 3, 2 / 3)]
    return tuple(sorted({0, 1, *between, blocks}))


def steps(thread: Thread) -> tuple[Step, ...]:
    """The eight moments, each with its sentence. A model without a next token has six."""
    tokens = thread.tokens
    last = tokens.tokens[-1].label
    top = thread.next[0] if thread.next else None
    row_length = float(thread.lengths[0, -1])
    position = {
        "turned": "Nothing is added here: this model turns vectors by their place, inside each block.",
        "added": f"A vector for each place is added to the row: length {length(row_length)} "
        f"changed to {length(thread.first_length)}.",
        "unchanged": "Nothing is added here: block 1 gets the rows as they are.",
    }[thread.position]
    drawn = f"The first {thread.drawn.shape[2]} are drawn." if thread.dimensions > DRAWN else "All are drawn."
    told = [
        Step("text", f"You typed {things(len(tokens.text), 'character')}."),
        Step(
            "tokens and ids",
            f"The text becomes {things(len(tokens), 'token')}. "
            f"An id is a token's place in a list of {count(thread.table_rows)}.",
        ),
        Step("rows of the table", f"Each id picks one row of {count(thread.dimensions)} numbers. {drawn}"),
        Step("position", position),
        Step(
            "blocks",
            f"{things(thread.blocks, 'block')} rewrite every vector. {last} and its own row now have cosine "
            f"{decimal(thread.own_row)}; a row taken at random {decimal(thread.random_row)}.{_sink_sentence(thread)}",
        ),
        Step("last state", f"For the next token only the last vector counts, the one under {last}."),
    ]
    if top is None:
        told[-1] = Step("last state", "This model fills gaps; it has no next token.")
        return tuple(told)
    table = "The output rows are the table itself." if thread.tied else "The output rows are a second table."
    return (
        *told,
        Step(
            "scores",
            f"Its dot product with every output row is a score. {top.entry.label}: {logit(top.logit)}. {table}",
        ),
        Step(
            "next token",
            f"{top.entry.label} has probability {probability(top.probability)}. Press Add to put it at the end.",
        ),
    )


def _sink_sentence(thread: Thread) -> str:
    """Why the first vector is so much longer than the others, where it is (an attention sink; Xiao et al. 2023)."""
    if not thread.next or len(thread.tokens) < 2:
        return ""
    times = float((thread.lengths[:, 0] / np.median(thread.lengths[:, 1:], axis=1)).max())
    if times < SINK:
        return ""
    return (
        " The first token takes up attention that has nowhere to go: "
        f"its vector is {count(round(times))} times longer than the others'."
    )


def row_sentence(thread: Thread, position: int) -> str:
    """What a token's table row holds: its length, and the coordinates farthest from 0 on either side."""
    row, token = thread.rows[position], thread.tokens.tokens[position]
    low, high = int(row.argmin()), int(row.argmax())
    return (
        f"{token.label}, id {token.id}: length {length(float(np.linalg.norm(row)))}. Largest: coordinate {high}, "
        f"{coordinate(float(row[high]))}; smallest: coordinate {low}, {coordinate(float(row[low]))}. "
        "Single coordinates usually have no names."
    )


def save(thread: Thread, path: Path) -> None:
    """Keep a thread as one NPZ file without pickles: the arrays as they are, everything else as JSON text."""
    arrays = {name: value for name, value in vars(thread).items() if isinstance(value, np.ndarray)}
    others = {name: value for name, value in vars(thread).items() if name not in arrays}
    tokens = asdict(thread.tokens)
    for entry in tokens["tokens"]:
        entry["bytes"] = entry["bytes"].hex()
    best = [asdict(one) for one in thread.next]
    for one in best:
        one["entry"]["bytes"] = one["entry"]["bytes"].hex()
    written = json.dumps(others | {"tokens": tokens, "next": best})
    np.savez_compressed(path, allow_pickle=False, json=np.array(written), **arrays)


def restore(path: Path = STORED) -> Thread:
    """Read a thread that `save` wrote; by default the built-in example, as the bundled model gave it."""
    with np.load(path, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files if name != "json"}
        others = json.loads(str(stored["json"]))
    tokens = others.pop("tokens")
    entries = []
    for token in tokens["tokens"]:
        part = token.pop("part")
        entries.append(Token(**token | {"bytes": bytes.fromhex(token["bytes"])}, part=tuple(part) if part else None))
    best = []
    for one in others.pop("next"):
        entry = one.pop("entry")
        best.append(Candidate(entry=Entry(**entry | {"bytes": bytes.fromhex(entry["bytes"])}), **one))
    return Thread(
        tokens=Tokens(**tokens | {"tokens": tuple(entries), "notes": tuple(tokens["notes"])}),
        next=tuple(best),
        **arrays,
        **others | {"stages": tuple(others["stages"]), "layers": tuple(others["layers"])},
    )


def store_example() -> None:
    """Write the built-in example anew, from the bundled model (`python -m embedviz.thread`)."""
    from embedviz.models.load import load

    save(trace(load("smollm2-135m"), EXAMPLE), STORED)


if __name__ == "__main__":
    store_example()
