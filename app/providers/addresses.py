"""Addresses that no base URL may lead to: those that tell a machine's own secrets to whoever asks from it.

Loopback and private addresses are where models of one's own are served, and stay open.
"""

from __future__ import annotations

import asyncio
import socket
import unicodedata
from collections.abc import Awaitable, Callable, Iterable
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
# IPv4 addresses stand in the last four bytes of these, those of 6to4 in the third to the sixth.
_EMBEDDING = tuple(ip_network(network) for network in ("::ffff:0:0/96", "::/96", "64:ff9b::/96", "64:ff9b:1::/48"))
_SIX_TO_FOUR = ip_network("2002::/16")


def is_forbidden_host(host: str) -> bool:
    """Whether a URL's host names such an address, in any spelling that a resolver or a browser takes.

    What another name resolves to is known when a connection is made.
    """
    name = unicodedata.normalize("NFKC", host).replace("\N{IDEOGRAPHIC FULL STOP}", ".").casefold().strip("[]")
    name = name.partition("%")[0].rstrip(".")
    address = _address(name)
    return name in _NAMES or (address is not None and is_forbidden(address))


def is_forbidden(address: Address) -> bool:
    return any(one in network for one in (address, *_embedded(address)) for network in _NETWORKS)


class GuardedBackend(httpcore.AnyIOBackend):
    """Connects nowhere forbidden: the name is resolved before, and the peer looked at after, the connection is made.

    Between the two a name may come to lead elsewhere; nothing is sent before the second look.
    """

    def __init__(self, resolve: Resolve | None = None) -> None:
        self._resolve = resolve or _resolved

    async def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        for found in await self._resolve(host, port):
            _refuse(found)
        stream = await super().connect_tcp(host, port, *args, **options)
        try:
            _refuse(stream.get_extra_info("server_addr")[0])
        except BaseException:
            await stream.aclose()
            raise
        return stream


def _refuse(found: str) -> None:
    if is_forbidden_host(found):
        raise ProviderFailure(f"The base URL leads to {FORBIDDEN}.")


async def _resolved(host: str, port: int) -> list[str]:
    """None for a name that can't be resolved: the attempt to connect says why."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(address[0]) for *_, address in found]


def _address(name: str) -> Address | None:
    try:
        return ip_address(name)
    except ValueError:
        pass
    try:
        # Decimal, octal, hexadecimal, and fewer than four parts.
        return IPv4Address(socket.inet_aton(name))
    except (OSError, UnicodeError):
        return None


def _embedded(address: Address) -> list[IPv4Address]:
    if isinstance(address, IPv4Address):
        return []
    if address in _SIX_TO_FOUR:
        return [IPv4Address(address.packed[2:6])]
    # Two addresses of IPv6 itself, of which the second is loopback.
    if int(address) < 2:
        return []
    return [IPv4Address(address.packed[12:])] if any(address in network for network in _EMBEDDING) else []
