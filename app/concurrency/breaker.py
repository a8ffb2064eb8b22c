"""A circuit breaker for a server that hangs: one caller at a time waits for it, the others fail immediately."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass, field


@dataclass(slots=True)
class OutageBreaker:
    """Opens after one outage; after each `cool_down_s` one call probes whether the outage is over.

    Its state is in the memory of one process, so that a process with a local fault does not block the others.
    `is_outage` returns True for an error that is an outage, False for one that shows that the server answers, and None
    for others. `refusal` makes the error of a refused call from its message, which names the server by `name`.
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

    def guard(self) -> AbstractContextManager[None]:
        """Let a call through and learn from its outcome; raise the refusal while the breaker is open."""
        return _Guard(self)

    def note_outage(self) -> None:
        """Open the breaker for work that was cut off without an answer, but let the next call probe at once.

        The server may not hang: the work may only have been slow.
        """
        with self._lock:
            self._outages += 1
            self._opened_at = self.monotonic() - self.cool_down_s

    def _enter(self) -> bool:
        """Let a call through, as `guard` does; return whether it is a probe."""
        with self._lock:
            if not self._outages:
                return False
            if self._probing or self.monotonic() - self._opened_at < self.cool_down_s:
                raise self.refusal(
                    f"{self.name} failed {self._outages} times in a row; it is not asked again for a moment."
                )
            self._probing = True
            return True

    def _leave(self, probe: bool, error: BaseException | None) -> None:
        """Learn from the outcome of a call that `_enter` let through."""
        outage = False if error is None else self.is_outage(error)
        with self._lock:
            if outage is False:
                self._outages = 0
            elif probe or outage:
                # A probe with another error has not shown that the server answers.
                self._outages += bool(outage)
                self._opened_at = self.monotonic()
            if probe or outage is False:
                self._probing = False


class _Guard(AbstractContextManager[None]):
    """The context manager of `guard`. Each Redis command enters one, and a generator would be half as fast."""

    __slots__ = ("_breaker", "_probe")

    def __init__(self, breaker: OutageBreaker) -> None:
        self._breaker = breaker

    def __enter__(self) -> None:
        self._probe = self._breaker._enter()

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._breaker._leave(self._probe, error)
