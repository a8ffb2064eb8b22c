"""Usage, as answers show it."""

from __future__ import annotations

from app.schemas.answers.common import ModelName
from app.schemas.answers.shapes import integer, many, number, one, shape, text

UsageTokens = shape(
    "UsageTokens",
    {name: integer() for name in ("prompt", "completion", "total", "cacheRead", "cacheWrite", "reasoning")},
)
UsageSums = shape("UsageSums", {"runs": integer(), "failed": integer(), "tokens": one(UsageTokens), "cost": number()})
UsageRow = shape(
    "UsageRow",
    {
        "day": text(required=False),
        "promptId": integer(required=False),
        "commitHash": text(required=False, allow_none=True),
        "model": one(ModelName, required=False),
        "apiKeyId": integer(required=False, allow_none=True),
        "source": text(required=False),
    },
    UsageSums,
)
Usage = shape(
    "Usage",
    {"from": text(), "to": text(), "groupBy": many(text()), "rows": many(UsageRow), "total": one(UsageSums)},
)
