"""Every published spelling in the 1.0 shape: expected values written by hand from the field map."""

from __future__ import annotations

import copy
import time
from typing import Any

import pytest

from a2a_discovery.errors import CardError


def interfaces(reading: Any) -> list[tuple[str, str, str]]:
    return [(each.url, each.protocol_binding, each.protocol_version) for each in reading.card.supported_interfaces]


# --- generations -----------------------------------------------------------------------------------------------------


def test_a_1_0_card_comes_out_as_it_went_in(v1, read):
    card = v1 | {
        "provider": {"organization": "Ferries", "url": "https://ferry.example", "x": 1},
        "securitySchemes": {"m": {"mtlsSecurityScheme": {}}, "b": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"m": {}, "b": {"list": ["a"]}}}, {}],
        "x-own": {"deep": [None, {"inputModes": None}]},
    }
    card["capabilities"] = {"extensions": [{"uri": "u", "params": {"snake_case": None, "protocol_version": [1]}}]}

    reading = read(card, strict=True)

    assert reading.value == card
    assert list(reading.value) == list(card)
    assert reading.origins == {}
    assert not reading.legacy


@pytest.mark.parametrize("name", ["024-v1.0-clean-explicit-false-extras.json", "033-v1.0-shape-0.3-interface.json"])
def test_published_1_0_cards_come_out_as_they_went_in(name, read, published):
    card = published(f"cards/{name}")

    assert read(card).value == card


def test_a_0_3_card_says_the_same_as_its_1_0_form(v1, v03, read):
    v1["supportedInterfaces"][0]["protocolVersion"] = "0.3"

    reading = read(v03, strict=True)

    assert reading.value == v1
    assert reading.legacy
    assert reading.findings == ()
    assert reading.origin("/supportedInterfaces/0/url") == "/url"
    assert reading.origin("/supportedInterfaces/0/protocolBinding") == "/preferredTransport"
    assert reading.origin("/supportedInterfaces/0/protocolVersion") == "/protocolVersion"
    assert reading.origin("/supportedInterfaces/0") == "/url"
    assert reading.origin("/supportedInterfaces") == "/url"
    assert reading.origin("/skills/0/tags") == "/skills/0/tags"
    assert reading.origin("") == ""


@pytest.mark.parametrize(
    ("claimed", "spoken", "code"),
    [
        (..., "0.3", "version-assumed"),
        (None, "0.3", "version-assumed"),
        ("", "0.3", "version-assumed"),
        ("latest", "0.3", "version-assumed"),
        ("0.1", "0.3", "old-version"),
        ("0.2.9", "0.3", "old-version"),
        ("0.3", "0.3", None),
        ("0.3.0", "0.3", None),
        ("v0.3.1-rc2", "0.3", None),
        ("0.4.0", "0.4", None),
        ("1.0", "0.3", "ambiguous-generation"),
        ("1", "0.3", "ambiguous-generation"),
        ("2.0", "2.0", None),
    ],
)
def test_the_dialect_of_a_legacy_card(claimed, spoken, code, v03, read, told):
    del v03["protocolVersion"]
    if claimed is not ...:
        v03["protocolVersion"] = claimed

    reading = read(v03)

    assert interfaces(reading) == [("https://ferry.example/rpc", "JSONRPC", spoken)]
    assert told(reading) == ({(code, "/protocolVersion")} if code else set())
    assert reading.document is v03


def test_a_version_written_as_a_number_is_told(v03, read, told):
    v03["protocolVersion"] = 0.3

    assert told(read(v03)) == {("wrong-type", "/protocolVersion"), ("version-assumed", "/protocolVersion")}


@pytest.mark.parametrize(
    ("written", "spoken"),
    [("1.0.0", "1.0"), ("0.3.0", "0.3"), ("1", "1.0"), ("v1.0", "1.0"), ("0.2.5", "0.3"), ("next", "next")],
)
def test_the_version_of_an_interface_is_major_minor(written, spoken, v1, read):
    v1["supportedInterfaces"][0]["protocolVersion"] = written

    reading = read(v1)

    assert interfaces(reading)[0][2] == spoken
    assert reading.document["supportedInterfaces"][0]["protocolVersion"] == written


@pytest.mark.parametrize(
    ("root", "spoken", "origin"),
    [
        ({"protocolVersion": "1.0"}, "1.0", "/protocolVersion"),
        ({"protocolVersion": "0.3.0"}, "0.3", "/protocolVersion"),
        ({"protocolVersions": ["1.0", "0.3"]}, "1.0", "/protocolVersions/0"),
        ({}, "0.3", "/supportedInterfaces/0/protocolVersion"),
        ({"protocolVersion": 1.0}, "0.3", "/supportedInterfaces/0/protocolVersion"),
    ],
)
@pytest.mark.parametrize("written", [..., None, ""])
def test_an_interface_without_version_inherits_the_cards(root, spoken, origin, written, v1, read, told):
    v1["supportedInterfaces"][0].pop("protocolVersion")
    if written is not ...:
        v1["supportedInterfaces"][0]["protocolVersion"] = written

    reading = read(v1 | root)

    assert interfaces(reading)[0][2] == spoken
    assert ("version-assumed", "/supportedInterfaces/0/protocolVersion") in told(reading)
    assert reading.origin("/supportedInterfaces/0/protocolVersion") == origin


