"""Checks the addresses that people enter, and connects to the allowed ones alone.

Addresses of metadata services, which return a machine's credentials, are never called. Private addresses are the
caller's decision: models may be served there, but webhooks must not lead there.
"""

from __future__ import annotations

import asyncio
import socket
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

import httpcore

from app.errors import Invalid
from app.proxies import Address, Network

Resolve = Callable[[str, int], Awaitable[Iterable[str]]]
Refuse = Callable[[str], None]
"""Takes a host, or an address that it resolves to; raises an error if it must not be called."""

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
    name = _folded(host)
    return name in _NAMES or any(address in network for address in _addresses(name) for network in _NETWORKS)


def is_private_host(host: str, allowed: Sequence[Network] = ()) -> bool:
    """Tell if a URL's host names an address, in any spelling, that is neither public nor in an allowed network.

    An address of IPv6 that embeds a private one of IPv4 is private.
    """
    return any(
        not address.is_global and not any(address in network for network in allowed)
        for address in _addresses(_folded(host))
    )


def check_address(field: str, url: str, *, longest: int) -> str:
    """Return the host of a URL; `Invalid` names the field for one that can't be called or may never be."""
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        whole = False
    if not whole or not url.isprintable() or " " in url or "\\" in url:
        raise Invalid(f"{field}: Must be a whole address that begins with https:// or http://.")
    host = parts.hostname or ""
    if is_forbidden_host(host) or "%" in parts.netloc:
        raise Invalid(f"{field}: Must not name {FORBIDDEN}.")
    if "@" in parts.netloc:
        raise Invalid(f"{field}: Must have no user or password: it is shown to those who may change it.")
    if len(url) > longest:
        raise Invalid(f"{field}: Longer than {longest} characters.")
    return host


def allowed_addresses(found: Iterable[str], refuse: Refuse) -> list[str]:
    """Return the addresses of a host, in the order in which to try them, once `refuse` has taken each of them."""
    addresses = list(found)
    for address in addresses:
        refuse(address)
    # IPv4 first: a connection over IPv6 that leads nowhere often ends only with the timeout.
    return sorted(addresses, key=lambda one: ":" in one)


class GuardedBackend(httpcore.AnyIOBackend):
    """Connects to no address that `refuse` raises an error for.

    A name is resolved once. All of its addresses are checked, and the connection is made to one of these.
    """

    def __init__(self, refuse: Refuse, resolve: Resolve | None = None) -> None:
        self._refuse = refuse
        self._resolve = resolve or _resolved

    async def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        failed: Exception = httpcore.ConnectError(f"{host} has no address.")
        for address in allowed_addresses(await self._resolve(host, port), self._refuse):
            try:
                return await super().connect_tcp(address, port, *args, **options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed


async def _resolved(host: str, port: int) -> list[str]:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(str(error)) from error
    return [str(address[0]) for *_, address in found]


def _folded(host: str) -> str:
    name = unicodedata.normalize("NFKC", host).replace("\N{IDEOGRAPHIC FULL STOP}", ".").casefold().strip("[]")
    return name.partition("%")[0].rstrip(".")


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
