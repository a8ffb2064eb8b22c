"""Usage: the query, and the answer as JSON and CSV."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, ClassVar, NamedTuple

from marshmallow import ValidationError, fields, missing

from app.chat import Tokens
from app.errors import Invalid
from app.models import observed
from app.models.usage import GROUPS, Spent, UsageFilter
from app.schemas.answer import AnswerSchema, dump, fields_of, integer, itself, many, number, one, part, text
from app.schemas.base import Day, Identifier, StrictSchema
from app.schemas.csv_lines import csv_lines, flat
from app.schemas.language_models import ModelName
from app.schemas.traces import Billed, CalledModelSchema
from app.services.ingest.observed import ObservedGroup, observed_total
from app.services.runs import usage

# The days of a query without a beginning, and the most of any query.
DAYS_DEFAULT = 30
DAYS_MAX = 3660


@dataclass(frozen=True, slots=True)
class UsageQuestion:
    """`since` and `until` are None if the caller omits them."""

    since: date | None
    until: date | None
    group_by: tuple[str, ...]
    prompt_id: int | None

    def days(self, today: date) -> UsageFilter:
        """Return the requested days, by default the last 30 including today. `Invalid` for more than `DAYS_MAX`."""
        return UsageFilter(*days_of(self.since, self.until, today), self.prompt_id)


def days_of(since: date | None, until: date | None, today: date) -> tuple[date, date]:
    """Return the first and the last requested day; see `UsageQuestion.days`."""
    last = until or max(today, since or today)
    first = since or last - timedelta(days=DAYS_DEFAULT - 1)
    if not 0 <= (last - first).days <= DAYS_MAX:
        raise Invalid(f"to: Must be from 0 to {DAYS_MAX} days after from.")
    return first, last


class Groups(fields.Field[tuple[str, ...]]):
    """Names out of `known`, separated by commas; Falcon may have split them already. The default is the day."""

    def __init__(self, known: Collection[str]) -> None:
        super().__init__(load_default=("day",))
        self._known = known

    def _deserialize(self, value: Any, attr: str | None, data: Any, **_kwargs: Any) -> tuple[str, ...]:
        names = tuple(
            name.strip() for part in (value if isinstance(value, list) else [value]) for name in part.split(",")
        )
        if unknown := [name for name in names if name not in self._known]:
            raise ValidationError(f"{unknown[0][:50]!r} is not one of {', '.join(self._known)}.")
        return tuple(dict.fromkeys(names))


class UsageQuery(StrictSchema):
    command: ClassVar = UsageQuestion

    since = Day(data_key="from", load_default=None)
    until = Day(data_key="to", load_default=None)
    group_by = Groups(GROUPS)
    prompt_id = Identifier(load_default=None)


class ObservedQuery(UsageQuery):
    group_by = Groups(observed.GROUPS)


def _group(name: str, shown: Callable[[Any], Any] = itself) -> Callable[[usage.UsageRow | ObservedGroup], Any]:
    """Return a function that reads the column `name`. It returns `missing` if rows are not grouped by this column."""
    return lambda row: shown(row.group[name]) if name in row.group else missing


def _or_none(value: Any) -> Any:
    """Return None for an empty value: the hash of a draft, or the key of a run without one."""
    return value or None


def _model(row: usage.UsageRow) -> Any:
    group = row.group
    if "language_model_id" not in group:
        return None
    return {"id": group["language_model_id"], "name": group["name"], "vendor": group["vendor"]}


class UsageTokens(AnswerSchema):
    prompt = integer(attribute="prompt_tokens")
    completion = integer(attribute="completion_tokens")
    total = integer(get=lambda spent: spent.prompt_tokens + spent.completion_tokens)
    cache_read = integer(attribute="cache_read_tokens")
    cache_write = integer(attribute="cache_write_tokens")
    reasoning = integer(attribute="reasoning_tokens")


class UsageSums(AnswerSchema):
    counts = fields_of(Spent, "runs", "failed")
    tokens = one(UsageTokens, get=itself)
    cost = number(attribute="cost_usd")


class UsageRowSchema(AnswerSchema):
    day = text(required=False, get=_group("day", date.isoformat))
    prompt_id = integer(required=False, get=_group("prompt_id"))
    commit_hash = text(required=False, allow_none=True, get=_group("commit_hash", _or_none))
    model = one(ModelName, required=False, get=_model)
    api_key_id = integer(required=False, allow_none=True, get=_group("api_key_id", _or_none))
    source = text(required=False, get=_group("source"))
    sums = part(UsageSums, "spent")


class UsageReport(NamedTuple):
    rows: Sequence[usage.UsageRow | ObservedGroup]
    filters: UsageFilter
    group_by: Sequence[str]


class OfDays(AnswerSchema):
    """An answer about days. The first and the last day are included."""

    from_ = text(get=lambda report: report.filters.since.isoformat())
    to = text(get=lambda report: report.filters.until.isoformat())


class UsageSchema(OfDays):
    group_by = many(text())
    rows = many(UsageRowSchema)
    total = one(UsageSums, get=lambda report: usage.total(report.rows))


class ObservedTokens(AnswerSchema):
    counts = fields_of(Tokens, "prompt", "completion", "total", "cache_read", "cache_write", "reasoning")


class ObservedSumsSchema(AnswerSchema):
    """`cost` is at current prices."""

    calls = integer()
    tokens = one(ObservedTokens, attribute="usage.tokens")
    billed = part(Billed, "bill")


class ObservedRowSchema(AnswerSchema):
    day = text(required=False, get=_group("day", date.isoformat))
    prompt_id = integer(required=False, get=_group("prompt_id"))
    model = one(CalledModelSchema, required=False, get=lambda row: row.called if "model" in row.group else None)
    sums = part(ObservedSumsSchema, "sums")


class ObservedUsageSchema(OfDays):
    """The model calls of traces. The project's usage does not include them."""

    group_by = many(text())
    rows = many(ObservedRowSchema)
    total = one(ObservedSumsSchema, get=lambda report: observed_total(report.rows))


def usage_csv(rows: Sequence[usage.UsageRow], group_by: Sequence[str]) -> str:
    """Return the rows as CSV (RFC 4180) with a header. The column of a nested field is named by its path."""
    records = [dump(UsageRowSchema, row) for row in rows]
    names = list(flat(records[0])) if records else [*group_by, *flat(dump(UsageSums, Spent(runs=0)))]
    return "".join(csv_lines(records, names))
