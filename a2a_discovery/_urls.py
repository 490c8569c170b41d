"""One way to take a URL apart, strict enough that no two parsers can disagree about its host."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urljoin, urlsplit

from a2a_discovery._hosts import LONGEST_HOST, ascii_host

# RFC 3986 has no place for these, and lenient parsers differ on them: `\` is `/` to some, a tab is dropped by others.
_ODD = re.compile(r"[\x00-\x20\x7f\\^`{}|<>\"]")
# What most URLs are: a host whose last label is letters, perhaps a port, and a path without anything to be decoded.
PLAIN_PATH = r"(?:/[A-Za-z0-9._~/-]*)?"
_PLAIN = re.compile(
    rf"(https?)://((?:[a-z0-9](?:[a-z0-9-]{{0,61}}[a-z0-9])?\.)*[a-z]{{1,63}})(?::([1-9][0-9]{{0,4}}))?({PLAIN_PATH})\Z"
)
_LAST_PORT = 65535
# What may stand before the authority of a URL, or of what somebody took for one.
_BEFORE_AUTHORITY = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?[/\\]+")
# What is no host with a port: there a colon stands before a password.
_HOST_PORT = re.compile(r"(?:\[[^\[\]]*\]|[^:]*)(?::[0-9]*)?\Z")
_REMEMBERED = 512
"""URLs whose parts are kept: those of sixty lines under way."""
_LONG = 1024
"""The longest of them, in characters: a stranger's may be a megabyte."""
# The standard library normalises an authority that is not ASCII, in time that grows with the square of its length.
_AUTHORITY = re.compile(r"[\x00-\x20]*(?:[^/?#:]*:)?//([^/?#]*)")
_DROPPED = re.compile(r"[\t\r\n]")
_LONGEST_AUTHORITY = 300
"""Characters of an authority that is not ASCII: the longest host has 253, and a port six."""
_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """An absolute URL, taken apart."""

    scheme: str
    host: str
    """ASCII (IDNA) form, lower case; an IPv6 literal without brackets; number forms as the address they are."""
    port: int | None
    """As written, or the scheme's default."""
    path: str
    query: str
    fragment: str
    userinfo: bool

    @property
    def own_port(self) -> int | None:
        """The port, where it isn't the scheme's default."""
        return None if self.port == _DEFAULT_PORTS.get(self.scheme) else self.port

    @property
    def authority(self) -> str:
        """Host and, where it isn't the scheme's default, port, as they stand in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.own_port is None else f"{host}:{self.own_port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port: RFC 6454."""
        return f"{self.scheme}://{self.authority}"

    @property
    def normal(self) -> str:
        """The whole URL without fragment, host in ASCII form."""
        return f"{self.origin}{self.path or '/'}{'?' + self.query if self.query else ''}"


def split(url: str) -> Parts:
    """Take an absolute URL apart.

    Raises:
        ValueError: it is relative, has odd characters, a bad port, or a host that is none.
    """
    # One line takes the same few URLs apart a dozen times. A password is not kept.
    return _split(url) if len(url) > _LONG or "@" in url else _split_before(url)


def _split(url: str) -> Parts:
    return _split_plain(url) or _split_any(url)


def _split_plain(url: str) -> Parts | None:
    """The parts of a URL that nobody can read in two ways: what `_split_any` finds too, at a third of the time."""
    found = _PLAIN.match(url)
    if found is None:
        return None
    scheme, host, written, path = found.groups("")
    port = int(written) if written else _DEFAULT_PORTS[scheme]
    if len(host) > LONGEST_HOST or port > _LAST_PORT:
        return None
    return Parts(scheme=scheme, host=host, port=port, path=path, query="", fragment="", userinfo=False)


def _split_any(url: str) -> Parts:
    if _ODD.search(url):
        raise ValueError("it has characters that no URL has")
    parts = pieces(url)
    if not parts.scheme or not parts.netloc:
        raise ValueError("it is not absolute")
    try:
        port = parts.port
    except ValueError:  # its text repeats what stands after the colon, which may be a password
        raise ValueError("its port is no port") from None
    if port == 0:
        raise ValueError("port 0")
    scheme = parts.scheme.lower()
    return Parts(
        scheme=scheme,
        host=ascii_host(parts.hostname or ""),
        port=port if port is not None else _DEFAULT_PORTS.get(scheme),
        path=parts.path,
        query=parts.query,
        fragment=parts.fragment,
        userinfo="@" in parts.netloc,
    )


_split_before = functools.lru_cache(maxsize=_REMEMBERED)(_split)


def host_of(url: str) -> str | None:
    """The ASCII host of a URL, or ``None`` where it has none."""
    try:
        return split(url).host
    except ValueError:
        return None


def pieces(url: str) -> SplitResult:
    """A stranger's URL or reference in its five parts, none of them judged.

    Raises:
        ValueError: its authority cannot be taken apart.
    """
    _check_authority(url)
    try:
        return urlsplit(url)
    except ValueError:  # its text repeats the authority, a password in it included
        raise ValueError("its authority is none") from None


def join(base: str, url: str) -> str:
    """A reference resolved against a base, RFC 3986 section 5.

    Raises:
        ValueError: its authority cannot be taken apart.
    """
    _check_authority(url)
    try:
        return urljoin(base, url)
    except ValueError:
        raise ValueError("its authority is none") from None


def _check_authority(url: str) -> None:
    if url.isascii() or len(url) <= _LONGEST_AUTHORITY:
        return
    found = _AUTHORITY.match(_DROPPED.sub("", url))  # the standard library drops them wherever they stand
    if found is not None and len(found[1]) > _LONGEST_AUTHORITY and not found[1].isascii():
        raise ValueError("its authority is too long")


def without_userinfo(url: str) -> str:
    """The URL as it may stand in a message: a password in it is cut out."""
    found = _BEFORE_AUTHORITY.match(url)
    head = found[0] if found else ""  # typed without a scheme, a password in it is one all the same
    rest = url[len(head) :]
    netloc, slash, path = rest.partition("/")
    if "@" not in netloc and "@" in path and not _HOST_PORT.match(netloc):
        netloc, slash, path = rest, "", ""  # a password may hold a slash that nobody escaped
    return head + netloc.rpartition("@")[2] + slash + path
