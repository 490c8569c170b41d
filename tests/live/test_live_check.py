"""Checking real servers: what is known of each SDK's server is what is found."""

from __future__ import annotations

import json
import logging

import pytest
from typer.testing import CliRunner

from a2a_discovery._cli.app import app


@pytest.fixture(autouse=True)
def logger():
    """The library's logger, as it was."""
    log = logging.getLogger("a2a_discovery")
    handlers, level = log.handlers[:], log.level
    yield
    log.handlers[:] = handlers
    log.setLevel(level)


@pytest.fixture
def check(certificates):
    """Codes and verdicts of ``a2a-discover check`` for a URL."""

    def check(url):
        result = CliRunner().invoke(app, ["check", "--json", "--local", "--ca", str(certificates.authority), url])
        [one] = json.loads(result.stdout)["results"]
        return {each["code"] for each in one["findings"]}, [each["verdict"] for each in one["answers"]]

    return check


def test_the_python_server_lets_strangers_have_the_extended_card_unless_somebody_stands_before_it(python_peer, check):
    assert check(python_peer["plain"]) == (
        {"extended-open", "unsigned-security", "no-max-age"},
        ["good", "good", "good", "fair", "bad"],
    )
    assert check(python_peer["guarded"])[0] == {"unsigned-security", "no-max-age"}
    assert check(python_peer["tenant"])[0] == {"unsigned-security", "no-max-age"}


def test_the_python_servers_etag_leaves_the_signatures_out(python_peer, check):
    assert "etag-blind" in check(python_peer["growing"])[0]
    assert "etag-blind" not in check(python_peer["max-age"])[0]


def test_a_hybrid_of_the_python_server_is_told_to_be_one(python_peer, check):
    found, verdicts = check(python_peer["hybrid"])

    assert {"legacy-member", "old-path-missing"} <= found
    assert verdicts[:3] == ["good", "good", "good"]


def test_the_javascript_server_serves_its_objects_in_memory_and_gives_strangers_the_public_card(js_peer, check):
    found, _ = check(js_peer["unsigned"])

    assert found == {"case-wrapper", "unsigned-security", "extended-public"}


def test_the_javascript_server_signs_anew_for_each_request(js_peer, check):
    assert "etag-unstable" in check(js_peer["signed-open"])[0]
    assert "etag-unstable" not in check(js_peer["unsigned"])[0]


def test_the_javascript_server_names_the_version_in_vary(js_peer, check):
    found, _ = check(js_peer["compat"])

    assert not found & {"vary-missing", "version-refused", "endpoint-not-a2a", "extended-open"}


def test_no_caching_is_found(js_peer, check):
    assert "not-cacheable" in check(js_peer["no-cache"])[0]