def test_a_hybrid_is_a_1_0_card(v1, v03, read, told):
    hybrid = v03 | v1 | {"url": "https://elsewhere.example", "supportsAuthenticatedExtendedCard": True}
    hybrid["capabilities"] = {"extendedAgentCard": True}

    reading = read(hybrid)

    assert interfaces(reading) == [("https://ferry.example/rpc", "JSONRPC", "1.0")]
    assert reading.value == hybrid
    assert told(reading) == set()
    assert {each.pointer for each in reading.findings if each.code == "legacy-member"} == {
        "/url", "/preferredTransport", "/protocolVersion", "/supportsAuthenticatedExtendedCard",
    }  # fmt: skip


def test_an_empty_list_of_interfaces_beside_an_url_is_a_legacy_card(v03, read):
    assert read(v03 | {"supportedInterfaces": []}).legacy
    assert read(v03 | {"supportedInterfaces": None}).legacy


def test_interfaces_of_a_wrong_type_beside_an_url_are_not_passed_over(v03, read, told):
    with pytest.raises(CardError) as refusal:
        read(v03 | {"supportedInterfaces": "https://ferry.example"})

    assert ("wrong-type", "/supportedInterfaces") in told(refusal.value)


def test_no_interface_at_all_is_refused(v1, read, told):
    with pytest.raises(CardError) as refusal:
        read(v1 | {"supportedInterfaces": []})

    assert told(refusal.value) == {("empty-required", "/supportedInterfaces")}


def test_all_that_is_missing_is_told_at_once(read, told):
    with pytest.raises(CardError) as refusal:
        read({})

    required = "name description version capabilities supportedInterfaces defaultInputModes defaultOutputModes skills"
    assert told(refusal.value) == {("missing-required", f"/{name}") for name in (*required.split(), "url")}


# --- interfaces ------------------------------------------------------------------------------------------------------


def test_additional_interfaces_follow_and_the_repeated_main_one_goes(v03, read):
    v03["additionalInterfaces"] = [
        {"url": "https://ferry.example/rpc", "transport": "json-rpc"},
        {"url": "https://ferry.example/grpc", "transport": "GRPC", "x-weight": 3},
        {"url": "https://ferry.example/rpc", "transport": "REST"},
        {"url": "https://ferry.example/rpc", "transport": "HTTP+JSON"},
    ]
    before = copy.deepcopy(v03)

    reading = read(v03)

    assert interfaces(reading) == [
        ("https://ferry.example/rpc", "JSONRPC", "0.3"),
        ("https://ferry.example/grpc", "GRPC", "0.3"),
        ("https://ferry.example/rpc", "HTTP+JSON", "0.3"),
    ]
    assert v03 == before
    assert reading.value["supportedInterfaces"][1]["x-weight"] == 3
    assert reading.origin("/supportedInterfaces/1/protocolBinding") == "/additionalInterfaces/1/transport"
    assert reading.origin("/supportedInterfaces/1/x-weight") == "/additionalInterfaces/1/x-weight"
    assert reading.origin("/supportedInterfaces/2/url") == "/additionalInterfaces/2/url"
    assert reading.origin("/supportedInterfaces/2/protocolVersion") == "/protocolVersion"


def test_faults_in_additional_interfaces_are_told_where_they_stand(v03, read, told):
    v03["additionalInterfaces"] = [{"url": "https://ferry.example/a"}, {"transport": "GRPC"}, "https://ferry.example"]
    v03["preferredTransport"] = 7

    with pytest.raises(CardError) as refusal:
        read(v03)

    assert told(refusal.value) == {
        ("wrong-type", "/preferredTransport"),
        ("missing-required", "/additionalInterfaces/0/transport"),
        ("missing-required", "/additionalInterfaces/1/url"),
        ("wrong-type", "/additionalInterfaces/2"),
    }


@pytest.mark.parametrize("more", [{"url": "https://x.example"}, "x", 5])
def test_additional_interfaces_of_a_wrong_type_are_refused(more, v03, read, told):
    with pytest.raises(CardError) as refusal:
        read(v03 | {"additionalInterfaces": more})

    assert told(refusal.value) == {("wrong-type", "/additionalInterfaces")}


