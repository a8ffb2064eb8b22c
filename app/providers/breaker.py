"""Refuses calls of a model, or of its vendor, for a while after most of the latest ones failed by outages."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.errors import ProviderError
from app.providers.failures import ProviderFailure

# A circuit opens by these three, and stays open for the fourth: see `CallBreaker`.
WINDOW_S = 60.0
CALLS_MIN = 10
FAILED_SHARE = 0.5
COOL_DOWN_S = 15.0
# The latest calls of one model that count for its upstream: only three models together open the upstream's circuit.
CALLS_PER_MODEL = 4
# Limits of memory: calls per circuit, and circuits.
CALLS_REMEMBERED = 128
CIRCUITS_MAX = 2048


@dataclass(slots=True)
class _Circuit:
    """The latest calls as (end, model, whether an outage). Of each model only the last `per_model` calls count."""

    per_model: int
    ended: deque[tuple[float, str, bool]] = field(default_factory=lambda: deque(maxlen=CALLS_REMEMBERED))
    # When it opened, or last let a probe through.
    open_since: float | None = None

    def refuses(self, now: float) -> bool:
        return self.open_since is not None and now - self.open_since < COOL_DOWN_S

    def enter(self, now: float) -> bool:
        """Return whether the call is a probe: the only call until it has ended, for `COOL_DOWN_S` at most."""
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
        return len(counted) >= CALLS_MIN and sum(counted) >= FAILED_SHARE * len(counted)

    def _counted(self, now: float) -> Iterator[bool]:
        seen = Counter[str]()
        for end, model, outage in reversed(self.ended):
            if now - end > WINDOW_S:
                return
            seen[model] += 1
            if seen[model] <= self.per_model:
                yield outage


class CallBreaker:
    """Opens when `CALLS_MIN` or more ended within `WINDOW_S`, and `FAILED_SHARE` of them by outages.

    A retried call counts once. Each model of an upstream has a circuit, which only that model's calls open; the
    upstream has another one, which the calls of several models open. An open circuit lets one call through each
    `COOL_DOWN_S`, and closes when that succeeds. Circuits are kept in the memory of one process, so that no process
    blocks another by its own mistake.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._circuits: OrderedDict[Hashable, _Circuit] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def guard(self, upstream: Hashable, vendor: str, model: str) -> Iterator[None]:
        """Let a call through and count its end, or raise `ProviderError` while a circuit is open.

        An error other than `ProviderFailure` has nothing to do with the upstream, so it neither counts nor ends a
        probe.
        """
        entered = self._enter(upstream, vendor, model)
        try:
            yield
        except ProviderFailure as failure:
            self._leave(entered, model, failure.outage)
            raise
        self._leave(entered, model, False)

    def _enter(self, upstream: Hashable, vendor: str, model: str) -> list[tuple[_Circuit, bool]]:
        now = self._monotonic()
        with self._lock:
            of_upstream = self._circuit(upstream, CALLS_PER_MODEL)
            of_model = self._circuit((upstream, model), CALLS_REMEMBERED)
            for circuit, name in ((of_upstream, vendor), (of_model, f"{model} of {vendor}")):
                if circuit.refuses(now):
                    raise ProviderError(f"Most of the latest calls of {name} failed; it is not asked for a moment.")
            return [(circuit, circuit.enter(now)) for circuit in (of_upstream, of_model)]

    def _leave(self, entered: list[tuple[_Circuit, bool]], model: str, outage: bool) -> None:
        now = self._monotonic()
        with self._lock:
            for circuit, probe in entered:
                circuit.leave(now, model, outage, probe)

    def _circuit(self, key: Hashable, per_model: int) -> _Circuit:
        """Return the key's circuit; beyond `CIRCUITS_MAX` the least recently used one is forgotten."""
        circuit = self._circuits.setdefault(key, _Circuit(per_model))
        self._circuits.move_to_end(key)
        while len(self._circuits) > CIRCUITS_MAX:
            self._circuits.popitem(last=False)
        return circuit
