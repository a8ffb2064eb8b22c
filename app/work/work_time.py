"""Limits how long a job of the clock works at a time: shorter while ingest needs the processor."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

BUSY_PART = 0.1
"""The fraction of its time for which a job works while batches arrive, unless it has a smaller one."""
LAGGING_S = 60.0
"""A job that has not caught up for so many seconds uses all of its time, even while batches arrive."""


@dataclass(slots=True)
class WorkTime:
    """A job works for `full_s` seconds at a time, or for `busy_part` of that while `busy` and not behind for a minute.

    `busy` returns whether batches arrive; it may query Redis. `monotonic` returns seconds. A job finishes the piece of
    work that it has begun, so each call of a job does at least one piece.
    """

    full_s: float
    busy: Callable[[], bool] = lambda: False
    monotonic: Callable[[], float] = time.monotonic
    busy_part: float = BUSY_PART
    _began: float = field(default=0.0, init=False)
    _caught_up: float | None = field(default=None, init=False)

    def begin(self) -> None:
        self._began = self.monotonic()
        if self._caught_up is None:
            self._caught_up = self._began

    def caught_up(self) -> None:
        """Note that no work is left."""
        self._caught_up = self.monotonic()

    @property
    def is_over(self) -> bool:
        """Whether the job is to end. `busy` is asked only between `busy_part` of `full_s` and `full_s`."""
        now = self.monotonic()
        worked_s = now - self._began
        if worked_s >= self.full_s or worked_s < self.full_s * self.busy_part:
            return worked_s >= self.full_s
        return self.gives_way

    @property
    def gives_way(self) -> bool:
        """Whether the job is to leave the processor to ingest."""
        lags = self._caught_up is not None and self.monotonic() - self._caught_up >= LAGGING_S
        return not lags and self.busy()
