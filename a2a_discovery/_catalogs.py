"""The part of `Discovery` that reads catalogs: what they list, what fits, and the keys of a merchant.

What reads them loads at the first call: most callers discover agents and never list any.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from a2a_discovery._credentials import Credentials, check_mapping
from a2a_discovery._effects import Flow
from a2a_discovery._flow import Settings
from a2a_discovery._locate import Asking
from a2a_discovery._target import Domain, read_target
from a2a_discovery._urls import split
from a2a_discovery.errors import UsageError

if TYPE_CHECKING:
    from a2a_discovery._catalog.entry import Projection
    from a2a_discovery._catalog.registry import Registry
    from a2a_discovery._catalog.search import Federation
    from a2a_discovery._config import Configured
    from a2a_discovery._listing import Listing

T = TypeVar("T")


class Catalogs:
    """What `Discovery` inherits; its own part fills in the rest."""

    settings: Settings
    _agents: Mapping[str, Configured]
    _credentials: Mapping[str, Credentials]

    def _named(self, target: object) -> object:
        raise NotImplementedError

    async def _run(self, flow: Flow[T]) -> T:
        raise NotImplementedError

    def _asking(self, refresh: bool, credentials: Mapping[str, Credentials], api_key: str | None = None) -> Asking:
        return Asking(
            limits=self.settings.limits,
            mode="refresh" if refresh else "use",
            local=self.settings.network.loopback,
            auth_for=self._auth_for(credentials, api_key),
        )

    def _auth_for(self, credentials: Mapping[str, Credentials], api_key: str | None = None) -> Any:
        if not credentials:
            return None
        from a2a_discovery._listing import auth_by

        return auth_by(credentials, api_key=api_key)

    def catalog(self, target: object, **options: Any) -> Listing:
        """The A2A agents that a catalog lists: ``async for entry in d.catalog("catalog.example")``.

        Args:
            target: a domain, whose ``ard.json``, ``ai-catalog.json`` or linked catalog is read; the URL of a catalog,
                profile or list; a `pathlib.Path`, a mapping or a list; the base URL of a registry.
            options: as for `find`, what is looked for aside.

        Raises:
            UsageError: ``bad-target``, ``bad-config``; the errors of `find` while iterating.
        """
        return self.find(target, **options)

    def find(
        self,
        target: object,
        *,
        identifier: str | None = None,
        skill: str | None = None,
        tag: str | None = None,
        text: str | None = None,
        registry: str | Registry | None = None,
        project: Projection | None = None,
        credentials: Credentials | None = None,
        federation: Federation = "none",
        follow_registries: bool = False,
        limit: int | None = None,
        refresh: bool = False,
    ) -> Listing:
        """The entries of a catalog that fit, by what they say themselves: no card is fetched for it.

        Args:
            target: as for `catalog`.
            identifier: the entry's identifier, exactly.
            skill: id or name of a skill, or a capability, that the entry or the card inside it names.
            tag: a tag of either.
            text: words that all stand in its texts; a registry with a search is asked for them instead.
            registry: what answers at the target: a name of `registries.REGISTRIES`, or a `registries.Registry`.
            project: reads documents, in place of the formats known here.
            credentials: for the host of the target, and no other.
            federation: whether an ARD registry may ask others.
            follow_registries: ask the registries that a catalog names.
            limit: most entries.
            refresh: revalidate what is stored.

        Returns:
            An async iterator of `CatalogEntry`; its ``findings`` say what was left out.

        Raises:
            UsageError: ``bad-target``, ``bad-config``.
            NotFoundError, FetchError, BlockedError, AuthError, CardError: while iterating, and for the catalog itself;
                what fails below it is a finding.
        """
        from a2a_discovery._catalog.search import Query
        from a2a_discovery._listing import Listing, Plan, first_todo

        query = Query(identifier=identifier, skill=skill, tag=tag, text=text, federation=federation)
        target = self._named(target)
        first = first_todo(target, query, registry, network=self.settings.network, names=self._agents)
        bound = {**self._credentials}
        if credentials is not None and first.url:
            bound |= check_mapping({split(first.url).host: credentials})
        plan = Plan(
            run=self._run,
            asking=self._asking(refresh, bound, first.registry.api_key if first.registry is not None else None),
            query=query,
            project=project,
            limit=limit,
            follow_registries=follow_registries,
        )
        return Listing(first, plan)

    async def merchant_keys(self, host: str, *, refresh: bool = False) -> dict[str, Any]:
        """The public signature keys of a merchant's UCP profile: what ``TrustPolicy(keys={host: ...})`` takes.

        UCP publishes them for messages and mandates. That they sign the merchant's card too is the caller's decision.

        Args:
            host: the merchant's domain, or the https URL of its origin.
            refresh: revalidate what is stored; at most once a minute, as UCP asks.

        Returns:
            A JWK Set.

        Raises:
            UsageError: ``bad-target``.
            NotFoundError: ``no-card``: there is no profile, or no usable key in it.
            FetchError, BlockedError, AuthError: it could not be had; a profile never redirects.
            CardError: ``not-json``, ``not-a-catalog``.
        """
        from a2a_discovery._browse import merchant_keys

        place = read_target(host, network=self.settings.network, names=self._agents)
        if not isinstance(place, Domain):
            raise UsageError("bad-target", "a merchant is named by its domain", hint='merchant_keys("shop.example")')
        return await self._run(merchant_keys(place.origin, self._asking(refresh, self._credentials)))
