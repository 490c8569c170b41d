"""``a2a-discover trust pin``: from trust on first use to a key that the caller chose, in one command."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from a2a_discovery import Agent, Discovery, DiscoveryError, Limits, SignatureCheck, Trust, TrustPolicy, UsageError
from a2a_discovery._cli.cache import day, tell
from a2a_discovery._cli.exits import Exit
from a2a_discovery._cli.options import Flags, discovery_arguments, read_place
from a2a_discovery._cli.pinfile import read, with_entry, write
from a2a_discovery._cli.show import fail
from a2a_discovery._cli.text import Row, clean, rows, show
from a2a_discovery._effects import Fetch
from a2a_discovery._hosts import is_loopback
from a2a_discovery._trust import keys as jwk

if TYPE_CHECKING:
    from a2a_discovery import NetworkPolicy

_PLACES = ("target", "card_url", "base_url", "card_file", "card", "ucp", "catalog", "identifier")
_PUBLIC = ("kty", "crv", "x", "y", "n", "e", "kid", "alg", "use", "nbf", "exp")
"""What is kept of a key: its material, what tells it apart, and what its publisher says it is for, and for how long."""

KeyOf = tuple[SignatureCheck, Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """An agent that can be pinned: verified just now, with the keys that did it."""

    name: str
    agent: Agent
    keys: tuple[KeyOf, ...]
    entry: Mapping[str, Any]
    config: Path
    replaces: bool


def pin(flags: Flags, *, config: Path, name: str | None, yes: bool) -> Exit:
    """Verify, show who signs, ask, and write the entry."""
    try:
        found = asyncio.run(_find(flags, config, name or flags.target))
        notes = list(_notes(found))
        text = with_entry(found.config, found.name, found.entry, notes)
        if not flags.json:
            show(Console(highlight=False), _describe(found))
        _confirm(yes=yes, seen=not flags.json)
        agent = asyncio.run(_pinned(flags, found))
        write(config, text)
    except DiscoveryError as error:
        return fail(error, flags=flags, as_data=flags.json)
    if flags.json:
        tell(_data(found, agent))
    else:
        show(Console(highlight=False), _done(found, agent))
    return Exit.OK


async def _find(flags: Flags, config: Path, name: str) -> Pin:
    _, document = read(config)
    table = _as_table(document.get("agents", {}).get(name))
    arguments = {**discovery_arguments(replace(flags, require=max(flags.require, Trust.SIGNED), config=None))}
    place = _placed(table, config.parent)
    again = flags.target == name and bool(place)  # pinned before: its target is in the file
    if again:
        arguments["agents"] = {name: place}
    target = flags.target if again else read_place(flags)
    async with Discovery(**arguments) as discovery:
        agent = await discovery.discover(target, refresh=True)
    keys = await _keys(agent, arguments)
    own = {key: value for key, value in table.items() if again or key not in _PLACES}
    where = {} if again else _place(target)
    pinned = {host: {"keys": [dict(key) for _, key in keys]} for host in dict.fromkeys(agent.trust.hosts)}
    trust = {**_as_table(own.get("trust")), "require": Trust.PINNED.name, "keys": pinned}
    return Pin(
        name=name,
        agent=agent,
        keys=keys,
        entry={**where, **own, "trust": trust},
        config=config,
        replaces=bool(table),
    )


def _as_table(entry: Any) -> dict[str, Any]:
    if isinstance(entry, str):
        return {"target": entry}
    return dict(entry) if isinstance(entry, Mapping) else {}


def _placed(table: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Where an entry says its agent is, and nothing else of it."""
    place = {key: value for key, value in table.items() if key in _PLACES}
    if isinstance(place.get("card_file"), str):
        place["card_file"] = folder / place["card_file"]
    return place


def _place(target: str | Path) -> dict[str, str]:
    return {"card_file": str(target.resolve())} if isinstance(target, Path) else {"target": target}


async def _keys(agent: Agent, arguments: Mapping[str, Any]) -> tuple[KeyOf, ...]:
    """The public keys that verified, each found again by the thumbprint that the report names.

    Raises:
        UsageError: ``bad-config``, where a key is not to be found any more.
        DiscoveryError: its set could not be fetched again.
    """
    policy: TrustPolicy = arguments["trust"]
    own = [key for keys in policy.keys.values() for key in keys]
    verified = [each for each in agent.trust.signatures if each.status == "verified" and each.interfaces_covered]
    found = []
    for check in verified:
        candidates = own if check.key_source == "pinned" else await _published(check, agent, arguments)
        key = next((each for each in candidates if jwk.thumbprint(each) == check.thumbprint), None)
        if key is not None:
            found.append((check, {name: key[name] for name in _PUBLIC if name in key and _is_plain(key[name])}))
    if not found:
        message = "the key that verified the card is not published any more"
        raise UsageError("bad-config", message, hint="ask again: the publisher may be changing keys")
    return tuple(found)


