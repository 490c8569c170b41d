"""What a stranger's catalog may be: arbitrary, endless, circular, enormous. Nothing escapes but our errors."""

from __future__ import annotations

import contextlib
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from a2a_discovery import CardError, CatalogEntry, Discovery, DiscoveryError, FetchError, Limits, NotFoundError
from a2a_discovery._catalog.entry import Follow, Skipped, publisher_of
from a2a_discovery._catalog.links import linked_catalogs
from a2a_discovery._catalog.project import project
from a2a_discovery._catalog.registry import Call, next_of, offset, token
from a2a_discovery._catalog.stream import read_document
from a2a_discovery._catalog.ucp import profile_keys
from a2a_discovery._catalog.urls import absolute, is_plain
from a2a_discovery._finding import Finding
from a2a_discovery._urls import split
from a2a_discovery.registries import REGISTRIES

A2A = "application/a2a-agent-card+json"
GOOD = {"identifier": "good", "type": A2A, "url": "https://good.example/card.json"}

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
anything = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)

# Members that our readers look at, so that arbitrary values stand where they count.
NAMES = """
    identifier type mediaType url data displayName version updatedAt tags digest source entries results items agents
    cards collections referrals specVersion ucp services supported_versions dev.ucp.shopping a2a endpoint transport keys
    signing_keys kty use key_ops crv x y agentCard card agentCardUrl wellKnownURI base_url agentHost endpoints protocol
    metaDataUrl descriptors a2aAgentCard inlineContent card_data content groupId artifactId name skills capabilities
    supportedInterfaces id pageToken nextPageToken nextCursor metadata total offset hasMore
"""
MEMBERS = st.sampled_from(NAMES.split())
VALUES = st.sampled_from(
    [
        A2A,
        "application/ai-catalog+json",
        "application/ai-registry+json",
        "https://h.example/c.json",
        "a2a",
        "1.0",
        "A2A",
        "{}",
        "sig",
    ]
)
shaped = st.recursive(
    scalars | VALUES, lambda inner: st.lists(inner) | st.dictionaries(MEMBERS, inner, max_size=8), max_leaves=30
)
documents = anything | shaped | st.dictionaries(MEMBERS, shaped, max_size=8)


def read(body: bytes) -> list[Any]:
    """What a body lists; ``[]`` where it is refused as our errors refuse."""
    try:
        return list(project(read_document(body, depth=64), "https://c.example/c.json"))
    except DiscoveryError:
        return []


@given(documents)
def test_any_document_gives_items_or_an_error_of_ours(document: Any) -> None:
    for item in read(json.dumps(document).encode()):
        assert isinstance(item, (CatalogEntry, Follow, Skipped, Finding))
        if isinstance(item, CatalogEntry):
            assert item.identifier
            assert (item.url is None) != (item.card is None)
            assert item.name
        if isinstance(item, (CatalogEntry, Follow)) and item.url is not None:
            assert item.url.startswith(("https://", "http://"))


@given(st.binary())
def test_any_bytes_too(body: bytes) -> None:
    read(body)


@given(st.lists(st.binary(max_size=20), max_size=4), st.binary(max_size=6))
def test_bytes_in_the_shape_of_a_catalog_too(rows: list[bytes], end: bytes) -> None:
    read(b'{"entries":[' + b",".join(rows) + b"]}" + end)


@given(st.lists(shaped, max_size=5), st.integers(0, 5))
def test_one_bad_entry_never_costs_a_good_one(rows: list[Any], place: int) -> None:
    entries = [row for row in rows if not (isinstance(row, dict) and row.get("identifier") == "good")]
    entries.insert(place, GOOD)

    found = [item for item in read(json.dumps({"entries": entries}).encode()) if isinstance(item, CatalogEntry)]

    assert [item.url for item in found if item.identifier == "good"] == [GOOD["url"]]


@given(st.lists(shaped, max_size=5), st.sampled_from(["agents", "items", "results", None]))
def test_one_bad_row_never_costs_a_good_card_url(rows: list[Any], member: str | None) -> None:
    rows = [*rows, "https://good.example/card.json"]

    found = read(json.dumps(rows if member is None else {member: rows}).encode())

    assert found[-1].url == "https://good.example/card.json"


@given(documents)
def test_reading_from_text_and_from_values_agree(document: Any) -> None:
    def told(source: Any) -> list[Any]:
        try:
            return [(type(item), getattr(item, "pointer", item)) for item in project(source, "https://c.example/")]
        except DiscoveryError as error:
            return [error.code]

    body = json.dumps(document).encode()

    assert told(read_document(body, depth=64)) == told(json.loads(body))


