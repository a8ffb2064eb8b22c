"""Checks the addresses that people enter, and connects only to allowed ones.

Metadata services, which return a machine's credentials, are never called. Private addresses are the caller's decision:
they are allowed for models, but not for webhooks.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

import httpcore

from app.errors import Invalid
from app.network.proxies import Address, Network
from app.network.resolving import lookup
from app.values.unicode import nfkc

Resolve = Callable[[str, int], Awaitable[Iterable[str]]]
Refuse = Callable[[str], None]
"""Raises an error for a host, or an address that it resolves to, which must not be called."""

CONNECTION_BYTES = 256 * 1024
"""The most bytes that are read of a connection by `GuardedBackend`: interim answers, the head, and the body."""
FORBIDDEN = "a link-local, metadata, unspecified or multicast address, which is never called"
_FORBIDDEN_NETWORKS = tuple(
    ip_network(network)
    for network in (
        *("0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "255.255.255.255/32"),
        *("::/128", "fe80::/10", "fec0::/10", "ff00::/8"),
        # Metadata of Alibaba, Azure, Oracle; of AWS and Google over IPv6.
        *("100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::254/128"),
    )
)
_FORBIDDEN_NAMES = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}
)
# Networks that are not public: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890), and multicast.
# Python's lists differ between its versions. Anycast addresses in these networks also count as not public: neither
# models nor webhooks are served there.
SPECIAL = tuple(
    ip_network(network)
    for network in (
        *("0.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"),
        "100.64.0.0/10",  # shared by carriers, RFC 6598
        "192.0.0.0/24",  # protocol assignments, RFC 6890
        *("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"),  # documentation, RFC 5737
        *("192.31.196.0/24", "192.175.48.0/24"),  # AS112, RFC 7534 and 7535
        "192.52.193.0/24",  # AMT, RFC 7450
        "192.88.99.0/24",  # relays of 6to4, RFC 7526
        "198.18.0.0/15",  # benchmarks, RFC 2544
        *("224.0.0.0/4", "240.0.0.0/4"),  # multicast and reserved
        # IANA assigns only 2000::/3 (RFC 3513). The rest includes all other special networks: loopback, `::`,
        # IPv4-mapped and IPv4-translated, 100::/64, 5f00::/16, fc00::/7, fe80::/10, fec0::/10, ff00::/8.
        *("::/3", "4000::/2", "8000::/1"),
        "2001::/23",  # protocol assignments, Teredo among them, RFC 2928
        *("2001:db8::/32", "3fff::/20"),  # documentation, RFC 3849 and 9637
        "2002::/16",  # 6to4, RFC 3056
        "2620:4f:8000::/48",  # AS112, RFC 7534
    )
)
# The prefixes of NAT64 (RFC 6052). An address with the first one is public if the IPv4 address in it is public.
_NAT64, _LOCAL_NAT64 = ip_network("64:ff9b::/96"), ip_network("64:ff9b:1::/48")
_LAST = (12, 13, 14, 15)
# IPv6 networks that embed IPv4 addresses, with the positions of the four bytes.
EMBEDDING = (
    (ip_network("::ffff:0:0/96"), _LAST),  # IPv4-mapped, RFC 4291
    (ip_network("::ffff:0:0:0/96"), _LAST),  # IPv4-translated, RFC 2765
    (ip_network("::/96"), _LAST),  # IPv4-compatible, RFC 4291
    (_NAT64, _LAST),
    # NAT64 with a prefix of an operator (RFC 8215), which may have 48, 56, 64 or 96 bits (RFC 6052).
    *((_LOCAL_NAT64, places) for places in ((6, 7, 9, 10), (7, 9, 10, 11), (9, 10, 11, 12), _LAST)),
    (ip_network("2002::/16"), (2, 3, 4, 5)),  # 6to4, RFC 3056
)


def is_forbidden_host(host: str) -> bool:
    """Return whether a URL's host is a forbidden address, in any spelling that a resolver or a browser accepts.

    Names are checked when a connection is made, by the addresses that they resolve to.
    """
    name = _folded(host)
    return name in _FORBIDDEN_NAMES or any(
        address in network for address in _addresses(name) for network in _FORBIDDEN_NETWORKS
    )


def is_private_host(host: str, allowed: Sequence[Network] = ()) -> bool:
    """Return whether a URL's host is an address, in any spelling, that is neither public nor in an allowed network.

    An IPv6 address that embeds a private IPv4 address is private.
    """
    return any(
        not _is_public(address) and not any(address in network for network in allowed)
        for address in _addresses(_folded(host))
    )


def _is_public(address: Address) -> bool:
    return address in _NAT64 or not any(address in network for network in SPECIAL)


def check_address(field: str, url: str, *, longest: int) -> str:
    """Return the host of a URL; raise `Invalid`, naming the field, if it can't or must not be called."""
    if len(url) > longest:
        raise Invalid(f"{field}: Longer than {longest} characters.")
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        is_whole = False
    if not is_whole or not url.isprintable() or " " in url or "\\" in url:
        raise Invalid(f"{field}: Must be a whole address that begins with https:// or http://.")
    host = parts.hostname or ""
    if is_forbidden_host(host) or "%" in parts.netloc:
        raise Invalid(f"{field}: Must not name {FORBIDDEN}.")
    if "@" in parts.netloc:
        raise Invalid(f"{field}: Must have no user or password: it is shown to those who may change it.")
    return host


