"""What the caller typed or handed over, told apart: a domain, a document, a base URL, an entry, a file, a mapping."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from a2a_discovery._catalog.entry import CatalogEntry
from a2a_discovery._catalog.urls import names_a_document
from a2a_discovery._hosts import ascii_host, is_loopback, is_single_label, literal
from a2a_discovery._urls import split, without_userinfo
from a2a_discovery.errors import UsageError
from a2a_discovery.policy import NetworkPolicy

_HOST_PORT = re.compile(r"(?P<host>\[[0-9a-fA-F:.]+\]|[^:]+)(?::(?P<port>[0-9]{1,5}))?\Z")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# A model may write a target: what it wrote is shown in messages only so far.
_SHOWN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A host, perhaps with a port: its card is looked for at the well-known places."""

    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A URL that is fetched exactly as given, then read by its content."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """A URL with a path below which the card lies, or which answers with it."""

    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryOf:
    """One entry of a catalog, by its identifier."""

    url: str
    identifier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Handed:
    """A card that the caller handed over: no request is made for it."""

    body: bytes = field(repr=False)
    shown: str = "a mapping"
    """How messages and ``agent.source`` name it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalFile:
    """A card file that the caller named as a `pathlib.Path`."""

    path: Path


Target = Domain | Document | Base | EntryOf | CatalogEntry | Handed | LocalFile


def read_target(target: object, *, network: NetworkPolicy, names: Collection[str] = ()) -> Target:
    """Tell what kind of target this is (design section 2).

    A string never becomes a file: strings may come from a model.

    Args:
        target: what the caller gave; a configured name has been looked up already.
        network: decides whether a bare loopback host means http, and whether a single label may be one.
        names: the configured names, for the message.

    Raises:
        UsageError: ``bad-target``.
    """
    if isinstance(target, CatalogEntry) and (target.url is None) == (target.card is None):
        raise UsageError("bad-target", "an entry has either a url or a card", step="locate")
    if isinstance(target, (CatalogEntry, Domain, Document, Base, EntryOf)):
        return target  # told apart already: a configured name
    if isinstance(target, Path):
        return LocalFile(path=target)
    if isinstance(target, Mapping):
        return _read_mapping(target)
    if not isinstance(target, str):
        raise UsageError(
            "bad-target",
            f"a target is a string, a pathlib.Path, a mapping or a CatalogEntry, not {type(target).__name__}",
        )
    text = target.strip()
    if _SCHEME.match(text):
        return _read_url(text)
    return _read_host(text, network, names)


def _read_mapping(target: Mapping[str, Any]) -> Handed:
    # A copy through text: what the caller does to its mapping afterwards must not change a card already judged.
    try:
        return Handed(body=json.dumps(target, ensure_ascii=False, allow_nan=False, default=_plain).encode("utf-8"))
    except (TypeError, ValueError, RecursionError):
        raise UsageError(
            "bad-target", "the mapping is not made of JSON values", hint="hand over what json.loads gave", step="locate"
        ) from None


def _plain(value: object) -> dict[Any, Any]:
    """What is a mapping and no dict, such as ``agent.document``."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError("no JSON value")


def read_place(url: str) -> Domain | Document | Base:
    """The place that an absolute https or http URL means, its fragment aside.

    Raises:
        ValueError: it is no absolute URL.
    """
    parts = split(url)
    whole = f"{parts.origin}{parts.path}{'?' + parts.query if parts.query else ''}"
    if parts.query or names_a_document(parts.path):
        return Document(url=whole)
    return Domain(origin=parts.origin) if parts.path in ("", "/") else Base(url=whole)


def _read_url(text: str) -> Target:
    scheme = text.partition("://")[0].lower()
    if scheme not in ("https", "http"):
        raise _bad(text, f"the scheme {scheme[:20]!r} is not one that is fetched", "give an https URL or a domain")
    try:
        parts = split(text)
    except ValueError as exc:
        raise _bad(text, f"{exc}", "give an absolute https URL") from None
    if parts.userinfo:
        raise _bad(text, "a URL with a user name or password is not fetched", "bind credentials with credentials={...}")
    if parts.fragment:
        url = f"{parts.origin}{parts.path}{'?' + parts.query if parts.query else ''}"
        return EntryOf(url=url, identifier=unquote(parts.fragment))
    return read_place(text)


def _read_host(text: str, network: NetworkPolicy, names: Collection[str]) -> Target:
    if any(character in text for character in "/?#@"):
        raise _bad(text, "a target without a scheme is a domain or a configured name", f'write "https://{_show(text)}"')
    host, port = _host_and_port(text)
    if is_single_label(host) and host != "localhost" and not network.allow_private:
        known = f"the configured names are {', '.join(sorted(names))}" if names else "no names are configured"
        raise _bad(text, f"it is neither a domain nor a configured name; {known}", "write the whole domain name")
    scheme = "http" if network.loopback and is_loopback(host) else "https"
    shown = f"[{host}]" if ":" in host else host
    return Domain(origin=split(f"{scheme}://{shown}{f':{port}' if port is not None else ''}").origin)


def _host_and_port(text: str) -> tuple[str, int | None]:
    if ":" in text and literal(text) is not None:
        return ascii_host(text), None
    found = _HOST_PORT.match(text)
    if found is None:
        raise _bad(text, "it is no domain and no https URL", "give a domain, or a URL that begins with https://")
    port = int(found["port"]) if found["port"] else None
    if port is not None and not 0 < port < 65_536:
        raise _bad(text, "the port is not between 1 and 65535")
    try:
        return ascii_host(found["host"]), port
    except ValueError:
        raise _bad(text, "it is no domain name", "give a domain, or a URL that begins with https://") from None


def _show(text: str) -> str:
    text = without_userinfo(text)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def _bad(text: str, message: str, hint: str | None = None) -> UsageError:
    return UsageError("bad-target", f"{_show(text)!r} cannot be discovered: {message}", hint=hint, step="locate")
