"""The servers in DATABASE_URL and REDIS_URL: one, or several for failover."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

Address = tuple[str, int]
"""A host and a port."""

MYSQL_PORT, SENTINEL_PORT = 3306, 26379
_MYSQL = re.compile(r"(?:mysql|mariadb)(?:\+\w+)?://", re.IGNORECASE)
_URL = re.compile(r"(?P<before>[^:/]+://(?:[^@/]*@)?)(?P<hosts>[^@/?]*)(?P<after>/.*)?", re.DOTALL)


def hosts_of(url: str, port: int) -> tuple[str, list[Address]]:
    """Return the URL with only its first host, and all hosts of `host:port,host:port`.

    `port` is the port of hosts without one. Raises `ValueError` for another form.
    """
    match = _URL.fullmatch(url)
    if match is None:
        raise ValueError("it is no URL")
    addresses = [_address(text, port) for text in match["hosts"].split(",")]
    return f"{match['before']}{match['hosts'].split(',')[0]}{match['after'] or ''}", addresses


def _address(text: str, port: int) -> Address:
    # IPv6 addresses are in brackets.
    match = re.fullmatch(r"(?:\[([^\[\]]+)\]|([^:\[\]]+))(?::(\d{1,5}))?", text)
    if match is None or not 0 < int(match[3] or port) < 1 << 16:
        raise ValueError("one of its hosts is neither host nor host:port")
    return match[1] or match[2], int(match[3] or port)


@dataclass(frozen=True, slots=True)
class Sentinels:
    """The Redis Sentinels of `redis+sentinel://user:password@host:26379,host:26379/service/0`.

    User and password are for Redis; `service` is the name by which the Sentinels know the primary.
    """

    addresses: list[Address]
    service: str
    database: int
    username: str | None
    password: str | None

    @classmethod
    def in_url(cls, url: str) -> Sentinels | None:
        """Return the Sentinels of a URL, None for the URL of a single Redis; raise `ValueError` without a service."""
        if not url.startswith("redis+sentinel://"):
            return None
        match = re.fullmatch(
            r"redis\+sentinel://(?:(?P<user>[^:@/]*):(?P<password>[^@/]*)@)?[^/]+/(?P<service>[^/]+)(?:/(?P<db>\d+))?",
            url,
        )
        if match is None:
            raise ValueError("it must be redis+sentinel://host:26379,host:26379/service/0")
        _, addresses = hosts_of(url, SENTINEL_PORT)
        credentials = [unquote(text) if text else None for text in match.group("user", "password")]
        return cls(addresses, unquote(match["service"]), int(match["db"] or 0), *credentials)


def database_url(text: str) -> str:
    """Return the text if it is a valid DATABASE_URL; raise `ValueError`, without its password, otherwise."""
    if not text.startswith("sqlite"):
        hosts_of(text, MYSQL_PORT)
        if not _MYSQL.match(text):
            raise ValueError("it must be mysql://user:password@host:3306/name")
    return text


def redis_url(text: str) -> str:
    """Return the text if it is a valid REDIS_URL; raise `ValueError`, without its password, otherwise."""
    Sentinels.in_url(text)
    return text
