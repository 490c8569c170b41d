"""Where answers are kept: a description, which opens nothing until something is fetched."""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from a2a_discovery._http.shelf import Shelf
from a2a_discovery._memory import AgentMemory
from a2a_discovery._urls import without_userinfo
from a2a_discovery.errors import UsageError

if TYPE_CHECKING:
    from hishel import AsyncBaseStorage

    from a2a_discovery.policy import Limits

log = logging.getLogger("a2a_discovery")

_INTERFACE = ("create_entry", "get_entries", "update_headers", "remove_entry")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """Where a `Discovery` keeps answers; several may share one. Written as one of

    - ``Cache.memory()``: in this process. Each such object is a memory of its own.
    - ``Cache.sqlite()``: in a file, for the next process too.
    - ``Cache.redis("redis://...")``: for a fleet.
    - ``Cache.off()``: nowhere.
    - ``Cache.storage(...)``: in any hishel storage; it may also be handed over bare, as ``cache=``.

    A store that fails costs a request, never an error: the log says ``a2a.cache.failed``.
    """

    kind: Literal["memory", "sqlite", "redis", "off", "storage"]
    path: Path | None = None
    """For ``sqlite``: the file, or ``None`` for the one in the user's cache directory."""
    url: str | None = field(default=None, repr=False)
    shelf: Shelf = field(default_factory=Shelf, repr=False)
    """What this process keeps beside a store on disk, and all of it for ``memory``."""
    agents: AgentMemory = field(default_factory=AgentMemory, repr=False)
    """Finished agents, for every kind but ``off``."""
    external: AsyncBaseStorage | None = None
    trouble: dict[str, float] = field(default_factory=dict, repr=False, compare=False)
    """What fails at present, and since when, so that the log says it once."""

    @classmethod
    def memory(cls) -> Cache:
        """A memory of its own, bounded by `Limits.memory_bytes`."""
        return cls(kind="memory")

    @classmethod
    def sqlite(cls, path: str | os.PathLike[str] | None = None) -> Cache:
        """A SQLite file, private to its owner, that several processes may use at once.

        Args:
            path: the file; its directory is made where it is missing. Default: ``a2a-discovery`` in the user's cache
                directory. Without a home directory, the memory of the process is used, and the log says so.
        """
        return cls(kind="sqlite", path=None if path is None else Path(path))

    @classmethod
    def redis(cls, url: str) -> Cache:
        """A Redis server (7 or later), shared by a fleet.

        Args:
            url: ``redis://``, ``rediss://`` or ``unix://``.

        Raises:
            UsageError: ``bad-config``, for another URL.
        """
        if not isinstance(url, str) or not url.startswith(("redis://", "rediss://", "unix://")):
            shown = repr(without_userinfo(url)[:100]) if isinstance(url, str) else "it"
            raise _bad(f"{shown} is no URL of a Redis server", 'write Cache.redis("redis://cache.example:6379/0")')
        if importlib.util.find_spec("redis") is None:
            raise _bad("Cache.redis needs the redis library", "install a2a_discovery[redis]")
        return cls(kind="redis", url=url)

    @classmethod
    def off(cls) -> Cache:
        """Keep nothing: every call asks the origin."""
        return cls(kind="off")

    @classmethod
    def storage(cls, storage: AsyncBaseStorage) -> Cache:
        """Any hishel storage for asyncio. It stays its maker's to close.

        Raises:
            UsageError: ``bad-config``, for anything else.
        """
        if isinstance(storage, type) or not all(hasattr(storage, name) for name in _INTERFACE):
            raise _bad("cache takes a Cache or a hishel storage", "write cache=Cache.memory()")
        if not _is_async(storage):
            raise _bad(
                f"{type(storage).__name__} is hishel's storage for blocking code",
                f"hand over its twin for asyncio: hishel.Async{type(storage).__name__}",
            )
        return cls(kind="storage", external=storage)

    def open(self, limits: Limits, clock: Callable[[], float]) -> AsyncBaseStorage | None:
        """The storage this describes, opened for one event loop; ``None`` for `off`."""
        if self.kind == "off":
            return None
        if self.kind == "storage":
            return self.external
        if self.kind == "redis" and self.url is not None:
            from a2a_discovery._http.redis import open_redis

            return open_redis(self.url, clock)
        if self.kind == "sqlite":
            path = self.path if self.path is not None else default_path()
            if path is not None:
                from a2a_discovery._http.sqlite import SqliteStore

                return SqliteStore(path, clock=clock)
            log.warning("a2a.cache.no_home", extra={"a2a.reason": "no home directory: answers are kept in memory"})
        return self.open_memory(limits)

    def open_memory(self, limits: Limits) -> AsyncBaseStorage:
        """What this process keeps, as a storage."""
        from a2a_discovery._http.memory import MemoryStore

        return MemoryStore(self.shelf, bound=limits.memory_bytes // 2)


def as_cache(value: Any) -> Cache:
    """A `Cache`, also from a bare hishel storage; ``None`` is the default.

    Raises:
        UsageError: ``bad-config``, for anything else.
    """
    if value is None:
        return Cache.memory()
    return value if isinstance(value, Cache) else Cache.storage(value)


def default_path(platform: str = sys.platform, environment: Mapping[str, str] = os.environ) -> Path | None:
    """The file in the user's cache directory, or ``None`` where there is no home."""
    base = _cache_directory(platform, environment)
    return None if base is None else base / "a2a-discovery" / "cache.sqlite"


def _cache_directory(platform: str, environment: Mapping[str, str]) -> Path | None:
    if platform == "win32":
        local = environment.get("LOCALAPPDATA")
        return Path(local) if local else None
    home = environment.get("HOME")
    if platform == "darwin":
        return Path(home) / "Library" / "Caches" if home else None
    named = environment.get("XDG_CACHE_HOME")
    if named and Path(named).is_absolute():  # a relative one is to be ignored, says the XDG specification
        return Path(named)
    return Path(home) / ".cache" if home else None


def _is_async(storage: object) -> bool:
    import inspect

    return inspect.iscoroutinefunction(getattr(storage, "get_entries", None))


def _bad(message: str, hint: str) -> UsageError:
    return UsageError("bad-config", message, hint=hint)
