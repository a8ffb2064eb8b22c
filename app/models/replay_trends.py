"""The outcomes of the last replays of test cases, a few of each."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from app.models.queries import columns_of, list_rows
from app.models.replays import UNFINISHED, Status, replays


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a replay; `done` of `total` steps are played."""

    test_case_id: int
    id: int
    status: Status
    done: int
    total: int
    created_at: datetime

    @property
    def finished(self) -> bool:
        return self.status not in UNFINISHED


def newest_of_cases(connection: Connection, *, test_case_ids: Collection[int], each: int) -> list[Outcome]:
    """The newest `each` replays of every test case; by test case, the oldest first."""
    c = replays.c
    nth = func.row_number().over(partition_by=c.test_case_id, order_by=c.id.desc()).label("nth")
    columns = columns_of(Outcome, replays)
    ranked = select(*columns, nth).where(c.test_case_id.in_(sorted(test_case_ids))).subquery()
    newest = select(*(ranked.c[column.name] for column in columns)).where(ranked.c.nth <= each)
    return list_rows(connection, Outcome, newest.order_by(ranked.c.test_case_id, ranked.c.id))
