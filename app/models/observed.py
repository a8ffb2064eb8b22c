"""The model calls of traces, summed by day as their spans are stored. They are no part of the project's own usage.

Only tokens are summed. Prices are applied when the sums are read, so that a price set later applies to them too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

from sqlalchemy import ColumnElement, Connection, Date, Index, Integer, Select, UniqueConstraint, func, select

from app.errors import Invalid
from app.models import bulk
from app.models.base import BigInt, exact, new_table
from app.models.usage import SLOTS, UsageFilter


@dataclass(frozen=True, slots=True)
class ObservedRow:
    """The calls of one model of a prompt on a day (UTC) with prompts of one `size`; see `ModelCalls`."""

    project_id: Annotated[int, BigInt]
    day: Annotated[date, Date]
    prompt_id: Annotated[int, BigInt]
    provider: Annotated[str, exact(64)]
    model: Annotated[str, exact(255)]
    size: Annotated[int, Integer]
    # Batches that are stored at the same moment use different slots, so that they do not wait for each other.
    slot: Annotated[int, Integer]
    calls: Annotated[int, BigInt]
    input_tokens: Annotated[int, BigInt]
    output_tokens: Annotated[int, BigInt]
    cache_read_tokens: Annotated[int, BigInt]
    cache_write_tokens: Annotated[int, BigInt]
    reasoning_tokens: Annotated[int, BigInt]


_KEY = ("project_id", "day", "prompt_id", "provider", "model", "size", "slot")
# Without foreign keys, like spans.
observed_daily = new_table(
    "observed_daily",
    ObservedRow,
    UniqueConstraint(*_KEY, name="uq_observed_daily"),
    Index("ix_observed_daily_prompt_id", "prompt_id"),
)

OBSERVED_COLUMNS = tuple(ObservedRow.__dataclass_fields__)
SUMS = OBSERVED_COLUMNS[len(_KEY) :]
_C = observed_daily.c
# By the names of the API's groupBy; a price is applied to each sum of one model and size.
GROUPS: dict[str, tuple[ColumnElement[Any], ...]] = {
    "day": (_C.day,),
    "prompt": (_C.prompt_id,),
    "model": (_C.provider, _C.model),
}
_PRICED = (_C.provider, _C.model, _C.size)
_PRICED_NAMES = tuple(column.name for column in _PRICED)


@dataclass(frozen=True, slots=True)
class ObservedSumRows:
    """Sums by the names of columns. With `is_complete` False some models were added up under the name ""."""

    rows: list[dict[str, Any]]
    is_complete: bool


def slot_of(batch_id: int) -> int:
    return batch_id % SLOTS


def add(connection: Connection, rows: Sequence[ObservedRow]) -> None:
    """Add sums (in key order) to their days. Call it last in a transaction, because others wait for these rows."""
    values = [tuple(getattr(row, name) for name in OBSERVED_COLUMNS) for row in rows]
    bulk.upsert(connection, "observed_daily", OBSERVED_COLUMNS, values, key=_KEY, update=dict.fromkeys(SUMS, "plus"))


def sum_observed(
    connection: Connection, *, project_id: int, filters: UsageFilter, group_by: Collection[str], limit: int
) -> ObservedSumRows:
    """Return the sums of each group, model and size, by the names of columns; groups without calls are left out.

    Spans choose the names of models, so there may be any number of them. Beyond the `limit` sums with the most tokens,
    the others of each group are added up under the model "" of the provider "", which has no price.
    Raises `Invalid` for more than `limit` groups.
    """
    groups = [column for group in group_by for column in GROUPS[group]]
    columns = list(dict.fromkeys([*groups, *_PRICED]))
    tokens = func.sum(_C.input_tokens + _C.output_tokens)
    statement = _sums_of(columns, project_id, filters).order_by(tokens.desc(), *columns).limit(limit + 1)
    rows = [dict(row) for row in connection.execute(statement).mappings()]
    is_complete = len(rows) <= limit
    if not is_complete:
        outer = [column.name for column in groups if column.name not in _PRICED_NAMES]
        statement = _sums_of([_C[name] for name in outer], project_id, filters).limit(limit + 1)
        totals = [dict(row) for row in connection.execute(statement).mappings()]
        if len(totals) > limit:
            raise Invalid(f"groupBy: More than {limit} groups; ask for fewer days or groups.")
        rows = [*rows[:limit], *_rest(rows[:limit], totals, outer)]
    return ObservedSumRows(sorted(rows, key=lambda row: [row[column.name] for column in columns]), is_complete)


def _sums_of(columns: Sequence[ColumnElement[Any]], project_id: int, filters: UsageFilter) -> Select[Any]:
    statement = (
        select(*columns, *(func.sum(_C[name]).label(name) for name in SUMS))
        .where(_C.project_id == project_id, _C.day.between(filters.since, filters.until))
        .group_by(_C.project_id, *columns)
    )
    return statement if filters.prompt_id is None else statement.where(_C.prompt_id == filters.prompt_id)


def _rest(
    rows: Sequence[dict[str, Any]], totals: Sequence[dict[str, Any]], outer: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield what each of the totals has beyond its rows. A batch that is stored meanwhile makes nothing negative."""
    counted: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        sums = counted.setdefault(tuple(row[name] for name in outer), [0] * len(SUMS))
        for n, name in enumerate(SUMS):
            sums[n] += int(row[name])
    for total in totals:
        known = counted.get(tuple(total[name] for name in outer), [0] * len(SUMS))
        rest = {name: max(int(total[name]) - sum_, 0) for name, sum_ in zip(SUMS, known, strict=True)}
        if any(rest.values()):
            yield {**total, **dict.fromkeys(("provider", "model"), ""), "size": 0, **rest}
