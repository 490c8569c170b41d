"""Locating: from a target to the answer that holds its card. Pure; the walks of design section 2 as data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from a2a_discovery._card.json import JSON, decode
from a2a_discovery._card.read import looks_like
from a2a_discovery._catalog.entry import CatalogEntry
from a2a_discovery._effects import Fetch, Fetched, Flow, Kind, Mode
from a2a_discovery._finding import Finding
from a2a_discovery._target import Base, Document, Domain
from a2a_discovery._urls import join, split
from a2a_discovery.errors import Attempt, AuthError, CardError, DiscoveryError, FetchError, NotFoundError
from a2a_discovery.policy import Limits

WELL_KNOWN = "/.well-known/agent-card.json"
"""A2A 1.0 section 8.2 and 14.3."""
OLD_WELL_KNOWN = "/.well-known/agent.json"
"""The name of A2A 0.1 and 0.2, which many servers never left."""

_NOT_HERE = frozenset({404, 405, 410})
_JSON_TYPE = re.compile(r"(?:application|text)/(?:[\w.+-]+\+)?json\b", re.IGNORECASE)
_HTML_TYPE = re.compile(r"(?:text/html|application/xhtml\+xml)\b", re.IGNORECASE)
_JSON_TEXT = re.compile(rb"(?:\xef\xbb\xbf)?\s*[{\[]")
_MARKUP = re.compile(rb"(?:\xef\xbb\xbf)?\s*<")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One candidate location of a card."""

    url: str
    kind: Kind = "card"
    exact: bool = False
    """The caller named this very document: an HTML page here is an error, not a miss."""
    endpoint: bool = False
    """The base URL itself, which may be an RPC endpoint: any 4xx but 401, 403 and 429, and JSON that is no card, is a
    miss."""
    names: str | None = None
    """The card counts only if it names this URL as an interface."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """How every fetch of one discovery is made."""

    limits: Limits
    mode: Mode = "use"
    local: bool = False
    auth_for: Callable[[str], Any] | None = None
    principal: str | None = None

    def fetch(self, url: str, kind: Kind = "card") -> Fetch:
        """The `Fetch` of a document, with the limit of its kind."""
        limits = {"catalog": self.limits.catalog_bytes, "profile": self.limits.profile_bytes}
        return Fetch(
            url=url,
            kind=kind,
            limit=limits.get(kind, self.limits.card_bytes),
            local=self.local,
            mode=self.mode,
            auth_for=self.auth_for,
            principal=self.principal,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """Where the walk ended: an answer, decoded."""

    place: Place
    answer: Fetched
    document: JSON
    attempts: tuple[Attempt, ...] = ()
    failure: DiscoveryError | None = None
    """What a stored copy stands in for."""
    entry: CatalogEntry | None = None
    """The entry of a catalog that led here."""
    inline: bool = False
    """The card stood in that catalog, whose answer this is."""
    location: str | None = None
    """What the card's past is remembered by, where that is not the URL asked for."""
    walked_from: str | None = None
    """The host whose own catalog or profile led here, where the target was that domain."""
    expires_at: float = float("inf")
    """When the catalog that led here stops being fresh."""
    findings: tuple[Finding, ...] = ()
    size: int | None = None
    """Bytes of the card, where they are not those of the answer."""


LastStage = Callable[[Asking, NotFoundError], Flow[Located]]
"""What a walk tries where none of its places has a card, given the error of the walk so far."""


def places(target: Domain | Document | Base) -> tuple[Place, ...]:
    """The places of a walk, in order.

    A domain's walk goes on, where none of these is here, to ``/.well-known/ucp``, ``/.well-known/ard.json`` and
    ``/.well-known/ai-catalog.json``, asked for together: that stage belongs to the catalogs.
    """
    if isinstance(target, Document):
        # A profile has rules of its own: no redirect, and a floor for its lifetime.
        kind: Kind = "profile" if target.url.endswith("/.well-known/ucp") else "card"
        return (Place(url=target.url, kind=kind, exact=True),)
    if isinstance(target, Domain):
        return (Place(url=target.origin + WELL_KNOWN), Place(url=target.origin + OLD_WELL_KNOWN))
    origin = split(target.url).origin
    return (
        # The path is kept (field practice of most servers), though RFC 8615 knows the root alone.
        Place(url=target.url.rstrip("/") + WELL_KNOWN),
        Place(url=target.url, endpoint=True),
        Place(url=origin + WELL_KNOWN, names=target.url),
        Place(url=origin + OLD_WELL_KNOWN, names=target.url),
    )


