"""Names for agents: in a mapping, a file, the environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from a2a_discovery import CatalogEntry, Credentials, Discovery, Trust, TrustError, TrustPolicy, UsageError
from a2a_discovery._config import load

KEY = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "kid": "k1"}


@pytest.fixture
def web(web: Any, sample: Any) -> Any:
    """Where the samples' names lead."""
    web.put("https://agents.example.com/research/agent-card.json", sample("direct/card_v1.0.json"))
    web.put("https://weather.example.net/.well-known/agent-card.json", sample("direct/card_v0.3.json"))
    web.put("https://shop.example.com/.well-known/ucp", sample("ucp/2026-04-08_supported_versions.json"))
    web.put("https://shop.example.com/.well-known/agent-card.json", sample("ucp/agent_card_of_the_shop.json"))
    web.put(
        "https://registry.example.com/.well-known/ard.json",
        {"entries": sample("ard_registry/list_page1.json")["items"]},
    )
    web.put("https://a.example.com/agent-card.json", sample("direct/card_v1.0.json"))
    return web


@pytest.fixture
def put(tmp_path: Path) -> Any:
    """Write a configuration; without its common indentation."""

    def write(text: str, name: str = "agents.toml") -> Path:
        path = tmp_path / name
        path.write_text(text, "utf-8")
        return path

    return write


@pytest.mark.parametrize("name", ["agents.toml", "agents.json"])
async def test_the_published_samples_name_agents_of_every_kind(
    web: Any, discovery: Any, samples: Path, name: str
) -> None:
    made = discovery()
    d = Discovery.from_config(samples / "direct" / name, env={}, transport=made._transport)
    async with d:
        urls = {each: (await d.discover(each)).source.url for each in ("research", "weather", "local", "shop", "corp")}

    assert urls == {
        "research": "https://agents.example.com/research/agent-card.json",
        "weather": "https://weather.example.net/.well-known/agent-card.json",
        "local": None,
        "shop": "https://shop.example.com/.well-known/agent-card.json",
        "corp": "https://a.example.com/agent-card.json",
    }


async def test_a_card_that_is_written_down_makes_no_request(web: Any, discovery: Any, samples: Path) -> None:
    d = Discovery.from_config(samples / "direct" / "agents.json", env={}, transport=discovery()._transport)

    agents = [await d.discover(name) for name in ("inline", "local")]

    assert [agent.card.name for agent in agents] == ["Inline Agent", "Research Assistant"]
    assert web.urls == []


async def test_a_name_is_looked_up_before_anything_else(web: Any, discovery: Any, card: Any) -> None:
    d = discovery(agents={"shop.example": card(name="Mine"), "a name": "weather.example.net"})

    assert (await d.discover("shop.example")).card.name == "Mine"
    assert (await d.discover("a name")).card.name == "Weather Agent"


@pytest.mark.parametrize(
    ("value", "url"),
    [
        ("weather.example.net", "https://weather.example.net/.well-known/agent-card.json"),
        ({"target": "weather.example.net"}, "https://weather.example.net/.well-known/agent-card.json"),
        ({"base_url": "weather.example.net"}, "https://weather.example.net/.well-known/agent-card.json"),
        ({"ucp": "shop.example.com"}, "https://shop.example.com/.well-known/agent-card.json"),
        ({"ucp": "https://shop.example.com/.well-known/ucp"}, "https://shop.example.com/.well-known/agent-card.json"),
        ({"catalog": "https://registry.example.com/.well-known/ard.json"}, "https://a.example.com/agent-card.json"),
        (
            "https://registry.example.com/.well-known/ard.json#urn:air:example.com:agent:a",
            "https://a.example.com/agent-card.json",
        ),
        (
            CatalogEntry(identifier="x", source="mine", url="https://a.example.com/agent-card.json"),
            "https://a.example.com/agent-card.json",
        ),
        ({"card_url": "https://plain.example/orders"}, "https://plain.example/orders"),
    ],
)
async def test_a_value_is_any_of_the_kinds(web: Any, discovery: Any, card: Any, value: Any, url: str) -> None:
    web.put("https://plain.example/orders", card())

    assert (await discovery(agents={"x": value}).discover("x")).source.url == url


