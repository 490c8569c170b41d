"""The channel of a policy as part of a stored key: equal where it means the same, in any process."""

from __future__ import annotations

import gc
import ssl
import subprocess
import sys
from typing import Any

import httpx

from a2a_discovery._http.fingerprint import call_it, fingerprint, name_of
from a2a_discovery.policy import NetworkPolicy


async def resolve(host: str, port: int) -> list[str]:
    return []


class Transport(httpx.AsyncBaseTransport):
    async def resolve(self, host: str, port: int) -> list[str]:
        return []


def test_a_function_or_class_of_a_module_goes_by_its_import_path() -> None:
    import json

    assert name_of(json.dumps) == "json:dumps"
    assert name_of(json.JSONDecoder) == "json.decoder:JSONDecoder"


def test_an_instance_a_closure_and_a_lambda_have_names_of_their_own() -> None:
    def closure(host: str, port: int) -> None: ...

    values = [Transport(), Transport(), closure, lambda: None, ssl.create_default_context(), object(), [], {}]

    names = [name_of(value) for value in values]

    assert len(set(names)) == len(values)
    assert names == [name_of(value) for value in values]


def test_a_method_is_the_same_at_each_look_and_another_owners_is_not() -> None:
    one, other = Transport(), Transport()

    assert name_of(one.resolve) == name_of(one.resolve)
    assert name_of(one.resolve) != name_of(other.resolve)


def test_a_name_is_never_given_to_another_object() -> None:
    seen: set[str | None] = set()
    for _ in range(100):
        seen.add(name_of(Transport()))
        gc.collect(0)

    assert len(seen) == 100


def test_another_process_has_other_names_for_its_objects() -> None:
    script = "from a2a_discovery._http.fingerprint import name_of; print(name_of(object()))"
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, check=True) for _ in range(2)]

    assert runs[0].stdout != runs[1].stdout


def test_a_function_of_a_program_has_a_name_of_its_own_since_each_program_is_main() -> None:
    script = "from a2a_discovery._http.fingerprint import name_of\ndef resolve(): ...\nprint(name_of(resolve))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert "__main__" not in done.stdout


def test_a_context_made_from_a_ca_file_goes_by_the_name_it_was_given() -> None:
    one, other = ssl.create_default_context(), ssl.create_default_context()
    call_it(one, "ca:sha256:abc")
    call_it(other, "ca:sha256:abc")

    assert fingerprint(NetworkPolicy(ssl_context=one)) == fingerprint(NetworkPolicy(ssl_context=other))


def test_a_proxy_goes_by_its_url_without_credentials() -> None:
    def through(proxy: str) -> str:
        return fingerprint(NetworkPolicy(proxy=proxy))

    assert through("http://ann:one@proxy.example:3128") == through("http://bob:two@proxy.example:3128")
    assert through("http://proxy.example:3128") != through("http://other.example:3128")
    assert "one" not in through("http://ann:one@proxy.example:3128")


def test_every_part_of_the_channel_counts_and_the_rest_does_not() -> None:
    policies: list[dict[str, Any]] = [
        {},
        {"allow_http": True},
        {"allow_private": True},
        {"cross_site_redirects": True},
        {"loopback": True},
        {"proxy": "http://proxy.example"},
        {"resolve": resolve},
        {"ssl_context": ssl.create_default_context()},
    ]
    policy = NetworkPolicy(ssl_context=ssl.create_default_context())

    assert len({fingerprint(NetworkPolicy(**options)) for options in policies}) == len(policies)
    assert fingerprint(NetworkPolicy(timeout=1.0, max_redirects=1)) == fingerprint(NetworkPolicy())
    assert fingerprint(policy) == fingerprint(policy)
