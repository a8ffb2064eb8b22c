"""Finds the address of the client behind reverse proxies that are trusted."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
# More proxies than any chain has; a client may send as many made-up ones as fit into a header.
HOPS_MAX = 32


def parse_networks(text: str) -> tuple[Network, ...]:
    """Return the networks in a comma-separated list of addresses and networks; `ValueError` names what is neither."""
    return tuple(ip_network(entry.strip()) for entry in text.split(",") if entry.strip())


def parse_address(text: str) -> Address | None:
    """Return an address as proxies write it, perhaps with a port; None for a name or anything else.

    An IPv4 address that was mapped into IPv6 is IPv4, and the zone of a link-local address is left out.
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
    """Everybody can write `X-Forwarded-For`, so only what trusted proxies added to it is believed."""

    networks: tuple[Network, ...] = ()

    def trusts(self, peer: str) -> bool:
        """Return whether the peer of a connection is a trusted proxy."""
        address = parse_address(peer) if self.networks else None
        return address is not None and self._has(address)

    def client(self, peer: str, forwarded_for: str) -> str:
        """Return the address of the client: the peer's or, when that is a trusted proxy, the right-most address of
        `X-Forwarded-For` that is none. What stands left of an entry that is no address is not believed.
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
