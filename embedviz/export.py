"""Results as tables: what a figure shows, with every number in full, for the page and for files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from embedviz.axes import Placement
from embedviz.coordinates import Probe
from embedviz.id_order import IdOrder
from embedviz.neighbours import Neighbour
from embedviz.table_map import TableMap
from embedviz.table_view import TableView
from embedviz.thread import Thread
from embedviz.tokens import Entry

if TYPE_CHECKING:
    import pandas as pd


def token_table(thread: Thread) -> pd.DataFrame:
    """One line a token: place, id, text, the vocabulary's own spelling, bytes, characters, kind, and its lengths."""
    import pandas as pd

    tokens = thread.tokens.tokens
    columns = {
        "position": [token.position for token in tokens],
        "id": [token.id for token in tokens],
        "text": [token.label for token in tokens],
        "piece": [token.piece for token in tokens],
        "bytes": [token.hex for token in tokens],
        "start": [token.start for token in tokens],
        "end": [token.end for token in tokens],
        "kind": [token.kind for token in tokens],
    }
    lengths = {f"length, {stage}": thread.lengths[k] for k, stage in enumerate(thread.stages)}
    return pd.DataFrame(columns | lengths)


def score_table(thread: Thread) -> pd.DataFrame:
    """One line for each of the most likely next tokens: rank, id, text, logit, probability."""
    import pandas as pd

    return pd.DataFrame(
        {
            "rank": [one.rank for one in thread.next],
            "id": [one.entry.id for one in thread.next],
            "text": [one.entry.label for one in thread.next],
            "logit": [one.logit for one in thread.next],
            "probability": [one.probability for one in thread.next],
        }
    )


def row_table(thread: Thread, position: int) -> pd.DataFrame:
    """One line a coordinate of a token's table row: coordinate, value, rank by size (1 is farthest from 0)."""
    import pandas as pd

    row = thread.rows[position]
    rank = np.empty(len(row), dtype=int)
    rank[np.argsort(-np.abs(row), kind="stable")] = np.arange(1, len(row) + 1)
    return pd.DataFrame({"coordinate": np.arange(len(row)), "value": row, "rank by size": rank})


def map_table(map: TableMap) -> pd.DataFrame:
    """One line a point of the map of the whole table: id, text, place (x, y), length of its row."""
    import pandas as pd

    return pd.DataFrame(
        {"id": map.ids, "text": map.labels, "x": map.layout[:, 0], "y": map.layout[:, 1], "length": map.lengths}
    )


def view_table(view: TableView) -> pd.DataFrame:
    """One line a row of the table page: group, rank in it, id, text, cosine with the chosen row, length, all values."""
    import pandas as pd

    named = pd.DataFrame(
        {
            "group": [line.group for line in view.lines],
            "rank": [line.rank for line in view.lines],
            "id": pd.array([line.id for line in view.lines], dtype="Int64"),
            "text": [line.label for line in view.lines],
            "cosine": [line.cosine for line in view.lines],
            "length": [line.length for line in view.lines],
        }
    )
    values = pd.DataFrame(view.rows, columns=[f"coordinate {k}" for k in range(view.dimensions)])
    return pd.concat([named, values], axis=1)


def histogram_table(view: TableView) -> pd.DataFrame:
    """One line a bin of the chosen row's cosines with all rows: lower and upper end, number of rows."""
    import pandas as pd

    edges = np.linspace(-1, 1, len(view.counts) + 1).round(6)
    return pd.DataFrame({"from": edges[:-1], "to": edges[1:], "rows": view.counts})


def neighbour_table(nearest: Sequence[Neighbour], value: str) -> pd.DataFrame:
    """One line a row of a list: rank, id, text, and the value under its name."""
    import pandas as pd

    return pd.DataFrame(
        {
            "rank": [one.rank for one in nearest],
            "id": [one.entry.id for one in nearest],
            "text": [one.entry.label for one in nearest],
            value: [one.value for one in nearest],
        }
    )


def entry_table(entries: Sequence[Entry]) -> pd.DataFrame:
    """One line an entry of the vocabulary: id, text, the vocabulary's own spelling, kind."""
    import pandas as pd

    return pd.DataFrame(
        {
            "id": [entry.id for entry in entries],
            "text": [entry.label for entry in entries],
            "piece": [entry.piece for entry in entries],
            "kind": [entry.kind for entry in entries],
        }
    )


def pair_table(order: IdOrder) -> pd.DataFrame:
    """One line a random pair of rows: |id difference|, the same after the ids are dealt out anew, cosine."""
    import pandas as pd

    return pd.DataFrame(
        {
            "id difference": order.distances,
            "id difference, shuffled": order.shuffled_distances,
            "cosine": order.cosines,
        }
    )


def placement_table(placed: Placement) -> pd.DataFrame:
    """One line a word placed along two axes: text, cosine with each axis, the share that both leave out."""
    import pandas as pd

    return pd.DataFrame(
        {
            "text": [one.label for one in placed.words],
            f"first axis, toward {placed.axes[0].high}": placed.places[:, 0],
            f"second axis, toward {placed.axes[1].high}": placed.places[:, 1],
            "left out": placed.left_out,
        }
    )


def probe_table(probe: Probe) -> pd.DataFrame:
    """One line a number of coordinates: accuracy in the table's basis and after a random rotation."""
    import pandas as pd

    return pd.DataFrame({"coordinates": probe.sizes, "accuracy": probe.accuracy, "after a rotation": probe.rotated})
