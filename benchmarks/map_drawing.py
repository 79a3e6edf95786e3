"""The map from disk to the screen against random points of the same number, in one browser, in turn.

    python -m benchmarks.map_drawing [--runs 9] [--model smollm2-135m]

Each run takes: reading the map (random points: making them), building the figure, writing it as JSON, reading that in
Chromium, and Plotly until the frame after its last one. The map must have been made (`python -m embedviz map`).
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import time
from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
from playwright.sync_api import Page, sync_playwright
from plotly.offline import get_plotlyjs

from embedviz.figures.style import DESK
from embedviz.figures.table_map import table_map
from embedviz.models.catalog import find
from embedviz.table_map import stored, well_known

DRAW = """async text => {
    const start = performance.now();
    const figure = JSON.parse(text), div = document.createElement('div');
    document.body.replaceChildren(div);
    await Plotly.newPlot(div, figure.data, figure.layout);
    await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    const took = performance.now() - start;
    Plotly.purge(div);
    return took;
}"""


def mine(name: str) -> go.Figure:
    """The map as the page shows it."""
    found = stored(find(name))
    if found is None:
        raise SystemExit(f"no map of {name}: run python -m embedviz map")
    return table_map(found, DESK, width=1232, words=well_known(found)).update_layout(width=1232)


def random_points(number: int) -> go.Figure:
    """As many points without anything."""
    x, y = np.random.default_rng(0).normal(size=(2, number)).astype(np.float32)
    return go.Figure(go.Scattergl(x=x, y=y, mode="markers", marker={"size": 3}), {"width": 1232, "height": DESK.map})


def measure(page: Page, make: Callable[[], go.Figure]) -> tuple[float, float, int]:
    """Milliseconds in Python and in the browser, and bytes between them."""
    start = time.perf_counter()
    text = make().to_json()
    python = (time.perf_counter() - start) * 1e3
    return python, page.evaluate(DRAW, text), len(text)


def main() -> None:
    """Run the pairs and print their ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--model", default="smollm2-135m")
    options = parser.parse_args()
    number = sum(len(trace.x) for trace in mine(options.model).data if trace.type == "scattergl")
    sides = (lambda: mine(options.model), lambda: random_points(number))
    with sync_playwright() as playwright:
        path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 720})
        page.set_content("<body></body>")
        page.add_script_tag(content=get_plotlyjs())
        for side in sides:
            measure(page, side)
        runs = [[measure(page, side) for side in sides] for _ in range(options.runs)]
        browser.close()
    for k, name in enumerate(("map", "random points")):
        python, drawing = (statistics.median(run[k][part] for run in runs) for part in (0, 1))
        print(f"{name}: Python {python:.0f} ms, browser {drawing:.0f} ms, {runs[0][k][2] / 1e6:.2f} MB")
    for what, value in (("whole", lambda side: side[0] + side[1]), ("browser alone", lambda side: side[1])):
        ratios = [value(mine_) / value(theirs) for mine_, theirs in runs]
        print(f"ratio of pairs, {what}: median {statistics.median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}")


if __name__ == "__main__":
    main()
