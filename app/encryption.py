"""Random tokens and their digests, and encryption with keys that are derived from `REPRISE_SECRET_KEY`."""

from __future__ import annotations

import base64
import hmac
import secrets
from hashlib import sha256

from cryptography.exceptions import InvalidTag
from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from app.errors import Invalid, Unavailable

_SALT_BYTES = 28
_NONCE_BYTES = 12
NO_KEY = "Set REPRISE_SECRET_KEY: a project that masks needs it, because its unfinished work is encrypted."


def new_token() -> str:
    """Return 43 URL-safe characters with 256 random bits."""
    return secrets.token_urlsafe(32)


def digest(token: str) -> bytes:
    """Return the SHA-256 of a token, which needs no salt and no slow hash because it has 256 random bits."""
    return sha256(token.encode(errors="surrogatepass")).digest()


class Undecryptable(Invalid):
    """The content was encrypted with another key, or was changed afterwards."""


def _derived_key(secret_key: str, purpose: bytes) -> bytes:
    """Return a key of 32 bytes for a purpose; `secret_key` may be any text."""
    return sha256(purpose + b":" + secret_key.encode()).digest()


class ContentCipher:
    """AES-256-GCM for content in work, such as a run's question until the run has ended.

    The object is true if there is a key; without a key `encrypt` and `decrypt` raise `Unavailable`.
    """

    def __init__(self, secret_key: str) -> None:
        self._key = _derived_key(secret_key, b"sealed") if secret_key else b""

    def __bool__(self) -> bool:
        return bool(self._key)

    def encrypt(self, content: bytes) -> bytes:
        """Return 28 random bytes and the ciphertext, which is 16 bytes longer than the content."""
        salt = secrets.token_bytes(_SALT_BYTES)
        return salt + self._cipher(salt).encrypt(salt[:_NONCE_BYTES], content, None)

    def decrypt(self, encrypted: bytes) -> bytes:
        """Return the content; raise `Undecryptable` if it was encrypted with another key, or was changed."""
        salt = encrypted[:_SALT_BYTES]
        try:
            return self._cipher(salt).decrypt(salt[:_NONCE_BYTES], encrypted[_SALT_BYTES:], None)
        except (InvalidTag, ValueError):
            raise Undecryptable("Content can't be decrypted: REPRISE_SECRET_KEY changed, or it is damaged.") from None

    def _cipher(self, salt: bytes) -> AESGCM:
        if not self._key:
            raise Unavailable(NO_KEY)
        # Each message has its own key, because random nonces of 12 bytes may repeat, and must not under one key.
        return AESGCM(hmac.digest(self._key, salt, "sha256"))


class CredentialCipher:
    """Fernet for the stored keys of vendors; without a secret key both methods raise `Invalid`."""

    def __init__(self, secret_key: str) -> None:
        self._key = base64.urlsafe_b64encode(_derived_key(secret_key, b"credentials")) if secret_key else b""

    def encrypt(self, text: str) -> str:
        return self._fernet().encrypt(text.encode()).decode()

    def decrypt(self, encrypted: str) -> str:
        """Return the text; raise `Undecryptable` if it was encrypted with another key, or was changed."""
        try:
            return self._fernet().decrypt(encrypted.encode()).decode()
        except InvalidToken:
            raise Undecryptable("The credential can't be decrypted: REPRISE_SECRET_KEY changed.") from None

    def _fernet(self) -> Fernet:
        if not self._key:
            raise Invalid("Set REPRISE_SECRET_KEY: without it no credential can be stored or read.")
        return Fernet(self._key)
