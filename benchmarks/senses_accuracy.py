"""How well the senses of words can be read off at each layer: nearest centroid, on sentences not seen before.

    python -m benchmarks.senses_accuracy FOLDER [--models smollm2-135m,minilm-l6]

FOLDER holds, for each word, WORD-train.csv, which makes the centroids, and WORD-test.csv: with the columns sentence,
word, sense, start, end (characters). Prints the mean over the words, for each model and layer, beside chance and the
range of the words.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import embedviz
from embedviz.sense_files import senses

LAYERS = (0, 1, 2, 3, 4, 5, 6, 7, 9, 11, 13, 15, 18, 21, 24, 27, 28, 30)


def main() -> None:
    """Measure each word with each model, and print a line a layer."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--models", default="smollm2-135m,minilm-l6")
    options = parser.parse_args()
    files = {path.name.removesuffix("-train.csv"): path for path in sorted(options.folder.glob("*-train.csv"))}
    if not files:
        raise SystemExit(f"There is no WORD-train.csv in {options.folder}.")
    print(f"{len(files)} words: {', '.join(files)}")
    for name in options.models.split(","):
        model = embedviz.load(name)
        found = [senses(model, path, test=path.with_name(f"{word}-test.csv")) for word, path in files.items()]
        by_word = np.array([one.accuracy.by_layer for one in found])
        chance = np.mean([one.accuracy.chance for one in found])
        print(f"{name}: mean accuracy by layer, from the lowest to the highest word; chance {chance:.3f}")
        for layer in (layer for layer in LAYERS if layer < by_word.shape[1]):
            of_layer = by_word[:, layer]
            print(f"{layer:>5}  {of_layer.mean():.3f}  {of_layer.min():.3f} to {of_layer.max():.3f}")


if __name__ == "__main__":
    main()
