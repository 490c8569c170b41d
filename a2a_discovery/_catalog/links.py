"""Where a page says its site's catalog is: ``Link`` header fields (RFC 8288) and HTML ``link`` elements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser

from a2a_discovery._catalog.urls import absolute

RELATIONS = ("ard", "ai-catalog")
"""In the order in which they count."""

_HEAD = 65_536
"""Characters of a page that are looked at: a head is shorter."""
_LINK = re.compile(r'<([^<>]*)>((?:\s*;\s*[\w!#$&+.^`|~*-]+\s*(?:=\s*(?:"(?:[^"\\]|\\.)*"|[^\s";,]*))?)*)')
_PARAMETER = re.compile(r';\s*rel\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";,]+))', re.IGNORECASE)


def linked_catalogs(headers: str, page: bytes, url: str) -> list[str]:
    """The catalogs that an answer links to, best first.

    Args:
        headers: its ``Link`` fields, joined by commas; ``""`` where there is none.
        page: its body, which need not be HTML.
        url: the URL that answered.
    """
    found = [*_in_headers(headers[:_HEAD]), *_in_page(page)]
    ordered = (target for relation in RELATIONS for rel, target in found if relation in rel.lower().split())
    return list(dict.fromkeys(place for target in ordered if (place := absolute(target, url)) is not None))


def _in_headers(headers: str) -> Iterator[tuple[str, str]]:
    for target, parameters in _LINK.findall(headers):
        rel = _PARAMETER.search(parameters)
        if rel is not None:
            yield rel[1] or rel[2] or "", target


def _in_page(page: bytes) -> list[tuple[str, str]]:
    if b"<" not in page[:1024]:
        return []
    reader = _Links()
    # A page that the parser cannot make sense of has no links; it is a stranger's, and need not be well made.
    try:
        reader.feed(page[:_HEAD].decode("utf-8", "replace"))
    except (ValueError, AssertionError):
        return reader.found
    return reader.found


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of a ``link`` element."""
        given = dict(attrs)
        if tag == "link" and given.get("rel") and given.get("href"):
            self.found.append((given["rel"] or "", given["href"] or ""))
