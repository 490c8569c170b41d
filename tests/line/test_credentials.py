"""Credentials: kept to themselves, and put where the scheme says."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import httpx
import pytest

from a2a_discovery import Credentials, UsageError
from a2a_discovery._auth import BoundAuth
from a2a_discovery._choose import choose
from a2a_discovery._credentials import Allowed, check_mapping


def scheme(**member: Any) -> Any:
    from a2a_discovery._card.model import SecurityScheme

    return SecurityScheme.model_validate(member)


def requirement(*names: str) -> Any:
    from a2a_discovery._card.model import SecurityRequirement

    return SecurityRequirement.model_validate({"schemes": {name: {"list": []} for name in names}})


BEARER = {"httpAuthSecurityScheme": {"scheme": "bearer"}}
KEY = {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}}
OAUTH = {"oauth2SecurityScheme": {"flows": {"clientCredentials": {"tokenUrl": "https://a.example/t", "scopes": {}}}}}


def sent(credentials: Credentials, schemes: dict[str, Any], *requirements: Any) -> httpx.Request:
    chosen = choose(credentials, {name: scheme(**each) for name, each in schemes.items()}, requirements)
    request = httpx.Request("GET", "https://shop.example/x?a=1")
    return next(BoundAuth(chosen.applied).sync_auth_flow(request))


def test_values_never_show_in_repr_and_are_not_pickled() -> None:
    credentials = Credentials(
        bearer="tok-1",
        basic=("u-1", "p-1"),
        api_key="k-1",
        client_id="c-1",
        client_secret="s-1",
        schemes={"x": Credentials(bearer="tok-2")},
    )

    for secret in ("tok-1", "u-1", "p-1", "k-1", "c-1", "s-1", "tok-2"):
        assert secret not in repr(credentials)
        assert secret not in credentials.principal
    with pytest.raises(TypeError):
        pickle.dumps(credentials)
    with pytest.raises(TypeError):
        copy.deepcopy(BoundAuth(()))


def test_the_principal_tells_credentials_apart_and_stays_the_same_for_the_same() -> None:
    assert Credentials(bearer="a").principal == Credentials(bearer="a").principal
    different = [
        Credentials(bearer="a"),
        Credentials(bearer="b"),
        Credentials(api_key="a"),
        Credentials(bearer="a", hosts=("x.example",)),
        Credentials(schemes={"s": Credentials(bearer="a")}),
    ]
    assert len({each.principal for each in different}) == len(different)


@pytest.mark.parametrize("value", ["", "two words", "line\nbreak", "ünïcode", 7, b"bytes"])
def test_a_token_that_no_header_can_carry_is_bad_config_without_quoting_it(value: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Credentials(bearer=value)

    assert caught.value.code == "bad-config"
    assert not str(value) or str(value) not in str(caught.value)


def test_a_bare_credentials_for_a_discovery_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        check_mapping(Credentials(bearer="x"))

    assert caught.value.code == "bad-config"
    assert check_mapping({"*.Shop.example": Credentials(bearer="x")}).keys() == {"*.shop.example"}


@pytest.mark.parametrize("pattern", ["*", "", "*.", "https://shop.example", "shop.example/x", "*.*.example", "a b"])
def test_what_is_no_host_pattern_is_bad_config(pattern: str) -> None:
    with pytest.raises(UsageError):
        check_mapping({pattern: Credentials(bearer="x")})
    with pytest.raises(UsageError):
        Credentials(bearer="x", hosts=(pattern,))


def test_a_bearer_token_fits_http_bearer_in_any_case_oauth_and_openid() -> None:
    openid = {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://a.example/c"}}
    for each in ({"httpAuthSecurityScheme": {"scheme": "Bearer"}}, BEARER, OAUTH, openid):
        request = sent(Credentials(bearer="tok"), {"s": each}, requirement("s"))
        assert request.headers["authorization"] == "Bearer tok"


def test_basic_is_sent_as_rfc_7617_defines_it() -> None:
    basic = {"httpAuthSecurityScheme": {"scheme": "basic"}}

    request = sent(Credentials(basic=("Aladdin", "open sesame")), {"s": basic})

    assert request.headers["authorization"] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="  # the example of RFC 7617 section 2


@pytest.mark.parametrize(
    ("location", "check"),
    [
        ("header", lambda r: r.headers["x-key"] == "k1"),
        ("query", lambda r: r.url.params["X-Key"] == "k1" and r.url.params["a"] == "1"),
        ("cookie", lambda r: r.headers["cookie"] == "X-Key=k1"),
    ],
)
def test_an_api_key_goes_where_the_scheme_says(location: str, check: Any) -> None:
    key = {"apiKeySecurityScheme": {"location": location, "name": "X-Key"}}

    assert check(sent(Credentials(api_key="k1"), {"s": key}, requirement("s")))


def test_all_schemes_of_one_requirement_are_met_together_and_the_first_that_can_be_is_taken() -> None:
    both = sent(
        Credentials(bearer="tok", api_key="k1"), {"b": BEARER, "k": KEY}, requirement("b", "k"), requirement("b")
    )
    assert (both.headers["authorization"], both.headers["x-key"]) == ("Bearer tok", "k1")

    one = sent(Credentials(bearer="tok"), {"b": BEARER, "k": KEY}, requirement("b", "k"), requirement("b"))
    assert "x-key" not in one.headers


def test_credentials_by_scheme_name_come_before_the_common_ones() -> None:
    credentials = Credentials(bearer="common", schemes={"b": Credentials(bearer="mine")})

    assert sent(credentials, {"b": BEARER}, requirement("b")).headers["authorization"] == "Bearer mine"


def test_a_key_name_that_would_break_the_header_is_not_used() -> None:
    from a2a_discovery import AuthError

    key = {"apiKeySecurityScheme": {"location": "header", "name": "X: y\r\nHost"}}

    with pytest.raises(AuthError):
        sent(Credentials(api_key="k1"), {"s": key}, requirement("s"))


@pytest.mark.parametrize("name", ["Host", "content-length", "A2A-Version", "transfer-encoding", "connection"])
def test_a_key_name_that_is_a_header_of_the_protocol_is_not_used(name: str) -> None:
    from a2a_discovery import AuthError

    key = {"apiKeySecurityScheme": {"location": "header", "name": name}}

    with pytest.raises(AuthError):
        sent(Credentials(api_key="k1"), {"s": key}, requirement("s"))


async def test_any_httpx_auth_is_used_as_it_is() -> None:
    class Twice(httpx.Auth):
        def auth_flow(self, request: httpx.Request) -> Any:
            response = yield request
            request.headers["x-seen"] = str(response.status_code)
            yield request

    seen: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("x-seen"))
        return httpx.Response(401)

    chosen = choose(Credentials(auth=Twice()), {}, ())
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        await client.get("https://shop.example/", auth=BoundAuth(chosen.applied))
    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        client.get("https://shop.example/", auth=BoundAuth(chosen.applied))

    assert seen == [None, "401", None, "401"]


async def test_a_bound_auth_leaves_requests_to_other_hosts_alone_also_after_a_redirect() -> None:
    seen: list[tuple[str, bool]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append((request.url.host, "authorization" in request.headers))
        if request.url.host == "shop.example":
            return httpx.Response(302, headers={"location": "https://evil.example/"})
        return httpx.Response(200)

    chosen = choose(Credentials(bearer="tok"), {"b": scheme(**BEARER)}, ())
    auth = BoundAuth(chosen.applied, Allowed(authority="shop.example", hosts=()))
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer), follow_redirects=True) as client:
        await client.get("https://shop.example/", auth=auth)
        await client.get("https://other.example/", auth=auth)

    assert seen == [("shop.example", True), ("evil.example", False), ("other.example", False)]


def test_a_listed_pattern_or_the_site_of_the_authority_is_allowed() -> None:
    allowed = Allowed(authority="shop.example", hosts=("api.saas.example", "*.login.example"))

    inside = ["shop.example", "api.shop.example", "api.saas.example", "eu.login.example"]
    outside = ["saas.example", "x.api.saas.example", "login.example", "example", "evilshop.example", "127.0.0.1"]
    assert all(host in allowed for host in inside)
    assert not any(host in allowed for host in outside)
    assert "shop.example" not in Allowed(authority=None, hosts=())
