"""Find an A2A agent's card, know whether to trust it, and which endpoint to call.

::

    agent = await discover("shop.example")
    agent.card.name, agent.interface.url, agent.trust.level
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from a2a_discovery._http.cache import Cache
from a2a_discovery.errors import (
    AuthError,
    BlockedError,
    CardError,
    DiscoveryError,
    ExtendedCardError,
    FetchError,
    InterfaceError,
    NotFoundError,
    TrustError,
    UsageError,
)
from a2a_discovery.policy import Limits, NetworkPolicy, Trust, TrustPolicy

if TYPE_CHECKING:
    from a2a_discovery._agent import Agent
    from a2a_discovery._card.model import AgentCard, AgentInterface
    from a2a_discovery._catalog.entry import CatalogEntry
    from a2a_discovery._check.card import check_card
    from a2a_discovery._credentials import Credentials
    from a2a_discovery._discovery import Discovery
    from a2a_discovery._finding import Finding
    from a2a_discovery._many import Outcome
    from a2a_discovery._sync import SyncDiscovery
    from a2a_discovery._trust.report import SignatureCheck, TrustReport

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "AgentCard",
    "AgentInterface",
    "AuthError",
    "BlockedError",
    "Cache",
    "CardError",
    "CatalogEntry",
    "Credentials",
    "Discovery",
    "DiscoveryError",
    "ExtendedCardError",
    "FetchError",
    "Finding",
    "InterfaceError",
    "Limits",
    "NetworkPolicy",
    "NotFoundError",
    "Outcome",
    "SignatureCheck",
    "SyncDiscovery",
    "Trust",
    "TrustError",
    "TrustPolicy",
    "TrustReport",
    "UsageError",
    "check_card",
    "discover",
    "discover_sync",
]

# What bare `discover` calls share: answers and judged agents, never connections, which belong to an event loop.
_shared = Cache.memory()


async def discover(target: object, *, refresh: bool = False, **options: Any) -> Agent:
    """The agent that a target names, in one line.

    Args:
        target: a domain (``"shop.example"``), an https URL, a `pathlib.Path` of a card file, or a mapping.
        refresh: revalidate what is stored.
        options: the arguments of `Discovery`.

    Raises:
        DiscoveryError: as `Discovery.discover`.
    """
    from a2a_discovery._discovery import Discovery

    return await Discovery(**{"cache": _shared, **options}).discover(target, refresh=refresh)


def discover_sync(target: object, *, refresh: bool = False, **options: Any) -> Agent:
    """`discover` for code without asyncio; it works inside a notebook's running loop too.

    Raises:
        DiscoveryError: as `Discovery.discover`.
    """
    from a2a_discovery._sync import SyncDiscovery

    with SyncDiscovery(**{"cache": _shared, **options}) as discovery:
        return discovery.discover(target, refresh=refresh)


# Loaded when they are first needed: the line is sixty modules, and a program that imports us at its start may not
# discover anything before its first request.
_LATE = {
    "Agent": "_agent",
    "AgentCard": "_card.model",
    "AgentInterface": "_card.model",
    "check_card": "_check.card",
    "CatalogEntry": "_catalog.entry",
    "Credentials": "_credentials",
    "Discovery": "_discovery",
    "Finding": "_finding",
    "Outcome": "_many",
    "SignatureCheck": "_trust.report",
    "SyncDiscovery": "_sync",
    "TrustReport": "_trust.report",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
