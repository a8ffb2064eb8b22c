"""Claims runs for this process: those whose messages come at the same time in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from app.coalesce import Coalescer
from app.db import Database
from app.models import runs
from app.models.runs import Claim, RunRow
from app.timestamps import Now

Claimed = tuple[RunRow, Claim]


class Claiming:
    """Who comes alone is claimed for at once. Runs that are claimed together share the token of their claims."""

    def __init__(self, database: Database, now: Now) -> None:
        self._database = database
        self._now = now
        self._claim: Coalescer[int, Claimed | None] = Coalescer(self.claim_all)

    def claim(self, run_id: int) -> Claimed | None:
        """Make the queued run this process's own; None when somebody was faster, or there is nothing to do."""
        return self._claim(run_id)

    def claim_all(self, run_ids: Sequence[int]) -> list[Claimed | None]:
        """The same for several, in their order; of messages that came twice only one gets the run."""
        token, now = str(uuid4()), self._now()
        rows = self._database.retrying(
            lambda connection: runs.claim_runs(connection, run_ids=sorted(set(run_ids)), token=token, now=now)
        )
        claimed = {row.id: (row, Claim(row.id, token, now)) for row in rows}
        return [claimed.pop(run_id, None) for run_id in run_ids]
