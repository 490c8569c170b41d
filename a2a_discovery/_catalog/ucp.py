"""UCP business profiles, ``/.well-known/ucp``: the card URLs and the keys that a merchant publishes.

All published shapes: 2026-01-11 (an object per service, a member per transport) and the arrays since 2026-01-23.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from a2a_discovery._catalog.entry import CatalogEntry, Follow, Item, Skipped, rows, text_of
from a2a_discovery._catalog.urls import absolute
from a2a_discovery._finding import Finding, pointer

WELL_KNOWN = "/.well-known/ucp"

_LAST_LENIENT = "2026-04-08"
"""The last version whose own examples mix versions in one profile; later ones say such a binding is absent."""
_FOLLOWED = 4
"""Older profiles of one merchant that are asked for: there have been four versions."""
_PRIVATE = frozenset(("d", "p", "q", "dp", "dq", "qi", "oth", "k"))


def project_profile(document: Mapping[str, Any], url: str) -> Iterator[Item]:
    """The A2A bindings of a profile, each an entry named by its service; where there is none, its older versions."""
    ucp = document["ucp"]
    version = text_of(ucp.get("version")) or ""
    seen: set[str] = set()
    services = ucp.get("services")
    for service, binding, at in _bindings(services if isinstance(services, Mapping) else {}):
        if service.startswith("dev.ucp.") and version and binding.get("version") not in (version, None):
            note = f"the binding is of another version than the profile, {version[:20]}"
            if version > _LAST_LENIENT:
                yield Skipped(code="other-version", pointer=at, message=note)
                continue
            yield Finding(code="other-version", severity="warning", pointer=at, message=note)
        place = absolute(binding.get("endpoint"), url)
        if place is None:
            yield Skipped(code="bad-url", pointer=at + "/endpoint", message="its endpoint is no http or https URL")
        elif place not in seen:
            seen.add(place)
            yield CatalogEntry(
                identifier=service,
                source=url,
                url=place,
                version=text_of(binding.get("version")) or version or None,
                raw=binding,
            )
    if not seen:
        yield from _older(ucp.get("supported_versions"), url)


def _bindings(services: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], str]]:
    # The services of the specification come first: they are what a merchant's own name means.
    for service in sorted(services, key=lambda name: not name.startswith("dev.ucp.")):
        value, at = services[service], pointer("ucp", "services", service)
        if isinstance(value, Mapping):
            binding = value.get("a2a")
            if isinstance(binding, Mapping):
                yield service, {"version": value.get("version"), **binding}, at + "/a2a"
            continue
        for index, binding in enumerate(rows(value) or ()):
            if isinstance(binding, Mapping) and binding.get("transport") == "a2a":
                yield service, binding, f"{at}/{index}"


def _older(supported: object, url: str) -> Iterator[Item]:
    if not isinstance(supported, Mapping):
        return
    for version in sorted(supported, reverse=True)[:_FOLLOWED]:
        place = absolute(supported[version], url)
        if place is not None:
            at = pointer("ucp", "supported_versions", version)
            yield Follow(kind="profile", url=place, pointer=at, version=version)


def is_leaf(document: Any, version: str) -> bool:
    """Whether a followed profile is the one that was meant: of that very version, and naming no others."""
    ucp = document.get("ucp") if isinstance(document, Mapping) else None
    return isinstance(ucp, Mapping) and ucp.get("version") == version and "supported_versions" not in ucp


def profile_keys(document: Any) -> tuple[Mapping[str, Any], ...]:
    """The public signature keys of a profile, as JWKs: ``keys``, or ``signing_keys`` before it.

    Left out, one by one: keys for encryption, keys that do not verify, those with a private member (whoever published
    it has lost it), and those that are no JWK, such as one that carries PEM.
    """
    if not isinstance(document, Mapping) or not isinstance(document.get("ucp"), Mapping):
        return ()
    return tuple(key for name in ("keys", "signing_keys") for key in rows(document.get(name)) or () if _is_usable(key))


_MEMBERS = {"EC": ("crv", "x", "y"), "OKP": ("crv", "x"), "RSA": ("n", "e")}


def _is_usable(key: object) -> bool:
    if not isinstance(key, Mapping) or not isinstance(key.get("kty"), str) or not _PRIVATE.isdisjoint(key):
        return False
    if not all(text_of(key.get(name)) for name in _MEMBERS.get(key["kty"], ("",))):
        return False
    operations = key.get("key_ops")
    return key.get("use") in (None, "sig") and (operations is None or "verify" in (rows(operations) or ()))
