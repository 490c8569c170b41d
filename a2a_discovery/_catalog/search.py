"""Choosing entries by what they say: identifier, skill, tag, text. Pure; nothing is fetched for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from a2a_discovery._catalog.entry import CatalogEntry, rows, text_of, texts_of

Federation = Literal["none", "referrals", "auto"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What is looked for. Words are compared without regard to case; all that is given must fit."""

    identifier: str | None = None
    skill: str | None = None
    """Id or name of a skill, or a capability that the entry names."""
    tag: str | None = None
    """A tag of the entry, or of a skill of the card inside it."""
    text: str | None = None
    """Words that all stand somewhere in its names, descriptions, tags and skills."""
    federation: Federation = "none"
    """Whether a registry may ask others in turn (ARD): not unless the caller says so, since he did not choose them."""

    @property
    def empty(self) -> bool:
        """Whether everything fits."""
        return self.identifier is None and self.skill is None and self.tag is None and self.text is None

    def fits(self, entry: CatalogEntry) -> bool:
        """Whether an entry is what is looked for."""
        if self.identifier is not None and entry.identifier != self.identifier:
            return False
        if self.skill is not None and not _among(self.skill, _skills(entry)):
            return False
        if self.tag is not None and not _among(self.tag, _tags(entry)):
            return False
        if self.text is None:
            return True
        whole = "\n".join(_texts(entry)).casefold()
        return all(word in whole for word in self.text.casefold().split())


def _among(wanted: str, words: Iterator[str]) -> bool:
    folded = wanted.casefold()
    return any(word.casefold() == folded for word in words)


def _skill_objects(entry: CatalogEntry) -> Iterator[Mapping[str, Any]]:
    for holder in (entry.card or {}, entry.raw):
        for skill in rows(holder.get("skills")) or ():
            if isinstance(skill, Mapping):
                yield skill


def _skills(entry: CatalogEntry) -> Iterator[str]:
    for skill in _skill_objects(entry):
        yield from (text for name in ("id", "name") if (text := text_of(skill.get(name))))
    yield from texts_of(entry.raw.get("skills"))  # summaries flatten them
    yield from texts_of(entry.raw.get("capabilities"))  # ARD


def _tags(entry: CatalogEntry) -> Iterator[str]:
    yield from entry.tags
    for skill in _skill_objects(entry):
        yield from texts_of(skill.get("tags"))


def _texts(entry: CatalogEntry) -> Iterator[str]:
    yield from (text for text in (entry.identifier, entry.name, entry.description) if text)
    card = entry.card or {}
    yield from (text for name in ("name", "description") if (text := text_of(card.get(name))))
    yield from texts_of(entry.raw.get("representativeQueries"))
    yield from _skills(entry)
    yield from _tags(entry)
    for skill in _skill_objects(entry):
        yield text_of(skill.get("description")) or ""
