"""Origins of sign-ins: addresses and browsers, and which of them an account signed in from before."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv6Address, ip_network

from sqlalchemy import Connection

from app.models import known_origins
from app.proxies import parse_address
from app.services.accounts.tokens import new_token
from app.timestamps import Now

REMEMBERED = timedelta(days=180)
ORIGINS_MAX = 20


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a try to sign in; `device` is the random token of a browser that signed in before, or ""."""

    address: str
    device: str = ""

    @property
    def network(self) -> str:
        """The part of the address that one customer of a provider has: an IPv4 address, or an IPv6 /64 network."""
        address = parse_address(self.address)
        if isinstance(address, IPv6Address):
            return str(ip_network((address, 64), strict=False))
        return str(address or self.address)

    def with_device(self) -> Origin:
        return self if self.device else Origin(self.address, new_token())


@dataclass(frozen=True, slots=True)
class Familiarity:
    """Parts of an origin from which an account signed in before."""

    network: bool = False
    device: bool = False

    @property
    def usual(self) -> bool:
        return self.network or self.device


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownOrigins:
    """Reads and stores origins in the caller's transaction.

    The digests are keyed, so that nobody can try addresses out; if the secret key changes, all origins are unknown.
    """

    now: Now
    secret_key: str

    def find(self, connection: Connection, *, email: str, origin: Origin) -> Familiarity:
        network, device = self._digests(email, origin)
        since = self.now() - REMEMBERED
        found = known_origins.find_known(connection, email=email, digests=(network, device), since=since)
        return Familiarity(network in found, bool(origin.device) and device in found)

    def remember(self, connection: Connection, *, user_id: int, email: str, origin: Origin) -> None:
        network, device = self._digests(email, origin)
        now = self.now()
        known_origins.remember(
            connection,
            user_id=user_id,
            digests=(network, device) if origin.device else (network,),
            now=now,
            since=now - REMEMBERED,
            most=ORIGINS_MAX,
        )

    def _digests(self, email: str, origin: Origin) -> tuple[bytes, bytes]:
        def digest(kind: str, value: str) -> bytes:
            named = "\0".join((kind, email, value)).encode(errors="surrogatepass")
            return hmac.new(b"origins:" + self.secret_key.encode(), named, hashlib.sha256).digest()

        return digest("network", origin.network), digest("device", origin.device)
