"""The usage of a project's runs and replays, without renderings and ingested spans."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import Invalid
from app.models import usage
from app.models.usage import GROUPS, SUMS, Spent, UsageFilter

USAGE_ROWS_MAX = 10_000
# Values of the columns that replays lack: a replay plays the draft, and without an API key.
_OF_REPLAYS = {"commit_hash": "", "api_key_id": 0, "source": "replay"}


@dataclass(frozen=True, slots=True)
class UsageRow:
    """The usage of a group; `group` has the columns of the grouping, named as in `app.models.usage.GROUPS`."""

    group: dict[str, Any]
    spent: Spent


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageService:
    database: Database

    def read(self, *, project_id: int, filters: UsageFilter, group_by: Sequence[str]) -> list[UsageRow]:
        """Return the rows in the order of their groups; raises `Invalid` for more than `USAGE_ROWS_MAX`.

        A run counts on the day it ended. A replay counts on the day it was started, with the source `replay`.
        """
        names = list(dict.fromkeys(column.name for group in group_by for column in GROUPS[group]))
        sums: dict[tuple[Any, ...], Spent] = {}
        with self.database.read() as connection:
            for row in _rows(connection, project_id, filters, group_by):
                key = tuple(row[name] for name in names)
                sums[key] = sums.get(key, Spent(runs=0)) + _spent(row)
        if len(sums) > USAGE_ROWS_MAX:
            raise Invalid(f"groupBy: More than {USAGE_ROWS_MAX} rows; ask for fewer days or groups.")
        ordered = sorted(sums.items(), key=lambda item: tuple(map(_order, item[0])))
        return [UsageRow(dict(zip(names, key, strict=True)), spent) for key, spent in ordered]


def total(rows: Sequence[UsageRow]) -> Spent:
    """Return the sum of what all rows have spent."""
    return sum((row.spent for row in rows), Spent(runs=0))


def _rows(
    connection: Connection, project_id: int, filters: UsageFilter, group_by: Collection[str]
) -> Iterator[dict[str, Any]]:
    which: dict[str, Any] = {
        "project_id": project_id,
        "filters": filters,
        "group_by": group_by,
        "limit": USAGE_ROWS_MAX + 1,
    }
    yield from usage.sum_usage(connection, **which)
    for row in usage.sum_replays(connection, **which):
        day = {"day": _day(row["day"])} if "day" in row else {}
        yield row | _OF_REPLAYS | day


def _day(value: date | str) -> date:
    """Return a date; SQLite returns it as text."""
    return value if isinstance(value, date) else date.fromisoformat(value)


def _spent(row: dict[str, Any]) -> Spent:
    counts = {name: int(row[name]) for name in SUMS if name != "cost_usd"}
    return Spent(**counts, cost_usd=float(row["cost_usd"]))


def _order(value: Any) -> tuple[bool, Any]:
    """Return a sort key; None, for a model that no longer exists, comes last."""
    return (value is None, value or 0) if not isinstance(value, str) else (False, value)
