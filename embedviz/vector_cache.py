"""What models have computed, kept for the next look: bounded in bytes, and freed with the model it came from."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from embedviz.models.language_model import LanguageModel


@dataclass
class _Kept:
    value: Any
    size: int
    used: int


@dataclass
class _Store:
    """What one loaded model has computed, least recently used first."""

    kept: OrderedDict[Hashable, _Kept] = field(default_factory=OrderedDict)
    size: int = 0


class VectorCache:
    """Values by loaded model and key, at most `most` bytes of them over all models; safe to use from many threads.

    A model is one object in memory, so one revision of its weights: loaded anew, it starts with nothing.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._lock = threading.Lock()
        self._stores: WeakKeyDictionary[LanguageModel, _Store] = WeakKeyDictionary()
        self._clock = itertools.count()

    @property
    def size(self) -> int:
        """Bytes kept now."""
        return sum(store.size for store in list(self._stores.values()))

    def get(self, model: LanguageModel, key: Hashable) -> Any:
        """The value kept under a key; None where there is none."""
        with self._lock:
            store = self._stores.get(model)
            found = store.kept.get(key) if store else None
            if store is None or found is None:
                return None
            store.kept.move_to_end(key)
            found.used = next(self._clock)
            return found.value

    def put(self, model: LanguageModel, key: Hashable, value: Any, size: int) -> None:
        """Keep a value of `size` bytes, and drop those whose last use is longest ago until all fit."""
        with self._lock:
            store = self._stores.setdefault(model, _Store())
            self._drop(store, key)
            store.kept[key] = _Kept(value, size, next(self._clock))
            store.size += size
            while self.size > self.most:
                self._drop_oldest()

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._stores.clear()

    def _drop_oldest(self) -> None:
        filled = [store for store in list(self._stores.values()) if store.kept]
        oldest = min(filled, key=lambda store: next(iter(store.kept.values())).used)
        self._drop(oldest, next(iter(oldest.kept)))

    @staticmethod
    def _drop(store: _Store, key: Hashable) -> None:
        if (dropped := store.kept.pop(key, None)) is not None:
            store.size -= dropped.size
