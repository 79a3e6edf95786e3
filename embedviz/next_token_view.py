"""What the next-token page opens on: the scores after a text, and what an edit of one row makes of them, step by step.

The result holds no torch, so the built-in example can be stored with the project and shown before any model has loaded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from embedviz.edit_effects import effect, path
from embedviz.edits import Edit, written
from embedviz.next_token import Candidate, Distribution, NextToken, candidates
from embedviz.numbers import count, probability, share
from embedviz.tokens import Entry, Token, Tokens

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel

STORED = Path(__file__).parent / "data" / "next_token.json"
EXAMPLE = "The capital of France is"
EXAMPLE_EDITS = (Edit(3, "slide", 0.65, " Germany"),)
MOST_BARS, MOST_LINES, MOST_SLOPES = 6, 3, 6
# Longer texts would take more than some seconds for the 21 steps of a way.
MOST_FOLLOWED = 128

Kind = Literal["none", "way", "two"]


@dataclass(frozen=True)
class Moment:
    """The scores at one step of an edit.

    name: for the scrubber. best: the most likely tokens there. unedited: their probabilities without any edit.
    others: probability that all other tokens share. nearest: label of the entry nearest to the edited vector; "" where
    there is none. divergence: from the unedited scores, in nats.
    """

    name: str
    best: tuple[Candidate, ...]
    unedited: tuple[float, ...]
    others: float
    nearest: str
    divergence: float


@dataclass(frozen=True)
class Line:
    """One token's probability at every moment."""

    label: str
    probabilities: tuple[float, ...]


@dataclass(frozen=True)
class NextTokenView:
    """The scores after a text with some edits.

    kind: "way" for a slide or fade in 21 moments, "two" for before and after, "none" without edits: one moment.
    edits: as written, `3:slide=" Germany"@0.65`. at: the moment that the edit's own value is nearest to.
    lines: the tokens with the largest probability anywhere, largest first. largest: the end of the bars' scale.
    change: the edit in words, "␣France to ␣Germany". self_check: largest difference of the scores from rows and from
    ids, in logits. notes: one sentence for each thing a reader must know. first: the most likely token without edits.
    """

    model: str
    title: str
    tokens: Tokens
    table_rows: int
    kind: Kind
    edits: tuple[str, ...]
    at: int
    moments: tuple[Moment, ...]
    lines: tuple[Line, ...]
    largest: float
    change: str
    self_check: float
    notes: tuple[str, ...]
    first: Candidate | None = None

    @property
    def unedited(self) -> Candidate:
        """The most likely token without any edit."""
        return self.first or self.moments[0].best[0]

    def sentence(self, step: int, most: int = MOST_BARS) -> str:
        """The numbers of one moment. most: tokens that the figure beside it draws."""
        moment, before = self.moments[step], self.unedited
        top = moment.best[0]
        said = [f"Most likely next: {top.entry.label} {probability(top.probability)}."]
        if self.kind == "none":
            others = count(self.table_rows - len(moment.best[:most]))
            left = moment.others + sum(one.probability for one in moment.best[most:])
            said.append(f"{others} other tokens share {probability(left)}. Choose a token and an edit.")
            return " ".join(said)
        said.append(f"Unedited: {before.entry.label} {probability(before.probability)}.")
        if moment.nearest:
            said.append(f"Nearest row of the table: {moment.nearest}.")
        if step and before.entry.id == self.moments[-1].best[0].entry.id == top.entry.id:
            said.append(f"Not in this case: {before.entry.label} stays first.")
        return " ".join(said)

    def alt(self, step: int) -> str:
        """The takeaway of the bars."""
        top, first = self.moments[step].best[0], self.unedited
        now = f"{top.entry.label} has {probability(top.probability)}"
        if self.kind == "none":
            return f"Most likely next: {now}."
        before = f"{first.entry.label} had {probability(first.probability)}"
        return f"With {self.change}, {now}; unedited {before}."


def has_way(tokens: Tokens, edits: Sequence[Edit]) -> bool:
    """Whether the last edit is followed on its whole way: a slide or fade that ends on it, in a text not too long."""
    if not edits or edits[-1].operation not in ("slide", "scale") or len(tokens) > MOST_FOLLOWED:
        return False
    return 0 <= edits[-1].value <= 1


