"""Selection: the first usable entry in the card's order (A2A section 8.3.2)."""

from __future__ import annotations

from typing import Any

import pytest

from a2a_discovery._select import fold_binding, major_minor
from a2a_discovery._upgrade import service_headers
from a2a_discovery.errors import InterfaceError
from a2a_discovery.policy import NetworkPolicy, TrustPolicy

CARD = "https://shop.example/.well-known/agent-card.json"


def entry(url: str, binding: str = "JSONRPC", version: str = "1.0", **more: Any) -> dict[str, Any]:
    return {"url": url, "protocolBinding": binding, "protocolVersion": version, **more}


@pytest.fixture
def chosen(world: Any, find: Any, card: Any) -> Any:
    def run(*interfaces: dict[str, Any], **changes: Any) -> Any:
        members = changes.pop("card_members", {})
        world.answers[CARD] = card(supportedInterfaces=list(interfaces), **members)
        return find("shop.example", **changes)

    return run


A, B, C = "https://shop.example/a", "https://shop.example/b", "https://shop.example/c"


@pytest.mark.parametrize(
    ("interfaces", "options", "url"),
    [
        ([entry(A, "HTTP+JSON"), entry(B)], {}, A),
        ([entry(A, version="0.3"), entry(B, "HTTP+JSON")], {}, A),
        ([entry(A, version="0.3"), entry(B, "HTTP+JSON")], {"versions": ("1.0",)}, B),
        ([entry(A), entry(B)], {}, A),
        ([entry(A, version="1.1"), entry(B)], {}, B),
        ([entry(A, "MCP"), entry(B)], {}, B),
        ([entry(A, "jsonrpc"), entry(B)], {}, A),
        ([entry(A, version="1.0.3")], {}, A),
        ([entry(A, "GRPC"), entry(B)], {}, B),
        (
            [entry("https://shop.example:443", "GRPC"), entry(B)],
            {"bindings": ("JSONRPC", "GRPC")},
            "https://shop.example:443",
        ),
        ([entry("shop.example:443", "GRPC"), entry(B)], {"bindings": ("GRPC",)}, "shop.example:443"),
        ([entry("dns:///shop.example:443", "GRPC")], {"bindings": ("GRPC",)}, "dns:///shop.example:443"),
        ([entry(A, "https://x.example/b/v1"), entry(B)], {"bindings": ("https://x.example/b/v1",)}, A),
        ([entry("https://shop.example/calc/")], {}, "https://shop.example/calc/"),
        ([entry("https://SHOP.example/Calc")], {}, "https://SHOP.example/Calc"),
    ],
)
def test_the_first_entry_that_the_caller_speaks_is_chosen(
    chosen: Any, interfaces: Any, options: dict[str, Any], url: str
) -> None:
    assert chosen(*interfaces, **options).selection.interface.url == url


@pytest.mark.parametrize(
    ("unusable", "code"),
    [
        (entry(A, "MCP"), "unsupported-binding"),
        (entry(A, version="2.0"), "unsupported-version"),
        (entry(A, version="latest"), "unsupported-version"),
        (entry("https://{tenant}.shop.example/a"), "placeholder-url"),
        (entry("{BASE_URL}/a"), "placeholder-url"),
        (entry("url-of-the-agent"), "invalid-url"),
        (entry("wss://shop.example/a"), "invalid-url"),
        (entry("https://user:pw@shop.example/a"), "credentials-in-url"),
        (entry("https://0.0.0.0:8000/"), "unroutable-host"),
        (entry("https://[::]:8080/invoke"), "unroutable-host"),
        (entry("http://localhost:3000/"), "loopback-url"),
        (entry("https://127.1/"), "loopback-url"),
        (entry("https://2130706433/"), "loopback-url"),
        (entry("https://10.0.0.7/a"), "private-address"),
        (entry("https://172.19.0.2:9090/a2a"), "private-address"),
        (entry("https://169.254.169.254/"), "private-address"),
        (entry("https://[::ffff:10.0.0.7]/"), "private-address"),
        (entry("http://shop.example/a"), "http-url"),
    ],
)
def test_what_is_unusable_is_skipped_with_its_reason_and_pointer(chosen: Any, unusable: Any, code: str) -> None:
    found = chosen(unusable, entry(B))

    assert found.selection.interface.url == B
    (skipped,) = found.selection.skipped
    assert skipped.code == code
    member = {"unsupported-binding": "protocolBinding", "unsupported-version": "protocolVersion"}.get(code, "url")
    assert skipped.pointer == f"/supportedInterfaces/0/{member}"
    assert skipped in found.findings


def test_the_other_usable_entries_are_alternatives_in_order(chosen: Any) -> None:
    found = chosen(entry(A), entry("http://localhost/"), entry(B, "HTTP+JSON"), entry(C, version="0.3"))

    assert [each.url for each in found.selection.alternatives] == [B, C]


def test_where_none_is_usable_the_error_says_why_for_each(world: Any, chosen: Any) -> None:
    with pytest.raises(InterfaceError) as caught:
        chosen(entry(A, "GRPC"), entry("http://localhost:1/"))

    assert caught.value.code == "no-usable-interface"
    assert [(each.pointer, each.code) for each in caught.value.skipped] == [
        ("/supportedInterfaces/0/protocolBinding", "unsupported-binding"),
        ("/supportedInterfaces/1/url", "loopback-url"),
    ]
    assert world.kept == []


