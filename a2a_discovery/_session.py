"""After authentication: what one `Discovery` holds for its callers' credentials. In memory alone, and never pickled."""

from __future__ import annotations

import asyncio
import hashlib
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from a2a_discovery import _telemetry
from a2a_discovery._credentials import Allowed, Credentials
from a2a_discovery._effects import Fetch, Fetched, Invoke
from a2a_discovery._extended import content
from a2a_discovery._hosts import best_match
from a2a_discovery._http.coalesce import Flights
from a2a_discovery._memory import size_of
from a2a_discovery._oauth import BODY, Tokens, sign_in
from a2a_discovery._options import rules_of
from a2a_discovery._perform import perform
from a2a_discovery._upgrade import allowed_by, device_grant, extend, grant
from a2a_discovery._urls import host_of
from a2a_discovery.errors import AuthError, DiscoveryError, UsageError

if TYPE_CHECKING:
    import httpx

    from a2a_discovery._auth import BoundAuth
    from a2a_discovery._choose import Applied, Grant
    from a2a_discovery._flow import Found, Settings
    from a2a_discovery._http.fetcher import Fetcher
    from a2a_discovery._oauth import DeviceCode
    from a2a_discovery._transport import AgentTransport


@dataclass(slots=True, kw_only=True, weakref_slot=True, eq=False)
class Access:
    """One caller's credentials for one agent, until they are logged out."""

    credentials: Credentials = field(repr=False)
    principal: str
    open: bool = True

    def check(self) -> None:
        """Refuse to go on after `Agent.logout`.

        Raises:
            AuthError: ``no-credential``.
        """
        if not self.open:
            raise AuthError(
                "no-credential",
                "this agent was logged out",
                step="extend",
                hint="await agent.upgrade(Credentials(...)), or agent.with_credentials(Credentials(...))",
            )

    def __reduce__(self) -> Any:
        raise TypeError("credentials are not pickled")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    found: Found
    principal: str


class Session:
    """Tokens and extended cards, by credentials.

    Args:
        fetcher: opens, or lends, the one place where bytes come in.
        clock: seconds since the epoch.
        transport: replaces the sockets, where the `Discovery` was given one.
        keep: whether extended cards are kept; ``Cache.off()`` ends that too.
    """

    def __init__(
        self,
        *,
        fetcher: Callable[[], AbstractAsyncContextManager[Fetcher]],
        clock: Callable[[], float],
        transport: httpx.AsyncBaseTransport | None,
        keep: bool = True,
    ) -> None:
        self._keep = keep
        self._fetcher = fetcher
        self._clock = clock
        self._transport = transport
        self._tokens: dict[bool, Tokens] = {}
        self._extended: OrderedDict[str, _Kept] = OrderedDict()
        self._accesses: weakref.WeakValueDictionary[str, Access] = weakref.WeakValueDictionary()
        self._flights: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Flights[Found]]
        self._flights = weakref.WeakKeyDictionary()

    def __reduce__(self) -> Any:
        raise TypeError("what is behind a login is not pickled")

    def access(self, credentials: Credentials) -> Access:
        """The access of these credentials: one for all agents of this `Discovery`, until it is logged out.

        Raises:
            UsageError: ``bad-config``.
        """
        if not isinstance(credentials, Credentials):
            raise UsageError(
                "bad-config", "that takes Credentials", hint="await agent.upgrade(Credentials(bearer=...))"
            )
        principal = credentials.principal
        found = self._accesses.get(principal)
        if found is None or not found.open:
            found = self._accesses[principal] = Access(credentials=credentials, principal=principal)
        return found

    def access_bound(self, found: Found, bound: Mapping[str, Credentials]) -> Access | None:
        """The access that the `Discovery` itself has for an agent.

        Args:
            found: the agent.
            bound: host pattern of the card → credentials: its authority, or the host asked for where no redirect left
                that site. An interface's or token URL's host chooses nothing.
        """
        asked = None if found.provenance.crossed_site else found.provenance.asked
        hosts = [host for host in (found.report.authority, asked) if host is not None]
        credentials = best_match(bound, hosts)
        return None if credentials is None else self.access(credentials)

    async def upgrade(self, public: Found, access: Access, settings: Settings, *, anew: bool = False) -> Found:
        """Step 6: the extended card, from memory where it may still be used. Concurrent calls make one request.

        Args:
            public: what the public card's discovery found.
            access: the caller's credentials.
            settings: what to go by.
            anew: ask, whatever is in memory.

        Raises:
            ExtendedCardError, AuthError, FetchError, BlockedError, CardError, TrustError, InterfaceError: see
                `_upgrade.extend`.
        """
        access.check()
        key = _key(public, access, settings)
        kept = None if anew else self._extended.get(key)
        if kept is not None and self._clock() < kept.found.source.expires_at:
            self._extended.move_to_end(key)
            found = kept.found
            return replace(found, source=replace(found.source, requested=public.source.requested, cache="memory"))
        flights = self._flights.setdefault(asyncio.get_running_loop(), Flights())
        return await flights.join((key, anew), lambda: self._upgrade(public, access, settings, key))

    async def _upgrade(self, public: Found, access: Access, settings: Settings, key: str) -> Found:
        def bind(applied: tuple[Applied, ...], allowed: Allowed) -> BoundAuth:
            return self._bind(public, access, settings, applied, allowed)

        flow = extend(public, access.credentials, settings, now=self._clock(), bind=bind, grpc=_has_grpc())
        with _telemetry.span("a2a.extend", **{"a2a.target": public.source.requested}):
            try:
                async with self._fetcher() as fetcher:
                    found = await perform(flow, fetcher, lambda call: self._invoke(call, settings))
            except AuthError:
                self._forget(access.principal)
                raise
        access.check()  # it may have been logged out meanwhile
        if self._keep:
            self._put(key, _Kept(found=found, principal=access.principal), settings.limits.memory_bytes)
        return found

    def _put(self, key: str, kept: _Kept, bound: int) -> None:
        self._extended[key] = kept
        self._extended.move_to_end(key)
        while self._extended and sum(size_of(each.found.size) for each in self._extended.values()) > bound:
            self._extended.popitem(last=False)

    async def _invoke(self, call: Invoke, settings: Settings) -> Fetched:
        from a2a_discovery.bridges.grpc import get_extended_card

        answer, now = await get_extended_card(call, settings.network), self._clock()
        # gRPC has no caching headers.
        return replace(answer, fetched_at=now, expires_at=now + settings.limits.default_ttl)

    def auth(self, found: Found, access: Access | None, settings: Settings) -> BoundAuth:
        """The `httpx.Auth` for calls to an agent's interface.

        Raises:
            AuthError: ``no-credential``.
        """
        if access is None:
            from a2a_discovery._auth import BoundAuth

            return BoundAuth(())
        access.check()
        granted = grant(found, access.credentials, settings)
        return self._bind(found, access, settings, granted.chosen.applied, granted.allowed)

    def transport(self, found: Found, auth: BoundAuth, settings: Settings) -> AgentTransport:
        """The guarded transport for calls to an agent."""
        from a2a_discovery._transport import AgentTransport

        return AgentTransport(settings.network, auth=auth, local=_local(found, settings), transport=self._transport)

    def logout(self, access: Access) -> None:
        """Forget everything that these credentials brought."""
        access.open = False
        self._forget(access.principal)
        for tokens in self._tokens.values():
            tokens.drop(access.principal)

    def _forget(self, principal: str) -> None:
        for key in [key for key, kept in self._extended.items() if kept.principal == principal]:
            del self._extended[key]

    def _bind(
        self, found: Found, access: Access, settings: Settings, applied: tuple[Applied, ...], allowed: Allowed
    ) -> BoundAuth:
        from a2a_discovery._auth import BoundAuth

        tokens = self.tokens(local=_local(found, settings))

        async def token(wanted: Grant, stale: str | None) -> str:
            access.check()
            return await tokens.token(wanted, allowed, stale=stale)

        return BoundAuth(
            applied,
            allowed,
            tokens=token,
            check=access.check,
            refused=lambda status: self._forget(access.principal),
        )

    async def device_login(
        self, found: Found, credentials: Credentials, settings: Settings, show: Callable[[DeviceCode], object]
    ) -> Credentials:
        """Let a person sign in on another device; see `Agent.device_login`.

        Raises:
            AuthError, FetchError, BlockedError, UsageError.
        """
        allowed = allowed_by(found, credentials, settings)
        tokens = self.tokens(local=_local(found, settings))
        wanted, there = device_grant(found, credentials, settings)
        if there is None:
            there = await tokens.endpoints(wanted, allowed)
        if not there.device:
            raise AuthError("no-credential", "the card declares no device code flow", step="extend")
        sleep = getattr(self._clock, "sleep", asyncio.sleep)
        token = await sign_in(tokens, wanted, there, allowed, show=show, sleep=sleep)
        return replace(credentials, bearer=token.access, refresh_token=token.refresh)

    def tokens(self, *, local: bool) -> Tokens:
        """The tokens of cards from loopback, which may name a token URL there, or those of the others."""
        if local not in self._tokens:
            self._tokens[local] = Tokens(_Sender(self._fetcher, local=local), self._clock)
        return self._tokens[local]


