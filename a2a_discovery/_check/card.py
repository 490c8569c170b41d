"""`check_card`: everything that is wrong with a card, odd in it, or better said otherwise, without ever raising."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from a2a_discovery._card.json import JSON, decode
from a2a_discovery._card.read import read_card
from a2a_discovery._card.upgrade import Upgraded, upgrade
from a2a_discovery._check.codes import explained
from a2a_discovery._check.content import check_content
from a2a_discovery._check.examples import example
from a2a_discovery._check.interfaces import check_interfaces
from a2a_discovery._check.scan import scan
from a2a_discovery._check.secret import check_secrets, is_secret
from a2a_discovery._check.security import check_security
from a2a_discovery._check.signing import check_signing
from a2a_discovery._check.subject import Subject, worst_first
from a2a_discovery._check.wording import check_texts, check_wording
from a2a_discovery._finding import Finding
from a2a_discovery.errors import CardError, UsageError
from a2a_discovery.policy import Limits

if TYPE_CHECKING:
    from a2a_discovery._agent import Agent

_LIMITS = Limits()
_BOM = b"\xef\xbb\xbf"


def check_card(
    card: Mapping[str, Any] | bytes | Agent, *, url: str | None = None, strict: bool = False
) -> tuple[Finding, ...]:
    """Everything that is wrong with a card, odd in it, or better said otherwise: for whoever publishes it.

    Three groups of rules: the specification, interoperability with the SDKs of today, and good sense (secrets, private
    addresses, texts that help nobody). ``docs/findings.md`` has a paragraph for each code. No request is made.

    Args:
        card: the card as a mapping, as the bytes of its document, or an `Agent`, whose own findings come along.
        url: the URL that answered with it, where there is one; an `Agent` knows its own.
        strict: what a tolerant reader would repair is an error.

    Returns:
        Findings, the worst first, each with its JSON pointer into the document, what to write instead (``fix``) and the
        section of the rule. ``error``: readers refuse it, or nobody should publish it; ``warning``: some readers do, or
        it misleads them; ``advice``: it could be better.

    Raises:
        UsageError: ``bad-config``, for an argument of another type. Nothing else, whatever the card holds.
    """
    body, url, found = _given(card, url)
    if len(body) > _LIMITS.card_bytes:
        return _alone("too-large", f"it has more than {_LIMITS.card_bytes} bytes")
    try:
        document = decode(body, depth=_LIMITS.depth)
    except CardError as refusal:
        return _alone("not-json", refusal.message)
    findings = check_document(document, url=url, strict=strict, found=found)
    if not body.startswith(_BOM):
        return findings
    message = "the document begins with a byte order mark"
    mark = Finding(code="byte-order-mark", severity="error" if strict else "warning", pointer="", message=message)
    return worst_first((*findings, explained(mark)))


def check_document(
    document: JSON, *, url: str | None, strict: bool, found: tuple[Finding, ...] = ()
) -> tuple[Finding, ...]:
    """`check_card` for a document that `decode` gave."""
    if not isinstance(document, dict):
        return _refused(document, strict=strict)
    upgraded = upgrade(document, url=url, strict=strict)
    subject = _subject(document, upgraded, url=url, strict=strict)
    refused = () if upgraded.readable else _refused(document, strict=strict)
    foreign = any(finding.code == "not-an-agent-card" for finding in refused)
    read = refused if foreign else upgraded.findings
    subject.take(_with_example(finding) for finding in read)
    seen = scan(document)
    check_secrets(subject, seen)
    check_wording(subject, seen)
    if not foreign:
        _check_as_card(subject)
        check_texts(subject, seen)
        for path in seen.numbers:
            subject.say_in_document("unsafe-number", "readers that hold numbers as doubles round this one", path)
        if seen.empty and upgraded.readable and not subject.legacy:
            check_signing(subject)
    subject.take(found)
    findings = worst_first(subject.found, subject.left_out)
    return _without_secrets(findings) if seen.long_names else findings


def subject_of(document: JSON, *, url: str | None, strict: bool) -> Subject:
    """A document to note further findings on."""
    card = document if isinstance(document, dict) else {}
    return _subject(card, upgrade(card, url=url, strict=strict), url=url, strict=strict)


def _subject(document: Mapping[str, JSON], upgraded: Upgraded, *, url: str | None, strict: bool) -> Subject:
    return Subject(
        document=document,
        value=upgraded.value,
        origins=upgraded.origins,
        legacy=upgraded.legacy,
        url=url,
        strict=strict,
    )


def _check_as_card(subject: Subject) -> None:
    check_interfaces(subject)
    check_security(subject)
    check_content(subject)
    if subject.legacy:
        subject.say_in_document("legacy-card", "the card has the shape of A2A 0.x", ())


def _given(card: object, url: str | None) -> tuple[bytes, str | None, tuple[Finding, ...]]:
    """The bytes of the document, its URL, and what is known of it already."""
    if url is not None and not isinstance(url, str):
        raise _bad(f"url is text, not {type(url).__name__}")
    if isinstance(card, (bytes, bytearray, memoryview)):
        return bytes(card), url, ()
    if isinstance(card, (Mapping, list)):
        return _written(card), url, ()
    document, source = getattr(card, "document", None), getattr(card, "source", None)
    if isinstance(document, Mapping) and source is not None:
        findings = tuple(getattr(card, "findings", ()))
        return _written(document), url or source.url, findings
    raise _bad(f"check_card takes a mapping, bytes or an Agent, not {type(card).__name__}")


def _bad(message: str) -> UsageError:
    return UsageError("bad-config", message, hint="for a file: check_card(path.read_bytes())")


def _written(value: object) -> bytes:
    """A mapping as text: one copy that nobody edits, of JSON values alone, and bounded like any other document."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, default=_plain).encode("utf-8")
    except UnicodeEncodeError:
        return b'"\\ud800"'  # half a surrogate pair: `decode` says so
    except (TypeError, ValueError, RecursionError):
        raise _bad("the mapping is not made of JSON values") from None


def _plain(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError("no JSON value")


def _alone(code: str, message: str) -> tuple[Finding, ...]:
    return (explained(Finding(code=code, severity="error", pointer="", message=message)),)


def _refused(document: JSON, *, strict: bool) -> tuple[Finding, ...]:
    """Why a document is no card."""
    try:
        read_card(document, url=None, strict=strict)
    except CardError as refusal:
        return tuple(explained(finding) for finding in refusal.findings)
    return ()


def _with_example(finding: Finding) -> Finding:
    line = example(finding.code, finding.pointer)
    return replace(finding, fix=line) if line else finding


def _without_secrets(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """A secret may be the *name* of a member; then the pointer ends above it."""
    return tuple(_cut(finding) if is_secret(finding.pointer) else finding for finding in findings)


def _cut(finding: Finding) -> Finding:
    head = finding.pointer
    while is_secret(head):
        head = head.rpartition("/")[0]
    return replace(finding, pointer=head)
