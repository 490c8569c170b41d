"""The URLs that catalogs name: a stranger's word, checked before it is handed on."""

from __future__ import annotations

import re

from a2a_discovery._urls import join, split

# What most URLs look like, so that a hundred thousand need no closer look: nothing that `split` would refuse.
_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_PLAIN = re.compile(
    r"https?://(?=[^/]{1,253}(?:/|\Z))"
    rf"(?:{_LABEL}\.)*(?=[a-z]){_LABEL}"
    r"(?:/[A-Za-z0-9._~:/?@!$&'()*+,;=%-]*)?\Z"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def is_plain(url: str) -> bool:
    """Whether a URL is absolute, http or https, and of the plainest form: as most are."""
    return _PLAIN.match(url) is not None


def absolute(value: object, base: str) -> str | None:
    """The absolute http or https URL that a document at ``base`` means, without fragment; ``None`` where it is none,
    holds a user name, or is relative and the document has no URL.
    """
    if not isinstance(value, str) or not value:
        return None
    if _PLAIN.match(value):
        return value
    try:
        parts = split(_resolved(value.strip(), base))
        parts.normal.encode()  # half a surrogate pair has no bytes, so it cannot be sent
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or parts.userinfo:
        return None
    return f"{parts.origin}{parts.path}{'?' + parts.query if parts.query else ''}"


def _resolved(value: str, base: str) -> str:
    if _SCHEME.match(value) or not base:
        return value  # not joined: that would give "https:///x" the host of its base
    return f"{base.partition(':')[0]}:{value}" if value.startswith("//") else join(base, value)


def names_a_document(path: str) -> bool:
    """Whether a URL's path names a document, so that nothing is looked for below it."""
    segments = path.split("/")
    return ".well-known" in segments or segments[-1] == "card" or segments[-1].endswith(".json")
