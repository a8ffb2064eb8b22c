"""Alert rules: created by people and evaluated by the clock; webhooks get an event when a rule starts or stops."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import timedelta
from typing import Any

import structlog
from sqlalchemy import Connection

from app.database.transactions import Database, retried
from app.errors import Invalid, ServiceError, require
from app.models import alert_rules, audit_log, organizations
from app.models.alert_rules import SHARES, AlertRule, Metric
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.prompts import require_known
from app.models.queries import delete_rows, insert_row, update_rows
from app.models.usage import UsageFilter
from app.models.webhook_deliveries import add_event
from app.models.webhooks import WebhookEvent
from app.services.ingest.observed import ObservedService
from app.services.runs.usage import UsageService, total
from app.services.suites.coverage import CoverageService
from app.timestamps import Now, ns_of
from app.work.remover import SWEEP_S
from app.work.round_robin import RoundRobin

log = structlog.get_logger(__name__)

RULES_MAX = 50
DAY_MINUTES = 24 * 60
NO_RULE = "There is no such alert rule."


@dataclass(frozen=True, slots=True)
class NewAlertRule:
    """See `AlertRule`."""

    metric: Metric
    threshold: float
    window_minutes: int
    prompt_id: int | None = None
    min_sessions: int = 1
    enabled: bool = True


@dataclass(slots=True, kw_only=True)
class AlertService:
    database: Database
    now: Now
    observed: ObservedService
    usage: UsageService
    coverage: CoverageService
    monotonic: Callable[[], float] = time.monotonic
    _round_robin: RoundRobin = field(default_factory=RoundRobin, init=False)

    def list(self, *, project_id: int) -> list[AlertRule]:
        """Return the project's rules, oldest first."""
        with self.database.read() as connection:
            return alert_rules.list_rules(connection, project_id=project_id)

    def get(self, *, project_id: int, rule_id: int) -> AlertRule:
        with self.database.read() as connection:
            return _rule(connection, project_id, rule_id)

    @retried
    def create(self, *, project_id: int, new: NewAlertRule, actor: Actor = SYSTEM) -> AlertRule:
        """Create a rule; `Invalid` for an impossible threshold or window, `NotFound` if there is no such prompt."""
        with self.database.write() as connection:
            # Under the lock of the organization, the limit counts what is created at the same moment.
            organizations.lock_owner(connection, project_id)
            _check(connection, project_id, new)
            values = {**asdict(new), "project_id": project_id, "created_at": self.now(), "revision": 0}
            rule_id = insert_row(connection, alert_rules.alert_rules, **values)
            if len(alert_rules.list_rules(connection, project_id=project_id)) > RULES_MAX:
                raise Invalid(f"metric: A project has at most {RULES_MAX} alert rules; remove one first.")
            self._note(connection, actor, Action.ALERT_RULE_CREATED, new.metric, project_id)
            return _rule(connection, project_id, rule_id)

    @retried
    def change(self, *, project_id: int, rule_id: int, values: Mapping[str, Any], actor: Actor = SYSTEM) -> AlertRule:
        """Change the named fields of `NewAlertRule`; raises the same errors as `create`.

        A changed rule starts again: it does not fire until it is evaluated, and if it fired, an event reports the end.
        """
        with self.database.write() as connection:
            old = require(alert_rules.find_rule(connection, project_id=project_id, rule_id=rule_id, lock=True), NO_RULE)
            before = NewAlertRule(**{field_.name: getattr(old, field_.name) for field_ in fields(NewAlertRule)})
            new = replace(before, **values)
            if new == before:
                return old
            _check(connection, project_id, new)
            reset = {"firing_since": None, "value": None, "revision": old.revision + 1}
            update_rows(connection, alert_rules.alert_rules, {"id": rule_id}, **asdict(new), **reset)
            if old.firing_since is not None:
                self._add_event(connection, old, WebhookEvent.ALERT_ENDED, None)
            changed = [name for name in values if getattr(before, name) != getattr(new, name)]
            self._note(connection, actor, Action.ALERT_RULE_CHANGED, new.metric, project_id, changed=", ".join(changed))
            return _rule(connection, project_id, rule_id)

    @retried
    def remove(self, *, project_id: int, rule_id: int, actor: Actor = SYSTEM) -> None:
        """Remove a rule; `NotFound` if the project does not have it. No event ends an alert that is firing."""
        with self.database.write() as connection:
            rule = _rule(connection, project_id, rule_id)
            delete_rows(connection, alert_rules.alert_rules, id=rule_id, project_id=project_id)
            self._note(connection, actor, Action.ALERT_RULE_REMOVED, rule.metric, project_id)

    def evaluate(self) -> None:
        """Evaluate one rule of each organization in turn, until all are evaluated or the time is used up."""
        until = self.monotonic() + SWEEP_S
        with self.database.read() as connection:
            owners = alert_rules.owners(connection)
        self._round_robin.serve(owners, self._evaluate_logged, is_over=lambda: self.monotonic() >= until)

    def _evaluate_logged(self, rule_id: int) -> bool:
        """Evaluate a rule and log errors; always returns False, because a rule has no further work."""
        try:
            with self.database.read() as connection:
                rule = alert_rules.find_enabled(connection, rule_id)
            if rule is not None:
                self._evaluate(rule)
        except ServiceError as error:
            log.warning("alert_rule_not_evaluated", rule_id=rule_id, error=str(error))
        return False

    @retried
    def _evaluate(self, rule: AlertRule) -> None:
        """Store the rule's value and, if it starts or stops firing, an event in the same transaction."""
        (value, is_complete), now = self._value(rule), self.now()
        fires = not is_complete or (value is not None and value > rule.threshold)
        fired = rule.firing_since is not None
        since = (rule.firing_since or now) if fires else None
        with self.database.write() as connection:
            unmoved = alert_rules.note_value(connection, rule, value=value, firing_since=since)
            if unmoved and fires != fired:
                self._add_event(
                    connection, rule, WebhookEvent.ALERT_STARTED if fires else WebhookEvent.ALERT_ENDED, value
                )

    def _add_event(self, connection: Connection, rule: AlertRule, event: WebhookEvent, value: float | None) -> None:
        data = {"alertRuleId": rule.id, "metric": rule.metric, "threshold": rule.threshold, "value": value}
        data |= {"projectId": rule.project_id, "windowMinutes": rule.window_minutes}
        add_event(connection, self.now(), event, data, project_id=rule.project_id, prompt_id=rule.prompt_id)

    def _value(self, rule: AlertRule) -> tuple[float | None, bool]:
        """Return the value, and whether it is complete. A cost that is not may be any higher one, so the rule fires."""
        now = self.now()
        if rule.metric == "errorShare":
            from_ns = ns_of(now - timedelta(minutes=rule.window_minutes))
            with self.database.read() as connection:
                return alert_rules.error_share(connection, rule, from_ns=from_ns), True
        if rule.metric == "uncoveredShare":
            since = now - timedelta(minutes=rule.window_minutes)
            of_prompt = {"project_id": rule.project_id, "prompt_id": rule.prompt_id or 0}
            return self.coverage.uncovered_share(**of_prompt, since=since, least=rule.min_sessions), True
        first = now.date() - timedelta(days=rule.window_minutes // DAY_MINUTES - 1)
        days = UsageFilter(first, now.date(), rule.prompt_id)
        if rule.metric == "cost":
            return total(self.usage.read(project_id=rule.project_id, filters=days, group_by=("day",))).cost_usd, True
        cost = self.observed.cost(project_id=rule.project_id, filters=days)
        return cost.usd, cost.is_complete

    def _note(
        self, connection: Connection, actor: Actor, action: Action, metric: str, project_id: int, **details: str
    ) -> None:
        audit_log.note(connection, self.now(), actor, action, metric, details or None, project_id=project_id)


def _check(connection: Connection, project_id: int, new: NewAlertRule) -> None:
    """Raise `Invalid` for an impossible threshold or window, and `NotFound` if there is no such prompt."""
    if new.metric in SHARES and new.threshold >= 1:
        raise Invalid("threshold: Must be below 1, because no share is above 1.")
    if new.metric == "uncoveredShare" and new.prompt_id is None:
        raise Invalid("promptId: Must name a prompt, because suites are those of a prompt.")
    if new.metric not in SHARES and new.window_minutes % DAY_MINUTES:
        raise Invalid(f"windowMinutes: Costs are summed by day: use a multiple of {DAY_MINUTES}.")
    if new.prompt_id is not None:
        require_known(connection, project_id=project_id, prompt_id=new.prompt_id)


def _rule(connection: Connection, project_id: int, rule_id: int) -> AlertRule:
    return require(alert_rules.find_rule(connection, project_id=project_id, rule_id=rule_id), NO_RULE)
