"""Results as tables: what a figure shows, with every number in full, for the page and for files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embedviz.table_map import TableMap
from embedviz.thread import Thread

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
