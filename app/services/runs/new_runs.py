"""Inserts the rows of new runs, and finds the runs of earlier requests with the same Idempotency-Key."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from operator import attrgetter
from typing import Any

import msgspec
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from app.concurrency.batching import Coalescer, GroupCommit
from app.concurrency.deadline import left_s
from app.database.transactions import Database
from app.errors import Conflict, Unavailable
from app.models import runs
from app.models.base import earlier_now
from app.models.idempotency_keys import ApiKeyAndDigest, KeptKey, add_keys, find_keys
from app.services.runs.claims import KEY_TTL
from app.timestamps import Now

# Runs that one process accepts at a time. When a thousand requests arrive together, a higher limit would only make all
# of them wait for the interpreter.
ACCEPTED_AT_ONCE = 16
# Far longer than a queue of a thousand runs needs. It only ends the waiting when the database hangs.
QUEUE_WAIT_S = 30.0
# The largest run, in bytes, that shares its INSERT with other runs: all of them together stay far below the database's
# packet size. A larger run is `large` (see `StartedRun`).
TOGETHER_MAX = 16_384
# Separate transactions that may be open at a time, so that they don't use all connections.
ALONE_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Idempotency:
    """An Idempotency-Key of an API key, and the body that it came with, both as SHA-256."""

    api_key_id: int
    key_digest: bytes
    body_digest: bytes

    @classmethod
    def of(cls, api_key_id: int, key: str, body: bytes) -> Idempotency:
        return cls(api_key_id, sha256(key.encode()).digest(), sha256(body).digest())

    @property
    def key(self) -> ApiKeyAndDigest:
        return self.api_key_id, self.key_digest


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A committed run. If `joined`, an earlier request started it and has already sent its message.

    A worker executes a `large` run only when it has memory for it.
    """

    run_id: int
    project_id: int
    joined: bool = False
    large: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """The columns of a run, its Idempotency-Key, and the contents that are stored with it until it ends."""

    columns: dict[str, Any]
    contents: Sequence[bytes] = ()
    idempotency: Idempotency | None = None

    @property
    def project_id(self) -> int:
        project_id: int = self.columns["project_id"]
        return project_id

    @property
    def size(self) -> int:
        """The size of the question, the request and the contents."""
        question, request = self.columns["question"], self.columns["request"]
        return len(question) + len(msgspec.json.encode(request)) + sum(map(len, self.contents))


@dataclass(slots=True, kw_only=True)
class RunInserter:
    """Inserts runs. Small runs that arrive while an INSERT is under way share the next one.

    Runs that share an INSERT belong to the same project. A large run, or a run with contents, is inserted in a
    separate transaction; `ALONE_AT_ONCE` of these may be open.
    """

    database: Database
    now: Now
    _insert_together: GroupCommit[NewRun, int] = field(init=False)
    _find_keys: Coalescer[ApiKeyAndDigest, KeptKey | None] = field(init=False)
    _alone: threading.BoundedSemaphore = field(init=False)

    def __post_init__(self) -> None:
        self._insert_together = GroupCommit(self._insert_all, project_of=attrgetter("project_id"), wait_s=QUEUE_WAIT_S)
        self._find_keys = Coalescer(self._find_all, wait_s=QUEUE_WAIT_S)
        self._alone = threading.BoundedSemaphore(ALONE_AT_ONCE)

    def find_started(self, project_id: int, idempotency: Idempotency | None) -> StartedRun | None:
        """Return the run of an earlier request with this Idempotency-Key; raises `Conflict` if its body differed."""
        kept = self._find_keys(idempotency.key) if idempotency else None
        if idempotency is None or kept is None:
            return None
        if kept.body_digest != idempotency.body_digest:
            raise Conflict("This Idempotency-Key was used with another body before.")
        return StartedRun(kept.run_id, project_id, joined=True)

    def insert(self, new: NewRun) -> StartedRun:
        """Commit the run, or return the run that a concurrent request with the same Idempotency-Key committed."""
        large = new.size > TOGETHER_MAX
        try:
            run_id = self._insert_alone(new) if large or new.contents else self._insert_together(new)
            return StartedRun(run_id, new.project_id, large=large)
        except IntegrityError:
            if started := self.find_started(new.project_id, new.idempotency):
                return started
            raise

    def _insert_alone(self, new: NewRun) -> int:
        if not self._alone.acquire(timeout=left_s(QUEUE_WAIT_S)):
            raise Unavailable("Too many large requests are being processed; try again.")
        try:
            return self._insert_all([new])[0]
        finally:
            self._alone.release()

    def _insert_all(self, new: Sequence[NewRun]) -> list[int]:
        by_one_statement = len(new) == 1 and not (new[0].idempotency or new[0].contents)
        return self.database.retrying(lambda connection: self._insert_in(connection, new), single=by_one_statement)

    def _insert_in(self, connection: Connection, new: Sequence[NewRun]) -> list[int]:
        """Insert the runs and their keys before their files: the second of two equal requests fails at its key."""
        now = self.now()
        rows = [{"status": "queued", "created_at": now, **run.columns} for run in new]
        run_ids = runs.add_runs(connection, rows)
        begun = list(zip(run_ids, new, strict=True))
        if keys := [(run_id, run.idempotency) for run_id, run in begun if run.idempotency]:
            now = earlier_now(connection, now)
            kept = [(key.key, KeptKey(key.body_digest, run_id, now)) for run_id, key in keys]
            add_keys(connection, kept, expired_before=now - KEY_TTL)
        for run_id, run in begun:
            runs.add_files(connection, run_id=run_id, contents=run.contents)
        return run_ids

    def _find_all(self, keys: Sequence[ApiKeyAndDigest]) -> list[KeptKey | None]:
        """Return what is stored of each key, None if it has expired."""
        with self.database.read() as connection:
            kept = find_keys(connection, keys)
            if kept:
                expired_before = earlier_now(connection, self.now()) - KEY_TTL
                kept = {key: key_row for key, key_row in kept.items() if key_row.created_at > expired_before}
        return [kept.get(key) for key in keys]
