"""Alert rules of a project."""

from __future__ import annotations

from typing import ClassVar

from marshmallow import fields, validate

from app.models import alert_rules
from app.schemas.answer import AnswerSchema, choice, fields_of, listing
from app.schemas.base import Identifier, JsonNumber, StrictBoolean, StrictSchema
from app.services.webhooks.alerts import DAY_MINUTES, NewAlertRule

METRICS = ("errorShare", "uncoveredShare", "observedCost", "cost")


class _AlertRuleFields(StrictSchema):
    metric = fields.String(required=True, validate=validate.OneOf(METRICS))
    threshold = JsonNumber(required=True, validate=validate.Range(0, 1_000_000))
    window_minutes = fields.Integer(required=True, strict=True, validate=validate.Range(5, 30 * DAY_MINUTES))
    prompt_id = Identifier(load_default=None, allow_none=True)
    min_sessions = fields.Integer(load_default=1, strict=True, validate=validate.Range(1, alert_rules.SESSIONS_MAX))
    enabled = StrictBoolean(load_default=True)


class NewAlertRuleSchema(_AlertRuleFields):
    """`threshold` is a share from 0 to 1, or USD. For costs `windowMinutes` must be a number of whole days.

    `uncoveredShare` needs a `promptId`.
    """

    command: ClassVar = NewAlertRule


class AlertRuleChangeSchema(_AlertRuleFields):
    """Omitted fields keep their values. A changed rule starts again; a rule that is not `enabled` is paused."""

    def __init__(self) -> None:
        super().__init__(partial=True)


class AlertRuleSchema(AnswerSchema):
    """`firingSince` is null while the rule does not fire. `value` was measured last, null for too few sessions."""

    row = fields_of(alert_rules.AlertRule, "id", "prompt_id")
    metric = choice(*METRICS)
    limits = fields_of(alert_rules.AlertRule, "threshold", "window_minutes", "min_sessions", "enabled")
    state = fields_of(alert_rules.AlertRule, "firing_since", "value", "created_at")


AlertRules = listing("alert_rules", AlertRuleSchema, name="AlertRules")
