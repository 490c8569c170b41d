"""What the answer says around the card: media type, caching, redirects, and how it differs from the next (A2A 8.6)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from a2a_discovery._card.json import JSON, decode
from a2a_discovery._check.subject import Subject
from a2a_discovery._effects import Fetched
from a2a_discovery.errors import CardError, DiscoveryError
from a2a_discovery.policy import Limits

_JSON_TYPE = re.compile(r"\s*application/(?:[\w.+-]+\+)?json\s*(?:;.*)?\Z", re.IGNORECASE)
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([\w-]+)", re.IGNORECASE)
_MAX_AGE = re.compile(r"(?:^|[,\s])max-age\s*=\s*\"?([0-9]{1,10})", re.IGNORECASE)
_DEPTH = Limits().depth


def check_answer(subject: Subject, answer: Fetched) -> None:
    """Judge the answer that brought the card."""
    kind = answer.headers.get("content-type")
    if kind is None:
        subject.say("media-type", "the answer has no Content-Type")
    elif not _JSON_TYPE.match(kind):
        subject.say("media-type", "the Content-Type of the answer is no JSON type")
    elif (charset := _CHARSET.search(kind)) is not None and charset[1].lower() not in ("utf-8", "utf8", "us-ascii"):
        subject.say("media-type", "the Content-Type names another charset than UTF-8, and JSON has no other")
    if answer.channel == "plain":
        subject.say("plain-http", "nobody vouches for a card that came over plain http")
    if answer.redirects:
        hops = len(answer.redirects)
        subject.say("redirected", f"{hops} redirect{'s' if hops > 1 else ''} led to the card")
    if not (answer.headers.get("etag") or answer.headers.get("last-modified")):
        subject.say("no-etag", "the answer has neither an ETag nor a Last-Modified")
    told = answer.headers.get("cache-control")
    if told is None and "expires" not in answer.headers:
        subject.say("no-max-age", "the answer has no Cache-Control")
    elif told is not None and (_is_barred(told) or lifetime(answer) == 0):
        subject.say("not-cacheable", "by its Cache-Control, no copy may be used without asking again")
    elif told is not None and lifetime(answer) is None and "expires" not in answer.headers:
        subject.say("no-max-age", "the Cache-Control of the answer has no max-age")


def _is_barred(told: str) -> bool:
    words = {word.strip().lower() for word in told.split(",")}
    return not words.isdisjoint(("no-store", "no-cache"))


def lifetime(answer: Fetched) -> int | None:
    """Seconds that the answer may be kept, where it says so by ``max-age``."""
    found = _MAX_AGE.search(answer.headers.get("cache-control", ""))
    return int(found[1]) if found is not None else None


def check_second(subject: Subject, first: Fetched, second: Fetched | DiscoveryError) -> bool:
    """Compare the answer with a second one to the same request.

    Returns:
        Whether both have one ETag, so that a condition makes sense.
    """
    if isinstance(second, DiscoveryError) or second.status != 200:
        return False
    tag, other = first.headers.get("etag"), second.headers.get("etag")
    one, two = content(first.body), content(second.body)
    if one is None or two is None:
        return False
    if tag and other and tag != other and one == two:
        signed = first.body != second.body and parsed(first.body) != parsed(second.body)
        by = ": it is signed anew for each request" if signed else ""
        subject.say("etag-unstable", f"two requests got the same card under different ETags{by}")
    if tag and tag == other and parsed(first.body) != parsed(second.body):
        subject.say("etag-blind", "two requests got different cards under the same ETag")
    if one != two and one.get("version") == two.get("version"):
        subject.say("version-unchanged", "two requests got different cards of the same version", "version")
    return bool(tag) and tag == other


def check_condition(subject: Subject, answer: Fetched | DiscoveryError) -> bool:
    """Judge the answer to a request with the current ETag: whether it is a 304."""
    if isinstance(answer, DiscoveryError):
        return False
    if answer.status == 200:
        subject.say("etag-ignored", "a request with the current ETag was answered with the whole card")
    return answer.status == 304


def check_older(subject: Subject, first: Fetched, older: Fetched | DiscoveryError) -> None:
    """Judge the answer to a client that asks for 0.3 (section 3.6)."""
    if isinstance(older, DiscoveryError) or older.status in (401, 403, 429) or older.status >= 500:
        return
    if older.status >= 400:
        subject.say("version-refused", f"a request with A2A-Version 0.3 was answered {older.status}")
        return
    one, two = content(first.body), content(older.body)
    if one is None or two is None or one == two:
        return
    named = f"{first.headers.get('vary', '')},{older.headers.get('vary', '')}".lower()
    if "a2a-version" not in named and "*" not in named:
        subject.say("vary-missing", "the card differs by A2A-Version, and Vary does not name it")


def parsed(body: bytes) -> JSON:
    """The document, or ``None`` where it is none."""
    try:
        return decode(body, depth=_DEPTH)
    except CardError:
        return None


def content(body: bytes) -> Mapping[str, JSON] | None:
    """The card without its signatures, or ``None`` where it is no object."""
    document = parsed(body)
    if not isinstance(document, dict):
        return None
    return {name: value for name, value in document.items() if name != "signatures"}
