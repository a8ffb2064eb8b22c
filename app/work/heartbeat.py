"""Heartbeats, which show that the worker of a row is alive, and a worker's retries while the database is away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ParamSpec, TypeVar

import structlog

from app.database.transactions import Database
from app.errors import Unavailable
from app.timestamps import Now
from app.work.table import WorkTable

P = ParamSpec("P")
T = TypeVar("T")
log = structlog.get_logger(__name__)

CLAIM_LOST_AFTER_BEATS = 8
"""After so many missed heartbeats another worker may soon have the claims; sweepers wait for some more."""


@dataclass(slots=True, kw_only=True)
class Heartbeat:
    """Touches all its rows of `table` with one statement every `every_s`.

    Its thread exists only while there are rows. `progress` returns columns that are written with each heartbeat.
    """

    database: Database
    now: Now
    table: WorkTable
    every_s: float
    progress: Callable[[], Mapping[str, Any]] = dict
    monotonic: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _tokens: dict[int, str] = field(default_factory=dict, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)
    _lost: bool = field(default=False, init=False)
    _beat_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._beat_at = self.monotonic()

    @contextmanager
    def of(self, row_id: int, token: str) -> Iterator[None]:
        """Keep the row alive until the block ends."""
        with self._lock:
            self._tokens[row_id] = token
            if self._thread is None:
                self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._tokens.pop(row_id, None)

    def lost(self) -> bool:
        """Return whether the last heartbeat found none of its claims: cancelled, or given to another worker.

        The heartbeat is sent now if the last one is long ago, because this process was stopped for a while.
        """
        if self.monotonic() - self._beat_at > CLAIM_LOST_AFTER_BEATS * self.every_s:
            self._send()
        return self._lost

    def _beat(self) -> None:
        while True:
            time.sleep(self.every_s)
            with self._lock:
                if not self._tokens:
                    self._thread = None
                    return
            self._send()

    def _send(self) -> None:
        with self._lock:
            tokens = dict(self._tokens)
        try:
            with self.database.write() as connection:
                touched = self.table.touch(connection, tokens, now=self.now(), values=self.progress())
            self._lost = touched == 0 < len(tokens)
        except Unavailable as error:
            log.warning("heartbeat_missed", **{self.table.name: len(tokens)}, error=str(error))
        self._beat_at = self.monotonic()


PATIENCE_S = 60.0
PAUSE_BEFORE_RETRY_S = 1.0


@dataclass(frozen=True, slots=True)
class Patience:
    """Calls a function again while it raises `Unavailable`, for `PATIENCE_S` at most; then that error is raised."""

    sleep: Callable[[float], None] = time.sleep

    def __call__(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return work(*args, **kwargs)
            except Unavailable:
                if time.monotonic() >= deadline:
                    raise
            self.sleep(PAUSE_BEFORE_RETRY_S)
