"""Direct configuration: names for agents, from a mapping, a TOML or JSON file, or the environment.

::

    [agents.orders]
    card_url = "https://shop.example/orders.json"
    bindings = ["GRPC"]
    trust = { require = "SIGNED", keys = { "shop.example" = "shop.jwks.json" } }
    credentials = { bearer_env = "ORDERS_TOKEN", hosts = ["api.shop.example"] }

Each name has exactly one place: ``target`` (whatever `Discovery.discover` takes as a string), ``card_url``,
``base_url``, ``card_file``, ``card``, ``ucp``, or ``catalog`` with or without ``identifier``. Secrets are named by the
environment variable that holds them, never written down.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from a2a_discovery._card.json import decode
from a2a_discovery._card.read import looks_like
from a2a_discovery._catalog.entry import CatalogEntry
from a2a_discovery._catalog.ucp import WELL_KNOWN as UCP
from a2a_discovery._credentials import Credentials
from a2a_discovery._target import Base, Document, Domain, EntryOf, read_target
from a2a_discovery._urls import split
from a2a_discovery.errors import CardError, UsageError
from a2a_discovery.policy import NetworkPolicy, Trust, TrustPolicy

VARIABLE = "A2A_AGENT_"
"""Environment variables that begin so name an agent: ``A2A_AGENT_ORDERS`` is ``orders``."""

_PLACES = ("target", "card_url", "base_url", "card_file", "card", "ucp", "catalog")
_OWN = ("trust", "credentials", "bindings", "identifier")
_SECRETS = ("bearer", "api_key", "basic", "client_secret")
_TRUST = ("require", "keys", "jku_hosts", "algorithms", "forms", "unverifiable", "required_kids")
_TRUST_FLAGS = ("same_site_interfaces", "continuity")
_DEPTH = 64

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Configured:
    """What a name stands for, and what it brings along."""

    target: Any
    trust: TrustPolicy | None = None
    credentials: Credentials | None = field(default=None, repr=False)
    bindings: tuple[str, ...] | None = None

    @property
    def plain(self) -> bool:
        """Whether it is discovered by the same rules as everything else."""
        return self.trust is None and self.credentials is None and self.bindings is None

    @property
    def shape(self) -> object:
        """What tells it apart: a text where it is no more than a place, else this very object."""
        return repr(self.target) if self.plain and isinstance(self.target, _TEXTUAL) else self


_TEXTUAL = (str, Path, Domain, Document, Base, EntryOf)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Where:
    """The place in a configuration that an error names."""

    file: str | None = None
    text: str = field(default="", repr=False)
    folder: Path = field(default_factory=Path)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    keys: tuple[str, ...] = ()

    def at(self, key: str) -> _Where:
        return _Where(file=self.file, text=self.text, folder=self.folder, env=self.env, keys=(*self.keys, key))

    def error(self, message: str, hint: str | None = None) -> UsageError:
        line = _line_of(self.text, self.keys)
        place = ", ".join(
            part for part in (self.file, f"line {line}" if line else None, ".".join(self.keys) or None) if part
        )
        return UsageError("bad-config", f"{place}: {message}" if place else message, hint=hint)

    def mapping(self, value: Any) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise self.error(f"a table was expected, not {_kind(value)}")
        return value

    def string(self, value: Any) -> str:
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"a text was expected, not {_kind(value)}")
        return value.strip()

    def strings(self, value: Any) -> tuple[str, ...]:
        if not isinstance(value, (list, tuple)) or not all(isinstance(each, str) for each in value):
            raise self.error(f"a list of texts was expected, not {_kind(value)}")
        return tuple(value)


def read_agents(agents: Any) -> dict[str, Configured]:
    """The ``agents=`` argument of a `Discovery`, checked.

    Raises:
        UsageError: ``bad-config``, naming the key.
    """
    if agents is None:
        return {}
    where = _Where(keys=("agents",), env=os.environ)
    return {
        _name(name, where): _read_agent(value, where.at(str(name))) for name, value in where.mapping(agents).items()
    }


def load(path: str | Path | None, env: Mapping[str, str] | None = None) -> dict[str, Configured]:
    """Read a configuration file, and the environment beside it, which wins.

    Args:
        path: a TOML file, or a JSON file by its ending; ``None``: the environment alone.
        env: the environment.

    Raises:
        UsageError: ``bad-config``, naming file, line and key where they are known.
    """
    env = os.environ if env is None else env
    agents = {} if path is None else _load_file(Path(path), env)
    return agents | _load_env(env, agents)


def configured(path: str | Path | None, env: Mapping[str, str] | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a `Discovery` with the names of a file and of the environment; its own ``agents`` win.

    Raises:
        UsageError: ``bad-config``.
    """
    return {**options, "agents": {**load(path, env), **read_agents(options.get("agents"))}}


