"""UMAP for all visitors of one app: asked for here, computed in one worker process, one picture at a time.

`shared()` is the app's one worker. Its process starts when it is first asked to, compiles UMAP in the background at low
priority, and is started again if it dies. Every call returns at once, with a `Job` to wait for, watch, or stop.
"""

from __future__ import annotations

import atexit
import itertools
import logging
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from embedviz.errors import BadInput, EmbedvizError
from embedviz.geometry import Floats, directions_up_to
from embedviz.projection.job import Finish, Job, Placed, Step, Stopped
from embedviz.projection.messages import Arrays, read_message, write_message
from embedviz.projection.umap_fit import FEWEST, Layout

log = logging.getLogger(__name__)

Result = TypeVar("Result")
State = Literal["off", "starting", "ready"]

# A fresh process imports and compiles UMAP in 10 to 30 s on two cores; later starts take as long as the last one.
SECONDS_TO_START = 25.0
# How often an idle worker's process is looked at.
SECONDS_BETWEEN_LOOKS = 1.0
CLOSING = "The app is closing."


class _Died(Exception):
    """The worker's process ended while it was needed."""


@dataclass(frozen=True)
class Readiness:
    """Whether UMAP can draw at once. seconds_left: an estimate while it starts, 0 when ready, None when off."""

    state: State
    seconds_left: float | None


