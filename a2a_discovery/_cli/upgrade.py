"""``a2a-discover upgrade``: the 1.0 card of a card file, with what changed and what had no place."""

from __future__ import annotations

import difflib
import json as plain_json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from a2a_discovery import DiscoveryError, FetchError, Finding, Limits, NotFoundError, UsageError, check_card
from a2a_discovery._card.json import decode
from a2a_discovery._check.migrate import Migrated, migrate
from a2a_discovery._cli.exits import Exit
from a2a_discovery._cli.flags import OUTPUT, flag, option
from a2a_discovery._cli.show import fail
from a2a_discovery._cli.text import Row, as_json, rows, show
from a2a_discovery._urls import split
from a2a_discovery.errors import Attempt, CardError

File = Annotated[Path, typer.Argument(metavar="FILE", help="A card file of any generation; - reads standard input.")]
Output = Annotated[Path | None, option("--output", "FILE", "Write the card there, not to stdout.", OUTPUT)]
Url = Annotated[
    str | None, option("--url", "URL", "Where the card is served: relative interface URLs begin there.", OUTPUT)
]
KeepUnknown = Annotated[bool, flag("--keep-unknown", "Keep members that A2A does not know.", OUTPUT)]
Json = Annotated[bool, flag("--json", "One JSON object: card changed lost findings left.", OUTPUT)]


def upgrade(
    *,
    file: File,
    output: Output = None,
    url: Url = None,
    keep_unknown: KeepUnknown = False,
    json: Json = False,
) -> None:
    """Write the A2A 1.0 card of a card of 0.x: the card to stdout, what changed and what was lost to stderr."""
    try:
        body = _read(file)
        base = None if url is None else _base(url)
        document = decode(body, depth=Limits().depth)
        if not isinstance(document, dict):
            raise CardError("not-a-card", "the document is no Agent Card: it is no JSON object", step="read")
        migrated = migrate(document, url=base, keep_unknown=keep_unknown)
        text = body if not migrated.changed else _written(migrated.card)
        left = check_card(text, url=base)
        if output is not None:
            _write(output, text)
    except DiscoveryError as error:
        raise typer.Exit(int(fail(error, as_data=json))) from None
    if json:
        print(as_json(_data(migrated, left), sys.stdout.encoding))
    else:
        if output is None:
            _put(text)
        _report(document, migrated, left)
    raise typer.Exit(int(Exit.OK))


def _read(file: Path) -> bytes:
    limit = Limits().card_bytes
    try:
        if str(file) == "-":
            body = sys.stdin.buffer.read(limit + 1)
        else:
            with file.open("rb") as stream:
                body = stream.read(limit + 1)
    except OSError as exc:
        attempt = Attempt(url=str(file), reason=(exc.strerror or "unreadable").lower())
        message = f"the card file cannot be read: {attempt}"
        raise NotFoundError("no-card", message, attempts=(attempt,), url=str(file), step="fetch") from exc
    if len(body) > limit:
        raise FetchError("too-large", f"{file} is larger than {limit} bytes", url=str(file), step="fetch")
    return body


def _base(url: str) -> str:
    try:
        return split(url).normal
    except ValueError as exc:
        raise UsageError("bad-config", f"--url is no absolute URL: {exc}") from None


def _written(card: Mapping[str, Any]) -> bytes:
    return (plain_json.dumps(card, ensure_ascii=False, indent=2) + "\n").encode("utf-8")


def _write(output: Path, text: bytes) -> None:
    try:
        # Beside it first: where writing fails half-way, the file that was there is still whole.
        part = output.with_name(f".{output.name}.{os.getpid()}")
        part.write_bytes(text)
        part.replace(output)
    except OSError as exc:
        raise UsageError("bad-config", f"{output} cannot be written: {(exc.strerror or 'failed').lower()}") from exc


def _put(text: bytes) -> None:
    """The card to stdout, byte for byte where that is no terminal."""
    if sys.stdout.isatty():
        print(as_json(plain_json.loads(text.removeprefix(b"\xef\xbb\xbf")), sys.stdout.encoding))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()


def _report(document: Mapping[str, Any], migrated: Migrated, left: tuple[Finding, ...]) -> None:
    console = Console(stderr=True, highlight=False)
    if not migrated.changed:
        show(console, [Row("same", "it is a card of A2A 1.0 already; nothing was changed", "green")])
    else:
        for line in _diff(document, migrated.card):
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
            console.print(Text(line, style=style), soft_wrap=True)
    lines = rows("no place", migrated.lost, style="yellow", limit=400, most=100)
    lines += rows("repaired", _worth_saying(migrated.findings), limit=400)
    lines += rows("left to do", _worth_saying(left), style="yellow", limit=400)
    show(console, lines)


def _worth_saying(findings: tuple[Finding, ...]) -> list[Finding]:
    return [finding for finding in findings if finding.severity != "advice"]


def _diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """A unified diff of the two, both laid out alike."""
    old, new = (as_json(each, "utf-8").splitlines() for each in (before, after))
    return difflib.unified_diff(old, new, "before", "after", lineterm="")


def _data(migrated: Migrated, left: tuple[Finding, ...]) -> dict[str, Any]:
    return {
        "card": migrated.card,
        "changed": migrated.changed,
        "lost": [{"pointer": each.pointer, "reason": each.reason} for each in migrated.lost],
        "findings": [each.as_dict() for each in migrated.findings],
        "left": [each.as_dict() for each in left],
    }
