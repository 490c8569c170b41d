"""Interfaces: endpoints that others can reach, bindings and versions that they know (A2A sections 4.4.6 and 8.3)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from a2a_discovery._card.interfaces import folded
from a2a_discovery._card.json import JSON
from a2a_discovery._check.sites import is_near
from a2a_discovery._check.subject import Subject, objects, text
from a2a_discovery._hosts import is_loopback
from a2a_discovery._select import Origin, major_minor, url_fault
from a2a_discovery._urls import host_of
from a2a_discovery.policy import NetworkPolicy

_CORE = ("JSONRPC", "HTTP+JSON", "GRPC")
_TUNNELS = (
    ".ngrok.io", ".ngrok.app", ".ngrok-free.app", ".ngrok-free.dev", ".ngrok.dev", ".trycloudflare.com", ".loca.lt",
    ".localhost.run", ".lhr.life", ".serveo.net", ".devtunnels.ms", ".tunnelmole.net", ".pinggy.link", ".bore.pub",
)  # fmt: skip
_SAMPLES = ("example.com", "example.net", "example.org")  # RFC 2606 section 3
_USUAL, _LOCAL = NetworkPolicy(), NetworkPolicy.local()
_SHARED = re.compile("|".join(map(re.escape, (*_TUNNELS, *_SAMPLES))), re.IGNORECASE)


def check_interfaces(subject: Subject) -> None:
    """Judge each interface, then the list as a whole."""
    listed = list(objects(subject.value.get("supportedInterfaces")))
    policy, origin = _reach(subject)
    for index, entry in listed:
        _check_url(subject, index, entry, policy, origin)
        _check_names(subject, index, entry)
    if listed and not any(folded(text(entry.get("protocolBinding"))) in _CORE for _, entry in listed):
        message = "none of the interfaces has a core binding, so most clients find nothing to call"
        subject.say("no-core-binding", message, "supportedInterfaces")
    _check_list(subject, listed)


def _reach(subject: Subject) -> tuple[NetworkPolicy, Origin]:
    host = host_of(subject.url) if subject.url is not None else None
    if host is not None and is_loopback(host):
        return _LOCAL, Origin(host=host, local=True)  # somebody develops: it may name itself
    return _USUAL, Origin(host=host, local=False)


def _check_url(subject: Subject, index: int, entry: Mapping[str, JSON], policy: NetworkPolicy, origin: Origin) -> None:
    url, binding = entry.get("url"), text(entry.get("protocolBinding"))
    if not isinstance(url, str) or not url:
        return
    at = ("supportedInterfaces", index, "url")
    fault = url_fault(url, binding, policy, origin)
    if fault is not None:
        subject.say(fault[0], fault[1], *at)
    if fault is None and (origin.host is not None or _SHARED.search(url)):
        _check_host(subject, at, host_of(url) or "", origin.host)


def _check_host(subject: Subject, at: tuple[str | int, ...], host: str, card_host: str | None) -> None:
    if host.endswith(_TUNNELS):
        subject.say("tunnel-host", "the host is that of a tunnel to somebody's machine", *at)
    if host.endswith(tuple(f".{each}" for each in _SAMPLES)) or host in _SAMPLES:
        subject.say("example-host", "the host is one of those that samples use", *at)
    if host and card_host is not None and not is_near(host, card_host):
        subject.say("other-site", "the host is on another site than the card", *at, severity="advice")


def _check_names(subject: Subject, index: int, entry: Mapping[str, JSON]) -> None:
    binding, version = text(entry.get("protocolBinding")), text(entry.get("protocolVersion"))
    if binding and folded(binding) not in _CORE and ":" not in binding:
        message = "it is none of the core bindings, and no URI"
        subject.say("custom-binding", message, "supportedInterfaces", index, "protocolBinding")
    spoken = major_minor(version)
    if version and (spoken is None or int(spoken.partition(".")[0]) > 1):
        jsonrpc = spoken == "2.0" and folded(binding) == "JSONRPC"
        message = "2.0 is the version of JSON-RPC; A2A has 0.3 and 1.0" if jsonrpc else "A2A has no such version"
        subject.say("odd-version", message, "supportedInterfaces", index, "protocolVersion")


def _check_list(subject: Subject, listed: list[tuple[int, Mapping[str, JSON]]]) -> None:
    whole: set[tuple[str, ...]] = set()
    offers: set[tuple[str, ...]] = set()
    older: int | None = None
    for index, entry in listed:
        binding, spoken = folded(text(entry.get("protocolBinding"))), major_minor(text(entry.get("protocolVersion")))
        offer = (binding, spoken or "")
        exact = (*offer, text(entry.get("url")), text(entry.get("tenant")))
        if exact in whole:
            subject.say("duplicate-interface", "an entry before it says the same", "supportedInterfaces", index)
        elif offer in offers:
            message = "an entry before it has the same binding and version; SDKs differ in which of them they call"
            subject.say("rival-interfaces", message, "supportedInterfaces", index)
        whole.add(exact)
        offers.add(offer)
        if spoken is None or subject.legacy:
            continue
        if spoken.startswith("0."):
            older = index if older is None else older
        elif older is not None:
            message = "it is preferred to a newer version that comes after it"
            subject.say("older-first", message, "supportedInterfaces", older)
