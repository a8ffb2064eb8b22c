"""One TLS context for the clients of a process: reading the certificates costs 20 to 40 ms of a processor."""

from __future__ import annotations

import ssl
from functools import cache

import httpx


@cache
def default() -> ssl.SSLContext:
    """Return what httpx makes by default, by `SSL_CERT_FILE` and `SSL_CERT_DIR` as they are at the first call."""
    return httpx.create_ssl_context()
