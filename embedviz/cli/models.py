"""The commands on models and on this machine: `models`, `prepare`, `doctor` and `serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from embedviz.cli.output import Json, Model, Progress, print_json


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
        print_json(
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
            print_json({"removed": remove, "bytes": freed})
        else:
            print(f"{remove}: {freed / 1e6:,.0f} MB freed." if freed else f"{remove}: nothing was kept.")
        return
    chosen = [*(names or []), *([] if model is None else [model])] or [spec.name for spec in catalog.bundled()]
    done = [preparation.prepare(catalog.find(name), Progress()) for name in chosen]
    if as_json:
        print_json([{"name": one.spec.name, "folder": str(one.folder)} for one in done])
        return
    for one in done:
        print(f"{one.spec.name} is ready.")


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
        print_json({"ready": passed, "checks": [vars(check) for check in checks]})
    else:
        print(
            "This machine is ready for class."
            if passed
            else "This machine is not ready yet: see the lines marked mend."
        )
    raise typer.Exit(0 if passed else 1)


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
