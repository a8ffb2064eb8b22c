"""A circuit breaker by share: while most calls of a model fail by outages, further ones fail at once."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.errors import ProviderError
from app.providers.failures import is_outage

WINDOW_S = 60.0
CALLS = 10
SHARE = 0.5
COOL_DOWN_S = 15.0
# Of each model so many of the latest calls count for its upstream: it takes three models to open that one.
CALLS_PER_MODEL = 4
# What is remembered of one circuit, and the circuits that are.
REMEMBERED = 128
CIRCUITS_MAX = 2048


@dataclass(slots=True)
class _Circuit:
    """The latest calls as (end, model, whether an outage); `per_model` of each model count."""

    per_model: int
    ended: deque[tuple[float, str, bool]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    # When it opened, or last let a probe through.
    open_since: float | None = None

    def refuses(self, now: float) -> bool:
        return self.open_since is not None and now - self.open_since < COOL_DOWN_S

    def enter(self, now: float) -> bool:
        """Whether the call is a probe: until it has ended, and at most as long as the pause, it is the only one."""
        if self.open_since is None:
            return False
        self.open_since = now
        return True

    def leave(self, now: float, model: str, outage: bool, probe: bool) -> None:
        if probe and not outage:
            self.open_since = None
            self.ended.clear()
        self.ended.append((now, model, outage))
        if outage and (probe or (self.open_since is None and self._is_down(now))):
            self.open_since = now

    def _is_down(self, now: float) -> bool:
        counted = list(self._counted(now))
        return len(counted) >= CALLS and sum(counted) >= SHARE * len(counted)

    def _counted(self, now: float) -> Iterator[bool]:
        seen = Counter[str]()
        for end, model, outage in reversed(self.ended):
            if now - end > WINDOW_S:
                return
            seen[model] += 1
            if seen[model] <= self.per_model:
                yield outage


class CallBreaker:
    """Opens when `CALLS` or more ended within `WINDOW_S` and `SHARE` of them by outages; a retried call is one.

    There is a circuit for each model of an upstream, opened by that model's calls alone, and one for the upstream,
    opened by those of several models. An open one lets one call through each `COOL_DOWN_S`, which closes it when it
    succeeds. In the memory of one process: none can be blocked by another's mistake.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._circuits: OrderedDict[Hashable, _Circuit] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def guard(self, upstream: Hashable, vendor: str, model: str) -> Iterator[None]:
        """Let a call through and learn from its end, or raise `ProviderError`."""
        entered = self._enter(upstream, vendor, model)
        try:
            yield
        except BaseException as error:
            self._leave(entered, model, is_outage(error))
            raise
        self._leave(entered, model, False)

    def _enter(self, upstream: Hashable, vendor: str, model: str) -> list[tuple[_Circuit, bool]]:
        now = self._monotonic()
        with self._lock:
            of_upstream = self._circuit(upstream, CALLS_PER_MODEL)
            of_model = self._circuit((upstream, model), REMEMBERED)
            for circuit, name in ((of_upstream, vendor), (of_model, f"{model} of {vendor}")):
                if circuit.refuses(now):
                    raise ProviderError(f"Most of the latest calls of {name} failed; it is not asked for a moment.")
            return [(circuit, circuit.enter(now)) for circuit in (of_upstream, of_model)]

    def _leave(self, entered: list[tuple[_Circuit, bool]], model: str, outage: bool | None) -> None:
        """An end that says nothing of the upstream counts for nothing; a probe has not shown then that all is well."""
        if outage is None:
            return
        now = self._monotonic()
        with self._lock:
            for circuit, probe in entered:
                circuit.leave(now, model, outage, probe)

    def _circuit(self, key: Hashable, per_model: int) -> _Circuit:
        """The one used least is forgotten when there are too many."""
        circuit = self._circuits.setdefault(key, _Circuit(per_model))
        self._circuits.move_to_end(key)
        while len(self._circuits) > CIRCUITS_MAX:
            self._circuits.popitem(last=False)
        return circuit
