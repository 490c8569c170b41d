"""The arguments of a `Discovery`, checked, and named by one key: agents are reused only under the very same ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

from a2a_discovery._http.fingerprint import fingerprint, name_of
from a2a_discovery._identity import identity
from a2a_discovery.errors import UsageError

if TYPE_CHECKING:
    from a2a_discovery._credentials import Credentials
    from a2a_discovery._flow import Settings


def texts(name: str, values: Any, *, empty: bool = False) -> tuple[str, ...]:
    """A sequence of texts, as a tuple.

    Raises:
        UsageError: ``bad-config``.
    """
    if isinstance(values, str) or not all(isinstance(each, str) for each in values):
        raise UsageError("bad-config", f"{name} takes a sequence of texts", hint=f'write {name}=("...",)')
    if not values and not empty:
        raise UsageError("bad-config", f"{name} must not be empty", hint="leave it out for the default")
    return tuple(values)


def rules_of(settings: Settings) -> tuple[Any, ...]:
    """What a card is judged by, as values whose ``repr`` tells them apart: a configured name may have its own."""
    policy = settings.trust
    return (
        (policy.require, policy.keys, policy.jku_hosts, sorted(policy.algorithms), policy.forms, policy.unverifiable),
        (policy.required_kids, policy.same_site_interfaces, policy.continuity, policy.unsafe_reason),
        name_of(policy.check),
        (settings.bindings, settings.versions, settings.extensions, settings.strict, settings.replace_local_hosts),
    )


def key_of(
    settings: Settings,
    *,
    transport: object,
    credentials: Mapping[str, Credentials],
    agents: Mapping[str, object],
    clock: Callable[[], float],
) -> str:
    """Every argument that can change an answer, as one text; secrets go in by a keyed hash alone."""
    network = settings.network
    parts = (
        fingerprint(network, transport),
        (network.max_redirects, network.timeout),
        *rules_of(settings),
        astuple(settings.limits),
        sorted((host, each.principal) for host, each in credentials.items()),
        sorted((name, _told_apart(target)) for name, target in agents.items()),
        name_of(clock),
    )
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


def _told_apart(target: object) -> str:
    return repr(target) if isinstance(target, (str, Path)) else identity(target)
