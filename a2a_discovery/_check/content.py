"""The rest of what 1.0 asks of a card: modes, skills, links, extensions, and signatures that can be read."""

from __future__ import annotations

import re
from collections.abc import Mapping

from a2a_discovery._card.json import JSON
from a2a_discovery._check.subject import Subject, members, objects, text, texts
from a2a_discovery._hosts import is_loopback
from a2a_discovery._trust.jws import Entry, read_entry
from a2a_discovery._urls import split
from a2a_discovery.policy import ALGORITHMS, Limits

_TOKEN = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"  # noqa: S105  (RFC 9110 section 5.6.2)
_MEDIA_TYPE = re.compile(rf"{_TOKEN}/{_TOKEN}(?:\s*;.*)?\Z")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s,<>\"{}|\\^`]+\Z")
_VERSION = re.compile(r"(?:^|[/:#@_.-])v?[0-9]")
_MODES = ("defaultInputModes", "defaultOutputModes")
_SIGNATURES = Limits().signatures


def check_content(subject: Subject) -> None:
    """Judge modes, skills, links, extensions and signatures."""
    for name in _MODES:
        _check_modes(subject, subject.value, name, ())
    _check_skills(subject)
    _check_links(subject)
    _check_extensions(subject)
    for index, entry in list(objects(subject.value.get("signatures")))[:_SIGNATURES]:
        _check_signature(subject, index, entry)


def _check_modes(subject: Subject, holder: Mapping[str, JSON], name: str, at: tuple[str | int, ...]) -> None:
    for index, mode in texts(holder.get(name)):
        if not _MEDIA_TYPE.match(mode):
            subject.say("bad-media-type", "it is no media type, such as text/plain", *at, name, index)


def _check_skills(subject: Subject) -> None:
    seen: set[str] = set()
    for index, skill in objects(subject.value.get("skills")):
        name = text(skill.get("id"))
        if name and name in seen:
            subject.say("duplicate-skill", "a skill before it has the same id", "skills", index, "id")
        seen.add(name)
        for modes in ("inputModes", "outputModes"):
            _check_modes(subject, skill, modes, ("skills", index))


def _check_links(subject: Subject) -> None:
    provider = members(subject.value.get("provider"))
    for url, *at in (
        (subject.value.get("documentationUrl"), "documentationUrl"),
        (subject.value.get("iconUrl"), "iconUrl"),
        (provider.get("url"), "provider", "url"),
    ):
        if isinstance(url, str) and url and not _is_link(url, image=at == ["iconUrl"]):
            subject.say("bad-link", "it is no absolute http or https URL", *map(str, at))


def _is_link(url: str, *, image: bool) -> bool:
    if image and url.startswith("data:image/"):
        return True
    try:
        return split(url).scheme in ("http", "https")
    except ValueError:
        return False


def _check_extensions(subject: Subject) -> None:
    seen: set[str] = set()
    for index, extension in objects(members(subject.value.get("capabilities")).get("extensions")):
        at = ("capabilities", "extensions", index)
        uri = text(extension.get("uri"))
        if not uri:
            subject.say("extension-without-uri", "nobody can name this extension", *at)
            continue
        if not _URI.match(uri):
            subject.say("extension-uri", "it is no URI", *at, "uri")
        elif not _VERSION.search(uri.partition("://")[2].partition("/")[2] or uri.partition(":")[2]):
            subject.say("extension-version", "the URI carries no version", *at, "uri")
        if uri in seen:
            subject.say("duplicate-extension", "an extension before it has the same URI", *at)
        seen.add(uri)


def _check_signature(subject: Subject, index: int, entry: Mapping[str, JSON]) -> None:
    read = read_entry(index, dict(entry), algorithms=ALGORITHMS)
    at = ("signatures", index)
    if not isinstance(read, Entry):
        if read.status == "malformed":
            subject.say("malformed-signature", read.reason, *at)
        else:
            message = "its algorithm, or a critical parameter of its header, is none that verifiers accept"
            subject.say("forbidden-algorithm", message, *at, "protected")
        return
    if read.kid is None:
        subject.say("signature-without-kid", "its protected header has no kid", *at, "protected")
    if read.odd_typ:
        subject.say("odd-typ", "the typ of its protected header is neither JOSE nor JWT", *at, "protected")
    if read.jku is not None and not _is_safe_place(read.jku):
        subject.say("plain-key-url", "the jku of its protected header is no https URL", *at, "protected")


def _is_safe_place(jku: str) -> bool:
    try:
        parts = split(jku)
    except ValueError:
        return False
    return parts.scheme == "https" or is_loopback(parts.host)
