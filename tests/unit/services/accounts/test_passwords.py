"""Limits of the passwords that are hashed at once, and of the passwords that wait for it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from argon2 import PasswordHasher, extract_parameters

from app.errors import Unavailable
from app.services.accounts.passwords import HASHES_AT_ONCE, WAITING_MAX, Passwords
from tests.support.waiting import wait_until

CHEAP: dict[str, Any] = {"time_cost": 1, "memory_cost": 8, "parallelism": 1}


class HeldHasher(PasswordHasher):
    """Compares nothing before it is let go; counts how many are at it."""

    def __init__(self) -> None:
        super().__init__(**CHEAP)
        self.go = threading.Event()
        self.lock = threading.Lock()
        self.now = self.most = 0
        self.compared: list[str] = []

    def verify(self, hash: str | bytes, password: str | bytes) -> bool:  # type: ignore[override]
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.compared.append(str(hash))
        self.go.wait(60)
        with self.lock:
            self.now -= 1
        return super().verify(hash, password)  # type: ignore[return-value]


def test_of_a_flood_as_many_as_may_wait_are_compared_and_the_others_refused_at_once() -> None:
    hasher = HeldHasher()
    passwords = Passwords(hasher)
    refused = []

    def compare(_number: int) -> bool:
        try:
            return passwords.matches("a guess", None)
        except Unavailable:
            refused.append(1)
            return False

    with ThreadPoolExecutor(100) as pool:
        done = [pool.submit(compare, number) for number in range(100)]
        wait_until(lambda: len(refused) == 100 - HASHES_AT_ONCE - WAITING_MAX // 2, "the refusals")
        wait_until(lambda: hasher.now == HASHES_AT_ONCE, "as many as may")
        hasher.go.set()
        assert not any(one.result() for one in done)

    assert hasher.most == HASHES_AT_ONCE
    assert len(hasher.compared) == HASHES_AT_ONCE + WAITING_MAX // 2


def test_strangers_leave_places_to_who_comes_from_where_they_always_do() -> None:
    hasher = HeldHasher()
    passwords = Passwords(hasher)
    stored = PasswordHasher(**CHEAP).hash("correct horse battery")

    with ThreadPoolExecutor(100) as pool:
        strangers = [pool.submit(passwords.matches, "a guess", None) for _ in range(60)]
        wait_until(
            lambda: sum(one.done() for one in strangers) == 60 - HASHES_AT_ONCE - WAITING_MAX // 2, "the refusals"
        )
        usual = pool.submit(passwords.matches, "correct horse battery", stored, usual=True)
        hasher.go.set()

        assert usual.result()


def test_an_unusable_hash_is_made_without_hashing_and_looks_like_any_other() -> None:
    class NoHasher(PasswordHasher):
        def hash(self, password: str | bytes, *, salt: bytes | None = None) -> str:
            raise AssertionError("This needs a processor.")

    hashes = [Passwords(NoHasher(**CHEAP)).unusable() for _ in range(2)]

    assert hashes[0] != hashes[1]
    assert extract_parameters(hashes[0]) == extract_parameters(PasswordHasher(**CHEAP).hash("correct horse battery"))
    assert not Passwords(PasswordHasher(**CHEAP)).matches("correct horse battery", hashes[0])


def test_after_a_flood_everybody_is_let_in_again() -> None:
    passwords = Passwords(PasswordHasher(**CHEAP))
    with ThreadPoolExecutor(50) as pool:
        for one in [pool.submit(passwords.matches, "a guess", None) for _ in range(200)]:
            one.exception()

    assert passwords.matches("correct horse battery", passwords.hash("correct horse battery"))


def test_comparing_with_nobodys_password_costs_the_same() -> None:
    hasher = HeldHasher()
    hasher.go.set()
    stored = hasher.hash("correct horse battery")

    assert not Passwords(hasher).matches("correct horse battery", None)
    [nobodys] = hasher.compared
    assert extract_parameters(nobodys) == extract_parameters(stored)


@pytest.mark.parametrize("stored", ["", "nonsense", "$argon2id$v=19$m=8,t=1,p=1$AAAA$AAAA"])
def test_what_is_no_hash_matches_nothing(stored: str) -> None:
    assert not Passwords().matches("correct horse battery", stored or None)
