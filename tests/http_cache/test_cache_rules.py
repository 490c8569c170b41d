"""When the origin is asked, with what, and what becomes of its answer; the same over every kind of store."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from a2a_discovery._http.cache import Cache
from a2a_discovery.errors import FetchError
from a2a_discovery.policy import Limits, NetworkPolicy

URL = "https://shop.example/.well-known/agent-card.json"
START = 1_700_000_000.0


async def test_a_kept_answer_is_served_without_a_request_until_it_expires(desk: Any) -> None:
    desk.origin.page(body=b'{"name":"one"}', cache_control="max-age=60", content_type="application/json")

    first = await desk.get()
    desk.clock.advance(59)
    second = await desk.get()

    assert (first.cache, second.cache) == ("network", "fresh")
    assert (second.body, second.status, second.url, second.channel) == (b'{"name":"one"}', 200, URL, "tls")
    assert second.headers["content-type"] == "application/json"
    assert (second.fetched_at, second.expires_at) == (first.fetched_at, first.expires_at) == (START, START + 60)
    assert desk.origin.count == 1


async def test_nothing_is_stored_before_it_is_kept(desk: Any) -> None:
    desk.origin.page(cache_control="max-age=60")

    await desk.get(keep=False)
    again = await desk.get(keep=False)

    assert again.cache == "network"
    assert desk.origin.count == 2


async def test_an_expired_answer_is_asked_for_with_exactly_its_validators(desk: Any) -> None:
    desk.origin.page(etag='W/"a,b"', last_modified="Tue, 14 Nov 2023 22:13:20 GMT", cache_control="max-age=60")
    await desk.get()
    desk.clock.advance(60)

    again = await desk.get()

    assert desk.origin.last.headers["if-none-match"] == 'W/"a,b"'
    assert desk.origin.last.headers["if-modified-since"] == "Tue, 14 Nov 2023 22:13:20 GMT"
    assert again.cache == "revalidated"


async def test_an_answer_without_validators_is_asked_for_without_any_condition(desk: Any) -> None:
    desk.origin.page(cache_control="max-age=60")
    await desk.get()
    desk.clock.advance(60)

    again = await desk.get()

    assert not {"if-none-match", "if-modified-since"} & set(desk.origin.last.headers)
    assert again.cache == "network"


async def test_a_304_brings_the_stored_body_with_a_new_lifetime(desk: Any) -> None:
    desk.origin.page(body=b"stored", etag='"1"', cache_control="max-age=60", content_type="application/json")
    await desk.get()
    desk.clock.advance(100)
    desk.origin.page(body=b"never sent", etag='"1"', cache_control="max-age=10")

    renewed = await desk.get()
    desk.clock.advance(9)
    fresh = await desk.get()
    desk.clock.advance(1)
    third = await desk.get()

    assert [renewed.cache, fresh.cache, third.cache] == ["revalidated", "fresh", "revalidated"]
    assert renewed.status == 200
    assert renewed.body == fresh.body == b"stored"
    assert renewed.headers["content-type"] == fresh.headers["content-type"] == "application/json"
    assert fresh.headers["cache-control"] == "max-age=10"
    assert (fresh.fetched_at, fresh.expires_at) == (START + 100, START + 110)
    assert desk.origin.count == 3


async def test_a_304_that_was_not_kept_changes_nothing(desk: Any) -> None:
    desk.origin.page(etag='"1"', cache_control="max-age=60")
    await desk.get()
    desk.clock.advance(60)

    await desk.get(keep=False)
    again = await desk.get(keep=False)

    assert again.cache == "revalidated"
    assert desk.origin.count == 3


async def test_a_200_in_place_of_a_304_replaces_what_is_stored(desk: Any) -> None:
    desk.origin.page(body=b"one", etag='"1"', cache_control="max-age=60")
    await desk.get()
    desk.clock.advance(60)
    desk.origin.page(body=b"two", etag='"2"', cache_control="max-age=60")

    changed = await desk.get()
    fresh = await desk.get()
    desk.clock.advance(60)
    await desk.get()

    assert (changed.cache, changed.body, fresh.cache, fresh.body) == ("network", b"two", "fresh", b"two")
    assert desk.origin.last.headers["if-none-match"] == '"2"'


async def test_a_refused_answer_leaves_the_good_one_before_it_in_the_store(desk: Any) -> None:
    for body in (b"good-1", b"good-2"):
        desk.origin.page(body=body, cache_control="max-age=60")
        await desk.get()
        desk.clock.advance(60)
    desk.origin.page(body=b"junk", cache_control="max-age=60")

    await desk.get(keep=False)

    assert (await desk.get(mode="stored")).body == b"good-2"


async def test_an_entity_tag_alone_gives_the_default_lifetime_and_is_then_revalidated(desk: Any) -> None:
    desk.origin.page(etag='W/"sdk"')
    await desk.get()

    desk.clock.advance(299)
    fresh = await desk.get()
    desk.clock.advance(1)
    renewed = await desk.get()

    assert (fresh.cache, renewed.cache) == ("fresh", "revalidated")
    assert desk.origin.count == 2


async def test_no_cache_is_revalidated_at_every_call(desk: Any) -> None:
    desk.origin.page(etag='"1"', cache_control="no-cache")

    states = [(await desk.get()).cache for _ in range(3)]

    assert states == ["network", "revalidated", "revalidated"]
    assert desk.origin.count == 3


async def test_no_store_is_not_stored_in_any_store(desk: Any) -> None:
    desk.origin.page(etag='"1"', cache_control="no-store, max-age=60")

    states = [(await desk.get()).cache for _ in range(2)]

    assert states == ["network", "network"]
    assert "if-none-match" not in desk.origin.last.headers
    with pytest.raises(FetchError):
        await desk.get(mode="stored")


async def test_an_origin_that_turns_to_no_store_leaves_no_older_copy_behind(desk: Any) -> None:
    desk.origin.page(body=b"old", etag='"1"', cache_control="max-age=60")
    await desk.get()
    desk.clock.advance(60)
    desk.origin.page(body=b"new", etag='"2"', cache_control="no-store")

    await desk.get()

    with pytest.raises(FetchError):
        await desk.get(mode="stored")


async def test_a_profile_that_forbids_storing_stays_in_memory_for_a_minute(desk: Any) -> None:
    desk.origin.page(etag='"1"', cache_control="no-store")

    states = []
    for wait in (0, 59, 1):
        desk.clock.advance(wait)
        states.append((await desk.get(kind="profile")).cache)
    as_card = await desk.get(kind="card", keep=False)

    assert states == ["network", "fresh", "revalidated"]
    assert as_card.cache == "network"
    assert "if-none-match" not in desk.origin.last.headers


async def test_a_profile_that_forbids_storing_is_on_no_disk(open_desk: Any, tmp_path: Any) -> None:
    async with open_desk(Cache.sqlite(tmp_path / "cache.sqlite")) as desk:
        desk.origin.page(body=b"not for the disk", cache_control="no-store")
        await desk.get(kind="profile")

    assert all(b"not for the disk" not in path.read_bytes() for path in tmp_path.iterdir())


async def test_vary_by_star_is_not_stored(desk: Any) -> None:
    desk.origin.page(vary="*", cache_control="max-age=60")

    assert [(await desk.get()).cache for _ in range(2)] == ["network", "network"]


async def test_answers_that_vary_by_version_stand_beside_each_other(desk: Any) -> None:
    def by_version(request: httpx.Request) -> httpx.Response:
        headers = {"vary": "A2A-Version", "cache-control": "max-age=60"}
        return httpx.Response(200, headers=headers, content=request.headers["a2a-version"].encode())

    desk.origin.serve(URL, by_version)
    old = (("A2A-Version", "0.3"),)

    bodies = [(await desk.get()).body, (await desk.get(headers=old)).body]
    cached = [await desk.get(), await desk.get(headers=old)]

    assert bodies == [b"1.0", b"0.3"]
    assert [(each.cache, each.body) for each in cached] == [("fresh", b"1.0"), ("fresh", b"0.3")]
    assert desk.origin.count == 2


async def test_an_answer_that_varies_by_a_field_we_always_send_is_found_again(desk: Any) -> None:
    desk.origin.page(vary="Accept, User-Agent, Accept-Encoding, Origin, A2A-Version", cache_control="max-age=60")

    assert [(await desk.get()).cache for _ in range(2)] == ["network", "fresh"]


async def test_what_the_cache_believes_to_be_sent_is_what_is_sent(desk: Any) -> None:
    from a2a_discovery._effects import Fetch
    from a2a_discovery._http.answers import sent

    given = (("A2A-Extensions", "urn:x"), ("Accept-Encoding", "br"))
    await desk.get(headers=given)
    fetch = Fetch(url=URL, kind="card", limit=1, headers=given)

    for name, value in sent(fetch, {"vary": ["accept"]}).items():
        assert desk.origin.last.headers[name] == value


async def test_refresh_revalidates_what_is_still_fresh(desk: Any) -> None:
    desk.origin.page(etag='"1"', cache_control="max-age=60")
    await desk.get()

    again = await desk.get(mode="refresh")

    assert again.cache == "revalidated"
    assert desk.origin.last.headers["if-none-match"] == '"1"'


async def test_unconditional_asks_without_any_condition_and_replaces_what_is_stored(desk: Any) -> None:
    desk.origin.page(body=b"one", etag='"1"', cache_control="max-age=60")
    await desk.get()
    desk.origin.page(body=b"two", etag='"1"', cache_control="max-age=60")

    again = await desk.get(mode="unconditional")

    assert (again.cache, again.body) == ("network", b"two")
    assert "if-none-match" not in desk.origin.last.headers
    assert (await desk.get()).body == b"two"


@pytest.mark.parametrize("status", [401, 403, 404, 405, 410])
async def test_an_answer_that_takes_the_document_away_takes_the_copy_too(desk: Any, status: int) -> None:
    desk.origin.page(cache_control="max-age=60")
    await desk.get()
    desk.clock.advance(60)
    desk.origin.page(status=status)

    answer = await desk.get(keep=False)

    assert (answer.status, answer.cache) == (status, "network")
    with pytest.raises(FetchError):
        await desk.get(mode="stored")


@pytest.mark.parametrize("status", [400, 418, 429, 500, 503])
async def test_another_failure_leaves_the_copy_where_it_is(open_desk: Any, cache: Cache, status: int) -> None:
    async with open_desk(cache, network=NetworkPolicy(timeout=0.05)) as desk:
        desk.origin.page(body=b"good", cache_control="max-age=60")
        await desk.get()
        desk.clock.advance(60)
        desk.origin.page(status=status)

        assert (await desk.get()).status == status
        assert (await desk.get(mode="stored")).body == b"good"


@pytest.mark.parametrize("status", [201, 203, 404, 500])
async def test_only_a_200_is_stored(open_desk: Any, cache: Cache, status: int) -> None:
    async with open_desk(cache, network=NetworkPolicy(timeout=0.05)) as desk:
        desk.origin.page(status=status, cache_control="max-age=60")
        await desk.get()

        with pytest.raises(FetchError):
            await desk.get(mode="stored")


async def test_the_stored_mode_answers_without_any_request_or_fails(desk: Any) -> None:
    with pytest.raises(FetchError) as missing:
        await desk.get(mode="stored")
    desk.origin.page(body=b"kept", cache_control="max-age=60")
    await desk.get()

    fresh = await desk.get(mode="stored")
    desk.clock.advance(60)
    stale = await desk.get(mode="stored")

    assert (missing.value.code, missing.value.url) == ("connect", URL)
    assert (fresh.cache, stale.cache, stale.body) == ("fresh", "stale", b"kept")
    assert (stale.fetched_at, stale.expires_at) == (START, START + 60)
    assert desk.origin.count == 1


async def test_a_copy_stands_in_for_its_origin_for_a_day_past_its_expiry(desk: Any) -> None:
    desk.origin.page(cache_control="max-age=60")
    await desk.get()

    desk.clock.advance(60 + 86_400 - 1)
    assert (await desk.get(mode="stored")).cache == "stale"
    desk.clock.advance(1)
    with pytest.raises(FetchError):
        await desk.get(mode="stored")


async def test_keys_stand_in_for_a_day_after_their_last_good_fetch(desk: Any) -> None:
    desk.origin.page(cache_control="max-age=3600")
    await desk.get(kind="keys")

    desk.clock.advance(86_400 - 1)
    assert (await desk.get(kind="keys", mode="stored")).cache == "stale"
    desk.clock.advance(1)
    with pytest.raises(FetchError):
        await desk.get(kind="keys", mode="stored")


@pytest.mark.parametrize("value", ["max-age=60, must-revalidate", "no-cache"])
async def test_no_copy_stands_in_where_its_origin_forbids_it(desk: Any, value: str) -> None:
    desk.origin.page(etag='"1"', cache_control=value)
    await desk.get()
    desk.clock.advance(60)

    with pytest.raises(FetchError):
        await desk.get(mode="stored")


async def test_one_copy_serves_every_kind_each_by_its_own_lifetime(desk: Any) -> None:
    desk.origin.page(cache_control="max-age=7200")
    await desk.get(kind="card")
    desk.clock.advance(3600)

    assert (await desk.get(kind="catalog", keep=False)).cache == "fresh"
    assert (await desk.get(kind="keys", keep=False)).cache == "network"


async def test_a_copy_larger_than_the_limit_of_this_fetch_is_not_handed_out(desk: Any) -> None:
    desk.origin.page(body=b"x" * 100, cache_control="max-age=60")
    await desk.get(kind="catalog", limit=100)

    with pytest.raises(FetchError) as error:
        await desk.get(limit=99)

    assert error.value.code == "too-large"


async def test_a_fragment_and_the_case_of_the_host_make_no_other_document(desk: Any) -> None:
    desk.origin.page("https://shop.example/catalog.json", cache_control="max-age=60")
    await desk.get("https://shop.example/catalog.json#one")

    again = await desk.get("https://SHOP.example:443/catalog.json#two")

    assert again.cache == "fresh"
    assert again.requested == "https://SHOP.example:443/catalog.json#two"


async def test_a_query_makes_another_document(desk: Any) -> None:
    for url in ("https://shop.example/card?a", "https://shop.example/card?b"):
        desk.origin.page(url, body=url.encode(), cache_control="max-age=60")
        await desk.get(url)

    assert (await desk.get("https://shop.example/card?a")).body == b"https://shop.example/card?a"


class Moved:
    """A card that lives behind a redirect."""

    def __init__(self, origin: Any, place: str) -> None:
        self.place = place
        origin.serve(URL, lambda _: httpx.Response(302, headers={"location": self.place}))


async def test_the_redirects_of_a_stored_answer_are_stored_with_it(desk: Any) -> None:
    Moved(desk.origin, "https://www.shop.example/card.json")
    desk.origin.page("https://www.shop.example/card.json", cache_control="max-age=60")

    first, again = await desk.get(), await desk.get()

    for answer in (first, again):
        assert answer.requested == URL
        assert answer.url == "https://www.shop.example/card.json"
        assert answer.redirects == (URL,)
    assert again.cache == "fresh"
    assert desk.origin.count == 2


async def test_validators_go_only_to_the_url_that_gave_them(desk: Any) -> None:
    moved = Moved(desk.origin, "https://shop.example/one.json")
    desk.origin.page("https://shop.example/one.json", body=b"one", etag='"same"', cache_control="max-age=60")
    desk.origin.page("https://shop.example/two.json", body=b"two", etag='"same"', cache_control="max-age=60")
    await desk.get()
    desk.clock.advance(60)

    assert (await desk.get()).cache == "revalidated"
    assert [request.headers.get("if-none-match") for request in desk.origin.asked[-2:]] == [None, '"same"']
    desk.clock.advance(60)
    moved.place = "https://shop.example/two.json"
    changed = await desk.get()

    assert (changed.cache, changed.body) == ("network", b"two")
    assert all("if-none-match" not in request.headers for request in desk.origin.asked[-2:])


async def test_a_304_from_another_url_than_the_copys_is_not_believed(desk: Any) -> None:
    moved = Moved(desk.origin, "https://shop.example/one.json")
    desk.origin.page("https://shop.example/one.json", body=b"one", etag='"1"', cache_control="max-age=60")
    await desk.get()
    desk.clock.advance(60)
    moved.place = "https://shop.example/broken.json"
    desk.origin.serve(moved.place, lambda _: httpx.Response(304))

    assert (await desk.get(keep=False)).status == 304


async def test_a_copy_behind_more_redirects_than_this_policy_follows_is_not_used(open_desk: Any) -> None:
    cache = Cache.memory()
    async with open_desk(cache) as desk:
        Moved(desk.origin, "https://shop.example/one.json")
        desk.origin.page("https://shop.example/one.json", cache_control="max-age=60")
        await desk.get()

    async with open_desk(cache, network=NetworkPolicy(max_redirects=0)) as strict:
        with pytest.raises(FetchError) as error:
            await strict.get()
    assert error.value.code == "redirect-refused"


async def test_a_copy_behind_a_redirect_is_no_profile(desk: Any) -> None:
    Moved(desk.origin, "https://shop.example/one.json")
    desk.origin.page("https://shop.example/one.json", cache_control="max-age=60")
    await desk.get(kind="card")

    with pytest.raises(FetchError) as error:
        await desk.get(kind="profile")
    assert error.value.code == "redirect-refused"


async def test_a_copy_from_another_site_holds_no_keys(open_desk: Any, cache: Cache) -> None:
    async with open_desk(cache, network=NetworkPolicy(cross_site_redirects=True)) as desk:
        Moved(desk.origin, "https://elsewhere.example/card.json")
        desk.origin.page("https://elsewhere.example/card.json", cache_control="max-age=60")
        await desk.get(kind="card")

        with pytest.raises(FetchError) as error:
            await desk.get(kind="keys")
    assert error.value.code == "redirect-refused"


async def test_a_304_for_another_entity_tag_is_not_believed(desk: Any) -> None:
    desk.origin.page(body=b"one", etag='"1"', last_modified="Tue, 14 Nov 2023 22:13:20 GMT", cache_control="max-age=60")
    await desk.get()
    desk.clock.advance(60)

    def by_date(request: httpx.Request) -> httpx.Response:
        if "if-modified-since" in request.headers:
            return httpx.Response(304, headers={"etag": '"2"'})
        return httpx.Response(200, headers={"etag": '"2"'}, content=b"two")

    desk.origin.serve(URL, by_date)
    changed = await desk.get()

    assert (changed.cache, changed.status, changed.body) == ("network", 200, b"two")


async def test_a_304_that_nobody_asked_for_is_no_answer_from_the_store(desk: Any) -> None:
    desk.origin.page(cache_control="max-age=60")
    await desk.get()
    desk.clock.advance(60)
    desk.origin.serve(URL, lambda _: httpx.Response(304))

    assert (await desk.get(keep=False)).status == 304


async def test_a_304_that_varies_otherwise_is_stored_for_the_requests_it_answers(desk: Any) -> None:
    desk.origin.page(body=b"one", etag='"1"', cache_control="max-age=60")
    await desk.get()
    desk.clock.advance(60)
    desk.origin.page(etag='"1"', cache_control="max-age=60", vary="A2A-Version")

    assert (await desk.get()).cache == "revalidated"
    assert (await desk.get()).cache == "fresh"
    assert (await desk.get(headers=(("A2A-Version", "0.3"),), keep=False)).cache == "network"


@pytest.mark.parametrize("status", [200, 304])
async def test_a_304_with_no_store_ends_the_copy(desk: Any, status: int) -> None:
    desk.origin.page(etag='"1"', cache_control="max-age=60")
    await desk.get()
    desk.clock.advance(60)
    desk.origin.page(etag='"1"' if status == 304 else '"2"', cache_control="no-store")

    await desk.get()

    with pytest.raises(FetchError):
        await desk.get(mode="stored")


async def test_loopback_without_a_lifetime_is_revalidated_at_every_call(open_desk: Any, cache: Cache) -> None:
    url = "http://localhost:9999/.well-known/agent-card.json"
    async with open_desk(cache, network=NetworkPolicy.local()) as desk:
        desk.origin.page(url, etag='"1"')

        states = [(await desk.get(url, local=True)).cache for _ in range(3)]

    assert states == ["network", "revalidated", "revalidated"]


async def test_what_the_caller_fetched_from_loopback_is_not_served_to_a_stranger(open_desk: Any, cache: Cache) -> None:
    url = "http://localhost:9999/keys.json"
    async with open_desk(cache, network=NetworkPolicy.local()) as desk:
        desk.origin.page(url, cache_control="max-age=60")
        await desk.get(url, kind="keys", local=True)

        with pytest.raises(Exception, match="loopback"):
            await desk.get(url, kind="keys", local=False)


async def test_a_server_cannot_write_our_own_field(desk: Any) -> None:
    mark = '{"at": 9e9, "url": "https://bank.example/", "redirects": [], "channel": "tls"}'
    desk.origin.page(a2a_discovery_copy=mark, cache_control="max-age=60")
    await desk.get()

    again = await desk.get()

    assert (again.url, again.fetched_at) == (URL, START)
    assert "a2a-discovery-copy" not in again.headers


async def test_the_default_lifetime_is_the_callers(open_desk: Any, cache: Cache) -> None:
    async with open_desk(cache, limits=Limits(default_ttl=10.0)) as desk:
        desk.origin.page()
        await desk.get()
        desk.clock.advance(10)

        assert (await desk.get()).cache == "network"


async def test_a_copy_from_the_future_is_not_used_and_goes(desk: Any) -> None:
    desk.origin.page(body=b"future", cache_control="max-age=60", etag='"1"')
    desk.clock.advance(10_000)
    await desk.get()
    desk.clock.advance(-10_000)
    desk.origin.page(body=b"now", cache_control="max-age=60")

    assert (await desk.get()).body == b"now"
    assert (await desk.get()).cache == "fresh"


async def test_off_keeps_nothing(open_desk: Any) -> None:
    async with open_desk(Cache.off()) as desk:
        desk.origin.page(etag='"1"', cache_control="max-age=60")

        assert [(await desk.get()).cache for _ in range(2)] == ["network", "network"]
        assert "if-none-match" not in desk.origin.last.headers
        with pytest.raises(FetchError):
            await desk.get(mode="stored")
