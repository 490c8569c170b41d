"""``a2a-discover trust``: who is remembered to have signed, what changed since, and a key pinned in one command."""

from __future__ import annotations

import asyncio
import json as plain_json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from a2a_discovery import (
    Cache,
    Discovery,
    NetworkPolicy,
    NotFoundError,
    Trust,
    TrustError,
    TrustPolicy,
    UsageError,
)
from a2a_discovery._cli.cache import cache_file, day, tell, told, usable
from a2a_discovery._cli.exits import Exit
from a2a_discovery._cli.flags import (
    NETWORK,
    OUTPUT,
    TRUST,
    AllowHttp,
    AllowPrivate,
    Ca,
    Keys,
    Local,
    Proxy,
    Strict,
    Target,
    Timeout,
    flag,
    option,
)
from a2a_discovery._cli.get import log_to_stderr
from a2a_discovery._cli.options import Flags, discovery_arguments, read_place
from a2a_discovery._cli.text import Row, clean, show
from a2a_discovery._config import Configured, load
from a2a_discovery._entries import location_of_target
from a2a_discovery._http.fingerprint import fingerprint
from a2a_discovery._target import read_target
from a2a_discovery._trust.continuity import Past, decode_past, remember
from a2a_discovery._trust.report import TrustReport

if TYPE_CHECKING:
    from a2a_discovery._http.shelf import Note

CONFIG = Path("agents.toml")

ConfigFile = Annotated[Path | None, option("--config", "FILE", "Agents by name; agents.toml unless named.", TRUST)]
AsJson = Annotated[bool, flag("--json", "JSON in place of the text.", OUTPUT)]
Name = Annotated[str | None, option("--name", "NAME", "What to call it there; else as it is typed here.", OUTPUT)]
Yes = Annotated[bool, flag("--yes", "Do not ask.", OUTPUT)]
NoCache = Annotated[bool, flag("--no-cache", "Keep nothing, and remember nothing.", NETWORK)]

trust_app = typer.Typer(help="Who signs for an agent: pin it, see what is remembered, forget it.", no_args_is_help=True)


@trust_app.command()
def pin(
    *,
    target: Target,
    config: ConfigFile = None,
    name: Name = None,
    yes: Yes = False,
    local: Local = False,
    allow_private: AllowPrivate = False,
    timeout: Timeout = None,
    ca: Ca = None,
    proxy: Proxy = None,
    no_cache: NoCache = False,
    keys: Keys = None,
    strict: Strict = False,
    json: AsJson = False,
) -> None:
    """Verify a card, show who signs it, and write an entry that accepts this key and no other."""
    from a2a_discovery._cli.pin import pin as run

    log_to_stderr(verbose=False)
    flags = Flags(
        target=target,
        local=local,
        allow_private=allow_private,
        timeout=timeout,
        ca=ca,
        proxy=proxy,
        cache=not no_cache,
        keys=keys,
        strict=strict,
        json=json,
    )
    raise typer.Exit(int(run(flags, config=config or CONFIG, name=name, yes=yes)))


@trust_app.command("list")
def list_remembered(*, config: ConfigFile = None, json: AsJson = False) -> None:
    """Each location that gave a card: how far it was vouched for, by whom, with which keys, and since when."""
    with told(as_data=json):
        notes = [(note, past) for note in _notes() if (past := decode_past(note.record)) is not None]
        pinned = _pinned_names(_agents(config))
        if json:
            tell([_note_data(note, past, pinned.get(note.location, ())) for note, past in notes])
            return
        rows = (row for note, past in notes for row in _note_rows(note, past, pinned.get(note.location, ())))
        show(Console(highlight=False), rows)


@trust_app.command()
def forget(target: Target, *, config: ConfigFile = None, json: AsJson = False) -> None:
    """Forget what a target proved before, so that a card that proves less is accepted again."""
    from a2a_discovery._http import inventory

    with told(as_data=json):
        agents = _agents(config)
        locations = _locations(target, agents)
        path = cache_file()
        with usable(path):
            count = inventory.forget(path, locations)
        still = [name for name, each in agents.items() if each.trust is not None and target == name]
        if json:
            tell({"forgotten": count, "locations": locations, "pinned_as": still})
            return
        said = f"{count} of {clean(target, 200)}" if count else f"nothing was remembered of {clean(target, 200)}"
        rows = [Row("forgotten", said)]
        if still:
            rows.append(
                Row("", clean(f"{config or CONFIG} still says what {target} must prove: trust pin it again", 300))
            )
        show(Console(highlight=False), rows)


