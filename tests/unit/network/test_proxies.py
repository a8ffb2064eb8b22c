"""The address of a request's caller, behind proxies that are trusted and others that are not."""

import pytest

from app.network.proxies import TrustedProxies, parse_address, parse_networks

PROXIES = TrustedProxies(parse_networks("10.0.0.0/8, 2001:db8:ffff::/48,127.0.0.1"))


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "client"),
    [
        ("203.0.113.7", "", "203.0.113.7"),
        ("203.0.113.7", "198.51.100.1", "203.0.113.7"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("::ffff:10.0.0.1", "::ffff:198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "198.51.100.1:54321", "198.51.100.1"),
        ("127.0.0.1", "[2001:db8::1]:443", "2001:db8::1"),
        ("127.0.0.1", '"[2001:DB8:0::1]"', "2001:db8::1"),
        ("2001:db8:ffff::5", "fe80::1%eth0", "fe80::1"),
        # The left part is whatever the client wrote.
        ("10.0.0.1", "1.1.1.1, 198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "1.1.1.1,198.51.100.1, 10.0.0.2 ,10.0.0.3", "198.51.100.1"),
        ("10.0.0.1", "10.9.9.9, 10.0.0.2", "10.9.9.9"),
        ("10.0.0.1", "unknown", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1, _hidden, 10.0.0.2", "10.0.0.2"),
        ("10.0.0.1", ",,", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.1, 1.2.3.4.5", "10.0.0.1"),
        ("10.0.0.1", "٣.1.1.1", "10.0.0.1"),
        ("", "198.51.100.1", ""),
    ],
)
def test_the_client_is_the_right_most_address_that_is_no_trusted_proxy(
    peer: str, forwarded_for: str, client: str
) -> None:
    assert PROXIES.client(peer, forwarded_for) == client


def test_a_chain_longer_than_any_is_not_followed_to_its_end() -> None:
    assert PROXIES.client("10.0.0.1", "198.51.100.1" + ",10.0.0.2" * 700) == "10.0.0.2"


def test_no_proxy_is_trusted_unless_it_is_named() -> None:
    assert not TrustedProxies().trusts("127.0.0.1")
    assert TrustedProxies().client("127.0.0.1", "198.51.100.1") == "127.0.0.1"
    assert PROXIES.trusts("::ffff:10.1.1.1")
    assert not PROXIES.trusts("11.0.0.1")


@pytest.mark.parametrize("text", ["", "localhost", "1.2.3", "1.2.3.4/8", "[", "::g", "1:2"])
def test_what_is_no_address_is_none(text: str) -> None:
    assert parse_address(text) is None


@pytest.mark.parametrize("text", ["localhost", "10.0.0.1/8", "10.0.0.0/33", "10.0.0.1;10.0.0.2"])
def test_a_network_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"10\.0\.0|localhost"):
        parse_networks(text)
