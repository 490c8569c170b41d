"""A name for an object that lasts as long as the process: ``id()`` is reused once an object is gone."""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any

_lock = threading.Lock()
_numbers = itertools.count(1)
_known: dict[int, tuple[Any, str]] = {}


def identity(value: object) -> str:
    """The same text for the same object, and never that of another, also after this one is gone."""
    key = id(value)
    with _lock:
        found = _known.get(key)
        if found is None:
            found = _known[key] = (_hold(value, key), f"object-{next(_numbers)}")
        return found[1]


def _hold(value: object, key: int) -> Any:
    try:
        return weakref.ref(value, lambda _: _known.pop(key, None))
    except TypeError:
        return value  # held for good: else its number could name another object
