"""UMAPs of all layers, each started from its neighbour's, against as many separate `umap.UMAP` fits, in turn.

    python -m benchmarks.aligned_layers [--runs 5] [--points 60] [--layers 31] [--components 2] [--vectors FILE.npz]

Prints the ratio of each pair's times and the median, and how long it takes until the chosen layer is there. Both sides
are warm, with the same settings and one core for matrix products. FILE.npz holds `vectors` (occurrence, layer,
dimension), as `embedviz vectors` writes them; without it there are three groups of random vectors that part slowly.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings

import numpy as np
from threadpoolctl import threadpool_limits

from embedviz.geometry import directions_up_to
from embedviz.projection.aligned import aligned_pca, aligned_umap
from embedviz.projection.umap_client import UmapWorker
from embedviz.projection.umap_fit import FEWEST, NEIGHBOURS


def groups(points: int, layers: int, dimensions: int = 576) -> np.ndarray:
    """Random vectors (point, layer, dimension) in three groups: all equal at layer 0, further apart at each later."""
    random = np.random.default_rng(0)
    row, centres = random.normal(size=dimensions), random.normal(size=(3, dimensions))
    own = 0.5 * random.normal(size=(points, 1, dimensions))
    way = np.linspace(0, 1, layers)[None, :, None]
    return (row + way * (centres[np.arange(points) % 3][:, None] + own)).astype(np.float32)


def separate(vectors: np.ndarray, components: int) -> float:
    """Seconds of one plain fit a layer, without those in which UMAP has nothing to do."""
    import umap

    layers = [np.ascontiguousarray(layer) for layer in vectors.swapaxes(0, 1)]
    layers = [layer for layer in layers if directions_up_to(layer, FEWEST) == FEWEST]
    near = min(NEIGHBOURS, len(vectors) - 1)
    started = time.perf_counter()
    with threadpool_limits(1, "blas"):
        for layer in layers:
            umap.UMAP(
                n_components=components, n_neighbors=near, metric="cosine", random_state=0, n_jobs=1
            ).fit_transform(layer)
    return time.perf_counter() - started


def ours(worker: UmapWorker, vectors: np.ndarray, components: int, start: int) -> tuple[float, float]:
    """Seconds until the start layer is there, and until all are."""
    started = time.perf_counter()
    job = aligned_umap(vectors, components=components, start=start, worker=worker)
    job.wait_for_part(600)
    first = time.perf_counter() - started
    job.result(600)
    return first, time.perf_counter() - started


def main() -> None:
    """Run the pairs and print their ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--points", type=int, default=60)
    parser.add_argument("--layers", type=int, default=31)
    parser.add_argument("--components", type=int, default=2, choices=(2, 3))
    parser.add_argument("--vectors")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    vectors = np.load(options.vectors)["vectors"] if options.vectors else groups(options.points, options.layers)
    points, layers, dimensions = vectors.shape
    start = min(9, layers - 1)

    worker = UmapWorker()
    ours(worker, vectors, options.components, start)
    separate(vectors, options.components)
    warnings.simplefilter("ignore")  # some libraries change the filters when they are imported
    pairs = []
    for _ in range(options.runs):
        pairs.append((*ours(worker, vectors, options.components, start), separate(vectors, options.components)))
    worker.close()
    ratios = [mine / theirs for _, mine, theirs in pairs]
    first, mine, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    by_pca = []
    for _ in range(options.runs + 1):
        began = time.perf_counter()
        aligned_pca(vectors, components=options.components, start=start)
        by_pca.append(time.perf_counter() - began)
    print(
        f"{layers} layers of {points} points of {dimensions} numbers in {options.components}D: embedviz {mine:.2f} s, "
        f"separate fits {theirs:.2f} s, ratio of pairs: median {statistics.median(ratios):.2f}, "
        f"from {min(ratios):.2f} to {max(ratios):.2f}\n"
        f"the chosen layer after {first:.3f} s, at most {max(pair[0] for pair in pairs):.3f} s; "
        f"all layers by PCA {statistics.median(by_pca[1:]):.3f} s"
    )


if __name__ == "__main__":
    main()
