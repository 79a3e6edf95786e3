"""How numbers are written, once for sentences, charts and the command line.

Cosines and probabilities lose their leading zero, minus signs are true ones, and nothing is ever written "−.00".
Tables and files give numbers in full instead.
"""

from __future__ import annotations

import math


def decimal(value: float, digits: int = 2) -> str:
    """A cosine, accuracy or share of 1: `.95`, `−.03`, `1.00`; `undefined` for NaN."""
    if math.isnan(value):
        return "undefined"
    written = f"{value:.{digits}f}"
    if float(written) == 0:
        written = f"{0:.{digits}f}"
    return written.replace("-", "−").replace("0.", ".", 1) if abs(float(written)) < 1 else written.replace("-", "−")


def told_apart(first: float, second: float) -> tuple[str, str]:
    """Two cosines of one sentence: with more digits than two where they differ and would be written alike."""
    written = [(decimal(first, digits), decimal(second, digits)) for digits in range(2, 8)]
    return next((pair for pair in written if pair[0] != pair[1]), written[0])


def probability(value: float) -> str:
    """A probability: `.773`, and `<.001` below .0005."""
    return "<.001" if 0 < value < 0.0005 else decimal(value, 3)


def logit(value: float) -> str:
    """A score, loss or divergence: `17.37`, `−0.55`."""
    written = f"{value:.2f}"
    return (written if float(written) else "0.00").replace("-", "−")


def coordinate(value: float) -> str:
    """One coordinate of a vector: `+.17`, `−.05`, `.00`."""
    written = decimal(value)
    return written if written.startswith("−") or float(written) == 0 else f"+{written}"


def length(value: float) -> str:
    """A vector's length: `2.6`, `48`, `22,621`."""
    return f"{value:.1f}" if value < 9.95 else f"{value:,.0f}"


def count(value: int) -> str:
    """A number of things: `49,152`."""
    return f"{value:,}"


def share(value: float) -> str:
    """A share of 1 in whole per cent: `76%`; `over 99%` and `under 1%` for what is nearly all and nearly nothing."""
    written = f"{value:.0%}"
    if written == "100%" and value < 1:
        return "over 99%"
    return "under 1%" if written == "0%" and value > 0 else written


def things(number: int, one: str, many: str | None = None) -> str:
    """A counted noun: `1 token`, `5 tokens`."""
    return f"{count(number)} {one if number == 1 else many or one + 's'}"
