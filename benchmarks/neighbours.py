"""Neighbours of one row by all three metrics, with baselines, against one bare matrix–vector product of that size.

    python -m benchmarks.neighbours [--runs 40] [--model smollm2-135m]

Prints the ratio of each pair's times and the median. The two run in turn, so that a machine that slows down slows both.
What is computed once for a table (lengths, the list of entries) is computed before.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

import embedviz
from embedviz.comparison import compare
from embedviz.neighbours import by_every_metric


def seconds(run: Callable[[], object]) -> float:
    """Wall time of one call."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def main() -> None:
    """Run the pairs and print their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--model", default="smollm2-135m")
    options = parser.parse_args()
    model = embedviz.load(options.model)
    table, vocabulary = model.table, model.vocabulary
    ids = np.random.default_rng(0).integers(table.rows, size=options.runs)

    def ours(id: int) -> object:
        return by_every_metric(compare(table, table.values[id]), vocabulary, top=10, inputs=[id])

    def plain(id: int) -> object:
        return table.values @ table.values[id]

    for run in (ours, plain):
        run(0)
    pairs = [
        (seconds(lambda id=id: ours(id)), seconds(lambda id=id: plain(id)))  # type: ignore[misc]
        for id in ids.tolist()
    ]
    ratios = [mine / theirs for mine, theirs in pairs]
    mine, theirs = (1e3 * statistics.median(side) for side in zip(*pairs, strict=True))
    print(
        f"three lists of neighbours among {table.rows:,} rows: embedviz {mine:.1f} ms, one product {theirs:.1f} ms, "
        f"ratio of pairs: median {statistics.median(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}"
    )


if __name__ == "__main__":
    main()
