"""Checks passwords that people type; each try is counted before any work is done for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from app.db import Database
from app.errors import RateLimited, Unauthorized
from app.models import users
from app.models.users import User
from app.redis_store.rate import RateLimiter
from app.services.accounts.origins import Familiarity, KnownOrigins, Origin
from app.services.accounts.passwords import Passwords
from app.services.accounts.sign_in_journal import Failure, SignInJournal
from app.services.accounts.tokens import digest


class WrongPassword(Unauthorized):
    """The password does not match, or there is no such account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TryLimits:
    """Limits of wrong passwords in any minute.

    `account_and_origin` applies to every try; `origin` counts all accounts from one address, `account` one account from
    all addresses. So that attackers can't lock people out, `account` does not apply to addresses from which the account
    signed in before; in a browser that it signed in with, which is counted by itself, `origin` does not apply either.
    """

    account_and_origin: RateLimiter
    origin: RateLimiter
    account: RateLimiter

    def of(self, account: str, origin: Origin, known: Familiarity) -> list[tuple[RateLimiter, str]]:
        """The limiters that apply, each with the key to count."""
        if known.device:
            return [(self.account_and_origin, f"sign-in:{account}:device:{digest(origin.device).hex()}")]
        limits = [
            (self.account_and_origin, f"sign-in:{account}:{origin.network}"),
            (self.origin, f"sign-in:origin:{origin.network}"),
        ]
        return limits if known.network else [*limits, (self.account, f"sign-in:account:{account}")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordChecks:
    database: Database
    passwords: Passwords
    limits: TryLimits
    origins: KnownOrigins
    journal: SignInJournal

    def check(self, *, email: str, password: str, origin: Origin) -> User:
        """The user with that e-mail and password.

        `WrongPassword` is the same for an unknown e-mail. `RateLimited`, and `Unavailable` while too many passwords are
        checked, are raised before the password is compared, and count as no try.
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
        """`WrongPassword` unless it is the signed-in user's own; these tries are counted apart from those of others."""
        with self._counted([(self.limits.account_and_origin, f"sign-in:own:{user.id}")]):
            if not self.passwords.matches(password, user.password_hash, usual=True):
                raise WrongPassword("This is not your password.")

    @contextmanager
    def _counted(self, limits: list[tuple[RateLimiter, str]]) -> Iterator[None]:
        """Count a try before the block, and uncount it unless the block raises `WrongPassword`."""
        with ExitStack() as uncount:
            for limiter, key in limits:
                _take(limiter, key)
                uncount.callback(limiter.give_back, key)
            try:
                yield
            except WrongPassword:
                uncount.pop_all()
                raise


def _take(limiter: RateLimiter, key: str) -> None:
    allowance = limiter.hit(key)
    if not allowance.allowed:
        seconds = max(1, allowance.reset_s)
        raise RateLimited(f"Too many tries to sign in. Try again in {seconds} s.", seconds)
