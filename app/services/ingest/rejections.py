"""Stores the reasons why spans were rejected and batches were refused, and logs the refused batches.

Most exporters print no answer, or only its reason phrase.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog
from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import ServiceError
from app.models import rejected_spans
from app.models.api_keys import ApiKey
from app.models.rejected_spans import RejectedSpan
from app.otlp.span import Code, Rejection
from app.services.accounts.keys import KeyService
from app.timestamps import Now

log = structlog.get_logger(__name__)

# A process notes each reason of an address once in this time.
QUIET_S = 10.0
REASONS_PER_ADDRESS, ADDRESSES_MAX = 10, 1000
"""What a process notes in `QUIET_S`, so that refused requests can't fill the log or the table."""
CODES: dict[int, Code] = {
    400: "batch_400",
    403: "batch_403",
    404: "batch_404",
    405: "batch_405",
    413: "batch_413",
    415: "batch_415",
    429: "batch_429",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectionService:
    database: Database
    now: Now

    def keep(self, project_id: int, rejected: Sequence[Rejection]) -> None:
        """Store the newest rejections of a project, and remove the oldest ones."""
        if not rejected:
            return
        now = self.now()
        rows = [
            RejectedSpan(
                project_id,
                rejection.prompt_id,
                rejection.trace_id,
                rejection.span_id,
                rejection.name,
                rejection.code,
                rejection.reason[:1000],
                now,
            )
            for rejection in rejected
        ]

        def work(connection: Connection) -> None:
            rejected_spans.add_rejected(connection, rows)
            rejected_spans.forget_old(connection, project_id=project_id)

        self.database.retrying(work)


@dataclass(frozen=True, slots=True)
class RefusedBatch:
    """A batch that was refused as a whole. `status` is the status of the answer, `prompt_id` is from its path."""

    address: str
    path: str
    status: int
    reason: str
    prompt_id: int | None = None


@dataclass(slots=True, kw_only=True)
class RefusalService:
    """Notes refused batches: a line in the log, and a row of the project that the API key belongs to."""

    keys: KeyService
    rejections: RejectionService
    monotonic: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _noted: dict[str, set[tuple[int, str]]] = field(default_factory=dict, init=False)
    _forget_at: float = field(default=0.0, init=False)

    def note(self, batch: RefusedBatch, key: ApiKey | None, header: str | None) -> None:
        """Note a batch of `key`, else of the key in the `Authorization` header. Failures to store are ignored."""
        if not self._is_new(batch):
            return
        project_id = key.project_id if key else self._project_of(header)
        log.warning(
            "batch_refused",
            status=batch.status,
            reason=batch.reason,
            path=batch.path,
            address=batch.address,
            project_id=project_id,
        )
        if project_id is None or batch.status not in CODES:
            return
        rejection = Rejection("", "", batch.path[:255], CODES[batch.status], batch.reason, batch.prompt_id)
        try:
            self.rejections.keep(project_id, [rejection])
        except ServiceError:
            log.warning("refusal_not_stored", project_id=project_id)

    def _is_new(self, batch: RefusedBatch) -> bool:
        reason = (batch.status, batch.reason)
        with self._lock:
            now = self.monotonic()
            if now >= self._forget_at:
                self._noted, self._forget_at = {}, now + QUIET_S
            if len(self._noted) >= ADDRESSES_MAX and batch.address not in self._noted:
                return False
            noted = self._noted.setdefault(batch.address, set())
            if reason in noted or len(noted) >= REASONS_PER_ADDRESS:
                return False
            noted.add(reason)
            return True

    def _project_of(self, header: str | None) -> int | None:
        try:
            return self.keys.authenticate(header).project_id
        except ServiceError:
            return None
