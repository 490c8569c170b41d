"""`Agent`: a card that was judged, the one interface to call, and what they rest on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from a2a_discovery._credentials import Credentials
from a2a_discovery._finding import Finding
from a2a_discovery._flow import Found, Source
from a2a_discovery.errors import AuthError

if TYPE_CHECKING:
    import httpx
    from a2a.client import Client
    from a2a.types import AgentCard as ProtoCard

    from a2a_discovery._auth import BoundAuth
    from a2a_discovery._card.model import AgentCard, AgentInterface
    from a2a_discovery._discovery import Discovery
    from a2a_discovery._flow import Settings
    from a2a_discovery._oauth import DeviceCode
    from a2a_discovery._session import Access
    from a2a_discovery._trust.report import TrustReport


class Agent:
    """What `discover` gives: a value, usable after its `Discovery` closed.

    Attributes:
        card: the `AgentCard`, always in the 1.0 shape, whatever was served.
        document: the card as received.
        interface: the first entry of ``supportedInterfaces`` that the caller can speak.
        alternatives: the other usable ones, in the card's order.
        skipped: the unusable ones, each with its pointer and reason.
        trust: who vouches for the card, and how far.
        source: where it came from and how fresh it is.
        findings: what was repaired or is odd.
        extended: whether this is the extended card.
    """

    __slots__ = ("_access", "_discovery", "_found", "_public", "_target")

    def __init__(
        self,
        found: Found,
        discovery: Discovery,
        target: object,
        *,
        access: Access | None = None,
        public: Found | None = None,
    ) -> None:
        self._found = found
        self._discovery = discovery
        self._target = target
        self._access = access
        self._public = public or found

    @property
    def card(self) -> AgentCard:
        """The card in the 1.0 shape."""
        return self._found.reading.card

    @property
    def document(self) -> dict[str, Any]:
        """The card as received; each time a copy, so that nobody's edits reach those who share this agent."""
        copy: dict[str, Any] = _copy(self._found.reading.document)
        return copy

    @property
    def interface(self) -> AgentInterface:
        """The interface to call (A2A section 8.3.2)."""
        return self._found.selection.interface

    @property
    def alternatives(self) -> tuple[AgentInterface, ...]:
        """The other usable interfaces, in the card's order."""
        return self._found.selection.alternatives

    @property
    def skipped(self) -> tuple[Finding, ...]:
        """The unusable interfaces, each with its pointer and reason."""
        return self._found.selection.skipped

    @property
    def trust(self) -> TrustReport:
        """Who vouches for the card."""
        return self._found.report

    @property
    def source(self) -> Source:
        """Where the card came from."""
        return self._found.source

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was repaired or is odd, with JSON pointers into `document`."""
        return self._found.findings

    @property
    def extended(self) -> bool:
        """Whether this is the extended card, fetched with credentials."""
        return self._found.extended

    def headers(self) -> dict[str, str]:
        """The header fields that every call to `interface` must send: ``A2A-Version``, and ``A2A-Extensions`` for the
        declared extensions that the caller claims. Never credentials (A2A sections 3.2.6 and 14.2).
        """
        from a2a_discovery._upgrade import service_headers

        return service_headers(self.interface, self._found.reading, self._discovery.settings.extensions)

    def with_credentials(self, credentials: Credentials) -> Agent:
        """The same agent, called with these credentials from now on; no request is made.

        For an agent without an extended card, or where that is not wanted. `upgrade` does the same and fetches it.

        Raises:
            UsageError: ``bad-config``.
        """
        access = self._discovery.session.access(credentials)
        return Agent(self._public, self._discovery, self._target, access=access)

    async def upgrade(self, credentials: Credentials | None = None) -> Agent:
        """The same agent with its extended card (A2A sections 3.1.11 and 13.3), verified by the same rules.

        Kept in memory for these credentials and this tenant, as long as its answer and the public card are fresh and
        the latter says the same.

        Args:
            credentials: what the card's schemes ask for. They go to the site of ``trust.authority`` and to
                ``Credentials(hosts=...)``, nowhere else. Without: those that the `Discovery` has for this card's host.

        Returns:
            A new `Agent`; this one stays as it is, also after any failure.

        Raises:
            ExtendedCardError: ``not-declared``, ``not-configured``, ``unsupported``, ``not-upgraded``, ``mismatch``.
            AuthError: ``no-credential``, ``auth-required``, ``forbidden``.
            UsageError: ``bad-config``.
            FetchError, BlockedError, CardError, TrustError, InterfaceError: as for `discover`.
        """
        access = self._access_now() if credentials is None else self._discovery.session.access(credentials)
        if access is None:
            raise AuthError(
                "no-credential",
                "the extended card needs credentials, and this agent has none",
                step="extend",
                hint="await agent.upgrade(Credentials(bearer=...))",
            )
        return await self._upgraded(self._public, access)

    async def refresh(self) -> Agent:
        """The agent as it is now, at the same level of access: its card is revalidated, and where this is the extended
        one, that is fetched anew.

        Raises:
            DiscoveryError: as for `discover` and `upgrade`.
        """
        public = await self._discovery.discover(self._target, refresh=True)
        if self.extended and self._access is not None:
            return await self._upgraded(public.found, self._access, anew=True)
        return Agent(public.found, self._discovery, self._target, access=self._access)

    def logout(self) -> Agent:
        """Forget the extended card and the tokens that these credentials brought; clients and transports made with them
        send nothing any more.

        Returns:
            The public agent; of credentials it has those that the `Discovery` has for its host, if any.
        """
        access = self._access_now()
        if access is not None:
            self._discovery.session.logout(access)
        return Agent(self._public, self._discovery, self._target)

    @property
    def auth(self) -> httpx.Auth:
        """The credentials as an `httpx.Auth` that sends them to allowed hosts alone; it works in `httpx.Client` too.

        It adds nothing where there are no credentials. A client that follows redirects should use `transport` instead:
        httpx carries an API key's header on to wherever a redirect leads.

        Raises:
            AuthError: ``no-credential``: they may not go to `interface`, or fit nothing that the card asks for.
        """
        return self._bound()

    def transport(self) -> httpx.AsyncBaseTransport:
        """A transport for an `httpx.AsyncClient` of your own, which closes it.

        Every request passes the network policy, each hop of a redirect too, and carries the credentials where they may
        go::

            httpx.AsyncClient(transport=agent.transport(), headers=agent.headers())

        Raises:
            AuthError: ``no-credential``, as `auth`.
        """
        return self._discovery.session.transport(self._found, self._bound(), self._settings())

    async def connect(self, *, streaming: bool = True, timeout: float = 60.0) -> Client:  # noqa: ASYNC109
        """A client of the official SDK, bound to this interface, its tenant, version, extensions and the credentials.

        Its requests go through `transport`; close it with ``await client.close()``, or use it in ``async with``.

        Args:
            streaming: let messages be answered as a stream where the agent can.
            timeout: seconds that it may be silent; connecting has ``NetworkPolicy(timeout=...)``.

        Raises:
            UsageError: ``bad-config``, without the extra ``a2a``.
            AuthError: ``no-credential``, as `auth`.
            InterfaceError: ``no-usable-interface``: the SDK does not speak this binding.
            BlockedError, FetchError: a gRPC target that the network policy forbids, or that does not resolve.
        """
        from a2a_discovery.bridges import a2a_sdk

        card, settings = self.card, self._settings()
        if a2a_sdk.speaks_http(self.interface):
            transport = self.transport()
            return a2a_sdk.http_client(
                card,
                self.interface,
                transport=transport,
                headers=self.headers(),
                timeout=(settings.network.timeout, timeout),
                streaming=streaming,
            )
        return await a2a_sdk.grpc_client(
            card,
            self.interface,
            network=settings.network,
            local=settings.network.loopback and self._found.provenance.loopback,
            auth=self._bound(),
            headers=self.headers(),
            streaming=streaming,
        )

    def as_a2a_card(self) -> ProtoCard:
        """The card as the official SDK's protobuf message, for frameworks that take one.

        It names the usable interfaces alone, `interface` first. Signatures are left out: they cover `document`.

        Raises:
            UsageError: ``bad-config``, without the extra ``a2a``.
        """
        from a2a_discovery.bridges import a2a_sdk

        return a2a_sdk.to_proto(self.card, (self.interface, *self.alternatives))

    async def device_login(
        self,
        client_id: str,
        *,
        show: Callable[[DeviceCode], object],
        client_secret: str | None = None,
        hosts: tuple[str, ...] = (),
    ) -> Credentials:
        """Let a person sign in on another device (RFC 8628), for command lines.

        Args:
            client_id: the OAuth 2.0 client, which needs no secret.
            show: shows the person ``.url`` and ``.code``.
            client_secret: its secret, where it has one.
            hosts: as in `Credentials`.

        Returns:
            Credentials for `upgrade` or `with_credentials`; with a refresh token where the server gave one.

        Raises:
            AuthError: ``no-credential``: the card declares no device code flow, or its URLs are on a host that is not
                allowed; ``auth-required``: the person refused, or was too late.
            FetchError, BlockedError, UsageError: as `upgrade`.
        """
        credentials = Credentials(client_id=client_id, client_secret=client_secret, hosts=hosts)
        return await self._discovery.session.device_login(self._public, credentials, self._settings(), show)

    @property
    def found(self) -> Found:
        """What the line found: for the package itself."""
        return self._found

    def _settings(self) -> Settings:
        return self._discovery.settings_of(self._target)

    def _access_now(self) -> Access | None:
        if self._access is not None:
            return self._access
        return self._discovery.session.access_bound(self._found, self._discovery.credentials_of(self._target))

    def _bound(self) -> BoundAuth:
        return self._discovery.session.auth(self._found, self._access_now(), self._settings())

    async def _upgraded(self, public: Found, access: Access, *, anew: bool = False) -> Agent:
        found = await self._discovery.session.upgrade(public, access, self._settings(), anew=anew)
        return Agent(found, self._discovery, self._target, access=access, public=public)

    def as_stale(self) -> Agent:
        """The same agent, marked ``stale``: it was handed out past its expiry."""
        found = replace(self._found, source=replace(self.source, cache="stale"))
        return Agent(found, self._discovery, self._target, access=self._access, public=self._public)

    def __repr__(self) -> str:
        return f"<Agent {self.source.url or self.source.requested} {self.trust.level.name} {self.source.cache}>"


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copy(each) for name, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list) else value
