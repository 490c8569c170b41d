"""What must not meet a store, or another caller."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from a2a_discovery._http.cache import Cache
from a2a_discovery.errors import FetchError
from a2a_discovery.policy import NetworkPolicy

URL = "https://shop.example/.well-known/agent-card.json"


class Bearer(httpx.Auth):
    def auth_flow(self, request: httpx.Request) -> Any:
        request.headers["authorization"] = "Bearer s3cret"
        yield request


def only_for(*hosts: str) -> Any:
    return lambda host: Bearer() if host in hosts else None


async def test_a_request_with_a_credential_is_neither_stored_nor_answered_from_the_store(desk: Any) -> None:
    desk.origin.page(body=b"public", etag='"1"', cache_control="max-age=60")
    await desk.get()

    private = await desk.get(auth_for=only_for("shop.example"))
    desk.origin.page(body=b"for one", cache_control="max-age=60")
    again = await desk.get(auth_for=only_for("shop.example"))

    assert (private.cache, again.cache, again.body) == ("network", "network", b"for one")
    assert "if-none-match" not in desk.origin.last.headers
    assert (await desk.get()).body == b"public"


async def test_a_credential_for_another_host_keeps_nothing_from_the_store(desk: Any) -> None:
    desk.origin.page(cache_control="max-age=60")

    states = [(await desk.get(auth_for=only_for("other.example"))).cache for _ in range(2)]

    assert states == ["network", "fresh"]


async def test_a_credential_used_at_a_redirects_end_keeps_the_answer_out_of_the_store(desk: Any) -> None:
    desk.origin.serve(URL, lambda _: httpx.Response(302, headers={"location": "https://id.shop.example/card"}))
    desk.origin.page("https://id.shop.example/card", body=b"for one", cache_control="max-age=60")

    await desk.get(auth_for=only_for("id.shop.example"))

    assert desk.origin.last.headers["authorization"] == "Bearer s3cret"
    with pytest.raises(FetchError):
        await desk.get(mode="stored")


async def test_a_copy_from_a_host_that_this_caller_has_a_credential_for_is_not_his_answer(desk: Any) -> None:
    desk.origin.serve(URL, lambda _: httpx.Response(302, headers={"location": "https://id.shop.example/card"}))
    desk.origin.page("https://id.shop.example/card", body=b"public", cache_control="max-age=60")
    await desk.get()

    answer = await desk.get(auth_for=only_for("id.shop.example"))

    assert answer.cache == "network"
    assert desk.origin.last.headers["authorization"] == "Bearer s3cret"


@pytest.mark.parametrize(
    "options",
    [
        {"principal": "bearer:1"},
        {"kind": "extended"},
        {"method": "POST", "body": b"{}"},
    ],
    ids=["principal", "extended", "POST"],
)
async def test_what_is_for_one_caller_never_meets_the_store(desk: Any, options: dict[str, Any]) -> None:
    desk.origin.page(etag='"1"', cache_control="max-age=60")

    states = [(await desk.get(**options)).cache for _ in range(2)]

    assert states == ["network", "network"]
    with pytest.raises(FetchError):
        await desk.get(mode="stored")
    with pytest.raises(FetchError):
        await desk.get(mode="stored", **options)


@pytest.mark.parametrize("options", [{"principal": "bearer:1"}, {"kind": "extended"}], ids=["principal", "extended"])
async def test_what_is_for_one_caller_is_not_answered_with_what_is_for_all(desk: Any, options: dict[str, Any]) -> None:
    desk.origin.page(etag='"1"', cache_control="max-age=60")
    await desk.get()

    assert (await desk.get(**options)).cache == "network"
    assert "if-none-match" not in desk.origin.last.headers
    with pytest.raises(FetchError):
        await desk.get(mode="stored", **options)


async def test_no_credential_stands_in_the_file(open_desk: Any, tmp_path: Any) -> None:
    async with open_desk(Cache.sqlite(tmp_path / "cache.sqlite")) as desk:
        desk.origin.page(vary="Authorization", set_cookie="session=s3cret", cache_control="max-age=60")
        await desk.get(auth_for=only_for("shop.example"))
        await desk.get("https://shop.example/other")
        await desk.get(auth_for=only_for("other.example"))

        assert desk.origin.count == 3

    assert all(b"s3cret" not in path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    "other",
    [
        {"network": NetworkPolicy(allow_http=True)},
        {"network": NetworkPolicy(allow_private=True)},
        {"network": NetworkPolicy(cross_site_redirects=True)},
        {"network": NetworkPolicy(proxy="http://proxy.example:3128")},
        {"network": NetworkPolicy.local()},
        {"transport": httpx.MockTransport(lambda _: httpx.Response(200, content=b"elsewhere"))},
    ],
    ids=["http", "private", "cross-site", "proxy", "local", "transport"],
)
async def test_a_copy_from_one_channel_does_not_answer_on_another(
    open_desk: Any, cache: Cache, other: dict[str, Any]
) -> None:
    async with open_desk(cache) as desk:
        desk.origin.page(cache_control="max-age=60")
        await desk.get()

    async with open_desk(cache, **other) as elsewhere:
        assert (await elsewhere.get()).cache == "network"


async def test_callers_with_equal_policies_share_what_a_cache_holds(open_desk: Any, cache: Cache) -> None:
    async with open_desk(cache) as desk:
        desk.origin.page(cache_control="max-age=60")
        await desk.get()

    async with open_desk(cache, network=NetworkPolicy(timeout=3.0)) as other:
        assert (await other.get()).cache == "fresh"


async def test_each_memory_is_its_own(open_desk: Any) -> None:
    async with open_desk(Cache.memory()) as one, open_desk(Cache.memory()) as other:
        one.origin.page(cache_control="max-age=60")
        await one.get()

        assert (await other.get()).cache == "network"
