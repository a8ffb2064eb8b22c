"""Passes on requests to stop a run: from any process to the worker that executes it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import redis
import structlog

from app.errors import Unavailable
from app.redis_store import keys

log = structlog.get_logger(__name__)

LOOK_S = 0.25
# Longer than a message can wait for a worker that is about to claim the run.
TTL_S = 600


@dataclass(slots=True)
class RunStops:
    """Asks Redis every `every_s` which of this process's runs are to stop, with one command for all of them.

    Its thread exists only while there are runs.
    """

    client: redis.Redis
    every_s: float = LOOK_S
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _stops: dict[int, Callable[[], None]] = field(default_factory=dict, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)

    def request(self, run_id: int) -> None:
        """Request that the worker of the run stops. Raises `Unavailable` when Redis is away."""
        try:
            self.client.set(keys.run_stop(run_id), b"1", ex=TTL_S)
        except redis.RedisError as error:
            raise Unavailable("The run was not cancelled, as Redis is not available; try again.") from error

    @contextmanager
    def of(self, run_id: int, stop: Callable[[], None]) -> Iterator[None]:
        """Call `stop`, in another thread, when the run is to stop before the block ends."""
        with self._lock:
            self._stops[run_id] = stop
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="run-stops", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._stops.pop(run_id, None)

    def _work(self) -> None:
        while True:
            time.sleep(self.every_s)
            with self._lock:
                stops = dict(self._stops)
                if not stops:
                    self._thread = None
                    return
            try:
                requested = self.client.mget([keys.run_stop(run_id) for run_id in stops])
            except redis.RedisError as error:
                log.debug("run_stops_not_read", runs=len(stops), error=str(error))
                continue
            for stop, is_requested in zip(stops.values(), requested, strict=True):
                if is_requested:
                    stop()
