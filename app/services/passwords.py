"""Passwords: argon2id, a bounded number at once, and the same time for an account that does not exist."""

from __future__ import annotations

import threading

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from app.errors import Invalid

MINIMUM, MAXIMUM = 10, 1000
# Each takes 64 MiB while it runs: a flood of sign-ins must not take the memory of the whole process.
AT_ONCE = 4


class Passwords:
    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._slots = threading.BoundedSemaphore(AT_ONCE)
        self._nobodys: str | None = None

    def hash(self, password: str) -> str:
        """What is stored; `Invalid` for a password that is too short or too long."""
        if not MINIMUM <= len(password) <= MAXIMUM:
            raise Invalid(f"password: Use {MINIMUM} to {MAXIMUM} characters.")
        with self._slots:
            return self._hasher.hash(password)

    def matches(self, password: str, stored: str | None) -> bool:
        """Whether it is the password of `stored`; None, for no account, takes as long and never matches."""
        if stored is None and self._nobodys is None:
            self._nobodys = self.hash("no account has it")
        with self._slots:
            try:
                return self._hasher.verify(stored or self._nobodys or "", password) and stored is not None
            except (VerificationError, InvalidHashError):
                return False