@trust_app.command()
def diff(
    *,
    target: Target,
    config: ConfigFile = None,
    local: Local = False,
    allow_private: AllowPrivate = False,
    allow_http: AllowHttp = False,
    timeout: Timeout = None,
    ca: Ca = None,
    proxy: Proxy = None,
    json: AsJson = False,
) -> None:
    """What changed: compare what is remembered of a target with what is served now. Nothing is written."""
    log_to_stderr(verbose=False)
    flags = Flags(
        target=target,
        local=local,
        allow_private=allow_private,
        allow_http=allow_http,
        timeout=timeout,
        ca=ca,
        proxy=proxy,
        require=Trust.NONE,
        json=json,
    )
    with told(as_data=json):
        changes = asyncio.run(_diff(flags, _agents(config)))
        if json:
            tell({"location": changes.location, "changed": changes.changed, "facts": changes.facts})
        else:
            show(Console(highlight=False), _diff_rows(changes))
        raise typer.Exit(int(Exit.FAILURE if changes.changed else Exit.OK))


# What is remembered


def _notes() -> tuple[Note, ...]:
    from a2a_discovery._http import inventory

    path = cache_file()
    with usable(path):
        return inventory.inventory(path).notes


def _agents(config: Path | None) -> Mapping[str, Configured]:
    """The configured agents: of the file that was named, or of ``agents.toml`` where there is one."""
    if config is None and not CONFIG.is_file():
        return {}
    return load(config or CONFIG)


def _locations(target: str, agents: Mapping[str, Configured]) -> list[str]:
    """Where a target's past is kept, with or without ``--local``, which may mean http."""
    configured = agents.get(target)
    named = read_place(Flags(target=target)) if configured is None else configured.target
    found = []
    for network in (NetworkPolicy.local(), NetworkPolicy(allow_private=True)):
        location = location_of_target(read_target(named, network=network, names=agents))
        found += [location, f"{location}#extended"] if location is not None else []
    if not found:
        raise UsageError("bad-target", "nothing is remembered of a card file", hint="give a domain or a URL")
    return list(dict.fromkeys(found))


def _pinned_names(agents: Mapping[str, Configured]) -> dict[str, tuple[str, ...]]:
    """Location → the names under which its keys are pinned."""
    found: dict[str, tuple[str, ...]] = {}
    for name, configured in agents.items():
        if configured.trust is None or not configured.trust.keys:
            continue
        for network in (NetworkPolicy(allow_private=True), NetworkPolicy.local()):
            location = location_of_target(read_target(configured.target, network=network, names=agents))
            if location is not None and name not in found.get(location, ()):
                found[location] = (*found.get(location, ()), name)
    return found


def _note_data(note: Note, past: Past, pinned: tuple[str, ...]) -> dict[str, Any]:
    return {
        "location": note.location,
        "level": past.level.name,
        "trusted": _ground(past, pinned),
        "authority": past.authority,
        "jku_hosts": list(past.jku_hosts),
        "thumbprints": list(past.thumbprints),
        "version": past.version,
        "since": note.since,
        "changed": note.changed,
        "pinned_as": list(pinned),
        "flags": _ways(note.channel),
    }


def _ground(past: Past, pinned: tuple[str, ...]) -> str:
    if past.level is Trust.PINNED or pinned:
        return "pinned"
    return "first use" if past.level is Trust.SIGNED else "unsigned"


def _note_rows(note: Note, past: Past, pinned: tuple[str, ...]) -> Iterator[Row]:
    style = "green" if past.level >= Trust.SIGNED else ""
    yield Row(past.level.name, clean(note.location, 400), style)
    facts = [
        _ground(past, pinned) + (f" as {', '.join(clean(name, 60) for name in pinned)}" if pinned else ""),
        f"by {clean(past.authority or 'whoever handed it over', 200)}",
        *([f"keys at {', '.join(clean(host, 200) for host in past.jku_hosts)}"] if past.jku_hosts else []),
        f"version {clean(past.version, 60)}",
        f"since {day(note.since)}",
        *([f"changed {day(note.changed)}"] if day(note.changed) != day(note.since) else []),
        *([f"seen with {clean(ways, 300)}"] if (ways := " ".join(_ways(note.channel))) else []),
    ]
    yield Row("", "; ".join(facts))
    for thumbprint in past.thumbprints:
        yield Row("", f"key {clean(thumbprint, 100)}")


