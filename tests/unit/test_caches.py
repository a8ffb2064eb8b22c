"""A cache that holds no more than it may."""

from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from app.caches import BoundedCache


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