async def test_a_name_may_have_a_policy_and_bindings_of_its_own(web: Any, discovery: Any, card: Any) -> None:
    both = card(
        supportedInterfaces=[
            {"url": f"https://shop.example/{name}", "protocolBinding": name, "protocolVersion": "1.0"}
            for name in ("JSONRPC", "HTTP+JSON")
        ]
    )
    web.put("https://shop.example/card.json", both)
    place = "https://shop.example/card.json"
    d = discovery(
        agents={
            "strict": {"card_url": place, "trust": {"require": "SIGNED"}},
            "policy": {"card_url": place, "trust": TrustPolicy(require=Trust.PINNED)},
            "rest": {"card_url": place, "bindings": ["HTTP+JSON"]},
            "plain": place,
        }
    )

    for name in ("strict", "policy"):
        with pytest.raises(TrustError) as caught:
            await d.discover(name)
        assert caught.value.code == "unsigned"
    assert (await d.discover("rest")).interface.protocol_binding == "HTTP+JSON"
    assert (await d.discover("plain")).interface.protocol_binding == "JSONRPC"


async def test_a_credential_is_named_by_its_variable_and_goes_to_the_agents_host(
    web: Any, discovery: Any, put: Any, card: Any
) -> None:
    web.put("https://shop.example/card.json", card())
    path = put(
        """
        [agents.orders]
        card_url = "https://shop.example/card.json"
        credentials = { bearer_env = "ORDERS_TOKEN", hosts = ["api.saas.example"] }
        [agents.basic]
        card_url = "https://weather.example.net/.well-known/agent-card.json"
        credentials = { basic_env = "LOGIN" }
        [agents.research]
        card_url = "https://agents.example.com/research/agent-card.json"
        """
    )
    env = {"ORDERS_TOKEN": "secret-1", "LOGIN": "me:pass:word"}
    d = Discovery.from_config(path, env=env, transport=discovery()._transport)

    for name in ("orders", "basic", "research"):
        await d.discover(name)

    assert [request.headers.get("authorization") for request in web.asked] == [
        "Bearer secret-1",
        "Basic bWU6cGFzczp3b3Jk",
        None,
    ]
    assert load(path, env)["orders"].credentials == Credentials(bearer="secret-1", hosts=("api.saas.example",))
    assert "secret-1" not in repr(load(path, env))


def test_keys_are_files_beside_the_configuration_or_written_down(put: Any, tmp_path: Path) -> None:
    (tmp_path / "shop.jwks.json").write_text(json.dumps({"keys": [KEY]}))
    path = put(
        f"""
        [agents.a]
        card_url = "https://shop.example/card.json"
        trust = {{ keys = "shop.jwks.json" }}
        [agents.b]
        card_url = "https://shop.example/card.json"
        trust.keys = {{ "*.corp.example" = "shop.jwks.json" }}
        [agents.c]
        card_url = "https://shop.example/card.json"
        trust.require = "pinned"
        trust.jku_hosts = {{ "shop.example" = ["https://keys.example/"] }}
        [agents.c.trust.keys."shop.example"]
        kty = "OKP"
        crv = "Ed25519"
        x = "{KEY["x"]}"
        """
    )

    found = load(path, {})

    assert dict(found["a"].trust.keys) == {"shop.example": (KEY,)}
    assert dict(found["b"].trust.keys) == {"*.corp.example": (KEY,)}
    assert found["c"].trust.require is Trust.PINNED
    assert found["c"].trust.jku_hosts == {"shop.example": ("https://keys.example/",)}


class TestTheEnvironment:
    async def test_names_agents_and_wins_over_the_file(self, web: Any, discovery: Any, put: Any, card: Any) -> None:
        path = put('[agents.my-shop]\ncard_url = "https://dead.example/card.json"\n')
        env = {
            "A2A_AGENT_MY_SHOP": "weather.example.net",
            "A2A_AGENT_INLINE": json.dumps(card(name="From the environment")),
            "A2A_AGENT_MERCHANT": '{"ucp": "shop.example.com"}',
            "A2A_AGENTS": "not one",
            "A2A_AGENT_": "no name",
            "PATH": "/bin",
        }

        d = Discovery.from_config(path, env=env, transport=discovery()._transport)

        assert (await d.discover("my-shop")).card.name == "Weather Agent"
        assert (await d.discover("inline")).card.name == "From the environment"
        assert (await d.discover("merchant")).card.name == "Example Shop Agent"
        assert set(d._agents) == {"my-shop", "inline", "merchant"}

    async def test_is_enough_without_a_file(self, web: Any, discovery: Any) -> None:
        d = Discovery.from_config(env={"A2A_AGENT_W": "weather.example.net"}, transport=discovery()._transport)

        assert (await d.discover("w")).card.name == "Weather Agent"

    @pytest.mark.parametrize("value", ["", " ", "{", '{"card_url": 7}', "not a host", "file:///etc/passwd"])
    def test_that_names_no_agent_is_named(self, value: str) -> None:
        with pytest.raises(UsageError, match="A2A_AGENT_X") as caught:
            load(None, {"A2A_AGENT_X": value})

        assert caught.value.code == "bad-config"


