"""Is this machine ready for class? Each check is one sentence; a failed one says what to do."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import shutil
import sys
import time
import webbrowser
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from embedviz.errors import EmbedvizError
from embedviz.models import catalog, prepare
from embedviz.models.catalog import ModelSpec
from embedviz.serving import check_port, port_is_free

# A model of 540 MB, the libraries, and a class's pages: measured at 1.2 GB with the bundled models loaded.
NEEDED_MEMORY = 2.0e9
REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements.txt"


@dataclass(frozen=True)
class Check:
    """One thing looked at. name: what; passed: whether it is as it should be; sentence: what was found, what to do."""

    name: str
    passed: bool
    sentence: str


def examine(model: str | None = None, port: int = 8501) -> Iterator[Check]:
    """Look at this machine, one check after the other; the slow one, a first result, comes last.

    model: the model that class will use; the default one if None. Raises UnknownModel for a name nobody knows.
    """
    chosen = catalog.default() if model is None else catalog.find(model)
    check_port(port)
    yield _python()
    yield _packages()
    yield _memory()
    yield _port(port)
    yield _browser()
    specs = {spec.name: spec for spec in (chosen, *catalog.bundled())}
    for spec in specs.values():
        yield _model(spec)
    yield _offline(tuple(specs.values()))
    yield _first_result(chosen)


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < (3, 11):
        return Check("Python", False, f"Python {version} is too old: install Python 3.11 or later.")
    return Check("Python", True, f"Python {version}.")


def pinned_packages() -> dict[str, str]:
    """Name and version of each package that requirements.txt asks for; empty where the file is not there."""
    if not REQUIREMENTS.exists():
        return {}
    return dict(re.findall(r"^([A-Za-z0-9._-]+)==([^\s;#]+)", REQUIREMENTS.read_text(encoding="utf-8"), re.MULTILINE))


def _packages() -> Check:
    wrong = []
    pinned = pinned_packages()
    for name, version in pinned.items():
        try:
            found = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            wrong.append(f"{name} is missing")
            continue
        # A build's own mark (2.13.0+cpu) does not make another version.
        if found.partition("+")[0] != version:
            wrong.append(f"{name} is {found}, not {version}")
    if wrong:
        return Check("Packages", False, f"{'; '.join(wrong)}: run `python3 run.py` again to set them up.")
    return Check("Packages", True, f"All {len(pinned)} packages are there in the tested versions.")


def _memory() -> Check:
    import psutil

    free = psutil.virtual_memory().available
    if free < NEEDED_MEMORY:
        return Check(
            "Memory",
            False,
            f"{free / 1e9:.1f} GB of memory is free; {NEEDED_MEMORY / 1e9:.0f} GB is needed: close other programs.",
        )
    return Check("Memory", True, f"{free / 1e9:.1f} GB of memory is free.")


def _port(port: int) -> Check:
    if port_is_free(port):
        return Check("Port", True, f"Port {port} is free.")
    return Check(
        "Port",
        False,
        f"Port {port} is taken, perhaps by embedviz itself: stop that program, or serve with --port {port + 1}.",
    )


def browser_found() -> str | None:
    """Name of a web browser on this machine; None where none is found."""
    for name in ("chromium", "chromium-browser", "google-chrome", "firefox", "microsoft-edge"):
        if shutil.which(name):
            return name
    try:
        # Windows and macOS always answer with the system's own way of opening an address.
        return getattr(webbrowser.get(), "name", "the system's browser")
    except webbrowser.Error:
        return None


def _browser() -> Check:
    name = browser_found()
    if name is None:
        return Check(
            "Browser", False, "No web browser was found here: install one, or open the app from another machine."
        )
    return Check("Browser", True, f"A web browser is there ({name}).")


def _model(spec: ModelSpec) -> Check:
    try:
        prepared = prepare.ready(spec)
    except EmbedvizError as error:
        return Check(spec.name, False, str(error))
    if prepared is None:
        return Check(spec.name, False, f"{spec.title} is not prepared: run `python -m embedviz prepare {spec.name}`.")
    problems = prepare.verify(prepared)
    if problems:
        again = f"`python -m embedviz prepare --remove {spec.name}`, then `prepare {spec.name}`"
        return Check(spec.name, False, f"{spec.title} is damaged ({problems[0]}): run {again}.")
    return Check(spec.name, True, f"{spec.title} is ready and whole.")


def _offline(specs: tuple[ModelSpec, ...]) -> Check:
    missing = [spec.name for spec in specs if prepare.ready(spec) is None]
    if missing:
        return Check("Offline", False, f"Without network these would be missing: {', '.join(missing)}.")
    return Check("Offline", True, "Works without network: everything it needs is on this machine.")


def _first_result(spec: ModelSpec) -> Check:
    if prepare.ready(spec) is None:
        return Check("First result", False, "No first result: the model is not prepared.")
    # Nothing may reach out while this is timed; a class without network must get the same time.
    os.environ["HF_HUB_OFFLINE"] = "1"
    started = time.perf_counter()
    try:
        from embedviz.models.load import load
        from embedviz.next_token import candidates, next_token

        model = load(spec.name if spec in catalog.offered() else str(prepare.ready(spec).folder))  # type: ignore[union-attr]
        if spec.next_token_head:
            result = next_token(model, "The capital of France is")
            said = f"next token {candidates(model, result.distribution, 1)[0].entry.label}"
        else:
            said = f"{len(model.tokenise('The capital of France is'))} tokens read"
    except EmbedvizError as error:
        return Check("First result", False, str(error))
    return Check("First result", True, f"First result in {time.perf_counter() - started:.1f} s ({said}).")
