"""Counts of calls are those of the work alone."""

from __future__ import annotations

import gc

from tests.support.operations import calls_of


class Circle:
    """Garbage that the collector alone can free, by calling a function."""

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
