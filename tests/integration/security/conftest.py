"""Signed-in browsers, as the tests of the pages have them, and accounts with passwords that are quick to check."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from argon2 import PasswordHasher

from app.errors import RateLimited, ServiceError, Unauthorized, Unavailable
from app.metrics import Metrics
from app.redis_store.rate import AttemptLimiter
from app.services.accounts.passwords import PasswordChecks, Passwords, WrongPasswordLimits
from app.services.accounts.service import AccountService
from app.services.accounts.sign_in_attempts import KnownOrigins, SignInJournal, SignInOrigin
from app.services.accounts.sign_ins import SignInService
from tests.integration.web.conftest import PASSWORD, address, admin, member_of
from tests.support.world import World

__all__ = ["admin", "member_of"]

OF_ACCOUNT_AND_ORIGIN, OF_ORIGIN, OF_ACCOUNT = 3, 8, 5


def somewhere() -> str:
    """An address that no other test has: tries are counted for a minute."""
    return ".".join(["10", *(str(secrets.randbelow(250) + 1) for _ in range(3))])


def csrf_of(page: str) -> str:
    """The token of the page's form."""
    return re.search(r'name="csrf" value="(\w+)"', page)[1]  # type: ignore[index]


@dataclass(frozen=True)
class Door:
    """Sign-ins with low limits and a hash that costs nothing; answers in words."""

    world: World
    sign_ins: SignInService
    accounts: AccountService
    journal: SignInJournal
    metrics: Metrics

    def account(self) -> str:
        """The e-mail of a new admin."""
        email = address()
        self.accounts.ensure_admin(organization_id=self.world.organization_id, email=email, password=PASSWORD)
        return email

    def try_(self, email: str, origin: SignInOrigin | str, password: str = PASSWORD) -> str:
        where = SignInOrigin(origin) if isinstance(origin, str) else origin
        try:
            self.sign_ins.sign_in(email=email, password=password, origin=where)
        except ServiceError as error:
            return {Unauthorized: "wrong", RateLimited: "refused", Unavailable: "busy"}[_kind(error)]
        return "in"

    def hammer(self, email: str, origin: str, times: int) -> list[str]:
        return [self.try_(email, origin, f"a wrong guess {number}") for number in range(times)]


def _kind(error: ServiceError) -> type[ServiceError]:
    return next(kind for kind in (Unauthorized, RateLimited, Unavailable) if isinstance(error, kind))


def door_to(world: World) -> Door:
    container, metrics = world.container, Metrics()
    client = container.redis.quick
    journal = SignInJournal(database=container.database, now=container.now, metrics=metrics)
    passwords = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    origins = KnownOrigins(now=container.now, secret_key=container.settings.secret_key)
    limits = WrongPasswordLimits(
        account_and_origin=AttemptLimiter(client, OF_ACCOUNT_AND_ORIGIN),
        origin=AttemptLimiter(client, OF_ORIGIN),
        account=AttemptLimiter(client, OF_ACCOUNT),
    )
    shared = {"database": container.database, "now": container.now, "passwords": passwords}
    checks = PasswordChecks(
        database=container.database,
        passwords=passwords,
        limits=limits,
        origins=origins,
        journal=journal,
    )
    sign_ins = SignInService(**shared, checks=checks, origins=origins, journal=journal)
    return Door(world, sign_ins, AccountService(**shared, checks=checks, sign_ins=sign_ins), journal, metrics)


@pytest.fixture
def door(world: World) -> Iterator[Door]:
    door = door_to(world)
    yield door
    # Half a second later the database may be gone.
    door.journal.flush()
