"""The embedding table: rows by id, and cosines against a plain float64 computation."""

from __future__ import annotations

import numpy as np
import pytest

from embedviz.errors import BadInput
from embedviz.table import EmbeddingTable

VALUES = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
VALUES[7] = 0
TABLE = EmbeddingTable(VALUES, tied=True)


def test_lookup_gives_the_rows_in_order() -> None:
    assert np.array_equal(TABLE.lookup([3, 1, 3]), VALUES[[3, 1, 3]])
    assert (TABLE.rows, TABLE.dimensions) == (50, 6)


@pytest.mark.parametrize("id", [-1, 50])
def test_ids_outside_the_table_are_refused(id: int) -> None:
    with pytest.raises(BadInput, match="Ids run from 0 to 49"):
        TABLE.lookup([0, id])


def test_cosines_equal_float64_and_are_undefined_without_length() -> None:
    vector = VALUES[3].astype(np.float64)
    rows = VALUES.astype(np.float64)
    found = TABLE.cosines(VALUES[3])
    for k in range(50):
        if k == 7:
            assert np.isnan(found[k])
        else:
            expected = rows[k] @ vector / np.sqrt(rows[k] @ rows[k]) / np.sqrt(vector @ vector)
            assert found[k] == pytest.approx(expected, abs=1e-6)
    assert found[3] <= 1.0
