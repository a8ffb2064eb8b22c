"""Delivers batches from another thread: from disk, in order, again and again while Reprise is unreachable.

A batch is on disk before it is sent and is removed after Reprise has answered that it is stored. A process that dies
between the two sends it again, and Reprise stores each span once.
"""

from __future__ import annotations

import gzip
import logging
import os
import random
import re
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, attach, set_value

from reprise_client.instrumentation.endpoint import Away, BatchRefused, Outcome, Stored, TraceEndpoint
from reprise_client.instrumentation.otlp_json import Batch
from reprise_client.instrumentation.spool import Spool, spans_of

logger = logging.getLogger("reprise_client.instrumentation")

FIRST_RETRY_S, LAST_RETRY_S, LONGEST_RETRY_AFTER_S = 1.0, 60.0, 600.0
IDLE_S = 60.0
"""How often it looks for batches that other processes left."""
BUSY_S = 1.0
"""How often it looks whether another process has sent what is there."""
STRIKES = 5
"""Answers with an error of the server after which one batch is given up, so that it does not hold up the others."""
IN_MEMORY = 64
"""Batches that are kept where there is no disk to write to."""
_VARYING = re.compile(r"[0-9a-f]{16,}|\d+")


@dataclass
class Warnings:
    """Logs each warning once, whatever numbers and ids it has."""

    seen: set[str] = field(default_factory=set)

    def warn(self, message: str) -> None:
        """Log `message` unless one like it was logged."""
        kind = _VARYING.sub("#", message)
        if kind not in self.seen and len(self.seen) < 100:
            self.seen.add(kind)
            logger.warning("%s", message)


