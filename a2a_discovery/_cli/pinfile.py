"""The entry that a pinned agent gets in a configuration file: everything else in the file stays as it is.

A TOML file is edited as text, so that its comments and its order stay. Whether that went well is not hoped for: the
edited text must read as the old document with this one entry changed, or nothing is written.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from a2a_discovery._card.json import decode
from a2a_discovery._cli.text import clean
from a2a_discovery.errors import CardError, UsageError

MARK = "# Pinned by a2a-discover"
_DEPTH = 64
_BARE = re.compile(r"[A-Za-z0-9_-]+\Z")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def read(path: Path) -> tuple[str, dict[str, Any]]:
    """A configuration file's text and document; both empty where there is no file.

    Raises:
        UsageError: ``bad-config``, where it cannot be read.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return "", {}
    except (OSError, UnicodeDecodeError) as error:
        reason = (getattr(error, "strerror", None) or "it is not UTF-8").lower()
        raise UsageError("bad-config", f"{path} cannot be read: {reason}") from None
    try:
        document = decode(text.encode(), depth=_DEPTH) if _is_json(path) else tomllib.loads(text)
    except (CardError, tomllib.TOMLDecodeError, RecursionError) as error:
        kind = "JSON" if _is_json(path) else "TOML"
        raise UsageError("bad-config", f"{path} is no {kind}: {clean(error)}") from None
    agents = document.get("agents", {}) if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(agents, dict):
        raise UsageError("bad-config", f"{path} holds no table of agents")
    return text, document


def with_entry(path: Path, name: str, entry: Mapping[str, Any], notes: Sequence[str]) -> str:
    """The text of a file in which an agent has this entry, in the place of its older one.

    Args:
        path: the file; it need not be there yet.
        name: of the agent.
        entry: its table.
        notes: what to say above it, in a file that can hold comments.

    Raises:
        UsageError: ``bad-config``: the file cannot be read, or its older entry stands in a way that is better edited
            by hand.
    """
    text, document = read(path)
    wanted = {**document, "agents": {**document.get("agents", {}), name: dict(entry)}}
    if _is_json(path):
        return json.dumps(wanted, ensure_ascii=False, indent=2) + "\n"
    comment = "".join(f"# {clean(note, 200)}\n" for note in notes)
    kept = _without(text, name).rstrip()
    edited = (kept + "\n\n" if kept else "") + f"{MARK}. {comment[2:]}{_table(('agents', name), entry)}"
    if _read_again(edited) != wanted:
        raise UsageError(
            "bad-config",
            f"{path} cannot be edited without changing more than {clean(name, 60)!r} in it",
            hint="take its older entry out by hand, or give the agent another --name",
        )
    return edited


def write(path: Path, text: str) -> None:
    """Put a text in the place of a file, whole or not at all.

    Raises:
        UsageError: ``bad-config``.
    """
    path = path.resolve()  # a link stays one
    try:
        with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=path.name, delete=False) as file:
            file.write(text.encode("utf-8"))
        made = Path(file.name)
        try:
            made.chmod(_mode(path))
            made.replace(path)
        except OSError:
            with suppress(OSError):
                made.unlink()
            raise
    except OSError as error:
        raise UsageError("bad-config", f"{path} cannot be written: {(error.strerror or '').lower()}") from None


def _mode(path: Path) -> int:
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _is_json(path: Path) -> bool:
    return path.suffix.lower() == ".json"


def _read_again(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


# TOML as text


def _table(path: tuple[str, ...], table: Mapping[str, Any]) -> str:
    """A table with its header, then the tables in it."""
    plain = {key: value for key, value in table.items() if not _is_nested(value)}
    lines = [f"[{_dotted(path)}]"] if plain or not table else []
    lines += [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
    blocks = ["\n".join(lines) + "\n"] if lines else []
    for key, value in table.items():
        if isinstance(value, Mapping):
            blocks.append(_table((*path, key), value))
        elif _is_nested(value):
            header = f"[[{_dotted((*path, key))}]]"
            for each in value:
                members = "\n".join(f"{_key(name)} = {_value(member)}" for name, member in each.items())
                blocks.append(f"{header}\n{members}\n")
    return "\n".join(blocks)


def _is_nested(value: object) -> bool:
    """Whether a value has a header of its own: a table, or a list of tables without tables in them."""
    if isinstance(value, Mapping):
        return True
    return isinstance(value, list) and bool(value) and all(isinstance(each, Mapping) for each in value)


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(map(_key, path))


def _key(key: str) -> str:
    return key if _BARE.match(key) else _string(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(name)} = {_value(each)}' for name, each in value.items())} }}"
    return str(value)  # a date, which TOML writes as Python does


def _string(text: str) -> str:
    """A basic string; what would not be seen in an editor is written as an escape."""
    return '"' + "".join(_ESCAPES.get(each) or (each if each.isprintable() else _escaped(each)) for each in text) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _without(text: str, name: str) -> str:
    """A TOML text without the entry of an agent, as far as that can be told line by line; `with_entry` checks it."""
    kept: list[str] = []
    waiting: list[str] = []  # comments in the entry, which are the next table's where that follows at once
    inside = False
    table: tuple[str, ...] = ()
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            table = _path(line) or table
            inside = table[:2] == ("agents", name)
            if inside:
                _drop_comment(kept)
        elif not inside and table == ("agents",) and _path(line)[:1] == (name,):
            continue
        if not inside:
            kept += [*waiting, line]
        waiting = [*waiting, line] if inside and line.startswith("#") else []
    return "".join(kept)


def _path(line: str) -> tuple[str, ...]:
    """The keys that a header, or the left side of a line, names."""
    read = _read_again(line)
    path: list[str] = []
    value: Any = read
    while True:
        value = value[0] if isinstance(value, list) and value else value
        if not isinstance(value, dict) or len(value) != 1:
            return tuple(path)
        key, value = next(iter(value.items()))
        path.append(key)


def _drop_comment(kept: list[str]) -> None:
    """Take back the comment of ours that stands directly above."""
    start = len(kept)
    while start and kept[start - 1].startswith("#"):
        start -= 1
        if kept[start].startswith(MARK):
            del kept[start:]
            return
