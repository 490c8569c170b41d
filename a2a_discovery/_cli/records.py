"""What a crawl writes down: one JSON object a line, so that a file cut short is good but for its last line."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

from a2a_discovery import CatalogEntry, Outcome, TrustError, UsageError
from a2a_discovery._cli.catalog import target_of
from a2a_discovery._cli.show import error_data, plain

if TYPE_CHECKING:
    from a2a_discovery import Agent, AgentInterface, TrustReport

_SKILLS = 50
"""Names of skills that a record holds; their number is exact."""
_TEXT = 2_000
"""Characters of a description."""
_FINDINGS = 200
"""Findings that a record holds; their number is exact."""


def name_of(target: Any) -> str:
    """What a record goes by: the target as it was typed, or what would have to be typed for an entry."""
    if isinstance(target, CatalogEntry):
        return target_of(target) or f"{target.source}#{target.identifier}"
    return str(target)


def record_of(outcome: Outcome, *, cards: bool = False) -> dict[str, Any]:
    """An outcome as one record.

    Args:
        outcome: an agent or an error.
        cards: add the card as it was received.
    """
    record: dict[str, Any] = {"target": name_of(outcome.target), "at": round(time.time(), 3)}
    if outcome.agent is not None:
        record |= {"outcome": "agent", **_agent(outcome.agent)}
        return record | {"card": plain(outcome.agent.document)} if cards else record
    error = outcome.error
    if error is None:
        return record
    record |= {"outcome": error.code, **error_data(error)}
    if isinstance(error, TrustError) and error.report is not None:
        record |= {"trust": _trust(error.report)}
    return record


def _agent(agent: Agent) -> dict[str, Any]:
    card, source = agent.card, agent.source
    names = [skill.name or skill.id for skill in card.skills]
    return {
        "name": card.name,
        "description": card.description[:_TEXT],
        "version": card.version,
        "provider": None if card.provider is None else card.provider.organization,
        "skills": {"count": len(names), "names": names[:_SKILLS]},
        "extended": bool(card.capabilities.extended_agent_card),
        "interface": _interface(agent.interface),
        "interfaces": {"usable": 1 + len(agent.alternatives), "unusable": len(agent.skipped)},
        "trust": _trust(agent.trust),
        "source": plain(source),
        "findings": {
            "count": len(agent.findings),
            "list": [finding.as_dict() for finding in agent.findings[:_FINDINGS]],
        },
    }


def _interface(interface: AgentInterface) -> dict[str, Any]:
    return {
        "url": interface.url,
        "binding": interface.protocol_binding,
        "version": interface.protocol_version,
        "tenant": interface.tenant or None,
    }


def _trust(report: TrustReport) -> dict[str, Any]:
    """The report as data, and the paragraph that explains it."""
    return {**plain(report.as_dict()), "explanation": str(report)}


class Journal:
    """The file that a crawl writes, and begins with what it holds already.

    Raises:
        UsageError: ``bad-config``, where it cannot be read and written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file: BinaryIO = path.open("a+b", buffering=0)
            self._mend()
        except OSError as error:
            raise UsageError("bad-config", f"{path} cannot be written: {(error.strerror or '').lower()}") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._file.close()

    def _mend(self) -> None:
        """Cut off the line that a crawl was writing when it was killed."""
        end = self._file.seek(0, os.SEEK_END)
        start, size, tail = end, 65_536, b""
        while start and b"\n" not in tail:
            start, size = max(end - size, 0), 4 * size
            self._file.seek(start)
            tail = self._file.read(end - start)
        whole = start + tail.rfind(b"\n") + 1
        if whole != end:
            self._file.truncate(whole)

    def records(self) -> Iterator[dict[str, Any]]:
        """What it holds; lines that are no records are passed over."""
        return read_records(self.path)

    def add(self, record: dict[str, Any]) -> None:
        """Write one line, whole.

        Raises:
            UsageError: ``bad-config``, where the disk is full, say.
        """
        line = (json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":")) + "\n").encode()
        try:
            # Unbuffered, and one call: whoever interrupts us finds whole lines.
            written = self._file.write(line)
            while written is not None and written < len(line):
                line = line[written:]
                written = self._file.write(line)
        except OSError as error:
            raise UsageError("bad-config", f"{self.path} cannot be written: {(error.strerror or '').lower()}") from None


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file; lines that are none are passed over."""
    with path.open("rb") as file:
        for line in file:
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if (
                isinstance(record, dict)
                and isinstance(record.get("target"), str)
                and isinstance(record.get("outcome"), str)
            ):
                yield record
