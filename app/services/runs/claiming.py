"""Claims runs for this process: those whose messages come at the same time in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from app.coalesce import Coalescer
from app.db import Database
from app.models import runs
from app.models.runs import RunRow
from app.timestamps import Now
from app.work.table import Claim, WorkTable

HEARTBEAT_S = 10.0
RUN_WORK = WorkTable(runs.runs, waiting=runs.runs.c.status == "queued")
ClaimedRun = tuple[RunRow, Claim]


class RunClaims:
    """Claims one run in a transaction of its own, and in the next one all whose claims were requested meanwhile.

    Runs that are claimed together share the token of their claims.
    """

    def __init__(self, database: Database, now: Now) -> None:
        self._database = database
        self._now = now
        self._claim: Coalescer[int, ClaimedRun | None] = Coalescer(self.claim_all)

    def claim(self, run_id: int) -> ClaimedRun | None:
        """Make the queued run this process's own; None when another worker was faster, or the run is not queued."""
        return self._claim(run_id)

    def claim_all(self, run_ids: Sequence[int]) -> list[ClaimedRun | None]:
        """`claim` for several runs, in their order; an id that comes twice gets its run once."""
        token, now = str(uuid4()), self._now()
        ids = sorted(set(run_ids))
        rows = self._database.retrying(
            lambda connection: (
                runs.find_claimed(connection, run_ids=ids, token=token)
                if RUN_WORK.claim(connection, ids, token=token, now=now)
                else []
            )
        )
        claimed = {row.id: (row, Claim(row.id, token, now)) for row in rows}
        return [claimed.pop(run_id, None) for run_id in run_ids]
