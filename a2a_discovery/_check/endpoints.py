"""The endpoints that a card names: whether they answer as A2A, and whether they ask who is there (section 13.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from a2a_discovery._card.json import JSON
from a2a_discovery._card.read import Reading, looks_like, read_card
from a2a_discovery._check.headers import parsed
from a2a_discovery._check.subject import Subject
from a2a_discovery._effects import Fetch, Fetched, Flow
from a2a_discovery._extended import Call, calls_for, content
from a2a_discovery._select import Origin, fold_binding, major_minor, url_fault
from a2a_discovery._trust.verify import Provenance
from a2a_discovery._urls import host_of
from a2a_discovery.errors import CardError, DiscoveryError, ExtendedCardError
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
    for each, answer in zip(asked, answers, strict=True):
        _judge(subject, each, answer, reading)


def _call(interface: AgentInterface, reading: Reading) -> Call | None:
    try:
        calls = calls_for((interface,), reading.document, grpc=False)
    except ExtendedCardError:
        return None  # a binding of which we know no harmless call
    # 0.2 asked at another URL than the interface's, which says nothing about that one.
    rpc = fold_binding(interface.protocol_binding) == "JSONRPC"
    return next((call for call in calls if not rpc or call.body is not None), None)


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


def _judge(subject: Subject, asked: _Asked, answer: Fetched | DiscoveryError, reading: Reading) -> None:
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
        _judge_card(subject, card, reading, declared=declared)
    elif not _speaks(document, rpc=asked.call.body is not None) and (asked.call.body is not None or declared):
        subject.say("endpoint-not-a2a", f"it answered {answer.status}, and not as an A2A server does", *at)


def _judge_card(subject: Subject, card: dict[str, JSON], reading: Reading, *, declared: bool) -> None:
    at = ("capabilities", "extendedAgentCard")
    if not declared:
        subject.say("extended-undeclared", "strangers get a card from an operation that is not declared", *at)
    elif _same(card, reading):
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


def _same(card: dict[str, JSON], public: Reading) -> bool:
    """Whether it says what the public card does, however it is spelled."""
    try:
        other = read_card(card, url=None)
    except CardError:
        return False
    # In the words of another generation it names the interfaces of that alone, and cannot say the rest.
    return content(other) == content(public) or (other.legacy != public.legacy and _told(other) == _told(public))


def _told(reading: Reading) -> object:
    card = reading.card
    return card.name, card.description, card.version, [(each.id, each.name, each.description) for each in card.skills]