def locate(
    target: Domain | Document | Base,
    asking: Asking,
    *,
    last: LastStage | None = None,
) -> Flow[Located]:
    """Walk the places until one answers with a document.

    Args:
        target: where to begin.
        asking: how every place is asked.
        last: what else may be tried where none of the places has a card.

    Raises:
        NotFoundError: ``no-card``, with every URL tried.
        AuthError: ``auth-required``, ``forbidden``.
        FetchError, BlockedError: what ended the walk.
        CardError: ``not-json``, ``not-a-card``.
    """
    attempts: list[Attempt] = []
    changed: list[Place] = []
    for place in places(target):
        try:
            answer: Fetched = yield asking.fetch(place.url, place.kind)
            found = _judge(place, answer, asking.limits)
        except DiscoveryError as error:
            _note(error, attempts, place)
            good = yield from stand_in(target, place, asking, error, attempts, last=last)
            if good is None:
                raise
            return good
        if isinstance(found, _Here):
            return Located(place=place, answer=answer, document=found.document, attempts=tuple(attempts))
        attempts.append(found)
        if answer.status == 200:
            changed.append(place)
    nothing = nothing_found(attempts, private=asking.auth_for is None)
    try:
        if last is not None:
            return (yield from last(asking, nothing))
    except NotFoundError as error:
        if error.code != "no-card":
            raise
        nothing = error
    for place in changed:  # where a good card was once, and now there is a page or another document
        good = yield from last_known_good(place, asking, nothing, attempts)
        if good is not None:
            return good
    raise nothing


def stand_in(
    target: Domain | Document | Base,
    place: Place,
    asking: Asking,
    error: DiscoveryError,
    attempts: Sequence[Attempt] = (),
    *,
    last: LastStage | None = None,
) -> Flow[Located | None]:
    """What was last known good at a target, where it may stand in for a walk that ends in a failure.

    The card may have been found further on than where the walk ends now: an outage is no other at the first place.

    Args:
        target: where the walk began.
        place: where it ends.
        asking: how its places were asked.
        error: why it ends.
        attempts: the places tried before.
        last: what comes after the places.
    """
    if not passing(error):
        return None
    walk = places(target)
    for each in walk[walk.index(place) :]:
        good = yield from last_known_good(each, asking, error, attempts)
        if good is not None:
            return good
    if last is None or asking.mode == "stored":
        return None
    try:
        found = yield from last(replace(asking, mode="stored"), nothing_found(list(attempts), private=False))
    except DiscoveryError:
        return None
    return replace(found, answer=replace(found.answer, cache="stale"), attempts=tuple(attempts), failure=error)


def last_known_good(
    place: Place, asking: Asking, error: DiscoveryError, attempts: Sequence[Attempt] = ()
) -> Flow[Located | None]:
    """The stored copy of a place that now fails, where it may stand in for the failure (RFC 9111 section 4.2.4).

    Args:
        place: what failed.
        asking: how it was asked for.
        error: why it failed.
        attempts: the places tried before.
    """
    if not passing(error):
        return None
    try:
        answer: Fetched = yield replace(asking, mode="stored").fetch(place.url, place.kind)
        found = _judge(place, answer, asking.limits)
    except DiscoveryError:
        return None
    if not isinstance(found, _Here):
        return None
    stale = replace(answer, cache="stale")
    return Located(place=place, answer=stale, document=found.document, attempts=tuple(attempts), failure=error)


def passing(error: DiscoveryError) -> bool:
    """Whether a failure says nothing against the copy we have: an outage, or an answer that is no card."""
    if isinstance(error, FetchError):
        busy = error.status is not None and (error.status >= 500 or error.status == 429)
        return error.code in _OUTAGES or (error.code == "http-status" and busy)
    return isinstance(error, (CardError, NotFoundError))


_OUTAGES = frozenset({"connect", "timeout", "dns", "protocol", "too-large"})


@dataclass(frozen=True, slots=True)
class _Here:
    document: JSON


