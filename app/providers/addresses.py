"""Refuses base URLs that lead to addresses where a machine tells its own secrets, such as those of cloud metadata.

Loopback and private addresses stay open, since self-hosted models are served there.
"""

from __future__ import annotations

import asyncio
import socket
import unicodedata
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

import httpcore

from app.providers.failures import ProviderFailure

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[Iterable[str]]]

FORBIDDEN = "a link-local, metadata, unspecified or multicast address, which is never called"
_NETWORKS = tuple(
    ip_network(network)
    for network in (
        *("0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32"),
        *("::/128", "fe80::/10", "fec0::/10", "ff00::/8"),
        # Metadata of Alibaba, Azure, Oracle; of AWS and Google over IPv6.
        *("100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::254/128"),
    )
)
_NAMES = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}
)
# Networks of IPv6 that embed IPv4 addresses, with the first of the four bytes that hold one.
_EMBEDDING = {
    ip_network("::ffff:0:0/96"): 12,
    ip_network("::/96"): 12,
    ip_network("64:ff9b::/96"): 12,
    ip_network("64:ff9b:1::/48"): 12,
    ip_network("2002::/16"): 2,
}


def is_forbidden_host(host: str) -> bool:
    """Tell if a URL's host names a forbidden address, in any spelling that a resolver or a browser takes.

    Other names are checked when a connection is made, by the addresses that they resolve to.
    """
    name = unicodedata.normalize("NFKC", host).replace("\N{IDEOGRAPHIC FULL STOP}", ".").casefold().strip("[]")
    name = name.partition("%")[0].rstrip(".")
    return name in _NAMES or any(address in network for address in _addresses(name) for network in _NETWORKS)


class GuardedBackend(httpcore.AnyIOBackend):
    """Never connects to a forbidden address: checks what the name resolves to, then the peer that was connected.

    A name may resolve differently in between; nothing is sent before the second check.
    """

    def __init__(self, resolve: Resolve | None = None) -> None:
        self._resolve = resolve or _resolved

    async def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        for address in await self._resolve(host, port):
            _refuse(address)
        stream = await super().connect_tcp(host, port, *args, **options)
        try:
            _refuse(stream.get_extra_info("server_addr")[0])
        except ProviderFailure:
            await stream.aclose()
            raise
        return stream


def _refuse(address: str) -> None:
    if is_forbidden_host(address):
        raise ProviderFailure(f"The base URL leads to {FORBIDDEN}.")


async def _resolved(host: str, port: int) -> list[str]:
    """Return no address for a name that can't be resolved: the attempt to connect says why."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(address[0]) for *_, address in found]


def _addresses(name: str) -> list[Address]:
    """Return the address that a name spells, if it spells one, and those embedded in it."""
    with suppress(ValueError):
        address = ip_address(name)
        # `::` and `::1` lie in ::/96, but embed nothing.
        networks = _EMBEDDING.items() if int(address) > 1 else ()
        embedded = [address.packed[first : first + 4] for network, first in networks if address in network]
        return [address, *map(IPv4Address, embedded)]
    with suppress(OSError, UnicodeError):
        # Decimal, octal, hexadecimal, and fewer than four parts.
        return [IPv4Address(socket.inet_aton(name))]
    return []
