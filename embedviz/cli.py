"""The command line: the library's own calls, their results as lines to read or as JSON.

An error, a usage error too, is one line on stderr and exit code 2.
"""

from __future__ import annotations

import errno
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embedviz.errors import BadInput, EmbedvizError
from embedviz.tokens import Entry, Token, visible

if TYPE_CHECKING:
    from embedviz.neighbours import Neighbour

# Lines of progress are read, not watched.
SECONDS_BETWEEN_LINES = 2.0

app = typer.Typer(
    help="See what an embedding is: ids, rows, contextual vectors, next-token scores.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

# typer does not export the root of its own usage errors under a public name, so it is found above one that is.
_SAID: tuple[type[Exception], ...] = (
    EmbedvizError,
    *(kind for kind in typer.BadParameter.__mro__ if issubclass(kind, Exception) and hasattr(kind, "format_message")),
)

Text = Annotated[str, typer.Argument(help="The text, in quotes; - reads it from standard input.")]
Model = Annotated[str | None, typer.Option(help="A name that `models` lists, or a folder. Default: smollm2-135m.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of lines to read.")]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code: 0, or 2 with one line on stderr."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        # Tokens may be any character; a terminal that cannot show one must not stop the command.
        stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        code = app(args=arguments, standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except _SAID as error:
        message = getattr(error, "format_message", error.__str__)()
        print("embedviz:", " ".join(message.split()), file=sys.stderr)
        code = 2
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        print("embedviz: The disk is full, so what was printed is not whole: free some space.", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        code = 130
    sys.exit(code if isinstance(code, int) else 0)


def _loaded(name: str | None) -> Any:
    from embedviz.models import language_model
    from embedviz.models.catalog import default

    return language_model.load(default().name if name is None else name, _Progress())


class _Progress:
    """Print what is being prepared, one line a stage, on stderr."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, words: str, share: float | None) -> None:
        if words != self._last:
            self._last = words
            print(words if share is None else f"{words} ({share:.0%})", file=sys.stderr, flush=True)


def _text(argument: str) -> str:
    if argument != "-":
        return argument
    if sys.stdin is None:
        raise BadInput("There is no standard input to read: give the text itself.")
    return sys.stdin.buffer.read().decode(errors="replace").removesuffix("\n")


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _notes(notes: Sequence[str]) -> None:
    for note in notes:
        print(note, file=sys.stderr)


def _token(token: Token) -> dict[str, Any]:
    part = {"part": {"number": token.part[0], "of": token.part[1], "characters": token.part[2]}} if token.part else {}
    return {
        "position": token.position,
        "id": token.id,
        "text": token.text,
        "piece": token.piece,
        "bytes": token.hex,
        "start": token.start,
        "end": token.end,
        "special": token.special,
    } | part


def _entry(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "text": entry.text,
        "piece": entry.piece,
        "bytes": entry.hex,
        "special": entry.special,
    }


def _named(entry: Entry) -> str:
    return f"{entry.label:<16} id {entry.id:<6}"


@app.command()
def lookup(
    text: Text,
    model: Model = None,
    rows: Annotated[bool, typer.Option("--rows", help="With every number of each row.")] = False,
    as_json: Json = False,
) -> None:
    """Cut a text into tokens, and look each one's row up in the embedding table."""
    typed = _text(text)
    if not typed:
        raise BadInput("The text is empty: type a word or a sentence.")
    language_model = _loaded(model)
    tokens = language_model.tokenise(typed)
    vectors = language_model.rows(tokens)
    lengths = language_model.table.lengths[list(tokens.ids)]
    _notes(tokens.notes)
    table = language_model.table
    if as_json:
        described = [
            _token(token) | {"norm": float(length)} for token, length in zip(tokens.tokens, lengths, strict=True)
        ]
        if rows:
            described = [one | {"row": row.tolist()} for one, row in zip(described, vectors, strict=True)]
        shape = {"rows": table.rows, "dimensions": table.dimensions, "tied": table.tied}
        _print_json({"model": language_model.spec.name, "table": shape, "tokens": described})
        return
    print(f"{language_model.spec.title}: a table of {table.rows:,} rows, {table.dimensions} numbers each.")
    for token, row, length in zip(tokens.tokens, vectors, lengths, strict=True):
        first = " ".join(f"{value:+.3f}" for value in (row if rows else row[:6]))
        part = f"  piece {token.part[0]} of {token.part[1]} of {visible(token.part[2])}" if token.part else ""
        print(f"{token.position:>3}  {_named(token)} length {length:6.3f}  {first}{'' if rows else ' …'}{part}")


@app.command()
def neighbours(
    token_text: Annotated[str, typer.Argument(help="One token just as it is, space included, or an id as #5461.")],
    top: Annotated[int, typer.Option(help="How many rows to list.")] = 10,
    metric: Annotated[str, typer.Option(help="cosine, dot or euclidean.")] = "cosine",
    model: Model = None,
    as_json: Json = False,
) -> None:
    """List the rows nearest to a token's row in the whole table, beside that row's own mean over all rows."""
    from embedviz.comparison import compare, metric_named
    from embedviz.meaning import one_token
    from embedviz.neighbours import nearest

    measure = metric_named(metric)
    _must_list(top)
    typed = _text(token_text)
    language_model = _loaded(model)
    table = language_model.table
    asked = one_token(language_model, typed)
    found = nearest(compare(table, asked.vector), language_model.vocabulary, measure, top=top, inputs=asked.ids)
    entry, length = asked.entries[0], float(table.lengths[asked.ids[0]])
    _notes(asked.notes)
    if as_json:
        _print_json(
            {
                "token": _entry(entry) | {"norm": length},
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


@app.command()
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

    _must_list(top)
    language_model = _loaded(model)
    asked = [one_token(language_model, typed) for typed in (a, b, c)]
    result = sum_of_rows(language_model.table, language_model.vocabulary, *asked, centre=centre, top=top)
    _notes(result.notes)
    if as_json:
        _print_json({"neighbours": _values(result.neighbours.nearest)})
        return
    baseline = result.neighbours.baseline
    print(f"{result.sum}{', mean row subtracted' if centre else ''}. {result.proportion}")
    print(
        f"Cosine, higher is nearer. With all {baseline.rows:,} rows: mean {baseline.mean:.3f}, std {baseline.std:.3f}."
    )
    _list_rows(result.neighbours.nearest, "cosine")
    print(result.neighbours.left_out.sentence)


def _must_list(top: int) -> None:
    if top < 1:
        raise BadInput(f"The number of tokens to show must be at least 1; {top} was given.")


def _values(found: Sequence[Neighbour]) -> list[dict[str, Any]]:
    return [{"id": one.entry.id, "text": one.entry.text, "value": one.value} for one in found]


def _list_rows(found: Sequence[Neighbour], metric: str) -> None:
    for one in found:
        print(f"{one.rank:>3}  {_named(one.entry)} {metric} {one.value:.3f}")


@app.command("map")
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
        job, told = make(_loaded(model)), ""
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
        _print_json(
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


@app.command()
def scores(
    text: Text,
    model: Model = None,
    top: Annotated[int, typer.Option(help="How many tokens to list.")] = 10,
    start_token: Annotated[bool, typer.Option("--start-token", help="Feed the model's start token first.")] = False,
    temperature: Annotated[
        float, typer.Option(help="Divide the logits by this before sampling; 0 takes the best.")
    ] = 1.0,
    top_k: Annotated[int, typer.Option(help="Sample among the K most likely; 0 keeps all.")] = 0,
    top_p: Annotated[float, typer.Option(help="Sample among the fewest that hold this share of probability.")] = 1.0,
    continue_: Annotated[int, typer.Option("--continue", help="How many tokens to add, one by one.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the sampling.")] = 0,
    edit: Annotated[
        list[str] | None,
        typer.Option(
            help='Change a row first, as POSITION:OPERATION: 3:scale=0.5, 3:swap=" money", 3:slide=" money"@0.25, '
            "3:noise=0.1@SEED, 3:zero, 3:mean, 3:shuffle@SEED. Can be given several times."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Feed a text's rows to the model as inputs_embeds, and list the most likely next tokens."""
    from embedviz.edits import read_edit
    from embedviz.next_token import Sampling, candidates, continuation, next_token

    sampling = Sampling(temperature, top_k, top_p, seed)
    edits = [read_edit(one) for one in edit or ()]
    if continue_ < 0:
        raise BadInput(f"The number of tokens to add must be 0 or more; {continue_} was given.")
    _must_list(top)
    typed = _text(text)
    if not typed.strip():
        raise BadInput("The text is blank: type a sentence.")
    language_model = _loaded(model)
    # Said before the run, which takes half a minute for the longest text.
    _notes(language_model.tokenise(typed, start_token=start_token).notes)
    result = next_token(language_model, typed, start_token=start_token, edits=edits)
    best = candidates(language_model, result.distribution, top)
    added = continuation(language_model, result, continue_, sampling) if continue_ else None
    if as_json:
        _print_json(
            {
                "model": language_model.spec.name,
                "tokens": [_token(token) for token in result.tokens.tokens],
                "path": "inputs_embeds",
                "self_check": {"max_abs_difference": result.self_check},
                "next": [
                    {
                        "rank": c.rank,
                        "id": c.entry.id,
                        "text": c.entry.text,
                        "logit": c.logit,
                        "probability": c.probability,
                    }
                    for c in best
                ],
                "continuation": added,
            }
        )
        return
    check = "the same to the bit" if result.self_check == 0 else f"difference {result.self_check:.1e}"
    print(f"Next token after {len(result.tokens)} tokens. Scores from rows and from ids: {check}.")
    for c in best:
        print(f"{c.rank:>3}  {_named(c.entry)} logit {c.logit:7.2f}  probability {c.probability:.3f}")
    if added is not None:
        print(added)


@app.command()
def models(
    path: Annotated[bool, typer.Option("--path", help="Print only the folder where prepared models are kept.")] = False,
    model: Model = None,
    as_json: Json = False,
) -> None:
    """List the models that can be used, and which of them this machine has ready."""
    from embedviz.models import catalog, prepare

    if path:
        print(prepare.cache_folder())
        return
    offered = catalog.offered() if model is None else (catalog.find(model),)
    held = {holding.name: holding for holding in prepare.holdings()}
    state = {spec.name: "ready" if prepare.ready(spec) else "not prepared" for spec in offered}
    if as_json:
        _print_json(
            [
                {
                    "name": spec.name,
                    "title": spec.title,
                    "state": state[spec.name],
                    "bytes_held": held[spec.name].bytes if spec.name in held else 0,
                    "architecture": spec.architecture,
                    "reads": spec.reading,
                    "next_token_head": spec.next_token_head,
                    "tied": spec.tied,
                    "start_token": spec.start_token,
                    "context": spec.context,
                    "blocks": spec.blocks,
                    "dimensions": spec.dimensions,
                    "rows": spec.rows,
                    "download_bytes": spec.download_bytes,
                    "quantisation": spec.quantisation,
                    "licence": spec.licence,
                }
                for spec in offered
            ]
        )
        return
    for spec in offered:
        kept = f", {held[spec.name].bytes / 1e6:,.0f} MB kept" if spec.name in held else ""
        print(f"{spec.summary} {spec.reading.capitalize()}. {state[spec.name].capitalize()}{kept}.")
    print(f"Kept in {prepare.cache_folder()}")


@app.command()
def prepare(
    names: Annotated[list[str] | None, typer.Argument(help="Models to prepare. Default: the two bundled ones.")] = None,
    model: Model = None,
    remove: Annotated[str | None, typer.Option(help="Free the disk space of a prepared model.")] = None,
    as_json: Json = False,
) -> None:
    """Make models ready once, so that later starts are quick and need no network."""
    from embedviz.models import catalog
    from embedviz.models import prepare as preparation

    if remove is not None:
        freed = preparation.remove(remove)
        if as_json:
            _print_json({"removed": remove, "bytes": freed})
        else:
            print(f"{remove}: {freed / 1e6:,.0f} MB freed." if freed else f"{remove}: nothing was kept.")
        return
    chosen = [*(names or []), *([] if model is None else [model])] or [spec.name for spec in catalog.bundled()]
    done = [preparation.prepare(catalog.find(name), _Progress()) for name in chosen]
    if as_json:
        _print_json([{"name": one.spec.name, "folder": str(one.folder)} for one in done])
        return
    for one in done:
        print(f"{one.spec.name} is ready.")


@app.command()
def doctor(
    model: Model = None,
    port: Annotated[int, typer.Option(help="The port that the app will use.")] = 8501,
    as_json: Json = False,
) -> None:
    """Tell in plain words whether this machine is ready for class. Exit code 1 if it is not."""
    from embedviz.doctor import examine

    checks = []
    for check in examine(model, port):
        checks.append(check)
        if not as_json:
            print(f"{'ok   ' if check.passed else 'mend '} {check.sentence}", flush=True)
    passed = all(check.passed for check in checks)
    if as_json:
        _print_json({"ready": passed, "checks": [vars(check) for check in checks]})
    else:
        print(
            "This machine is ready for class."
            if passed
            else "This machine is not ready yet: see the lines marked mend."
        )
    raise typer.Exit(0 if passed else 1)


@app.command()
def serve(
    address: Annotated[
        str, typer.Option(help="Let others reach the app: this machine's address, or 0.0.0.0 for all.")
    ] = "",
    port: Annotated[int, typer.Option(help="The port to listen on.")] = 8501,
    model: Model = None,
    open_browser: Annotated[bool, typer.Option(help="Open a browser window on this machine.")] = True,
) -> None:
    """Start the app, for this machine alone or for a class on the same network."""
    from embedviz import serving

    serving.serve(address, port, model, open_browser=open_browser)
