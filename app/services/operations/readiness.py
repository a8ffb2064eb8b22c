"""Checks the dependencies of a process for load balancers, and examines an instance for its operators."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import redis

from app.concurrency.deadline import within
from app.database.transactions import Database
from app.errors import Unavailable
from app.models import schema
from app.redis_store import keys
from app.redis_store.broker import QUEUES, REQUEST_QUEUES, queues_without_workers, workers_seen
from app.services.ingest.storer import Storer, StorerState
from config.settings import Settings

# The time limit of the checks of the database and Redis: a load balancer should get an answer within 2 s.
DATABASE_S = 1.2
REDIS_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Checks dependencies; `queues` are the instance's, `storer` stores span batches in other processes, if any."""

    database: Database
    client: redis.Redis
    queues: Sequence[str]
    storer: Storer | None

    def problems(self) -> list[str]:
        """Return a sentence for each missing dependency; empty if requests can be served."""
        with within(DATABASE_S, grace_s=0):
            database_problem = self.database_problem()
        with within(REDIS_S, grace_s=0):
            redis_problem = self.redis_problem()
            workers_problem = None if redis_problem else self.workers_problem()
        problems = [database_problem, redis_problem, workers_problem, self.storer_problem()]
        return [problem for problem in problems if problem]

    def warnings(self) -> list[str]:
        """Return a sentence for each partly missing dependency that still lets requests be served."""
        states = self._storer_states()
        part = 0 < states.get("ready", 0) < sum(states.values())
        return [f"Not every process is ready to store batches of spans: {_words(states)}."] if part else []

    def storer_problem(self) -> str | None:
        """Check that one of the processes that store batches of spans is ready, if there are any."""
        states = self._storer_states()
        if not states or states["ready"]:
            return None
        return f"No process is ready to store batches of spans: {_words(states)}."

    def database_problem(self) -> str | None:
        """Check the schema; a newer one is accepted, because older processes go on during a roll-out."""
        try:
            current = schema.current_revision(self.database)
        except Unavailable as error:
            return str(error)
        if current == schema.newest_revision() or current not in schema.revisions():
            return None
        return f"The database's schema is at {current or 'no revision'}: run `reprise db upgrade`."

    def redis_problem(self) -> str | None:
        """Return why Redis can't be used; None if it answers."""
        try:
            self.client.ping()
        except redis.RedisError as error:
            return _redis_away(error)
        return None

    def workers_problem(self) -> str | None:
        """Check that every queue needed by requests has a process that fetched messages recently."""
        needed = set(REQUEST_QUEUES).intersection(self.queues)
        try:
            idle = queues_without_workers(self.client, sorted(needed))
            if idle:  # workers that can't write are not seen, for example because Redis is full
                self.client.set(keys.WRITE_PROBE, "", px=1)
        except redis.ResponseError as error:
            return f"Redis refuses commands: {str(error).rstrip('.')}."
        except redis.RedisError as error:
            return _redis_away(error)
        return f"No worker was seen on: {', '.join(idle)}." if idle else None

    def _storer_states(self) -> Mapping[StorerState, int]:
        return self.storer.states() if self.storer else {}


def _redis_away(error: redis.RedisError) -> str:
    return f"Redis does not answer: {str(error).rstrip('.')}."


def _words(states: Mapping[StorerState, int]) -> str:
    return ", ".join(f"{count} {state}" for state, count in states.items() if count)


FREE_BYTES = 1024**3


@dataclass(frozen=True, slots=True)
class ReadinessFinding:
    """What was found by one check; `remedy` is what the operator should do unless it is `ok`."""

    check: str
    ok: bool
    state: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Doctor:
    """Examines an instance for its operator: settings, database, Redis, workers and disk."""

    settings: Settings
    readiness: Readiness
    client: redis.Redis

    def examine(self) -> list[ReadinessFinding]:
        """Return all findings, in the order in which problems should be solved."""
        return [self._mode(), self._secret_key(), self._database(), *self._services(), self._disk()]

    def _mode(self) -> ReadinessFinding:
        mode = "embedded, all in one process" if self.settings.embedded else "MySQL and Redis"
        return ReadinessFinding("settings", True, mode, "")

    def _secret_key(self) -> ReadinessFinding:
        present = bool(self.settings.secret_key) or self.settings.embedded
        remedy = "Set REPRISE_SECRET_KEY to the same long random text for every process."
        return ReadinessFinding("secret key", present, "set" if present else "missing", remedy)

    def _database(self) -> ReadinessFinding:
        remedy = "Run `reprise db upgrade`; check DATABASE_URL and that the server accepts connections from here."
        if file := self.readiness.database.missing_file:
            # Connecting would create the file.
            remedy = "Start `reprise serve`, which creates it, or restore a backup with `reprise restore`."
            return ReadinessFinding("database", False, f"{file} is missing or empty.", remedy)
        if file := self.readiness.database.file:
            remedy = f"Run `reprise db upgrade`; check that {file} is a SQLite database that you may read and write."
        problem = self.readiness.database_problem()
        return ReadinessFinding("database", problem is None, problem or "reachable, schema up to date", remedy)

    def _services(self) -> Iterator[ReadinessFinding]:
        """Yield the findings on Redis and the workers of its queues; the embedded mode runs both in `reprise serve`."""
        if self.settings.embedded:
            return
        problem = self.readiness.redis_problem()
        remedy = "Check REDIS_URL, that the server runs, and that it accepts connections from here."
        yield ReadinessFinding("Redis", problem is None, problem or "reachable", remedy)
        if problem is None:
            yield from (self._workers(queue) for queue in QUEUES)

    def _workers(self, queue: str) -> ReadinessFinding:
        count = workers_seen(self.client, queue)
        remedy = f"Start the process `{queue}` of the Procfile, or look into its log."
        return ReadinessFinding(f"workers of {queue}", count > 0, str(count), remedy)

    def _disk(self) -> ReadinessFinding:
        home = self.settings.home
        free = shutil.disk_usage(next(folder for folder in (home, *home.parents) if folder.exists())).free
        remedy = f"Make room in {self.settings.home}, or set REPRISE_HOME to a folder elsewhere."
        return ReadinessFinding("disk", free >= FREE_BYTES, f"{free / 1024**3:.1f} GiB free", remedy)
