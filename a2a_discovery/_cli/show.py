"""What the command says: an agent or an error, for a person or as data."""

from __future__ import annotations

import math
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console

from a2a_discovery import CardError, InterfaceError, Trust, TrustError
from a2a_discovery._cli.exits import Exit, exit_for
from a2a_discovery._cli.text import Row, as_json, clean, rows, show

if TYPE_CHECKING:
    from pydantic import BaseModel

    from a2a_discovery import Agent, AgentInterface, DiscoveryError, SignatureCheck, TrustReport
    from a2a_discovery._catalog.entry import CatalogEntry
    from a2a_discovery._cli.options import Flags

_CAME = {
    "network": "fetched just now",
    "revalidated": "stored earlier, and unchanged at the origin (304)",
    "fresh": "from the cache",
    "memory": "from memory",
    "stale": "from the cache and out of date: the refresh failed",
}

_FLAGS = (
    ("NetworkPolicy.local()", "--local"),
    ("allow_http", "--allow-http --require none"),
    ("allow_private", "--allow-private"),
    ("ssl_context", "--ca FILE"),
    ("proxy=", "--proxy URL"),
    ("timeout=", "--timeout SECONDS"),
    ("hosts=(", "--credential-host HOST"),
    ("credentials", "--bearer-env NAME"),
    ("keys=", "--keys FILE"),
    ("bindings=", "--binding NAME"),
    ("Trust.NONE", "--require none"),
)
"""Part of a hint, which speaks to a programmer → the flag of the command that means the same."""


def describe(agent: Agent, *, explain: bool = False) -> Iterator[Row]:
    """An agent, for a person: who, where, which interface, who vouches, what was repaired, how fresh."""
    yield from _who(agent)
    yield from _where(agent)
    yield from _interfaces(agent)
    yield from _trust(agent.trust)
    if explain:
        yield from explain_trust(agent.trust)
    skipped = set(agent.skipped)
    yield from rows("found", (each for each in agent.findings if each not in skipped), style="yellow")
    yield _freshness(agent)


def _who(agent: Agent) -> Iterator[Row]:
    card = agent.card
    yield Row("agent", f"{clean(card.name, 100)} {clean(card.version, 40)}", "bold")
    if card.description.strip():
        yield Row("", clean(card.description, 300))
    if card.provider is not None:
        yield Row("provider", f"{clean(card.provider.organization, 100)} {clean(card.provider.url, 200)}")
    names = [clean(skill.name or skill.id, 40) for skill in card.skills]
    more = f", ... ({len(names)})" if len(names) > 8 else ""
    if names:
        yield Row("skills", ", ".join(names[:8]) + more)


def _where(agent: Agent) -> Iterator[Row]:
    source = agent.source
    yield Row("card", clean(source.url or source.requested, 400))
    yield from rows("via", source.via, limit=400)
    if agent.extended:
        yield Row("extended", "this is the extended card")
    elif agent.card.capabilities.extended_agent_card:
        yield Row("extended", "declared: --extended gets it, with a credential")


def _interfaces(agent: Agent) -> Iterator[Row]:
    yield Row("interface", _interface(agent.interface), "bold")
    yield from rows("", (f"send {name}: {value}" for name, value in agent.headers().items()))
    yield from rows("also usable", map(_interface, agent.alternatives), limit=600)
    yield from rows("skipped", agent.skipped)


def _interface(interface: AgentInterface) -> str:
    shown = f"{clean(interface.protocol_binding, 60)} {clean(interface.protocol_version, 20)} {clean(interface.url)}"
    return f"{shown} (tenant {clean(interface.tenant, 60)})" if interface.tenant else shown


def _trust(report: TrustReport) -> Iterator[Row]:
    style = {Trust.NONE: "red", Trust.CHANNEL: ""}.get(report.level, "green")
    yield from rows("trust", str(report).splitlines(), style=style, limit=1000)


def explain_trust(report: TrustReport) -> Iterator[Row]:
    """Every signature and what became of it, and what the signed bytes leave open."""
    yield from rows("signatures", map(_signature, report.signatures) if report.signatures else ("none",), limit=800)
    yield from rows("unprotected", report.uncovered)


def _signature(check: SignatureCheck) -> str:
    facts = {
        "kid": check.kid,
        "alg": check.alg,
        "form": check.form,
        "key by": check.key_source,
        "jku": check.jku,
        "thumbprint": check.thumbprint,
    }
    said = "; ".join(f"{name} {clean(value, 100)}" for name, value in facts.items() if value is not None)
    reason = f" ({check.reason})" if check.reason else ""
    return f"{check.index}: {check.status}{reason}{': ' if said else ''}{said}"


