"""A circuit breaker for a server that hangs: one caller at a time waits for it, the others fail at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import KW_ONLY, dataclass, field


@dataclass(slots=True)
class OutageBreaker:
    """Opens after one outage; after each `cool_down_s` one call probes whether the outage is over.

    It is kept in the memory of one process, so that no process blocks another by its own mistake. `is_outage` tells
    whether an error is an outage (True), shows that the server answers (False), or shows neither (None). `refusal`
    makes the error of a call that is not let through from its message, which names the server by `name`.
    """

    name: str
    _: KW_ONLY
    is_outage: Callable[[BaseException], bool | None]
    refusal: Callable[[str], Exception]
    cool_down_s: float
    monotonic: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _outages: int = field(default=0, init=False)
    _opened_at: float = field(default=0.0, init=False)
    _probing: bool = field(default=False, init=False)

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Let a call through and learn from its end; raises the refusal while the breaker is open."""
        probe = self._enter()
        with ExitStack() as stack:
            stack.push(
                lambda _, error, __: self._leave(probe, outage=False if error is None else self.is_outage(error))
            )
            yield

    def _enter(self) -> bool:
        """Return whether the call is a probe."""
        with self._lock:
            if not self._outages:
                return False
            if self._probing or self.monotonic() - self._opened_at < self.cool_down_s:
                raise self.refusal(
                    f"{self.name} failed {self._outages} times in a row; it is not asked again for a moment."
                )
            self._probing = True
            return True

    def _leave(self, probe: bool, outage: bool | None) -> None:
        with self._lock:
            if outage is False:
                self._outages = 0
            elif probe or outage:
                # A probe that shows neither has not shown that the server answers.
                self._outages += bool(outage)
                self._opened_at = self.monotonic()
            if probe or outage is False:
                self._probing = False
