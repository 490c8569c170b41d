"""How long an answer may be used, and for whom: RFC 9111 as a private cache reads it, with our caps. Pure.

Nothing here raises, whatever a server writes into its header fields: what can't be read counts as "no longer fresh",
never as "fresh for longer".
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

from a2a_discovery._effects import http_date

if TYPE_CHECKING:
    from a2a_discovery._effects import Channel, Kind
    from a2a_discovery.policy import Limits

Fields = Mapping[str, Sequence[str]]
"""Header fields as received: lower-case name → the values of its lines, in order."""

STALE = 86_400.0
"""Seconds past its expiry that a copy may stand in for a failing origin: a day of outage, no more."""
RETAINED = 7 * 86_400.0
"""Seconds past its expiry that a copy stays stored: its validators still save a body when its owner comes back."""
_FOREVER = 2**31
"""What RFC 9111 section 1.2.2 makes of a number of seconds too large to hold."""
_LONG = 200
"""Characters of a ``Cache-Control`` whose meaning is remembered: a stranger's may fill a header."""
_VALIDATOR = 4096
"""Characters of a validator we are ready to send back. Longer ones would only fill our request's header."""

# A list member ends at a comma outside quotes (RFC 9110 section 5.6.1).
_MEMBER = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*"?)+', re.DOTALL)
_SECONDS = re.compile(r"[0-9]+\Z", re.ASCII)
_SENDABLE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?\Z")
# They describe one connection (RFC 9110 section 7.6.1), or a body as it travelled: we hold it inflated. A cookie is
# for one client, and we send none.
_NOT_KEPT = frozenset(
    (
        "connection",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "proxy-connection",
        "proxy-authenticate",
        "proxy-authentication-info",
        "proxy-authorization",
        "content-encoding",
        "content-length",
        "set-cookie",
    )
)
# A 304 says nothing about these, whatever it carries (RFC 9111 section 3.2): the body is the stored one.
_OF_THE_BODY = frozenset(("content-encoding", "content-length", "content-range", "content-type"))
# True only for the message that carried them: an old Age must not count against a new arrival.
_OF_THE_ARRIVAL = frozenset(("age", "date"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A 200 answer as it is stored, with what is needed to judge it later."""

    id: UUID | None = None
    """Its name in the store; ``None`` until it is stored."""
    method: str = "GET"
    requested: str
    url: str
    """The URL that answered: validators are only good there."""
    redirects: tuple[str, ...] = ()
    channel: Channel
    at: float
    """Seconds since the epoch, by our clock: when the origin last vouched for it."""
    varied: Mapping[str, str] = field(default_factory=dict)
    """The request's fields that ``Vary`` names, as they were sent."""
    headers: Fields
    body: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Directives:
    """What ``Cache-Control`` of an answer asks of a private cache."""

    max_age: float | None = None
    no_cache: bool = False
    no_store: bool = False
    must_revalidate: bool = False
    stale_if_error: float | None = None
    stale_while_revalidate: float | None = None


def fields(lines: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Header lines, by name."""
    grouped: dict[str, list[str]] = {}
    for name, value in lines:
        grouped.setdefault(name, []).append(value)
    return grouped


def members(headers: Fields, name: str) -> list[str]:
    """The members of a list-valued field, lower case, over all its lines."""
    found: list[str] = []
    for value in headers.get(name, ()):
        parts = _MEMBER.findall(value) if '"' in value else value.split(",")
        found += [part for each in parts if (part := each.strip().lower())]
    return found


def directives(headers: Fields) -> Directives:
    """Read ``Cache-Control``; without it, ``Pragma: no-cache`` from servers that old.

    The qualified form ``no-cache="field"`` counts as the plain one, which RFC 9111 section 5.2.2.4 lets a cache do.
    ``s-maxage`` and ``proxy-revalidate`` speak to shared caches, and ``private`` means us.
    """
    lines = tuple(headers.get("cache-control", ())), tuple(headers.get("pragma", ()))
    # Each answer is asked this several times, and most servers say the same few things.
    return _read_before(*lines) if sum(map(len, lines[0] + lines[1])) <= _LONG else _read(*lines)


def _read(cache_control: tuple[str, ...], pragma: tuple[str, ...]) -> Directives:
    headers = {"cache-control": cache_control, "pragma": pragma}
    found: dict[str, list[str]] = {}
    for member in members(headers, "cache-control"):
        name, _, value = member.partition("=")
        found.setdefault(name.rstrip(), []).append(value.strip().strip('"'))
    old = not found and "no-cache" in members(headers, "pragma")
    return Directives(
        max_age=_shortest(found.get("max-age")),
        no_cache="no-cache" in found or old,
        no_store="no-store" in found,
        must_revalidate="must-revalidate" in found,
        stale_if_error=_shortest(found.get("stale-if-error")),
        stale_while_revalidate=_shortest(found.get("stale-while-revalidate")),
    )


_read_before = functools.lru_cache(maxsize=256)(_read)


def lifetime(headers: Fields, *, at: float, kind: Kind, loopback: bool, limits: Limits) -> float:
    """Seconds an answer stays fresh after its arrival ``at``.

    ``max-age``, else ``Expires`` minus ``Date``, each less ``Age``; else `Limits.default_ttl`, and nothing on
    loopback. A validator alone says how to ask again, not when: such an answer has the default too.
    """
    asked = directives(headers)
    cap = min(limits.max_ttl, limits.keys_ttl) if kind == "keys" else limits.max_ttl
    given = _given(headers, asked, at)
    if given is None and loopback:
        return 0.0
    seconds = limits.default_ttl if given is None else given
    if kind == "profile":
        seconds = max(seconds, limits.profile_ttl)
    return max(0.0, min(seconds, cap))


def _given(headers: Fields, asked: Directives, at: float) -> float | None:
    """The lifetime the origin gave, or ``None`` where it gave none."""
    if asked.no_store or asked.no_cache:
        return 0.0
    if asked.max_age is not None:
        return asked.max_age - _age(headers)
    if not headers.get("expires"):
        return None
    until = http_date(headers["expires"][0])
    if until is None:
        return 0.0
    date = http_date(headers["date"][0]) if headers.get("date") else None
    return until - (at if date is None else date) - _age(headers)


def storable(headers: Fields) -> bool:
    """Whether an answer may be stored, and could ever be found again."""
    return not directives(headers).no_store and "*" not in members(headers, "vary")


def stale_until(headers: Fields, *, expires_at: float) -> float:
    """Until when a copy may stand in for a failing origin, seconds since the epoch.

    ``no-cache`` and ``must-revalidate`` forbid it (RFC 9111 section 4.2.4); ``stale-if-error`` may shorten our day.
    """
    asked = directives(headers)
    if asked.no_cache or asked.no_store or asked.must_revalidate:
        return expires_at
    return expires_at + (STALE if asked.stale_if_error is None else min(STALE, asked.stale_if_error))


def kept(headers: Fields) -> Fields:
    """The fields of an answer that are stored with it (RFC 9111 section 3.1)."""
    named = _NOT_KEPT.union(members(headers, "connection"))
    return {name: lines for name, lines in headers.items() if name not in named}


def refreshed(headers: Fields, news: Fields) -> Fields:
    """The stored fields after a 304: its own replace those of the same name (RFC 9111 section 3.2)."""
    fresh = {name: lines for name, lines in kept(news).items() if name not in _OF_THE_BODY}
    return {name: lines for name, lines in headers.items() if name not in _OF_THE_ARRIVAL} | fresh


def validators(headers: Fields) -> tuple[tuple[str, str], ...]:
    """The conditional request's fields: exactly the stored validators, as they were written."""
    pairs = (("if-none-match", "etag"), ("if-modified-since", "last-modified"))
    found = ((name, headers.get(field, ())) for name, field in pairs)
    return tuple((name, tags[0]) for name, tags in found if len(tags) == 1 and _sendable(tags[0]))


def confirms(news: Fields, headers: Fields) -> bool:
    """Whether a 304 speaks of the stored answer: its ``ETag``, where it has one, must be ours (RFC 9111 4.3.4).

    The comparison is the weak one: some servers answer the strong form of a weak tag.
    """
    named, ours = news.get("etag"), headers.get("etag")
    return not named or not ours or named[0].removeprefix("W/") == ours[0].removeprefix("W/")


def varied(headers: Fields, sent: Mapping[str, str]) -> dict[str, str]:
    """The fields of the request that the answer depends on; one that was not sent is not in it."""
    return {name: sent[name] for name in members(headers, "vary") if name in sent}


def answers(copy: Copy, sent: Mapping[str, str]) -> bool:
    """Whether a copy answers a request with these fields (RFC 9111 section 4.1)."""
    names = members(copy.headers, "vary")
    return "*" not in names and all(copy.varied.get(name) == sent.get(name) for name in names)


def _sendable(tag: str) -> bool:
    return len(tag) <= _VALIDATOR and _SENDABLE.match(tag) is not None


def _shortest(found: list[str] | None) -> float | None:
    """The least of several numbers of seconds; one that can't be read is the least of all."""
    return None if found is None else min(_seconds(value) or 0.0 for value in found)


def _seconds(text: str) -> float | None:
    text = text.strip()
    if not _SECONDS.match(text):
        return None
    return float(_FOREVER if len(text) > 10 else min(int(text), _FOREVER))


def _age(headers: Fields) -> float:
    ages = members(headers, "age")
    return (_seconds(ages[0]) or 0.0) if ages else 0.0
