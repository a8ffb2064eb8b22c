"""Counts of calls and of steps are those of the work only."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable

import pytest

from tests.support.operations import APP, CountedText, calls_of, colliding_numbers, growth_of, steps_of, work_of

pytestmark = pytest.mark.slow


class Circle:
    """Garbage that only the collector can free, by calling a function."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        len("")


def test_calls_that_only_the_first_time_needs_are_not_counted() -> None:
    known: dict[str, str] = {}

    def remember() -> None:
        if not known:
            for number in range(100):
                known.setdefault(str(number), "")

    assert calls_of(remember) < 10


@pytest.mark.parametrize(("folder", "grows"), [(APP, True), ("/elsewhere/", False)])
def test_lines_of_the_app_without_calls_are_counted(folder: str, grows: bool) -> None:
    source = "def loop(count):\n    while count:\n        count -= 1\n"
    functions: dict[str, Callable[[int], None]] = {}
    exec(compile(source, f"{folder}loop.py", "exec"), functions)

    few, many = (work_of(lambda count=count: functions["loop"](count)) for count in (10, 1_000))

    assert (many - few > 990) is grows


def test_calls_of_finalizers_of_earlier_garbage_are_not_counted() -> None:
    gc.collect()
    thresholds = gc.get_threshold()
    gc.set_threshold(10_000)  # a collection begins in the work, not in the loop before it
    try:
        for _ in range(1_000):
            Circle()
        assert calls_of(lambda: [[] for _ in range(20_000)]) < 10
    finally:
        gc.set_threshold(*thresholds)
        gc.collect()


def test_work_is_done_once_if_its_calls_are_few_enough_the_first_time() -> None:
    done: list[None] = []

    assert calls_of(lambda: done.append(None), at_most=10) <= 10
    assert len(done) == 1


def test_the_collector_works_again_afterwards() -> None:
    calls_of(lambda: None)
    assert gc.isenabled()


def test_steps_see_a_loop_that_calls_nothing() -> None:
    def walk(size: int) -> int:
        total = 0
        for number in range(size):
            total += number
        return total

    assert 1.9 < growth_of(lambda size: lambda: walk(size), 1_000) < 2.1


def test_steps_see_copies_that_c_makes() -> None:
    text = "word " * 40_000

    assert steps_of(lambda: text[1:]) > 100 + steps_of(lambda: text[:0])
    assert steps_of(lambda: text.casefold()) > 100 + steps_of(lambda: text[:0])
    assert steps_of(lambda: len(text.split())) > 1_000 + steps_of(lambda: text[:0])


def test_steps_see_that_the_copies_of_a_growing_list_are_quadratic() -> None:
    def grow(size: int) -> list[int]:
        numbers: list[int] = []
        for number in range(size):
            numbers = [*numbers, number]
        return numbers

    assert growth_of(lambda size: lambda: grow(size), 1_000) > 2.5


def test_steps_see_the_search_of_a_counted_text_in_a_tuple() -> None:
    words = tuple(map(CountedText, map(str, range(200))))

    assert steps_of(lambda: CountedText("none") in words) > 1_000


def test_steps_see_that_a_set_compares_colliding_numbers_with_each_other() -> None:
    def collect(size: int) -> Callable[[], object]:
        numbers = colliding_numbers(size)
        return lambda: set(numbers)

    assert growth_of(collect, 100) > 3.5


def test_the_tracer_of_before_is_back_afterwards() -> None:
    before = sys.gettrace()
    steps_of(lambda: None)
    assert sys.gettrace() is before
