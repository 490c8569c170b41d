"""The codes of good sense, and of how a card is served."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_discovery._check.codes import Table

SENSE: Table = {
    "secret-in-card": (
        "error", "A secret is in the card",
        "Something here has the form of a key, token, password or private key. A card is public: whoever fetched "
        "it has the secret, crawlers and caches included. This report never quotes it.",
        "Revoke the secret now, take it out of the card, and hand credentials out of band.",
        "14.3",
    ),
    "credentials-in-url": (
        "error", "A URL holds a user name or password",
        "Credentials in a URL are public with the card, and end up in logs. Clients refuse such an interface.",
        "Revoke them, take them out, and declare a security scheme.",
        "14.3",
    ),
    "private-address": (
        "warning", "A private address is in the card",
        "The address is reachable inside one network alone, so outsiders cannot call it, and it tells them how "
        "the inside looks. Clients refuse to connect there.",
        "Write the public name.",
        "14.3",
    ),
    "internal-host": (
        "warning", "An internal host name is in the card",
        "The name exists in one network alone: a cluster's service, a single label, .internal, .local. Outsiders "
        "cannot resolve it, and it tells them how the inside looks.",
        "Write the public name.",
        "14.3",
    ),
    "loopback-url": (
        "warning", "The endpoint is the caller's own machine",
        "localhost and 127.0.0.1 mean whatever runs where the client runs. It is what scaffolding leaves behind.",
        "Write the URL at which others reach the agent.",
        "4.4.6",
    ),
    "unroutable-host": (
        "error", "The endpoint is a wildcard address",
        "0.0.0.0 and [::] are what a server listens on. Nobody can connect to them.",
        "Write the URL at which others reach the agent.",
        "4.4.6",
    ),
    "http-url": (
        "must", "The endpoint is plain http",
        "Production deployments use https. Over plain http anybody on the way reads and changes messages, "
        "credentials included, and clients refuse it.",
        "Serve the interface by https.",
        "7.1",
    ),
    "placeholder-url": (
        "error", "The endpoint is a template that nobody filled in",
        "Braces, angle brackets or a shell variable stand where a host or path belongs.",
        "Fill it in when the card is built; a test that fetches the served card finds this.",
        "4.4.6",
    ),
    "invalid-url": (
        "error", "The endpoint is no URL",
        "An interface needs an absolute URL with a host.",
        "Write the whole URL: https://shop.example/a2a.",
        "4.4.6",
    ),
    "tunnel-host": (
        "advice", "The endpoint is a developer's tunnel",
        "Names of tunnel services change or pass to somebody else, who then answers in this agent's name.",
        "Publish the card with a name of your own.",
        "",
    ),
    "example-host": (
        "advice", "The endpoint is at example.com",
        "example.com, example.net and example.org are for documentation. The card was copied from a sample.",
        "Write the URL at which others reach the agent.",
        "RFC 2606",
    ),
    "generic-name": (
        "advice", "The name says nothing",
        "Catalogs show names, and models choose by them. Agent, Assistant or Test tells nobody what this one "
        "does.",
        "Name what it does and for whom: Ferry ticket desk.",
        "",
    ),
    "short-description": (
        "advice", "The description is too short to choose by",
        "Clients and models decide by the description whether to call the agent or the skill. A word or a "
        "repeated name gives them nothing.",
        "Say in a sentence or two what it does, for what input, and what it does not do.",
        "",
    ),
    "skill-without-tags": (
        "advice", "A skill has no tags",
        "Catalogs and registries search by tags. Without any the skill is found by its name alone.",
        'Write a few: "tags": ["orders", "refunds"].',
        "4.4.5",
    ),
    "template-text": (
        "advice", "A text was never filled in",
        "A variable of a template, TODO, or your name here stands in a text that others read.",
        "Fill it in when the card is built.",
        "",
    ),
    "version-static": (
        "advice", "The version cannot tell two cards apart",
        "The agent's version should change with the agent: caches and clients of the extended card go by it. "
        "latest, dev or 0.0.0 never changes.",
        "Take it from the build: 1.4.2, or a date.",
        "8.6.1",
    ),
    "schemes-without-requirements": (
        "advice", "Schemes are declared, and none is required",
        "Nothing says that a scheme is needed, so clients call without credentials and meet a 401, or pick one by "
        "guess.",
        'Write "securityRequirements": [{"schemes": {NAME: {"list": []}}}].',
        "4.5",
    ),
    "empty-scheme-map": (
        "advice", "The map of security schemes is empty",
        "It says the same as leaving it out, and reads as if somebody meant to fill it in.",
        "Declare the schemes, or leave the member out.",
        "4.5",
    ),
    "anonymous-allowed": (
        "advice", "One alternative asks for no credentials",
        "An empty requirement among others means that everybody may call. Where that is meant, it is fine; an "
        "attacker who can edit the card adds exactly this, and no SDK's signature notices.",
        "Take the empty alternative away, unless anonymous calls are meant.",
        "4.5",
    ),
    "unsigned-security": (
        "advice", "Security that no SDK's signature covers",
        "The SDKs delete everything empty before they sign. A requirement without scopes and a scheme without "
        "members are gone then: whoever serves the card can drop them, or allow anonymous calls, and the "
        "signature still holds.",
        "Sign the literal form of section 8.4.1, and know that verifiers of today check the SDKs' form too.",
        "8.4.1",
    ),
    "members-only-skill": (
        "advice", "A public skill that is not for the public",
        "The text of the skill says that it is for members, staff or authenticated callers. In the public card "
        "everybody reads it, and most cannot use it.",
        "Move it to the extended card, and declare capabilities.extendedAgentCard.",
        "13.3",
    ),
    "foreign-icon": (
        "advice", "The icon is on somebody else's site",
        "Whoever runs that site sees who looks at the card, and can change the icon.",
        "Serve the icon from the card's own site.",
        "",
    ),
    "text-for-a-model": (
        "warning", "A text speaks to a model",
        "The text gives instructions to a model that reads the card, in place of describing the agent. Clients "
        "treat all text of a card as data; catalogs drop such cards as attempts at prompt injection.",
        "Describe what the agent does; leave out what readers should do.",
        "",
    ),
    "invisible-text": (
        "warning", "A text holds characters that nobody sees",
        "Control characters, bidirectional overrides or invisible tags stand in a text. They hide text from "
        "people that models still read, or make one text look like another.",
        "Take them out.",
        "",
    ),
}  # fmt: skip

SERVING: Table = {
    "media-type": (
        "warning", "The card is not served as JSON",
        "Strict clients refuse a card whose Content-Type is no JSON type. text/plain and text/html are what a "
        "file server says that does not know better.",
        "Content-Type: application/json",
        "14.3",
    ),
    "plain-http": (
        "must", "The card came over plain http",
        "Nobody vouches for it: whoever is on the way may have written it.",
        "Serve the card by https.",
        "7.1",
    ),
    "no-max-age": (
        "warning", "The answer does not say how long it stays fresh",
        "Without Cache-Control each client has a rule of its own: some ask at every call, others keep an old card "
        "for hours.",
        "Cache-Control: public, max-age=300",
        "8.6.1",
    ),
    "not-cacheable": (
        "advice", "The card may not be kept",
        "no-store, or a lifetime of nothing, makes every client ask before every call. A public card holds no "
        "secrets that would need it.",
        "Cache-Control: public, max-age=300",
        "8.6.1",
    ),
    "no-etag": (
        "warning", "The answer has no validator",
        "Without an ETag an expired copy is fetched whole, though nothing changed.",
        "Send an ETag that is made of the card's bytes or its version.",
        "8.6.1",
    ),
    "etag-unstable": (
        "warning", "The ETag changes while the card does not",
        "Two requests in a row got one card under two ETags, so no copy is ever confirmed. Signing anew at every "
        "request does it, since ECDSA signatures differ each time; so do several servers that each make their "
        "own.",
        "Sign once, when the card changes, and make the ETag of its bytes.",
        "8.6.1",
    ),
    "etag-blind": (
        "warning", "The ETag stays while the card changes",
        "Two requests in a row got different cards under one ETag. Clients keep the old one, for ever if they are "
        "polite. A tag that is made without the signatures keeps a signature whose key is gone.",
        "Make the ETag of all bytes that are sent, signatures included.",
        "8.6.1",
    ),
    "etag-ignored": (
        "advice", "A condition is not honoured",
        "A request with If-None-Match and the current ETag got the whole card in place of 304.",
        "Answer 304 where one of the listed tags matches.",
        "RFC 9110",
    ),
    "version-unchanged": (
        "warning", "Two different cards have one version",
        "Two requests in a row got cards that differ, signatures aside, under one version. Clients that go by the "
        "version miss the change; several servers may be out of step.",
        "Change the version with the card, and roll servers out together.",
        "8.6.1",
    ),
    "vary-missing": (
        "warning", "The answer depends on a header that it does not name",
        "The card differs by A2A-Version, and the answer has no Vary that says so. A shared cache hands the card "
        "of one generation to clients of the other.",
        "Vary: A2A-Version",
        "RFC 9111",
    ),
    "version-refused": (
        "warning", "Clients of another version get no card",
        "A request that says A2A-Version 0.3 was refused. The card is where a client learns which versions there "
        "are.",
        "Answer the card whatever the version asked for.",
        "3.6.2",
    ),
    "redirected": (
        "advice", "The card is reached by a redirect",
        "Some clients follow none. What it leads to, and how long, is up to every hop.",
        "Serve the card at the place where clients ask.",
        "8.2",
    ),
    "old-path-only": (
        "warning", "The card is at the old place alone",
        "Clients of 0.3 and 1.0 ask for /.well-known/agent-card.json; agent.json is the name of 0.2, and few "
        "still try it.",
        "Serve the card at /.well-known/agent-card.json.",
        "8.2",
    ),
    "old-path-missing": (
        "advice", "Nothing is at the old place",
        "The card offers an interface of 0.x, and old clients ask for /.well-known/agent.json.",
        "Serve the same card there, as long as such clients matter.",
        "A.2",
    ),
    "old-path-different": (
        "warning", "Another card is at the old place",
        "/.well-known/agent.json answers with other endpoints or another version than agent-card.json. One of "
        "them was forgotten, and clients that ask there call what it names.",
        "Serve the same card at both, or 404 at the old place.",
        "8.2",
    ),
    "keys-unreachable": (
        "warning", "The keys cannot be had",
        "The place that a signature names for its key did not answer with a JWK Set, so nobody can verify the "
        "card by it.",
        "Serve the JWK Set there, by https, without credentials.",
        "8.4.3",
    ),
    "keys-malformed": (
        "warning", "The keys are no JWK Set",
        'The answer is not JSON of the form {"keys": [...]}, or not one of its keys can be used.',
        "Serve a JWK Set with the public keys alone.",
        "RFC 7517",
    ),
    "key-missing": (
        "warning", "The key that signed is not published",
        "The JWK Set has no key with the kid of the signature. It was rotated away, or never published.",
        "Publish the key for as long as a card signed by it may be in a cache.",
        "8.4.3",
    ),
    "private-key-published": (
        "error", "A private key is published",
        "A key of the JWK Set has its private part. Everybody can sign in this agent's name.",
        "Rotate the key now, and publish public parts alone.",
        "RFC 7517",
    ),
    "endpoint-silent": (
        "warning", "An interface does not answer",
        "Connecting to the URL of an interface failed, or the server behind it did.",
        "Correct the URL, or start the server.",
        "8.3.1",
    ),
    "endpoint-not-a2a": (
        "warning", "An interface answers, and not as A2A",
        "A call of its binding got an answer that no A2A server gives: a page, a 404, or JSON of another kind.",
        "Correct the URL: it is where calls are sent, not where the site is.",
        "8.3.1",
    ),
    "extended-open": (
        "error", "The extended card is open to everybody",
        "A request without credentials got the extended card, which differs from the public one. SDKs check "
        "nothing here by themselves: the server has to.",
        "Put authentication before the operation, and answer 401 without it.",
        "13.3",
    ),
    "extended-public": (
        "advice", "Strangers get the public card in place of the extended one",
        "A request without credentials got the public card with 200. Nothing leaks, yet a client whose token "
        "expired never learns it.",
        "Answer 401 with WWW-Authenticate.",
        "7.4",
    ),
    "extended-undeclared": (
        "warning", "An extended card that is not declared",
        "The operation answers with a card, and capabilities.extendedAgentCard is not true.",
        "Declare it, or switch the operation off.",
        "3.3.4",
    ),
    "challenge-missing": (
        "advice", "A 401 without a challenge",
        "A client learns from WWW-Authenticate which scheme is wanted, and whether its token expired.",
        'WWW-Authenticate: Bearer realm="..."',
        "7.4",
    ),
}  # fmt: skip
