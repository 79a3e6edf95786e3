"""The commands on a word in its sentences: `senses` and `vectors`."""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from embedviz.cli.output import SECONDS_BETWEEN_LINES, Json, Model, loaded, print_json, say
from embedviz.errors import BadInput
from embedviz.numbers import count, decimal, things
from embedviz.tokens import visible_line

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel
    from embedviz.occurrences import Skipped
    from embedviz.sense_files import WordSenses

# A command has minutes where a page has seconds.
MOST_USES = 10_000
# A file with a wrong column would push the table off the screen; --json lists all.
MOST_SKIPPED_SHOWN = 20

File = Annotated[
    Path,
    typer.Argument(
        help="TXT: a sentence a line, the word in [square brackets]. CSV, TSV, JSONL: sentence, and optional word, "
        "sense, start, end."
    ),
]
Word = Annotated[str | None, typer.Option(help="The word to look for where it is not marked.")]
Layers = Annotated[str, typer.Option(help="all, or numbers such as 0,7,11; 0 is the table row.")]
Pieces = Annotated[
    Literal["mean", "first", "last"], typer.Option("--pooling", help="What becomes of a word's several pieces.")
]
NoStart = Annotated[bool, typer.Option("--no-start-token", help="Do not feed the model's start token first.")]
Inflected = Annotated[bool, typer.Option("--inflected", help="Take the word with an English ending too: banks.")]
Most = Annotated[int, typer.Option(help="How many uses to read at most of a file.")]


def senses(
    file: File,
    word: Word = None,
    test: Annotated[Path | None, typer.Option(help="A second file, on which the accuracy is measured.")] = None,
    layers: Layers = "all",
    pooling: Pieces = "mean",
    no_start_token: NoStart = False,
    inflected: Inflected = False,
    most: Most = MOST_USES,
    model: Model = None,
    as_json: Json = False,
) -> None:
    """Tell how far the senses of a word are apart at each layer, beside pairs of random words.

    Accuracy is that of the nearest centroid, leaving one out, or on the file --test.
    """
    from embedviz.sense_files import senses as measure
    from embedviz.sense_files import uses

    numbers = _numbers(layers)
    _must_read(most)
    read = uses(file, word, inflected=inflected, most=most)
    second = None if test is None else uses(test, word, inflected=inflected, most=most)
    language_model = loaded(model)
    shown = _chosen(numbers, language_model)
    found = measure(
        language_model, read, test=second, pooling=pooling, start_token=False if no_start_token else None,
        progress=_progress(),
    )  # fmt: skip
    say(found.found.notes)
    if found.test is not None and test is not None:
        _say_of_test(found, test)
    if as_json:
        print_json(
            {
                "model": language_model.spec.name,
                "word": found.word,
                "occurrences": len(found.found.occurrences),
                "skipped": _skipped(found.found.skipped),
                "baseline": [_number(found.baseline[layer]) for layer in shown],
                "layers": [
                    {
                        "layer": layer,
                        "name": language_model.layer_name(layer),
                        "accuracy": _number(found.accuracy.by_layer[layer]),
                        "within": _number(found.within[layer]),
                        "between": _number(found.between[layer]),
                        "silhouette": _number(found.measures.silhouette[layer]),
                    }
                    for layer in shown
                ],
                "best_layer": found.measures.best_layer,
            }
        )
        return
    _print_table(language_model, found, shown, test)


def vectors(
    file: File,
    out: Annotated[Path, typer.Option(help="The file to write: X.npz, X.csv or X.parquet.")],
    word: Word = None,
    layers: Layers = "all",
    pooling: Pieces = "mean",
    no_start_token: NoStart = False,
    inflected: Inflected = False,
    most: Most = MOST_USES,
    model: Model = None,
    as_json: Json = False,
) -> None:
    """Write the vectors of a word in its sentences, at all layers or some, to a file."""
    from embedviz.sense_files import uses
    from embedviz.sense_files import vectors as read_vectors
    from embedviz.senses_export import ENDINGS, write_vectors

    numbers = _numbers(layers)
    _must_read(most)
    # Said now, not after minutes of reading.
    if out.suffix.lower().lstrip(".") not in ENDINGS:
        raise BadInput(
            f"Vectors are written as .npz, .csv or .parquet; {visible_line(out.name)} ends in none of these."
        )
    if out.is_dir():
        raise BadInput(f"{out} is a folder: name a file in it.")
    if not out.parent.is_dir():
        raise BadInput(f"There is no folder {out.parent}: make it first, or choose another.")
    read = uses(file, word, inflected=inflected, most=most)
    language_model = loaded(model)
    shown = _chosen(numbers, language_model)
    found = read_vectors(
        language_model, read, pooling=pooling, start_token=False if no_start_token else None, progress=_progress()
    )
    say(found.notes)
    write_vectors(found, out, shown)
    if as_json:
        print_json(
            {
                "model": language_model.spec.name,
                "word": read.word,
                "occurrences": len(found.occurrences),
                "skipped": _skipped(found.skipped),
                "layers": list(shown),
                "dimensions": found.vectors.shape[2],
                "out": str(out),
            }
        )
        return
    print(
        f"{language_model.spec.title}, {visible_line(read.word)}: {things(len(found.occurrences), 'use')} at "
        f"{things(len(shown), 'layer')}, {found.vectors.shape[2]} numbers each. Written to {out}"
    )
    _print_skipped(found.skipped)


