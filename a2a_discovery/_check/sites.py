"""Whether two hosts belong together, without loading the Public Suffix List where that is plain to see."""

from __future__ import annotations

from a2a_discovery._hosts import same_site


def is_near(host: str, other: str) -> bool:
    """Whether two hosts are of one site."""
    if host == other or host.endswith(f".{other}") or other.endswith(f".{host}"):
        return True
    if host.rpartition(".")[2] != other.rpartition(".")[2]:
        return False  # not even the last label is the same
    return same_site(host, other)
