"""What a stored answer depends on besides its URL: the channel it came through, as a string.

Two policies that could bring different bytes for one URL must never share a stored answer: a development proxy, a
caller's resolver, a private CA.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
import weakref
from typing import TYPE_CHECKING, Any

from a2a_discovery._identity import identity
from a2a_discovery._urls import without_userinfo

if TYPE_CHECKING:
    from a2a_discovery.policy import NetworkPolicy

_named: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_process = [uuid.uuid4().hex]
"""Tells our objects from those of another process with the same file: both may have an ``object-1``."""


def fingerprint(network: NetworkPolicy, transport: Any = None) -> str:
    """The channel of a policy, the same in every process where it means the same."""
    parts = {
        "proxy": None if network.proxy is None else without_userinfo(network.proxy),
        "http": network.allow_http,
        "private": network.allow_private,
        "cross-site": network.cross_site_redirects,
        "local": network.loopback,
        "resolve": name_of(network.resolve),
        "tls": name_of(network.ssl_context),
        "transport": name_of(transport),
    }
    return json.dumps(parts, sort_keys=True)


def name_of(value: Any) -> str | None:
    """A name for an object: its import path where that finds it again in any process, else one of its own.

    A name of its own lasts as long as the process, and is never given to another object.
    """
    if value is None:
        return None
    path = _import_path(value)
    if path is not None:
        return path
    owner = getattr(value, "__self__", None)
    if owner is not None and hasattr(value, "__func__"):
        # A bound method is a new object each time it is looked up; its owner is not.
        return f"{name_of(owner)}.{value.__func__.__qualname__}"
    try:
        given = _named.get(value)
    except TypeError:
        given = None  # it has no hash, and can't have been named
    return given or f"{_process[0]}:{identity(value)}"


def call_it(value: Any, name: str) -> None:
    """Give an object a name that means the same elsewhere: that of a context we made from a CA file is its hash."""
    _named[value] = name


def _import_path(value: Any) -> str | None:
    """``module:name`` of a function or class at the top of an importable module."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return None  # another program's __main__ is another module
    return f"{module}:{name}" if getattr(sys.modules.get(module), name, None) is value else None


def _renew() -> None:
    _process[0] = uuid.uuid4().hex


if hasattr(os, "register_at_fork"):  # pragma: no branch  (there is no fork on Windows)
    os.register_at_fork(after_in_child=_renew)
