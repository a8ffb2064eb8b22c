"""Passwords: hashed with argon2id; each try is counted before any work is done for it."""

from __future__ import annotations

import base64
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from app.database.transactions import Database
from app.encryption import digest
from app.errors import Invalid, RateLimited, Unauthorized, Unavailable
from app.models import users
from app.models.users import User
from app.redis_store.rate import AttemptLimiter
from app.redis_store.shared_window import Allowance
from app.services.accounts.sign_in_attempts import Failure, Familiarity, KnownOrigins, SignInJournal, SignInOrigin

PASSWORD_MIN, PASSWORD_MAX = 10, 1000  # characters
# Each hash needs 64 MiB and a processor. The limit leaves room for other requests.
HASHES_AT_ONCE = 2
# Tries that may wait for some seconds; at most half of them from unknown origins.
WAITING_MAX = 16


class Passwords:
    """Hashes and compares passwords; raises `Unavailable` if too many are waiting."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._slots = threading.BoundedSemaphore(HASHES_AT_ONCE)
        self._lock = threading.Lock()
        self._inside = 0
        self._unmatched = self.unusable()

    def hash(self, password: str) -> str:
        """Return the hash to store; `Invalid` for a password that is too short or too long."""
        if not PASSWORD_MIN <= len(password) <= PASSWORD_MAX:
            raise Invalid(f"password: Use {PASSWORD_MIN} to {PASSWORD_MAX} characters.")
        with self._slot(HASHES_AT_ONCE + WAITING_MAX):
            return self._hasher.hash(password)

    def matches(self, password: str, stored: str | None, *, usual: bool = False) -> bool:
        """Return whether `stored` is a hash of the password; None, for no account, needs the same time and fails.

        `usual` marks a try from a known origin of the account: other tries can't fill the whole queue.
        """
        with self._slot(HASHES_AT_ONCE + (WAITING_MAX if usual else WAITING_MAX // 2)):
            try:
                return self._hasher.verify(stored or self._unmatched, password) and stored is not None
            except (VerificationError, InvalidHashError):
                return False

    def unusable(self) -> str:
        """Return a new hash that no known password has. It needs as much time to compare as any other, none to make."""
        hasher = self._hasher
        salt, digest = (
            base64.b64encode(os.urandom(length)).decode().rstrip("=") for length in (hasher.salt_len, hasher.hash_len)
        )
        cost = f"m={hasher.memory_cost},t={hasher.time_cost},p={hasher.parallelism}"
        return f"$argon2id$v=19${cost}${salt}${digest}"

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


class WrongPassword(Unauthorized):
    """The password does not match, or there is no such account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongPasswordLimits:
    """Limits of wrong passwords per minute.

    `account_and_origin` applies to every try. `origin` counts all accounts from one address, `account` counts one
    account from all addresses. So that attackers can't lock people out, `account` does not apply to addresses from
    which the account has signed in before. In a browser that it has signed in with, which is counted separately,
    `origin` does not apply either.
    """

    account_and_origin: AttemptLimiter
    origin: AttemptLimiter
    account: AttemptLimiter

    def of(self, account: str, origin: SignInOrigin, known: Familiarity) -> list[tuple[AttemptLimiter, str]]:
        """Return the limiters that apply, each with the key to count."""
        if known.device:
            return [(self.account_and_origin, f"sign-in:{account}:device:{digest(origin.device).hex()}")]
        limits = [
            (self.account_and_origin, f"sign-in:{account}:{origin.network}"),
            (self.origin, f"sign-in:origin:{origin.network}"),
        ]
        return limits if known.network else [*limits, (self.account, f"sign-in:account:{account}")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordChecks:
    """Compares passwords with those of users, within `limits` of wrong tries."""

    database: Database
    passwords: Passwords
    limits: WrongPasswordLimits
    origins: KnownOrigins
    journal: SignInJournal

    def check(self, *, email: str, password: str, origin: SignInOrigin) -> User:
        """Return the user with that e-mail and password.

        `WrongPassword` is the same for an unknown e-mail. `RateLimited`, and `Unavailable` while too many passwords are
        checked, are raised before the password is compared, and do not count as a try.
        """
        with self.database.read() as connection:
            user = users.find_by_email(connection, email)
            known = self.origins.find(connection, email=email, origin=origin)
        try:
            with self._counted(self.limits.of(digest(email).hex(), origin, known)):
                matches = self.passwords.matches(password, user.password_hash if user else None, usual=known.usual)
                if user is None or not matches:
                    raise WrongPassword("E-mail and password do not match an account.")
                return user
        except (WrongPassword, RateLimited) as error:
            failure: Failure = "wrong" if isinstance(error, WrongPassword) else "refused"
            self.journal.failed(user, address=origin.address, failure=failure)
            raise

    def check_own(self, user: User, password: str) -> None:
        """Raise `WrongPassword` unless it is the signed-in user's password; these tries are counted separately."""
        with self._counted([(self.limits.account_and_origin, f"sign-in:own:{user.id}")]):
            if not self.passwords.matches(password, user.password_hash, usual=True):
                raise WrongPassword("This is not your password.")

    @contextmanager
    def _counted(self, limits: list[tuple[AttemptLimiter, str]]) -> Iterator[None]:
        """Count a try before the block, and uncount it unless the block raises `WrongPassword`."""
        with ExitStack() as uncount:
            for limiter, key in limits:
                uncount.callback(limiter.give_back, key, count_attempt(limiter, key))
            try:
                yield
            except WrongPassword:
                uncount.pop_all()
                raise


def count_attempt(limiter: AttemptLimiter, key: str) -> Allowance:
    """Count a try; `RateLimited` above the limit."""
    allowance = limiter.hit(key)
    if not allowance.allowed:
        seconds = max(1, allowance.reset_s)
        raise RateLimited(f"Too many tries to sign in. Try again in {seconds} s.", seconds)
    return allowance
