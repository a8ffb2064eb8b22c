"""Checks histories of concurrent calls: is there an order of the calls that explains every answer?

`contradiction` searches as Wing and Gong do, with Lowe's memory of visited configurations. A call that ended before
another began comes before it in the order. A call without an answer may have its effect at any later time, or never.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

NEVER = math.inf
MOST_CONFIGURATIONS = 300_000


class Undecided(Exception):
    """The search was given up after `MOST_CONFIGURATIONS` configurations."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call to an object. `ended` is `NEVER` if no answer came; `result` is then None.

    `argument` is None for a read, and `result` is what it returned.
    """

    object: str
    argument: Any
    result: Any
    began: float
    ended: float

    @property
    def answered(self) -> bool:
        return self.ended != NEVER

    @property
    def reads(self) -> bool:
        return self.argument is None


Possible = Mapping[int, Call]
"""The calls that may come next, by their places in the history."""


class Model(ABC):
    """An object that does one call at a time. States are hashable."""

    initial: Any

    @abstractmethod
    def after(self, state: Any, call: Call) -> Any:
        """Return the state after a write."""

    @abstractmethod
    def allows(self, state: Any, call: Call) -> bool:
        """Return whether the call may have its result in this state. A call without an answer has any result."""

    def shown(self, read: Call) -> Iterable[Any]:
        """Return the arguments of writes that the read shows."""
        return []

    def choices(self, state: Any, possible: Possible, later: Iterator[Call]) -> Sequence[int]:
        """Return the places of calls of which at least one comes next in an order, if there is an order.

        `later` has all calls that are not done. A read that fits changes nothing, so it needs no alternative.
        """
        fitting = [place for place, call in possible.items() if self.allows(state, call)]
        return [place for place in fitting if possible[place].reads][:1] or fitting


class Register(Model):
    """A value that is written and read."""

    def __init__(self, initial: Any = None) -> None:
        self.initial = initial

    def after(self, state: Any, call: Call) -> Any:
        return call.argument

    def allows(self, state: Any, call: Call) -> bool:
        return not call.reads or call.result == state

    def shown(self, read: Call) -> Iterable[Any]:
        return [read.result]


class GrowingSet(Model):
    """A set to which elements are added; a read returns all of them, as a sorted tuple."""

    initial: frozenset[Any] = frozenset()

    def after(self, state: frozenset[Any], call: Call) -> frozenset[Any]:
        return state | {call.argument}

    def allows(self, state: frozenset[Any], call: Call) -> bool:
        return not call.reads or call.result == tuple(sorted(state))

    def shown(self, read: Call) -> Iterable[Any]:
        elements: tuple[Any, ...] = read.result
        return elements

    def choices(self, state: frozenset[Any], possible: Possible, later: Iterator[Call]) -> Sequence[int]:
        """The smallest read comes before all other reads, so only its elements come before it, in any order."""
        smallest = min((call.result for call in later if call.reads), key=len, default=None)
        fitting = (
            place
            for place, call in possible.items()
            if self.allows(state, call) and (call.reads or smallest is None or call.argument in smallest)
        )
        return list(fitting)[:1]


class Once(Model):
    """Work that is started with a key: the first call starts it, and all return its id. A read returns all ids."""

    initial: tuple[Any, ...] = ()

    def after(self, state: tuple[Any, ...], call: Call) -> tuple[Any, ...]:
        return state or (call.result,)

    def allows(self, state: tuple[Any, ...], call: Call) -> bool:
        if call.reads:
            return bool(call.result == state)
        return not call.answered or state in ((), (call.result,))


def contradiction(calls: Iterable[Call], model: Model) -> Sequence[Call] | None:
    """Return the calls of one object if no order explains them, shortened to the first that have none, else None."""
    ordered = sorted(_explained_by_answers(list(calls), model), key=lambda call: call.began)
    if _has_order(ordered, model):
        return None
    return _shortened(ordered, model)


def _explained_by_answers(calls: list[Call], model: Model) -> Iterator[Call]:
    """Leave out the unanswered calls that no answer shows: had they no effect, no answer would be another one.

    An unanswered start of work gets the id that other calls name.
    """
    answered = [call for call in calls if call.answered]
    yield from answered
    lost = [call for call in calls if not call.answered and not call.reads]
    if isinstance(model, Once):
        ids = {call.result for call in answered if not call.reads}
        ids |= {element for call in answered if call.reads for element in call.result}
        yield from (replace(call, result=name) for call in lost for name in sorted(ids)[:1])
        return
    shown = {element for call in answered if call.reads for element in model.shown(call)}
    yield from (call for call in lost if call.argument in shown)


def _has_order(calls: Sequence[Call], model: Model) -> bool:
    """Search an order of calls, which are sorted by their beginning."""
    wanted = sum(1 << place for place, call in enumerate(calls) if call.answered)
    stack = [(0, model.initial)]
    visited = {stack[0]}
    while stack:
        done, state = stack.pop()
        if done & wanted == wanted:
            return True
        for configuration in _following(calls, model, done, state):
            if configuration not in visited:
                visited.add(configuration)
                stack.append(configuration)
        if len(visited) > MOST_CONFIGURATIONS:
            raise Undecided(f"{len(calls)} calls of {calls[0].object}")
    return False


def _following(calls: Sequence[Call], model: Model, done: int, state: Any) -> Iterator[tuple[int, Any]]:
    """Yield the configurations after one more call."""
    possible = {place: calls[place] for place in _possible(calls, done)}
    later = (call for place, call in enumerate(calls) if not done >> place & 1)
    for place in model.choices(state, possible, later):
        call = calls[place]
        yield done | 1 << place, state if call.reads else model.after(state, call)


def _possible(calls: Sequence[Call], done: int) -> Iterator[int]:
    """Yield the calls that are not done and began before the end of all others that are not done."""
    earliest_end = NEVER
    first = (~done & (done + 1)).bit_length() - 1
    for place in range(first, len(calls)):
        if done >> place & 1:
            continue
        if calls[place].began > earliest_end:
            return
        earliest_end = min(earliest_end, calls[place].ended)
        yield place


def _shortened(calls: Sequence[Call], model: Model) -> Sequence[Call]:
    """Return the calls up to the earliest end at which no order is left."""
    ends = sorted(call.ended for call in calls if call.answered)
    low, high = 0, len(ends) - 1
    while low < high:
        middle = (low + high) // 2
        if _has_order(_until(calls, ends[middle]), model):
            low = middle + 1
        else:
            high = middle
    return _until(calls, ends[low])


def _until(calls: Sequence[Call], when: float) -> list[Call]:
    """Return the history as it was at that time: later calls are missing, unfinished writes have no answer yet."""
    begun = [call for call in calls if call.began <= when]
    return [
        call if call.ended <= when or not call.answered else replace(call, ended=NEVER)
        for call in begun
        if call.ended <= when or not call.reads
    ]
