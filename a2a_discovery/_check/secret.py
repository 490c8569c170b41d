"""Secrets in a card, found by their form or by the name they stand under; never quoted (A2A section 14.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from a2a_discovery._card.notes import Path
from a2a_discovery._check.scan import Scan, plain
from a2a_discovery._check.subject import Subject

_FORMS = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\bgithub_pat_[A-Za-z0-9_]{20,}"
    r"|\bglpat-[A-Za-z0-9_-]{16,}"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}"
    r"|\b(?:sk|rk|pk)_live_[A-Za-z0-9]{10,}"
    r"|\bsk-(?:[a-z]+-)*[A-Za-z0-9_-]{20,}"
    r"|\bAIza[A-Za-z0-9_-]{30,}"
    r"|\bhf_[A-Za-z0-9]{30,}"
    r"|\bnpm_[A-Za-z0-9]{30,}"
    r"|\bpypi-[A-Za-z0-9_-]{50,}"
    r"|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r"|hooks\.slack\.com/services/[A-Z0-9]+/[A-Z0-9]+/"
    r"|\b[Bb]earer [A-Za-z0-9._~+/-]{24,}"
)
"""Forms that issuers gave their secrets so that they are found."""
_SIGNS = (
    "PRIVATE KEY", "AKIA", "ASIA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "k_live_",
    "sk-", "AIza", "hf_", "npm_", "pypi-", "SG.", "eyJ", "hooks.slack", "earer ",
)  # fmt: skip
"""Parts of the forms: looking for these is far cheaper than the whole expression."""
_IN_URL = re.compile(
    r"[?&;#](?:api[_-]?key|key|token|access[_-]?token|auth|secret|client[_-]?secret|password|passwd|pwd|sig|signature"
    r"|x-amz-signature)=(?P<value>[^&#\s\"'<>]{8,})",
    re.IGNORECASE,
)
_USERINFO = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/@:\"'<>]{1,200}:(?P<value>[^\s/@\"'<>]{1,200})@", re.IGNORECASE
)

_PASSWORDS = frozenset(("password", "passwd", "pwd", "passphrase", "secret", "clientsecret", "credentials"))
_TOKENS = frozenset(
    (
        *("apikey", "apisecret", "accesstoken", "refreshtoken", "idtoken", "authtoken", "bearertoken", "token"),
        *("privatekey", "secretkey", "accesskey", "signingkey", "sessionid", "sessiontoken", "jwt", "authorization"),
    )
)
_NAMES = _PASSWORDS | _TOKENS
_ONE_WORD = re.compile(r"[!-~]{8,4096}\Z")
_STAND_IN = re.compile(
    r"[<>{}$*]|\.\.\.|x{4}|(?i:your|example|change|replace|placeholder|dummy|sample|redacted|todo|none|null|required"
    r"|optional|insert|fixme|env[:.]|vault:)"
)
"""What stands where a secret would be filled in."""


def check_secrets(subject: Subject, seen: Scan) -> None:
    """Note every place that seems to hold a secret."""
    for path in seen.private_keys:
        subject.say_in_document("secret-in-card", "the private part of a key stands here", path)
    for number, message in _found(seen):
        subject.say_in_document("secret-in-card", message, seen.place(number))
    for path, name in seen.long_names:
        if is_secret(name):
            subject.say_in_document("secret-in-card", "the name of a member in here has the form of a secret", path)


def _found(seen: Scan) -> Iterator[tuple[int, str]]:
    whole = seen.whole
    likely = seen.holding(_SIGNS)
    linked = "://" in whole and ("=" in whole or "@" in whole)
    named = {name for name in seen.names if plain(name) in _NAMES}
    if not (likely or linked or named):
        return
    for number, (path, name, text) in enumerate(seen.texts):
        if number in likely and _formed(text):
            yield number, "this has the form of a secret"
        elif linked and "://" in text and ("=" in text or "@" in text) and _in_url(text):
            yield number, "a URL in this text holds a secret"
        elif name in named and _named(path, plain(name), text):
            yield number, "by its name and form, this is a secret"


def is_secret(text: str) -> bool:
    """Whether a text holds something of the form of a secret."""
    return any(sign in text for sign in _SIGNS) and _formed(text)


def _formed(text: str) -> bool:
    return any(not _STAND_IN.search(found[0]) for found in _FORMS.finditer(text))


def _in_url(text: str) -> bool:
    for form in (_IN_URL, _USERINFO):
        for found in form.finditer(text):
            if not _STAND_IN.search(found["value"]):
                return True
    return False


def _named(path: Path, name: str, text: str) -> bool:
    if path and path[-1] == "scopes":
        return False  # there a name is a scope, and the text describes it
    if not _ONE_WORD.match(text) or "://" in text or _STAND_IN.search(text):
        return False
    return name in _PASSWORDS or any(map(str.isdigit, text))