def _load_file(path: Path, env: Mapping[str, str]) -> dict[str, Configured]:
    where = _Where(file=path.name, folder=path.parent, env=env)
    try:
        body = path.read_bytes()
        text = body.decode("utf-8")
    except OSError as exc:
        raise where.error(f"it cannot be read: {(exc.strerror or 'unreadable').lower()}") from exc
    except UnicodeDecodeError:
        raise where.error("it is not UTF-8") from None
    document = where.mapping(_parse(path, body, text, where))
    where = _Where(file=path.name, text=text, folder=path.parent, env=env)
    for key in document:
        if key != "agents":
            raise where.at(str(key)).error("only the table agents is known here")
    where = where.at("agents")
    named = where.mapping(document.get("agents", {}))
    return {_name(name, where): _read_agent(value, where.at(name)) for name, value in named.items()}


def _parse(path: Path, body: bytes, text: str, where: _Where) -> Any:
    if path.suffix.lower() == ".json":
        try:
            return decode(body, depth=_DEPTH)
        except CardError as exc:
            raise where.error(exc.message) from None
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise where.error(f"it is not TOML: {exc}") from None


def _load_env(env: Mapping[str, str], agents: Mapping[str, Configured]) -> dict[str, Configured]:
    known = {_variable(name): name for name in agents}
    found = {}
    for variable, value in env.items():
        if not variable.startswith(VARIABLE) or len(variable) == len(VARIABLE):
            continue
        where = _Where(keys=(variable,), env=env)
        name = known.get(variable, variable.removeprefix(VARIABLE).lower())
        found[name] = _read_agent(_from_text(value, where), where)
    return found


def _variable(name: str) -> str:
    return VARIABLE + re.sub(r"[^A-Za-z0-9]", "_", name).upper()


def _from_text(value: str, where: _Where) -> Any:
    """A target, or a JSON object: a table as in a file, or a card."""
    if not value.lstrip().startswith("{"):
        return value
    try:
        return decode(value.encode("utf-8", "surrogateescape"), depth=_DEPTH)
    except CardError as exc:
        raise where.error(exc.message) from None


def _name(name: Any, where: _Where) -> str:
    if not isinstance(name, str) or not name.strip():
        raise where.error(f"the name of an agent is a text, not {_kind(name)}")
    return name


def _read_agent(value: Any, where: _Where) -> Configured:
    if isinstance(value, Configured):
        return value
    if isinstance(value, (Path, CatalogEntry)):
        return Configured(target=value)
    if isinstance(value, str):
        return Configured(target=_checked(where.string(value), where))
    table = where.mapping(value)
    if set(table) - {*_PLACES, *_OWN} and looks_like(dict(table)) == "card":
        return Configured(target=table)
    for key in table:
        if key not in _PLACES and key not in _OWN:
            raise where.at(str(key)).error(f"the key is not known; known are {', '.join((*_PLACES, *_OWN))}")
    places = [key for key in _PLACES if key in table]
    if len(places) != 1:
        raise where.error(f"exactly one of {', '.join(_PLACES)} was expected, not {', '.join(places) or 'none'}")
    if "identifier" in table and places[0] != "catalog":
        raise where.at("identifier").error("it goes with catalog alone")
    target = _read_place(places[0], table, where)
    return Configured(
        target=target,
        trust=_read_trust(table["trust"], _host(target), where.at("trust")) if "trust" in table else None,
        credentials=_read_credentials(table["credentials"], where.at("credentials"))
        if "credentials" in table
        else None,
        bindings=where.at("bindings").strings(table["bindings"]) if "bindings" in table else None,
    )


def _read_place(key: str, table: Mapping[str, Any], where: _Where) -> Any:
    at, value = where.at(key), table[key]
    if key == "card":
        return at.mapping(value)
    if key == "card_file":
        return where.folder / (value if isinstance(value, Path) else at.string(value))
    if key == "target":
        return value if isinstance(value, (Path, CatalogEntry)) else _checked(at.string(value), at)
    url = at.string(value)
    place: Any = read_target(_checked(url if "://" in url else f"https://{url}", at), network=NetworkPolicy())
    if key == "ucp":
        return Document(url=place.origin + UCP) if isinstance(place, Domain) else place
    if key == "base_url":
        return place if isinstance(place, Domain) else Base(url=place.url)
    if isinstance(place, Domain):
        place = Document(url=place.origin + "/")
    if key == "catalog" and "identifier" in table:
        return EntryOf(url=place.url, identifier=where.at("identifier").string(table["identifier"]))
    return place if isinstance(place, EntryOf) else Document(url=place.url)