class Delivery:
    """Keeps batches, and sends them while Reprise is reachable. All methods may be called from any thread."""

    def __init__(self, spool: Spool, endpoint: TraceEndpoint) -> None:
        self._spool, self._endpoint = spool, endpoint
        self._warnings = Warnings()
        self._reset()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=_call_if_alive(weakref.WeakMethod(self._reset)))

    def _reset(self) -> None:
        """Start again without a thread, as in a process that was forked: its parent sends what was in memory."""
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._memory: deque[tuple[int, bytes]] = deque(maxlen=IN_MEMORY)
        self._asked = True
        self._stopping = False
        self._passes_begun = self._passes_done = 0
        self._away: Away | None = None
        self._failures = self._strikes = 0
        self._retry_at = self._ordered_until = 0.0

    def put(self, batch: Batch) -> None:
        """Keep a batch on disk, and have it sent."""
        body = gzip.compress(batch.body, 6)
        try:
            lost = self._spool.put(body, batch.spans)
        except OSError as error:
            self._warnings.warn(f"Spans are kept in memory, as {self._spool.folder} can't be written: {error}")
            lost = self._remember(batch.spans, body)
        if lost:
            logger.warning("%d spans that Reprise had not taken were dropped, the oldest, to keep to the limits", lost)
        self.start()
        with self._changed:
            if self._away is None:
                self._ask()

    def start(self) -> None:
        """Start the thread unless it runs. A process that ends starts none: what it has is on disk."""
        with self._changed:
            if self._thread is None and not self._stopping:
                thread = threading.Thread(target=self._run, name="reprise-delivery", daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    return
                self._thread = thread

    def flush(self, timeout_s: float) -> bool:
        """Return whether all was sent within `timeout_s`. Where Reprise is away it returns without waiting for it."""
        deadline = time.monotonic() + timeout_s
        self.start()
        while self._attempt(deadline):
            if not self._memory and not self._spool.names():
                return True
            if self._away or time.monotonic() >= deadline:
                return False
            time.sleep(0.02)
        return False

    def shutdown(self, timeout_s: float) -> None:
        """Send what can be sent within `timeout_s`, and end the thread.

        A request in progress may last longer; its thread then ends with it.
        """
        if self._stopping:
            return
        deadline = time.monotonic() + timeout_s
        self.flush(timeout_s)
        with self._changed:
            self._stopping = True
            self._ask()
            thread = self._thread
        if thread is not None:
            thread.join(max(deadline - time.monotonic(), 0))

    def _ask(self) -> None:
        self._asked = True
        self._changed.notify_all()

    def _attempt(self, deadline: float) -> bool:
        """Have one pass made from its beginning; returns whether it ended in time."""
        with self._changed:
            if self._thread is None or not self._thread.is_alive():
                return False
            wanted = self._passes_begun + 1
            self._ask()
            return self._changed.wait_for(lambda: self._passes_done >= wanted, deadline - time.monotonic())

    def _run(self) -> None:
        # The requests of this thread are no part of what the application does.
        attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, True))
        with self._endpoint.open() as http:
            while self._wait():
                try:
                    self._send_all(http)
                except Exception as error:  # noqa: BLE001 - nothing may end this thread but the end of the process
                    self._warnings.warn(f"Spans could not be sent: {type(error).__name__}: {error}")
                    self._retry_at = time.monotonic() + LAST_RETRY_S
                with self._changed:
                    self._passes_done = self._passes_begun
                    self._changed.notify_all()

    def _wait(self) -> bool:
        """Wait until there may be something to send; returns False when the thread has to end."""
        with self._changed:
            due = self._retry_at if self._retry_at else time.monotonic() + IDLE_S
            self._changed.wait_for(lambda: self._asked, max(due - time.monotonic(), 0))
            self._asked = False
            self._passes_begun += 1
            return not self._stopping

    def _send_all(self, http: httpx.Client) -> None:
        """Send what is there, the oldest first, until nothing is or Reprise is away."""
        if time.monotonic() < self._ordered_until:
            return
        self._retry_at = 0.0
        with self._spool.sending() as held:
            if not held:
                self._retry_at = time.monotonic() + BUSY_S
                return
            for name in self._spool.names():
                body = self._spool.read(name)
                if body is not None and not self._sent(http, body, spans_of(name)):
                    return
                self._spool.remove(name)
        if self._send_memory(http):
            self._away, self._failures = None, 0

    def _send_memory(self, http: httpx.Client) -> bool:
        """Return whether nothing is left in memory."""
        while self._memory:
            spans, body = first = self._memory[0]
            if not self._sent(http, body, spans):
                return False
            if self._memory and self._memory[0] is first:
                self._memory.popleft()
        return True

    def _remember(self, spans: int, body: bytes) -> int:
        """Keep a batch in memory; returns the spans of the batch that had to go for it."""
        lost = self._memory[0][0] if len(self._memory) == IN_MEMORY else 0
        self._memory.append((spans, body))
        return lost

    def _sent(self, http: httpx.Client, body: bytes, spans: int) -> bool:
        """Send a batch; returns whether it is done with, because it was stored or because it never will be."""
        outcome = self._given_up(self._endpoint.send(http, body))
        if isinstance(outcome, Away):
            self._back_off(outcome)
            return False
        if isinstance(outcome, BatchRefused):
            self._warnings.warn(f"Reprise refused {spans} spans, which are dropped: {outcome.words}")
        elif outcome.rejected:
            self._warnings.warn(f"Reprise rejected {outcome.rejected} of {spans} spans: {outcome.words}")
        if self._away and isinstance(outcome, Stored):
            logger.info("Reprise accepts spans again")
        self._away, self._failures, self._strikes = None, 0, 0
        return True

    def _given_up(self, outcome: Outcome) -> Outcome:
        """Return that a batch is refused when the server fails at it again and again."""
        if not (isinstance(outcome, Away) and outcome.broken):
            return outcome
        self._strikes += 1
        return BatchRefused(outcome.words) if self._strikes >= STRIKES else outcome

    def _back_off(self, away: Away) -> None:
        if self._away is None:
            logger.warning("Reprise accepts no spans now (%s); they are kept and sent later", away.words)
        self._away = away
        self._failures = min(self._failures + 1, 10)
        wait_s = min(FIRST_RETRY_S * 2.0 ** (self._failures - 1), LAST_RETRY_S) * random.uniform(0.5, 1.0)  # noqa: S311
        now = time.monotonic()
        if away.retry_after_s is not None:
            wait_s = min(max(away.retry_after_s, FIRST_RETRY_S), LONGEST_RETRY_AFTER_S)
            self._ordered_until = now + wait_s
        self._retry_at = now + wait_s


def _call_if_alive(method: weakref.WeakMethod[Any]) -> Callable[[], None]:
    """Return a function that keeps nothing alive."""

    def call() -> None:
        if bound_method := method():
            bound_method()

    return call
