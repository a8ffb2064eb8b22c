"""Retention: removes rows that have expired by their projects' policies, some at every tick of the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

import structlog
from sqlalchemy import Connection

from app.db import Database
from app.models import data_policies, removal
from app.models.base import earlier_now
from app.models.data_policies import DataPolicy
from app.services.data.removal import Remover, Step
from app.timestamps import Now

log = structlog.get_logger(__name__)
# The other jobs of the clock wait during this time.
BUDGET_S = 3.0


@dataclass(slots=True, kw_only=True)
class RetentionService:
    """Test cases have copies of what they need, so they are never removed."""

    database: Database
    now: Now
    remover: Remover
    earlier_now: Callable[[Connection, datetime], datetime] = earlier_now
    budget_s: float = BUDGET_S
    _last: int = field(default=0, init=False)

    def apply(self) -> int:
        """Remove expired rows until none are left or the time is used up; returns their number."""
        until = self.remover.monotonic() + self.budget_s
        with self.database.read() as connection:
            policies = data_policies.list_policies(connection)
            now = self.earlier_now(connection, self.now())
        removed = 0
        # Begins after the project at which the last call ran out of time, so that each gets a share.
        for project_id in sorted(policies, key=lambda id_: (id_ <= self._last, id_)):
            if self.remover.monotonic() >= until:
                break
            for step in _steps(project_id, policies[project_id], now):
                removed += self.remover.exhaust(step, until=until)
            self._last = project_id
        if removed:
            log.info("retention", rows=removed)
        return removed


def _steps(project_id: int, policy: DataPolicy, now: datetime) -> Iterator[Step]:
    for days, remove in (
        (policy.spans_days, removal.remove_old_turns),
        (policy.runs_days, removal.remove_old_runs),
        (policy.replays_days, removal.remove_old_replays),
        (policy.rejected_days, removal.remove_old_rejected),
    ):
        if days is not None:
            yield partial(remove, project_id=project_id, before=now - timedelta(days=days))