def test_a_fault_in_one_of_several_interfaces_is_not_passed_over(v1, read, told):
    v1["supportedInterfaces"] += [
        {"url": 5, "protocolBinding": None, "protocolVersion": 1.0, "tenant": ["a"]},
        {"url": None, "transport": "JSONRPC", "protocolVersion": "1.0", "tenant": None},
    ]

    with pytest.raises(CardError) as refusal:
        read(v1)

    assert told(refusal.value) == {
        ("wrong-type", "/supportedInterfaces/1/url"),
        ("null-required", "/supportedInterfaces/1/protocolBinding"),
        ("wrong-type", "/supportedInterfaces/1/protocolVersion"),
        ("wrong-type", "/supportedInterfaces/1/tenant"),
        ("null-required", "/supportedInterfaces/2/url"),
        ("missing-required", "/supportedInterfaces/2/protocolBinding"),
    }


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("jsonrpc", "JSONRPC"),
        ("json-rpc", "JSONRPC"),
        ("JSONRPC_HTTP", "JSONRPC"),
        ("JSON-RPC 2.0", "JSONRPC"),
        ("grpc", "GRPC"),
        ("http_json", "HTTP+JSON"),
        ("HTTP_JSON", "HTTP+JSON"),
        ("http+json/rest", "HTTP+JSON"),
        ("REST", "HTTP+JSON"),
        ("OPENAPI_API", "OPENAPI_API"),
        ("MCP", "MCP"),
        ("A2A_DIRECT", "A2A_DIRECT"),
        ("https://bindings.example/REST", "https://bindings.example/REST"),
    ],
)
def test_a_core_binding_is_known_by_any_of_its_spellings(written, read_as, v1, read):
    v1["supportedInterfaces"][0]["protocolBinding"] = written

    reading = read(v1)

    assert interfaces(reading)[0][1] == read_as
    assert reading.document["supportedInterfaces"][0]["protocolBinding"] == written
    assert any(each.code == "transport-folded" for each in reading.findings) == (written != read_as)


@pytest.mark.parametrize(
    ("written", "read_as"),
    [
        ("/a2a", "https://ferry.example/a2a"),
        ("./a2a", "https://ferry.example/.well-known/a2a"),
        ("../a2a?x=1", "https://ferry.example/a2a?x=1"),
        ("//other.example/a2a", "https://other.example/a2a"),
        ("/a2a/{tenant}", "/a2a/{tenant}"),
        ("/\\other.example", "/\\other.example"),
        ("ferry.example/a2a", "ferry.example/a2a"),
        ("a2a", "a2a"),
        ("//[::1", "//[::1"),
        ("", ""),
        ("ferry.example:443", "ferry.example:443"),
        ("https://ferry.example/x/../calc/", "https://ferry.example/x/../calc/"),
    ],
)
def test_only_a_path_is_resolved_and_every_other_url_stays_byte_for_byte(written, read_as, v1, read):
    v1["supportedInterfaces"][0]["url"] = written

    reading = read(v1, url="https://ferry.example/.well-known/agent-card.json")

    assert interfaces(reading)[0][0] == read_as


# --- names -----------------------------------------------------------------------------------------------------------


def test_snake_case_names_are_read_with_a_finding_each(v1, read, told):
    snake = {
        "name": "Ferry Desk", "description": "Sells ferry tickets.", "version": "2.1.0",
        "supported_interfaces": [
            {"url": "https://ferry.example/rpc", "protocol_binding": "JSONRPC", "protocol_version": "1.0"}
        ],
        "capabilities": {"push_notifications": True},
        "default_input_modes": ["text/plain"], "default_output_modes": ["text/plain"],
        "skills": [{"id": "s", "name": "S", "description": "S.", "tags": ["t"], "input_modes": ["text/html"]}],
        "security_schemes": {"api_key": {"api_key_security_scheme": {"location": "header", "name": "X-Key"}}},
        "security_requirements": [{"schemes": {"api_key": {"list": []}}}],
    }  # fmt: skip

    reading = read(snake)

    assert interfaces(reading) == [("https://ferry.example/rpc", "JSONRPC", "1.0")]
    assert reading.card.capabilities.push_notifications is True
    assert reading.card.skills[0].input_modes == ("text/html",)
    assert reading.card.security_schemes["api_key"].kind == "api_key_security_scheme"
    assert reading.origin("/supportedInterfaces/0/protocolBinding") == "/supported_interfaces/0/protocol_binding"
    assert reading.origin("/supportedInterfaces/0") == "/supported_interfaces/0"
    assert ("renamed-member", "/skills/0/input_modes") in told(reading)
    assert ("renamed-member", "/security_schemes/api_key/api_key_security_scheme") in told(reading)
    with pytest.raises(CardError) as refusal:
        read(snake, strict=True)
    assert ("missing-required", "/supportedInterfaces") in told(refusal.value)


def test_legacy_names_in_snake_case_are_read_too(v03, read):
    v03["preferred_transport"] = "HTTP+JSON"
    del v03["preferredTransport"]
    v03["protocol_version"] = v03.pop("protocolVersion")
    v03["supports_authenticated_extended_card"] = True

    reading = read(v03)

    assert interfaces(reading) == [("https://ferry.example/rpc", "HTTP+JSON", "0.3")]
    assert reading.origin("/supportedInterfaces/0/protocolBinding") == "/preferred_transport"
    assert reading.origin("/supportedInterfaces/0/protocolVersion") == "/protocol_version"
    assert reading.origin("/capabilities/extendedAgentCard") == "/supports_authenticated_extended_card"