def _numbers(layers: str) -> tuple[int, ...] | None:
    """The layers asked for, each once; None for all. Raises BadInput for what is no number."""
    if layers.strip().lower() == "all":
        return None
    parts = [part.strip() for part in layers.split(",")]
    wrong = [part for part in parts if not re.fullmatch("[0-9]{1,9}", part)]
    if wrong:
        what = f"{visible_line(wrong[0])} is no such number" if wrong[0] else "a number is missing"
        raise BadInput(f"Layers are given as all, or as numbers such as 0,7,11; {what}.")
    return tuple(dict.fromkeys(int(part) for part in parts))


def _chosen(numbers: Sequence[int] | None, model: LanguageModel) -> tuple[int, ...]:
    last = model.spec.blocks
    if numbers is None:
        return tuple(range(last + 1))
    beyond = [number for number in numbers if number > last]
    if beyond:
        raise BadInput(f"{model.spec.title} has the layers 0 to {last}; {beyond[0]} is none of them.")
    return tuple(numbers)


def _must_read(most: int) -> None:
    if most < 1:
        raise BadInput(f"The number of uses to read must be at least 1; {most} was given.")


def _progress() -> Callable[[int, int], None] | None:
    """Says every two seconds how many sentences are read, where somebody is watching."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    last = time.monotonic()

    def told(done: int, every: int) -> None:
        nonlocal last
        if done < every and time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            print(f"{count(done)} of {things(every, 'sentence')} read.", file=sys.stderr, flush=True)

    return told


def _number(value: float) -> float | None:
    """A number for JSON, which has no NaN."""
    return None if math.isnan(value) else float(value)


def _skipped(skipped: Sequence[Skipped]) -> list[dict[str, Any]]:
    return [{"line": one.line, "reason": one.reason} for one in skipped]


def _say_of_test(found: WordSenses, test: Path) -> None:
    """What of the second file was not used: the contract's list of skipped lines is the first file's."""
    assert found.test is not None
    name = visible_line(test.name)
    say([f"{name}: {note}" for note in found.test.notes])
    say([f"{name}, line {one.line} skipped: {one.reason}" for one in found.test.skipped[:MOST_SKIPPED_SHOWN]])
    more = len(found.test.skipped) - MOST_SKIPPED_SHOWN
    say([f"{name}: {things(more, 'more line')} skipped."] if more > 0 else [])
    if absent := found.accuracy.left_out:
        listed = ", ".join(visible_line(one) for one in absent)
        say([f"{name}: senses that the first file does not have, and so are not tested: {listed}."])


def _print_table(model: LanguageModel, found: WordSenses, shown: Sequence[int], test: Path | None) -> None:
    measures, named = found.measures, found.measures.labels
    parts = [f"{size} {visible_line(name)}" for name, size in zip(named.names, named.counts, strict=True)]
    parts += [f"{named.without_sense} without a sense"] if named.without_sense and parts else []
    listed = f" ({', '.join(parts)})" if parts else ""
    print(f"{model.spec.title}, {visible_line(found.word)}: {things(len(found.found.occurrences), 'use')}{listed}.")
    columns = {"accuracy": found.accuracy.by_layer, "within": found.within, "between": found.between}
    if not named.names:
        columns = {"two uses": measures.self_similarity}
    columns["random"] = found.baseline
    if named.names:
        columns["silhouette"] = measures.silhouette
    print(f"{'layer':<6} {'name':<11}" + "".join(f"{head:>11}" for head in columns))
    for layer in shown:
        cells = ["–" if math.isnan(one[layer]) else decimal(float(one[layer]), 3) for one in columns.values()]
        print(f"{layer:>5}  {model.layer_name(layer):<11}" + "".join(f"{cell:>11}" for cell in cells))
    _print_sentences(found, test)
    _print_skipped(found.found.skipped)


def _print_sentences(found: WordSenses, test: Path | None) -> None:
    accuracy, best, parting = found.accuracy, found.measures.best_layer, found.measures.parting
    if not math.isnan(accuracy.chance):
        asked = "" if test is None else f" on {things(accuracy.tested, 'use')} of {visible_line(test.name)}"
        how = asked or ", leaving one out"
        print(f"Accuracy of the nearest centroid{how}; chance is {decimal(accuracy.chance)}.")
    alone = found.measures.accuracy
    if best is not None and alone.by_layer[best] > alone.chance:
        print(f"Leaving one out, it is best at layer {best}.")
    print(parting.reason if parting.layer is None else f"The senses part at layer {parting.layer}.")


def _print_skipped(skipped: Sequence[Skipped]) -> None:
    for one in skipped[:MOST_SKIPPED_SHOWN]:
        print(f"Line {one.line} skipped: {one.reason}")
    if len(skipped) > MOST_SKIPPED_SHOWN:
        print(f"{things(len(skipped) - MOST_SKIPPED_SHOWN, 'more line')} skipped; --json lists them.")