def _freshness(agent: Agent) -> Row:
    source = agent.source
    if source.url is None:
        return Row("fresh", "as it was handed over")
    left = source.expires_at - time.time()
    came = _CAME.get(source.cache, source.cache)
    lasts = f"fresh for {duration(left)}" if left > 0 else "asked about again at the next call"
    return Row("fresh", f"{came}; {lasts}", "yellow" if source.cache == "stale" else "")


def duration(seconds: float) -> str:
    """Seconds, for a person."""
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def agent_data(agent: Agent) -> dict[str, Any]:
    """An agent, as the one object that ``--json`` prints."""
    return {
        "card": _dump(agent.card),
        "interface": agent.interface.model_dump(mode="json", by_alias=True),
        "trust": plain(agent.trust.as_dict()),
        "source": {**plain(agent.source), "extended": agent.extended},
        "findings": [finding.as_dict() for finding in agent.findings],
    }


def _dump(card: BaseModel) -> Any:
    return card.model_dump(mode="json", by_alias=True, exclude_unset=True)


def describe_error(error: DiscoveryError, flags: Flags | None = None) -> Iterator[Row]:
    """An error, for a person: what happened, what it rests on, what to do."""
    shown = clean(error.message, 1200)
    yield Row("error", f"{shown} [{error.code}]", "red")
    attempts = [str(attempt) for attempt in getattr(error, "attempts", ())]
    yield from rows("tried", (each for each in attempts if clean(each) not in shown))
    yield from rows("choose from", map(_entry, getattr(error, "entries", ())), limit=400)
    if isinstance(error, CardError):
        yield from rows("wrong", error.findings)
    if isinstance(error, InterfaceError):
        yield from rows("skipped", (each for each in error.skipped if each.pointer not in shown))
    if isinstance(error, TrustError) and error.report is not None:
        if flags is not None and flags.explain:
            yield from rows("trust", str(error.report).splitlines(), limit=1000)
            yield from explain_trust(error.report)
        elif flags is not None:
            yield Row("", "--explain shows what became of each signature")
    if error.hint:
        yield Row("hint", clean(error.hint, 600))
    flag = None if flags is None else _flag(error, flags)
    if flag is not None:
        yield Row("", clean(f"in this command: {flag}", 400))


def fail(error: DiscoveryError, *, flags: Flags | None = None, as_data: bool = False) -> Exit:
    """Print an error to stderr, and say what to end with."""
    if as_data:
        print(as_json(error_data(error), sys.stderr.encoding), file=sys.stderr)
    else:
        show(Console(stderr=True, highlight=False), describe_error(error, flags))
    return exit_for(error)


def _entry(entry: CatalogEntry) -> str:
    return f"{entry.source}#{entry.identifier} ({clean(entry.name, 100)})"


def _flag(error: DiscoveryError, flags: Flags) -> str | None:
    """The flag that a hint's line of code stands for, where it isn't among those given."""
    hint = error.hint or ""
    if error.code == "downgraded":
        config = "" if flags.config is None else f" --config {shlex.quote(str(flags.config))}"
        return f"a2a-discover trust forget {shlex.quote(flags.target)}{config}"
    flag = next((flag for part, flag in _FLAGS if part in hint), None)
    given = flag == "--bearer-env NAME" and (flags.bearer_env or flags.api_key_env)
    return None if given else flag


def error_data(error: DiscoveryError) -> dict[str, Any]:
    """An error, as the one object that ``--json`` prints to stderr."""
    facts = {name: plain(getattr(error, name)) for name in error.facts if name != "entries"}
    names = ("identifier", "name", "url", "source")
    facts["entries"] = [{name: getattr(entry, name) for name in names} for entry in getattr(error, "entries", ())]
    return {
        "error": {
            "kind": type(error).__name__,
            "code": error.code,
            "message": error.message,
            "url": error.url,
            "step": error.step,
            "hint": error.hint,
            "exit": int(exit_for(error)),
            **{name: value for name, value in facts.items() if value not in (None, [], ())},
        }
    }


def plain(value: Any) -> Any:
    """Plain JSON data: what has no JSON form is a text, an infinite time is ``null``."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if hasattr(value, "as_dict"):
        return plain(value.as_dict())
    if is_dataclass(value):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return [plain(each) for each in value] if isinstance(value, Iterable) else str(value)
