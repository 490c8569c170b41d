"""Reading: a decoded document to an `AgentCard` and what was found on the way (step 3 of the line)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from a2a_discovery._card.json import JSON
from a2a_discovery._card.notes import Path
from a2a_discovery._card.upgrade import Upgraded, upgrade
from a2a_discovery._finding import Finding, pointer, shown
from a2a_discovery.errors import CardError

if TYPE_CHECKING:
    from a2a_discovery._card.model import AgentCard

Likeness = Literal["card", "catalog", "profile", "other"]

_INTERFACES = ("supportedInterfaces", "supported_interfaces")
_ENDPOINT = (*_INTERFACES, "url")
_STRONG = (
    *_ENDPOINT,
    "capabilities",
    "skills",
    "preferredTransport",
    "additionalInterfaces",
    "defaultInputModes",
    "defaultOutputModes",
    "default_input_modes",
    "default_output_modes",
    "securitySchemes",
    "signatures",
)
"""Members that a card has and few other documents do."""
_WEAK = ("name", "description", "version", "provider", "protocolVersion", "protocol_version")
_FAILURES = ("jsonrpc", "error", "errors", "message", "detail", "details", "statusCode", "status_code")
_FOREIGN = ("ahp", "schema_version", "$schema", "openapi", "swagger", "mcpServers", "@context")
"""Members by which other documents with a name and capabilities say what they are."""
_OURS = re.compile("a2a|agent-?card", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One card, as received and as understood."""

    document: Mapping[str, JSON]
    """As received, untouched."""
    value: Mapping[str, JSON]
    """The card as plain JSON in the 1.0 shape, unknown members kept."""
    card: AgentCard
    findings: tuple[Finding, ...]
    """What was repaired or is odd, worst first; pointers into `document`."""
    legacy: bool
    """The document has the shape of 0.x."""
    origins: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Pointer in `value` → pointer in `document`, for what moved; all below moved with it."""

    def origin(self, pointer: str) -> str:
        """The place in `document` that a place in `value` came from.

        Args:
            pointer: an RFC 6901 JSON pointer into `value`.

        Returns:
            The pointer into `document`; for a member that was filled in, where it would stand.
        """
        head = pointer
        while head not in self.origins:
            if not head:
                return pointer
            head = head.rpartition("/")[0]
        return self.origins[head] + pointer[len(head) :]


def looks_like(document: JSON) -> Likeness:
    """What kind of document it is, by its members alone."""
    if not isinstance(document, dict):
        return "other"
    if any(name in document for name in _INTERFACES):
        return "card"
    if isinstance(document.get("ucp"), dict):
        return "profile"
    if isinstance(document.get("entries"), list):
        return "catalog"
    # a name, a version or a URL alone is what the root of many an API answers
    if _other_kind(document) is None and any(name in document for name in _STRONG if name != "url"):
        return "card"
    return "other"


def read_card(document: JSON, *, url: str | None, strict: bool = False, required_empty: bool = False) -> Reading:
    """Read a decoded document of any generation as an Agent Card.

    Args:
        document: what `decode` gave; it is not changed.
        url: the URL that answered with it, against which relative interface URLs are resolved; ``None`` for a card
            that came from nowhere.
        strict: repair nothing.
        required_empty: read missing REQUIRED members (the interfaces aside) as their empty value, because the document
            went through a canonical form that drops those. To compare a card with its signed form, read both so.

    Raises:
        CardError: ``not-a-card`` for another kind of document; ``invalid-card`` with everything that is wrong with it.
    """
    if not isinstance(document, dict):
        raise _not_a_card(("it is a list" if isinstance(document, list) else "it is no JSON object"), ())
    other = _other_kind(document)
    if other is not None:
        raise _not_a_card(*other)
    upgraded = upgrade(document, url=url, strict=strict, required_empty=required_empty)
    if not upgraded.readable:
        raise _invalid(upgraded.findings, strict=strict)
    return Reading(
        document=document,
        value=upgraded.value,
        card=_model(upgraded),
        findings=upgraded.findings,
        legacy=upgraded.legacy,
        origins=upgraded.origins,
    )


def _other_kind(document: Mapping[str, JSON]) -> tuple[str, Path] | None:
    """What a document is instead of a card, and the member that says so."""
    if any(name in document for name in _ENDPOINT):
        return None
    if isinstance(document.get("ucp"), dict):
        return "it is a UCP profile", ("ucp",)
    if isinstance(document.get("entries"), list):
        return "it is a catalog", ("entries",)
    for name in _FOREIGN:
        told = document.get(name)
        if isinstance(told, dict) or (isinstance(told, str) and not _OURS.search(told)):
            return "it is a document of another protocol", (name,)
    kind = document.get("type")
    if isinstance(kind, str) and kind.lower().startswith("mcp"):
        return "it is the manifest of an MCP server", ("type",)
    if any(name in document for name in _STRONG):
        return None
    failure = next((name for name in _FAILURES if name in document), None)
    if failure is not None:
        return "it is an error message or a call's answer", (failure,)
    # an empty object is an empty card: proto3 servers send one that was never filled in
    if document and not any(name in document for name in _WEAK):
        return "it has no member of a card", ()
    return None


def _model(upgraded: Upgraded) -> AgentCard:
    from pydantic import ValidationError  # 60 ms: only when the first card is read

    from a2a_discovery._card.model import AgentCard

    value = _pruned(upgraded.value, _tree(upgraded.inert)) if upgraded.inert else upgraded.value
    try:
        return AgentCard.model_validate(value, by_alias=True, by_name=False)
    except ValidationError as exc:
        found = tuple(_unmodelled(each["loc"]) for each in exc.errors(include_url=False, include_input=False))
        raise _invalid(found, strict=False) from None


_Tree = dict["str | int", "_Tree"]


def _tree(paths: Sequence[Path]) -> _Tree:
    """The paths as nested objects; an empty one is the end of a path."""
    root: _Tree = {}
    for path in sorted(paths, key=len, reverse=True):  # so that the shorter of two has the last word
        branch = root
        for token in path:
            branch = branch.setdefault(token, {})
        branch.clear()
    return root


def _pruned(value: Any, tree: _Tree) -> Any:
    """A copy without what the paths name."""
    if not tree:
        return value
    if isinstance(value, list):
        return [_pruned(each, tree.get(index, {})) for index, each in enumerate(value) if tree.get(index) != {}]
    return {name: _pruned(each, tree.get(name, {})) for name, each in value.items() if tree.get(name) != {}}


def _unmodelled(place: Sequence[str | int]) -> Finding:
    return Finding(code="wrong-type", severity="error", pointer=pointer(*place), message="it doesn't fit the card")


def _not_a_card(what: str, at: Path) -> CardError:
    finding = Finding(code="not-an-agent-card", severity="error", pointer=pointer(*at), message=what)
    return CardError("not-a-card", f"the document is no Agent Card: {what}", step="read", findings=(finding,))


def _invalid(findings: tuple[Finding, ...], *, strict: bool) -> CardError:
    wrong = [finding for finding in findings if finding.severity == "error"]
    listed = "; ".join(f"{shown(finding.pointer)}: {finding.message}" for finding in wrong[:3])
    more = f"; and {len(wrong) - 3} more" if len(wrong) > 3 else ""
    hint = "strict=False reads what has one meaning all the same" if strict else None
    message = f"the Agent Card is not valid: {listed}{more}"
    return CardError("invalid-card", message, step="read", findings=findings, hint=hint)