def test_of_two_spellings_camel_case_counts_and_nothing_is_merged(v1, read, told):
    v1["supported_interfaces"] = [
        {"url": "https://attacker.example", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ]
    v1["iconUrl"], v1["icon_url"] = 5, "https://attacker.example/icon.png"

    reading = read(v1)

    assert interfaces(reading) == [("https://ferry.example/rpc", "JSONRPC", "1.0")]
    assert reading.card.icon_url is None
    assert "supported_interfaces" in reading.value
    assert "icon_url" not in reading.value
    assert told(reading) == {
        ("conflicting-members", "/supported_interfaces"),
        ("conflicting-members", "/icon_url"),
        ("wrong-type", "/iconUrl"),
    }


def test_a_providers_name_is_its_organization(v1, read, told):
    v1["provider"] = {"name": "Ferries", "url": "https://ferry.example"}

    reading = read(v1)

    assert reading.card.provider.organization == "Ferries"
    assert reading.origin("/provider/organization") == "/provider/name"
    assert told(reading) == {("missing-required", "/provider/organization")}


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("name", ["supportsAuthenticatedExtendedCard", "supportsExtendedAgentCard"])
def test_the_flag_for_the_extended_card_moves(name, flag, v03, read):
    reading = read(v03 | {name: flag})

    assert reading.card.capabilities.extended_agent_card is flag
    assert reading.value["capabilities"] == {"streaming": False, "extendedAgentCard": flag}
    assert name not in reading.value
    assert reading.origin("/capabilities/extendedAgentCard") == f"/{name}"
    assert reading.origin("/capabilities/streaming") == "/capabilities/streaming"


def test_flags_that_contradict_each_other_are_told(v1, read, told):
    v1["capabilities"]["extendedAgentCard"] = False
    v1["supportsExtendedAgentCard"] = True

    reading = read(v1)

    assert reading.card.capabilities.extended_agent_card is False
    assert told(reading) == {("conflicting-members", "/supportsExtendedAgentCard")}


def test_what_has_no_place_in_1_0_stays_where_it_was(v03, read):
    v03["capabilities"]["stateTransitionHistory"] = True
    v03["authentication"] = {"schemes": ["x402"], "credentials": None}
    v03["x-own"] = 1

    value = read(v03).value

    assert value["capabilities"]["stateTransitionHistory"] is True
    assert value["authentication"] == {"schemes": ["x402"], "credentials": None}
    assert value["x-own"] == 1


# --- null, types -----------------------------------------------------------------------------------------------------


def test_null_means_absent(v1, read):
    v1 |= {"provider": None, "iconUrl": None, "securitySchemes": None, "security": None, "signatures": None, "x": None}
    v1["skills"][0] |= {"tags": None, "examples": None, "security": None}
    v1["capabilities"] = {"extensions": None, "streaming": None}

    reading = read(v1)

    assert reading.card.provider is None
    assert reading.card.signatures == ()
    assert reading.card.skills[0].tags == ()
    assert reading.card.capabilities.streaming is None
    assert reading.value["capabilities"] == {}
    assert "security" not in reading.value
    assert reading.value["x"] is None
    assert {each.pointer for each in reading.findings if each.code == "null-optional"} == {
        "/provider", "/iconUrl", "/securitySchemes", "/signatures", "/skills/0/examples",
        "/capabilities/extensions", "/capabilities/streaming",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["name", "version", "capabilities", "supportedInterfaces"])
def test_null_where_something_is_required_is_refused(name, v1, read, told):
    with pytest.raises(CardError) as refusal:
        read(v1 | {name: None})

    assert ("null-required", f"/{name}") in told(refusal.value)


def test_an_optional_member_of_a_wrong_type_is_absent(v1, read, told):
    v1 |= {"iconUrl": {}, "provider": "Ferries", "signatures": {}, "securitySchemes": []}
    v1["capabilities"] = {"streaming": "false", "pushNotifications": 1, "extensions": {"uri": "u"}}
    v1["skills"][0] |= {"tags": "ferry", "examples": ["one", 2, "three"], "inputModes": "text/plain"}

    reading = read(v1)

    assert reading.card.capabilities.streaming is None
    assert reading.card.skills[0].tags == ()
    assert reading.card.skills[0].examples == ("one", "three")
    assert reading.origin("/skills/0/examples/1") == "/skills/0/examples/2"
    assert told(reading) == {
        ("wrong-type", pointer)
        for pointer in (
            "/iconUrl", "/provider", "/signatures", "/securitySchemes", "/capabilities/streaming",
            "/capabilities/pushNotifications", "/capabilities/extensions", "/skills/0/tags", "/skills/0/examples/1",
            "/skills/0/inputModes",
        )
    }  # fmt: skip
    with pytest.raises(CardError):
        read(v1, strict=True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", 5), ("description", ["d"]), ("version", 1.0), ("capabilities", []), ("skills", {}), ("skills", "none"),
        ("defaultInputModes", "text/plain"), ("supportedInterfaces", {}),
    ],
)  # fmt: skip
def test_a_required_member_of_a_wrong_type_is_refused(name, value, v1, read, told):
    with pytest.raises(CardError) as refusal:
        read(v1 | {name: value})

    assert told(refusal.value) == {("wrong-type", f"/{name}")}


