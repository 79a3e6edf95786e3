"""UMAP's own process: asked for from many threads, stopped, killed, orphaned, and still there for the next picture."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from embedviz.errors import BadInput, EmbedvizError
from embedviz.geometry import neighbours_kept
from embedviz.projection.job import Job, Stopped
from embedviz.projection.umap_client import UmapWorker

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 240


@pytest.fixture
def worker(umap_worker: UmapWorker) -> UmapWorker:
    return umap_worker


def clusters(groups: int = 3, each: int = 20, dimensions: int = 12) -> np.ndarray:
    random = np.random.default_rng(0)
    centres = np.repeat(random.normal(size=(groups, dimensions)), each, axis=0)
    return (centres + 0.1 * random.normal(size=centres.shape)).astype(np.float32)


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_starting_is_said_with_seconds_left_and_ends_ready(worker: UmapWorker) -> None:
    assert worker.readiness.state in ("starting", "ready")
    if worker.readiness.state == "starting":
        assert worker.readiness.seconds_left > 0
    job = worker.place(clusters())
    job.result(SECONDS)
    assert worker.readiness.state == "ready"
    assert UmapWorker().readiness.state == "off"


@pytest.mark.parametrize("components", [2, 3])
def test_neighbours_stay_together_and_the_seed_repeats_the_picture(worker: UmapWorker, components: int) -> None:
    vectors = clusters()
    first = worker.place(vectors, components, seed=1).result(SECONDS)
    again = worker.place(vectors, components, seed=1).result(SECONDS)
    assert first.shape == (60, components) and first.dtype == np.float32
    assert np.array_equal(first, again)
    assert neighbours_kept(vectors, first, k=5) > 0.4


@pytest.mark.parametrize("points", [5, 6, 14, 15, 16])
def test_few_points_are_placed(worker: UmapWorker, points: int) -> None:
    layout = worker.place(clusters(1, points)).result(SECONDS)
    assert np.isfinite(layout).all()


@pytest.mark.parametrize(
    ("vectors", "found"),
    [
        (clusters(1, 4), "are 4"),
        (np.repeat(clusters(1, 1), 20, axis=0), "is 1"),
        # One direction at twenty lengths: the cosine between them is 1.
        (clusters(1, 1) * np.arange(1, 21, dtype=np.float32)[:, None], "is 1"),
        (np.zeros((9, 4), dtype=np.float32), "are 0"),
        (np.full((9, 4), np.nan, dtype=np.float32), "are 0"),
    ],
)
def test_fewer_than_five_different_points_are_refused_in_a_sentence(
    worker: UmapWorker, vectors: np.ndarray, found: str
) -> None:
    with pytest.raises(BadInput, match=f"needs 5 points that differ, and here {found}: this is PCA"):
        worker.place(vectors)


def test_equal_points_share_a_place_and_points_without_direction_have_none(worker: UmapWorker) -> None:
    vectors = clusters(2, 10)
    vectors[7] = vectors[3]
    vectors[12] = np.nan
    vectors[13] = 0
    layout = worker.place(vectors).result(SECONDS)
    assert np.array_equal(layout[7], layout[3])
    assert np.isnan(layout[[12, 13]]).all()
    assert np.isfinite(np.delete(layout, [12, 13], axis=0)).all()


def test_asked_by_many_threads_at_once_each_gets_its_own(worker: UmapWorker) -> None:
    asked = [clusters(2, 5 + k) for k in range(8)]
    got: list[np.ndarray | None] = [None] * len(asked)

    def ask(k: int) -> None:
        got[k] = worker.place(asked[k]).result(SECONDS)

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(len(asked))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for vectors, layout in zip(asked, got, strict=True):
        assert np.array_equal(layout, worker.place(vectors).result(SECONDS))


def test_killed_in_the_middle_it_starts_again_and_stopped_it_says_so(worker: UmapWorker) -> None:
    worker.place(clusters()).result(SECONDS)
    many = clusters(40, 100)

    def map_of_many() -> Job[float]:
        return worker.place_all(many, {"n_neighbors": 10}, lambda _, kept: kept)

    job = map_of_many()
    until(lambda: job.waiting.things == "rounds of moving points")
    killed = worker.process_id
    os.kill(killed, signal.SIGTERM)
    waiting = worker.place(clusters())
    until(lambda: worker.process_id not in (None, killed))
    # Still there for both, and a stop while it starts takes only the one out of the queue.
    job.cancel()
    with pytest.raises(Stopped, match="Stopped before"):
        job.result(SECONDS)
    assert np.isfinite(waiting.result(SECONDS)).all()

    running, behind = map_of_many(), worker.place(clusters())
    until(lambda: running.waiting.things == "rounds of moving points")
    before = worker.process_id
    running.cancel()
    assert running.done
    assert np.isfinite(behind.result(SECONDS)).all()
    assert worker.process_id != before


# The protocol's own failures, with stand-ins for the process that start at once.


def stand_in(tmp_path: Path, body: str) -> UmapWorker:
    script = tmp_path / "stand_in.py"
    script.write_text(
        textwrap.dedent(
            """
            import os, sys, time
            import numpy as np
            from embedviz.projection.messages import read_message, write_message
            out = sys.stdout.buffer
            write_message(out, {"ready": True})
            """
        )
        + textwrap.dedent(body),
        encoding="utf-8",
    )
    return UmapWorker([sys.executable, str(script)])


@pytest.fixture
def ended() -> Iterator[list[UmapWorker]]:
    workers: list[UmapWorker] = []
    yield workers
    for one in workers:
        one.close()


def failure(job: Job[np.ndarray]) -> str:
    with pytest.raises(EmbedvizError) as raised:
        job.result(SECONDS)
    return str(raised.value)


def test_a_process_that_dies_twice_in_one_job_is_given_up_in_a_sentence(
    tmp_path: Path, ended: list[UmapWorker]
) -> None:
    worker = stand_in(tmp_path, "read_message(sys.stdin.buffer); os._exit(1)")
    ended.append(worker)
    assert "ended twice" in failure(worker.place(clusters()))


def test_a_process_that_cannot_start_is_given_up_in_a_sentence(ended: list[UmapWorker]) -> None:
    for command in ([sys.executable, "-c", "print('no message')"], ["no-such-program-here"]):
        worker = UmapWorker(command)
        ended.append(worker)
        assert "UMAP did not start" in failure(worker.place(clusters()))


def test_an_error_of_umap_is_a_sentence_and_the_process_goes_on(tmp_path: Path, ended: list[UmapWorker]) -> None:
    worker = stand_in(
        tmp_path,
        """
        words, arrays = read_message(sys.stdin.buffer)
        write_message(out, {"id": words["id"], "error": "MemoryError: no room", "trace": "…"})
        words, arrays = read_message(sys.stdin.buffer)
        write_message(out, {"id": words["id"], "result": {}}, {"layout": arrays["vectors"][:, :2]})
        sys.stdin.buffer.read()
        """,
    )
    ended.append(worker)
    assert "could not place these points (MemoryError: no room)" in failure(worker.place(clusters()))
    assert np.array_equal(worker.place(clusters()).result(SECONDS), clusters()[:, :2])


def test_a_closed_worker_stops_its_jobs(tmp_path: Path) -> None:
    worker = stand_in(tmp_path, "read_message(sys.stdin.buffer); time.sleep(600)")
    jobs = [worker.place(clusters()) for _ in range(2)]
    until(lambda: jobs[0].waiting.things == "Placing the points")
    worker.close()
    assert [failure(job) for job in jobs] == ["The app is closing."] * 2
    assert worker.process_id is None
    with pytest.raises(EmbedvizError, match="closed"):
        worker.place(clusters())


def test_the_process_ends_with_the_app_even_when_that_is_killed(tmp_path: Path) -> None:
    app = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import time; from embedviz.projection.umap_client import shared; w = shared(); w.start()\n"
            "while w.process_id is None: time.sleep(.01)\n"
            "print(w.process_id, flush=True); time.sleep(600)",
        ],
        stdout=subprocess.PIPE,
        cwd=ROOT,
    )
    assert app.stdout is not None
    with app:
        process_id = int(app.stdout.readline())
        app.kill()
    until(lambda: not alive(process_id))


def alive(process_id: int) -> bool:
    if sys.platform == "win32":
        listed = subprocess.run(["tasklist", "/FI", f"PID eq {process_id}"], capture_output=True, check=True)
        return str(process_id).encode() in listed.stdout
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process_id}/stat")
    # Where nobody collects it, an ended process stays listed as a zombie.
    return not (state.exists() and ") Z" in state.read_text(encoding="utf-8"))
