"""Rows are removed some at a time, of each organization in turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from app.work.remover import RemovalStep, Remover
from app.work.round_robin import RoundRobin


class Rows:
    """The rows of projects by table; a transaction lasts a second."""

    def __init__(self, **tables: dict[int, int]) -> None:
        self.tables = {name: Counter(rows) for name, rows in tables.items()}
        self.seconds = 0.0
        self.remover = Remover(
            database=self,  # type: ignore[arg-type] # it has all that is called
            at_once=10,
            pause_s=0,
            monotonic=lambda: self.seconds,
        )

    def retrying(self, work: Callable[[Any], int]) -> int:
        self.seconds += 1
        return work(None)

    def steps_of(self, project_id: int) -> Iterator[RemovalStep]:
        return (partial(self._remove, name=name, project_id=project_id) for name in self.tables)

    def _remove(self, _connection: object, *, name: str, project_id: int, limit: int) -> int:
        removed = min(limit, self.tables[name][project_id])
        self.tables[name][project_id] -= removed
        return removed


def test_thousands_of_expired_rows_of_one_organization_hold_up_no_row_of_another() -> None:
    rows = Rows(spans={1: 5000, 2: 5000, 3: 1})
    removed = rows.remover.exhaust_in_turn(RoundRobin(), {1: 1, 2: 1, 3: 2}, rows.steps_of, sweep_s=2)
    assert rows.tables["spans"][3] == 0
    assert removed == 11


def test_the_rows_of_a_step_are_gone_before_the_next_step_begins() -> None:
    rows = Rows(spans={1: 25}, prompts={1: 5})
    round_robin = RoundRobin()
    left = []
    for _ in range(4):
        rows.remover.exhaust_in_turn(round_robin, {1: 1, 2: 2}, rows.steps_of, sweep_s=0)
        rows.remover.exhaust_in_turn(round_robin, {1: 1, 2: 2}, rows.steps_of, sweep_s=0)
        left.append((rows.tables["spans"][1], rows.tables["prompts"][1]))
    assert left == [(15, 5), (5, 5), (0, 5), (0, 0)]


def test_a_sweep_ends_when_nothing_is_left() -> None:
    rows = Rows(spans={1: 25, 2: 5})
    assert rows.remover.exhaust_in_turn(RoundRobin(), {1: 1, 2: 2}, rows.steps_of, sweep_s=1000) == 30
