"""Selecting: the first entry of ``supportedInterfaces`` that the caller can speak (A2A section 8.3.2). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from a2a_discovery._finding import Finding, pointer
from a2a_discovery._hosts import Address, address_kind, ascii_host, is_loopback, is_private_name, literal, same_site
from a2a_discovery._urls import pieces, split
from a2a_discovery.errors import InterfaceError
from a2a_discovery.policy import NetworkPolicy

if TYPE_CHECKING:
    from a2a_discovery._card.model import AgentInterface
    from a2a_discovery._card.read import Reading

_CORE_BINDINGS = {"jsonrpc": "JSONRPC", "grpc": "GRPC", "http+json": "HTTP+JSON"}
_TEMPLATE = re.compile(r"[{}<>]|\$\(|%7b|\[[A-Z_]", re.IGNORECASE)
_GRPC_TARGET = re.compile(r"(?:dns:///)?(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/@?#]+):(?P<port>[0-9]{1,5})\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The chosen interface, what else would do, and why the rest would not."""

    interface: AgentInterface
    alternatives: tuple[AgentInterface, ...]
    skipped: tuple[Finding, ...]
    findings: tuple[Finding, ...] = ()
    """What selecting changed: a wildcard host that was replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speaks:
    """What the caller can speak, and what it may reach."""

    bindings: tuple[str, ...]
    versions: tuple[str, ...]
    extensions: tuple[str, ...]
    network: NetworkPolicy
    replace_local_hosts: bool = False
    same_site: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where the card came from, as far as selecting cares."""

    host: str | None
    """The authority, or ``None`` for a card that was handed over."""
    local: bool
    """It came from loopback, or was handed over, under ``NetworkPolicy.local()``: it may name loopback."""
    port: int | None = None


def fold_binding(binding: str) -> str:
    """A core binding in its normal spelling, whatever the case; any other, exactly as it is (requirement A-17)."""
    return _CORE_BINDINGS.get(binding.lower(), binding)


def major_minor(version: str) -> str | None:
    """``Major.Minor`` of a version, its patch ignored (A2A section 3.6), or ``None``."""
    found = re.match(r"v?(\d{1,4})(?:\.(\d{1,4})(?:[.+-][\w.+-]+)?)?\Z", version.strip())
    return f"{int(found[1])}.{int(found[2] or 0)}" if found else None


