"""Time and memory from process start to the first score: the command line against ten plain lines, in pairs.

    python -m benchmarks.first_score [--runs 7] [--model smollm2-135m] [--text "The capital of France is"]

Prints the ratio of each pair's wall times and of their peak resident memory, and the medians. The two commands run in
turn, so that a machine that slows down slows both. Linux and macOS (it reads each child's own resource use).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from embedviz.models.catalog import find
from embedviz.models.prepare import prepare

PLAIN = Path(__file__).parent / "plain_score.py"


def measure(command: list[str]) -> tuple[float, float]:
    """Seconds and peak resident megabytes of one run of a command."""
    started = time.perf_counter()
    child = subprocess.Popen(command, cwd=PLAIN.parent.parent, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command)} failed with exit code {child.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return seconds, usage.ru_maxrss * unit / 1e6


def main() -> None:
    """Run the pairs and print their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--text", default="The capital of France is")
    options = parser.parse_args()
    folder = prepare(find(options.model)).folder
    ours = [sys.executable, "-m", "embedviz", "scores", options.text, "--model", options.model, "--json"]
    plain = [sys.executable, str(PLAIN), str(folder), options.text]
    for command in (ours, plain):
        measure(command)
    pairs = [(measure(ours), measure(plain)) for _ in range(options.runs)]
    for what, unit, k in (("time to first score", "s", 0), ("peak memory", "MB", 1)):
        ratios = [mine[k] / theirs[k] for mine, theirs in pairs]
        mine, theirs = (statistics.median(run[k] for run in side) for side in zip(*pairs, strict=True))
        print(
            f"{what}: embedviz {mine:.2f} {unit}, plain {theirs:.2f} {unit}, ratio of pairs: "
            f"median {statistics.median(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}"
        )


if __name__ == "__main__":
    main()
