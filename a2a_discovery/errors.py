"""The errors that leave a public call, and nothing else does.

::

    DiscoveryError             never raised itself
    ├── UsageError             the call was wrong: mend the caller
    ├── NotFoundError          there is no card where one was asked for
    ├── FetchError             no usable bytes arrived
    ├── BlockedError           the network policy forbids the address, scheme or host
    ├── CardError              bytes arrived, and they are no card
    ├── TrustError             nobody vouches well enough for the card
    ├── InterfaceError         the card is good, and the caller speaks none of its interfaces
    ├── AuthError              a credential is missing, wrong or not allowed to go there
    └── ExtendedCardError      the public card stays usable, the extended one could not be had

Each has a stable ``code``, the ``url`` it is about, the ``step`` of the line it happened in, and a ``hint``: the one
thing to do next. Messages never carry card text or secrets, and every error pickles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

    from a2a_discovery._finding import Finding
    from a2a_discovery._trust.report import TrustReport

__all__ = [
    "Attempt",
    "AuthError",
    "BlockedError",
    "CardError",
    "DiscoveryError",
    "ExtendedCardError",
    "FetchError",
    "InterfaceError",
    "NotFoundError",
    "TrustError",
    "UsageError",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One URL that was tried, and what came of it."""

    url: str
    status: int | None = None
    """The HTTP status, or ``None`` where no answer arrived."""
    reason: str = ""
    """What made this place "not here", in a few words: ``not found``, ``an HTML page``, ``timeout``."""

    def __str__(self) -> str:
        outcome = " ".join(part for part in (str(self.status) if self.status else "", self.reason) if part)
        return f"{self.url} ({outcome})" if outcome else self.url


class DiscoveryError(Exception):
    """The root: catch this one to catch them all.

    Attributes:
        code: a stable word for code to switch on; each class lists its own in ``codes``.
        message: what happened, for a person.
        url: the URL it is about, without userinfo, or ``None``.
        step: the step of the line: ``locate``, ``fetch``, ``read``, ``verify``, ``select``, ``extend``, or ``None``.
        hint: the one thing to do next, often a finished line of code, or ``None``.
    """

    codes: ClassVar[frozenset[str]] = frozenset()
    facts: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        code: str,
        message: str,
        *,
        url: str | None = None,
        step: str | None = None,
        hint: str | None = None,
        **facts: Any,
    ) -> None:
        if code not in self.codes:
            raise ValueError(f"{type(self).__name__} has no code {code!r}")
        unknown = facts.keys() - set(self.facts)
        if unknown:
            raise TypeError(f"{type(self).__name__} has no attribute {min(unknown)!r}")
        super().__init__(message)
        self.code = code
        self.message = message
        self.url = url
        self.step = step
        self.hint = hint
        for name, value in facts.items():
            setattr(self, name, value)

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, dict(self.__dict__))

    def at(self, *, step: str | None = None, url: str | None = None) -> Self:
        """Fill in the step and URL where the raiser did not know them, and return the same error."""
        self.step = self.step or step
        self.url = self.url or url
        return self


def _rebuild(kind: type[DiscoveryError], message: str, state: dict[str, Any]) -> DiscoveryError:
    error = kind.__new__(kind, message)
    Exception.__init__(error, message)
    error.__dict__.update(state)
    return error


class UsageError(DiscoveryError):
    """The call or its configuration was wrong: ``bad-target``, ``bad-config``."""

    codes = frozenset({"bad-target", "bad-config"})


class NotFoundError(DiscoveryError):
    """No card there: ``no-card``, ``entry-not-found``, ``ambiguous``."""

    codes = frozenset({"no-card", "entry-not-found", "ambiguous"})
    facts = ("attempts", "entries")
    attempts: Sequence[Attempt] = ()
    """Every URL tried, in order, with its status."""
    entries: Sequence[Any] = ()
    """For ``ambiguous``: the catalog entries to choose from."""


class FetchError(DiscoveryError):
    """No usable bytes arrived: ``dns``, ``connect``, ``tls``, ``timeout``, ``http-status``, ``too-large``,
    ``redirect-refused``, ``protocol``.
    """

    codes = frozenset({"dns", "connect", "tls", "timeout", "http-status", "too-large", "redirect-refused", "protocol"})
    facts = ("status", "retry_after", "attempts")
    status: int | None = None
    """The HTTP status, for ``http-status``."""
    retry_after: float | None = None
    """Seconds the server asked us to wait, where it did."""
    attempts: Sequence[Attempt] = ()


class BlockedError(DiscoveryError):
    """The network policy forbids it, before any byte was sent there: ``address``, ``scheme``, ``host``."""

    codes = frozenset({"address", "scheme", "host"})
    facts = ("address",)
    address: str | None = None
    """The address that is not allowed, where one was resolved."""


class CardError(DiscoveryError):
    """The answer is no usable document: ``not-json``, ``not-a-card``, ``invalid-card``, ``not-a-catalog``."""

    codes = frozenset({"not-json", "not-a-card", "invalid-card", "not-a-catalog"})
    facts = ("findings",)
    findings: Sequence[Finding] = ()
    """What is wrong, each at its JSON pointer."""


class TrustError(DiscoveryError):
    """Nobody vouches well enough: ``no-channel``, ``unsigned``, ``bad-signature``, ``unverifiable``,
    ``untrusted-key-host``, ``uncovered``, ``other-publisher``, ``downgraded``, ``refused``.
    """

    codes = frozenset(
        {
            "no-channel",
            "unsigned",
            "bad-signature",
            "unverifiable",
            "untrusted-key-host",
            "uncovered",
            "other-publisher",
            "downgraded",
            "refused",
        }
    )
    facts = ("report",)
    report: TrustReport | None = None
    """The facts the refusal rests on."""


class InterfaceError(DiscoveryError):
    """The card offers nothing the caller can speak: ``no-usable-interface``."""

    codes = frozenset({"no-usable-interface"})
    facts = ("skipped",)
    skipped: Sequence[Finding] = ()
    """Each interface's pointer and the reason it is not usable."""


class AuthError(DiscoveryError):
    """``auth-required`` (401), ``forbidden`` (403), ``no-credential`` (nothing that may be sent there)."""

    codes = frozenset({"auth-required", "forbidden", "no-credential"})
    facts = ("status", "attempts")
    status: int | None = None
    attempts: Sequence[Attempt] = ()


class ExtendedCardError(DiscoveryError):
    """``not-declared``, ``not-configured``, ``unsupported``, ``not-upgraded``, ``mismatch``."""

    codes = frozenset({"not-declared", "not-configured", "unsupported", "not-upgraded", "mismatch"})
    facts = ("pointers",)
    pointers: Sequence[str] = ()
    """For ``mismatch``: where the extended card contradicts the public one."""
