"""Which address is what, and which host is an address."""

import ipaddress

import pytest

from a2a_discovery._hosts import address_kind, ascii_host, is_loopback, literal

PUBLIC = ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "64:ff9b::101:101", "::ffff:8.8.8.8", "172.32.0.1", "11.0.0.1"]
LOOPBACK = ["127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1"]
PRIVATE = [
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "100.64.0.1",  # shared address space, RFC 6598
    "198.18.0.1",  # benchmarks, RFC 2544
    "192.0.2.1",  # documentation, RFC 5737
    "203.0.113.9",
    "fd00::1",
    "fc00::1",
    "2001:db8::1",
    "3fff::1",  # documentation, RFC 9637
    "::ffff:10.0.0.1",
    "64:ff9b::a00:1",  # NAT64 of 10.0.0.1
]
WILDCARD = ["0.0.0.0", "::", "::ffff:0.0.0.0"]
FORBIDDEN = [
    "169.254.169.254",
    "fe80::1",
    "fe80::a9fe:a9fe",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "fd00:ec2::254",  # AWS
    "fd00:ec2::23",  # AWS, credentials of a container
    "fd20:ce::254",  # Google
    "100.100.100.200",  # Alibaba
    "192.0.0.192",  # Oracle
    "168.63.129.16",  # Azure
    "224.0.0.1",
    "239.255.255.255",
    "ff02::1",
    "2002:7f00:1::",  # 6to4 of 127.0.0.1
    "2002:808:808::1",
    "192.88.99.1",  # 6to4 relays
    "2001:0:53aa:64c::1",  # Teredo
    "64:ff9b:1::1",
    "fec0::1",
    "::127.0.0.1",  # IPv4-compatible, RFC 4291 section 2.5.5.1
    "::ffff:0:127.0.0.1",  # IPv4-translated, RFC 2765
    "4000::1",
    "5f00::1",
    "240.0.0.1",
    "255.255.255.255",
    "0.1.2.3",
]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *((text, "public") for text in PUBLIC),
        *((text, "loopback") for text in LOOPBACK),
        *((text, "private") for text in PRIVATE),
        *((text, "wildcard") for text in WILDCARD),
        *((text, "forbidden") for text in FORBIDDEN),
    ],
)
def test_each_address_is_judged_by_how_far_it_reaches(text, kind):
    assert address_kind(ipaddress.ip_address(text)) == kind


@pytest.mark.parametrize(
    "host",
    [
        *(
            "127.0.0.1",
            "127.1",
            "127.0.1",
            "2130706433",
            "0x7f.1",
            "0x7f000001",
            "0177.0.0.1",
            "0177.1",
            "017700000001",
        ),
        *("0X7F.0.0.1", "127.0.0.1.", "127。0。0。1", "１２７.1", "127．0．0．1", "①27.0.0.1"),
    ],
)
def test_every_spelling_of_loopback_is_that_address(host):
    assert ascii_host(host) == "127.0.0.1"
    assert is_loopback(ascii_host(host))


@pytest.mark.parametrize(
    ("host", "ascii_form"),
    [
        ("Shop.Example", "shop.example"),
        ("shop.example.", "shop.example"),
        ("tienda-ñ.example", "xn--tienda--b0a.example"),
        ("TIENDA-Ñ.example", "xn--tienda--b0a.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("shop。example", "shop.example"),
        ("[::1]", "::1"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "localhost"),
        ("my_agent.example", "my_agent.example"),
    ],
)
def test_a_host_has_one_ascii_form(host, ascii_form):
    assert ascii_host(host) == ascii_form


@pytest.mark.parametrize(
    "host",
    [
        *("", ".", "..", "a..b", ".a", "-a.example", "a-.example", "a" * 64, "a." * 127 + "ab"),
        *("shop example", "shop%2eexample", "127.0.0.1%00.example", "shop\x00.example", "shop/x", "shop@x", "a:b"),
        *("127.0.0.08", "08.8.8.8", "256.1.1.1", "1.2.3.4.5", "4294967296", "9" * 60, "shop.123"),
        *("::1%lo", "fe80::1%25eth0", "::g", "[::1", "v1.fe80::1", "1:2:3:4:5:6:7:8:9"),
        *("ñ" * 64, "\u200d.example", "ñ" * 10_000),
    ],
)
def test_what_is_no_host_is_refused(host):
    with pytest.raises(ValueError, match="not a host name"):
        ascii_host(host)


@pytest.mark.parametrize("host", ["shop.example", "localhost", "a1", "1a.example", "0x7g", "127.0.0.1.example"])
def test_a_name_is_no_address(host):
    assert literal(host) is None
