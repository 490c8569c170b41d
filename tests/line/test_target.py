"""What a target is taken for (design: "What may be typed")."""

from __future__ import annotations

import collections
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from a2a_discovery._target import Base, Document, Domain, EntryOf, Handed, LocalFile, read_target
from a2a_discovery.errors import UsageError
from a2a_discovery.policy import NetworkPolicy

PUBLIC = NetworkPolicy()
LOCAL = NetworkPolicy.local()


@pytest.mark.parametrize(
    ("target", "origin"),
    [
        ("shop.example", "https://shop.example"),
        ("Shop.Example.", "https://shop.example"),
        ("shop.example:8443", "https://shop.example:8443"),
        ("shop.example:443", "https://shop.example"),
        ("tienda-ñ.example", "https://xn--tienda--b0a.example"),
        ("https://shop.example", "https://shop.example"),
        ("https://shop.example/", "https://shop.example"),
        ("https://tienda-ñ.example/", "https://xn--tienda--b0a.example"),
        ("  shop.example ", "https://shop.example"),
        ("http://shop.example", "http://shop.example"),
        ("192.0.2.1", "https://192.0.2.1"),
        ("[2001:db8::1]:8443", "https://[2001:db8::1]:8443"),
        ("2001:db8::1", "https://[2001:db8::1]"),
        ("2130706433", "https://127.0.0.1"),
        ("0x7f.1", "https://127.0.0.1"),
        ("localhost:9999", "https://localhost:9999"),
    ],
)
def test_a_host_is_a_domain_in_its_ascii_form(target: str, origin: str) -> None:
    assert read_target(target, network=PUBLIC) == Domain(origin=origin)


@pytest.mark.parametrize(
    ("target", "origin"),
    [
        ("localhost:9999", "http://localhost:9999"),
        ("agent.localhost", "http://agent.localhost"),
        ("127.0.0.1:9999", "http://127.0.0.1:9999"),
        ("[::1]:9999", "http://[::1]:9999"),
        ("shop.example", "https://shop.example"),
        ("https://localhost:9999", "https://localhost:9999"),
    ],
)
def test_under_local_a_bare_loopback_host_means_http(target: str, origin: str) -> None:
    assert read_target(target, network=LOCAL) == Domain(origin=origin)


@pytest.mark.parametrize(
    "url",
    [
        "https://h.example/cards?id=7",
        "https://h.example/.well-known/anything",
        "https://h.example/.well-known/agents/7",
        "https://h.example/v1/card",
        "https://h.example/a2a/agent.json",
        "https://h.example/?x=1",
    ],
)
def test_a_url_that_names_a_document_is_fetched_exactly_as_given(url: str) -> None:
    assert read_target(url, network=PUBLIC) == Document(url=url)


@pytest.mark.parametrize(
    "url", ["https://h.example/agents/orders", "https://h.example/agents/orders/", "https://h.example/cards"]
)
def test_a_url_with_another_path_is_a_base_url(url: str) -> None:
    assert read_target(url, network=PUBLIC) == Base(url=url)


def test_a_fragment_is_the_identifier_of_a_catalog_entry() -> None:
    found = read_target("https://h.example/catalog.json#urn:air:shop.example:a2a:orders", network=PUBLIC)

    assert found == EntryOf(url="https://h.example/catalog.json", identifier="urn:air:shop.example:a2a:orders")


def test_an_empty_fragment_changes_nothing() -> None:
    assert read_target("https://h.example/v1/card#", network=PUBLIC) == Document(url="https://h.example/v1/card")


def test_a_path_is_a_file_and_a_string_never_is(tmp_path: Path) -> None:
    file = tmp_path / "card.json"

    assert read_target(file, network=PUBLIC) == LocalFile(path=file)
    with pytest.raises(UsageError) as caught:
        read_target(str(file), network=PUBLIC)
    assert caught.value.code == "bad-target"


def test_a_mapping_is_copied_so_that_later_edits_change_nothing() -> None:
    card = collections.OrderedDict(name="a")

    found = read_target(dict(card), network=PUBLIC)

    assert isinstance(found, Handed)
    assert found.body == b'{"name": "a"}'


@pytest.mark.parametrize(
    "target",
    [
        "",
        "a/b",
        "shop.example/agents",
        "shop.example?x",
        "shop.example#x",
        "user@shop.example",
        "file:///etc/passwd",
        "ftp://shop.example/card.json",
        "mailto:a",
        "javascript:alert(1)",
        "https://user:secret@shop.example/",
        "https:///nohost",
        "https://shop.example:99999/",
        "shop.example:0",
        "shop.example:99999",
        "-bad.example",
        "a..b",
        "intranet",
        "https://shop.example/\nHost: evil",
        "https://shop.example\\@evil.example/",
        7,
        None,
        b"shop.example",
        ["shop.example"],
        {"a": object()},
        {"a": float("nan")},
    ],
)
def test_anything_else_is_a_bad_target(target: object) -> None:
    with pytest.raises(UsageError) as caught:
        read_target(target, network=PUBLIC)

    assert caught.value.code == "bad-target"
    assert caught.value.step in ("locate", None)
    assert "secret" not in str(caught.value)


def test_a_string_with_a_slash_gets_the_hint_that_adds_the_scheme() -> None:
    with pytest.raises(UsageError) as caught:
        read_target("shop.example/agents", network=PUBLIC)

    assert caught.value.hint == 'write "https://shop.example/agents"'


def test_a_single_label_lists_the_configured_names_and_is_a_domain_where_private_is_allowed() -> None:
    with pytest.raises(UsageError) as caught:
        read_target("order", network=PUBLIC, names=["orders", "billing"])

    assert "billing, orders" in str(caught.value)
    assert read_target("order", network=NetworkPolicy(allow_private=True)) == Domain(origin="https://order")


@given(st.text(max_size=80) | st.from_regex(r"https?://[^/]{0,30}/.{0,30}"))
def test_any_text_is_a_target_or_a_bad_target(text: str) -> None:
    for network in (PUBLIC, LOCAL, NetworkPolicy(allow_private=True)):
        try:
            found = read_target(text, network=network)
        except UsageError as error:
            assert error.code == "bad-target"
        else:
            assert not isinstance(found, LocalFile)
