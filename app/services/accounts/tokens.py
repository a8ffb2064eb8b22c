"""Random tokens and keys: handed out once, stored as digests."""

from __future__ import annotations

import hashlib
import secrets


def new_token() -> str:
    """43 URL-safe characters, 256 random bits."""
    return secrets.token_urlsafe(32)


def digest(token: str) -> bytes:
    """SHA-256; 256 random bits need no salt and no slow hash."""
    return hashlib.sha256(token.encode(errors="surrogatepass")).digest()
