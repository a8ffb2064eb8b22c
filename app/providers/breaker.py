"""A circuit breaker per vendor, credential and base URL: while an upstream is down, calls fail at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from app.errors import ProviderError
from app.providers.failures import ProviderFailure


@dataclass(slots=True)
class _Circuit:
    outages: int = 0
    opened_at: float | None = None
    probing: bool = False


class Breaker:
    """Opens after `threshold` outages in a row; after `cool_down_s` one call probes whether it is over.

    In the memory of one process: each finds out for itself, and none can be blocked by another's mistake.
    """

    def __init__(
        self,
        threshold: int = 5,
        cool_down_s: float = 15.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._threshold = threshold
        self._cool_down_s = cool_down_s
        self._monotonic = monotonic
        self._circuits: dict[Hashable, _Circuit] = {}
        self._lock = threading.Lock()

    @contextmanager
    def guard(self, key: Hashable, name: str) -> Iterator[None]:
        """Let a call through and learn from its end; raises `ProviderError` naming `name` while open."""
        probe = self._enter(key, name)
        try:
            yield
        except ProviderFailure as failed:
            self._leave(key, probe, outage=failed.outage)
            raise
        except BaseException:
            # Says nothing about the upstream, but a probe that ends so has not shown it to be well.
            self._leave(key, probe, outage=None)
            raise
        self._leave(key, probe, outage=False)

    def _enter(self, key: Hashable, name: str) -> bool:
        with self._lock:
            circuit = self._circuits.get(key)
            if circuit is None or circuit.opened_at is None:
                return False
            waited_s = self._monotonic() - circuit.opened_at
            if circuit.probing or waited_s < self._cool_down_s:
                raise ProviderError(
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
            circuit = self._circuits.setdefault(key, _Circuit())
            circuit.outages += bool(outage)
            if probe or circuit.outages >= self._threshold:
                circuit.opened_at = self._monotonic()
                circuit.probing = False
