"""One word's vectors at all layers in 200 sentences, against a plain pipeline and against bare matrix products.

    python -m benchmarks.contextual_speed [FILE] [--runs 5] [--sentences 200] [--model smollm2-135m]

Sentences of 37 tokens are made from the gallery, or those of FILE are taken (one on a line, the word in [brackets]).
In turn: ours; `pipeline("feature-extraction")` of transformers on one sentence after the other, which gives the last
layer only; and the floor, the model's own linear layers as bare products of the same number of tokens. Then the peak
memory of fresh processes that read as many sentences, and twice as many. Linux and macOS.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path

import embedviz
from embedviz.contextual import PACK, contextual_vectors, remembered
from embedviz.gallery import gallery
from embedviz.models.catalog import find
from embedviz.models.language_model import LanguageModel
from embedviz.models.prepare import prepare
from embedviz.occurrences import Occurrence, read_lines

TOKENS = 37


def seconds(run: Callable[[], object]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def made(model: LanguageModel, number: int) -> list[Occurrence]:
    """Occurrences in texts of 37 tokens: each begins with another sentence of the gallery and goes on with the next."""
    uses = [use for word in gallery().values() for use in word.occurrences("all")]
    found: list[Occurrence] = []
    for k in range(len(uses)):
        text = " ".join(use.sentence for use in islice(cycle(uses), k, k + 6))
        text = text[: model.tokenise(text).tokens[TOKENS - 1].end]
        if len(model.tokenise(text)) == TOKENS:
            found.append(Occurrence(text, uses[k].start, uses[k].end))
    if len(found) < number:
        raise SystemExit(f"The gallery gives {len(found)} texts of {TOKENS} tokens: ask for no more.")
    return found[:number]


def floor(model: LanguageModel, tokens: int) -> Callable[[], None]:
    """The products that the model's linear layers are made of, for so many tokens, a full batch at a time."""
    import torch

    # GPT-2 keeps its weights the other way round; the product costs the same.
    weights = [
        module.weight if module.weight.shape[0] == width else module.weight.T
        for module in model._network.base_model.modules()
        if type(module).__name__ in ("Linear", "Conv1D")
        for width in [getattr(module, "out_features", module.weight.shape[0])]
    ]
    inputs = {weight.shape[1]: torch.randn(PACK, weight.shape[1]) for weight in weights}
    sizes = [PACK] * (tokens // PACK) + ([tokens % PACK] if tokens % PACK else [])

    def run() -> None:
        with torch.inference_mode():
            for size in sizes:
                for weight in weights:
                    torch.mm(inputs[weight.shape[1]][:size], weight.T)

    return run


def plain(model: LanguageModel, sentences: Sequence[str]) -> Callable[[], None]:
    """The usual call, one sentence after the other."""
    from transformers import AutoModel, AutoTokenizer, pipeline

    folder = prepare(find(model.spec.name)).folder
    extract = pipeline(
        "feature-extraction",
        model=AutoModel.from_pretrained(folder, dtype="float32"),
        tokenizer=AutoTokenizer.from_pretrained(folder),
        device="cpu",
    )

    def run() -> None:
        for sentence in sentences:
            extract(sentence)

    return run


def peak_memory(options: argparse.Namespace, number: int) -> float:
    """Peak resident megabytes of a fresh process that reads so many sentences."""
    command = [sys.executable, "-m", "benchmarks.contextual_speed", "--only", "--model", options.model]
    child = subprocess.Popen([*command, "--sentences", str(number)], cwd=Path(__file__).parent.parent)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} failed with exit code {child.returncode}")
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def main() -> None:
    """Run the three in turn, print their medians and ratios, then the memory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--only", action="store_true", help="read the sentences once, and measure nothing")
    options = parser.parse_args()
    if not options.only and options.file is None:
        # Before anything is loaded here: a child starts with its parent's peak.
        once, twice = (peak_memory(options, times * options.sentences) for times in (1, 2))
        print(f"peak memory: {options.sentences} sentences {once:.0f} MB, twice as many {twice:.0f} MB")
    model = embedviz.load(options.model)
    if options.file is None:
        given = made(model, options.sentences)
    else:
        lines = options.file.read_text(encoding="utf-8")
        given = list(read_lines(lines).occurrences[: options.sentences])
    if options.only:
        contextual_vectors(model, given)
        return
    tokens = sum(len(model.tokenise(one.sentence)) for one in given)

    def ours() -> None:
        remembered.clear()
        contextual_vectors(model, given)

    runs = (ours, plain(model, [one.sentence for one in given]), floor(model, tokens))
    for run in runs:
        run()
    times = [[seconds(run) for run in runs] for _ in range(options.runs)]
    mine, theirs, bare = (statistics.median(one) for one in zip(*times, strict=True))
    print(
        f"{len(given)} sentences, {tokens:,} tokens: embedviz {mine:.1f} s at all layers, pipeline {theirs:.1f} s, "
        f"bare products {bare:.1f} s"
    )
    for what, first, second in (("pipeline / embedviz", 1, 0), ("bare products / embedviz", 2, 0)):
        ratios = [one[first] / one[second] for one in times]
        print(f"{what}: median {statistics.median(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    main()
