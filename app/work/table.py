"""The claims of a table of work rows: every change is a guarded UPDATE, and its row count shows whether it happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, bindparam, func, literal, select, update

from app.models.base import Timestamp
from app.models.organizations import projects
from app.models.queries import id_pairs, list_rows
from app.models.replays import UNFINISHED


@dataclass(frozen=True, slots=True)
class Claim:
    """A row in work; `alive_at` is its worker's last heartbeat, by that worker's clock."""

    row_id: int
    token: str
    alive_at: datetime


@dataclass(frozen=True, slots=True)
class WaitingRow:
    """A row that no worker has; `attempts` is the number of its claims so far."""

    id: int
    created_at: datetime
    attempts: int


class WorkTable:
    """Changes the state of the rows of `table`; its statements are built once.

    `table` has the columns `id`, `project_id`, `status`, `claim`, `alive_at`, `created_at`, `started_at` and
    `finished_at`; a claimed row has the status `running`. `waiting` is the condition of a row that may be claimed,
    `on_claim` has further columns that a claim changes, and `attempts` is the number of claims made so far.
    """

    def __init__(
        self,
        table: Table,
        *,
        waiting: ColumnElement[bool],
        on_claim: Mapping[str, Any] | None = None,
        attempts: ColumnElement[int] | None = None,
    ) -> None:
        self.name, c = table.name, table.c
        # In an UPDATE a bound parameter must not have the name of a column.
        ids, now = c.id.in_(bindparam("ids", expanding=True)), bindparam("now", type_=Timestamp())
        running, is_row = c.status == "running", c.id == bindparam("row_id")
        values = {"status": "running", "claim": bindparam("token"), "alive_at": now}
        # By an index on states, MariaDB would lock the rows that others claim at the same time, and wait for them.
        claim = (
            update(table)
            .where(waiting)
            .values(**values, started_at=func.coalesce(c.started_at, now), **(on_claim or {}))
            .with_hint("FORCE INDEX (PRIMARY)", dialect_name="mysql")
        )
        self._claim, self._claim_one = claim.where(ids), claim.where(is_row)
        self._touch = update(table).where(ids, c.claim.in_(bindparam("tokens", expanding=True)), running)
        self.held = update(table).where(is_row, running, c.claim == bindparam("token"))
        """An UPDATE of the row `row_id` while `token` is its claim."""
        self._held_stale = self.held.where(c.alive_at == bindparam("seen_at", type_=Timestamp()))
        self._waiting = update(table).where(is_row, waiting)
        unfinished = c.status.in_(UNFINISHED) & (c.project_id == bindparam("of_project"))
        self._cancel = update(table).where(is_row, unfinished).values(status="cancelled")
        self._list_claims = select(c.id, c.claim, c.alive_at).where(running, c.claim.is_not(None))
        counted = literal(0) if attempts is None else attempts
        self._list_waiting = select(c.id, c.created_at, counted).where(waiting)
        of_project = self._list_waiting.where(c.project_id == bindparam("project_id"))
        self._list_of_project = of_project.order_by(c.created_at, c.id)
        # No EXISTS, which MariaDB turns into a join that reads all waiting rows.
        first = select(c.id).where(waiting, c.project_id == projects.c.id).limit(1).scalar_subquery()
        self._list_owners = select(projects.c.id, projects.c.organization_id).where(first.is_not(None))

    def claim(self, connection: Connection, row_ids: Sequence[int], *, token: str, now: datetime) -> int:
        """Claim the rows that still wait for the worker that has `token`; return their number."""
        if len(row_ids) == 1:
            return connection.execute(self._claim_one, {"row_id": row_ids[0], "token": token, "now": now}).rowcount
        return connection.execute(self._claim, {"ids": row_ids, "token": token, "now": now}).rowcount

    def touch(
        self, connection: Connection, tokens: Mapping[int, str], *, now: datetime, values: Mapping[str, Any] = {}
    ) -> int:
        """Write a heartbeat and `values` to the rows that still have the claims {id: token}; return their number."""
        keys = {"ids": sorted(tokens), "tokens": sorted(set(tokens.values()))}
        return connection.execute(self._touch, {**keys, "alive_at": now, **values}).rowcount

    def finish(
        self,
        connection: Connection,
        claim: Claim,
        values: Mapping[str, Any],
        *,
        now: datetime,
        only_if_stale: bool = False,
    ) -> bool:
        """End a claimed row; return False when it has ended, or another worker has it.

        `only_if_stale`: for a sweeper, which ends the row only if there was no heartbeat after `claim.alive_at`.
        """
        return self._change(connection, claim, {"finished_at": now, **values}, only_if_stale)

    def release(self, connection: Connection, claim: Claim, *, only_if_stale: bool = False) -> bool:
        """Let another worker claim the row; `only_if_stale` and the result are those of `finish`."""
        return self._change(connection, claim, {"claim": None}, only_if_stale)

    def finish_waiting(self, connection: Connection, row_id: int, values: Mapping[str, Any], *, now: datetime) -> bool:
        """End a waiting row, so that no worker can claim it; return False when a worker has it, or it has ended."""
        return connection.execute(self._waiting, {"row_id": row_id, "finished_at": now, **values}).rowcount == 1

    def cancel(
        self, connection: Connection, row_id: int, *, project_id: int, now: datetime, values: Mapping[str, Any] = {}
    ) -> bool:
        """Cancel a row of a project; its worker notices later. Return False when it has ended or does not exist."""
        keys = {"row_id": row_id, "of_project": project_id}
        return connection.execute(self._cancel, {**keys, "finished_at": now, **values}).rowcount == 1

    def list_claims(self, connection: Connection) -> list[Claim]:
        """Return every row in work, of all projects."""
        return list_rows(connection, Claim, self._list_claims)

    def list_waiting(self, connection: Connection, *, limit: int) -> list[WaitingRow]:
        """List rows that no worker has, oldest first: all, or if they are more than `limit` the oldest of each project.

        Each organization gets an equal part of `limit`, and each of its projects an equal part of that, at least one
        row.
        """
        rows = list_rows(connection, WaitingRow, self._list_waiting.limit(limit + 1))
        if len(rows) > limit:
            rows = [row for project in self._parts(connection, limit) for row in self._of_project(connection, *project)]
        return sorted(rows, key=attrgetter("created_at", "id"))

    def _parts(self, connection: Connection, limit: int) -> Iterator[tuple[int, int]]:
        """Yield each project with waiting rows, and its part of `limit`."""
        owners = id_pairs(connection, self._list_owners)
        projects_of = Counter(owners.values())
        for project_id, organization_id in owners.items():
            yield project_id, max(1, limit // len(projects_of) // projects_of[organization_id])

    def _of_project(self, connection: Connection, project_id: int, limit: int) -> list[WaitingRow]:
        return list_rows(connection, WaitingRow, self._list_of_project.limit(limit), {"project_id": project_id})

    def _change(self, connection: Connection, claim: Claim, values: Mapping[str, Any], only_if_stale: bool) -> bool:
        keys: dict[str, Any] = {"row_id": claim.row_id, "token": claim.token}
        if only_if_stale:
            keys["seen_at"] = claim.alive_at
        held = self._held_stale if only_if_stale else self.held
        return connection.execute(held, {**keys, **values}).rowcount == 1