def select(reading: Reading, speaks: Speaks, origin: Origin) -> Selection:
    """Choose the first usable interface in the card's order.

    Raises:
        InterfaceError: ``no-usable-interface``, with each interface's pointer and reason.
    """
    missing = tuple(_missing_extensions(reading, speaks))
    usable: list[AgentInterface] = []
    skipped: list[Finding] = list(missing)
    findings: list[Finding] = []
    for index, interface in enumerate(reading.card.supported_interfaces):
        judged = _judge(interface, index, reading, speaks, origin)
        if judged.reason is not None:
            skipped.append(judged.reason)
        elif not missing:
            usable.append(judged.interface)
            findings += judged.findings
    if not usable:
        raise _nothing_usable(reading, speaks, tuple(skipped))
    return Selection(
        interface=usable[0], alternatives=tuple(usable[1:]), skipped=tuple(skipped), findings=tuple(findings)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    interface: AgentInterface
    reason: Finding | None = None
    findings: tuple[Finding, ...] = ()


def _judge(interface: AgentInterface, index: int, reading: Reading, speaks: Speaks, origin: Origin) -> _Judged:
    def no(code: str, message: str, member: str = "url") -> _Judged:
        at = reading.origin(pointer("supportedInterfaces", index, member))
        return _Judged(interface=interface, reason=Finding(code=code, severity="warning", pointer=at, message=message))

    binding = fold_binding(interface.protocol_binding)
    if binding not in {fold_binding(each) for each in speaks.bindings}:
        return no("unsupported-binding", "the caller does not speak this binding", "protocolBinding")
    version = major_minor(interface.protocol_version)
    if version is None or version not in {major_minor(each) for each in speaks.versions}:
        return no("unsupported-version", "the caller does not speak this protocol version", "protocolVersion")
    found = _endpoint(interface.url, binding)
    if isinstance(found, str):
        return no(found, _URL_REASONS[found])
    host, scheme = found
    replaced = _replacement(host, speaks, origin)
    code = _unreachable(replaced or host, scheme, speaks.network, origin)
    if code is None and speaks.same_site and not _on_site(replaced or host, speaks, origin):
        code = "other-site"
    if code is not None:
        return no(code, _URL_REASONS[code])
    at, notes = reading.origin(pointer("supportedInterfaces", index, "url")), []
    if replaced is not None:
        message = "the card names a wildcard or loopback host; the host it came from is used instead"
        notes.append(Finding(code="host-replaced", severity="warning", pointer=at, message=message))
        interface = interface.model_copy(update={"url": _with_host(interface.url, replaced)})
    if binding != "GRPC" and (replaced or is_loopback(host)) and _on_other_port(interface.url, origin):
        message = "the card came from another port of this host: a container's own port may be published under another"
        notes.append(Finding(code="other-port", severity="advice", pointer=at, message=message))
    return _Judged(interface=interface, findings=tuple(notes))


_URL_REASONS = {
    "relative-url": "the URL is relative",
    "placeholder-url": "the URL is an unreplaced template or placeholder",
    "invalid-url": "it is no absolute URL with a host",
    "credentials-in-url": "the URL holds a user name or password",
    "unroutable-host": "the host is a wildcard address: nobody can connect to it",
    "loopback-url": "the host is the caller's own machine",
    "private-address": "the address is private",
    "internal-host": "the name exists in a private network alone",
    "grpc-target": "gRPC is reached at host:port, dns:///host:port or https://host:port, without a path",
    "http-url": "plain http; A2A section 7.1 wants TLS",
    "other-site": "the host is on another site than the card's authority",
}


def url_fault(url: str, binding: str, network: NetworkPolicy, origin: Origin) -> tuple[str, str] | None:
    """Why an endpoint cannot be used under a policy: the code of a finding and its message; ``None`` where it can.

    Args:
        url: the interface's URL, as written.
        binding: its protocol binding.
        network: where the caller may connect.
        origin: where the card came from.
    """
    found = _endpoint(url, fold_binding(binding))
    code = found if isinstance(found, str) else _unreachable(*found, network, origin)
    return None if code is None else (code, _URL_REASONS[code])


def _endpoint(url: str, binding: str) -> tuple[str, str] | str:
    """Host and scheme of an endpoint, or the code of why it is none."""
    if _TEMPLATE.search(url):
        return "placeholder-url"
    if binding == "GRPC" and (target := _grpc_target(url)) is not None:
        return target
    try:
        parts = split(url)
    except ValueError:
        return _why_no_url(url)
    if parts.userinfo:
        return "credentials-in-url"
    if binding == "GRPC" and (parts.path.strip("/") or parts.query):
        return "grpc-target"
    allowed = {"http", "https"} if binding in _CORE_BINDINGS.values() else {"http", "https", "ws", "wss"}
    if parts.scheme not in allowed:
        return "invalid-url"
    return parts.host, parts.scheme


def _why_no_url(url: str) -> Literal["relative-url", "invalid-url"]:
    try:
        parts = pieces(url)
    except ValueError:
        return "invalid-url"
    return "relative-url" if not parts.scheme and url.startswith(("/", "./", "../", "?")) else "invalid-url"


def _grpc_target(url: str) -> tuple[str, str] | None:
    """``host:port`` or ``dns:///host:port``: gRPC's own forms, always over TLS here (A2A section 8.3, design 6)."""
    found = _GRPC_TARGET.match(url)
    if found is None or not 0 < int(found["port"]) < 65_536:
        return None
    try:
        return ascii_host(found["host"]), "https"
    except ValueError:
        return None


def _replacement(host: str, speaks: Speaks, origin: Origin) -> str | None:
    """The host to use in place of a wildcard or loopback one, or ``None`` to leave it."""
    if origin.host is None or host == origin.host:
        return None
    address = literal(host)
    wildcard = address is not None and address_kind(address) == "wildcard"
    if wildcard and (speaks.replace_local_hosts or (origin.local and is_loopback(origin.host))):
        return origin.host
    return origin.host if speaks.replace_local_hosts and is_loopback(host) else None


def _unreachable(host: str, scheme: str, network: NetworkPolicy, origin: Origin) -> str | None:
    """The code of the rule that keeps us from a host, or ``None``. Names are judged again when they are resolved."""
    loopback = is_loopback(host)
    if loopback and not (network.allow_private or (network.loopback and origin.local)):
        return "loopback-url"
    address = literal(host)
    if address is not None and not loopback:
        code = _bad_address(address, network)
        if code is not None:
            return code
    if is_private_name(host) and not network.allow_private:
        return "internal-host"
    plain = scheme in ("http", "ws")
    if plain and not (network.allow_http or (loopback and network.loopback and origin.local)):
        return "http-url"
    return None


def _bad_address(address: Address, network: NetworkPolicy) -> str | None:
    kind = address_kind(address)
    if kind == "wildcard":
        return "unroutable-host"
    if kind == "private":
        return None if network.allow_private else "private-address"
    return "private-address" if kind == "forbidden" else None


def _on_site(host: str, speaks: Speaks, origin: Origin) -> bool:
    return origin.host is None or same_site(host, origin.host, local=speaks.network.loopback)


def _on_other_port(url: str, origin: Origin) -> bool:
    if origin.host is None or origin.port is None:
        return False
    parts = split(url)
    here = parts.host == origin.host or (is_loopback(parts.host) and is_loopback(origin.host))
    return here and parts.port != origin.port


def _with_host(url: str, host: str) -> str:
    shown = f"[{host}]" if ":" in host else host
    if (target := _GRPC_TARGET.match(url)) is not None:
        start, end = target.span("host")
        return url[:start] + shown + url[end:]
    parts = pieces(url)
    return url.replace(parts.netloc, shown if parts.port is None else f"{shown}:{parts.port}", 1)


def _missing_extensions(reading: Reading, speaks: Speaks) -> Iterator[Finding]:
    for index, extension in enumerate(reading.card.capabilities.extensions):
        if extension.required and extension.uri not in speaks.extensions:
            yield Finding(
                code="required-extension",
                severity="warning",
                pointer=reading.origin(pointer("capabilities", "extensions", index)),
                message="the card requires an extension that the caller does not claim",
            )


_HINTS = {
    "required-extension": "if the caller implements it, name its URI in extensions=(...)",
    "loopback-url": "for development, network=NetworkPolicy.local(); or replace_local_hosts=True",
    "unroutable-host": "use replace_local_hosts=True to call the host the card came from",
    "private-address": "on a private network, network=NetworkPolicy(allow_private=True)",
    "internal-host": "on a private network, network=NetworkPolicy(allow_private=True)",
    "http-url": "where plain http is acceptable, network=NetworkPolicy(allow_http=True)",
}


def _nothing_usable(reading: Reading, speaks: Speaks, skipped: tuple[Finding, ...]) -> InterfaceError:
    reasons = "; ".join(f"{finding.pointer}: {finding.message}" for finding in skipped[:8])
    codes = {finding.code for finding in skipped}
    hint = next((text for code, text in _HINTS.items() if code in codes), None)
    if hint is None and "unsupported-binding" in codes:
        # Only the core names are shown: others are card text.
        offered = {fold_binding(each.protocol_binding) for each in reading.card.supported_interfaces}
        core = ", ".join(sorted(offered & set(_CORE_BINDINGS.values()))) or "none of A2A's own bindings"
        hint = f"the caller speaks {', '.join(speaks.bindings)}, the card offers {core}: see bindings=(...)"
    elif hint is None and "unsupported-version" in codes:
        hint = f"the caller speaks {', '.join(speaks.versions)}: see versions=(...)"
    return InterfaceError(
        "no-usable-interface",
        f"the card is good, but none of its interfaces can be used: {reasons or 'it has none'}",
        skipped=skipped,
        step="select",
        hint=hint,
    )