def _ways(channel: str) -> list[str]:
    """The flags of the command under which a location was seen; only under those is it compared."""
    try:
        parts = plain_json.loads(channel)
        flags = {"local": "--local", "private": "--allow-private", "http": "--allow-http"}
        implied = {"private", "http"} if parts.get("local") else set()
        found = [shown for name, shown in flags.items() if parts.get(name) is True and name not in implied]
        found += [f"--proxy {parts['proxy']}"] if parts.get("proxy") else []
        found += ["--ca FILE"] if str(parts.get("tls") or "").startswith("ca:") else []
        others = [name for name in ("tls", "resolve", "transport") if parts.get(name)]
        return found + [f"a program's own {name}" for name in others if not str(parts[name]).startswith("ca:")]
    except (ValueError, AttributeError):
        return []


# What changed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Changes:
    location: str
    facts: dict[str, dict[str, Any]]
    """Fact → ``before``, ``now``, and whether that is a change."""
    note: Note
    refusal: str | None

    @property
    def changed(self) -> bool:
        return any(fact["changed"] for fact in self.facts.values())


async def _diff(flags: Flags, agents: Mapping[str, Configured]) -> _Changes:
    arguments = discovery_arguments(flags)
    configured = agents.get(flags.target)
    named = read_place(flags, agents) if configured is None else configured.target
    location = location_of_target(read_target(named, network=arguments["network"], names=agents))
    note = _note_of(location, fingerprint(arguments["network"]))
    past = decode_past(note.record)
    if location is None or past is None:
        raise NotFoundError("no-card", "what is remembered of it cannot be read", hint="a2a-discover trust forget it")
    # Facts alone are wanted: whatever is served is looked at, and neither kept nor remembered.
    pinned = configured.trust.keys if configured is not None and configured.trust is not None else {}
    policy = TrustPolicy(require=Trust.NONE, unverifiable="accept", continuity=False, keys=pinned)
    arguments |= {"trust": policy, "cache": Cache.memory(), "agents": {}}
    refusal: str | None = None
    try:
        async with Discovery(**arguments) as discovery:
            agent = await discovery.discover(named, refresh=True)
        report, version = agent.trust, agent.card.version
    except TrustError as error:
        if error.report is None:
            raise
        report, version, refusal = error.report, None, f"{error.message} [{error.code}]"
    return _Changes(location=location, facts=_compared(past, report, version), note=note, refusal=refusal)


def _note_of(location: str | None, channel: str) -> Note:
    notes = [note for note in _notes() if note.location == location]
    same = [note for note in notes if note.channel == channel]
    if not notes:
        message = "nothing is remembered of it on this machine"
        raise NotFoundError("no-card", message, hint="a2a-discover get it once, or trust pin it")
    return (same or notes)[0]


def _compared(past: Past, report: TrustReport, version: str | None) -> dict[str, dict[str, Any]]:
    now = remember(report, version or "", None)
    keys_kept = not now.thumbprints or set(now.thumbprints) <= set(past.thumbprints)
    hosts_kept = not now.jku_hosts or set(now.jku_hosts) <= set(past.jku_hosts)
    lost = report.level < min(past.level, Trust.SIGNED)
    return {
        "level": _fact(past.level.name, report.level.name, changed=lost or report.level > past.level),
        "authority": _fact(past.authority, report.authority, changed=past.authority != report.authority),
        "jku_hosts": _fact(list(past.jku_hosts), list(now.jku_hosts), changed=lost or not hosts_kept),
        "thumbprints": _fact(list(past.thumbprints), list(now.thumbprints), changed=lost or not keys_kept),
        "version": _fact(past.version, version, changed=version is not None and version[:64] != past.version),
    }


def _fact(before: Any, now: Any, *, changed: bool) -> dict[str, Any]:
    return {"before": before, "now": now, "changed": changed}


def _diff_rows(changes: _Changes) -> Iterator[Row]:
    yield Row("location", clean(changes.location, 400), "bold")
    yield Row("remembered", f"since {day(changes.note.since)}, as of {day(changes.note.changed)}")
    for name, fact in changes.facts.items():
        before, now = _shown(fact["before"]), _shown(fact["now"])
        if fact["changed"]:
            yield Row(name.replace("_", " "), f"changed from {before} to {now}", "yellow")
        else:
            yield Row(name.replace("_", " "), f"{now if fact['now'] else before}: as before", "dim")
    if changes.refusal is not None:
        yield Row("refused", clean(changes.refusal, 600), "red")
    yield Row("", "what is served now differs" if changes.changed else "nothing changed")


def _shown(value: Any) -> str:
    texts: Iterable[Any] = value if isinstance(value, list) else () if value is None else (value,)
    return ", ".join(clean(each, 100) for each in texts) or "none"
