"""The first map of a whole table against bare `umap.UMAP` with the same settings, each in a fresh process, in turn.

    python -m benchmarks.table_map [--runs 1] [--rows 49152] [--model smollm2-135m] [--settings]

Prints the ratio of times (import and compilation included on both sides), peak memory of the process that runs UMAP,
and the share of a row's 15 true neighbours by cosine that are among its 15 nearest in the picture (2,000 rows asked).
With --settings it prints that share, and the time after the neighbours are known, for the settings below.

Why these settings (SmolLM2-135M, 49,152 rows, two cores; seconds after the neighbours are known):

    n_neighbors 15, UMAP's defaults                     16 s   .161   (.158 with UMAP's own search for neighbours)
      init "pca" or "random"                            20 s   .157   no better
      min_dist 0                                        17 s   .189
      min_dist 0, n_epochs 500                          49 s   .206   three times the work
      min_dist 0, negative_sample_rate 10               40 s   .222   twice the work
      min_dist 0, repulsion_strength 2                  22 s   .217   the same pushing apart, nearly for nothing
      min_dist 0, spread 2                              22 s   .205
    n_neighbors 30, min_dist 0                          28 s   .135
    n_neighbors 6, min_dist 0                           12 s   .235   falls into islets
    n_neighbors 10, min_dist 0, repulsion 2             13 s   .234   points of a group lie on one another
    n_neighbors 10, min_dist 0, spread 2, repulsion 2   14 s   .240   the same
    n_neighbors 10, min_dist .1, spread 2, repulsion 2  13 s   .229   chosen: groups can be read when zoomed

The neighbours are exact: 49,152 rows by plain matrix products take 14 to 20 s on two cores, UMAP's own search 36 s.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from typing import Any

import numpy as np

from embedviz.table_map import SEED, SETTINGS

TRIED: tuple[dict[str, Any], ...] = (
    {"n_neighbors": 15},
    {"n_neighbors": 15, "min_dist": 0.0},
    {"n_neighbors": 10, "min_dist": 0.0, "repulsion_strength": 2.0},
    SETTINGS,
)


def rows_of(model: str, rows: int) -> np.ndarray:
    """The first rows of a model's table, without loading the model."""
    from safetensors import safe_open

    from embedviz.models.catalog import find
    from embedviz.models.prepare import prepare

    for file in sorted(prepare(find(model)).folder.glob("*.safetensors")):
        with safe_open(str(file), "numpy") as weights:
            for name in weights.keys():  # noqa: SIM118 (no mapping)
                if name.endswith(("embed_tokens.weight", "word_embeddings.weight", "wte.weight", "embed_in.weight")):
                    return weights.get_tensor(name)[:rows].astype(np.float32)
    raise SystemExit(f"no table found for {model}")


def ours(vectors: np.ndarray) -> tuple[float, float]:
    """Map through the worker: share kept, and the worker's peak memory in MB."""
    import resource

    from embedviz.projection.umap_client import UmapWorker

    worker = UmapWorker()
    kept = worker.place_all(vectors, SETTINGS, lambda _, kept: kept, seed=SEED).result()
    worker.close()
    return kept, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * peak_unit()


def bare(vectors: np.ndarray) -> tuple[float, float]:
    """The plain call: share kept (measured after the clock has stopped), and this process's peak memory in MB."""
    import resource

    import umap

    layout = umap.UMAP(metric="cosine", random_state=SEED, n_jobs=1, **SETTINGS).fit_transform(vectors)
    print("stop", flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * peak_unit()
    from embedviz.geometry import neighbours_kept

    return neighbours_kept(vectors, layout, seed=SEED), peak


def peak_unit() -> float:
    """Megabytes in one unit of `ru_maxrss`."""
    return 1e-6 if sys.platform == "darwin" else 1024e-6


def run(side: str, options: argparse.Namespace) -> dict[str, float]:
    """Seconds, share kept and peak memory of one side in a fresh process."""
    command = [sys.executable, __file__, "--only", side, "--rows", str(options.rows), "--model", options.model]
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        seconds = 0.0
        for line in child.stdout:
            seconds = seconds or time.perf_counter() - started
            if line.startswith("{"):
                return json.loads(line) | {"seconds": seconds}
    raise SystemExit(f"{side} failed")


def settings_tried(vectors: np.ndarray) -> None:
    """Print what each of a few settings keeps, with the same exact neighbours."""
    from embedviz.projection.umap_fit import place_all

    for settings in TRIED:
        began, found = time.perf_counter(), 0.0

        def tell(things: str, done: int, of: int, share: float) -> None:
            nonlocal found
            if things == "rows compared":
                found = time.perf_counter()

        _, kept = place_all(vectors, SEED, settings, tell)
        ended = time.perf_counter()
        print(f"{settings}: neighbours {found - began:.1f} s, then {ended - found:.1f} s, kept {kept:.3f}", flush=True)


def main() -> None:
    """Run the pairs and print their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--rows", type=int, default=1 << 20, help="use only the first rows, for a quick run")
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--settings", action="store_true", help="compare settings instead")
    parser.add_argument("--only", choices=["ours", "bare"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    vectors = rows_of(options.model, options.rows)
    if options.settings:
        return settings_tried(vectors)
    if options.only:
        kept, peak = {"ours": ours, "bare": bare}[options.only](vectors)
        print(json.dumps({"kept": kept, "peak": peak}), flush=True)
        return None
    print(f"{options.model}, {len(vectors):,} rows of {vectors.shape[1]}, {os.cpu_count()} cores, {SETTINGS}")
    ratios = []
    for _ in range(options.runs):
        mine, theirs = run("ours", options), run("bare", options)
        ratios.append(mine["seconds"] / theirs["seconds"])
        for name, side in (("embedviz", mine), ("bare UMAP", theirs)):
            print(f"{name}: {side['seconds']:.1f} s, peak {side['peak']:,.0f} MB, kept {side['kept']:.3f}", flush=True)
    print(f"ratio of pairs: median {statistics.median(ratios):.2f}, from {min(ratios):.2f} to {max(ratios):.2f}")
    return None


if __name__ == "__main__":
    main()
