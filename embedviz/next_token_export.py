"""The next-token page's results as tables, with every number in full, for the page and for files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embedviz.next_token import Candidate
from embedviz.next_token_view import NextTokenView
from embedviz.position_effect import PositionEffect
from embedviz.score_parts import ScoreParts
from embedviz.two_prompts import Change, Surprise

if TYPE_CHECKING:
    import pandas as pd


def candidates_table(candidates: Sequence[Candidate], unedited: Sequence[float] = ()) -> pd.DataFrame:
    """One line a token: rank, id, text, logit, probability; and its probability without edits where that is given."""
    import pandas as pd

    columns = {
        "rank": [one.rank for one in candidates],
        "id": [one.entry.id for one in candidates],
        "text": [one.entry.label for one in candidates],
        "logit": [one.logit for one in candidates],
        "probability": [one.probability for one in candidates],
    }
    return pd.DataFrame(columns | ({"unedited": list(unedited)} if unedited else {}))


def moment_table(shown: NextTokenView, at: int) -> pd.DataFrame:
    """The most likely tokens at one moment of an edit, with their probabilities without it."""
    moment = shown.moments[at]
    return candidates_table(moment.best, moment.unedited)


def way_table(shown: NextTokenView) -> pd.DataFrame:
    """One line for each moment and token of the lines: step, moment, text, probability; nearest row and divergence.

    The divergence is from the unedited scores, in nats.
    """
    import pandas as pd

    return pd.DataFrame(
        [
            (step, moment.name, line.label, line.probabilities[step], moment.nearest, moment.divergence)
            for line in shown.lines
            for step, moment in enumerate(shown.moments)
        ],
        columns=["step", "moment", "text", "probability", "nearest row", "divergence"],
    )


def parts_table(parts: ScoreParts) -> pd.DataFrame:
    """One line a coordinate, the largest product first: coordinate, product, running total; a bias as a last line.

    The bias has no coordinate. The last running total is the logit.
    """
    import pandas as pd

    coordinates, products = parts.order.tolist(), parts.products[parts.order].tolist()
    running = parts.running.tolist()
    if parts.bias:
        coordinates, products, running = [*coordinates, None], [*products, parts.bias], [*running, parts.logit]
    return pd.DataFrame(
        {"coordinate": pd.array(coordinates, dtype="Int64"), "product": products, "running total": running}
    )


def changes_table(changes: Sequence[Change]) -> pd.DataFrame:
    """One line a token: id, text, probability after the first and after the second text, second less first."""
    import pandas as pd

    return pd.DataFrame(
        {
            "id": [one.entry.id for one in changes],
            "text": [one.entry.label for one in changes],
            "first": [one.first for one in changes],
            "second": [one.second for one in changes],
            "difference": [one.difference for one in changes],
        }
    )


def surprise_table(found: Surprise) -> pd.DataFrame:
    """One line a token of a text: position, id, text, surprise in nats; none for the first."""
    import pandas as pd

    tokens = found.tokens.tokens
    return pd.DataFrame(
        {
            "position": [token.position for token in tokens],
            "id": [token.id for token in tokens],
            "text": [token.label for token in tokens],
            "surprise": found.nats,
        }
    )


def ranks_table(ranks: NDArray[np.int64]) -> pd.DataFrame:
    """One line a layer: layer, rank of the token that was followed."""
    import pandas as pd

    return pd.DataFrame({"layer": np.arange(len(ranks)), "rank": ranks})


def position_table(effect: PositionEffect) -> pd.DataFrame:
    """One line for each offset and layer: offset, layer, the last vector's move as a share, all together and alone."""
    import pandas as pd

    offsets, layers = effect.together.shape
    return pd.DataFrame(
        {
            "places later": np.repeat(effect.offsets, layers),
            "layer": np.tile(np.arange(layers), offsets),
            "all together": effect.together.ravel(),
            "alone": effect.apart.ravel(),
        }
    )