def test_a_skill_that_is_no_object_or_has_no_id_is_refused(v1, read, told):
    v1["skills"] += ["sell", {"name": "Buy", "tags": []}]

    with pytest.raises(CardError) as refusal:
        read(v1)

    assert {each.pointer for each in refusal.value.findings if each.severity == "error"} == {
        "/skills/1",
        "/skills/2/id",
    }


def test_elements_that_are_left_out_shift_what_follows(v1, read):
    v1["capabilities"]["extensions"] = ["https://a.example", {"uri": "b"}, None, {"uri": "d", "params": {"x": 1}}]

    reading = read(v1)

    assert [each.uri for each in reading.card.capabilities.extensions] == ["b", "d"]
    assert reading.origin("/capabilities/extensions/1/params/x") == "/capabilities/extensions/3/params/x"


# --- schemes ---------------------------------------------------------------------------------------------------------

LEGACY_SCHEMES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (
        {"type": "apiKey", "in": "header", "name": "X-Key", "description": "d", "x-own": 1},
        {"apiKeySecurityScheme": {"location": "header", "name": "X-Key", "description": "d", "x-own": 1}},
    ),
    (
        {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
        {"httpAuthSecurityScheme": {"scheme": "bearer", "bearerFormat": "JWT"}},
    ),
    (
        {"type": "openIdConnect", "openIdConnectUrl": "https://id.example"},
        {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://id.example"}},
    ),
    ({"type": "mutualTLS"}, {"mtlsSecurityScheme": {}}),
    ({"type": "mutualTLS", "description": "d"}, {"mtlsSecurityScheme": {"description": "d"}}),
    (
        {
            "type": "oauth2",
            "oauth2MetadataUrl": "https://id.example/m",
            "flows": {
                "authorizationCode": {"authorizationUrl": "https://id.example/a", "tokenUrl": "https://id.example/t",
                                      "scopes": {"read": "Read"}},
                "clientCredentials": {"tokenUrl": "https://id.example/t", "scopes": {}},
                "implicit": {"authorizationUrl": "https://id.example/a", "scopes": {}},
                "password": {"tokenUrl": "https://id.example/t", "scopes": {}},
            },
        },
        {
            "oauth2SecurityScheme": {
                "oauth2MetadataUrl": "https://id.example/m",
                "flows": {
                    "authorizationCode": {"authorizationUrl": "https://id.example/a",
                                          "tokenUrl": "https://id.example/t", "scopes": {"read": "Read"}},
                    "clientCredentials": {"tokenUrl": "https://id.example/t", "scopes": {}},
                    "implicit": {"authorizationUrl": "https://id.example/a", "scopes": {}},
                    "password": {"tokenUrl": "https://id.example/t", "scopes": {}},
                },
            }
        },
    ),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), LEGACY_SCHEMES)
def test_a_scheme_of_0_3(old, new, v03, read):
    reading = read(v03 | {"securitySchemes": {"s": old}}, strict=True)

    assert reading.value["securitySchemes"] == {"s": new}
    assert reading.card.security_schemes["s"].kind is not None
    assert not [each for each in reading.findings if each.severity != "advice"]


ODD_SCHEMES: list[tuple[dict[str, Any], dict[str, Any], str, str]] = [
    (
        {"type": "apiKey", "in_": "header", "name": "X"},
        {"apiKeySecurityScheme": {"name": "X", "location": "header"}},
        "renamed-member @ /in_",
        "/in_",
    ),
    (
        {"scheme": {"$case": "apiKeySecurityScheme", "value": {"location": "header", "name": "X"}}},
        {"apiKeySecurityScheme": {"location": "header", "name": "X"}},
        "case-wrapper @ /scheme",
        "/scheme/value/location",
    ),
    (
        {"apiKey": {"location": "header", "name": "X"}, "type": "apiKey", "in": "header", "name": "X"},
        {"apiKeySecurityScheme": {"location": "header", "name": "X"}, "type": "apiKey", "in": "header", "name": "X"},
        "renamed-member @ /apiKey",
        "/apiKey/location",
    ),
    (
        {"in": "header", "name": "X"},
        {"apiKeySecurityScheme": {"name": "X", "location": "header"}},
        "inferred-scheme @ ",
        "/in",
    ),
    (
        {"location": "header", "name": "X"},
        {"apiKeySecurityScheme": {"name": "X", "location": "header"}},
        "inferred-scheme @ ",
        "/location",
    ),
    (
        {"type": "api_key", "in": "header", "name": "X"},
        {"apiKeySecurityScheme": {"name": "X", "location": "header"}},
        "scheme-type @ /type",
        "/in",
    ),
    (
        {"apiKeySecurityScheme": {"in": "header", "name": "X"}},
        {"apiKeySecurityScheme": {"name": "X", "location": "header"}},
        "renamed-member @ /apiKeySecurityScheme/in",
        "/apiKeySecurityScheme/in",
    ),
]


