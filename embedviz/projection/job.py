"""A picture that is being made by the UMAP process: something to wait for, to watch, and to stop."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from embedviz.errors import EmbedvizError
from embedviz.numbers import count
from embedviz.projection.messages import Arrays
from embedviz.projection.umap_fit import Layout

if TYPE_CHECKING:
    from embedviz.projection.umap_client import UmapWorker

log = logging.getLogger(__name__)

Result = TypeVar("Result")
# A layout, and the share of neighbours that it keeps.
Placed: TypeAlias = tuple[Layout, float]

NOTHING_TOLD = ("", 0, 0, 0.0)


class Stopped(EmbedvizError):
    """A picture that was cancelled before it was done."""


@dataclass(frozen=True)
class Waiting:
    """How far a job is. `done` of `of` things, such as "rows compared"; `share` of the whole from 0 to 1, None before.

    seconds_left: for the whole job, from the time it took so far; None while there is nothing to go by.
    """

    things: str
    done: int
    of: int
    share: float | None
    seconds_left: float | None

    @property
    def sentence(self) -> str:
        """The line shown to those who wait."""
        left = "" if self.seconds_left is None else f", about {self.seconds_left:.0f} s left"
        return f"{count(self.done)} of {count(self.of)} {self.things}{left}." if self.of else f"{self.things}{left}."


@dataclass(frozen=True, eq=False)
class Step:
    """One fit of several that make a result.

    vectors: (point, dimension). init: (point, component) places to start from; None: UMAP's own start.
    done, of: fits done before this one, and all. so_far: a part of the result, for who cannot wait; None: nothing new.
    """

    vectors: Layout
    components: int
    seed: int
    init: Layout | None
    done: int
    of: int
    so_far: Any = None


# What makes the result of the words and the layout that the process answers, or asks for one more fit.
Finish: TypeAlias = Callable[[dict[str, Any], Layout], Result | Step]


class Job(Generic[Result]):
    """A picture that is being made. Safe to use from any thread."""

    def __init__(self, worker: UmapWorker, words: Mapping[str, Any], arrays: Arrays, finish: Finish[Result]) -> None:
        self.words, self.arrays, self.in_steps = words, arrays, False
        self._worker, self._finish = worker, finish
        self._over, self._some, self._lock = threading.Event(), threading.Event(), threading.Lock()
        # When the process took it up, and the share that was done by then.
        self._started: tuple[float, float] | None = None
        self._told = NOTHING_TOLD
        self._result: Result | None = None
        self._so_far: Result | None = None
        self._error: EmbedvizError | None = None

    @property
    def done(self) -> bool:
        """Whether it has ended, well or not."""
        return self._over.is_set()

    @property
    def waiting(self) -> Waiting:
        """What is being waited for."""
        started = self._started
        if started is None:
            readiness = self._worker.readiness
            words = "UMAP is getting ready" if readiness.state != "ready" else "Another picture is being made first"
            return Waiting(words, 0, 0, None, readiness.seconds_left or None)
        named, done, of, share = self._told
        since, before = started
        won = share - before
        left = (time.monotonic() - since) / won * (1 - share) if won > 0.02 else None
        return Waiting(named or "Placing the points", done, of, share, left)

    def wait(self, seconds: float) -> bool:
        """Wait for its end, but no longer than some seconds; whether it has ended."""
        return self._over.wait(seconds)

    @property
    def so_far(self) -> Result | None:
        """The result; before it is done a part of it that is there already; None where there is none, or it failed."""
        return self._result if self.done else self._so_far

    def wait_for_part(self, seconds: float) -> bool:
        """Wait for a part of the result, or the end, but no longer than some seconds; whether one of them is there."""
        return self._some.wait(seconds)

    def result(self, timeout: float | None = None) -> Result:
        """Wait for the result. Raises EmbedvizError where there is none, TimeoutError after `timeout` seconds."""
        if not self._over.wait(timeout):
            raise TimeoutError
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]

    def cancel(self) -> None:
        """Stop it. A worker that is at it already is killed and started again, but not for one step of several."""
        self._fail(Stopped("Stopped before the picture was done."))
        self._worker._stop(self)

    # What follows is called by the worker.

    def _prepare(self, step: Step) -> None:
        self.words, self.in_steps = {"task": "place", "components": step.components, "seed": step.seed}, True
        self.arrays = {"vectors": step.vectors} | ({} if step.init is None else {"init": step.init})
        if step.done:
            self._told = ("layers placed", step.done, step.of, step.done / step.of)
        if step.so_far is not None:
            self._so_far = step.so_far
            self._some.set()

    def _begin(self) -> None:
        if self._started is None:
            self._started = time.monotonic(), self._told[-1]

    def _pause(self) -> None:
        self._started = None
        if not self.in_steps:
            self._told = NOTHING_TOLD

    def _tell(self, words: Mapping[str, Any]) -> None:
        self._told = (words["things"], words["done"], words["of"], words["share"])

    def _succeed(self, words: dict[str, Any], layout: Layout) -> None:
        if self.done and self.in_steps:
            return  # stopped while the process was at this step
        try:
            found = self._finish(words, layout)
        except EmbedvizError as error:
            self._fail(error)
        except Exception as error:
            log.exception("a layout could not be used")
            self._fail(EmbedvizError(f"The picture was made but could not be used ({error}): the log has the details."))
        else:
            if isinstance(found, Step):
                self._prepare(found)
            else:
                self._end(found, None)

    def _fail(self, error: EmbedvizError) -> None:
        self._end(None, error)

    def _end(self, result: Result | None, error: EmbedvizError | None) -> None:
        with self._lock:
            if not self._over.is_set():
                self._result, self._error = result, error
                self.arrays = {}  # a table of 100 MB is not kept for a small map
                self._over.set()
                self._some.set()
