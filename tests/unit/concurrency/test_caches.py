"""A cache that holds no more than it may."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.concurrency.caches import BoundedCache, TimedCache


def test_what_was_used_longest_ago_goes_first() -> None:
    cache: BoundedCache[str] = BoundedCache(10)
    for key in "ab":
        cache.put(key, key.upper(), weight=5)
    assert cache.get("a") == "A"
    cache.put("c", "C", weight=5)
    assert [cache.get(key) for key in "abc"] == ["A", None, "C"]


def test_what_is_too_heavy_is_not_kept_and_pushes_nothing_out() -> None:
    cache: BoundedCache[str] = BoundedCache(10)
    cache.put("a", "A", weight=10)
    cache.put("b", "B", weight=11)
    assert (cache.get("a"), cache.get("b")) == ("A", None)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 12))))
def test_the_last_one_put_is_there_and_the_limit_holds(puts: list[tuple[int, int]]) -> None:
    cache: BoundedCache[tuple[int, int]] = BoundedCache(10)
    for key, weight in puts:
        cache.put(key, (key, weight), weight=weight)
        if weight <= 10:
            assert cache.get(key) == (key, weight)
        assert sum(held[1] for each in range(6) if (held := cache.get(each))) <= 10


def test_threads_may_use_it_at_once() -> None:
    cache: BoundedCache[int] = BoundedCache(50)

    def use(start: int) -> None:
        for number in range(start, start + 2000):
            cache.put(number % 97, number % 97, weight=1)
            assert cache.get(number % 89) in {None, number % 89}

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(use, range(4)))
    assert sum(cache.get(key) is not None for key in range(97)) <= 50


def test_a_value_is_read_again_when_its_time_is_over_and_none_counts_as_a_value() -> None:
    lookups: list[bool] = []
    cache: TimedCache[str | None] = TimedCache(3600, on_lookup=lookups.append)
    reads = iter([None, "new"])
    assert cache.get_or_read("a", lambda: next(reads)) is cache.get_or_read("a", lambda: next(reads)) is None
    cache.put("a", "old", time.monotonic() - 3600)
    assert (cache.get("a"), cache.get_or_read("a", lambda: next(reads)), cache.get("a")) == (None, "new", "new")
    assert lookups == [False, True, False]


def test_a_reading_that_fails_keeps_nothing() -> None:
    cache: TimedCache[str] = TimedCache(3600)
    with pytest.raises(KeyError):
        cache.get_or_read("a", lambda: {}["b"])
    assert cache.get_or_read("a", lambda: "A") == "A"
    cache.forget("a")
    assert cache.get("a") is None


def test_a_timed_cache_starts_again_when_it_holds_too_many_values() -> None:
    cache: TimedCache[int] = TimedCache(3600, most=2)
    for key in range(3):
        cache.put(key, key, time.monotonic())
    assert [cache.get(key) for key in range(3)] == [None, None, 2]


@pytest.mark.parametrize("drop", [TimedCache.clear, lambda cache: cache.forget("a")], ids=["clear", "forget"])
def test_a_reading_that_began_before_its_value_was_dropped_is_not_kept(drop: Callable[[TimedCache[str]], None]) -> None:
    cache: TimedCache[str] = TimedCache(3600)

    def read() -> str:
        drop(cache)  # another thread changes the value meanwhile
        return "old"

    assert cache.get_or_read("a", read) == "old"
    assert cache.get("a") is None
    assert cache.get_or_read("a", lambda: "new") == cache.get("a") == "new"