@pytest.mark.parametrize(("old", "new", "finding", "origin"), ODD_SCHEMES)
def test_an_api_key_in_an_odd_spelling(old, new, finding, origin, v1, read):
    document = v1 | {"securitySchemes": {"s": old}}
    code, _, below = finding.partition(" @ ")

    reading = read(document)

    assert reading.value["securitySchemes"] == {"s": new}
    assert reading.card.security_schemes["s"].api_key_security_scheme.location == "header"
    assert (code, f"/securitySchemes/s{below}") in {(each.code, each.pointer) for each in reading.findings}
    assert reading.origin("/securitySchemes/s/apiKeySecurityScheme/location") == f"/securitySchemes/s{origin}"
    with pytest.raises(CardError):
        read(document, strict=True)


def test_flat_members_beside_the_wrapper_are_ignored(v1, read):
    scheme = {"apiKeySecurityScheme": {"location": "header", "name": "X"}, "in": "query", "name": "Y", "type": "apiKey"}

    reading = read(v1 | {"securitySchemes": {"k": scheme}}, strict=True)

    assert reading.value["securitySchemes"] == {"k": scheme}
    assert reading.card.security_schemes["k"].api_key_security_scheme.name == "X"
    assert reading.findings == ()


def test_a_typed_servers_oauth_flow_is_unwrapped(v1, read):
    flow = {"tokenUrl": "https://id.example/t", "scopes": {"a": ""}}
    scheme = {
        "scheme": {
            "$case": "oauth2SecurityScheme",
            "value": {"description": "", "flows": {"flow": {"$case": "clientCredentials", "value": flow}}},
        }
    }

    reading = read(v1 | {"securitySchemes": {"o": scheme}})

    assert reading.value["securitySchemes"]["o"] == {
        "oauth2SecurityScheme": {"description": "", "flows": {"clientCredentials": flow}}
    }
    assert reading.card.security_schemes["o"].oauth2_security_scheme.flows.client_credentials.scopes == {"a": ""}
    pointer = "/securitySchemes/o/oauth2SecurityScheme/flows/clientCredentials/tokenUrl"
    assert reading.origin(pointer) == "/securitySchemes/o/scheme/value/flows/flow/value/tokenUrl"


def test_several_flows_are_all_kept(v1, v03, read, told):
    flows: dict[str, dict[str, Any]] = {
        "deviceCode": {"deviceAuthorizationUrl": "https://id.example/d", "tokenUrl": "https://id.example/t"},
        "clientCredentials": {"tokenUrl": "https://id.example/t"},
    }
    for flow in flows.values():
        flow["scopes"] = {}

    reading = read(v1 | {"securitySchemes": {"o": {"oauth2SecurityScheme": {"flows": flows}}}})
    old = read(v03 | {"securitySchemes": {"o": {"type": "oauth2", "flows": flows}}}, strict=True)

    for each in (reading, old):
        kept = each.card.security_schemes["o"].oauth2_security_scheme.flows
        assert kept.device_code is not None
        assert kept.client_credentials is not None
    assert told(reading) == {("several-flows", "/securitySchemes/o/oauth2SecurityScheme/flows")}
    assert told(old) == set()


INERT = [
    ({"type": "hmac", "key": "x"}, ("unknown-scheme", "")),
    ({}, ("unknown-scheme", "")),
    ({"type": 5}, ("unknown-scheme", "")),
    (
        {"mtlsSecurityScheme": {}, "httpAuthSecurityScheme": {"scheme": "Bearer"}},
        ("ambiguous-scheme", ""),
    ),
    ({"apiKeySecurityScheme": {"name": "X"}}, ("missing-required", "/apiKeySecurityScheme/location")),
    ({"apiKeySecurityScheme": {"name": 5, "location": "query"}}, ("wrong-type", "/apiKeySecurityScheme/name")),
    ({"apiKeySecurityScheme": "X-Key"}, ("wrong-type", "/apiKeySecurityScheme")),
    ({"httpAuthSecurityScheme": {"scheme": None}}, ("null-required", "/httpAuthSecurityScheme/scheme")),
    ({"openIdConnectSecurityScheme": {}}, ("missing-required", "/openIdConnectSecurityScheme/openIdConnectUrl")),
    ({"oauth2SecurityScheme": {}}, ("missing-required", "/oauth2SecurityScheme/flows")),
    ({"oauth2SecurityScheme": {"flows": []}}, ("wrong-type", "/oauth2SecurityScheme/flows")),
    ({"type": "apiKey", "name": "X"}, ("missing-required", "/in")),
]


