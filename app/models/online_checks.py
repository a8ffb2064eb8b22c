"""Online checks: rules by which a share of a prompt's recorded turns is scored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from sqlalchemy import Boolean, Connection, Double, Index, String, Update, and_, case, func, or_, select, update

from app.models import organizations, queries
from app.models.base import BigInt, MediumText, Timestamp, exact, new_table
from app.models.turns import TurnRow, turns

Kind = Literal["contains", "regex", "judge"]


@dataclass(frozen=True, slots=True)
class OnlineCheck:
    """A check of the answers of a `share` of a prompt's turns, optionally only of one `version` or `model`.

    `value` is a text, a pattern or what a judge asserts. The check has looked at the project's turns up to the batch
    `position` and, within that batch, up to the row `position_id`. `spent_usd` is the cost of judges on the day
    `spent_on`. `problem` is the reason why a judge's last call failed. A worker holds the check until `held_until`; no
    other worker uses it before.
    """

    id: int
    project_id: Annotated[int, BigInt]
    prompt_id: Annotated[int, BigInt]
    name: Annotated[str, exact(255)]
    kind: Annotated[Kind, exact(16)]
    value: Annotated[str, MediumText]
    judge_model_id: Annotated[int | None, BigInt]
    share: Annotated[float, Double]
    version: Annotated[str | None, exact(255)]
    model: Annotated[str | None, exact(255)]
    max_cost_per_day: Annotated[float, Double]
    position: Annotated[int, BigInt]
    position_id: Annotated[int, BigInt]
    scored: Annotated[int, BigInt]
    spent_on: Annotated[str, exact(10)]
    spent_usd: Annotated[float, Double]
    problem: Annotated[str | None, String(1000)]
    held_until: Annotated[datetime, Timestamp]
    created_at: Annotated[datetime, Timestamp]
    enabled: Annotated[bool, Boolean]


# Without foreign keys, like turns and scores.
online_checks = new_table("online_checks", OnlineCheck, Index("ix_online_checks_prompt_id", "prompt_id"))

_C, _T = online_checks.c, turns.c
_SELECT = select(*queries.columns_of(OnlineCheck, online_checks))


def add(connection: Connection, **values: Any) -> int:
    """Insert a check; returns its id."""
    return queries.insert_row(connection, online_checks, **values)


def find(connection: Connection, *, project_id: int, check_id: int, lock: bool = False) -> OnlineCheck | None:
    """Return the project's check, locked until the end of the transaction if `lock`."""
    statement = _SELECT.where(_C.project_id == project_id, _C.id == check_id)
    return queries.find_row(connection, OnlineCheck, statement.with_for_update() if lock else statement)


def find_held(connection: Connection, *, check_id: int, until: datetime) -> OnlineCheck | None:
    """Return the check that a worker holds until `until`; None if another worker holds it, or it was removed."""
    return queries.find_row(connection, OnlineCheck, _SELECT.where(_C.id == check_id, _C.held_until == until))


def of_prompt(connection: Connection, *, project_id: int, prompt_id: int) -> list[OnlineCheck]:
    """List a prompt's checks in the order in which they were made."""
    statement = _SELECT.where(_C.project_id == project_id, _C.prompt_id == prompt_id).order_by(_C.id)
    return queries.list_rows(connection, OnlineCheck, statement)


def count_of_project(connection: Connection, *, project_id: int) -> int:
    return queries.count_rows(connection, select(_C.id).where(_C.project_id == project_id))


def remove(connection: Connection, *, project_id: int, check_id: int) -> bool:
    """Delete a check; returns whether the project had it."""
    return bool(queries.delete_rows(connection, online_checks, project_id=project_id, id=check_id))


def due(connection: Connection, *, now: datetime, before_batch: int, limit: int) -> dict[int, int]:
    """Return {id: organization id} of enabled checks that no worker holds and that have turns to look at.

    Organizations alternate; the checks that were held longest ago come first.
    """
    # Turns of any prompt: no index has the turns of one prompt by batch. MariaDB would turn EXISTS into a join and read
    # them all.
    waiting = select(_T.id).where(
        _T.project_id == _C.project_id, _T.batch_id >= _C.position, _T.batch_id < before_batch
    )
    first_turn = waiting.limit(1).scalar_subquery()
    free = select(_C.id, organizations.projects.c.organization_id)
    free = free.where(_C.enabled, _C.held_until <= now, first_turn.is_not(None))
    in_turn = organizations.in_turn(free, _C.project_id, _C.held_until, _C.id)
    return queries.id_pairs(connection, in_turn.limit(limit))


def hold(connection: Connection, *, check_id: int, now: datetime, until: datetime) -> bool:
    """Have a worker hold a check; returns False if another one holds it, or it is paused or was removed."""
    free = update(online_checks).where(_C.id == check_id, _C.enabled, _C.held_until <= now)
    return queries.changes_row(connection, free.values(held_until=until))


def change_held(connection: Connection, *, check_id: int, until: datetime, **values: Any) -> bool:
    """Set columns of a check; returns False unless the worker that holds it until `until` still does."""
    held = update(online_checks).where(_C.id == check_id, _C.held_until == until)
    return queries.changes_row(connection, held.values(**values))


def reserve(connection: Connection, *, check: OnlineCheck, day: str, usd: float) -> bool:
    """Add the most that a call of a judge can cost to what is spent on a day (UTC).

    Returns False if it exceeds the stored limit of a day, or if the check is paused, or held by another worker.
    """
    spent = case((_C.spent_on == day, _C.spent_usd), else_=0.0) + usd
    fits = _update(check).where(
        _C.held_until == check.held_until, _C.enabled, _C.spent_on <= day, spent <= _C.max_cost_per_day
    )
    # In this order: MySQL reads a column that is set before with its new value.
    return queries.changes_row(connection, fits.ordered_values((_C.spent_usd, spent), (_C.spent_on, day)))


def add_reserved(connection: Connection, *, check: OnlineCheck, day: str, usd: float) -> None:
    """Add to what is reserved on a day, whoever holds the check: a call costs less than was reserved, or more.

    What was reserved for a day that is over stays as its cost.
    """
    connection.execute(_update(check).where(_C.spent_on == day).values(spent_usd=func.round(_C.spent_usd + usd, 12)))


def _update(check: OnlineCheck) -> Update:
    return update(online_checks).where(_C.project_id == check.project_id, _C.id == check.id)


def turns_after(
    connection: Connection, check: OnlineCheck, *, before_batch: int, limit: int
) -> list[tuple[int, TurnRow]]:
    """List turns with the ids of their rows that come after the check's position, in the order of their batches."""
    beyond = or_(_T.batch_id > check.position, and_(_T.batch_id == check.position, _T.id > check.position_id))
    columns = queries.columns_of(TurnRow, turns)
    # The first condition is implied by the others. Only this condition lets MySQL start in the index at the right
    # place.
    statement = select(_T.id, *columns).where(
        _T.project_id == check.project_id,
        _T.batch_id >= check.position,
        _T.batch_id < before_batch,
        beyond,
        _T.prompt_id == check.prompt_id,
    )
    rows = connection.execute(statement.order_by(_T.batch_id, _T.id).limit(limit))
    return [(id_, TurnRow(*row)) for id_, *row in rows]
