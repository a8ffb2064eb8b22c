"""Checks passwords that people type: each try is counted before any work is done for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from app.db import Database
from app.errors import RateLimited, Unauthorized
from app.models import users
from app.models.users import User
from app.redis_store.rate import RateLimiter
from app.services.accounts.origins import Familiarity, KnownOrigins, Origin
from app.services.accounts.passwords import Passwords
from app.services.accounts.sign_in_journal import SignInJournal
from app.services.accounts.tokens import digest


class WrongPassword(Unauthorized):
    """Not the account's, or there is no such account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TryLimits:
    """How often a password may be wrong in any minute.

    `account_and_origin` holds for everybody; `origin` is all accounts tried from one address, and `account` one account
    tried from all addresses. Neither can keep people out whom others imitate: `account` is not asked from an address
    from which the account signed in before, and in a browser that it signed in with, which has tries of its own,
    `origin` is not asked either.
    """

    account_and_origin: RateLimiter
    origin: RateLimiter
    account: RateLimiter

    def of(self, account: str, origin: Origin, known: Familiarity) -> list[tuple[RateLimiter, str]]:
        """The limits to ask, each with the key to count."""
        if known.device:
            return [(self.account_and_origin, f"sign-in:{account}:device:{digest(origin.device).hex()}")]
        asked = [
            (self.account_and_origin, f"sign-in:{account}:{origin.network}"),
            (self.origin, f"sign-in:origin:{origin.network}"),
        ]
        return asked if known.network else [*asked, (self.account, f"sign-in:account:{account}")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordChecks:
    database: Database
    passwords: Passwords
    limits: TryLimits
    origins: KnownOrigins
    journal: SignInJournal

    def check(self, *, email: str, password: str, origin: Origin) -> User:
        """The user of that e-mail and password.

        `WrongPassword` says the same for an unknown e-mail; `RateLimited`, and `Unavailable` while too many passwords
        are checked, come before either and are no tries.
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
        except WrongPassword:
            self.journal.failed(user, address=origin.address, failure="wrong")
            raise
        except RateLimited:
            self.journal.failed(user, address=origin.address, failure="refused")
            raise

    def check_own(self, user: User, password: str) -> None:
        """`WrongPassword` unless it is the password of the user, who is signed in; nobody else uses up these tries."""
        with self._counted([(self.limits.account_and_origin, f"sign-in:own:{user.id}")]):
            if not self.passwords.matches(password, user.password_hash, usual=True):
                raise WrongPassword("This is not your password.")

    @contextmanager
    def _counted(self, limits: list[tuple[RateLimiter, str]]) -> Iterator[None]:
        """Count a try before the block; all but a wrong password gives it back."""
        taken: list[tuple[RateLimiter, str]] = []
        wrong = False
        try:
            for limiter, key in limits:
                _take(limiter, key)
                taken.append((limiter, key))
            yield
        except WrongPassword:
            wrong = True
            raise
        finally:
            for limiter, key in taken if not wrong else ():
                limiter.give_back(key)


def _take(limiter: RateLimiter, key: str) -> None:
    allowance = limiter.hit(key)
    if not allowance.allowed:
        seconds = max(1, allowance.reset_s)
        raise RateLimited(f"Too many tries to sign in. Try again in {seconds} s.", seconds)
