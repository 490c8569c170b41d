"""What the parts of reading share: objects put together from several places, and what is known about the card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from a2a_discovery._card.json import JSON
from a2a_discovery._card.notes import Notes, Path
from a2a_discovery._card.shapes import Shape


class Built(dict[str, JSON]):
    """An object in the 1.0 shape whose members came from other places, or under other names."""

    __slots__ = ("flat", "places")

    def __init__(
        self, members: Mapping[str, JSON], places: Mapping[str, Path] | None = None, *, flat: bool = False
    ) -> None:
        super().__init__(members)
        self.places: dict[str, Path] = dict(places or {})
        """Member → where it stands in the document, or would stand."""
        self.flat = flat
        """It was a v0.3 object with a ``type``, and its members are spelled as there."""

    def move(self, old: str, new: str, src: Path) -> None:
        """Rename a member; it is still found where it was."""
        self.places[new] = self.places.pop(old, (*src, old))
        self[new] = self.pop(old)


class Row(list[JSON]):
    """A list whose elements came from other places."""

    __slots__ = ("places",)

    def __init__(self) -> None:
        super().__init__()
        self.places: list[Path] = []

    def put(self, value: JSON, at: Path) -> None:
        """Append an element that stands there in the document."""
        self.append(value)
        self.places.append(at)


@dataclass(slots=True, kw_only=True)
class Context:
    """One card being read."""

    notes: Notes
    strict: bool
    base: str | None
    """The URL that relative interface URLs are resolved against."""
    required_empty: bool
    legacy: bool = False
    dialect: tuple[str, Path] | None = None
    """The version that an interface without its own inherits from the card, and where it says so."""
    inert: list[Path] = field(default_factory=list)
    """Messages in the value that must not be used."""


def built(value: Mapping[str, JSON]) -> Built:
    """A copy to put together."""
    return value if isinstance(value, Built) else Built(value)


def place(value: Mapping[str, JSON], src: Path, name: str) -> Path:
    """Where a member stands in the document, or would stand."""
    if isinstance(value, Built):
        return value.places.get(name) or (*src, name)
    return (*src, name)


def renamed(context: Context, shape: Shape, value: dict[str, JSON], src: Path) -> dict[str, JSON]:
    """The object with its snake_case names in camelCase.

    Where both spellings are there, camelCase counts and the other one stays an unknown member: they are never merged.
    """
    if shape.spellings.keys().isdisjoint(value):
        return value
    odd = [name for name in value if name in shape.spellings]
    names = {}
    for name in odd:
        at = place(value, src, name)
        if shape.spellings[name] in value:
            context.notes.repair("conflicting-members", at, "the camelCase spelling is there too, and that one counts")
        else:
            context.notes.repair("renamed-member", at, "JSON of A2A spells its names in camelCase (section 5.5)")
            names[name] = shape.spellings[name]
    if context.strict or not names:
        return value
    places = {names[name]: place(value, src, name) for name in names}
    members = {names.get(name, name): each for name, each in value.items()}
    return rebuilt(value, members, places)


def rebuilt(value: Mapping[str, JSON], members: Mapping[str, JSON], places: Mapping[str, Path]) -> Built:
    """The object with other members, some of which came from other places."""
    if isinstance(value, Built):
        return Built(members, {**value.places, **places}, flat=value.flat)
    return Built(members, places)
