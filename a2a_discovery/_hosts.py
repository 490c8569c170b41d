"""Hosts, addresses and sites, as values: what a host is, which site it is on, which address is public."""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import Literal, TypeVar

from a2a_discovery.errors import UsageError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
AddressKind = Literal["public", "loopback", "private", "wildcard", "forbidden"]

LONGEST_HOST = 253
"""Characters of a host name: RFC 1035's 255 bytes on the wire."""
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)\Z")
_NUMBER = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)\Z")

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# Reachable by ipaddress's rules, yet they carry an address we cannot judge or that no unicast peer has.
_FORBIDDEN = tuple(
    ipaddress.ip_network(block)
    for block in (
        *("2002::/16", "192.88.99.0/24", "2001::/32", "64:ff9b:1::/48"),  # 6to4 and its relays, Teredo, local NAT64
        *("224.0.0.0/4", "ff00::/8", "fec0::/10"),  # multicast, site-local
        *("240.0.0.0/4", "0.0.0.0/8"),  # reserved, broadcast, "this network"
    )
)
_DOCUMENTATION = ipaddress.ip_network("3fff::/20")  # RFC 9637, newer than some of Python's tables
_UNICAST = tuple(ipaddress.ip_network(block) for block in ("2000::/3", "fc00::/7"))

_METADATA = tuple(
    ipaddress.ip_network(block)
    # Cloud metadata services outside link-local.
    for block in (
        *(
            "fd00:ec2::/32",
            "fd20:ce::254/128",
            "fd00:c1::a9fe:a9fe/128",
            "fd00:42::42/128",
        ),  # AWS, Google, Oracle, Scaleway
        *("100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32"),  # Alibaba, Oracle's classic one, Azure
    )
)


def ascii_host(host: str) -> str:
    """The A-label form of a host, lower case, without a trailing dot; an IPv6 literal without brackets.

    Raises:
        ValueError: it is no host name and no address.
    """
    address = literal(host)
    if address is not None:
        return str(address)
    if not host.isascii():
        host = _idna(host)
        address = literal(host)  # full-width digits and ideographic dots spell addresses too
        if address is not None:
            return str(address)
    host = host.lower().removesuffix(".")
    labels = host.split(".")
    if len(host) > LONGEST_HOST or not all(_LABEL.match(label) for label in labels):
        raise ValueError("not a host name")
    if _NUMBER.match(labels[-1]):
        # No top-level domain is a number: this is a misspelt address (127.0.0.08), and some resolvers take those.
        raise ValueError("not a host name")
    return host


def _idna(host: str) -> str:
    import idna

    if len(host) > LONGEST_HOST:
        raise ValueError("not a host name")
    try:
        return idna.encode(host, uts46=True).decode("ascii")
    except idna.IDNAError as exc:
        raise ValueError("not a host name") from exc


def literal(host: str) -> Address | None:
    """The address a host *is*: dotted, IPv6, or one of the number forms that `inet_aton` takes; else ``None``.

    ``2130706433``, ``0x7f.1`` and ``127.1`` all reach 127.0.0.1 on a usual resolver, so they are that address here.
    """
    if not host[:1].isdigit() and ":" not in host and not host.startswith("["):
        return None  # most hosts: a number form begins with a digit
    host = (host[1:-1] if host.startswith("[") and host.endswith("]") else host).removesuffix(".").lower()
    if ":" in host:
        try:
            return None if "%" in host else ipaddress.IPv6Address(host)  # a zone means nothing to another machine
        except ValueError:
            return None
    parts = host.split(".")
    if not 1 <= len(parts) <= 4 or not all(_NUMBER.match(part) for part in parts):
        return None
    try:
        numbers = [_number(part) for part in parts]
    except ValueError:
        return None
    *high, low = numbers
    if any(number > 255 for number in high) or low >= 256 ** (5 - len(numbers)):
        return None
    value = low
    for index, number in enumerate(high):
        value += number << (8 * (3 - index))
    return ipaddress.IPv4Address(value)


