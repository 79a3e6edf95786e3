"""What the page tests share: opening a page, waiting for its model, and reading a figure's own data."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tiny_models import save


def offered(factory: pytest.TempPathFactory, *names: str) -> Iterator[dict[str, str]]:
    """Names, as the app's list gives them, of tiny models; the first is the default."""
    folders = {name: save(name, factory.mktemp("models") / f"tiny-{name}") for name in names}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBEDVIZ_CACHE", str(factory.mktemp("cache")))
        patch.setenv("EMBEDVIZ_MODELS", ":".join(map(str, folders.values())))
        patch.setenv("EMBEDVIZ_MODEL", f"tiny-{names[0]}")
        yield {name: folder.name for name, folder in folders.items()}


def open_page(script: Path, **values: str) -> AppTest:
    """Open a page with some address values, and run it again until its model is there."""
    page = AppTest.from_file(str(script), default_timeout=60)
    for name, value in values.items():
        page.query_params[name] = value
    return until_ready(page.run())


def until_ready(page: AppTest) -> AppTest:
    deadline = time.monotonic() + 60
    while any("is loading" in one.value for one in page.markdown):
        assert time.monotonic() < deadline, "the model did not load"
        time.sleep(0.2)
        page.run()
    assert not page.exception, page.exception
    return page


def type_into(page: AppTest, key: str, text: str) -> AppTest:
    page.text_input(key=key).set_value(text)
    page.run()
    assert not page.exception, page.exception
    return page


def figure(page: AppTest, key: str) -> dict[str, Any]:
    for one in page.get("plotly_chart"):
        if one.proto.id.endswith(f"-{key}"):
            return dict(json.loads(one.proto.spec, object_hook=_numbers))
    raise AssertionError(f"no figure {key}")


def _numbers(value: dict[str, Any]) -> Any:
    """Plotly sends arrays as base64; here they are lists again."""
    if "bdata" not in value:
        return value
    flat = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
    shape = [int(side) for side in str(value.get("shape", len(flat))).split(",")]
    return flat.reshape(shape).tolist()
