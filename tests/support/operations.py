"""Counting what a piece of code does, instead of how long it takes."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from cProfile import Profile

TIMES = 3


def calls_of(work: Callable[[], object], *, at_most: float = 0) -> int:
    """Return how many functions, of Python and of C, `work` calls.

    The work is done up to three times, until its calls are no more than `at_most`, and the smallest count is returned:
    once or twice it may also compile a statement, replace an expired entry of a cache or open a connection. It must be
    the same work each time.
    """
    fewest = sys.maxsize
    with _without_garbage_collection():
        for _ in range(TIMES):
            fewest = min(fewest, _calls_of(work))
            if fewest <= at_most:
                break
    return fewest


def _calls_of(work: Callable[[], object]) -> int:
    """Count in C: a function that Python calls for each call takes ten times as long as most of what it counts."""
    profile = Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Keep the collector from calling, in this thread, the finalizers of what earlier tests left behind."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
