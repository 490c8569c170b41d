"""What was not there, or failed, is not asked for again and again: misses are remembered, and ``Retry-After`` kept."""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from dataclasses import dataclass, replace

from a2a_discovery._effects import Fetched
from a2a_discovery.errors import FetchError

FIRST = 1.0
"""Seconds that the first miss is remembered; each further one in a row doubles it."""
LONGEST = 60.0
"""Seconds at most: who publishes a card waits a minute for it to be seen, not longer."""
_ASKED = 86_400.0
"""Seconds of a ``Retry-After`` that are believed: a server must not be able to silence us for good."""
_COUNT = 4096
"""Misses remembered, the latest; one holds about 1 kB, since the bodies of error pages are dropped."""
# What may be otherwise in a moment. A refused redirect or a blocked address is our own policy's answer.
_PASSING = frozenset({"dns", "connect", "tls", "timeout", "protocol", "too-large"})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Miss:
    outcome: Fetched | FetchError
    at: float
    wait: float
    """Seconds to leave the origin alone, by our own back-off."""
    until: float
    """When it may be asked again, seconds since the epoch."""


class Misses:
    """Misses by key. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[str, _Miss] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def recall(self, key: str, *, now: float) -> Fetched | None:
        """The answer of a miss that is still remembered.

        Raises:
            FetchError: the miss was this failure.
        """
        miss = self._known.get(key)
        if miss is None or not miss.at <= now < miss.until:
            return None
        if isinstance(miss.outcome, FetchError):
            error = copy.copy(miss.outcome)
            error.hint = error.hint or "this is remembered for a moment; refresh=True asks again now"
            if error.retry_after is not None:
                error.retry_after = miss.until - now
            raise error
        headers = dict(miss.outcome.headers)
        if "retry-after" in headers:
            headers["retry-after"] = f"{miss.until - now:.0f}"
        return replace(miss.outcome, headers=headers)

    def note(self, key: str, outcome: Fetched | FetchError, *, at: float, retry_after: float | None) -> None:
        """Remember a miss: an answer that brought no document, or a failure."""
        if isinstance(outcome, FetchError):
            if outcome.code not in _PASSING:
                return
            outcome = copy.copy(outcome)  # without its traceback, which holds everything it passed through
        else:
            outcome = replace(outcome, body=b"", cache="memory", handle=None)
        with self._lock:
            before = self._known.pop(key, None)
            wait = FIRST if before is None else min(before.wait * 2, LONGEST)
            until = at + max(wait, min(retry_after or 0.0, _ASKED))
            self._known[key] = _Miss(outcome=outcome, at=at, wait=wait, until=until)
            while len(self._known) > _COUNT:
                self._known.popitem(last=False)

    def clear(self, key: str) -> None:
        """The document is there: forget that it was missing."""
        if key in self._known:
            with self._lock:
                self._known.pop(key, None)
