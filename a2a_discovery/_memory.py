"""Finished agents: a warm `discover` does no I/O, no parsing and no cryptography.

An expired one is not handed out any more, yet it stays while there is room: for the same bytes its verdict holds.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_discovery._agent import Agent
    from a2a_discovery._flow import Found

COUNT = 10_000
"""Most agents: some of them are so small that bytes alone would let the index grow."""
FACTOR = 12
"""Bytes of an agent in memory for each byte of its card: cards of 0.6 to 300 kB measured 8 to 10, and were unsigned."""
OVERHEAD = 8_192
"""Bytes of an agent beside its card: the report, the source, the objects around them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A finished agent, and how long it may be handed out. Times are seconds since the epoch."""

    agent: Agent
    found: Found
    """What the agent is made of."""
    refresh_at: float
    """From here on, whoever takes it should see that it is looked at again."""
    expires_at: float
    usable_until: float
    """Past its expiry, while it is looked at again (``stale-while-revalidate``, RFC 5861)."""
    size: int


class AgentMemory:
    """Agents by key, the least recently used dropped first. Any thread may use it: loops share one memory."""

    __slots__ = ("_by_url", "_entries", "_judged", "_lock", "size")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._entries: OrderedDict[tuple[str, str], Kept] = OrderedDict()
        # URL of the card → the agents made of it, whatever name they were asked for by.
        self._by_url: dict[str | None, set[tuple[str, str]]] = {}
        # Policy and digest of the bytes → the agent made of them last.
        self._judged: dict[tuple[str, bytes], tuple[str, str]] = {}
        self.size = 0

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: tuple[str, str], now: float) -> Kept | None:
        """The agent, where it may still be handed out."""
        entry = self._entries.get(key)
        if entry is None or now >= entry.usable_until:
            return None
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
        return entry

    def judged(self, policy: str, digest: bytes) -> Found | None:
        """What was last found out about these bytes under this policy, however long ago."""
        with self._lock:
            key = self._judged.get((policy, digest))
            return None if key is None else self._entries[key].found

    def put(self, key: tuple[str, str], entry: Kept, *, bound: int) -> None:
        """Keep an agent, in the place of its older self, and make room: ``bound`` bytes in all."""
        source = entry.found.source
        with self._lock:
            self._remove(key)
            self._outdate(source.url, source.fetched_at)
            if entry.size > bound:
                return
            self._entries[key] = entry
            self._by_url.setdefault(source.url, set()).add(key)
            self._judged[key[1], entry.found.digest] = key
            self.size += entry.size
            while self.size > bound or len(self._entries) > COUNT:
                self._remove(next(iter(self._entries)))

    def outdate(self, url: str | None, at: float) -> None:
        """Forget the agents of a URL that are older than one which was handed out and is not kept itself."""
        with self._lock:
            self._outdate(url, at)

    def drop(self, key: tuple[str, str]) -> None:
        """Forget an agent."""
        with self._lock:
            self._remove(key)

    def clear(self) -> None:
        """Forget all of them."""
        with self._lock:
            self._entries.clear()
            self._by_url.clear()
            self._judged.clear()
            self.size = 0

    def _outdate(self, url: str | None, at: float) -> None:
        # The same card by another name: what is older there must not be handed out after this one.
        for other in tuple(self._by_url.get(url, ())):
            if self._entries[other].found.source.fetched_at < at:
                self._remove(other)

    def _remove(self, key: tuple[str, str]) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.size -= entry.size
            url = entry.found.source.url
            self._by_url[url].discard(key)
            if not self._by_url[url]:
                del self._by_url[url]
            place = (key[1], entry.found.digest)
            if self._judged.get(place) == key:
                del self._judged[place]


def size_of(card_bytes: int) -> int:
    """Bytes that an agent takes, by the length of its card."""
    return OVERHEAD + FACTOR * card_bytes
