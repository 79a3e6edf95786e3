"""Models in memory, shared by everyone who has the app open: each is loaded once, in the background, and few are kept.

A page never waits for a model: it asks, draws what it has, and asks again a second later.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import streamlit as st

from embedviz.errors import EmbedvizError
from embedviz.models import catalog, prepare

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel

logger = logging.getLogger(__name__)

# Two models side by side and the passage model.
MOST = 3
# Seconds on a slow laptop's two cores: imports and weights; and before the first time, the one-time preparation.
SECONDS_TO_LOAD, SECONDS_TO_PREPARE = 6, 30


class Loading:
    """A model on its way: the future that ends with it, and what is being done meanwhile."""

    def __init__(self, spec: catalog.ModelSpec) -> None:
        self.spec = spec
        self.future: Future[LanguageModel]
        self.words = ""
        self.started = time.monotonic()
        self.expected = SECONDS_TO_LOAD if prepare.ready(spec) else SECONDS_TO_LOAD + SECONDS_TO_PREPARE

    def progress(self, words: str, share: float | None) -> None:
        """Take what the preparation says of itself."""
        self.words = words

    @property
    def wait_words(self) -> str:
        """A rough guess of the time left: `about 5 s`; once it has proved wrong, only that it takes longer."""
        left = round(self.expected - (time.monotonic() - self.started))
        return f"about {left} s" if left >= 1 else "longer than usual"


class Shelf:
    """Up to `most` models, least recently used first to go."""

    def __init__(self, load: Callable[[str, prepare.Progress], LanguageModel], most: int = MOST) -> None:
        self._load = load
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, LanguageModel] = OrderedDict()
        self._loading: dict[str, Loading] = {}
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="model")

    def ask(self, name: str) -> LanguageModel | Loading | None:
        """The model, its state on the way, or None if nobody has asked for it yet. Never waits.

        Raises EmbedvizError, once, where loading failed; after that it can be asked for again.
        """
        with self._lock:
            if name in self._kept:
                self._kept.move_to_end(name)
                return self._kept[name]
            loading = self._loading.get(name)
            if loading is None or not loading.future.done():
                return loading
            del self._loading[name]
            self._kept[name] = loading.future.result()
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return self._kept[name]

    def loading(self, name: str) -> Loading | None:
        """The state of a model on its way, ended or not; None for one that is here or was never asked for."""
        with self._lock:
            return self._loading.get(name)

    def start(self, name: str) -> None:
        """Begin to load a model in the background, unless it is there or on its way."""
        with self._lock:
            if name not in self._kept and name not in self._loading:
                loading = Loading(catalog.find(name, offered_only=True))
                self._loading[name] = loading
                loading.future = self._worker.submit(self._load_logged, name, loading)

    def _load_logged(self, name: str, loading: Loading) -> LanguageModel:
        try:
            return self._load(name, loading.progress)
        except EmbedvizError:
            raise
        except Exception:
            logger.exception("loading %s failed", name)
            raise EmbedvizError(f"{loading.spec.title} could not be loaded. The log has the details.") from None


def _load_offered(name: str, progress: prepare.Progress) -> LanguageModel:
    """Load by a name of the list only: nothing a visitor types can reach a path."""
    from embedviz.models.load import load_prepared

    return load_prepared(prepare.prepare(catalog.find(name, offered_only=True), progress))


@st.cache_resource(show_spinner=False)
def shelf() -> Shelf:
    """The one shelf of this process."""
    return Shelf(_load_offered)
