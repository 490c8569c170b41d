"""The endpoints that a card names: whether they answer as A2A, and whether they ask who is there (section 13.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_discovery._card.json import JSON
from a2a_discovery._card.read import Reading, looks_like
from a2a_discovery._check.headers import parsed
from a2a_discovery._check.subject import Subject
from a2a_discovery._effects import Fetch, Fetched, Flow
from a2a_discovery._extended import Call, calls_for
from a2a_discovery._select import Origin, major_minor, url_fault
from a2a_discovery._trust.canonical import canonical
from a2a_discovery._trust.verify import Provenance
from a2a_discovery._urls import host_of
from a2a_discovery.errors import DiscoveryError, ExtendedCardError
from a2a_discovery.policy import Limits, NetworkPolicy

if TYPE_CHECKING:
    from a2a_discovery._card.model import AgentInterface

_MOST = 6
"""Interfaces that are called."""


@dataclass(frozen=True, slots=True)
class _Asked:
    index: int
    call: Call
    fetch: Fetch


def probe(
    subject: Subject, reading: Reading, provenance: Provenance, network: NetworkPolicy, limits: Limits
) -> Flow[None]:
    """Call each interface for the extended card, without credentials, and judge the answers."""
    origin = Origin(host=host_of(provenance.url) if provenance.url else None, local=provenance.loopback)
    asked: list[_Asked] = []
    for index, interface in enumerate(reading.card.supported_interfaces):
        if len(asked) == _MOST or url_fault(interface.url, interface.protocol_binding, network, origin) is not None:
            continue
        call = _call(interface, reading)
        if call is not None and call.url not in {each.call.url for each in asked}:
            asked.append(_Asked(index, call, _fetch(interface, call, provenance, limits)))
    if not asked:
        return
    answers = yield tuple(each.fetch for each in asked)
    public = _bytes(dict(reading.document))
    for each, answer in zip(asked, answers, strict=True):
        _judge(subject, each, answer, reading, public)


def _call(interface: AgentInterface, reading: Reading) -> Call | None:
    try:
        return calls_for((interface,), reading.document, grpc=False)[0]
    except ExtendedCardError:
        return None  # a binding of which we know no harmless call


def _fetch(interface: AgentInterface, call: Call, provenance: Provenance, limits: Limits) -> Fetch:
    headers = [("A2A-Version", major_minor(interface.protocol_version) or "0.3")]
    if call.body is not None:
        headers.append(("Content-Type", "application/json"))
    return Fetch(
        url=call.url,
        kind="extended",
        limit=limits.card_bytes,
        local=provenance.loopback,
        mode="unconditional",
        method="POST" if call.body is not None else "GET",
        headers=tuple(headers),
        body=call.body,
    )


def _judge(
    subject: Subject, asked: _Asked, answer: Fetched | DiscoveryError, reading: Reading, public: bytes | None
) -> None:
    at = ("supportedInterfaces", asked.index, "url")
    if isinstance(answer, DiscoveryError):
        subject.say("endpoint-silent", f"the interface could not be asked [{answer.code}]", *at)
        return
    if answer.status in (401, 403):
        if answer.status == 401 and "www-authenticate" not in answer.headers:
            subject.say("challenge-missing", "it answered 401 without WWW-Authenticate", *at)
        return
    if answer.status == 429:
        return
    if answer.status >= 500:
        subject.say("endpoint-silent", f"the interface answered {answer.status}", *at)
        return
    declared = reading.card.capabilities.extended_agent_card is True
    document = parsed(answer.body)
    card = _card_in(document, rpc=asked.call.body is not None)
    if card is not None:
        _judge_card(subject, card, public, declared=declared)
    elif not _speaks(document, rpc=asked.call.body is not None) and (asked.call.body is not None or declared):
        subject.say("endpoint-not-a2a", f"it answered {answer.status}, and not as an A2A server does", *at)


def _judge_card(subject: Subject, card: dict[str, JSON], public: bytes | None, *, declared: bool) -> None:
    at = ("capabilities", "extendedAgentCard")
    same = public is not None and _bytes(card) == public
    if not declared:
        subject.say("extended-undeclared", "strangers get a card from an operation that is not declared", *at)
    elif same:
        subject.say("extended-public", "strangers get the public card with 200, not a refusal", *at)
    else:
        subject.say("extended-open", "strangers get the extended card, without any credentials", *at)


def _card_in(document: JSON, *, rpc: bool) -> dict[str, JSON] | None:
    found = document.get("result") if rpc and isinstance(document, dict) else document
    return found if isinstance(found, dict) and looks_like(found) == "card" else None


def _speaks(document: JSON, *, rpc: bool) -> bool:
    """Whether it is an answer in the words of the binding, an error included."""
    if not isinstance(document, dict):
        return False
    return "jsonrpc" in document if rpc else not document.keys().isdisjoint(("error", "type", "detail", "code"))


def _bytes(document: dict[str, JSON]) -> bytes | None:
    try:
        return canonical(document, "sdk")
    except ValueError:
        return None
