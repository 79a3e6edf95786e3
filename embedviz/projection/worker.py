"""The UMAP process: `python -m embedviz.projection.worker`, started and spoken to by `umap_client` alone.

A process of its own, because compiling UMAP must not hold up a page and two fits at once in one process can end it
(numba's workqueue layer). Never `multiprocessing`: its spawn would run the app's main file again. It reads requests
from standard input one after the other, says how far it is, and ends when its input closes, whatever it is doing.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import IO, Any

from numpy.typing import NDArray

from embedviz.projection.messages import read_message, write_message

Request = tuple[dict[str, Any], dict[str, NDArray[Any]]]


def main() -> None:
    """Get ready, say so, and answer requests until the input closes."""
    with suppress(BrokenPipeError):  # the app is gone
        _serve()


def _serve() -> None:
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What a library prints must not stand between the replies.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    # Ctrl-C in a terminal reaches every process started from it; this one ends with the app, without a traceback.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    requests: queue.SimpleQueue[Request] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, requests), daemon=True).start()

    with ThreadPoolExecutor(1) as background:
        background.submit(_compile).result()
    # Sets what is silent again: some libraries change the filters when they are imported.
    warnings.simplefilter("ignore")
    write_message(replies, {"ready": True})
    while True:
        words, arrays = requests.get()
        try:
            result, layout = _answer(words, arrays, replies)
        except Exception as error:
            said = {"error": f"{type(error).__name__}: {error}", "trace": traceback.format_exc()}
            write_message(replies, {"id": words["id"], **said})
        else:
            write_message(replies, {"id": words["id"], "result": result}, {"layout": layout})


def _compile() -> None:
    """Import and compile UMAP at low priority: nobody waits for it yet.

    On Linux a thread has a priority of its own, so what is asked for later runs at the usual one. On macOS all of the
    process stays low; on Windows the client starts it so.
    """
    from embedviz.projection.umap_fit import warm_up

    if hasattr(os, "nice"):
        os.nice(10)
    warm_up()


def _listen(stream: IO[bytes], requests: queue.SimpleQueue[Request]) -> None:
    """Take requests off the pipe, and end the process once it closes."""
    try:
        while True:
            requests.put(read_message(stream))
    except (EOFError, OSError):
        os._exit(0)


def _answer(
    words: dict[str, Any], arrays: dict[str, NDArray[Any]], replies: IO[bytes]
) -> tuple[dict[str, Any], NDArray[Any]]:
    from embedviz.geometry import neighbours_kept
    from embedviz.projection.umap_fit import place, place_all

    def tell(things: str, done: int, of: int, share: float) -> None:
        write_message(replies, {"id": words["id"], "things": things, "done": done, "of": of, "share": share})

    vectors, seed = arrays["vectors"], words["seed"]
    match words["task"]:
        case "place":
            layout = place(vectors, words["components"], seed, arrays.get("init"))
            return {"kept": neighbours_kept(vectors, layout)}, layout
        case "place_all":
            layout, kept = place_all(vectors, seed, words["settings"], tell)
            return {"kept": kept}, layout
        case other:
            raise ValueError(f"unknown task {other}")


if __name__ == "__main__":
    main()
