"""The model calls of traces, summed by day as their spans are stored. They are no part of the project's own usage.

Only tokens are summed. Prices are applied when the sums are read, so that a price set later applies to them too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

from sqlalchemy import ColumnElement, Connection, Date, Index, Integer, UniqueConstraint, func, select

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


def slot_of(batch_id: int) -> int:
    return batch_id % SLOTS


def add(connection: Connection, rows: Sequence[ObservedRow]) -> None:
    """Add sums (in key order) to their days. Call it last in a transaction, because others wait for these rows."""
    values = [tuple(getattr(row, name) for name in OBSERVED_COLUMNS) for row in rows]
    bulk.upsert(connection, "observed_daily", OBSERVED_COLUMNS, values, key=_KEY, update=dict.fromkeys(SUMS, "plus"))


def sum_observed(
    connection: Connection, *, project_id: int, filters: UsageFilter, group_by: Collection[str], limit: int
) -> list[dict[str, Any]]:
    """Return the sums of each group, model and size, by the names of columns; none for groups without calls."""
    columns = list(dict.fromkeys([*(column for group in group_by for column in GROUPS[group]), *_PRICED]))
    statement = (
        select(*columns, *(func.sum(_C[name]).label(name) for name in SUMS))
        .where(_C.project_id == project_id, _C.day.between(filters.since, filters.until))
        .group_by(*columns)
        .order_by(*columns)
        .limit(limit)
    )
    if filters.prompt_id is not None:
        statement = statement.where(_C.prompt_id == filters.prompt_id)
    return [dict(row) for row in connection.execute(statement).mappings()]