def _is_plain(value: object) -> bool:
    return isinstance(value, (str, int, float)) and str(value).isprintable()


async def _published(check: SignatureCheck, agent: Agent, arguments: Mapping[str, Any]) -> tuple[jwk.Jwk, ...]:
    from a2a_discovery._http.fetcher import Fetcher

    network: NetworkPolicy = arguments["network"]
    limits = Limits()
    authority = agent.trust.authority
    local = network.loopback and (authority is None or is_loopback(authority))
    fetcher = Fetcher(network=network, limits=limits, cache=arguments["cache"])
    try:
        # Just fetched, so this is an answer from the store, where there is one.
        answer = await fetcher.fetch(Fetch(url=check.jku or "", kind="keys", limit=limits.keys_bytes, local=local))
    finally:
        await fetcher.aclose()
    return jwk.read_set(answer.body, limits.depth).keys


def _confirm(*, yes: bool, seen: bool) -> None:
    if yes:
        return
    if not seen or not sys.stdin.isatty():
        raise UsageError("bad-config", "nobody is here to confirm whose key this is", hint="--yes")
    if not typer.confirm("Is this the key that the publisher says is theirs?", err=True):
        raise typer.Exit(int(Exit.FAILURE))


async def _pinned(flags: Flags, found: Pin) -> Agent:
    """The agent by its new entry: from here on its location is remembered as pinned."""
    placed = _placed(found.entry, found.config.parent)
    entry = {**placed, "trust": {"require": Trust.PINNED.name, "keys": found.entry["trust"]["keys"]}}
    arguments = {**discovery_arguments(replace(flags, config=None)), "agents": {found.name: entry}}
    async with Discovery(**arguments) as discovery:
        return await discovery.discover(found.name)


# What is said


def _notes(found: Pin) -> Iterator[str]:
    report = found.agent.trust
    yield f"On {day(time.time())} {_who(report.authority)} signed its card with:"
    for check, _ in found.keys:
        yield f"  {check.alg} kid {check.kid} thumbprint {check.thumbprint} from {check.jku or 'the keys given'}"


def _who(authority: str | None) -> str:
    return authority or "whoever handed it over"


def _describe(found: Pin) -> Iterator[Row]:
    report = found.agent.trust
    yield Row("agent", f"{clean(found.agent.card.name, 100)} {clean(found.agent.card.version, 40)}", "bold")
    yield Row("card", clean(found.agent.source.url or found.agent.source.requested, 400))
    yield Row("signed by", clean(_who(report.authority), 300), "bold")
    for check, _ in found.keys:
        yield Row("key", f"{clean(check.kid, 100)} ({check.alg})")
        yield Row("thumbprint", str(check.thumbprint), "bold")
        yield Row("key from", clean(f"{check.key_source} {check.jku or ''}", 400))
        yield Row("form", str(check.form))
    yield from rows("unprotected", report.uncovered)
    yield from rows("found", report.findings, style="yellow")
    yield Row("writes", clean(f"{'again ' if found.replaces else ''}agents.{found.name} in {found.config}", 400))


def _done(found: Pin, agent: Agent) -> Iterator[Row]:
    yield Row("pinned", clean(f"{found.name} is {agent.trust.level.name} from now on", 300), "green")
    yield Row("", clean(f'Discovery.from_config("{found.config}").discover("{found.name}")', 400))
    yield Row("", "a2a-discover get --config does the same; another key is refused until it is pinned again")


def _data(found: Pin, agent: Agent) -> dict[str, Any]:
    return {
        "name": found.name,
        "config": str(found.config),
        "level": agent.trust.level.name,
        "authority": agent.trust.authority,
        "location": found.agent.source.url,
        "keys": [
            {
                "jwk": dict(key),
                "thumbprint": check.thumbprint,
                "kid": check.kid,
                "alg": check.alg,
                "key_source": check.key_source,
                "jku": check.jku,
                "form": check.form,
            }
            for check, key in found.keys
        ],
        "uncovered": list(found.agent.trust.uncovered),
        "entry": dict(found.entry),
    }
