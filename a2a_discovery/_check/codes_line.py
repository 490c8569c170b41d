"""The codes that other rooms raise on the way to a card: trust, selection, catalogs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_discovery._check.codes import Table

TRUST: Table = {
    "other-publisher": (
        "warning", "The card is another publisher's",
        "The card was asked for under one publisher's name, by a catalog's identifier or a domain's walk, and "
        "another host answered for it. It gets no credentials but to hosts you list.",
        "Ask for that very card by its URL, if it is meant.",
        "",
    ),
    "unverified-signature": (
        "warning", "No signature could be verified",
        "The card is signed, and none of its signatures could be checked with a key that counts. The message has "
        "the reasons.",
        "Publish the key on the card's own site, or pin it: TrustPolicy(keys={...}).",
        "8.4.3",
    ),
    "odd-typ": (
        "advice", "A signature's typ is neither JOSE nor JWT",
        "The signature verifies. A typ of another purpose hints that it was made for something else, and strict "
        "verifiers refuse it.",
        '"typ": "JOSE"',
        "8.4.2",
    ),
    "uncovered-interfaces": (
        "warning", "A signature does not cover the interfaces",
        "A signature verified, and where to call is not in what it signed. It raises no level of trust.",
        "Sign the card that is served.",
        "8.4.1",
    ),
    "uncovered": (
        "warning", "Something is not in what was signed",
        "The card has no host of its own and is proven by its signature alone, so what that does not cover was "
        "left out.",
        "Sign the card that is handed out.",
        "8.4.1",
    ),
    "uncovered-security": (
        "warning", "How to authenticate is not in what was signed",
        "The signature covers neither the schemes nor the requirements. TLS vouches for them, as for an unsigned "
        "card.",
        "Sign the literal form of section 8.4.1.",
        "8.4.1",
    ),
    "rolled-back": (
        "warning", "The version went back",
        "The place served a card with a higher version before. An old signed card may have been put back.",
        "Raise the version with every change.",
        "",
    ),
    "extended-unsigned": (
        "warning", "The extended card is not signed",
        "The public card is. Only TLS and your credential vouch for the extended one.",
        "Sign both.",
        "8.4",
    ),
    "no-security-scheme": (
        "warning", "The card does not say how to authenticate",
        "A credential was sent as HTTP defines it, since the card declares no scheme.",
        "Declare securitySchemes and securityRequirements.",
        "4.5",
    ),
    "digest-mismatch": (
        "error", "The card is not the one that its catalog describes",
        "The catalog gives a digest, and that of the card is another. One of them is out of date, or was changed.",
        "Publish catalog and card together.",
        "",
    ),
    "digest-not-checked": (
        "warning", "A catalog's digest is of an unknown kind",
        "The digest could not be compared, so it says nothing.",
        "sha256: and 64 hexadecimal digits.",
        "",
    ),
    "weak-digest": (
        "warning", "A catalog's digest is weak",
        "Collisions can be made for its algorithm, so it says nothing.",
        "Use SHA-256 or longer.",
        "",
    ),
}  # fmt: skip

SELECTION: Table = {
    "unsupported-binding": (
        "warning", "The caller does not speak the binding",
        "The interface is fine; this caller was not told to speak it.",
        "Name it in bindings=(...), or offer JSONRPC or HTTP+JSON.",
        "8.3.2",
    ),
    "unsupported-version": (
        "warning", "The caller does not speak the version",
        "The interface is fine; this caller was not told to speak its version of A2A.",
        "Name it in versions=(...), or offer 1.0.",
        "3.6",
    ),
    "required-extension": (
        "warning", "An extension is required that the caller does not have",
        "The agent refuses calls without this extension, and the caller did not claim it.",
        "Name it in extensions=(...), if it is implemented.",
        "4.6.1",
    ),
    "other-site": (
        "advice", "An interface is on another site than the card",
        "Whoever runs the card's host vouches for the card, and calls go elsewhere. Credentials are not sent "
        "there unless the caller lists the host.",
        "Serve the interface on the card's own site, or tell callers which host to list.",
        "8.3",
    ),
    "other-port": (
        "advice", "An interface is on another port of the card's host",
        "It may be meant. In a container it is often the inner port, which nobody outside can reach.",
        "Write the port at which others reach the agent.",
        "8.3",
    ),
    "host-replaced": (
        "warning", "A host was replaced",
        "The card names a wildcard or loopback host, and the host that it came from is used in its place.",
        "Write the URL at which others reach the agent.",
        "4.4.6",
    ),
}  # fmt: skip

CATALOG: Table = {
    "not-a-catalog": (
        "warning", "A nested catalog is none",
        "The place that an entry names as a catalog holds something else.",
        "Correct the entry's url or its media type.",
        "",
    ),
    "not-an-entry": (
        "warning", "A row is no entry",
        "An entry of a catalog is a JSON object.",
        "Take the row out.",
        "",
    ),
    "not-a-card": (
        "warning", "An entry holds no Agent Card",
        "The entry says that it is of an A2A agent, and what it holds is no card.",
        "Put the card in, or its URL.",
        "",
    ),
    "missing-identifier": (
        "warning", "An entry has no identifier",
        "Entries are asked for by their identifier.",
        "Write one: urn:air:shop.example:a2a:orders.",
        "",
    ),
    "missing-type": (
        "warning", "An entry does not say what it is",
        "Without a media type nobody knows whether it is an A2A agent.",
        '"type": "application/a2a-agent-card+json"',
        "",
    ),
    "url-and-data": (
        "warning", "An entry has both a url and data",
        "An entry has exactly one of them; where they differ, which is meant is anybody's guess.",
        "Keep one.",
        "",
    ),
    "no-location": (
        "warning", "An entry does not say where its card is",
        "It has neither a usable URL nor a card inside.",
        "Write its url.",
        "",
    ),
    "bad-url": (
        "warning", "An entry's URL is none",
        "It is no absolute http or https URL.",
        "Write the whole https URL.",
        "",
    ),
    "summary": (
        "warning", "A row sums a card up",
        "It has some members of a card, and does not say where the card is.",
        "Add the URL of the card.",
        "",
    ),
    "other-version": (
        "warning", "A profile is of another version",
        "The UCP profile is of a version that is not read here; what it lists may be missed.",
        "",
        "",
    ),
    "too-deep": (
        "warning", "Catalogs nest too deep",
        "Only so many levels of catalogs are followed.",
        "Name the entries at a higher level.",
        "",
    ),
    "too-many-documents": (
        "warning", "A listing has too many documents",
        "The documents of one listing are bounded, and this was one too many.",
        "",
        "",
    ),
    "catalog-cycle": (
        "warning", "A catalog leads back to itself",
        "It was listed already on the way here, and is not listed again.",
        "Take the entry out.",
        "",
    ),
    "repeated-page": (
        "warning", "A page came twice",
        "The registry's next page is one that it gave before. Listing stopped there.",
        "",
        "",
    ),
    "stale-catalog": (
        "advice", "A stored copy of a catalog stands in",
        "The catalog could not be had, and a copy that was fetched before is used.",
        "",
        "",
    ),
    "registry-not-asked": (
        "advice", "A registry was not asked",
        "The entry is a registry, which is searched and not read whole.",
        "Ask it by a query.",
        "",
    ),
    "other-registry": (
        "warning", "A row is of another registry",
        "What it says is for another registry to answer.",
        "",
        "",
    ),
    "unresolvable": (
        "warning", "A row cannot be resolved",
        "It says no more than a name, and nothing can be asked for it.",
        "",
        "",
    ),
}  # fmt: skip
