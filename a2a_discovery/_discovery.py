"""The shell: it performs what the line asks for, and owns what that needs."""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar

from a2a_discovery import _telemetry
from a2a_discovery._agent import Agent
from a2a_discovery._catalog.entry import CatalogEntry
from a2a_discovery._catalogs import Catalogs
from a2a_discovery._credentials import Credentials, check_mapping
from a2a_discovery._effects import Flow
from a2a_discovery._entries import location_of_target
from a2a_discovery._files import read_file
from a2a_discovery._flow import Found, Settings, discover
from a2a_discovery._hosts import best_match
from a2a_discovery._http.cache import Cache, as_cache
from a2a_discovery._http.coalesce import Flights
from a2a_discovery._identity import identity
from a2a_discovery._many import PER_HOST, Outcome, Turns, changes, each_as_it_comes
from a2a_discovery._memory import Kept, size_of
from a2a_discovery._options import key_of, texts
from a2a_discovery._perform import perform
from a2a_discovery._target import Handed, LocalFile, Target, read_target
from a2a_discovery._urls import host_of
from a2a_discovery.errors import DiscoveryError, UsageError
from a2a_discovery.policy import Limits, NetworkPolicy, TrustPolicy

if TYPE_CHECKING:
    from pathlib import Path

    import httpx

    from a2a_discovery._config import Configured
    from a2a_discovery._http.fetcher import Fetcher
    from a2a_discovery._session import Session

T = TypeVar("T")

_unowned: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Flights[Agent]] = weakref.WeakKeyDictionary()
_turns: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entered:
    """What an ``async with`` block owns, on its event loop."""

    loop: asyncio.AbstractEventLoop
    fetcher: Fetcher
    flights: Flights[Agent]
    behind: dict[str, asyncio.Task[None]]
    """Targets that are looked at again while their warm callers are answered already."""


