"""Password hashes: argon2id, a bounded number at once, and the same time for an account that does not exist."""

from __future__ import annotations

import base64
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from app.errors import Invalid, Unavailable

MINIMUM, MAXIMUM = 10, 1000
# Each hash takes 64 MiB and all the processor time it can get: other requests must have room beside them.
CONCURRENT = 2
# How many may wait, for seconds; half of them from unknown origins.
WAITING = 16


class Passwords:
    """Hashes and compares passwords. One more than can be done soon is refused (`Unavailable`)."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._slots = threading.BoundedSemaphore(CONCURRENT)
        self._lock = threading.Lock()
        self._inside = 0
        self._unmatched = _unmatched(self._hasher)

    def hash(self, password: str) -> str:
        """The hash to store; `Invalid` for a password that is too short or too long."""
        if not MINIMUM <= len(password) <= MAXIMUM:
            raise Invalid(f"password: Use {MINIMUM} to {MAXIMUM} characters.")
        with self._slot(CONCURRENT + WAITING):
            return self._hasher.hash(password)

    def matches(self, password: str, stored: str | None, *, usual: bool = False) -> bool:
        """True if `stored` is a hash of the password; None, for no account, takes as long and never matches.

        `usual` marks a try from a known origin of the account: others can't occupy all places in the queue.
        """
        with self._slot(CONCURRENT + (WAITING if usual else WAITING // 2)):
            try:
                return self._hasher.verify(stored or self._unmatched, password) and stored is not None
            except (VerificationError, InvalidHashError):
                return False

    @contextmanager
    def _slot(self, limit: int) -> Iterator[None]:
        with self._lock:
            if self._inside >= limit:
                raise Unavailable("Too many people sign in at this moment; try again in a few seconds.")
            self._inside += 1
        try:
            with self._slots:
                yield
        finally:
            with self._lock:
                self._inside -= 1


def _unmatched(hasher: PasswordHasher) -> str:
    """A hash that takes as long to compare with as any other, made without hashing."""
    salt, digest = (
        base64.b64encode(os.urandom(length)).decode().rstrip("=") for length in (hasher.salt_len, hasher.hash_len)
    )
    cost = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
    return f"$argon2id$v=19${cost}${salt}${digest}"
