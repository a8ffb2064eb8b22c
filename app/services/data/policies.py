"""Data policies of projects: read and replaced, and their retention applied at every tick of the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import partial

import structlog
from sqlalchemy import Connection

from app.db import Database
from app.encryption import NO_KEY
from app.errors import Invalid
from app.models import audit_log, data_policies, organizations, removal
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.base import earlier_now
from app.models.data_policies import DataPolicy
from app.otlp.masking import Rule, checked
from app.services.data.deletion import Remover, Step
from app.services.data.masking import MaskingRules
from app.timestamps import Now


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPolicyService:
    database: Database
    now: Now
    rules: MaskingRules
    can_encrypt: bool

    def get(self, *, project_id: int) -> DataPolicy:
        with self.database.read() as connection:
            return data_policies.find_policy(connection, project_id=project_id)

    def put(self, *, project_id: int, policy: DataPolicy, actor: Actor = SYSTEM) -> None:
        """Replace the policy; rows that are stored already are not masked. `Invalid` for a rule that can't be used."""
        if checked([Rule(**rule) for rule in policy.masking]) and not self.can_encrypt:
            raise Invalid(f"masking: {NO_KEY}")
        with self.database.write() as connection:
            project = organizations.require_project(connection, project_id)
            data_policies.put_policy(connection, project_id=project_id, policy=policy)
            audit_log.note(
                connection,
                self.now(),
                actor,
                Action.DATA_POLICY_CHANGED,
                project.name,
                project_id=project_id,
                details=asdict(policy),
            )
        self.rules.forget(project_id)


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
