"""Where a page says its site's catalog is: ``Link`` header fields (RFC 8288) and HTML ``link`` elements."""

from __future__ import annotations

import re
from collections.abc import Iterator

from a2a_discovery._catalog.urls import absolute

RELATIONS = ("ard", "ai-catalog")
"""In the order in which they count."""

_HEAD = 65_536
"""Bytes of a page that are looked at: a head is shorter."""
_FIELD = 8_192
"""Characters of the Link fields that are looked at: what servers allow a whole header."""
_LINK = re.compile(r'<([^<>]*)>((?:\s*;\s*[\w!#$&+.^`|~*-]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s";,]*))?)*)')
_ELEMENT = re.compile(rb"<link\b([^<>]{0,2048})>", re.IGNORECASE)
_ATTRIBUTE = re.compile(rb"""([a-z][a-z-]{0,30})\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)""", re.IGNORECASE)
_PARAMETER = re.compile(r';\s*rel\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s";,]+))', re.IGNORECASE)


def linked_catalogs(headers: str, page: bytes, url: str) -> list[str]:
    """The catalogs that an answer links to, best first.

    Args:
        headers: its ``Link`` fields, joined by commas; ``""`` where there is none.
        page: its body, which need not be HTML.
        url: the URL that answered.
    """
    found = [*_in_headers(headers[:_FIELD]), *_in_page(page)]
    ordered = (target for relation in RELATIONS for rel, target in found if relation in rel.lower().split())
    return list(dict.fromkeys(place for target in ordered if (place := absolute(target, url)) is not None))


def _in_headers(headers: str) -> Iterator[tuple[str, str]]:
    for target, parameters in _LINK.findall(headers):
        rel = _PARAMETER.search(parameters)
        if rel is not None:
            yield rel[1] or rel[2] or "", target


def _in_page(page: bytes) -> Iterator[tuple[str, str]]:
    for attributes in _ELEMENT.findall(page[:_HEAD]):
        given = {name.lower(): value.strip(b"\"'") for name, value in _ATTRIBUTE.findall(attributes)}
        if b"rel" in given and b"href" in given:
            yield _text(given[b"rel"]), _text(given[b"href"])


def _text(value: bytes) -> str:
    from html import unescape  # a table of two thousand entities: only for a page that links to something

    return unescape(value.decode("utf-8", "replace"))
