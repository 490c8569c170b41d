"""`Agent`: a card that was judged, the one interface to call, and what they rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from a2a_discovery._finding import Finding
from a2a_discovery._flow import Found, Source, service_headers

if TYPE_CHECKING:
    from a2a_discovery._card.model import AgentCard, AgentInterface
    from a2a_discovery._credentials import Credentials
    from a2a_discovery._discovery import Discovery
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

    __slots__ = ("_discovery", "_found", "_target")

    def __init__(self, found: Found, discovery: Discovery, target: object) -> None:
        self._found = found
        self._discovery = discovery
        self._target = target

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
        return service_headers(self.interface, self._found.reading, self._discovery.settings.extensions)

    async def upgrade(self, credentials: Credentials) -> Agent:
        """The same agent with its extended card (A2A sections 3.1.11 and 13.3), verified by the same rules.

        Args:
            credentials: what the card's schemes ask for. They go to the site of ``trust.authority`` and to
                ``Credentials(hosts=...)``, nowhere else.

        Returns:
            A new `Agent`; this one stays as it is, also after any failure.

        Raises:
            ExtendedCardError: ``not-declared``, ``not-configured``, ``unsupported``, ``not-upgraded``, ``mismatch``.
            AuthError: ``no-credential``, ``auth-required``, ``forbidden``.
            FetchError, BlockedError, CardError, TrustError, InterfaceError: as for `discover`.
        """
        return await self._discovery.extend(self._found, credentials, self._target)

    async def refresh(self) -> Agent:
        """The agent as it is now: its card revalidated, at the public level of access.

        Raises:
            DiscoveryError: as for `discover`.
        """
        return await self._discovery.discover(self._target, refresh=True)

    def as_stale(self) -> Agent:
        """The same agent, marked ``stale``: it was handed out past its expiry."""
        return Agent(replace(self._found, source=replace(self.source, cache="stale")), self._discovery, self._target)

    def __repr__(self) -> str:
        return f"<Agent {self.source.url or self.source.requested} {self.trust.level.name} {self.source.cache}>"


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _copy(each) for name, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list) else value
