"""A network policy that cannot mean what it says is refused when it is made."""

import ssl

import pytest

from a2a_discovery.errors import UsageError
from a2a_discovery.policy import NetworkPolicy

UNCHECKED = ssl.create_default_context()
UNCHECKED.check_hostname = False


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"timeout": -1.0},
        {"timeout": float("nan")},
        {"timeout": "10"},
        {"timeout": None},
        {"timeout": True},
        {"max_redirects": -1},
        {"max_redirects": 1.5},
        {"allow_private": "false"},
        {"allow_http": 1},
        {"cross_site_redirects": None},
        {"resolve": "8.8.8.8"},
        {"ssl_context": True},
        {"ssl_context": "ca.pem"},
        {"ssl_context": UNCHECKED},
        {"proxy": "socks5://proxy.example:1080"},
        {"proxy": "proxy.example:3128"},
        {"proxy": "http://"},
        {"proxy": 3128},
    ],
    ids=str,
)
def test_a_policy_that_means_nothing_is_refused(options):
    with pytest.raises(UsageError) as caught:
        NetworkPolicy(**options)

    assert caught.value.code == "bad-config"


def test_a_proxys_password_is_in_no_error_and_no_repr():
    with pytest.raises(UsageError) as caught:
        NetworkPolicy(proxy="socks5://me:s3cret@proxy.example")

    assert "s3cret" not in f"{caught.value!r} {caught.value}"
    assert "s3cret" not in repr(NetworkPolicy(proxy="http://me:s3cret@proxy.example:3128"))


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 1, "max_redirects": 0},
        {"proxy": "http://10.0.0.1:3128"},
        {"proxy": "https://me:pw@proxy.corp.example"},
        {"ssl_context": ssl.create_default_context()},
    ],
    ids=str,
)
def test_these_are_fine(options):
    assert NetworkPolicy(**options) == NetworkPolicy(**options)
    assert NetworkPolicy.local(**options).loopback