@pytest.mark.parametrize(("scheme", "finding"), INERT)
def test_a_scheme_that_cannot_be_used_leaves_the_card_readable(scheme, finding, v1, read, told):
    document = v1 | {"securitySchemes": {"s": scheme, "ok": {"mtlsSecurityScheme": {}}}}
    code, below = finding

    reading = read(document)

    assert reading.card.security_schemes["s"].kind is None
    assert reading.card.security_schemes["s"].api_key_security_scheme is None
    assert reading.card.security_schemes["ok"].kind == "mtls_security_scheme"
    assert (code, f"/securitySchemes/s{below}") in told(reading)
    with pytest.raises(CardError):
        read(document, strict=True)


def test_a_flow_without_its_url_is_out_of_use_and_the_others_are_not(v1, read, told):
    flows = {"clientCredentials": {"scopes": {}}, "password": {"tokenUrl": "https://id.example/t"}}

    reading = read(v1 | {"securitySchemes": {"o": {"oauth2SecurityScheme": {"flows": flows}}}})

    kept = reading.card.security_schemes["o"].oauth2_security_scheme.flows
    assert kept.client_credentials is None
    assert kept.password.token_url == "https://id.example/t"
    assert ("missing-required", "/securitySchemes/o/oauth2SecurityScheme/flows/clientCredentials/tokenUrl") in told(
        reading
    )


def test_a_scheme_entry_that_is_no_object_is_left_out(v1, read, told):
    reading = read(v1 | {"securitySchemes": {"a": "Bearer", "b": None, "c": {"mtlsSecurityScheme": {}}}})

    assert list(reading.card.security_schemes) == ["c"]
    assert told(reading) == {("wrong-type", "/securitySchemes/a")}


def test_the_authentication_of_0_1_is_a_scheme_as_far_as_it_is_clear(v03, read, told):
    v03["authentication"] = {"schemes": ["None", "Bearer", "ApiKey", "basic"], "credentials": None}

    reading = read(v03)

    assert reading.value["securitySchemes"] == {
        "Bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}},
        "basic": {"httpAuthSecurityScheme": {"scheme": "basic"}},
    }
    assert reading.card.security_requirements == ()
    assert told(reading) == {("legacy-auth", "/authentication")}
    assert reading.origin("/securitySchemes/basic/httpAuthSecurityScheme/scheme") == "/authentication/schemes/3"
    assert reading.origin("/securitySchemes") == "/authentication/schemes"


@pytest.mark.parametrize("authentication", ["none", [], {"schemes": "Bearer"}, {"schemes": [None, {}, 5]}, 0])
def test_an_authentication_that_is_not_clear_is_only_told(authentication, v03, read, told):
    reading = read(v03 | {"authentication": authentication})

    assert reading.card.security_schemes == {}
    assert told(reading) == {("legacy-auth", "/authentication")}


# --- requirements ----------------------------------------------------------------------------------------------------

REQUIREMENTS: list[tuple[Any, Any, str]] = [
    ({"a": ["read"], "b": []}, {"schemes": {"a": {"list": ["read"]}, "b": {"list": []}}}, "/a/0"),
    ({"schemes": {"a": {"list": ["read"]}}}, {"schemes": {"a": {"list": ["read"]}}}, "/schemes/a/list/0"),
    ({"schemes": {"a": ["read"]}}, {"schemes": {"a": {"list": ["read"]}}}, "/schemes/a/0"),
    ({"a": {"list": ["read"]}}, {"schemes": {"a": {"list": ["read"]}}}, "/a/list/0"),
]


@pytest.mark.parametrize("member", ["security", "securityRequirements"])
@pytest.mark.parametrize(("written", "meant", "origin"), REQUIREMENTS)
def test_a_requirement_in_each_spelling(written, meant, origin, member, v1, v03, read):
    for card in (v1, v03):
        reading = read(card | {member: [written]})

        assert reading.value["securityRequirements"] == [meant]
        assert "security" not in reading.value
        assert reading.card.security_requirements[0].schemes["a"].list == ("read",)
        assert reading.origin("/securityRequirements/0/schemes/a/list/0") == f"/{member}/0{origin}"


def test_a_requirement_of_a_skill(v03, read):
    v03["skills"][0]["security"] = [{"a": ["read"]}, {}]

    reading = read(v03, strict=True)

    assert reading.value["skills"][0]["securityRequirements"] == [
        {"schemes": {"a": {"list": ["read"]}}},
        {"schemes": {}},
    ]
    assert reading.card.skills[0].security_requirements[1].schemes == {}
    assert reading.origin("/skills/0/securityRequirements/0/schemes/a/list/0") == "/skills/0/security/0/a/0"
    assert reading.findings == ()


