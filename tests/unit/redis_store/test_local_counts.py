"""The windows that a process keeps for itself: by the rules of Redis' script, in bounded memory and time."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import fakeredis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.redis_store.local_counts import CALLERS_MAX, LocalCounts
from app.redis_store.rate import LocalWindow
from app.redis_store.shared_window import SharedWindow

pytestmark = pytest.mark.slow

LIMIT, INGEST_LIMIT = 5, 7


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def counts(clock: Clock) -> LocalCounts:
    return LocalCounts(clock)


REQUESTS = st.tuples(
    st.sampled_from([0, 0, 0, 1, 19, 30, 59, 60, 61]),  # seconds since the last one
    # Key and whether it is ingest: tries, which are given back, never are.
    st.sampled_from([(1, False), (1, True), ("sign-in:own:1", False)]),
    st.integers(1, INGEST_LIMIT + 1),
)


@given(st.lists(REQUESTS | st.just("give back"), max_size=40))
@settings(max_examples=150)
def test_it_answers_as_redis_does(asked: list[tuple[int, tuple[int | str, bool], int] | str]) -> None:
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch, fakeredis.FakeRedis(version=(7,)) as client:
        patch.setattr(time, "time", clock)
        shared = SharedWindow(client, LIMIT, INGEST_LIMIT)
        own = LocalWindow(LocalCounts(clock), LIMIT, INGEST_LIMIT)
        for one in asked:
            if isinstance(one, str):
                shared.give_back("sign-in:own:1")
                own.give_back("sign-in:own:1")
                continue
            wait_s, (key, ingest), amount = one
            clock.now += wait_s
            assert own.hit(key, None, ingest, amount) == shared.hit(key, None, ingest, amount)


def test_a_project_keeps_its_epoch_until_it_is_replaced(counts: LocalCounts) -> None:
    window = LocalWindow(counts, LIMIT)
    first, others = window.hit(1, project_id=1).epoch, window.hit(1, project_id=2).epoch

    assert first
    assert window.hit(2, project_id=1).epoch == first != others
    assert window.hit(2).epoch == b""
    counts.put_epoch(1, b"another")
    assert window.hit(3, project_id=1).epoch == b"another"
    assert window.hit(3, project_id=2).epoch == others


def test_of_many_at_once_as_many_pass_as_may(counts: LocalCounts) -> None:
    window = LocalWindow(counts, 20)
    with ThreadPoolExecutor(10) as pool:
        allowed = list(pool.map(lambda _: window.hit(7).allowed, range(200)))

    assert sum(allowed) == 20


def test_callers_of_whom_nothing_counts_are_forgotten(counts: LocalCounts, clock: Clock) -> None:
    window = LocalWindow(counts, LIMIT)
    for number in range(100):
        window.hit(number)
    clock.now += 30
    window.hit(0)
    clock.now += 31
    for number in range(100, 200):
        window.hit(number)

    assert set(counts._callers) == {0, *range(100, 200)}


def test_its_memory_is_bounded(counts: LocalCounts) -> None:
    window = LocalWindow(counts, LIMIT)
    for number in range(CALLERS_MAX + 3):
        window.hit(number)

    assert len(counts._callers) == CALLERS_MAX


def test_what_left_the_window_is_forgotten(counts: LocalCounts, clock: Clock) -> None:
    window = LocalWindow(counts, 10_000)
    for _ in range(10):
        for _ in range(100):
            window.hit(1)
        clock.now += 61

    assert window.hit(1).remaining == 9_999
    assert len(counts._callers[1].every._times) == 1
