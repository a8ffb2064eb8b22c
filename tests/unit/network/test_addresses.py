"""Addresses that no base URL may lead to, in every spelling, when it is given and when a connection is made."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_network

import httpx
import pytest

from app.network.addresses import EMBEDDING, SPECIAL, GuardedBackend, is_forbidden_host, is_private_host
from app.network.proxies import parse_networks
from app.providers.failures import ProviderFailure
from app.providers.http_client import refuse
from tests.fakes.upstream import Upstream
from tests.support.coroutines import run_coroutine

SPELLINGS = [
    "169.254.169.254", "169.254.1.1", "169.254.169.254.", "2852039166", "0xA9FEA9FE", "0xa9.0xfe.0xa9.0xfe",
    "0251.0376.0251.0376", "025177524776", "169.254.43518", "169.16689662", "[::ffff:169.254.169.254]",
    "[::ffff:a9fe:a9fe]", "[::169.254.169.254]", "[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::1]", "[fe80::1]",
    "[fe80::1%eth0]", "[fd00:ec2::254]", "[fd00:0ec2:0:0:0:0:0:254]", "100.100.100.200", "168.63.129.16",
    "metadata.google.internal", "METADATA.google.internal", "metadata.google.internal.", "metadata.goog", "0.0.0.0",
    "0", "[::]", "224.0.0.1", "[ff02::1]", "255.255.255.255",
    "\uff11\uff16\uff19.\uff12\uff15\uff14.\uff11\uff16\uff19.\uff12\uff15\uff14",
    "169\u3002254\u3002169\u3002254", "\u2460\u2465\u2468.254.169.254",
]  # fmt: skip
OPEN = [
    "127.0.0.1", "localhost", "[::1]", "10.0.0.8", "172.16.3.4", "192.168.1.20", "[fd12::8]", "100.64.0.1",
    "api.openai.com", "gpu.internal", "2130706433", "metadata.example.com",
]  # fmt: skip


@pytest.mark.parametrize("host", SPELLINGS)
def test_a_forbidden_address_is_known_in_every_spelling(host):
    assert is_forbidden_host(host)


@pytest.mark.parametrize("host", OPEN)
def test_addresses_of_ones_own_models_stay_open(host):
    assert not is_forbidden_host(host)


PRIVATE = [
    "127.0.0.1", "127.1", "0x7f000001", "[::1]", "10.0.0.8", "172.16.3.4", "192.168.1.20", "[fd12::8]", "100.64.0.1",
    "[::ffff:10.0.0.8]", "[64:ff9b::10.0.0.8]", "[64:ff9b::7f00:1]", "[2002:a00:8::1]", "169.254.1.1", "192.0.2.1",
]  # fmt: skip


@pytest.mark.parametrize("host", PRIVATE)
def test_a_private_address_is_known_in_every_spelling(host):
    assert is_private_host(host)


# The two IANA Special-Purpose Address Registries as of 2025-10, but 64:ff9b::/96, and what IANA keeps for multicast,
# site-local, IPv4-compatible, IPv4-translated and future use.
REGISTRIES = [
    "0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32",
    "192.0.0.171/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
    "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
    "255.255.255.255/32",
    "::1/128", "::/128", "::ffff:0:0/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001::/32",
    "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48",
    "2001:10::/28", "2001:20::/28", "2001:30::/28", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
    "5f00::/16", "fc00::/7", "fe80::/10",
    "fec0::/10", "ff00::/8", "::/96", "::ffff:0:0:0/96", "200::/7", "4000::/3", "e000::/4",
]  # fmt: skip


@pytest.mark.parametrize("network", REGISTRIES)
def test_no_network_with_a_special_purpose_is_public(network):
    network = ip_network(network)
    for address in (network[0], network[network.num_addresses // 2], network[-1]):
        assert is_private_host(str(address))


def embedded(prefix, places, ipv4):
    packed = bytearray(prefix[0].packed)
    for place, byte in zip(places, ipv4.packed, strict=True):
        packed[place] = byte
    return str(IPv6Address(bytes(packed)))


@pytest.mark.parametrize("network", [network for network in SPECIAL if isinstance(network, IPv4Network)])
@pytest.mark.parametrize(("prefix", "places"), EMBEDDING)
def test_an_address_that_embeds_a_special_one_is_not_public(prefix, places, network):
    assert is_private_host(embedded(prefix, places, network[1]))
    assert is_private_host(embedded(prefix, places, network[-1]))


@pytest.mark.parametrize("ipv4", ["169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "224.0.0.1"])
@pytest.mark.parametrize(("prefix", "places"), EMBEDDING)
def test_an_address_that_embeds_a_forbidden_one_is_forbidden(prefix, places, ipv4):
    assert is_forbidden_host(embedded(prefix, places, IPv4Address(ipv4)))


@pytest.mark.parametrize("host", ["[64:ff9b:1::10.0.0.8]", "[64:ff9b:1:2::10.0.0.8]"])
def test_a_model_behind_an_operators_nat64_stays_open(host):
    assert not is_forbidden_host(host)


@pytest.mark.parametrize(
    "host",
    ["8.8.8.8", "192.0.1.1", "192.88.98.1", "100.128.0.1", "198.20.0.1", "[2001:200::1]", "[2a00::1]", "[3ffe::1]",
     "[64:ff9b::8.8.8.8]"],
)  # fmt: skip
def test_an_address_next_to_a_special_network_is_public(host):
    assert not is_private_host(host)


@pytest.mark.parametrize("host", ["93.184.215.14", "[2606:2800:21f:cb07:6820:80da:af6b:8b2c]", "example.com"])
def test_public_addresses_and_names_are_not_private(host):
    assert not is_private_host(host)


def test_an_allowed_network_is_not_private_and_its_neighbours_are():
    allowed = parse_networks("10.0.0.0/8, fd12::/16")
    assert [is_private_host(host, allowed) for host in ("10.0.0.8", "[fd12::8]", "192.168.1.20")] == [
        False,
        False,
        True,
    ]


def fetched(url, *resolved):
    """The status of a request, where every name resolves to these addresses."""

    async def resolve(_host, _port):
        return resolved

    async def fetch():
        transport = httpx.AsyncHTTPTransport()
        transport._pool._network_backend = GuardedBackend(refuse, resolve if resolved else None)
        async with httpx.AsyncClient(transport=transport) as client:
            return (await client.get(url, timeout=5)).status_code

    return run_coroutine(fetch())


@pytest.mark.parametrize(
    "resolved",
    [["169.254.169.254"], ["127.0.0.1", "169.254.169.254"], ["::ffff:169.254.169.254"], ["fe80::1%eth0"], ["0.0.0.0"]],
)
def test_a_name_that_resolves_there_is_refused_before_anything_is_connected(resolved):
    with Upstream() as upstream, pytest.raises(ProviderFailure, match="link-local, metadata"):
        fetched(upstream.url.replace("127.0.0.1", "localhost"), *resolved)
    assert upstream.connections == 0


@pytest.mark.parametrize("host", ["2852039166", "0xa9fea9fe", "[fe80::1]", "[::ffff:a9fe:a9fe]", "0.0.0.0"])
def test_a_spelling_that_was_stored_before_is_refused_when_it_is_called(host):
    with pytest.raises(ProviderFailure, match="link-local, metadata"):
        fetched(f"http://{host}:9/")


def test_a_name_is_resolved_once_and_its_checked_address_is_called():
    with Upstream() as upstream:
        assert fetched(upstream.url.replace("127.0.0.1", "rebinding.invalid") + "/script", "127.0.0.1") == 200


def test_an_address_that_refuses_the_connection_is_followed_by_the_next():
    with Upstream() as upstream:
        assert (
            fetched(upstream.url.replace("127.0.0.1", "two.invalid") + "/script", "127.0.0.2", "::1", "127.0.0.1")
            == 200
        )


def test_loopback_is_called():
    with Upstream() as upstream:
        assert fetched(f"{upstream.url}/script") == 200