def test_a_scheme_named_schemes_is_a_scheme(v03, read):
    reading = read(v03 | {"security": [{"schemes": ["read"]}]})

    assert reading.value["securityRequirements"] == [{"schemes": {"schemes": {"list": ["read"]}}}]


def test_the_stale_name_in_a_1_0_card_is_read_with_a_finding(v1, read, told):
    card = v1 | {"security": [{"google": ["openid"]}]}

    reading = read(card)

    assert reading.card.security_requirements[0].schemes["google"].list == ("openid",)
    assert told(reading) == {("legacy-security", "/security")}
    with pytest.raises(CardError) as refusal:
        read(card, strict=True)
    assert told(refusal.value) == {("legacy-security", "/security")}


@pytest.mark.parametrize("generation", ["v1", "v03"])
def test_of_two_contradicting_lists_the_own_generations_counts(generation, request, read, told):
    card = request.getfixturevalue(generation)
    card |= {"security": [{"old": []}], "securityRequirements": [{"schemes": {"new": {}}}]}

    reading = read(card)

    assert list(reading.card.security_requirements[0].schemes) == ["new" if generation == "v1" else "old"]
    assert told(reading) == {("conflicting-members", "/security")}


def test_two_lists_that_say_the_same_are_no_contradiction(v1, read):
    card = v1 | {"security": [{"a": []}], "securityRequirements": [{"schemes": {"a": {}}}]}

    reading = read(card, strict=True)

    assert reading.value == card


def test_scopes_that_are_no_list_do_not_take_the_scheme_out_of_its_set(v1, read, told):
    card = v1 | {"securityRequirements": [{"schemes": {"a": "read", "b": None, "c": {"list": "read"}}}, "a", None]}

    reading = read(card)

    assert [{name: each.list for name, each in one.schemes.items()} for one in reading.card.security_requirements] == [
        {"a": (), "b": (), "c": ()}
    ]
    assert told(reading) == {
        ("wrong-type", f"/securityRequirements{below}") for below in ("/0/schemes/a", "/0/schemes/c/list", "/1", "/2")
    }


@pytest.mark.parametrize("schemes", ["oauth2", 5, True])
def test_a_requirement_that_cannot_be_read_does_not_become_one_for_nothing(schemes, v1, read, told):
    reading = read(v1 | {"securityRequirements": [{"schemes": schemes}]})

    assert reading.card.security_requirements == ()
    assert told(reading) == {("wrong-type", "/securityRequirements/0/schemes")}


# --- bounds ----------------------------------------------------------------------------------------------------------


def test_findings_are_bounded_and_the_errors_come_first(v1, read):
    v1 |= {f"x-{index}": index for index in range(5_000)}
    v1["skills"] = [{"id": str(index), "name": "n", "description": "d"} for index in range(5_000)]
    v1["version"] = 5

    with pytest.raises(CardError) as refusal:
        read(v1)

    findings = refusal.value.findings
    assert len(findings) == 200
    assert (findings[0].code, findings[0].pointer) == ("wrong-type", "/version")
    assert (findings[-1].code, findings[-1].message) == ("more-findings", "9802 further findings are not listed")


def test_a_pointer_is_never_a_megabyte_long(v1, read):
    reading = read(v1 | {"x" * 100_000: 1, "provider": {"organization": "o", "url": "u", "y" * 600: 1}})

    assert {each.pointer for each in reading.findings} == {"", "/provider"}


def test_many_unusable_parts_cost_no_more_than_their_number(v1, read):
    v1["signatures"] = [{"protected": "a"} for _ in range(20_000)] + [{"protected": "a", "signature": "b"}]

    assert len(read(v1).card.signatures) == 1


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("skills", [{}] * 25_001),
        ("securityRequirements", [{"schemes": {"a": {}}}] * 13_000),
        ("securitySchemes", {f"{index:x}": {"mtlsSecurityScheme": {}} for index in range(25_001)}),
        ("defaultInputModes", [1, *["text/plain"] * 25_000]),
    ],
)
def test_a_card_of_endless_parts_is_refused_before_they_are_read(v1, read, member, value):
    started = time.process_time()

    with pytest.raises(CardError) as refusal:
        read(v1 | {member: value})

    assert "too-large" in [finding.code for finding in refusal.value.findings]
    assert time.process_time() - started < 5


def test_a_long_list_of_texts_is_read(v1, read):
    v1["skills"][0]["examples"] = ["x"] * 100_000

    assert read(v1).card.skills[0].examples == ("x",) * 100_000


def test_what_moved_below_an_endless_name_is_not_noted_a_thousand_times(v1, read):
    """Each of the scopes after the odd one moved, and the place of each is half a megabyte long: together five GB."""
    v1["securityRequirements"] = [{"schemes": {"k" * 500_000: {"list": [1, *["s"] * 5_000]}}}]

    assert sum(map(len, read(v1).origins)) < 100_000
