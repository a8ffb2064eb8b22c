"""Seals what may be kept for a while and read by nobody: encrypted with `REPRISE_SECRET_KEY`, and not to be changed."""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from app.errors import Invalid, Unavailable

_SALT_BYTES = 28
_NONCE_BYTES = 12
NO_KEY = "Set REPRISE_SECRET_KEY: without it nothing can be masked, as what is in work can't be sealed."


class Seal:
    """AES-256-GCM. True when there is a key; without one `close` and `open` raise `Unavailable`."""

    def __init__(self, secret_key: str) -> None:
        self._key = sha256(b"sealed:" + secret_key.encode()).digest() if secret_key else b""

    def __bool__(self) -> bool:
        return bool(self._key)

    def close(self, content: bytes) -> bytes:
        """28 random bytes, then what they seal, 16 bytes longer than it was."""
        salt = secrets.token_bytes(_SALT_BYTES)
        return salt + self._cipher(salt).encrypt(salt[:_NONCE_BYTES], content, None)

    def open(self, sealed: bytes) -> bytes:
        """`Invalid` for what was sealed with another key, or changed since."""
        salt = sealed[:_SALT_BYTES]
        try:
            return self._cipher(salt).decrypt(salt[:_NONCE_BYTES], sealed[_SALT_BYTES:], None)
        except (InvalidTag, ValueError):
            raise Invalid("What was sealed can't be read: REPRISE_SECRET_KEY changed, or it is damaged.") from None

    def _cipher(self, salt: bytes) -> AESGCM:
        if not self._key:
            raise Unavailable(NO_KEY)
        # A key for each: random nonces of 12 bytes under one key must not be used for ever.
        return AESGCM(hmac.digest(self._key, salt, "sha256"))
