"""Alert rules of projects, with the last value and the state of each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from sqlalchemy import Boolean, Connection, Double, ForeignKey, Index, Integer, case, func, select, update

from app.models import queries
from app.models.base import BigInt, Timestamp, exact, new_table
from app.models.organizations import projects
from app.models.sessions import sessions

SESSIONS_MAX = 10_000
"""The most sessions, the latest ones, of which an error share is computed."""
Metric = Literal["errorShare", "uncoveredShare", "observedCost", "cost"]
SHARES: frozenset[Metric] = frozenset({"errorShare", "uncoveredShare"})
"""The metrics that are shares from 0 to 1."""


@dataclass(frozen=True, slots=True)
class AlertRule:
    """Fires while `metric` is above `threshold`, for the project or for one prompt.

    `errorShare` is the share (0 to 1) of sessions of the last `window_minutes` that had errors, when there are at least
    `min_sessions`. `uncoveredShare` is the share that no suite of the prompt represents. `observedCost` is the cost in
    USD of traced calls on the days of the window, `cost` that of runs and replays. `value` is the last measurement,
    None for too few sessions. A rule is evaluated only while it is `enabled`. `revision` grows with each change that a
    person makes.
    """

    id: int
    project_id: Annotated[int, BigInt, ForeignKey("projects.id")]
    prompt_id: Annotated[int | None, BigInt]
    metric: Annotated[Metric, exact(16)]
    threshold: Annotated[float, Double]
    window_minutes: Annotated[int, Integer]
    min_sessions: Annotated[int, Integer]
    enabled: Annotated[bool, Boolean]
    firing_since: Annotated[datetime | None, Timestamp]
    value: Annotated[float | None, Double]
    created_at: Annotated[datetime, Timestamp]
    revision: Annotated[int, Integer]


alert_rules = new_table(
    "alert_rules",
    AlertRule,
    Index("ix_alert_rules_project_id", "project_id"),
    Index("ix_alert_rules_prompt_id", "prompt_id"),
)
_C = alert_rules.c
_SELECT = select(*queries.columns_of(AlertRule, alert_rules))


def list_rules(connection: Connection, *, project_id: int) -> list[AlertRule]:
    """List a project's rules, oldest first."""
    return queries.list_rows(connection, AlertRule, _SELECT.where(_C.project_id == project_id).order_by(_C.id))


def owners(connection: Connection) -> dict[int, int]:
    """Return {rule id: organization id} of the enabled rules of all projects."""
    enabled = select(_C.id, projects.c.organization_id).join(projects, projects.c.id == _C.project_id)
    return queries.id_pairs(connection, enabled.where(_C.enabled))


def find_enabled(connection: Connection, rule_id: int) -> AlertRule | None:
    """Return the rule, unless it was paused or removed."""
    return queries.find_row(connection, AlertRule, _SELECT.where(_C.id == rule_id, _C.enabled))


def find_rule(connection: Connection, *, project_id: int, rule_id: int, lock: bool = False) -> AlertRule | None:
    """Return the project's rule, locked until the end of the transaction if `lock`."""
    statement = _SELECT.where(_C.id == rule_id, _C.project_id == project_id)
    return queries.find_row(connection, AlertRule, statement.with_for_update() if lock else statement)


def note_value(connection: Connection, rule: AlertRule, *, value: float | None, firing_since: datetime | None) -> bool:
    """Store the value. Returns False if another process has changed the rule meanwhile, else whether the rule fires."""
    same = update(alert_rules).where(_C.id == rule.id, _C.revision == rule.revision)
    unmoved = same.where(_C.firing_since.is_not_distinct_from(rule.firing_since))
    return queries.changes_row(connection, unmoved.values(value=value, firing_since=firing_since))


def error_share(connection: Connection, rule: AlertRule, *, from_ns: int) -> float | None:
    """Return the share of sessions since `from_ns` that had errors; None for too few sessions."""
    c = sessions.c
    started = select(c.errors).where(c.project_id == rule.project_id, c.start_ns >= from_ns)
    if rule.prompt_id is not None:
        started = started.where(c.prompt_id == rule.prompt_id)
    latest = started.order_by(c.start_ns.desc(), c.id.desc()).limit(SESSIONS_MAX).subquery()
    # Sessions that are not added up yet have no number of errors and are not counted.
    failed = func.sum(case((latest.c.errors > 0, 1), else_=0))
    count, errors = connection.execute(select(func.count(latest.c.errors), failed)).one()
    return int(errors) / int(count) if count >= rule.min_sessions else None
