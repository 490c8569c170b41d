"""What a projection gives: an agent that a catalog lists, something to read further, or a row that was left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from a2a_discovery._effects import Channel
from a2a_discovery._finding import Finding
from a2a_discovery._hosts import ascii_host

JSON: TypeAlias = Any
"""A decoded document; a top-level array of a large one may be a `Rows`, which can only be iterated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """How the document that lists an entry came to us."""

    url: str
    """The URL that answered with it, after redirects."""
    asked: str
    """The URL that was asked for."""
    channel: Channel
    fetched_at: float = 0.0
    """Seconds since the epoch."""
    expires_at: float = 0.0
    redirects: tuple[str, ...] = ()
    etag: str | None = None
    via: tuple[str, ...] = ()
    """The documents that led to this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """One agent that a catalog, registry, merchant profile or list names: ``await discover(entry)`` gives the agent.

    It says where a card is, or holds the card. None of its other words are ever written into the card, and none of
    them is a reason to trust it.
    """

    identifier: str
    """Opaque; ``urn:air:HOST:...`` names a publisher, and proves nothing about it."""
    source: str
    """The URL of the document that lists it, or what the caller handed over."""
    url: str | None = None
    """Where the card is: exactly one of ``url`` and ``card``."""
    card: Mapping[str, Any] | None = field(default=None, repr=False, hash=False)
    """The card itself, as it stood in the catalog."""
    base: bool = False
    """``url`` is the base URL or the origin of the agent, not the URL of its card."""
    display_name: str | None = None
    description: str | None = None
    version: str | None = None
    """For choosing among entries of one identifier; the card has a version of its own."""
    updated_at: str | None = None
    tags: tuple[str, ...] = ()
    digest: str | None = None
    """``sha256:`` and lower-case hex, over the bytes at ``url`` or the canonical form of ``card``."""
    type: str | None = None
    """The media type as the catalog wrote it, or ``None``."""
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """The whole row as received: trust manifests, scores, extensions, none of which is verified."""
    listed: Listed | None = field(default=None, repr=False, compare=False)
    """How its catalog came to us; ``None`` for one that the caller handed over."""

    @property
    def name(self) -> str:
        """What to show: the catalog's name for it, else the card's own, else the end of its identifier."""
        own = text_of(self.card.get("name")) if self.card is not None else None
        end = self.identifier.rpartition(":")[2] if self.identifier[:4].lower() == "urn:" else None
        return self.display_name or own or end or self.identifier

    @property
    def via(self) -> tuple[str, ...]:
        """The chain of documents that led to it, its own catalog last."""
        return (*self.listed.via, *self.listed.redirects, self.listed.url) if self.listed is not None else ()

    @property
    def publisher(self) -> str | None:
        """The host that a ``urn:air:HOST:...`` identifier names, in ASCII form."""
        return publisher_of(self.identifier)


_Draft: Any = type("_Draft", (), {"__slots__": CatalogEntry.__slots__})


def linked_entry(row: Mapping[str, Any], *, identifier: str, source: str, url: str, kind: str) -> CatalogEntry:
    """The entry of a row that says where its card is; the row has no digest.

    Of a large catalog nearly all are such. To fill a frozen object takes nine times as long as one that is not, so it
    becomes one once it is full.
    """
    get, entry = row.get, _Draft()
    entry.identifier, entry.source, entry.url, entry.card, entry.base = identifier, source, url, None, False
    entry.display_name = text_of(get("displayName"))
    entry.description = text_of(get("description"))
    entry.version = text_of(get("version"))
    entry.updated_at = text_of(get("updatedAt"))
    entry.tags, entry.digest, entry.type = texts_of(get("tags")), None, kind
    entry.raw, entry.listed = row, None
    entry.__class__ = CatalogEntry
    found: CatalogEntry = entry
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """Something that must be read before it is known which agents it names."""

    kind: Literal["catalog", "registry", "lookup", "profile", "page"]
    """``registry``: a search API; ``lookup``: a row that names an agent and says no more; ``page``: the next page."""
    url: str
    identifier: str = ""
    pointer: str = ""
    levels: int = 1
    """How many levels it lies below the document that names it."""
    version: str | None = None
    """What a followed profile must say its version is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A row that names no agent, and why: reported as a `Finding`, and the other rows stay."""

    code: str
    pointer: str
    message: str
    identifier: str = ""

    @property
    def finding(self) -> Finding:
        """The same as a finding."""
        return Finding(code=self.code, severity="warning", pointer=self.pointer, message=self.message)


Item: TypeAlias = CatalogEntry | Follow | Skipped | Finding
Projection: TypeAlias = Callable[[JSON, str], Iterable[Item]]
"""From a decoded document and its URL (``""`` where it has none) to what it lists. Pure: no I/O."""


LISTS = ("agents", "items", "results", "cards", "agentCards", "registryRecords", "records", "data", "servers")
"""Members of an object that hold the rows of a list; a catalog has ``entries``."""


class Rows:
    """An array of a large document, decoded one element at a time, each time it is iterated.

    An element that is no good JSON by itself comes as a `Bad`.
    """

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], Iterator[Any]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Any]:
        return self._read()


@dataclass(frozen=True, slots=True)
class Bad:
    """An element of an array that could not be decoded."""

    reason: str


def rows(value: object) -> Iterable[Any] | None:
    """The elements of an array, or ``None`` where it is none."""
    return value if isinstance(value, (list, tuple, Rows)) else None


def text_of(value: object) -> str | None:
    """A text that is not empty, or ``None``."""
    return value if isinstance(value, str) and value else None


def texts_of(value: object) -> tuple[str, ...]:
    """The texts of an array; what is no text is left out."""
    return tuple([each for each in value if isinstance(each, str)]) if isinstance(value, (list, tuple)) else ()


def publisher_of(identifier: str) -> str | None:
    """The host that ``urn:air:HOST:...`` names, in ASCII form, or ``None``.

    A name that is no host stays as it is, in lower case: no authority will ever be it.
    """
    head, _, rest = identifier.partition(":")
    kind, _, rest = rest.partition(":")
    if head.lower() != "urn" or kind.lower() != "air" or not rest:
        return None
    host = rest.partition(":")[0]
    try:
        return ascii_host(host)
    except ValueError:
        return host.lower()
