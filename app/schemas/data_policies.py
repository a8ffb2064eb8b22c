"""What a project keeps and masks, as requests say it and answers show it."""

from __future__ import annotations

from typing import Any

from marshmallow import fields, post_load, validate

from app.models.data_policies import DataPolicy
from app.otlp.masking import MASK, RULES_MAX
from app.patterns import LONGEST_PATTERN
from app.schemas.base import BoundedList, StrictSchema, Text

DAYS_MAX = 36_500


class RuleSchema(StrictSchema):
    kind = fields.String(required=True, validate=validate.OneOf(["pattern", "pointer"]))
    value = Text(required=True, minimum=1, maximum=LONGEST_PATTERN)
    replacement = Text(maximum=100, load_default=MASK)


def _days() -> fields.Integer:
    return fields.Integer(strict=True, allow_none=True, load_default=None, validate=validate.Range(1, DAYS_MAX))


class RetentionSchema(StrictSchema):
    """Days; null, or left out, for ever."""

    spans = _days()
    runs = _days()
    replays = _days()
    rejected_spans = fields.Integer(
        strict=True, allow_none=True, load_default=None, validate=validate.Range(1, DAYS_MAX), data_key="rejectedSpans"
    )


class DataPolicySchema(StrictSchema):
    """The whole policy: what is left out is what it was by default."""

    retention_days = fields.Nested(RetentionSchema, data_key="retentionDays", load_default=dict)
    masking = BoundedList(fields.Nested(RuleSchema), maximum=RULES_MAX, load_default=list)

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> DataPolicy:
        days = data["retention_days"]
        return DataPolicy(
            spans_days=days.get("spans"),
            runs_days=days.get("runs"),
            replays_days=days.get("replays"),
            rejected_days=days.get("rejected_spans"),
            masking=data["masking"],
        )


def dump_policy(policy: DataPolicy) -> dict[str, Any]:
    return {
        "retentionDays": {
            "spans": policy.spans_days,
            "runs": policy.runs_days,
            "replays": policy.replays_days,
            "rejectedSpans": policy.rejected_days,
        },
        "masking": policy.masking,
    }
