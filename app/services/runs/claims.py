"""Claims runs for this process."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from uuid import uuid4

from app.concurrency.batching import Coalescer
from app.database.transactions import Database
from app.models import runs
from app.models.runs import ClaimedRunRow
from app.timestamps import Now
from app.work.table import Claim, WorkTable

HEARTBEAT_S = 10.0
KEY_TTL = timedelta(hours=24)
RUN_WORK = WorkTable(runs.runs, waiting=runs.runs.c.status == "queued")
ClaimedRun = tuple[ClaimedRunRow, Claim]


class RunClaims:
    """Claims the first run immediately; the next statement claims all runs that were requested meanwhile.

    Runs that are claimed together share a token. The claim is committed before the rows are read: a worker that dies
    between the two keeps its claim until it expires, like one that dies later.
    """

    def __init__(self, database: Database, now: Now) -> None:
        self._database = database
        self._now = now
        self._claim: Coalescer[int, ClaimedRun | None] = Coalescer(self.claim_all)

    def claim(self, run_id: int) -> ClaimedRun | None:
        """Claim a queued run for this process; None if another worker was faster, or the run is not queued."""
        return self._claim(run_id)

    def claim_all(self, run_ids: Sequence[int]) -> list[ClaimedRun | None]:
        """Claim several runs, and return them in order; a repeated id gets its run once."""
        token, now = str(uuid4()), self._now()
        ids = sorted(set(run_ids))
        rows = self._database.retrying(
            lambda connection: (
                runs.find_claimed(connection, run_ids=ids, token=token)
                if RUN_WORK.claim(connection, ids, token=token, now=now)
                else []
            ),
            single=True,
        )
        claimed = {row.id: (row, Claim(row.id, token, now)) for row in rows}
        return [claimed.pop(run_id, None) for run_id in run_ids]
