"""Passwords: argon2id, a bounded number at once, and the same time for an account that does not exist."""

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
# Each takes 64 MiB and all processors it can get while it runs: other requests must have room beside them.
AT_ONCE = 2
# How many may wait for their turn, which is seconds; half of them from where nobody signed in before.
WAITING = 16


class Passwords:
    """Hashes and compares passwords. One more than can be done soon is refused (`Unavailable`)."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._inside = 0
        self._nobodys = _unmatched(self._hasher)

    def hash(self, password: str) -> str:
        """What is stored; `Invalid` for a password that is too short or too long."""
        if not MINIMUM <= len(password) <= MAXIMUM:
            raise Invalid(f"password: Use {MINIMUM} to {MAXIMUM} characters.")
        with self._turn(AT_ONCE + WAITING):
            return self._hasher.hash(password)

    def matches(self, password: str, stored: str | None, *, usual: bool = False) -> bool:
        """Whether it is the password of `stored`; None, for no account, takes as long and never matches.

        `usual` is a try from where the account signed in before: strangers can't take all the places to wait.
        """
        with self._turn(AT_ONCE + (WAITING if usual else WAITING // 2)):
            try:
                return self._hasher.verify(stored or self._nobodys, password) and stored is not None
            except (VerificationError, InvalidHashError):
                return False

    @contextmanager
    def _turn(self, places: int) -> Iterator[None]:
        with self._lock:
            if self._inside >= places:
                raise Unavailable("Too many people sign in at this moment; try again in a few seconds.")
            self._inside += 1
        try:
            with self._turns:
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