def test_the_pointers_of_an_old_card_lead_into_the_old_document(world: Any, find: Any) -> None:
    world.answers[CARD] = {
        "name": "Old",
        "description": "d",
        "url": "http://localhost:3000/",
        "version": "1",
        "capabilities": {},
        "skills": [],
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "protocolVersion": "0.3.0",
        "preferredTransport": "JSONRPC",
        "additionalInterfaces": [{"url": "https://shop.example/grpc", "transport": "GRPC"}],
    }

    with pytest.raises(InterfaceError) as caught:
        find("shop.example")

    assert [(each.pointer, each.code) for each in caught.value.skipped] == [
        ("/url", "loopback-url"),
        ("/additionalInterfaces/0/transport", "unsupported-binding"),
    ]


def test_a_required_extension_that_the_caller_does_not_claim_makes_the_card_unusable(chosen: Any) -> None:
    extensions = [{"uri": "https://x.example/e1"}, {"uri": "https://x.example/e2", "required": True}]
    members = {"card_members": {"capabilities": {"extensions": extensions}}}

    with pytest.raises(InterfaceError) as caught:
        chosen(entry(A), **members)
    assert [(each.pointer, each.code) for each in caught.value.skipped] == [
        ("/capabilities/extensions/1", "required-extension")
    ]

    found = chosen(entry(A), extensions=("https://x.example/e2", "https://x.example/unknown"), **members)
    assert service_headers(found.selection.interface, found.reading, ("https://x.example/e2", "https://y")) == {
        "A2A-Version": "1.0",
        "A2A-Extensions": "https://x.example/e2",
    }


def test_a_0_3_interface_gets_the_old_extension_header_too(chosen: Any) -> None:
    extensions = [{"uri": "https://x.example/e1"}, {"uri": "https://x.example/e2"}]
    found = chosen(entry(A, version="0.3"), card_members={"capabilities": {"extensions": extensions}})

    claimed = ("https://x.example/e2", "https://x.example/e1")
    assert service_headers(found.selection.interface, found.reading, claimed) == {
        "A2A-Version": "0.3",
        "A2A-Extensions": "https://x.example/e2, https://x.example/e1",
        "X-A2A-Extensions": "https://x.example/e2, https://x.example/e1",
    }


def test_the_tenant_is_carried_exactly_and_an_empty_one_is_none(chosen: Any) -> None:
    assert chosen(entry(A, tenant="acme/eu")).selection.interface.tenant == "acme/eu"
    assert not chosen(entry(A, tenant="")).selection.interface.tenant


def test_off_site_interfaces_are_skipped_where_the_policy_says_so(chosen: Any) -> None:
    found = chosen(
        entry("https://saas.example/a"),
        entry("https://api.shop.example/b"),
        trust=TrustPolicy(same_site_interfaces=True),
    )

    assert found.selection.interface.url == "https://api.shop.example/b"
    assert [each.code for each in found.selection.skipped] == ["other-site"]


@pytest.mark.parametrize("url", ["https://10.0.0.7/a", "https://localhost/", "https://127.0.0.1:1/"])
def test_private_and_loopback_hosts_are_usable_where_the_network_is_private(chosen: Any, url: str) -> None:
    assert chosen(entry(url), network=NetworkPolicy(allow_private=True)).selection.interface.url == url


def test_plain_http_is_usable_where_it_is_allowed(chosen: Any) -> None:
    network = NetworkPolicy(allow_http=True)

    assert chosen(entry("http://shop.example/a"), network=network).selection.interface.url == "http://shop.example/a"


def test_a_public_card_never_names_loopback_even_under_local(chosen: Any) -> None:
    with pytest.raises(InterfaceError):
        chosen(entry("http://localhost:9999/"), network=NetworkPolicy.local())


def test_local_hosts_are_replaced_by_the_cards_host_where_the_caller_says_so(chosen: Any) -> None:
    found = chosen(entry("https://0.0.0.0:8000/x?y=0.0.0.0"), replace_local_hosts=True)
    assert found.selection.interface.url == "https://shop.example:8000/x?y=0.0.0.0"
    assert "host-replaced" in {each.code for each in found.findings}
    assert found.reading.card.supported_interfaces[0].url == "https://0.0.0.0:8000/x?y=0.0.0.0"

    found = chosen(entry("https://localhost/x"), replace_local_hosts=True)
    assert found.selection.interface.url == "https://shop.example/x"


def test_a_wildcard_host_in_a_card_from_loopback_is_read_as_loopback(world: Any, find: Any, card: Any) -> None:
    world.answers["http://localhost:9999/.well-known/agent-card.json"] = card(
        supportedInterfaces=[entry("http://0.0.0.0:9999/")]
    )

    found = find("localhost:9999", network=NetworkPolicy.local())

    assert found.selection.interface.url == "http://localhost:9999/"
    assert "host-replaced" in {each.code for each in found.findings}


@pytest.mark.parametrize(
    ("version", "folded"),
    [
        ("1.0", "1.0"),
        ("1", "1.0"),
        ("v1.0", "1.0"),
        ("0.3.0", "0.3"),
        ("1.0.0-rc", "1.0"),
        ("01.0", "1.0"),
        ("", None),
        ("latest", None),
        ("1.x", None),
        ("1..0", None),
        ("-1.0", None),
        ("9" * 5, None),
    ],
)
def test_versions_compare_by_major_and_minor(version: str, folded: str | None) -> None:
    assert major_minor(version) == folded


def test_only_the_core_bindings_fold() -> None:
    assert [fold_binding(each) for each in ("JsonRpc", "grpc", "http+json", "https://X.example/B")] == [
        "JSONRPC",
        "GRPC",
        "HTTP+JSON",
        "https://X.example/B",
    ]
