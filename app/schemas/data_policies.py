"""How long a project keeps its data, and which texts are masked before they are stored."""

from __future__ import annotations

from typing import Any

from marshmallow import fields, post_load, validate

from app.models import data_policies as policies
from app.otlp.masking import MASK, RULES_MAX
from app.patterns import LONGEST_PATTERN
from app.schemas.answer import Answer, choice, integer, itself, many, one, text
from app.schemas.base import BoundedList, StrictSchema, Text

DAYS_MAX = 36_500


class RuleSchema(StrictSchema):
    kind = fields.String(required=True, validate=validate.OneOf(["pattern", "pointer"]))
    value = Text(required=True, minimum=1, maximum=LONGEST_PATTERN)
    replacement = Text(maximum=100, load_default=MASK)


def _days(**options: Any) -> fields.Integer:
    return fields.Integer(
        strict=True, allow_none=True, load_default=None, validate=validate.Range(1, DAYS_MAX), **options
    )


class RetentionSchema(StrictSchema):
    """Days; null, or left out, for ever."""

    spans_days = _days(data_key="spans")
    runs_days = _days(data_key="runs")
    replays_days = _days(data_key="replays")
    rejected_days = _days(data_key="rejectedSpans")


class DataPolicySchema(StrictSchema):
    """The whole policy: what is left out is what it was by default."""

    retention_days = fields.Nested(RetentionSchema, load_default=dict)
    masking = BoundedList(fields.Nested(RuleSchema), maximum=RULES_MAX, load_default=list)

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> policies.DataPolicy:
        return policies.DataPolicy(**data["retention_days"], masking=data["masking"])


class RetentionDays(Answer):
    spans = integer(attribute="spans_days", allow_none=True)
    runs = integer(attribute="runs_days", allow_none=True)
    replays = integer(attribute="replays_days", allow_none=True)
    rejected_spans = integer(attribute="rejected_days", allow_none=True)


class MaskingRule(Answer):
    kind = choice("pattern", "pointer")
    value = text()
    replacement = text()


class DataPolicy(Answer):
    retention_days = one(RetentionDays, get=itself)
    masking = many(MaskingRule)