class Discovery(Catalogs):
    """Discovers agents under one set of policies. All arguments are optional.

    Args:
        trust: what a card must prove.
        network: where we may connect, and for how long.
        cache: where answers are kept.
        bindings: what the caller can speak; add ``"GRPC"`` or a binding URI.
        versions: protocol versions that the caller accepts, Major.Minor.
        extensions: extension URIs that the caller implements; a *required* one that isn't here makes a card unusable.
        credentials: host pattern of the card → `Credentials`.
        agents: name → target, or a table as in a configuration file (see `from_config`); tried before anything else.
        strict: repair nothing while reading.
        replace_local_hosts: where a card names a wildcard or loopback host, use the host the card came from.
        limits: how much is read.
        transport: replaces the sockets alone; no name is resolved then, every other rule holds.
        clock: seconds since the epoch; `a2a_discovery.testing.Clock` in tests.

    Raises:
        UsageError: ``bad-config``.

    Used as ``async with``, it keeps its connections; without, each call opens what it needs and closes it again. It
    may be used from any event loop.
    """

    def __init__(
        self,
        *,
        trust: TrustPolicy | None = None,
        network: NetworkPolicy | None = None,
        cache: Cache | None = None,
        bindings: tuple[str, ...] = ("JSONRPC", "HTTP+JSON"),
        versions: tuple[str, ...] = ("1.0", "0.3"),
        extensions: tuple[str, ...] = (),
        credentials: Mapping[str, Credentials] | None = None,
        agents: Mapping[str, Any] | None = None,
        strict: bool = False,
        replace_local_hosts: bool = False,
        limits: Limits | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = Settings(
            trust=trust if trust is not None else TrustPolicy(),
            network=network if network is not None else NetworkPolicy(),
            limits=limits if limits is not None else Limits(),
            bindings=texts("bindings", bindings),
            versions=texts("versions", versions),
            extensions=texts("extensions", extensions, empty=True),
            strict=strict,
            replace_local_hosts=replace_local_hosts,
            during=_telemetry.span,
        )
        self._cache = as_cache(cache)
        self._credentials = check_mapping(credentials)
        self._agents = _read_agents(agents)
        self._transport = transport
        self._clock = clock
        self._entered: _Entered | None = None

    @classmethod
    def from_config(
        cls, path: str | Path | None = None, *, env: Mapping[str, str] | None = None, **options: Any
    ) -> Self:
        """A discovery whose `agents` are named in a file and in the environment.

        Args:
            path: a TOML file, or a JSON file by its ending, with a table ``agents``; ``None``: the environment alone.
            env: where ``A2A_AGENT_<NAME>`` and the secrets that the file names are looked up; ``os.environ``.
            options: the arguments of `Discovery`; its ``agents`` win over those of the file.

        Raises:
            UsageError: ``bad-config``, naming file, line and key where they are known.
        """
        from a2a_discovery._config import configured

        return cls(**configured(path, env, options))

    async def discover(self, target: object, *, refresh: bool = False) -> Agent:
        """The agent that a target names: its card located, fetched, read, verified, and an interface selected.

        Args:
            target: a configured name, a domain, an https URL (of a card, a base URL, or ``CATALOG#IDENTIFIER``), a
                `CatalogEntry`, a `pathlib.Path` of a card file, or a mapping that is a card.
            refresh: revalidate what is stored.

        Raises:
            UsageError: ``bad-target``.
            NotFoundError: ``no-card``, ``entry-not-found``, ``ambiguous``.
            FetchError: ``dns``, ``connect``, ``tls``, ``timeout``, ``http-status``, ``too-large``,
                ``redirect-refused``, ``protocol``.
            BlockedError: ``address``, ``scheme``, ``host``.
            CardError: ``not-json``, ``not-a-card``, ``invalid-card``, ``not-a-catalog``.
            TrustError: one of its codes, with ``.report``.
            InterfaceError: ``no-usable-interface``.
            AuthError: ``auth-required``, ``forbidden``.
        """
        if not refresh and isinstance(target, str):
            agent = self._warm(target)
            if agent is not None and _telemetry.silent():
                return agent
        shown = _shown(target)
        with _telemetry.span("a2a.discover", **{"a2a.target": shown}) as current:
            try:
                agent = await self._find(target, refresh)
            except DiscoveryError as error:
                _telemetry.failed(shown, error)
                raise
            _telemetry.describe(current, agent)
            _telemetry.found(shown, agent)
            return agent

    async def _find(self, target: object, refresh: bool) -> Agent:
        if not isinstance(target, str):
            return await self._discover(target, refresh)
        agent = None if refresh else self._warm(target)
        if agent is not None:
            return agent
        # Concurrent calls for one thing are one: the request, the parsing and the cryptography.
        name = (target, self._key_of(target), refresh, identity(self._cache))
        return await self._flights().join(name, lambda: self._discover(target, refresh))

    def _warm(self, target: str) -> Agent | None:
        """The finished agent of a target, where there is one; it is looked at again behind, where that is due."""
        now = self._clock()
        kept = self._cache.agents.get((target, self._key_of(target)), now)
        if kept is None or now < kept.refresh_at:
            return None if kept is None else kept.agent
        owner = self._entered
        if owner is None or owner.loop is not asyncio.get_running_loop():
            # Nobody would own a task that runs behind.
            return kept.agent if now < kept.expires_at else None
        if target not in owner.behind:
            owner.behind[target] = task = owner.loop.create_task(self._look_again(target))
            task.add_done_callback(lambda _: owner.behind.pop(target, None))
        return kept.agent if now < kept.expires_at else kept.agent.as_stale()

    async def _look_again(self, target: str) -> None:
        try:
            await self._find(target, refresh=True)
        except DiscoveryError as error:
            # The next caller past its expiry sees the failure itself.
            self._cache.agents.drop((target, self._key_of(target)))
            _telemetry.failed(target, error)

    def discover_many(
        self,
        targets: Iterable[Any] | AsyncIterable[Any],
        *,
        concurrency: int = 64,
        per_host: int = PER_HOST,
        refresh: bool = False,
    ) -> AsyncIterator[Outcome]:
        """Discover many targets; results come as they are ready, and a bad one never stops the rest.

        Args:
            targets: as for `discover`; read no faster than results are taken.
            concurrency: most targets under way, or finished and not yet taken.
            per_host: most targets of one host under way.
            refresh: revalidate what is stored.

        Returns:
            An async iterator of `Outcome`, in no particular order.

        Raises:
            UsageError: ``bad-config``.
        """
        if concurrency < 1 or per_host < 1:
            raise UsageError("bad-config", "concurrency and per_host are at least 1")
        return self._many(targets, concurrency, Turns(per_host), refresh)

    async def _many(
        self, targets: Iterable[Any] | AsyncIterable[Any], concurrency: int, turns: Turns, refresh: bool
    ) -> AsyncIterator[Outcome]:
        async def one(target: object) -> Outcome:
            try:
                async with turns.of(self._host_of(target)):
                    return Outcome(target=target, agent=await self.discover(target, refresh=refresh))
            except DiscoveryError as error:
                return Outcome(target=target, error=error)

        async with self._connected():
            outcomes = each_as_it_comes(targets, one, concurrency=concurrency)
            try:
                async for outcome in outcomes:
                    yield outcome
            finally:
                await outcomes.aclose()

    async def watch(self, target: object) -> AsyncIterator[Agent]:
        """Yield the agent now, and again each time its card, its validators or its trust changed.

        It is looked at when it expires, with a conditional request. A clock that has a ``sleep`` is waited with.

        Args:
            target: as for `discover`.

        Raises:
            DiscoveryError: as `discover`, once the last good card may no longer stand in.
        """
        sleep = getattr(self._clock, "sleep", asyncio.sleep)

        async def look(again: bool) -> Agent:
            return await self.discover(target, refresh=again)

        async with self._connected():
            async for agent in changes(look, clock=self._clock, sleep=sleep):
                yield agent

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[None]:
        """Keep connections for as long as the block runs, where no ``async with`` does so already."""
        if self._entered is not None:
            yield
            return
        async with self:
            yield

    def _host_of(self, target: object) -> str | None:
        try:
            return _host(read_target(self._named(target), network=self.settings.network, names=self._agents))
        except UsageError:
            return None  # `discover` says what is wrong with it

    async def _discover(self, target: object, refresh: bool) -> Agent:
        place = await self._read_target(target)
        # One location is asked by one call at a time, however it was spelled: else an answer that was made earlier and
        # comes later would stand in the place of a newer one.
        location = location_of_target(place)
        async with self._turns().of(location and f"{identity(self._cache)} {location}"):
            return await self._discover_place(place, target, refresh)

    async def _discover_place(self, place: Any, target: object, refresh: bool) -> Agent:
        credentials = self.credentials_of(target, place)
        flow = discover(
            place,
            self.settings_of(target),
            requested=_shown(target),
            now=self._clock(),
            refresh=refresh,
            auth_for=self._auth_for(credentials),
            principal=_principal(credentials, _host(place)),
            known=lambda digest: self._cache.agents.judged(self._key_of(target), digest),
        )
        found = await self._run(flow)
        if isinstance(target, str) and self._cache.kind != "off":
            self._remember(target, found)
        return Agent(found, self, target)

    def _remember(self, target: str, found: Found) -> None:
        source, limits = found.source, self.settings.limits
        if found.no_store:
            self._cache.agents.drop((target, self._key_of(target)))
        if source.cache == "stale":  # it may come from another process, and be newer than what this one keeps
            self._cache.agents.outdate(source.url, source.fetched_at)
        if source.url is None or source.cache == "stale" or found.no_store:
            return
        remembered = replace(found, source=replace(source, cache="memory"))
        kept = Kept(
            agent=Agent(remembered, self, target),
            found=remembered,
            refresh_at=max(source.expires_at - limits.refresh_ahead, source.fetched_at),
            expires_at=source.expires_at,
            usable_until=source.expires_at + found.stale_while_revalidate,
            size=size_of(found.size),
        )
        self._cache.agents.put((target, self._key_of(target)), kept, bound=limits.memory_bytes // 2)

    def _key_of(self, target: object) -> str:
        """The key of what a target is judged by: a name that brings rules of its own shares no verdict with others."""
        mine = self._agents.get(target) if isinstance(target, str) else None
        return self._key if mine is None or mine.plain else f"{self._key} {target}"

    @cached_property
    def _key(self) -> str:
        """Every argument that can change an answer, as one text."""
        return key_of(
            self.settings,
            transport=self._transport,
            credentials=self._credentials,
            agents={name: each.shape for name, each in self._agents.items()},
            clock=self._clock,
        )

    def _turns(self) -> Turns:
        loop = asyncio.get_running_loop()
        turns = _turns.get(loop)
        if turns is None:
            turns = _turns[loop] = Turns(1)
        return turns

    def _flights(self) -> Flights[Agent]:
        loop, entered = asyncio.get_running_loop(), self._entered
        if entered is not None and entered.loop is loop:
            return entered.flights
        # Nobody owns these: each call opens what it needs, and closes it before it lands.
        flights = _unowned.get(loop)
        if flights is None:
            flights = _unowned[loop] = Flights()
        return flights

    def forget(self, target: object) -> None:
        """Forget what a target's location proved before, so that a card that proves less is accepted again.

        For a publisher that stopped signing, or moved its keys to another host, once it confirmed that.

        Args:
            target: as for `discover`: a configured name, a domain or a URL.

        Raises:
            UsageError: ``bad-target``.
        """
        place = read_target(self._named(target), network=self.settings.network, names=self._agents)
        location = location_of_target(place)
        if location is None:
            return  # nothing is remembered of what was handed over
        fetcher = self._open()
        for each in (location, f"{location}#extended"):
            fetcher.forget(each)
        self._cache.agents.clear()

    @cached_property
    def session(self) -> Session:
        """What callers' credentials brought: for the package itself."""
        from a2a_discovery._session import Session

        keep = self._cache.kind != "off"
        return Session(fetcher=self._fetcher, clock=self._clock, transport=self._transport, keep=keep)

    async def aclose(self) -> None:
        """Close the connections. Agents stay usable, and so does this object.

        From another event loop than the one that entered it nothing is closed: the connections are that loop's.
        """
        entered = self._entered
        if entered is not None and (entered.loop is asyncio.get_running_loop() or entered.loop.is_closed()):
            self._entered = None
            for task in (tasks := list(entered.behind.values())):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await entered.flights.aclose()
            await entered.fetcher.aclose()

    async def __aenter__(self) -> Self:
        if self._entered is None:
            self._entered = _Entered(
                loop=asyncio.get_running_loop(), fetcher=self._open(), flights=Flights(), behind={}
            )
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.aclose()

    def _named(self, target: object) -> object:
        mine = self._agents.get(target) if isinstance(target, str) else None
        return target if mine is None else mine.target

    def settings_of(self, target: object) -> Settings:
        """What a target is discovered by: a configured name may have a trust policy and bindings of its own."""
        mine = self._agents.get(target) if isinstance(target, str) else None
        if mine is None:
            return self.settings
        trust = self.settings.trust if mine.trust is None else mine.trust
        bindings = self.settings.bindings if mine.bindings is None else mine.bindings
        return replace(self.settings, trust=trust, bindings=bindings)

    def credentials_of(self, target: object, place: Target | None = None) -> Mapping[str, Credentials]:
        """The credentials that a target may be asked with, by host: a configured name may have its own."""
        mine = self._agents.get(target) if isinstance(target, str) else None
        if mine is None or mine.credentials is None:
            return self._credentials
        if place is None:
            place = read_target(self._named(target), network=self.settings.network, names=self._agents)
        host = _host(place)
        if host is None:
            return self._credentials
        return {**self._credentials, host: mine.credentials}

    async def _read_target(self, target: object) -> Any:
        place: Target = read_target(self._named(target), network=self.settings.network, names=self._agents)
        if isinstance(place, LocalFile):
            return await asyncio.to_thread(_read_card, place, self.settings.limits)
        return place

    def _open(self) -> Fetcher:
        from a2a_discovery._http.fetcher import Fetcher

        return Fetcher(
            network=self.settings.network,
            limits=self.settings.limits,
            cache=self._cache,
            transport=self._transport,
            clock=self._clock,
        )

    @asynccontextmanager
    async def _fetcher(self) -> AsyncIterator[Fetcher]:
        entered = self._entered
        if entered is not None and entered.loop is asyncio.get_running_loop():
            yield entered.fetcher
            return
        # Another event loop, or none entered: connections are bound to a loop, so this call has its own.
        fetcher = self._open()
        try:
            yield fetcher
        finally:
            await fetcher.aclose()

    async def _run(self, flow: Flow[T]) -> T:
        async with self._fetcher() as fetcher:
            return await perform(flow, fetcher)


def _read_card(place: LocalFile, limits: Limits) -> Handed:
    return Handed(body=read_file(place.path, limit=limits.card_bytes, argument="card_bytes"), shown=str(place.path))


def _read_agents(agents: Mapping[str, Any] | None) -> dict[str, Configured]:
    if agents is None:
        return {}
    from a2a_discovery._config import read_agents

    return read_agents(agents)


def _principal(credentials: Mapping[str, Credentials], host: str | None) -> str | None:
    found = best_match(credentials, (host,)) if host else None
    return found.principal if found is not None else None


def _host(place: Target) -> str | None:
    url = getattr(place, "url", None) or getattr(place, "origin", None)
    return host_of(url) if url else None


def _shown(target: object) -> str:
    if isinstance(target, str):
        from a2a_discovery._urls import without_userinfo

        return without_userinfo(target.strip())
    if isinstance(target, CatalogEntry):
        return f"{target.source}#{target.identifier}"
    return "a mapping" if isinstance(target, Mapping) else str(target)