def allowed_addresses(resolved: Iterable[str], refuse: Refuse) -> list[str]:
    """Return the addresses of a host, in the order in which to try them, after `refuse` has accepted all of them."""
    addresses = list(resolved)
    for address in addresses:
        refuse(address)
    # IPv4 first: an IPv6 connection that leads nowhere often ends only with the time-out.
    return sorted(addresses, key=lambda address: ":" in address)


class GuardedBackend(httpcore.AnyIOBackend):
    """Connects only to addresses that `refuse` accepts, and reads at most `CONNECTION_BYTES` of each connection.

    A name is resolved once: all of its addresses are checked, and the connection is made to one of these.
    """

    def __init__(self, refuse: Refuse, resolve: Resolve | None = None) -> None:
        self._refuse = refuse
        self._resolve = resolve or _resolved

    async def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        failed: Exception = httpcore.ConnectError(f"{host} has no address.")
        for address in allowed_addresses(await self._resolve(host, port), self._refuse):
            try:
                return BoundedStream(await super().connect_tcp(address, port, *args, **options))
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed


class BoundedStream(httpcore.AsyncNetworkStream):
    """A stream that fails after `CONNECTION_BYTES`: a server may send interim answers (1xx) without end."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream, self._left = stream, CONNECTION_BYTES

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        read = await self._stream.read(max_bytes, timeout)
        self._left -= len(read)
        if self._left < 0:
            raise httpcore.ReadError("The server sent too many bytes.")
        return read

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        return BoundedStream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


async def _resolved(host: str, port: int) -> list[str]:
    try:
        return await asyncio.wrap_future(lookup(host, port))
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(str(error)) from error


def _folded(host: str) -> str:
    """Return a host in the spelling that is compared: in lower case, without brackets, zone and last dot."""
    name = nfkc(host).replace("\N{IDEOGRAPHIC FULL STOP}", ".").casefold().strip("[]")
    return name.partition("%")[0].rstrip(".")


def _addresses(name: str) -> list[Address]:
    """Return the address that a name spells, if any, and the IPv4 addresses that are embedded in it."""
    with suppress(ValueError):
        address = ip_address(name)
        return [address, *_embedded(address)]
    with suppress(OSError, UnicodeError):
        # Decimal, octal, hexadecimal, and fewer than four parts.
        return [IPv4Address(socket.inet_aton(name))]
    return []


def _embedded(address: Address) -> list[IPv4Address]:
    """Return the IPv4 addresses that an address may embed."""
    # `::` and `::1` are in ::/96, but embed no address.
    if int(address) <= 1:
        return []
    embedded = [
        (network, places, IPv4Address(bytes(address.packed[place] for place in places)))
        for network, places in EMBEDDING
        if address in network
    ]
    # The length of an operator's prefix is unknown. At the positions of the wrong lengths there are mostly zeros, so an
    # address that begins with 0 is ignored there.
    return [ipv4 for network, places, ipv4 in embedded if network != _LOCAL_NAT64 or places == _LAST or ipv4.packed[0]]
