"""Notices senders with a wrong clock, by the times of their spans. Their spans are stored; people only see a warning.

A clock that is ahead is certain: spans from the future. A clock that is behind looks like a batch that comes late. The
two differ in what follows: a sender that was cut off catches up, so that the delay shrinks, but a clock that is behind
keeps its delay while hours go by.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import structlog

from app.otlp.span import Rejection, Span, clock_ahead, clock_behind
from app.timestamps import Now

V = TypeVar("V")
log = structlog.get_logger(__name__)

WRONG_S = 3600.0
"""A clock that differs by less is not noticed."""
WATCHED_S, BATCHES, DRIFT_S = 600.0, 5, 60.0
"""A clock is behind if the delay of so many batches over so many seconds differs by less than `DRIFT_S`."""
QUIET_S = 3600.0
"""A process warns of a sender once in this time."""
SENDERS_MAX = 1000

Sender = tuple[int, int, str]
"""A project, a prompt and the scope of spans. OTLP has no id of the sender that is always there."""


@dataclass(slots=True)
class _Delay:
    """A delay since the batch that arrived `since`, and the number of batches that have had it."""

    seconds: float
    since: float
    batches: int = 1


@dataclass(slots=True, kw_only=True)
class ClockWatch:
    """What this process knows of the clocks of senders; the longest silent one of too many is forgotten."""

    now: Now
    _delays: OrderedDict[Sender, _Delay] = field(default_factory=OrderedDict, init=False)
    _warned: OrderedDict[Sender, float] = field(default_factory=OrderedDict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def warnings(self, project_id: int, spans: Sequence[Span]) -> list[Rejection]:
        """Return a row for the latest span of a batch if the clock of its sender is wrong; none if one was returned."""
        latest = max(spans, key=lambda span: span.end_ns, default=None)
        if latest is None:
            return []
        now = self.now().timestamp()
        sender = (project_id, latest.prompt_id, latest.scope)
        ahead_s, behind_s = latest.start_ns / 1e9 - now, now - latest.end_ns / 1e9
        with self._lock:
            is_behind = self._keeps(sender, behind_s, now)
            if not (ahead_s > WRONG_S or is_behind) or self._is_warned(sender, now):
                return []
        seconds = int(behind_s if is_behind else ahead_s)
        log.warning("clock_behind" if is_behind else "clock_ahead", project_id=project_id, seconds=seconds)
        return [(clock_behind if is_behind else clock_ahead)(latest, seconds)]

    def _keeps(self, sender: Sender, behind_s: float, now: float) -> bool:
        """Note the delay of a batch; returns whether the sender has kept it for so long that its clock is behind."""
        delay = self._delays.pop(sender, None)
        if behind_s <= WRONG_S:
            return False
        if delay is None or abs(behind_s - delay.seconds) > DRIFT_S:
            delay = _Delay(behind_s, now, batches=0)
        delay.batches += 1
        _put(self._delays, sender, delay)
        return delay.batches >= BATCHES and now - delay.since >= WATCHED_S

    def _is_warned(self, sender: Sender, now: float) -> bool:
        if now - self._warned.get(sender, -QUIET_S) < QUIET_S:
            return True
        self._warned.pop(sender, None)
        _put(self._warned, sender, now)
        return False


def _put(known: OrderedDict[Sender, V], sender: Sender, value: V) -> None:
    known[sender] = value
    if len(known) > SENDERS_MAX:
        known.popitem(last=False)