@given(documents)
def test_any_profile_has_only_public_keys(document: Any) -> None:
    for key in profile_keys(document):
        assert isinstance(key["kty"], str)
        assert not {"d", "k", "p", "q"} & set(key)


@given(st.text(), st.text())
def test_any_url_is_fetchable_or_none(value: str, base: str) -> None:
    for given_base in ("https://h.example/a/b", "", base):
        found = absolute(value, given_base)
        assert found is None or found.startswith(("https://", "http://"))


@given(st.text(alphabet='<>;,="\\ rela-d/x'), st.binary())
def test_any_link_field_and_page_give_a_list(field: str, page: bytes) -> None:
    assert isinstance(linked_catalogs(field, page, "https://h.example/"), list)


@given(documents, st.dictionaries(st.text(), scalars))
def test_any_page_has_a_next_call_or_none(page: Any, parameters: dict[str, Any]) -> None:
    for paging in (token("t", "pageToken", "a.b"), offset()):
        found = paging(page, Call(path="agents", parameters=parameters))
        assert found is None or found.url("https://h.example/api").startswith("https://h.example/api/agents")
    next_of(page, "https://h.example/agents?a=b")


@pytest.mark.parametrize(
    ("identifier", "publisher"),
    [
        ("urn:air:shop.example:a2a:orders", "shop.example"),
        ("URN:AIR:Shop.Example.:x", "shop.example"),
        ("urn:air:tienda-ñ.example:x", "xn--tienda--b0a.example"),
        ("urn:air:shop.example", "shop.example"),
        ("urn:air:not a host:x", "not a host"),
        ("urn:air:", None),
        ("urn:ai:org.agntcy:cid:x", None),
        ("urn:airline:x", None),
        ("shop.example", None),
        ("", None),
    ],
)
def test_a_publisher_is_named_by_urn_air_alone(identifier: str, publisher: str | None) -> None:
    assert publisher_of(identifier) == publisher


async def drained(listing: Any) -> list[str]:
    return [each.identifier async for each in listing]


async def test_ten_thousand_levels_in_one_entry_cost_that_entry(web: Any, discovery: Any) -> None:
    deep = '{"identifier":"d","type":"application/ai-catalog+json","data":{"entries":[' * 10_000 + "]}}" * 10_000
    web.put("https://c.example/c.json", f'{{"entries":[{json.dumps(GOOD)},{deep},{json.dumps(GOOD)}]}}'.encode())

    listing = discovery().catalog("https://c.example/c.json")

    assert await drained(listing) == ["good", "good"]
    assert [finding.code for finding in listing.findings] == ["not-an-entry"]


async def test_ten_thousand_levels_by_url_end_at_the_fourth(web: Any, discovery: Any) -> None:
    def level(request: Any) -> Any:
        import httpx

        number = int(request.url.path.strip("/"))
        inner = {"identifier": "n", "type": "application/ai-catalog+json", "url": f"/{number + 1}"}
        return httpx.Response(200, json={"entries": [GOOD, inner]})

    for number in range(6):
        web.answers[f"https://c.example/{number}"] = level

    listing = discovery().catalog("https://c.example/0")

    assert await drained(listing) == ["good"] * 5
    assert [finding.code for finding in listing.findings] == ["too-deep"]


async def test_a_million_entries_of_nothing_are_counted(discovery: Any, web: Any) -> None:
    web.put("https://c.example/c.json", b'{"entries":[' + b"{}," * 999_999 + json.dumps(GOOD).encode() + b"]}")

    listing = discovery().catalog("https://c.example/c.json")

    assert await drained(listing) == ["good"]
    assert (len(listing.findings), listing.dropped) == (1_000, 998_999)


async def test_more_than_a_million_are_refused(discovery: Any, web: Any) -> None:
    web.put("https://c.example/c.json", b"[" + b"0," * 1_000_000 + b"0]")

    with pytest.raises(CardError) as caught:
        await drained(discovery().catalog("https://c.example/c.json"))

    assert caught.value.code == "not-a-catalog"


async def test_a_document_beyond_the_limit_is_too_large(discovery: Any, web: Any) -> None:
    web.put("https://c.example/c.json", json.dumps({"entries": [GOOD] * 100}).encode())

    with pytest.raises(FetchError) as caught:
        await drained(discovery(limits=Limits(catalog_bytes=5_000)).catalog("https://c.example/c.json"))
    assert caught.value.code == "too-large"
    assert len(await drained(discovery().catalog("https://c.example/c.json"))) == 100


