"""The commands that take a text: `lookup` and `scores`."""

from __future__ import annotations

from typing import Annotated

import typer

from embedviz.cli.output import Json, Model, Text, loaded, must_list, named, print_json, read_text, say, token_values
from embedviz.errors import BadInput
from embedviz.tokens import visible


def lookup(
    text: Text,
    model: Model = None,
    rows: Annotated[bool, typer.Option("--rows", help="With every number of each row.")] = False,
    as_json: Json = False,
) -> None:
    """Cut a text into tokens, and look each one's row up in the embedding table."""
    typed = read_text(text)
    if not typed:
        raise BadInput("The text is empty: type a word or a sentence.")
    language_model = loaded(model)
    tokens = language_model.tokenise(typed)
    vectors = language_model.rows(tokens)
    lengths = language_model.table.lengths[list(tokens.ids)]
    say(tokens.notes)
    table = language_model.table
    if as_json:
        described = [
            token_values(token) | {"norm": float(length)} for token, length in zip(tokens.tokens, lengths, strict=True)
        ]
        if rows:
            described = [one | {"row": row.tolist()} for one, row in zip(described, vectors, strict=True)]
        shape = {"rows": table.rows, "dimensions": table.dimensions, "tied": table.tied}
        print_json({"model": language_model.spec.name, "table": shape, "tokens": described})
        return
    print(f"{language_model.spec.title}: a table of {table.rows:,} rows, {table.dimensions} numbers each.")
    for token, row, length in zip(tokens.tokens, vectors, lengths, strict=True):
        first = " ".join(f"{value:+.3f}" for value in (row if rows else row[:6]))
        part = f"  piece {token.part[0]} of {token.part[1]} of {visible(token.part[2])}" if token.part else ""
        print(f"{token.position:>3}  {named(token)} length {length:6.3f}  {first}{'' if rows else ' …'}{part}")


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
            "3:noise=0.1@SEED, 3:zero, 3:mean, 3:shuffle@SEED, 3:paste=NUMBERS. Can be given several times."
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
    must_list(top)
    typed = read_text(text)
    if not typed.strip():
        raise BadInput("The text is blank: type a sentence.")
    language_model = loaded(model)
    # Said before the run, which takes half a minute for the longest text.
    say(language_model.tokenise(typed, start_token=start_token).notes)
    result = next_token(language_model, typed, start_token=start_token, edits=edits)
    best = candidates(language_model, result.distribution, top)
    added = continuation(language_model, result, continue_, sampling) if continue_ else None
    if as_json:
        print_json(
            {
                "model": language_model.spec.name,
                "tokens": [token_values(token) for token in result.tokens.tokens],
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
        print(f"{c.rank:>3}  {named(c.entry)} logit {c.logit:7.2f}  probability {c.probability:.3f}")
    if added is not None:
        print(added)
