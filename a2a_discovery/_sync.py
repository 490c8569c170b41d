"""The same without asyncio: the async `Discovery` on one private thread with a loop of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from a2a_discovery._config import configured
from a2a_discovery._discovery import Discovery
from a2a_discovery._listing import SyncListing
from a2a_discovery.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from a2a_discovery._agent import Agent

T = TypeVar("T")


class SyncDiscovery:
    """`Discovery` for code without asyncio; it works inside a notebook's running loop too.

    Takes the arguments of `Discovery`. Use it as ``with SyncDiscovery() as d``, or call `close`.
    """

    def __init__(self, **options: Any) -> None:
        self._discovery = Discovery(**options)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="a2a_discovery", daemon=True)
        self._thread.start()
        self.run(self._discovery.__aenter__())

    @classmethod
    def from_config(
        cls, path: str | Path | None = None, *, env: Mapping[str, str] | None = None, **options: Any
    ) -> Self:
        """As `Discovery.from_config`, with its errors."""
        return cls(**configured(path, env, options))

    def discover(self, target: object, *, refresh: bool = False) -> Agent:
        """As `Discovery.discover`, with its errors."""
        return self.run(self._discovery.discover(target, refresh=refresh))

    def catalog(self, target: object, **options: Any) -> SyncListing:
        """As `Discovery.catalog`, with its errors."""
        return SyncListing(self._discovery.catalog(target, **options), self.run)

    def find(self, target: object, **options: Any) -> SyncListing:
        """As `Discovery.find`, with its errors."""
        return SyncListing(self._discovery.find(target, **options), self.run)

    def merchant_keys(self, host: str, *, refresh: bool = False) -> dict[str, Any]:
        """As `Discovery.merchant_keys`, with its errors."""
        return self.run(self._discovery.merchant_keys(host, refresh=refresh))

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        """Wait for a coroutine of this package, such as ``d.run(agent.upgrade(Credentials(...)))``."""
        if self._loop.is_closed():
            call.close()
            raise UsageError("bad-config", "this SyncDiscovery is closed", hint="make a new one, or use discover_sync")
        future = asyncio.run_coroutine_threadsafe(call, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """Close the connections and end the thread; closing twice is fine."""
        if self._loop.is_closed():
            return
        try:
            self.run(self._discovery.aclose())
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
