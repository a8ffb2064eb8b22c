"""Counting what a piece of code does, instead of the time that it needs.

`calls_of` is quick and sees calls only. `work_of` also sees the lines of the app. `steps_of` is a hundred times slower
and sees loops without calls, too, and copies that C makes. None sees what C reads without a call or
a copy, such as the search of an element in a list: make that of `CountedText` and `CountedNumber`.
"""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from cProfile import Profile
from math import inf
from pathlib import Path
from types import FrameType
from typing import Any

APP = f"{Path(__file__).parents[2] / 'app'}/"
TIMES = 3
COPIED = 256  # bytes that count as one step
PRIME = 2**61 - 1  # of which the hash of a number is the remainder
# The constants by which CPython mixes the hashes of a tuple's entries, without a secret (Objects/tupleobject.c).
_ENTRY, _MIX, _SEED = 14029467366897019727, 11400714785074694791, 2870177450012600261


def calls_of(work: Callable[[], object], *, at_most: float = 0) -> int:
    """Return how many functions, of Python and of C, `work` calls.

    The work is done up to three times, until its calls are no more than `at_most`, and the smallest count is returned:
    once or twice it may also compile a statement, replace an expired entry of a cache or open a connection. It must be
    the same work each time.
    """
    return _fewest(_calls_of, work, at_most)


def work_of(work: Callable[[], object]) -> int:
    """Return how many functions, of Python and of C, `work` calls once, and how many lines of the app it executes."""
    lines = 0

    def enter(frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any] | None:
        return count if frame.f_code.co_filename.startswith(APP) else None

    def count(_frame: FrameType, event: str, _argument: Any) -> Callable[..., Any]:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        calls = calls_of(work, at_most=inf)
    finally:
        sys.settrace(before)
    return calls + lines


def steps_of(work: Callable[[], object], *, at_most: float = 0) -> int:
    """Return how many opcodes of Python `work` executes, and how many times `COPIED` bytes it allocates.

    The work is done up to three times, as for `calls_of`. Only this thread's opcodes count.
    """
    return _fewest(_steps_of, work, at_most)


def growth_of(prepare: Callable[[int], Callable[[], object]], size: int, count: Callable[..., int] = steps_of) -> float:
    """Return how many times as many steps, or calls, work on an input of twice the size has; `prepare(size)` makes it.

    Linear work grows by 2 at most, quadratic work by almost 4. The work is done once with each input, as a cache may
    know it the second time.
    """
    once, twice = (count(prepare(length), at_most=inf) for length in (size, 2 * size))
    return twice / once


class CountedText(str):
    """A text that counts each comparison as a step, also in C: in a list, a tuple, a set or a dict."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return str.__eq__(self, other)


class CountedNumber(int):
    """A number that counts each comparison as a step, also in C: in a list, a tuple, a set or a dict."""

    __slots__ = ()
    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        return int.__eq__(self, other)


def colliding_numbers(count: int) -> list[int]:
    """Return different numbers with the same hash, of which a set or a dict compares each with all others."""
    return [CountedNumber(n * PRIME + 1) for n in range(1, count + 1)]


def numbers_that_collide_by_index(count: int) -> list[int]:
    """Return numbers of 64 bits of which each fourth, as `((index,), number)`, has the same hash.

    JSON can have them, and they are made without any search: tuples of numbers must not be keys of what a caller sent.
    """
    inverse = pow(_ENTRY, -1, 2**64)
    numbers = list[int]()
    for index in range(count):
        first = (_SEED + hash((index,)) * _ENTRY) % 2**64
        mixed = (first << 31 | first >> 33) * _MIX
        wanted = (_SEED - mixed) * inverse % 2**64
        number = wanted - 2**64 if wanted > 2**63 else wanted
        numbers.append(number if abs(number) < PRIME else index)
    return numbers


def _fewest(count: Callable[[Callable[[], object]], int], work: Callable[[], object], at_most: float) -> int:
    fewest = sys.maxsize
    with without_garbage_collection():
        for _ in range(TIMES):
            fewest = min(fewest, count(work))
            if fewest <= at_most:
                break
    return fewest


def _calls_of(work: Callable[[], object]) -> int:
    """Count in C: a function that Python calls for each call needs ten times as long as most of what it counts."""
    profile = Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())


def _steps_of(work: Callable[[], object]) -> int:
    opcodes = copied = held = 0

    def count(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        nonlocal opcodes, copied, held
        frame.f_trace_opcodes = True
        opcodes += event == "opcode"
        now, peak = tracemalloc.get_traced_memory()
        copied += max(peak - held, 0) // COPIED
        tracemalloc.reset_peak()
        held = now
        return count

    before = sys.gettrace()
    tracemalloc.start()
    try:
        held, _ = tracemalloc.get_traced_memory()
        sys.settrace(count)
        work()
    finally:
        sys.settrace(before)
        tracemalloc.stop()
    return opcodes + copied


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Keep the collector from calling, in this thread, the finalizers of what earlier tests left behind."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
