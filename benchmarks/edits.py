"""The next-token page's work beside the plain calls it cannot do without, in pairs.

    python -m benchmarks.edits [--runs 9] [--model smollm2-135m] [--text "The capital of France is"]

Prints: a slide of 21 steps against one plain transformers batch of 21 such texts; a score against the plain call; 50
tokens with the cache against 50 whole runs, from prompts of 4 and 64 tokens; and how long a temperature move takes. The
two sides run in turn, so that a machine that slows down slows both.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from transformers import AutoModelForCausalLM

import embedviz
from embedviz.edit_effects import STEPS, path
from embedviz.edits import Edit
from embedviz.models.catalog import find
from embedviz.models.language_model import LanguageModel
from embedviz.models.prepare import prepare
from embedviz.next_token import Sampling, candidates, next_token
from embedviz.table import Vectors
from embedviz.walk import begin, go_on

TOKENS = 50


def seconds(work: Callable[[], object]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def pairs(
    name: str, first: tuple[str, Callable[[], object]], second: tuple[str, Callable[[], object]], runs: int
) -> None:
    """Run both in turn and print the ratio of each pair, first to second."""
    for _, work in (first, second):
        work()
    times = [(seconds(first[1]), seconds(second[1])) for _ in range(runs)]
    ratios = [one / other for one, other in times]
    medians = [statistics.median(side) * 1000 for side in zip(*times, strict=True)]
    print(
        f"{name}: {first[0]} {medians[0]:.0f} ms, {second[0]} {medians[1]:.0f} ms, ratio of pairs: "
        f"median {statistics.median(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}"
    )


def read_again(model: LanguageModel, rows: Vectors) -> None:
    """Add the best token `TOKENS` times, each time reading everything anew."""
    for _ in range(TOKENS):
        rows = np.concatenate([rows, model.table.lookup([int(model.scores(rows).argmax())])])


def main() -> None:
    """Run the pairs and print their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--text", default="The capital of France is")
    options = parser.parse_args()
    model = embedviz.load(options.model)
    plain = AutoModelForCausalLM.from_pretrained(prepare(find(options.model)).folder, dtype=torch.float32)
    before = next_token(model, options.text)
    ids = torch.tensor([before.tokens.ids])
    slide = [Edit(len(before.tokens) - 2, "slide", target=" Germany")]

    def scored(batch: torch.Tensor) -> torch.Tensor:
        with torch.inference_mode():
            return plain(input_ids=batch, use_cache=False, logits_to_keep=1).logits

    pairs("a slide", ("embedviz", lambda: path(model, before, slide)),
          (f"plain batch of {STEPS}", lambda: scored(ids.repeat(STEPS, 1))), options.runs)  # fmt: skip
    pairs("a score", ("embedviz", lambda: next_token(model, options.text)),
          ("plain call", lambda: scored(ids)), options.runs)  # fmt: skip
    for length in (4, 64):
        start = next_token(model, model.vocabulary.text_of(model.tokenise(options.text * 20).ids[:length]))
        with_it = partial(go_on, model, begin(start), Sampling(temperature=0), TOKENS)
        pairs(
            f"{TOKENS} tokens from {len(start.tokens)}",
            ("without the cache", partial(read_again, model, start.rows)),
            ("with it", with_it),
            max(3, options.runs // 3),
        )
    moves = [
        seconds(
            lambda t=t: (Sampling(t, 50, 0.9).choice(before.distribution), candidates(model, before.distribution, 20))
        )
        for t in np.linspace(0.1, 2, 20)
    ]
    print(f"a temperature move: median {statistics.median(moves) * 1000:.1f} ms, at most {max(moves) * 1000:.1f} ms")


if __name__ == "__main__":
    main()
