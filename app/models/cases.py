"""Test cases: recorded or written turns with their checks, each with a copy of all it needs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Column, Connection, Index, Integer, String, Table, delete, func, insert, select, update

from app.models.base import OPTIONS, Json, Timestamp, exact, identifier, metadata, reference

test_cases = Table(
    "test_cases",
    metadata,
    identifier(),
    reference("project_id", "projects"),
    reference("prompt_id", "prompts"),
    Column("name", String(128), nullable=False),
    # Where it was taken from; the session itself may be gone.
    Column("session_id", exact(32)),
    Column("document", Json, nullable=False),
    # Recorded steps of the turns that a replay plays.
    Column("steps", Integer, nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("updated_at", Timestamp, nullable=False),
    Index("ix_test_cases_prompt_id_id", "prompt_id", "id"),
    Index("ix_test_cases_project_id", "project_id"),
    **OPTIONS,
)


@dataclass(frozen=True, slots=True)
class TestCaseRow:
    """A test case as stored; `document` is the JSON of `app.replay.types.TestCase`."""

    id: int
    project_id: int
    prompt_id: int
    name: str
    session_id: str | None
    document: dict[str, Any]
    created_at: datetime
    updated_at: datetime


_ROW = select(*(test_cases.c[name] for name in TestCaseRow.__dataclass_fields__))


def add_test_case(connection: Connection, *, values: dict[str, Any], now: datetime) -> int:
    statement = insert(test_cases).values(created_at=now, updated_at=now, **values)
    return int(connection.execute(statement).inserted_primary_key[0])  # type: ignore[index]


def find_test_case(
    connection: Connection, *, project_id: int, test_case_id: int, lock: bool = False
) -> TestCaseRow | None:
    """`lock` keeps others from changing it until the commit."""
    c = test_cases.c
    statement = _ROW.where(c.id == test_case_id, c.project_id == project_id)
    row = connection.execute(statement.with_for_update() if lock else statement).one_or_none()
    return TestCaseRow(*row) if row else None


def find_named(connection: Connection, *, prompt_id: int, name: str) -> TestCaseRow | None:
    """The newest of a prompt's test cases that has exactly this name."""
    c = test_cases.c
    statement = _ROW.where(c.prompt_id == prompt_id, c.name == name).order_by(c.id.desc()).with_for_update()
    rows = (TestCaseRow(*row) for row in connection.execute(statement))
    return next((row for row in rows if row.name == name), None)


def list_test_cases(
    connection: Connection, *, prompt_id: int, before_id: int | None = None, limit: int | None = None
) -> list[TestCaseRow]:
    """Newest first: at most `limit` of those made before `before_id`."""
    statement = _ROW.where(test_cases.c.prompt_id == prompt_id).order_by(test_cases.c.id.desc()).limit(limit)
    if before_id is not None:
        statement = statement.where(test_cases.c.id < before_id)
    return [TestCaseRow(*row) for row in connection.execute(statement)]


def steps_of_prompt(connection: Connection, *, prompt_id: int) -> dict[int, int]:
    """How many steps a replay of each of the prompt's test cases plays; oldest first."""
    c = test_cases.c
    rows = connection.execute(select(c.id, c.steps).where(c.prompt_id == prompt_id).order_by(c.id))
    return {row[0]: row[1] for row in rows}


def find_prompt_of(connection: Connection, *, project_id: int, test_case_id: int) -> int | None:
    c = test_cases.c
    prompt_id: int | None = connection.scalar(
        select(c.prompt_id).where(c.id == test_case_id, c.project_id == project_id)
    )
    return prompt_id


def names_of(connection: Connection, *, ids: Collection[int]) -> dict[int, str]:
    """The names of those that still exist."""
    c = test_cases.c
    rows = connection.execute(select(c.id, c.name).where(c.id.in_(sorted(ids))))
    return {row[0]: row[1] for row in rows}


def change_test_case(connection: Connection, *, test_case_id: int, values: dict[str, Any], now: datetime) -> None:
    statement = update(test_cases).where(test_cases.c.id == test_case_id)
    connection.execute(statement.values(updated_at=now, **values))


def delete_test_case(connection: Connection, *, project_id: int, test_case_id: int) -> bool:
    c = test_cases.c
    return connection.execute(delete(test_cases).where(c.id == test_case_id, c.project_id == project_id)).rowcount == 1


def count_by_prompt(connection: Connection, *, prompt_ids: Collection[int]) -> dict[int, int]:
    """How many test cases each of the prompts has; those without any are left out."""
    c = test_cases.c
    counted = select(c.prompt_id, func.count()).where(c.prompt_id.in_(sorted(prompt_ids))).group_by(c.prompt_id)
    return {row[0]: row[1] for row in connection.execute(counted)}