@given(document=documents)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_document_at_the_last_stage_of_a_walk_ends_in_an_error_of_ours(
    web: Any, discovery: Any, document: Any
) -> None:
    for path in ("ucp", "ard.json", "ai-catalog.json"):
        web.put(f"https://shop.example/.well-known/{path}", document)

    with pytest.raises(DiscoveryError):
        await discovery().discover("shop.example")


@given(document=documents, registry=st.sampled_from([None, *REGISTRIES]), following=st.booleans())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_any_document_is_listed_or_ends_in_an_error_of_ours(
    web: Any, discovery: Any, document: Any, registry: str | None, following: bool
) -> None:
    import httpx

    body = json.dumps(document).encode()

    def answer(request: httpx.Request) -> httpx.Response:
        # Whatever is asked for, the whole web is this one document.
        return httpx.Response(200, content=body)

    d = Discovery(transport=httpx.MockTransport(answer), limits=Limits(catalog_documents=5))
    for target in ("https://c.example/api", "c.example", "https://c.example/.well-known/ucp"):
        try:
            await drained(d.catalog(target, registry=registry, follow_registries=following, limit=50))
            await drained(d.find(target, registry=registry, identifier="x", text="a", skill="b", tag="c", limit=50))
        except DiscoveryError:
            continue
    if isinstance(document, (dict, list)):
        with contextlib.suppress(DiscoveryError):
            await drained(d.catalog(document, limit=50))


async def test_a_projection_of_the_callers_that_fails_is_the_documents_fault(discovery: Any, web: Any) -> None:
    web.put("https://c.example/c.json", {"odd": [{"where": "https://good.example/card.json"}, {}]})

    def mine(document: Any, url: str) -> Any:
        for row in document["odd"]:
            yield CatalogEntry(identifier="mine", source=url, url=row["where"])

    listing = discovery().catalog("https://c.example/c.json", project=mine)
    with pytest.raises(DiscoveryError) as caught:
        await drained(listing)

    assert caught.value.code == "not-a-catalog"
    assert "KeyError" in str(caught.value)


@pytest.mark.parametrize(
    "host",
    ["a..example", "a-.example", "-a.example", ".example", "a.example.", "a" * 64 + ".example", "a." * 150 + "example",
     "1.2.3", "a.0x7f", "a.1e", "127.1"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["", "/", "/card.json"])
def test_a_url_whose_host_is_none_is_no_plain_one(host: str, path: str) -> None:
    """It is handed on unread where it is plain: so nothing that cannot be taken apart may be."""
    url = f"https://{host}{path}"

    place = absolute(url, "")

    assert place is None or split(place).host


@given(st.from_regex(r"\Ahttps?://[a-z0-9.-]{1,80}(/[a-z.]{0,5})?\Z"))
def test_whatever_is_plain_can_be_taken_apart(url: str) -> None:
    assert not is_plain(url) or split(url).normal == url + ("/" if url.count("/") == 2 else "")


async def test_a_card_url_without_a_host_costs_only_its_row(discovery: Any, web: Any) -> None:
    rows = ["https://a..example/", {"base_url": "https://a-.example", "id": "x"}]
    web.put("https://list.example/agents.json", rows)

    with pytest.raises(NotFoundError) as none:
        await discovery().discover("https://list.example/agents.json")

    assert none.value.code == "no-card"


@pytest.mark.parametrize(
    "body",
    [
        b'{"entries":[{"x":[' + b"[]," * 1_500_000 + b"0]}]}",
        b'{"x":[' + b"[]," * 1_500_000 + b'0],"entries":[]}',
        b'{"entries":["' + b"x" * 4_500_000 + b'"]}',
        b"[" + b"[" * 3_000 + b"1," * 2_500_000 + b"1" + b"]" * 3_000 + b"]",
        b'{"entries":[{"x":"' + b"x" * 5_000_000,
    ],
    ids=["row", "member", "text", "deep", "open"],
)
def test_one_thing_of_megabytes_refuses_the_document_before_it_is_in_memory(body: bytes) -> None:
    """A byte of small arrays is twenty in memory: the limit of a whole catalog bounds nothing by itself."""
    with pytest.raises(CardError) as caught:
        read_document(body, depth=64)

    assert (caught.value.code, "4,194,304" in caught.value.message) == ("not-a-catalog", True)


def test_a_text_in_a_row_that_is_gone_past_is_not_remembered_by_its_characters() -> None:
    deep = b"[" * 3_000 + b'"' + b'[\\"x' * 500_000 + b'"' + b"]" * 3_000
    tracemalloc.start()
    try:
        rows = list(read_document(b"[" + deep + b",1]", depth=64))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert rows[1] == 1
    assert peak < 100_000_000  # a gigabyte, where each step back is kept
