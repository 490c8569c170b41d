"""Interfaces: ``supportedInterfaces`` as 1.0 has it, out of every earlier spelling (A2A section 4.4.6)."""

from __future__ import annotations

import re

from a2a_discovery._card.json import JSON
from a2a_discovery._card.notes import Path
from a2a_discovery._card.parts import Built, Context, Row, built, place
from a2a_discovery._urls import join

_VERSION = re.compile(r"v?([0-9]{1,4})(?:\.([0-9]{1,4}))?((?:[.+-][0-9A-Za-z.+-]*)?)\Z")
_RELATIVE = re.compile(r"\.{0,2}/")
# what no URL has; resolving it would hide from selection that it is a template or worse
_ODD = re.compile(r"[\x00-\x20\x7f\\^`{}|<>\"]")
# what the operations of HTTP+JSON end in (section 11.3)
_OPERATION = re.compile(r":(?:send|stream)/?\Z")
_LEGACY_SIGNS = ("preferredTransport", "additionalInterfaces", "supportsAuthenticatedExtendedCard")

OLDEST_SPOKEN = "0.3"
"""What a 0.1 or 0.2 agent is spoken to: the operations are the same, and nothing older has a name of its own."""

_BINDINGS = {
    "jsonrpc": "JSONRPC",
    "jsonrpc2.0": "JSONRPC",
    "jsonrpchttp": "JSONRPC",
    "grpc": "GRPC",
    "httpjson": "HTTP+JSON",
    "httpjsonrest": "HTTP+JSON",
    "rest": "HTTP+JSON",
}


def is_legacy(card: dict[str, JSON], *, strict: bool) -> bool:
    """Whether a card is of the shape that was before 1.0: its endpoint is a top-level ``url``.

    A hybrid, which has both shapes, is a 1.0 card. A legacy shape that claims 1.x is legacy too, except where nothing
    is to be repaired.
    """
    interfaces = card.get("supportedInterfaces")
    if interfaces not in (None, []):
        return False
    version = _parsed(card.get("protocolVersion"))
    if strict and version is not None and version[0] >= 1:
        return False
    if any(card.get(name) is not None for name in ("url", *_LEGACY_SIGNS)):
        return True
    return "supportedInterfaces" not in card and version is not None and version[0] == 0


def from_legacy(context: Context, card: Built) -> None:
    """Put ``supportedInterfaces`` together from the main endpoint and the additional ones (v0.3 section 5.6)."""
    context.dialect = _legacy_dialect(context, card)
    main = Built({}, {"url": ("url",), "protocolBinding": place(card, (), "preferredTransport")})
    if "url" in card:
        main["url"] = card.pop("url")
    transport = card.pop("preferredTransport", None)
    # absent means JSON-RPC: v0.3's default, and all that was before it
    main["protocolBinding"] = "JSONRPC" if transport is None else transport
    row = Row()
    row.put(main, ("url",))
    _add(context, row, card)
    card.pop("protocolVersion", None)
    card["supportedInterfaces"] = row
    card.places["supportedInterfaces"] = ("url",)


def _add(context: Context, row: Row, card: Built) -> None:
    more = card.get("additionalInterfaces")
    at = place(card, (), "additionalInterfaces")
    if more is not None and not isinstance(more, list):
        context.notes.error("wrong-type", at, "it must be a list")
        return
    card.pop("additionalInterfaces", None)
    seen = {_offer(row[0])}
    for index, entry in enumerate(more or ()):
        here = (*at, index)
        if not isinstance(entry, dict):
            row.put(entry, here)
            continue
        other = Built(entry)
        if "protocolBinding" not in other:
            other.places["protocolBinding"] = (*here, "transport")
            if "transport" in other:
                other["protocolBinding"] = other.pop("transport")
        offer = _offer(other)
        # v0.3 asks publishers to repeat the main endpoint; an entry that says more than that is kept
        if offer is not None and offer in seen and len(other) == 2:
            continue
        seen.add(offer)
        row.put(other, here)


def _offer(entry: JSON) -> tuple[str, str] | None:
    if not isinstance(entry, dict):
        return None
    url, binding = entry.get("url"), entry.get("protocolBinding")
    return (url, folded(binding)) if isinstance(url, str) and isinstance(binding, str) else None


