"""Counting the work of each function of the app, so that a loop that grows is seen behind work that grows less.

The work of a function is its lines, its calls into C, and the calls of libraries that it causes, with those of its
inner functions. What C does without a call, such as the search of an element in a list, is not seen.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from tests.support.operations import APP, without_garbage_collection

OUTSIDE = "outside of the app"
# Linear work is at most this many times as much for twice the input: bounds of pages and pieces make it grow in jumps.
GROWTH = 2.6
IN_ALL = 2.1
Work = Callable[[], object]


def work_by_function(work: Work) -> Counter[str]:
    """Return the work of each function, by its path and name, that `work` does in this thread."""
    meter = _Meter()
    with without_garbage_collection(), meter.counting():
        work()
    return meter.by_function()


def grown(none: Mapping[str, int], once: Mapping[str, int], twice: Mapping[str, int], floor: int) -> dict[str, Any]:
    """Return the functions with more than twice the work for twice the input, by what the input adds and in all.

    `none` is the work on next to no input. Less work than `floor` is no growth.
    """
    costs = {name: (none.get(name, 0), once.get(name, 0), twice[name]) for name in twice}
    return {
        name: (least, less, more)
        for name, (least, less, more) in costs.items()
        if more > IN_ALL * less and more - least > GROWTH * max(less - least, floor)
    }


class _Meter:
    """Counts for the function of the app that was called last and has not returned."""

    def __init__(self) -> None:
        self._counts: dict[CodeType | None, int] = {}
        self._active: list[CodeType | None] = [None]

    @contextmanager
    def counting(self) -> Iterator[None]:
        tracer, profiler = sys.gettrace(), sys.getprofile()
        sys.settrace(self._enter)
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(profiler)
            sys.settrace(tracer)

    def by_function(self) -> Counter[str]:
        functions: Counter[str] = Counter()
        for code, count in self._counts.items():
            functions[name_of(code)] += count
        return functions

    def _enter(self, frame: FrameType, _event: str, _argument: Any) -> Callable[..., Any] | None:
        return self._line if frame.f_code.co_filename.startswith(APP) else None

    def _line(self, frame: FrameType, event: str, _argument: Any) -> Callable[..., Any]:
        if event == "line":
            self._counts[frame.f_code] = self._counts.get(frame.f_code, 0) + 1
        return self._line

    def _note(self, frame: FrameType, event: str, _argument: Any) -> None:
        active = self._active
        if event == "call":
            code = frame.f_code
            active.append(code if code.co_filename.startswith(APP) else active[-1])
        elif event == "return":
            if len(active) > 1:
                active.pop()
            return
        elif event != "c_call":
            return
        self._counts[active[-1]] = self._counts.get(active[-1], 0) + 1


def name_of(code: CodeType | None) -> str:
    """Return the path of a function's module in the app and its name; an inner function has that of the outer one."""
    if code is None:
        return OUTSIDE
    path = code.co_filename.removeprefix(APP).removesuffix(".py")
    return f"{path}:{code.co_qualname.partition('.<locals>')[0].replace('.<lambda>', '')}"