def _checked(target: str, where: _Where) -> str:
    """A target that can be one; whether it is a single label that may be used is for the network policy."""
    try:
        read_target(target, network=NetworkPolicy(allow_private=True))
    except UsageError as exc:
        raise where.error(exc.message, exc.hint) from None
    return target


def _host(target: Any) -> str | None:
    if isinstance(target, str):
        target = read_target(target, network=NetworkPolicy(allow_private=True))
    url = getattr(target, "url", None) or getattr(target, "origin", None)
    return split(url).host if isinstance(url, str) else None


def _read_trust(value: Any, host: str | None, where: _Where) -> TrustPolicy:
    if isinstance(value, TrustPolicy):
        return value
    options: dict[str, Any] = {}
    for key, given in where.mapping(value).items():
        at = where.at(str(key))
        if key == "require":
            options[key] = _level(at.string(given), at)
        elif key == "keys":
            options[key] = _read_keys(given, host, at)
        elif key in _TRUST_FLAGS:
            if not isinstance(given, bool):
                raise at.error(f"true or false was expected, not {_kind(given)}")
            options[key] = given
        elif key in _TRUST:
            options[key] = frozenset(at.strings(given)) if key == "algorithms" else given
        else:
            raise at.error(f"the key is not known; known are {', '.join((*_TRUST, *_TRUST_FLAGS))}")
    return _made(TrustPolicy, options, where)


def _level(name: str, where: _Where) -> Trust:
    try:
        return Trust[name.upper()]
    except KeyError:
        raise where.error(f"it is one of {', '.join(each.name for each in Trust)}") from None


def _read_keys(value: Any, host: str | None, where: _Where) -> dict[str, Any]:
    """Host pattern → keys; where keys stand there alone, they are for the host of the agent."""
    alone = isinstance(value, (str, Path, list, tuple)) or (isinstance(value, Mapping) and {"kty", "keys"} & set(value))
    if alone and host is None:
        raise where.error('the agent has no host of its own: write keys = { "HOST" = ... }')
    given = {host: value} if alone else where.mapping(value)
    # A text is the name of a file: keys are not secret, and a text can be nothing else.
    return {str(each): where.folder / keys if isinstance(keys, str) else keys for each, keys in given.items()}


def _read_credentials(value: Any, where: _Where) -> Credentials:
    if isinstance(value, Credentials):
        return value
    options: dict[str, Any] = {}
    for key, given in where.mapping(value).items():
        at = where.at(str(key))
        name = str(key).removesuffix("_env")
        if key in _SECRETS:
            raise at.error("a secret is not written down here", f'name the variable that holds it: {key}_env = "..."')
        if key == "hosts":
            options[key] = at.strings(given)
        elif key == "client_id":
            options[key] = at.string(given)
        elif key != name and name in (*_SECRETS, "client_id"):
            options[name] = _from_env(at.string(given), at)
        else:
            known = ", ".join(("hosts", "client_id", *(f"{each}_env" for each in _SECRETS)))
            raise at.error(f"the key is not known; known are {known}")
    if "basic" in options:
        user, mark, password = options["basic"].partition(":")
        if not mark:
            raise where.at("basic_env").error("the variable does not hold user:password")
        options["basic"] = (user, password)
    return _made(Credentials, options, where)


def _from_env(variable: str, where: _Where) -> str:
    value = where.env.get(variable)
    if not value:
        raise where.error(f"the environment variable {variable[:100]!r} is not set")
    return value


def _made(kind: Callable[..., T], options: dict[str, Any], where: _Where) -> T:
    try:
        return kind(**options)
    except UsageError as exc:
        raise where.error(exc.message, exc.hint) from None
    except (TypeError, ValueError):
        raise where.error("a value is of the wrong kind") from None


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return "a text" if value.strip() else "an empty text"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, (list, tuple)):
        return "a list"
    return "a number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


def _line_of(text: str, keys: tuple[str, ...]) -> int | None:
    """The line of a key, found by its text: near enough for a person, and ``None`` rather than wrong."""
    at = None
    start = 0
    for key in keys[1:] if len(keys) > 1 else keys:
        found = re.compile(rf"(?<![\w-]){re.escape(key)}(?![\w-])").search(text, start)
        if found is None:
            break
        at, start = found.start(), found.end()
    return None if at is None else text.count("\n", 0, at) + 1