def _legacy_dialect(context: Context, card: Built) -> tuple[str, Path]:
    at = place(card, (), "protocolVersion")
    written = card.get("protocolVersion")
    version = _parsed(written)
    if written is not None and not isinstance(written, str):
        context.notes.repair("wrong-type", at, "it must be text, such as the text 0.3.0")
    if version is None:
        context.notes.warning("version-assumed", at, "the card names no protocol version; it is spoken to as 0.3")
        return OLDEST_SPOKEN, at
    if version < (0, 3):
        context.notes.warning("old-version", at, "this is older than 0.3; the agent is spoken to as 0.3")
        return OLDEST_SPOKEN, at
    if version[0] == 1:
        message = "it claims 1.x, but the card has the shape of 0.3; it is spoken to as 0.3"
        context.notes.repair("ambiguous-generation", at, message)
        return OLDEST_SPOKEN, at
    return "{}.{}".format(*version), at


def inherited(card: Built) -> tuple[str, Path] | None:
    """The version that the drafts of 1.0 gave once for the whole card."""
    version = _parsed(card.get("protocolVersion"))
    if version is not None:
        return _spoken(version), place(card, (), "protocolVersion")
    several = card.get("protocolVersions")
    first = _parsed(several[0]) if isinstance(several, list) and several else None
    return (_spoken(first), (*place(card, (), "protocolVersions"), 0)) if first is not None else None


def interface(context: Context, value: dict[str, JSON], src: Path, _dst: Path) -> dict[str, JSON]:
    """One entry of ``supportedInterfaces``."""
    entry = built(value)
    _set_version(context, entry, src)
    binding = entry.get("protocolBinding")
    if isinstance(binding, str) and folded(binding) != binding and not context.strict:
        message = "the core bindings are spelled JSONRPC, GRPC and HTTP+JSON"
        context.notes.warning("transport-folded", place(entry, src, "protocolBinding"), message)
        entry["protocolBinding"] = folded(binding)
    url = entry.get("url")
    if isinstance(url, str) and _RELATIVE.match(url) and not _ODD.search(url):
        entry["url"] = _resolved(context, url, place(entry, src, "url"))
    if isinstance(url, str) and _OPERATION.search(url):
        message = "this is the URL of one operation; an interface has the one that all of them begin with"
        context.notes.warning("operation-url", place(entry, src, "url"), message)
    return entry


def _set_version(context: Context, entry: Built, src: Path) -> None:
    written, at = entry.get("protocolVersion"), place(entry, src, "protocolVersion")
    if written is None or written == "":
        _assume_version(context, entry, at)
        return
    version = _parsed(written)
    if version is None:
        return
    spoken = _spoken(version)
    if written == spoken:
        return
    if version < (0, 3):
        context.notes.warning("old-version", at, "this is older than 0.3; the interface is spoken to as 0.3")
    else:
        context.notes.advice("version-form", at, "a protocol version is written Major.Minor (section 3.6)")
    entry["protocolVersion"] = spoken


def _assume_version(context: Context, entry: Built, at: Path) -> None:
    if context.legacy and context.dialect is not None:
        entry["protocolVersion"], entry.places["protocolVersion"] = context.dialect
        return
    if context.strict:
        return
    code = "missing-required"
    if "protocolVersion" in entry:
        code = "null-required" if entry["protocolVersion"] is None else "empty-required"
    context.notes.warning(code, at, "each interface must say which protocol version it speaks")
    version, source = context.dialect or (OLDEST_SPOKEN, at)
    context.notes.warning("version-assumed", at, f"the interface is spoken to as {version}")
    entry["protocolVersion"], entry.places["protocolVersion"] = version, source


def _parsed(version: JSON) -> tuple[int, int] | None:
    found = _VERSION.match(version) if isinstance(version, str) else None
    return (int(found[1]), int(found[2] or 0)) if found else None


def _spoken(version: tuple[int, int]) -> str:
    return OLDEST_SPOKEN if version < (0, 3) else "{}.{}".format(*version)


def folded(binding: str) -> str:
    """A core binding in its own spelling, however it was written; the URI of another one, and the unknown, as it is."""
    if "://" in binding:
        return binding
    return _BINDINGS.get(re.sub(r"[-_+/\s]", "", binding).lower(), binding)


def _resolved(context: Context, url: str, at: Path) -> str:
    if context.strict:
        # The card is readable; selection will not use this interface. An error, yet none that leaves no card.
        context.notes.add("relative-url", "error", at, "an interface URL must be absolute")
        return url
    if context.base is None:
        context.notes.warning("relative-url", at, "the URL is relative, and the card came from no URL")
        return url
    context.notes.warning("relative-url", at, "the URL is relative; it was resolved against the card's own")
    try:
        return join(context.base, url)
    except ValueError:
        return url