def view(model: LanguageModel, unedited: NextToken, edits: Sequence[Edit]) -> NextTokenView:
    """The scores of a text's rows with edits done, the last one on its whole way where it has one.

    Raises BadInput for an edit that is not possible.
    """
    plain, notes = unedited.distribution, list(unedited.tokens.notes)
    names, steps, nearest, at, kind = ["unedited"], [plain], [""], 0, "none"
    if has_way(unedited.tokens, edits):
        way = path(model, unedited, edits)
        steps = [way.at(k) for k in range(len(way.shares))]
        names = [_name(edits[-1], float(part)) for part in way.shares]
        nearest = ["" if one is None else one.entry.label for one in way.nearest]
        part = edits[-1].value if edits[-1].operation == "slide" else 1 - edits[-1].value
        at, kind = round(part * (len(way.shares) - 1)), "way"
    elif edits:
        done = effect(model, unedited, edits)
        steps, names, at, kind = [plain, done.after.distribution], ["before", "after"], 1, "two"
        last = next(row for row in done.rows if row.token.position == edits[-1].position)
        nearest = ["", "" if last.nearest is None else last.nearest.entry.label]
        notes += done.notes
        if edits[-1].operation in ("slide", "scale") and len(unedited.tokens) > MOST_FOLLOWED:
            notes.append(
                f"The way of an edit is followed in texts of up to {MOST_FOLLOWED} tokens; here before and after."
            )
    moments = tuple(
        _moment(model, plain, one, name, near) for one, name, near in zip(steps, names, nearest, strict=True)
    )
    return NextTokenView(
        model=model.spec.name,
        title=model.spec.title,
        tokens=unedited.tokens,
        table_rows=len(plain.logits),
        kind=kind,  # type: ignore[arg-type]
        edits=tuple(written(edit) for edit in edits),
        at=at,
        moments=moments,
        lines=_lines(model, steps, MOST_LINES if kind == "way" else MOST_SLOPES),
        largest=max(max(moment.best[0].probability, *moment.unedited) for moment in moments),
        change=change_words(unedited.tokens, edits),
        self_check=unedited.self_check,
        notes=tuple(notes),
        first=candidates(model, plain, 1)[0],
    )


def _moment(model: LanguageModel, plain: Distribution, scores: Distribution, name: str, nearest: str) -> Moment:
    best = candidates(model, scores, MOST_BARS)
    before = plain.probabilities
    left = max(0.0, 1.0 - sum(one.probability for one in best))
    unedited = tuple(float(before[one.entry.id]) for one in best)
    return Moment(name, best, unedited, left, nearest, plain.divergence(scores))


def _lines(model: LanguageModel, steps: Sequence[Distribution], most: int) -> tuple[Line, ...]:
    chances = [one.probabilities for one in steps]
    highest: dict[int, float] = {}
    for one, values in zip(steps, chances, strict=True):
        for id in one.order(most):
            highest[int(id)] = max(highest.get(int(id), 0.0), float(values[id]))
    ids = sorted(highest, key=lambda id: -highest[id])[:most]
    return tuple(Line(model.vocabulary.entry(id).label, tuple(float(values[id]) for values in chances)) for id in ids)


def _name(edit: Edit, part: float) -> str:
    return f"{share(part)} of the way" if edit.operation == "slide" else f"{share(1 - part)} of the length"


def change_words(tokens: Tokens, edits: Sequence[Edit]) -> str:
    """The last edit in words; empty without one."""
    if not edits:
        return ""
    edit = edits[-1]
    label = tokens.tokens[edit.position].label
    target = Entry(0, edit.target, edit.target, b"", False, "text").label if edit.target else ""
    return {
        "slide": f"{label} to {target}",
        "swap": f"{target} in the place of {label}",
        "scale": f"{label} made shorter" if edit.value <= 1 else f"{label} × {edit.value:g}",
        "noise": f"{label} plus noise",
        "zero": f"{label} set to zeros",
        "mean": f"the mean row in the place of {label}",
        "shuffle": f"{label} with its numbers shuffled",
        "paste": f"pasted numbers in the place of {label}",
    }[edit.operation]


def save(shown: NextTokenView, path: Path) -> None:
    """Keep a view as JSON."""
    path.write_text(json.dumps(asdict(shown), default=lambda value: value.hex()), encoding="utf-8")


def restore(path: Path = STORED) -> NextTokenView:
    """Read a view that `save` wrote; by default the built-in example, as the bundled model gave it."""
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    tokens = kept.pop("tokens")
    tokens["tokens"] = tuple(Token(**_entry(one)) for one in tokens["tokens"])
    tokens["notes"] = tuple(tokens["notes"])
    moments = tuple(
        Moment(
            **one
            | {
                "best": tuple(Candidate(**best | {"entry": Entry(**_entry(best["entry"]))}) for best in one["best"]),
                "unedited": tuple(one["unedited"]),
            }
        )
        for one in kept.pop("moments")
    )
    lines = tuple(Line(one["label"], tuple(one["probabilities"])) for one in kept.pop("lines"))
    kept |= {name: tuple(kept[name]) for name in ("edits", "notes")}
    kept["first"] = Candidate(**kept["first"] | {"entry": Entry(**_entry(kept["first"]["entry"]))})
    return NextTokenView(**kept, tokens=Tokens(**tokens), moments=moments, lines=lines)


def _entry(kept: dict[str, Any]) -> dict[str, Any]:
    part = {"part": tuple(kept["part"]) if kept["part"] else None} if "part" in kept else {}
    return kept | {"bytes": bytes.fromhex(kept["bytes"])} | part


def store_example() -> None:
    """Write the built-in example anew, from the bundled model (`python -m embedviz.next_token_view`)."""
    from embedviz.models.load import load
    from embedviz.next_token import next_token

    model = load("smollm2-135m")
    save(view(model, next_token(model, EXAMPLE), EXAMPLE_EDITS), STORED)


if __name__ == "__main__":
    store_example()
