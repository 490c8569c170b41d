"""JWK Sets at the places a card may have its keys: fetched together, kept when good, and when not, why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from a2a_discovery._effects import Fetch, Fetched, Flow, Keep, Mode
from a2a_discovery._trust.keys import Jwk, read_set
from a2a_discovery._trust.places import Place, Provenance, refused
from a2a_discovery.errors import DiscoveryError, FetchError
from a2a_discovery.policy import Limits

_PASSING = frozenset(("connect", "timeout", "dns", "protocol", "too-large"))
"""Failures after which keys fetched before may still be used; a refusal by the publisher is none of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysAt:
    """What a place gave."""

    place: Place
    keys: tuple[Jwk, ...] | None = None
    """``None`` where it gave no JWK Set."""
    problem: str = ""
    """Why it gave none, for a person."""
    trusted: bool = True
    """Whether the way its answer came keeps to the rules of the place."""
    passing: bool = False
    """The failure may pass, so that keys fetched before may still be used."""
    answer: Fetched | None = None


def load(
    places: Sequence[Place], provenance: Provenance, *, limits: Limits, now: float, mode: Mode = "use"
) -> Flow[dict[str, KeysAt]]:
    """Fetch JWK Sets together, keep the good ones, and fall back on those fetched before.

    Args:
        places: where; each is fetched once.
        provenance: how the card came that names them.
        limits: how much is read, and how old keys may be that are used while refreshes fail.
        now: seconds since the epoch.
        mode: ``use`` the cache, or ``refresh``, after which there is nothing to fall back on that was not tried.

    Returns:
        URL of the place → what it gave.
    """
    if not places:
        return {}
    found = yield from _fetch(places, provenance, limits, mode)
    failed = [each.place for each in found if each.passing] if mode == "use" else []
    before = (yield from _fetch(failed, provenance, limits, "stored")) if failed else []
    usable = {
        each.place.url: each
        for each in before
        if each.keys is not None and each.answer is not None and now - each.answer.fetched_at <= limits.stale_keys
    }
    for each in found:
        if each.keys is not None and each.answer is not None and each.answer.cache in ("network", "revalidated"):
            yield Keep(answer=each.answer)
    return {each.place.url: usable.get(each.place.url, each) for each in found}


def _fetch(places: Sequence[Place], provenance: Provenance, limits: Limits, mode: Mode) -> Flow[list[KeysAt]]:
    local = provenance.loopback
    answers: Sequence[Fetched | DiscoveryError] = yield tuple(
        Fetch(url=place.url, kind="keys", limit=limits.keys_bytes, local=local, mode=mode) for place in places
    )
    return [_read(place, answer, provenance, limits) for place, answer in zip(places, answers, strict=True)]


def _read(place: Place, answer: Fetched | DiscoveryError, provenance: Provenance, limits: Limits) -> KeysAt:
    if isinstance(answer, DiscoveryError):
        passing = isinstance(answer, FetchError) and answer.code in _PASSING
        problem = f"its jku could not be fetched: {answer.message} [{answer.code}]"
        return KeysAt(place=place, problem=problem, passing=passing)
    untrusted = refused(place, answer, provenance)
    if untrusted is not None:
        return KeysAt(place=place, problem=untrusted, trusted=False)
    if answer.status != 200:
        passing = answer.status == 429 or answer.status >= 500
        return KeysAt(place=place, problem=f"its jku answered {answer.status}", passing=passing)
    read = read_set(answer.body, limits.depth)
    if read.problem:
        return KeysAt(place=place, problem=f"its jku is of no use: {read.problem}", passing=True)
    return KeysAt(place=place, keys=read.keys, answer=answer)
