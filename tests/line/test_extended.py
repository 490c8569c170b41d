"""Step 6: the extended card, by the same rules (A2A sections 3.1.11 and 13.3)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from a2a_discovery._auth import BoundAuth
from a2a_discovery._credentials import Credentials
from a2a_discovery._upgrade import extend
from a2a_discovery.errors import AuthError, CardError, ExtendedCardError, FetchError, InterfaceError
from a2a_discovery.policy import Trust, TrustPolicy
from a2a_discovery.testing import Signer

CARD = "https://shop.example/.well-known/agent-card.json"
RPC = "https://shop.example/a2a"
SECRET = "tok-secret"
BEARER = {"b": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}}


@pytest.fixture
def public_card(card: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def make(**changes: Any) -> dict[str, Any]:
        return card(
            **{
                "capabilities": {"extendedAgentCard": True},
                "securitySchemes": BEARER,
                "securityRequirements": [{"schemes": {"b": {"list": []}}}],
                **changes,
            }
        )

    return make


@pytest.fixture
def extended(public_card: Any) -> dict[str, Any]:
    skills = [{"id": "refund", "name": "Refund", "description": "Refunds", "tags": ["shop"]}]
    return public_card(skills=skills)


@pytest.fixture
def upgrade(world: Any, find: Any, settings: Any, public_card: Any) -> Any:
    """Discover a public card, then upgrade it against what `RPC` answers."""

    def run(answer: Any, *, url: str = RPC, credentials: Credentials | None = None, **options: Any) -> Any:
        chosen = {
            name: options.pop(name) for name in ("trust", "bindings", "versions", "extensions") if name in options
        }
        world.answers |= {CARD: public_card(**options), url: answer}
        public = find("shop.example", **chosen)
        given = credentials or Credentials(bearer=SECRET)
        return world.run(extend(public, given, settings(**chosen), now=0.0, bind=BoundAuth))

    return run


def rpc(card: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": card}


def failed(code: int, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no", **more}}


def test_over_json_rpc_the_method_is_posted_with_params_and_the_service_headers(
    world: Any, upgrade: Any, extended: Any
) -> None:
    found = upgrade(rpc(extended))

    assert [skill.id for skill in found.reading.card.skills] == ["refund"]
    assert found.extended
    assert found.report.authority == "shop.example"
    call = world.asked[-1]
    assert (call.method, call.url, call.kind) == ("POST", RPC, "extended")
    assert json.loads(call.body) == {"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard", "params": {}}
    assert dict(call.headers) == {"A2A-Version": "1.0", "Content-Type": "application/json"}
    assert world.kept == [CARD]


def test_the_tenant_of_the_interface_goes_into_the_params(world: Any, upgrade: Any, extended: Any) -> None:
    interfaces = [{"url": RPC, "protocolBinding": "JSONRPC", "protocolVersion": "1.0", "tenant": "acme"}]

    upgrade(rpc(extended), supportedInterfaces=interfaces)

    assert json.loads(world.asked[-1].body)["params"] == {"tenant": "acme"}


@pytest.mark.parametrize(
    ("tenant", "version", "path"),
    [
        (None, "1.0", "/extendedAgentCard"),
        ("acme/eu 1", "1.0", "/acme%2Feu%201/extendedAgentCard"),
        (None, "0.3", "/v1/card"),
    ],
)
def test_over_http_json_the_path_is_asked_below_the_interface(
    world: Any, upgrade: Any, extended: Any, tenant: str | None, version: str, path: str
) -> None:
    entry = {"url": RPC + "/", "protocolBinding": "HTTP+JSON", "protocolVersion": version}
    entry |= {"tenant": tenant} if tenant else {}

    found = upgrade(extended, url=RPC + path, supportedInterfaces=[entry])

    assert found.extended
    assert (world.asked[-1].method, world.asked[-1].url, world.asked[-1].body) == ("GET", RPC + path, None)


def test_where_the_chosen_binding_is_not_http_another_usable_interface_is_asked(
    world: Any, upgrade: Any, extended: Any
) -> None:
    interfaces = [
        {"url": "shop.example:443", "protocolBinding": "GRPC", "protocolVersion": "1.0"},
        {"url": RPC, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
    ]

    found = upgrade(rpc(extended), supportedInterfaces=interfaces, bindings=("GRPC", "JSONRPC"))

    assert found.extended


def test_a_card_that_declares_none_is_not_asked(world: Any, upgrade: Any, extended: Any) -> None:
    with pytest.raises(ExtendedCardError) as caught:
        upgrade(rpc(extended), capabilities={})

    assert caught.value.code == "not-declared"
    assert world.urls == [CARD]


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        (failed(-32007), ExtendedCardError, "not-configured"),
        (failed(-32004), ExtendedCardError, "unsupported"),
        (failed(-32601), ExtendedCardError, "unsupported"),
        (failed(-32009), ExtendedCardError, "unsupported"),
        (failed(-32099, data=[{"reason": "EXTENDED_AGENT_CARD_NOT_CONFIGURED"}]), ExtendedCardError, "not-configured"),
        (failed(-32603), FetchError, "protocol"),
        ((400, failed(-32007), "application/json"), ExtendedCardError, "not-configured"),
        ((401, b"", ""), AuthError, "auth-required"),
        ((403, failed(-32001), "application/json"), AuthError, "forbidden"),
        ((404, b"gone", "text/plain"), ExtendedCardError, "unsupported"),
        ((405, b"", ""), ExtendedCardError, "unsupported"),
        ((500, b"", ""), FetchError, "http-status"),
        ({"jsonrpc": "2.0", "id": 1}, FetchError, "protocol"),
        ([], FetchError, "protocol"),
        ((200, b"<html>", "text/html"), CardError, "not-json"),
        (rpc(None), CardError, "not-a-card"),
        (rpc({"message": "not found"}), CardError, "not-a-card"),
    ],
)
def test_every_refusal_over_json_rpc_is_told_apart(upgrade: Any, answer: Any, kind: type[Any], code: str) -> None:
    with pytest.raises(kind) as caught:
        upgrade(answer)

    assert caught.value.code == code
    assert SECRET not in str(caught.value)


def google(status: int, name: str, reason: str | None = None) -> tuple[int, bytes, str]:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}] if reason else []
    body = {"error": {"code": status, "status": name, "message": "no", "details": details}}
    return status, json.dumps(body).encode(), "application/a2a+json"


@pytest.mark.parametrize(
    ("answer", "kind", "code"),
    [
        (google(400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"), ExtendedCardError, "not-configured"),
        (google(400, "FAILED_PRECONDITION", "EXTENDED_CARD_NOT_CONFIGURED"), ExtendedCardError, "not-configured"),
        (google(400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"), ExtendedCardError, "unsupported"),
        (google(400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"), ExtendedCardError, "unsupported"),
        (google(501, "UNIMPLEMENTED"), ExtendedCardError, "unsupported"),
        (google(401, "UNAUTHENTICATED"), AuthError, "auth-required"),
        ((200, google(401, "UNAUTHENTICATED")[1], "application/json"), AuthError, "auth-required"),
        (
            (
                400,
                b'{"type":"https://a2a-protocol.org/errors/version-not-supported","status":400}',
                "application/problem+json",
            ),
            ExtendedCardError,
            "unsupported",
        ),
        ((400, b"", ""), FetchError, "http-status"),
    ],
)
def test_every_refusal_over_http_json_is_told_apart(upgrade: Any, answer: Any, kind: type[Any], code: str) -> None:
    entry = {"url": RPC, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"}

    with pytest.raises(kind) as caught:
        upgrade(answer, url=RPC + "/extendedAgentCard", supportedInterfaces=[entry])

    assert caught.value.code == code


def test_the_public_card_once_more_is_no_upgrade_whatever_its_spelling(upgrade: Any, public_card: Any) -> None:
    same = public_card()
    spelled = {
        **same,
        "provider": None,
        "securitySchemes": {"b": {"scheme": {"$case": "httpAuthSecurityScheme", "value": {"scheme": "Bearer"}}}},
    }
    spelled["supportedInterfaces"] = [{**same["supportedInterfaces"][0], "tenant": ""}]
    for answer in (same, spelled):
        with pytest.raises(ExtendedCardError) as caught:
            upgrade(rpc(answer))
        assert caught.value.code == "not-upgraded"


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        (
            {
                "supportedInterfaces": [
                    {"url": "https://evil.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
                ]
            },
            "/supportedInterfaces/0/url",
        ),
        (
            {
                "securitySchemes": {
                    "o": {
                        "oauth2SecurityScheme": {
                            "flows": {"clientCredentials": {"tokenUrl": "https://evil.example/token", "scopes": {}}}
                        }
                    }
                }
            },
            "/securitySchemes/o",
        ),
        ({"provider": {"organization": "Evil", "url": "https://evil.example"}}, "/provider"),
        ({}, "/provider"),
    ],
)
def test_an_unsigned_extended_card_of_another_site_or_provider_is_a_mismatch(
    upgrade: Any, extended: Any, changes: dict[str, Any], pointer: str
) -> None:
    provider = {"organization": "Shop", "url": "https://shop.example"}

    with pytest.raises(ExtendedCardError) as caught:
        upgrade(
            rpc({**extended, **({"provider": provider} if pointer != "/provider" else {}), **changes}),
            provider=provider,
        )

    assert caught.value.code == "mismatch"
    assert caught.value.pointers == (pointer,)


def test_an_unsigned_extended_card_may_stay_on_the_sites_that_the_public_one_named(upgrade: Any, extended: Any) -> None:
    interfaces = [
        {"url": "https://api.saas.example/x", "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"},
        {"url": RPC, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
    ]
    moved = [{"url": "https://eu.saas.example/x", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]

    found = (
        upgrade(
            rpc({**extended, "supportedInterfaces": moved}),
            supportedInterfaces=interfaces,
            bindings=("JSONRPC",),
            credentials=Credentials(bearer=SECRET),
            url=RPC,
        )
        if False
        else None
    )
    found = found or upgrade(
        rpc({**extended, "supportedInterfaces": moved}), supportedInterfaces=list(reversed(interfaces))
    )

    assert found.selection.interface.url == "https://eu.saas.example/x"


def test_an_extended_card_without_a_usable_interface_is_not_swapped_in(upgrade: Any, extended: Any) -> None:
    gone = [{"url": "https://shop.example/g", "protocolBinding": "GRPC", "protocolVersion": "1.0"}]

    with pytest.raises(InterfaceError):
        upgrade(rpc({**extended, "supportedInterfaces": gone}))


def test_where_signatures_are_required_an_unsigned_extended_card_is_refused(
    world: Any, find: Any, upgrade: Any, extended: Any
) -> None:
    # The public card is unsigned too, so the refusal comes at the first step: nothing is asked with the token.
    from a2a_discovery.errors import TrustError

    with pytest.raises(TrustError) as caught:
        upgrade(rpc(extended), trust=TrustPolicy(require=Trust.SIGNED))

    assert caught.value.code == "unsigned"
    assert all(fetch.kind != "extended" for fetch in world.asked)


def hosts_with_credentials(world: Any) -> list[str]:
    """The hosts that any fetch so far could have shown a credential to."""
    from a2a_discovery._urls import host_of

    return [host_of(f.url) for f in world.asked if f.auth_for is not None and f.auth_for(host_of(f.url)) is not None]


def test_a_token_goes_to_the_site_of_the_authority_and_nowhere_else(world: Any, upgrade: Any, extended: Any) -> None:
    interfaces = [{"url": "https://api.saas.example/x", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]

    with pytest.raises(AuthError) as caught:
        upgrade(rpc(extended), supportedInterfaces=interfaces)

    assert caught.value.code == "no-credential"
    assert "api.saas.example" in str(caught.value)
    assert "shop.example" in str(caught.value)
    assert caught.value.hint is not None
    assert 'await agent.upgrade(Credentials(bearer=..., hosts=("api.saas.example",)))' in caught.value.hint
    assert world.urls == [CARD]


def test_a_token_goes_to_a_host_that_the_caller_listed(world: Any, upgrade: Any, extended: Any) -> None:
    url = "https://api.saas.example/x"
    interfaces = [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]

    found = upgrade(
        rpc({**extended, "supportedInterfaces": interfaces}),
        url=url,
        supportedInterfaces=interfaces,
        credentials=Credentials(bearer=SECRET, hosts=("api.saas.example",)),
    )

    assert found.extended
    assert hosts_with_credentials(world) == ["api.saas.example"]


def test_a_handed_over_card_gets_a_token_only_to_listed_hosts(
    world: Any, find: Any, settings: Any, extended: Any, public_card: Any
) -> None:
    world.answers[RPC] = rpc(extended)
    public = find(public_card())

    with pytest.raises(AuthError) as caught:
        world.run(extend(public, Credentials(bearer=SECRET), settings(), now=0.0, bind=BoundAuth))
    assert caught.value.code == "no-credential"
    assert world.asked == []

    listed = Credentials(bearer=SECRET, hosts=("shop.example",))
    assert world.run(extend(public, listed, settings(), now=0.0, bind=BoundAuth)).extended


def test_an_empty_requirement_is_taken_only_when_no_other_fits(world: Any, upgrade: Any, extended: Any) -> None:
    upgrade(rpc(extended), securityRequirements=[{"schemes": {}}, {"schemes": {"b": {"list": []}}}])

    assert hosts_with_credentials(world) == ["shop.example"]


def test_without_any_scheme_a_token_is_sent_as_http_defines_it_with_a_finding(upgrade: Any, extended: Any) -> None:
    found = upgrade(rpc(extended), securitySchemes=None, securityRequirements=None)

    assert "no-security-scheme" in {finding.code for finding in found.findings}


@pytest.mark.parametrize(
    "credentials",
    [Credentials(api_key="k"), Credentials(basic=("u", "p")), Credentials(client_id="c", client_secret="s")],
)
def test_credentials_that_fit_no_scheme_are_refused_with_what_is_needed(
    world: Any, upgrade: Any, extended: Any, credentials: Credentials
) -> None:
    with pytest.raises(AuthError) as caught:
        upgrade(rpc(extended), credentials=credentials)

    assert caught.value.code == "no-credential"
    assert "HTTP bearer" in str(caught.value)
    assert world.urls == [CARD]


def test_without_any_scheme_an_api_key_has_no_place_to_go(upgrade: Any, extended: Any) -> None:
    with pytest.raises(AuthError) as caught:
        upgrade(rpc(extended), securitySchemes=None, securityRequirements=None, credentials=Credentials(api_key="k"))

    assert caught.value.code == "no-credential"


OFF_SITE = {
    "interface": {"url": "https://evil.example/x"},
    "scheme": {
        "security_schemes": {"o": {"openIdConnectSecurityScheme": {"openIdConnectUrl": "https://evil.example"}}}
    },
}


@pytest.mark.parametrize(("edited", "pointer"), [("interface", "/url"), ("scheme", "/security_schemes/o")])
def test_what_a_verified_signature_leaves_open_may_not_lead_elsewhere(
    world: Any, upgrade: Any, public_card: Any, edited: str, pointer: str
) -> None:
    """What stands under an older name is not in the signed form of 1.0, so whoever hands the card on may edit it."""
    signer = Signer(jku="https://shop.example/keys.json")
    extended = public_card(skills=[{"id": "refund", "name": "Refund", "description": "Refunds", "tags": ["shop"]}])
    del extended["securitySchemes"], extended["securityRequirements"]
    if edited == "interface":
        del extended["supportedInterfaces"]
        extended |= {"protocolVersion": "0.3.0", "url": "https://shop.example/a2a"}
    extended["signatures"] = [signer.sign(extended, base="https://shop.example")]
    world.answers["https://shop.example/keys.json"] = {"keys": [signer.jwk]}

    upgrade(rpc(extended))
    with pytest.raises(ExtendedCardError) as caught:
        upgrade(rpc(extended | OFF_SITE[edited]))

    assert (caught.value.code, caught.value.pointers) == ("mismatch", (pointer,))


def test_two_cards_of_ten_thousand_sites_are_compared_at_once(upgrade: Any, extended: Any) -> None:
    def sites(name: str) -> list[dict[str, str]]:
        urls = (f"https://{name}{number}.example/" for number in range(10_000))
        return [{"url": url, "protocolBinding": "X", "protocolVersion": "1.0"} for url in urls]

    public = [{"url": RPC, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}, *sites("a")]
    started = time.process_time()

    with pytest.raises(ExtendedCardError):
        upgrade(rpc({**extended, "supportedInterfaces": [public[0], *sites("b")]}), supportedInterfaces=public)

    assert time.process_time() - started < 10  # each with each is a hundred million comparisons
