"""Says in the database, while runs are in work in this process, that their worker is alive."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from app.db import Database
from app.errors import Unavailable
from app.models import runs
from app.timestamps import Now

log = structlog.get_logger(__name__)

BEAT_S = 10.0


class Heartbeat:
    """One statement every `every_s` for all runs of the process; its thread is there only while there are any."""

    def __init__(self, *, database: Database, now: Now, every_s: float = BEAT_S) -> None:
        self._database = database
        self._now = now
        self._every_s = every_s
        self._lock = threading.Lock()
        self._claims: dict[int, str] = {}
        self._thread: threading.Thread | None = None

    @contextmanager
    def of(self, run_id: int, token: str) -> Iterator[None]:
        """Beat for the run until the block ends."""
        with self._lock:
            self._claims[run_id] = token
            if self._thread is None:
                self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._claims.pop(run_id, None)

    def _beat(self) -> None:
        while True:
            time.sleep(self._every_s)
            with self._lock:
                claims = dict(self._claims)
                if not claims:
                    self._thread = None
                    return
            try:
                with self._database.write() as connection:
                    runs.touch_claims(connection, claims=claims, now=self._now())
            except Unavailable as error:
                log.warning("heartbeat_missed", runs=len(claims), error=str(error))