async def test_what_is_given_in_code_wins_over_the_file(web: Any, discovery: Any, put: Any) -> None:
    path = put('[agents.w]\ncard_url = "https://dead.example/card.json"\n')

    d = Discovery.from_config(path, env={}, transport=discovery()._transport, agents={"w": "weather.example.net"})

    assert (await d.discover("w")).card.name == "Weather Agent"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[agents.a\n", "agents.toml: it is not TOML: .*line 1"),
        ("x = 1\n", "agents.toml, line 1, x: only the table agents"),
        ("agents = 7\n", "agents.toml, line 1, agents: a table was expected, not a number"),
        ("[agents]\na = 7\n", "agents.toml, line 2, agents.a: a table was expected"),
        ("[agents]\na = ''\n", "agents.toml, line 2, agents.a: a text was expected, not an empty text"),
        ("\n[agents.a]\n", "agents.toml, line 2, agents.a: exactly one of .* not none"),
        (
            "[agents.a]\ncard_url = 'https://h.example/c.json'\nucp = 'h.example'\n",
            "exactly one of .* not card_url, ucp",
        ),
        ("[agents.a]\ncard_url = 7\n", "agents.toml, line 2, agents.a.card_url: a text was expected"),
        ("[agents.a]\ncard_url = 'ftp://h.example/'\n", "line 2, agents.a.card_url: .*scheme"),
        ("[agents.b]\nucp='x.example'\n[agents.a]\ncard_ur = 'x'\n", "line 4, agents.a.card_ur: the key is not known"),
        ("[agents.a]\nucp='x.example'\nidentifier='y'\n", "line 3, agents.a.identifier: it goes with catalog"),
        ("[agents.a]\nucp='x.example'\ntrust.require='MOST'\n", "line 3, agents.a.trust.require: it is one of NONE"),
        ("[agents.a]\nucp='x.example'\ntrust.levle='NONE'\n", "line 3, agents.a.trust.levle: the key is not known"),
        (
            "[agents.a]\nucp='x.example'\ntrust.algorithms=['none']\n",
            "line 3, agents.a.trust: algorithms does not know",
        ),
        ("[agents.a]\nucp='x.example'\ntrust.continuity='yes'\n", "agents.a.trust.continuity: true or false"),
        ("[agents.a]\nucp='x.example'\ntrust.keys='no.json'\n", "line 3, agents.a.trust: keys: no.json cannot be read"),
        ("[agents.a]\ncard_file='x'\ntrust.keys='no.json'\n", "the agent has no host of its own"),
        ("[agents.a]\nucp='x.example'\nbindings='GRPC'\n", "line 3, agents.a.bindings: a list of texts"),
        ("[agents.a]\nucp='x.example'\ncredentials.bearer='s3cret'\n", "agents.a.credentials.bearer: a secret is not"),
        ("[agents.a]\nucp='x.example'\ncredentials.bearer_env='NONE'\n", "credentials.bearer_env: .*'NONE' is not set"),
        ("[agents.a]\nucp='x.example'\ncredentials.basic_env='B'\n", "basic_env: the variable does not hold user:pass"),
        ("[agents.a]\nucp='x.example'\ncredentials.baerer_env='B'\n", "credentials.baerer_env: the key is not known"),
    ],
)
def test_an_error_names_file_line_and_key(put: Any, text: str, place: str) -> None:
    with pytest.raises(UsageError, match=place) as caught:
        load(put(text), {"B": "no-colon"})

    assert caught.value.code == "bad-config"
    assert "s3cret" not in str(caught.value)
    assert "no-colon" not in str(caught.value)


def test_a_json_file_names_its_places_too(put: Any) -> None:
    with pytest.raises(UsageError, match=r"agents\.json, line 3, agents\.a\.card_url: a text was expected"):
        load(put('{"agents": {"a": {\n\n"card_url": 7}}}', "agents.json"), {})
    with pytest.raises(UsageError, match=r"agents\.json: the document is not JSON: .*line 1"):
        load(put('{"agents": {"a": 1, "a": 2}}', "agents.json"), {})


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, put: Any) -> None:
    with pytest.raises(UsageError, match=r"none\.toml: it cannot be read"):
        load(tmp_path / "none.toml", {})
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(UsageError, match=r"bytes\.toml: it is not UTF-8"):
        load(tmp_path / "bytes.toml", {})


@pytest.mark.parametrize("agents", [7, ["a"], {"a": 7}, {7: "a.example"}, {"": "a.example"}, {"a": {}}, {"a": None}])
def test_in_code_too_what_is_no_configuration_is_refused_at_once(discovery: Any, agents: Any) -> None:
    with pytest.raises(UsageError) as caught:
        discovery(agents=agents)

    assert caught.value.code == "bad-config"
