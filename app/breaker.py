"""A circuit breaker: while something that is called is down, calls of it fail at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class _Circuit:
    outages: int = 0
    opened_at: float | None = None
    probing: bool = False


class Breaker:
    """Opens after `threshold` outages in a row; after `cool_down_s` one call probes whether it is over.

    In the memory of one process: each finds out for itself, and none can be blocked by another's mistake.
    `is_outage` says of an error whether it is one, or None when it says nothing about what was called; `refusal`
    makes the error of a call that was not let through.
    """

    def __init__(
        self,
        *,
        is_outage: Callable[[BaseException], bool | None],
        refusal: Callable[[str], Exception],
        threshold: int,
        cool_down_s: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._is_outage = is_outage
        self._refusal = refusal
        self._threshold = threshold
        self._cool_down_s = cool_down_s
        self._monotonic = monotonic
        self._circuits: dict[Hashable, _Circuit] = {}
        self._lock = threading.Lock()

    @contextmanager
    def guard(self, key: Hashable, name: str) -> Iterator[None]:
        """Let a call through and learn from its end; while open, raises the refusal, with words that name `name`."""
        probe = self._enter(key, name)
        try:
            yield
        except BaseException as error:
            self._leave(key, probe, outage=self._is_outage(error))
            raise
        self._leave(key, probe, outage=False)

    def _enter(self, key: Hashable, name: str) -> bool:
        with self._lock:
            circuit = self._circuits.get(key)
            if circuit is None or circuit.opened_at is None:
                return False
            waited_s = self._monotonic() - circuit.opened_at
            if circuit.probing or waited_s < self._cool_down_s:
                raise self._refusal(
                    f"{name} failed {circuit.outages} times in a row; it is not asked again for a moment."
                )
            circuit.probing = True
            return True

    def _leave(self, key: Hashable, probe: bool, outage: bool | None) -> None:
        with self._lock:
            if outage is False:
                # Only trouble is remembered, so that keys which come and go leave nothing behind.
                self._circuits.pop(key, None)
                return
            if not (probe or outage):
                return
            # A probe that says nothing has not shown that all is well.
            circuit = self._circuits.setdefault(key, _Circuit())
            circuit.outages += bool(outage)
            if probe or circuit.outages >= self._threshold:
                circuit.opened_at = self._monotonic()
                circuit.probing = False
