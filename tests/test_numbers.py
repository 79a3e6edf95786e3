"""How numbers are written."""

from __future__ import annotations

import pytest

from embedviz.numbers import coordinate, count, decimal, length, logit, probability, share, things, told_apart


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.95, ".95"), (-0.03, "−.03"), (1.0, "1.00"), (0.0, ".00"), (-0.001, ".00"), (-1.0, "−1.00"), (0.999, "1.00"),
     (float("nan"), "undefined"), (12.5, "12.50")],
)  # fmt: skip
def test_two_decimals(value: float, written: str) -> None:
    assert decimal(value) == written


@pytest.mark.parametrize(("value", "written"), [(0.773, ".773"), (0.0004, "<.001"), (0.0, ".000"), (1.0, "1.000")])
def test_probability(value: float, written: str) -> None:
    assert probability(value) == written


@pytest.mark.parametrize(("value", "written"), [(17.371, "17.37"), (-0.551, "−0.55"), (-0.001, "0.00")])
def test_logit(value: float, written: str) -> None:
    assert logit(value) == written


@pytest.mark.parametrize(("value", "written"), [(0.17, "+.17"), (-0.05, "−.05"), (0.001, ".00"), (1.5, "+1.50")])
def test_coordinate(value: float, written: str) -> None:
    assert coordinate(value) == written


@pytest.mark.parametrize(("value", "written"), [(2.62, "2.6"), (9.96, "10"), (48.2, "48"), (22621.4, "22,621")])
def test_length(value: float, written: str) -> None:
    assert length(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [(1.0, "100%"), (0.9999, "over 99%"), (0.994, "99%"), (0.0, "0%"), (1e-9, "under 1%"), (0.006, "1%")],
)
def test_only_all_is_100_percent_and_only_nothing_is_none(value: float, written: str) -> None:
    assert share(value) == written


def test_two_numbers_that_differ_are_written_apart() -> None:
    assert told_apart(0.77, 0.25) == (".77", ".25")
    assert told_apart(0.9961, 0.9982) == (".996", ".998")
    assert told_apart(0.99996, 0.99998) == (".99996", ".99998")
    assert told_apart(0.5, 0.5) == (".50", ".50")


def test_counts_and_shares() -> None:
    assert (count(49152), share(0.764)) == ("49,152", "76%")
    assert (things(1, "token"), things(2000, "token"), things(2, "entry", "entries")) == (
        "1 token", "2,000 tokens", "2 entries",
    )  # fmt: skip
