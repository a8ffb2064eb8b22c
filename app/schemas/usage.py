"""What is asked about usage, and its answer as JSON and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from marshmallow import ValidationError, fields, post_load

from app.errors import Invalid
from app.models.usage import GROUPS, Spent, UsageFilter
from app.schemas.base import Day, Identifier, StrictSchema
from app.services.runs.usage import UsageRow, total

DAYS = 30
DAYS_MAX = 3660


@dataclass(frozen=True, slots=True)
class UsageQuestion:
    """`since` and `until` are None where the caller leaves them out."""

    since: date | None
    until: date | None
    group_by: tuple[str, ...]
    prompt_id: int | None

    def wanted(self, today: date) -> UsageFilter:
        """The last 30 days, today included, unless the caller says otherwise; `Invalid` for more than `DAYS_MAX`."""
        until = self.until or max(today, self.since or today)
        since = self.since or until - timedelta(days=DAYS - 1)
        if not 0 <= (until - since).days <= DAYS_MAX:
            raise Invalid(f"to: Must be from 0 to {DAYS_MAX} days after from.")
        return UsageFilter(since, until, self.prompt_id)


class Groups(fields.Field[tuple[str, ...]]):
    """Names of `GROUPS`, separated by commas; falcon splits some of them already."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **_kwargs: Any) -> tuple[str, ...]:
        names = tuple(
            name.strip() for part in (value if isinstance(value, list) else [value]) for name in part.split(",")
        )
        if unknown := [name for name in names if name not in GROUPS]:
            raise ValidationError(f"{unknown[0][:50]!r} is not one of {', '.join(GROUPS)}.")
        return tuple(dict.fromkeys(names))


class UsageQuery(StrictSchema):
    since = Day(data_key="from", load_default=None)
    until = Day(data_key="to", load_default=None)
    group_by = Groups(data_key="groupBy", load_default=("day",))
    prompt_id = Identifier(data_key="promptId", load_default=None)

    @post_load
    def _make(self, data: dict[str, Any], **_kwargs: Any) -> UsageQuestion:
        return UsageQuestion(**data)


def usage_json(rows: Sequence[UsageRow], wanted: UsageFilter, group_by: Sequence[str]) -> dict[str, Any]:
    return {
        "from": wanted.since.isoformat(),
        "to": wanted.until.isoformat(),
        "groupBy": list(group_by),
        "rows": [_row(row) for row in rows],
        "total": _sums(total(rows)),
    }


def usage_csv(rows: Sequence[UsageRow], group_by: Sequence[str]) -> str:
    """RFC 4180, with a header; what JSON nests has its path as the column's name."""
    flat = [_flat(_row(row)) for row in rows]
    names = list(flat[0]) if flat else [*group_by, *_flat(_sums(Spent(runs=0)))]
    out = io.StringIO()
    writer = csv.DictWriter(out, names)
    writer.writeheader()
    writer.writerows({name: _harmless(value) for name, value in row.items()} for row in flat)
    return out.getvalue()


def _row(row: UsageRow) -> dict[str, Any]:
    return _group(row.group) | _sums(row.spent)


def _group(group: dict[str, Any]) -> dict[str, Any]:
    """By the API's names; null for a draft, for runs without a key."""
    shown: dict[str, Any] = {}
    if "day" in group:
        shown["day"] = group["day"].isoformat()
    if "prompt_id" in group:
        shown["promptId"] = group["prompt_id"]
    if "commit_hash" in group:
        shown["commitHash"] = group["commit_hash"] or None
    if "language_model_id" in group:
        shown["model"] = {"id": group["language_model_id"], "name": group["name"], "vendor": group["vendor"]}
    if "api_key_id" in group:
        shown["apiKeyId"] = group["api_key_id"] or None
    if "source" in group:
        shown["source"] = group["source"]
    return shown


def _sums(spent: Spent) -> dict[str, Any]:
    return {
        "runs": spent.runs,
        "failed": spent.failed,
        "tokens": {
            "prompt": spent.prompt_tokens,
            "completion": spent.completion_tokens,
            "total": spent.prompt_tokens + spent.completion_tokens,
            "cacheRead": spent.cache_read_tokens,
            "cacheWrite": spent.cache_write_tokens,
            "reasoning": spent.reasoning_tokens,
        },
        "cost": spent.cost_usd,
    }


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in record.items():
        inner = {f"{name}.{part}": each for part, each in value.items()} if isinstance(value, dict) else {name: value}
        flat |= inner
    return flat


def _harmless(value: Any) -> Any:
    """A model's name is a user's text: spreadsheets take some for formulas."""
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@") else value