class UmapWorker:
    """One worker process and the queue before it. Safe to use from any thread.

    command: what to start instead of our own worker (tests).
    """

    def __init__(self, command: Sequence[str] | None = None) -> None:
        self._command = list(command or [sys.executable, "-m", "embedviz.projection.worker"])
        self._changed = threading.Condition()
        # All below is guarded by the condition's lock.
        self._jobs: deque[Job[Any]] = deque()
        self._current: Job[Any] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = False
        self._wanted = False
        self._closed = False
        self._thread: threading.Thread | None = None
        self._began = 0.0
        self._seconds_to_start = SECONDS_TO_START
        self._numbers = itertools.count()

    def start(self) -> None:
        """Have the process start and compile UMAP in the background; nothing where it is there already."""
        with self._changed:
            if self._closed:
                raise EmbedvizError("The process that runs UMAP has been closed: start the app again.")
            self._wanted = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="umap", daemon=True)
                self._thread.start()
            self._changed.notify()

    @property
    def readiness(self) -> Readiness:
        """Whether UMAP is compiled, and how long that will take."""
        with self._changed:
            if self._ready:
                return Readiness("ready", 0.0)
            if not self._wanted:
                return Readiness("off", None)
            took = time.monotonic() - self._began if self._process is not None else 0.0
            return Readiness("starting", max(1.0, self._seconds_to_start - took))

    @property
    def process_id(self) -> int | None:
        """The worker's process id; None where there is no process."""
        with self._changed:
            return None if self._process is None else self._process.pid

    def place(self, vectors: Floats, components: int = 2, *, seed: int = 0, init: Floats | None = None) -> Job[Layout]:
        """Place vectors (point, dimension) by cosine: (point, component) float32.

        init: (point, component) places to start from. Equal vectors share a place; those without a direction get NaN.
        Raises BadInput where fewer than 5 directions differ.
        """
        arrays = {"vectors": np.asarray(vectors, dtype=np.float32)}
        must_differ(arrays["vectors"])
        if init is not None:
            arrays["init"] = np.asarray(init, dtype=np.float32)
        return self._ask({"task": "place", "components": components, "seed": seed}, arrays, lambda _, layout: layout)

    def place_in_steps(self, steps: Generator[Step, Placed, Result]) -> Job[Result]:
        """Make a result of several fits: `steps` asks for the next with each it is sent, and returns the result.

        Other jobs come in between the steps, so nobody waits for the whole of another's; if the process dies, one step
        is run again. `steps` runs up to its first fit here, then in the worker's thread.
        """

        def advance(said: dict[str, Any], layout: Layout) -> Result | Step:
            try:
                return steps.send((layout, said["kept"]))
            except StopIteration as end:
                return end.value

        job = Job(self, {}, {}, advance)
        job._prepare(next(steps))
        return self._queue(job)

    def place_all(
        self,
        vectors: NDArray[np.float32],
        settings: Mapping[str, Any],
        finish: Callable[[Layout, float], Result],
        *,
        seed: int = 0,
    ) -> Job[Result]:
        """Map many rows (point, dimension), each with a direction, and make a result of layout and share kept.

        finish: is called once with both, in the worker's thread, even if nobody waits any more.
        """
        must_differ(vectors)
        words = {"task": "place_all", "seed": seed, "settings": dict(settings)}
        return self._ask(words, {"vectors": vectors}, lambda said, layout: finish(layout, said["kept"]))

    def close(self) -> None:
        """End the process and stop every job."""
        with self._changed:
            self._closed, thread, jobs = True, self._thread, [*self._jobs, *filter(None, [self._current])]
            self._jobs.clear()
            self._kill()
            self._changed.notify()
        for job in jobs:
            job._fail(Stopped(CLOSING))
        if thread is not None:
            thread.join(timeout=10)

    def _ask(self, words: dict[str, Any], arrays: Arrays, finish: Finish[Result]) -> Job[Result]:
        return self._queue(Job(self, words, arrays, finish))

    def _queue(self, job: Job[Result]) -> Job[Result]:
        self.start()
        with self._changed:
            self._jobs.append(job)
            self._changed.notify()
        return job

    def _queue_again(self, job: Job[Any]) -> None:
        """Put a job that has more steps behind those that wait."""
        with self._changed:
            if not self._closed and not job.done:
                self._jobs.append(job)
        if not job.done and self._closed:
            job._fail(Stopped(CLOSING))

    def _stop(self, job: Job[Any]) -> None:
        with self._changed:
            if job in self._jobs:
                self._jobs.remove(job)
            if self._current is job and not job.in_steps:
                self._kill()

    def _kill(self) -> None:
        """End the process; its pipes are left to the thread that may be reading them. The caller holds the lock."""
        self._ready = False
        if self._process is not None:
            self._process.kill()

    # What follows runs in the worker's own thread.

    def _run(self) -> None:
        while True:
            with self._changed:
                while not (self._closed or self._jobs or self._needs_start()):
                    self._changed.wait(SECONDS_BETWEEN_LOOKS)
                if self._closed:
                    return self._discard()
                job = self._jobs.popleft() if self._jobs else None
            try:
                self._get_ready()
                if job is not None and not job.done:
                    self._do(job)
                if job is not None:
                    self._queue_again(job)
            except (_Died, OSError) as error:
                with self._changed:
                    self._discard()
                    self._wanted = bool(self._jobs)  # or it would start a broken process for ever
                log.error("the UMAP process did not start: %s", error)
                if job is not None:
                    job._fail(EmbedvizError("UMAP did not start: the log has the details. Choose PCA instead."))

    def _needs_start(self) -> bool:
        """Whether the process is wanted and not there, or no more. The caller holds the lock."""
        if self._process is not None and self._process.poll() is not None:
            self._discard()
        return self._wanted and not self._ready

    def _get_ready(self) -> None:
        """Start the process if there is none, and wait until UMAP is compiled in it. Raises _Died."""
        with self._changed:
            if self._closed or not self._needs_start():
                return
            self._discard()
            self._began = time.monotonic()
            process = self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=_environment(),
                # On Windows there is no os.nice, and a console window would open.
                creationflags=getattr(subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0)
                | getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        self._receive(process)
        with self._changed:
            if self._process is process:
                self._ready = True
                self._seconds_to_start = time.monotonic() - self._began

    def _do(self, job: Job[Any]) -> None:
        """Run one job, a second time if the process dies in it."""
        for attempt in (1, 2):
            with self._changed:
                if job._over.is_set() or self._closed:
                    return
                self._current, process, number = job, self._process, next(self._numbers)
            if process is None:
                raise _Died("it was closed")
            job._begin()
            try:
                self._talk(process, job, number)
                return
            except (_Died, OSError):
                log.warning("the UMAP process %s ended during a job", process.pid)
            finally:
                with self._changed:
                    self._current = None
            with self._changed:
                self._discard()
            if job._over.is_set():
                return  # it was stopped, and that is why
            job._pause()
            if attempt == 1:
                self._get_ready()
        job._fail(
            EmbedvizError(
                "The process that runs UMAP ended twice while it placed these points, perhaps for want of memory: "
                "choose PCA, or fewer points."
            )
        )

    def _talk(self, process: subprocess.Popen[bytes], job: Job[Any], number: int) -> None:
        assert process.stdin is not None
        arrays = job.arrays
        if job.done:
            return
        write_message(process.stdin, {**job.words, "id": number}, arrays)
        while True:
            words, found = self._receive(process)
            if words.get("id") != number:
                continue
            if "share" in words:
                job._tell(words)
            elif "error" in words:
                log.error("UMAP failed:\n%s", words["trace"])
                return job._fail(
                    EmbedvizError(f"UMAP could not place these points ({words['error']}). Choose PCA instead.")
                )
            else:
                with self._changed:
                    self._current = None  # a late cancel must not kill a process that is free again
                return job._succeed(words["result"], found["layout"])

    def _receive(self, process: subprocess.Popen[bytes]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        assert process.stdout is not None
        try:
            return read_message(process.stdout)
        except (EOFError, ValueError) as error:
            raise _Died(f"process {process.pid}: {error}") from error

    def _discard(self) -> None:
        """End the process, if there is one. The caller holds the lock."""
        process, self._process, self._ready = self._process, None, False
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was still to be written
                    pipe.close()


def must_differ(vectors: Floats) -> None:
    """Raise BadInput where fewer than 5 vectors (point, dimension) differ in direction."""
    found = directions_up_to(vectors, FEWEST)
    if found < FEWEST:
        raise BadInput(f"UMAP needs {FEWEST} points that differ, and here {_are(found)}: this is PCA.")


def _are(number: int) -> str:
    return "is 1" if number == 1 else f"are {number}"


def _environment() -> dict[str, str]:
    """Our environment, with this very package where the new process finds it, and matrix products on one core each.

    Their threads wait for each other at every step: on a machine that is busy with something else, the many small
    products at the start of a UMAP then take twenty times as long.
    """
    package = str(Path(__file__).resolve().parents[2])
    return os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])),
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }


@cache
def shared() -> UmapWorker:
    """The one worker of this process, for all its sessions."""
    worker = UmapWorker()
    atexit.register(worker.close)
    return worker
