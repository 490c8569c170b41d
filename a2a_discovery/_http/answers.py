"""From an exchange's answer to a copy as it is stored, and from either to what the core is sent. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from a2a_discovery._effects import CacheState, Fetch, Fetched
from a2a_discovery._http import freshness
from a2a_discovery._http.freshness import Copy
from a2a_discovery._http.keeper import Pending, Stored
from a2a_discovery._urls import without_userinfo

if TYPE_CHECKING:
    from a2a_discovery._http.exchange import Answer, Condition


class Spy:
    """Passes on which credential a hop gets, and remembers whether any got one."""

    def __init__(self, auth_for: Callable[[str], Any] | None) -> None:
        self._auth_for = auth_for
        self.used = False

    def __call__(self, host: str) -> Any:
        auth = None if self._auth_for is None else self._auth_for(host)
        self.used = self.used or auth is not None
        return auth


def sent(fetch: Fetch, headers: freshness.Fields) -> dict[str, str]:
    """The request's fields as they go out, as far as an answer with these fields may depend on them."""
    sent = {"a2a-version": "1.0", "accept-encoding": "gzip"}
    if not {"accept", "user-agent"}.isdisjoint(freshness.members(headers, "vary")):
        from a2a_discovery._http.exchange import ACCEPT, user_agent

        sent |= {"accept": ACCEPT, "user-agent": user_agent()}
    return sent | {name.lower(): value for name, value in fetch.headers if name.lower() != "accept-encoding"}


def copy_of(fetch: Fetch, answer: Answer, headers: freshness.Fields, *, at: float, confirmed: Copy | None) -> Copy:
    """The answer as it will be stored: new, or the copy that a 304 confirmed, with its new fields."""
    vary = headers.get("vary")
    if confirmed is None:
        stored_as, body = None, answer.body
    else:
        # Where it depends on other fields than before, it answers other requests: another entry.
        stored_as, body = confirmed.id if vary == confirmed.headers.get("vary") else None, confirmed.body
    return Copy(
        id=stored_as,
        method=fetch.method,
        requested=without_userinfo(fetch.url),
        url=answer.url,
        redirects=answer.redirects,
        channel=answer.channel,
        at=at,
        varied=freshness.varied(headers, sent(fetch, headers)) if vary else {},
        headers=headers,
        body=body,
    )


def pending(fetch: Fetch, key: str, copy: Copy, lifetime: float, stored: Stored) -> Pending:
    """What to write where the core accepts an answer, by what may be stored of it."""
    if freshness.storable(copy.headers):
        return Pending(key=key, copy=copy, lifetime=lifetime, old=stored.copies, past=stored.past)
    if fetch.kind == "profile" and "*" not in freshness.members(copy.headers, "vary"):
        return Pending(key=key, copy=replace(copy, id=None), lifetime=lifetime, old=stored.copies, aside=True)
    return Pending(key=key, copy=None, lifetime=0.0, old=stored.copies, past=stored.past)


def from_copy(
    fetch: Fetch, copy: Copy, state: CacheState, *, expires_at: float, handle: Pending | None = None
) -> Fetched:
    """What the core is sent for a stored copy."""
    return Fetched(
        requested=fetch.url,
        url=copy.url,
        status=200,
        headers={name: ", ".join(lines) for name, lines in copy.headers.items()},
        body=copy.body,
        channel=copy.channel,
        cache=state,
        fetched_at=copy.at,
        expires_at=expires_at,
        redirects=copy.redirects,
        handle=handle,
    )


def from_answer(
    fetch: Fetch, answer: Answer, at: float, *, expires_at: float, handle: Pending | None = None
) -> Fetched:
    """What the core is sent for an answer from the network."""
    return Fetched(
        requested=fetch.url,
        url=answer.url,
        status=answer.status,
        headers={name: ", ".join(lines) for name, lines in freshness.fields(answer.headers).items()},
        body=answer.body,
        channel=answer.channel,
        cache="network",
        fetched_at=at,
        expires_at=expires_at,
        redirects=answer.redirects,
        handle=handle,
    )


def condition(copy: Copy | None) -> Condition | None:
    """The conditional request that a copy's validators make, where it has any."""
    headers = () if copy is None else freshness.validators(copy.headers)
    if copy is None or not headers:
        return None
    from a2a_discovery._http.exchange import Condition

    return Condition(url=copy.url, headers=headers)