def _number(text: str) -> int:
    if text.startswith("0x"):
        return int(text[2:] or "0", 16)
    return int(text, 8) if len(text) > 1 and text.startswith("0") else int(text)


def address_kind(address: Address) -> AddressKind:
    """How far an address reaches.

    ``forbidden`` (link-local, metadata, multicast, tunnels, reserved) stays closed even where private addresses are
    allowed. A mapped or NAT64 address is judged by the IPv4 address inside it.
    """
    inner = _embedded(address)
    if inner is not None:
        return address_kind(inner)
    if address.is_loopback:
        return "loopback"
    if address.is_unspecified:
        return "wildcard"
    if address.is_link_local or _within(address, _METADATA + _FORBIDDEN):
        return "forbidden"
    if isinstance(address, ipaddress.IPv6Address) and not _within(address, _UNICAST):
        return "forbidden"  # not assigned; ::127.0.0.1 is there, and is_global calls it global
    return "public" if address.is_global and address not in _DOCUMENTATION else "private"


def _within(address: Address, blocks: Iterable[ipaddress.IPv4Network | ipaddress.IPv6Network]) -> bool:
    return any(address.version == block.version and address in block for block in blocks)


def _embedded(address: Address) -> ipaddress.IPv4Address | None:
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return None


def is_loopback(host: str) -> bool:
    """Whether a host, by its name or literal alone, is this machine: ``*.localhost``, 127/8, ::1."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = literal(host)
    return address is not None and address_kind(address) == "loopback"


def is_single_label(host: str) -> bool:
    """Whether a host is one label, such as ``intranet``: no public name, and no literal address."""
    return "." not in host and literal(host) is None


# Names that every network may use for itself: RFC 6762 and clusters, ICANN's choice for private use, RFC 8375.
_PRIVATE_NAMES = (".local", ".internal", ".home.arpa", ".localdomain")


def is_private_name(host: str) -> bool:
    """Whether a host, by its name alone, is of a private network: one label, ``*.internal``, ``*.local``."""
    if is_loopback(host) or literal(host) is not None:
        return False
    return is_single_label(host) or host.endswith(_PRIVATE_NAMES)


@functools.lru_cache(maxsize=4096)
def site(host: str) -> str:
    """The registrable domain of a host by the Public Suffix List, private part included.

    An address, a single label and a public suffix are only themselves.
    """
    if literal(host) is not None or "." not in host:
        return host
    return _suffixes().privatesuffix(host) or host


@functools.lru_cache(maxsize=1)
def _suffixes():  # type: ignore[no-untyped-def]
    from publicsuffixlist import PublicSuffixList  # 33 ms: only where a site is compared

    return PublicSuffixList()


def same_site(first: str, second: str, *, local: bool = False) -> bool:
    """Whether two hosts are one site; under ``NetworkPolicy.local()`` all of loopback is one. Ports don't count."""
    if first == second:
        return True
    if local and is_loopback(first) and is_loopback(second):
        return True
    return site(first) == site(second)


def check_pattern(pattern: str) -> str:
    """A host pattern in its normal form: ``host`` or ``*.host``.

    Raises:
        UsageError: ``bad-config``, for anything else, a bare ``*`` too.
    """
    prefix, rest = ("*.", pattern[2:]) if pattern.startswith("*.") else ("", pattern)
    try:
        return prefix + ascii_host(rest)
    except ValueError:
        raise UsageError(
            "bad-config",
            f"{pattern!r} is no host pattern",
            hint='write a host as "shop.example", or "*.shop.example" for every name below it',
        ) from None


def matches(pattern: str, host: str) -> bool:
    """Whether a checked pattern covers a host: ``*.host`` is every name below ``host``, not ``host`` itself."""
    if pattern.startswith("*."):
        return host.endswith(pattern[1:]) and literal(host) is None
    return pattern == host


V = TypeVar("V")


def best_match(patterns: Mapping[str, V], hosts: Iterable[str]) -> V | None:
    """The value of the longest pattern that covers one of the hosts."""
    found = [pattern for pattern in patterns if any(matches(pattern, host) for host in hosts)]
    return patterns[max(found, key=len)] if found else None