def _judge(place: Place, answer: Fetched, limits: Limits) -> _Here | Attempt:
    miss = _miss(place, answer)
    if miss is not None:
        return Attempt(url=place.url, status=answer.status, reason=miss)
    check_status(answer)
    try:
        document = decode(answer.body, depth=limits.depth)
    except CardError as error:
        if place.endpoint:
            return Attempt(url=place.url, status=answer.status, reason="not JSON")
        raise error.at(step="read", url=answer.url) from None
    shape = looks_like(document)
    if place.endpoint and shape != "card":
        return Attempt(url=place.url, status=answer.status, reason="JSON that is no card")
    if place.names is not None and not _names(document, place.names, base=answer.url):
        return Attempt(url=place.url, status=answer.status, reason="a card of another agent")
    return _Here(document)


def _miss(place: Place, answer: Fetched) -> str | None:
    """Why this place is "not here", or ``None``."""
    if answer.status in _NOT_HERE:
        return {404: "not found", 405: "method not allowed", 410: "gone"}[answer.status]
    if place.endpoint and 400 <= answer.status < 500 and answer.status not in (401, 403, 429):
        return "refused"
    if not place.exact and 200 <= answer.status < 300 and is_page(answer):
        return "an HTML page"
    return None


def is_page(answer: Fetched) -> bool:
    """Whether an answer is an HTML page rather than a document: by its text first, since types are often wrong."""
    kind = answer.headers.get("content-type", "")
    if _MARKUP.match(answer.body):
        return not _JSON_TYPE.match(kind)
    return bool(_HTML_TYPE.match(kind)) and not _JSON_TEXT.match(answer.body)


def check_status(answer: Fetched) -> None:
    """Raise what a status other than 200 means, for a document that was asked for.

    Raises:
        AuthError: ``auth-required``, ``forbidden``.
        FetchError: ``http-status``.
    """
    status, url = answer.status, answer.url
    if status == 200:
        return
    if status == 401:
        raise AuthError(
            "auth-required",
            f"{url} wants authentication",
            status=status,
            url=url,
            step="fetch",
            hint=f'bind credentials to the host: credentials={{"{split(url).host}": Credentials(bearer=...)}}',
        )
    if status == 403:
        raise AuthError(
            "forbidden",
            f"{url} refused us",
            status=status,
            url=url,
            step="fetch",
            hint="a credential without permission, or a web firewall that dislikes the client",
        )
    raise FetchError(
        "http-status",
        f"{url} answered {status}",
        status=status,
        url=url,
        step="fetch",
        retry_after=answer.retry_after,
        hint="try again later" if status >= 500 or status == 429 else None,
    )


def _names(document: JSON, url: str, *, base: str) -> bool:
    """Whether a card, of whatever generation, names a URL as an interface, but for a final slash.

    It may spell it otherwise: relative to its own URL, in another case, with the default port.
    """
    if not isinstance(document, Mapping):
        return False
    named = [document.get("url")]
    for member in ("supportedInterfaces", "supported_interfaces", "additionalInterfaces", "additional_interfaces"):
        entries = document.get(member)
        if isinstance(entries, list):
            named += [entry.get("url") for entry in entries if isinstance(entry, Mapping)]
    wanted = _meant(url, base)
    return any(isinstance(each, str) and _meant(each, base) == wanted for each in named)


def _meant(url: str, base: str) -> str:
    try:
        return split(join(base, url)).normal.rstrip("/")
    except ValueError:
        return url


def _note(error: DiscoveryError, attempts: list[Attempt], place: Place) -> None:
    error.at(step="fetch", url=place.url)
    if isinstance(error, (AuthError, FetchError)):
        error.attempts = (
            *attempts,
            Attempt(url=place.url, status=error.status, reason="" if error.status else error.code),
        )


def nothing_found(attempts: list[Attempt], *, private: bool) -> NotFoundError:
    """The error of a walk that found no card."""
    tried = ", ".join(map(str, attempts))
    hint = None
    if private and any(attempt.status == 404 for attempt in attempts):
        hint = "the card may be private: some hosts answer 404 to strangers; bind credentials to the host"
    elif any(attempt.status == 405 for attempt in attempts):
        hint = "a 405 looks like the agent's endpoint: give the URL of its card"
    return NotFoundError(
        "no-card",
        f"no Agent Card was found; tried {tried}",
        attempts=tuple(attempts),
        url=attempts[0].url if attempts else None,
        step="locate",
        hint=hint,
    )
