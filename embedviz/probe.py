"""A linear probe: logistic regression for few examples and many coordinates, fitted in milliseconds.

scikit-learn's gives the same weights (a test compares), but takes a second to import and a hundred times as long a fit.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

Floats = NDArray[np.float64]

_ONE_AT_A_TIME = threading.Lock()


@contextmanager
def one_core() -> Iterator[None]:
    """Let numpy's matrix products use one core only, as suits many small ones.

    Two threads that share such a product wait for each other: on two cores with another process at work, the measure
    of one concept took up to 78 s, on one core 1 to 2 s. The limit holds for all threads, so they take turns to set it.
    """
    with _ONE_AT_A_TIME, threadpool_limits(limits=1, user_api="blas"):
        yield


def fit(examples: Floats, answers: NDArray[np.bool_], *, steps: int = 50) -> tuple[Floats, float]:
    """Weights (coordinate,) and offset that minimise Σ log(1 + exp(−s·score)) + ‖weights‖² / 2, s = ±1 the answer.

    examples: (example, coordinate), scaled so that a coordinate's values are about 1. Newton's method in the space that
    the examples span, which is small; a step that does not help is halved.
    """
    wide = examples.shape[1] > examples.shape[0]
    # Weights outside the span of the examples only cost: the search needs no more directions than there are examples.
    span, triangle = np.linalg.qr(examples.T) if wide else (None, examples.T)
    inner = np.hstack([triangle.T, np.ones((len(examples), 1))])
    penalty = np.append(np.ones(inner.shape[1] - 1), 0.0)
    signs = np.where(answers, 1.0, -1.0)

    def loss(at: Floats) -> float:
        return float(np.logaddexp(0, -signs * (inner @ at)).sum() + penalty @ at**2 / 2)

    weights = np.zeros(inner.shape[1])
    reached = loss(weights)
    for _ in range(steps):
        # Bounded, so that exp stays finite: so far out there is nothing left to learn from an example.
        wrong = 1 / (1 + np.exp(np.clip(signs * (inner @ weights), -500, 500)))
        gradient = penalty * weights - inner.T @ (signs * wrong)
        curvature = (inner.T * (wrong * (1 - wrong))) @ inner + np.diag(penalty + 1e-12)
        step = np.linalg.solve(curvature, gradient)
        before, reached = reached, loss(weights - step)
        while reached > before and np.abs(step).max() > 1e-12:
            step /= 2
            reached = loss(weights - step)
        weights = weights - step
        if before - reached < 1e-10 * (1 + reached):
            break
    return weights[:-1] if span is None else span @ weights[:-1], float(weights[-1])


def right(scores: Floats, answers: NDArray[np.bool_]) -> float:
    """Mean of the shares that are right on each side; a score of exactly 0 says no."""
    said = scores > 0
    return float((np.mean(said[answers]) + np.mean(~said[~answers])) / 2)
