"""Examines an instance: each finding says what was found and, when that is a problem, what to do."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import redis

from app.redis_store.broker import QUEUES, workers_seen
from app.services.operations.readiness import Readiness
from config.settings import Settings

FREE_BYTES = 1024**3


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    ok: bool
    found: str
    remedy: str


class Doctor:
    def __init__(self, *, settings: Settings, readiness: Readiness, client: redis.Redis) -> None:
        self._settings = settings
        self._readiness = readiness
        self._client = client

    def examine(self) -> list[Finding]:
        """All findings, in the order in which problems are best solved."""
        return [self._mode(), self._secret_key(), self._database(), *self._services(), self._disk()]

    def _mode(self) -> Finding:
        mode = "embedded, all in one process" if self._settings.embedded else "MySQL and Redis"
        return Finding("settings", True, mode, "")

    def _secret_key(self) -> Finding:
        present = bool(self._settings.secret_key) or self._settings.embedded
        remedy = "Set REPRISE_SECRET_KEY to the same long random text for every process."
        return Finding("secret key", present, "set" if present else "missing", remedy)

    def _database(self) -> Finding:
        problem = self._readiness.database_problem()
        remedy = "Run `reprise db upgrade`; check DATABASE_URL and that the server takes connections from here."
        return Finding("database", problem is None, problem or "reachable, schema up to date", remedy)

    def _services(self) -> Iterator[Finding]:
        """Redis and who works on its queues; the embedded mode has both inside `reprise serve`."""
        if self._settings.embedded:
            return
        problem = self._readiness.redis_problem()
        remedy = "Check REDIS_URL, that the server runs, and that it takes connections from here."
        yield Finding("Redis", problem is None, problem or "reachable", remedy)
        if problem is None:
            yield from (self._workers(queue) for queue in QUEUES)

    def _workers(self, queue: str) -> Finding:
        count = workers_seen(self._client, queue)
        remedy = f"Start the process `{queue}` of the Procfile, or look into its log."
        return Finding(f"workers of {queue}", count > 0, str(count), remedy)

    def _disk(self) -> Finding:
        free = shutil.disk_usage(self._settings.home).free
        remedy = f"Make room in {self._settings.home}, or set REPRISE_HOME to a folder elsewhere."
        return Finding("disk", free >= FREE_BYTES, f"{free / 1024**3:.1f} GiB free", remedy)