class _Sender:
    """Sends what OAuth wants through the guard."""

    def __init__(self, fetcher: Callable[[], AbstractAsyncContextManager[Fetcher]], *, local: bool) -> None:
        self._fetcher = fetcher
        self._local = local

    async def __call__(self, url: str, *, form: str | None = None, secret: tuple[str, str] | None = None) -> Fetched:
        """One request; see `_oauth.Send`."""
        auth = None
        if secret is not None:
            from a2a_discovery._auth import BoundAuth
            from a2a_discovery._choose import Applied

            # Not among the headers: those show in a repr.
            auth = BoundAuth((Applied(place="header", name=secret[0], value=secret[1]),))
        host = host_of(url)
        fetch = Fetch(
            url=url,
            kind="token",
            limit=BODY,
            local=self._local,
            mode="unconditional",
            method="GET" if form is None else "POST",
            headers=(
                ("Accept", "application/json"),
                *((("Content-Type", "application/x-www-form-urlencoded"),) if form is not None else ()),
            ),
            body=None if form is None else form.encode(),
            auth_for=lambda hop: auth if hop == host else None,
        )
        async with self._fetcher() as fetcher:
            try:
                return await fetcher.fetch(fetch)
            except DiscoveryError as error:
                error.step = "extend"
                raise


def _key(public: Found, access: Access, settings: Settings) -> str:
    """The public card without its signatures (and so its version), its place, the tenant, the credentials, and what
    the extended card is judged by.
    """
    interface = public.selection.interface
    parts = (
        access.principal,
        public.source.url,
        public.report.authority,
        public.provenance.other_publisher,
        interface.url,
        interface.protocol_binding,
        interface.protocol_version,
        interface.tenant,
        rules_of(settings),
        content(public.reading),
    )
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _local(found: Found, settings: Settings) -> bool:
    return settings.network.loopback and found.provenance.loopback


def _has_grpc() -> bool:
    return find_spec("grpc") is not None and find_spec("a2a") is not None
