"""The codes of what a card says: the specification, and what implementations make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_discovery._check.codes import Table

SPECIFICATION: Table = {
    "not-json": (
        "error", "It is not JSON",
        "The document cannot be read the same way by every reader: it is not UTF-8, not JSON, nests too deep, "
        "names a member twice in one object, or holds a number or half a character that JSON has no room for. Two "
        "readers of a document with duplicate names may see two different cards, so none of them should be "
        "believed.",
        "Serve one JSON object in UTF-8, each member once. A JSON library writes it so; a template does not.",
        "RFC 8259",
    ),
    "not-an-agent-card": (
        "error", "It is another kind of document",
        "The document is JSON, yet not an Agent Card: a list, a catalog, the manifest of another protocol, or the "
        "answer of an API. Clients that ask for a card find this and stop.",
        "Serve the AgentCard object itself at /.well-known/agent-card.json.",
        "8.2",
    ),
    "missing-required": (
        "must", "A REQUIRED member is missing",
        "The definition of A2A 1.0 marks this member REQUIRED, and it is not there. Where its absence has one "
        "meaning (an empty list of skills, say) a tolerant reader goes on; without a name, a version, "
        "capabilities or an interface there is no card.",
        "Write the member.",
        "5.7",
    ),
    "null-required": (
        "must", "A REQUIRED member is null",
        "null stands for absence in the JSON of A2A, so a REQUIRED member must not be null. Servers written in Go "
        "send it for lists that were never filled in, and the Python SDK fails on it.",
        "Write the value; for a list, at least [].",
        "5.7",
    ),
    "empty-required": (
        "must", "A REQUIRED member is empty",
        "A REQUIRED list has at least one element, and a REQUIRED text says something. An empty one mostly means "
        "that nobody filled it in, and clients that validate may refuse the card.",
        "Say what there is: at least one element, or a text.",
        "5.7",
    ),
    "wrong-type": (
        "must", "A member has the wrong type",
        "The member is not of the type that the definition gives it: text where a list belongs, or a list where "
        "an object does. A capabilities member that is a list is the sign of a card that was written for "
        "something else.",
        "Write it in the type that the message names.",
        "1.4",
    ),
    "ambiguous-scheme": (
        "must", "A security scheme is of two kinds",
        "A scheme has exactly one of apiKeySecurityScheme, httpAuthSecurityScheme, oauth2SecurityScheme, "
        "openIdConnectSecurityScheme and mtlsSecurityScheme. With two of them no reader can know which is meant, "
        "so none is used, and the Python SDK refuses the whole card.",
        "Make two schemes of it, each of one kind.",
        "4.5",
    ),
    "unknown-scheme": (
        "must", "A security scheme is of no known kind",
        "The scheme has none of the five members that A2A knows. Clients cannot fulfil it; one SDK drops it in "
        "silence, another refuses the card.",
        "Use one of the five kinds, or describe the scheme in an extension.",
        "4.5",
    ),
    "undeclared-scheme": (
        "must", "A requirement names a scheme that is not declared",
        "A security requirement names schemes of securitySchemes, and this one is not among them. Nobody can "
        "fulfil it.",
        "Declare the scheme under that very name, or correct the name.",
        "4.5",
    ),
    "undeclared-scope": (
        "advice", "A requirement asks for a scope that its flow does not list",
        "The scheme's flow lists its scopes, and this one is not among them, so a client cannot tell a person "
        "what it is about to ask for.",
        "Add the scope and its description to the flow.",
        "4.5",
    ),
    "bad-location": (
        "must", "The place of an API key is none",
        "An API key is sent in the query, in a header or in a cookie. Any other word leaves the client without a "
        "place.",
        'Write "location": "header", "query" or "cookie".',
        "4.5",
    ),
    "unknown-http-scheme": (
        "advice", "The HTTP authentication scheme is not registered",
        "The scheme is not in IANA's registry of HTTP authentication schemes. Clients compare it without case, "
        "and know what to send for few of them: Bearer and Basic above all.",
        'Write "scheme": "Bearer", or another name of the registry.',
        "4.5",
    ),
    "deprecated-flow": (
        "warning", "The OAuth flow is deprecated",
        "A2A 1.0 keeps the implicit and the password flow for old cards alone, and OAuth 2.1 has neither: both "
        "hand tokens or passwords to whoever is in between.",
        "Offer authorizationCode with PKCE for people, clientCredentials for machines, deviceCode for devices.",
        "4.5",
    ),
    "pkce-not-required": (
        "advice", "The authorization code flow does not ask for PKCE",
        "PKCE keeps a stolen authorization code from being used. Public clients always need it, and it is "
        "recommended for all.",
        'Write "pkceRequired": true, and let the authorization server insist on it.',
        "RFC 7636",
    ),
    "plain-auth-url": (
        "must", "Credentials would go over plain http",
        "The URL of an authorization, token or metadata endpoint is not https. What is sent there can be read and "
        "changed by anybody on the way.",
        "Serve it by https, and write that URL.",
        "7.1",
    ),
    "bad-auth-url": (
        "must", "The URL of an authentication endpoint is none",
        "The member must hold an absolute URL, and what stands there is none.",
        "Write the whole URL: https://login.example/token.",
        "4.5",
    ),
    "bad-media-type": (
        "warning", "A mode is not a media type",
        "Input and output modes are media types. Bare words such as text are from A2A 0.1; clients that compare "
        "modes find no match, and offer nothing that the agent would understand.",
        "Write text/plain, application/json, image/png, ...",
        "4.4.1",
    ),
    "duplicate-skill": (
        "warning", "Two skills have one id",
        "The id names a skill among the skills of its card. Where two share one, callers that index by it lose a "
        "skill.",
        "Give each skill an id of its own.",
        "4.4.5",
    ),
    "duplicate-interface": (
        "advice", "An interface is listed twice",
        "Two entries of supportedInterfaces say the same. It does no harm and helps nobody.",
        "Leave the second one out.",
        "8.3.1",
    ),
    "custom-binding": (
        "warning", "A binding of your own has no URI",
        "Bindings other than JSONRPC, GRPC and HTTP+JSON are named by a URI, so that two of them never share a "
        "name.",
        "Name it by a URI that is yours, and change that with every breaking change.",
        "5.8",
    ),
    "odd-version": (
        "must", "The protocol version is none",
        "An interface says which Major.Minor of A2A it speaks: 1.0 or 0.3. The 2.0 that is sometimes found there "
        "is the version of JSON-RPC. Clients that compare versions skip such an interface; others guess.",
        'Write "protocolVersion": "1.0".',
        "3.6",
    ),
    "version-form": (
        "advice", "A protocol version has more than two parts",
        "Patch numbers have no place in cards and requests, and never count where versions are compared.",
        'Write Major.Minor alone: "1.0".',
        "3.6",
    ),
    "extension-without-uri": (
        "warning", "An extension has no URI",
        "The URI is the extension's name. Without it nobody can activate it, and a required one locks everybody "
        "out.",
        "Write the URI that the extension's specification gives.",
        "4.6.1",
    ),
    "extension-uri": (
        "warning", "The name of an extension is no URI",
        "Extensions are named by URIs, which clients send back in the header A2A-Extensions, separated by commas. "
        "A text with spaces or commas, or without a scheme, breaks that.",
        "Write an absolute URI: https://ext.example/loyalty/v1.",
        "4.6.1",
    ),
    "extension-version": (
        "advice", "The URI of an extension carries no version",
        "A breaking change of an extension must use a new URI, so its URI should carry a version from the "
        "beginning.",
        "Put a version into it: https://ext.example/loyalty/v1.",
        "4.6.3",
    ),
    "duplicate-extension": (
        "warning", "An extension is declared twice",
        "Two entries have one URI; where they differ, which of them counts is anybody's guess.",
        "Keep one entry.",
        "4.6.1",
    ),
    "misplaced-extension": (
        "warning", "Extensions stand in the wrong place",
        "Extensions are declared in capabilities.extensions. Elsewhere they are not read; a required one is then "
        "never activated, and calls fail without a reason.",
        "Move it to capabilities.extensions.",
        "4.6.1",
    ),
    "extended-without-security": (
        "warning", "An extended card without a way to authenticate",
        "The extended card is for authenticated clients, and the public card is where they learn how. This one "
        "declares no security scheme, so the extended card is either open to everybody or out of reach.",
        "Declare securitySchemes and securityRequirements, or take capabilities.extendedAgentCard away.",
        "13.3",
    ),
    "malformed-signature": (
        "must", "A signature cannot be read",
        "An entry of signatures has protected, a base64url JSON object without padding, and signature, base64url. "
        "This one has not, or it breaks a rule of RFC 7515: a name in both headers, crit outside the protected "
        "one. No client can verify it.",
        "Let a JOSE library write the entry: JWS in flattened JSON form, with a detached payload.",
        "8.4.2",
    ),
    "signature-without-kid": (
        "must", "A signature does not say which key made it",
        "The protected header holds alg and kid. Without the kid a verifier has to try every key it knows, and "
        "most refuse.",
        "Put the kid of the key in your JWK Set into the protected header.",
        "8.4.2",
    ),
    "forbidden-algorithm": (
        "must", "A signature's algorithm proves nothing",
        "none signs nothing, HMAC can be made by everybody who can check it, and unknown algorithms cannot be "
        "checked. Critical header parameters (crit, b64) that no verifier knows have the same end.",
        "Sign with ES256, or another asymmetric algorithm: ES384, EdDSA, PS256, RS256.",
        "8.4.2",
    ),
    "plain-key-url": (
        "warning", "A signature's keys are not at an https URL",
        "The jku of the protected header says where the key is. Keys that come over plain http prove nothing, and "
        "verifiers don't fetch them.",
        "Publish the JWK Set by https on the card's own site.",
        "8.4.3",
    ),
    "bad-link": (
        "warning", "A link is no absolute URL",
        "provider.url, documentationUrl and iconUrl are absolute URLs that a person can open.",
        "Write the whole https URL, or leave the member out.",
        "4.4.1",
    ),
}  # fmt: skip

INTEROPERABILITY: Table = {
    "null-optional": (
        "advice", "An optional member is null",
        "null means that the member is absent, and leaving it out says the same. Some readers take null for a "
        "value and fail.",
        "Leave the member out.",
        "5.7",
    ),
    "renamed-member": (
        "must", "A member has another spelling",
        "The member is read by readers that know the spelling, and is not there for all others: snake_case names, "
        "in_ in place of in, a name of a draft or of one server.",
        "Write the name that A2A 1.0 has, in camelCase.",
        "5.5",
    ),
    "conflicting-members": (
        "warning", "Two members say one thing in two ways",
        "An older name or spelling stands beside the current one and says something else. Which of them counts "
        "depends on the reader.",
        "Let both say the same, or leave the older one out.",
        "5.5",
    ),
    "unknown-member": (
        "advice", "A member that A2A does not know",
        "Readers ignore it. SDKs drop it before they sign and verify, so no signature of theirs protects it.",
        "Put data of your own into an extension's params, or leave it out.",
        "5.7",
    ),
    "legacy-member": (
        "advice", "A member of A2A 0.x in a card of 1.0",
        "A2A 1.0 has no such member, and readers of 1.0 don't use it. In a card that serves both generations on "
        "purpose it is right.",
        "Leave it out, unless clients of 0.3 read this card too.",
        "A.2",
    ),
    "legacy-card": (
        "advice", "The card is of A2A 0.x",
        "Clients of 1.0 read it by a compatibility mode, and not all of them have one.",
        "Run a2a-discover upgrade on it, and serve what it writes beside or in place of this card.",
        "A.2",
    ),
    "legacy-security": (
        "must", "security is called securityRequirements now",
        "A card of the 1.0 shape has requirements under the name of 0.3. Some readers take them, others see a "
        "card without any; and no SDK's signature covers them, because SDKs drop what 1.0 does not know.",
        'Write "securityRequirements": [{"schemes": {NAME: {"list": [SCOPES]}}}].',
        "4.4.1",
    ),
    "flat-requirement": (
        "must", "A requirement in the form of OpenAPI",
        "A2A 1.0 wraps the schemes of a requirement in schemes, and scopes in list. SDKs that parse by the "
        "definition refuse the shorter form, or read it as a requirement of nothing.",
        'Write {"schemes": {NAME: {"list": [SCOPES]}}}.',
        "4.5",
    ),
    "several-flows": (
        "must", "Several OAuth flows in one scheme",
        "A scheme of 1.0 has one flow. The Python SDK refuses the whole card, the JavaScript SDK keeps one flow "
        "in silence.",
        "Make one scheme of each flow, and list the schemes as alternatives in securityRequirements: a2a-discover "
        "upgrade does it.",
        "4.5",
    ),
    "scheme-type": (
        "must", "The type of a scheme is spelled in another way",
        "The kinds of 0.3 are apiKey, http, oauth2, openIdConnect and mutualTLS, in this very spelling.",
        "Write the member of 1.0 in its place, such as httpAuthSecurityScheme.",
        "4.5",
    ),
    "inferred-scheme": (
        "must", "A scheme does not say of which kind it is",
        "Neither the member of 1.0 nor the type of 0.3 is there; the kind was guessed from the other members. "
        "Other readers will not guess.",
        "Wrap it in the member of its kind, such as apiKeySecurityScheme.",
        "4.5",
    ),
    "case-wrapper": (
        "must", "An in-memory object was served as JSON",
        "$case and value are how one JavaScript library holds a choice in memory. The JSON of A2A has the chosen "
        "member itself. SDKs read such a scheme as an empty one, so the card seems to need no credentials.",
        "Serialise the card with the library's own toJSON before it is sent.",
        "4.5",
    ),
    "transport-folded": (
        "must", "A core binding is spelled in another way",
        "Some SDKs compare the names of bindings byte by byte and see none that they know.",
        "Write JSONRPC, GRPC or HTTP+JSON.",
        "4.4.6",
    ),
    "version-assumed": (
        "warning", "No protocol version is named",
        "Without a version the interface is spoken to as 0.3. A server that speaks 1.0 alone then gets calls that "
        "it cannot parse.",
        'Write "protocolVersion" in every interface: "1.0".',
        "3.6",
    ),
    "old-version": (
        "warning", "A protocol version before 0.3",
        "Its operations are those of 0.3, so it is spoken to as that; SDKs of 2026 refuse it.",
        "Move the server to 1.0, or at least name 0.3 where it answers as that.",
        "3.6",
    ),
    "ambiguous-generation": (
        "must", "The card claims 1.x in the shape of 0.3",
        "Its endpoint is a top-level url, as in 0.3, yet its protocolVersion says 1.x. SDKs of 1.0 find no "
        "interface in it, those of 0.3 speak 0.3.",
        "List the endpoints in supportedInterfaces, each with its version.",
        "4.4.6",
    ),
    "legacy-auth": (
        "warning", "authentication of A2A 0.1",
        "The member went away with 0.2. Readers of today see a card without any security.",
        "Declare securitySchemes and securityRequirements.",
        "4.5",
    ),
    "relative-url": (
        "must", "The URL of an interface is relative",
        "An interface's URL is absolute. Some clients resolve a relative one against the URL of the card, others "
        "fail much later with an error about something else.",
        "Write the whole URL: https://shop.example/a2a.",
        "4.4.6",
    ),
    "operation-url": (
        "warning", "The URL is that of one operation",
        "An interface's URL is where the operations begin, and clients append their paths. This one is an "
        "operation already, so every call goes wrong.",
        "Cut the operation off: what is left of /v1/message:send.",
        "11.3",
    ),
    "grpc-target": (
        "advice", "A gRPC address that readers understand differently",
        "A2A 1.0 writes a gRPC address as an https URL, newer drafts as host:port. Not every SDK takes both, and "
        "a path is ignored.",
        "Write host:port, or https://host:port without a path.",
        "4.4.6",
    ),
    "no-core-binding": (
        "warning", "No interface has a binding that clients know",
        "Every SDK speaks JSONRPC, most speak HTTP+JSON and GRPC. A client without your binding finds nothing to "
        "call.",
        "Offer JSONRPC or HTTP+JSON beside your own.",
        "5.2",
    ),
    "rival-interfaces": (
        "advice", "Two interfaces differ in the URL alone",
        "They have one binding and one version. The specification lets the first one win; the JavaScript SDK "
        "takes the last.",
        "List one entry for a binding and version, or tell tenants apart by cards of their own.",
        "8.3.2",
    ),
    "older-first": (
        "advice", "An older version stands before a newer one",
        "The order of supportedInterfaces is your order of preference, so clients that speak both take the older "
        "version, and one SDK speaks the newer dialect to it.",
        "List 1.0 first.",
        "8.3.1",
    ),
    "unsafe-number": (
        "advice", "A number that readers round differently",
        "Integers beyond 2^53 are rounded by every reader that holds numbers as doubles, JavaScript's among them, "
        "and in the canonical form of a signature.",
        "Write it as text.",
        "RFC 8785",
    ),
    "signs-differently": (
        "advice", "SDKs sign other bytes than the specification",
        "The canonical form of section 8.4.1 keeps an empty value here, and the SDKs of 2026 delete it before "
        "they sign. A verifier that knows one form alone refuses a signature made over the other, and what was "
        "deleted is not protected.",
        "Fill the value in, or leave it out where the member is optional; then both forms agree.",
        "8.4.1",
    ),
    "byte-order-mark": (
        "must", "The document begins with a byte order mark",
        "JSON on the network must not begin with one, and some parsers refuse it.",
        "Save the file as UTF-8 without BOM.",
        "RFC 8259",
    ),
    "too-large": (
        "error", "The document is too large for a card",
        "Clients bound what they read from strangers; this project's bounds for a card are 1 MiB and 25,000 parts: "
        "interfaces, skills, schemes, requirements and the like. What says more belongs in documentation, or in "
        "several cards.",
        "Shorten texts and examples, and serve several agents by several cards.",
        "",
    ),
    "more-findings": (
        "advice", "There is more",
        "The list of findings is bounded. Mend these and check again.",
        "",
        "",
    ),
}  # fmt: skip
