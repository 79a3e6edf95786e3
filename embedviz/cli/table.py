"""The commands on the embedding table: `neighbours`, `analogy` and `map`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embedviz.cli.output import (
    SECONDS_BETWEEN_LINES,
    Json,
    Model,
    entry_values,
    loaded,
    must_list,
    named,
    print_json,
    read_text,
    say,
)
from embedviz.errors import BadInput

if TYPE_CHECKING:
    from embedviz.neighbours import Neighbour


def neighbours(
    token_text: Annotated[str, typer.Argument(help="One token just as it is, space included, or an id as #5461.")],
    top: Annotated[int, typer.Option(help="How many rows to list.")] = 10,
    metric: Annotated[str, typer.Option(help="cosine, dot or euclidean.")] = "cosine",
    model: Model = None,
    as_json: Json = False,
) -> None:
    """List the rows nearest to a token's row in the whole table, beside that row's own mean over all rows."""
    from embedviz.analogy import hints
    from embedviz.comparison import compare, metric_named
    from embedviz.meaning import one_token
    from embedviz.neighbours import nearest

    measure = metric_named(metric)
    must_list(top)
    typed = read_text(token_text)
    language_model = loaded(model)
    table = language_model.table
    asked = one_token(language_model, typed)
    found = nearest(compare(table, asked.vector), language_model.vocabulary, measure, top=top, inputs=asked.ids)
    entry, length = asked.entries[0], float(table.lengths[asked.ids[0]])
    say((*asked.notes, *hints((asked,), language_model.vocabulary)))
    if as_json:
        print_json(
            {
                "token": entry_values(entry) | {"norm": length},
                "baseline": {"mean": found.baseline.mean, "std": found.baseline.std},
                "neighbours": _values(found.nearest),
            }
        )
        return
    way = "lower" if measure == "euclidean" else "higher"
    print(
        f"{entry.label}, id {entry.id}, length {length:.3f}. {measure.capitalize()}, {way} is nearer. "
        f"With all {found.baseline.rows:,} rows: mean {found.baseline.mean:.3f}, std {found.baseline.std:.3f}."
    )
    _list_rows(found.nearest, measure)
    print(found.left_out.sentence)


def analogy(
    a: Annotated[str, typer.Argument(help="Token A, space included, or an id as #5461.")],
    b: Annotated[str, typer.Argument(help="Token B, which is to A …")],
    c: Annotated[str, typer.Argument(help="… as token C is to the answer.")],
    centre: Annotated[bool, typer.Option("--centre", help="Subtract the table's mean row first.")] = False,
    top: Annotated[int, typer.Option(help="How many rows to list.")] = 10,
    model: Model = None,
    as_json: Json = False,
) -> None:
    """List the rows nearest by cosine to row(A) − row(B) + row(C), the three themselves left out."""
    from embedviz.analogy import analogy as sum_of_rows
    from embedviz.meaning import one_token

    must_list(top)
    language_model = loaded(model)
    asked = [one_token(language_model, typed) for typed in (a, b, c)]
    result = sum_of_rows(language_model.table, language_model.vocabulary, *asked, centre=centre, top=top)
    say(result.notes)
    if as_json:
        print_json({"neighbours": _values(result.neighbours.nearest)})
        return
    baseline = result.neighbours.baseline
    print(f"{result.sum}{', mean row subtracted' if centre else ''}. {result.proportion}")
    print(
        f"Cosine, higher is nearer. With all {baseline.rows:,} rows: mean {baseline.mean:.3f}, std {baseline.std:.3f}."
    )
    _list_rows(result.neighbours.nearest, "cosine")
    print(result.neighbours.left_out.sentence)


def _values(found: Sequence[Neighbour]) -> list[dict[str, Any]]:
    return [{"id": one.entry.id, "text": one.entry.text, "value": one.value} for one in found]


def _list_rows(found: Sequence[Neighbour], metric: str) -> None:
    for one in found:
        print(f"{one.rank:>3}  {named(one.entry)} {metric} {one.value:.3f}")


def table_map(
    out: Annotated[Path | None, typer.Option(help="Write every point to this file: X.csv.")] = None,
    model: Model = None,
    as_json: Json = False,
) -> None:
    """Make the map of the whole table, once per model, so that the page has it at once."""
    from embedviz.models.catalog import default, find
    from embedviz.table_map import make, stored

    if out is not None and out.suffix.lower() != ".csv":
        raise BadInput(f"The map is written as CSV: give a file name that ends in .csv instead of {out.name}.")
    if out is not None and not out.parent.is_dir():
        raise BadInput(f"There is no folder {out.parent}: make it first, or choose another.")
    spec = default() if model is None else find(model)
    found = stored(spec)
    if found is None:
        job, told = make(loaded(model)), ""
        try:
            while not job.done:
                if job.waiting.sentence != told:
                    told = job.waiting.sentence
                    print(told, file=sys.stderr, flush=True)
                job.wait(SECONDS_BETWEEN_LINES)
            found = job.result()
        except KeyboardInterrupt:
            job.cancel()
            raise
    if out is not None:
        from embedviz.export import map_table

        try:
            map_table(found).to_csv(out, index=False, float_format="%.6g")
        except OSError as error:
            raise BadInput(f"{out} cannot be written ({error.strerror}): choose another file.") from error
    if as_json:
        print_json(
            {
                "model": spec.name,
                "points": len(found.ids),
                "kept": found.kept,
                "left_out": {"special": found.special, "unused": found.unused, "zero": found.zero},
                "out": None if out is None else str(out),
            }
        )
        return
    print(f"{spec.title}: a map of {len(found.ids):,} points. {found.sentence}")
    if out is not None:
        print(f"Written to {out}")
