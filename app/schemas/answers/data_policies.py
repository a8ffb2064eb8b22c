"""What a project keeps and masks, as answers show it."""

from __future__ import annotations

from app.schemas.answers.shapes import choice, integer, many, one, shape, text

Days = shape(
    "RetentionDays",
    {name: integer(allow_none=True) for name in ("spans", "runs", "replays", "rejectedSpans")},
)
MaskingRule = shape("MaskingRule", {"kind": choice("pattern", "pointer"), "value": text(), "replacement": text()})
DataPolicy = shape("DataPolicy", {"retentionDays": one(Days), "masking": many(MaskingRule)})
