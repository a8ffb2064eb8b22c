"""Finds the address of the client behind trusted reverse proxies."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
# Longer than any real chain of proxies; a client may send as many invented ones as fit into a header.
HOPS_MAX = 32


def parse_networks(text: str) -> tuple[Network, ...]:
    """Return the networks of a comma-separated list of addresses and networks; raise `ValueError` for other entries."""
    return tuple(ip_network(entry.strip()) for entry in text.split(",") if entry.strip())


def parse_address(text: str) -> Address | None:
    """Return the address in an entry that a proxy wrote, perhaps with a port; None if it is not an address.

    An IPv4-mapped IPv6 address becomes IPv4, and the zone of a link-local address is omitted.
    """
    text = text.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """Any client can send `X-Forwarded-For`, so only the entries that trusted proxies added are believed."""

    networks: tuple[Network, ...] = ()

    def trusts(self, peer: str) -> bool:
        """Return whether the peer of a connection is a trusted proxy."""
        address = parse_address(peer) if self.networks else None
        return address is not None and self._has(address)

    def client(self, peer: str, forwarded_for: str) -> str:
        """Return the address of the client.

        This is the peer or, when the peer is a trusted proxy, the right-most address in `X-Forwarded-For` that is not a
        trusted proxy. Entries to the left of one that is not an address are not believed.
        """
        address = parse_address(peer)
        if address is None:
            return peer
        for entry in reversed(forwarded_for.rsplit(",", HOPS_MAX)):
            hop = parse_address(entry) if self._has(address) else None
            if hop is None:
                break
            address = hop
        return str(address)

    def _has(self, address: Address) -> bool:
        return any(address in network for network in self.networks)
