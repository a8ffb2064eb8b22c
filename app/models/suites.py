"""Suites: named sets of a prompt's test cases."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, TypeVar

from sqlalchemy import (
    Connection,
    ForeignKey,
    Index,
    Select,
    UniqueConstraint,
    delete,
    func,
    select,
    update,
)

from app.models import organizations, queries
from app.models.base import BigInt, MediumText, Timestamp, exact, new_table, no_index
from app.models.cases import test_cases

SUITE_NAME_MAX = 100

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SuiteRow:
    """A suite; its name is unique among those of its prompt."""

    id: int
    project_id: Annotated[int, BigInt, ForeignKey("projects.id")]
    prompt_id: Annotated[int, BigInt, ForeignKey("prompts.id")]
    name: Annotated[str, exact(SUITE_NAME_MAX)]
    created_at: Annotated[datetime, Timestamp]
    test_cases: int


suites = new_table(
    "suites",
    SuiteRow,
    UniqueConstraint("prompt_id", "name"),
    Index("ix_suites_project_id", "project_id"),
)


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A test case in a suite; a test case may be in several.

    `reason` is why it was proposed, and `calibration_id` the last calibration of the test case.
    """

    suite_id: Annotated[int, BigInt]
    test_case_id: Annotated[int, BigInt]
    project_id: Annotated[int, BigInt]
    prompt_id: Annotated[int, BigInt]
    reason: Annotated[str | None, MediumText]
    calibration_id: Annotated[int | None, BigInt]
    added_at: Annotated[datetime, Timestamp]


# Without foreign keys: a member is removed with its suite and with its test case.
suite_members = new_table(
    "suite_members",
    MemberRow,
    UniqueConstraint("suite_id", "test_case_id"),
    Index("ix_suite_members_test_case_id", "test_case_id"),
    Index("ix_suite_members_prompt_id", "prompt_id"),
    Index("ix_suite_members_project_id", "project_id"),
)
_C, _M = suites.c, suite_members.c
_COUNT = select(func.count()).where(_M.suite_id == _C.id, no_index(_M.project_id) == _C.project_id).scalar_subquery()
_SELECT = select(*queries.columns_of(SuiteRow, suites, test_cases=_COUNT))


def lock_suites(connection: Connection, *, project_id: int) -> None:
    """Lock the suites of a project until the commit: their test cases stay, and none is added or calibrated."""
    organizations.lock_owner(connection, project_id)


def find_suite(connection: Connection, *, project_id: int, suite_id: int) -> SuiteRow | None:
    statement = _SELECT.where(_C.id == suite_id, no_index(_C.project_id) == project_id)
    return queries.find_row(connection, SuiteRow, statement)


def find_named(connection: Connection, *, project_id: int, prompt_id: int, name: str) -> SuiteRow | None:
    statement = _SELECT.where(_C.prompt_id == prompt_id, _C.name == name, no_index(_C.project_id) == project_id)
    return queries.find_row(connection, SuiteRow, statement)


def list_suites(connection: Connection, *, project_id: int, prompt_id: int) -> list[SuiteRow]:
    """List the suites of a prompt in the order of their names."""
    statement = _SELECT.where(_C.prompt_id == prompt_id, no_index(_C.project_id) == project_id)
    return queries.list_rows(connection, SuiteRow, statement.order_by(_C.name))


def list_members(connection: Connection, *, project_id: int, suite_id: int) -> list[MemberRow]:
    """List the test cases of a suite in the order in which they were added."""
    of_suite = _of_suites(project_id, [suite_id]).order_by(suite_members.c.id)
    return queries.list_rows(connection, MemberRow, of_suite)


def members_of_prompt(connection: Connection, *, project_id: int, prompt_id: int) -> list[int]:
    """Return the ids of the test cases that are in any suite of a prompt."""
    of_prompt = select(_M.test_case_id).where(no_index(_M.project_id) == project_id, _M.prompt_id == prompt_id)
    return list(connection.scalars(of_prompt.distinct().order_by(_M.test_case_id)))


def _of_suites(project_id: int, suite_ids: Collection[int]) -> Select[tuple[object, ...]]:
    columns = queries.columns_of(MemberRow, suite_members)
    return select(*columns).where(no_index(_M.project_id) == project_id, _M.suite_id.in_(sorted(suite_ids)))


def add_members(connection: Connection, rows: Sequence[MemberRow]) -> None:
    """Add test cases to suites; test cases that are in the suite stay unchanged."""
    values = [
        {name: getattr(row, name) for name in MemberRow.__dataclass_fields__}
        for row in sorted(rows, key=lambda row: (row.suite_id, row.test_case_id))
    ]
    queries.put_rows(connection, suite_members, values, key=("suite_id", "test_case_id"))


def is_unchanged(connection: Connection, row: MemberRow) -> bool:
    """Return whether the test case is in the suite still, with the same last calibration."""
    of_member = no_index(_M.project_id) == row.project_id, _M.suite_id == row.suite_id
    same = _M.calibration_id.is_not_distinct_from(row.calibration_id)
    found = select(_M.id).where(*of_member, _M.test_case_id == row.test_case_id, same)
    return connection.scalar(found) is not None


def note_calibration(connection: Connection, *, project_id: int, test_case_id: int, calibration_id: int) -> None:
    """Note the last calibration of a test case in all its suites."""
    of_case = no_index(_M.project_id) == project_id, _M.test_case_id == test_case_id
    connection.execute(update(suite_members).where(*of_case).values(calibration_id=calibration_id))


def remove_members(
    connection: Connection, *, project_id: int, suite_id: int, test_case_ids: Collection[int] | None = None
) -> int:
    """Remove test cases from a suite, by default all of them; returns their number."""
    of_suite = delete(suite_members).where(no_index(_M.project_id) == project_id, _M.suite_id == suite_id)
    if test_case_ids is not None:
        of_suite = of_suite.where(_M.test_case_id.in_(sorted(test_case_ids)))
    return connection.execute(of_suite).rowcount


@dataclass(frozen=True, slots=True)
class MemberCase:
    """A test case of a suite without its document."""

    id: int
    prompt_id: int
    name: str
    session_id: str | None


@dataclass(frozen=True, slots=True)
class FeaturedCase:
    """A test case with the features that are stored of it; `fingerprint` is the digest of the document."""

    id: int
    name: str
    fingerprint: str
    features: bytes | None


def featured_cases(connection: Connection, *, project_id: int, test_case_ids: Collection[int]) -> list[FeaturedCase]:
    """List the existing test cases with these ids, in the order of their ids."""
    return _listed(connection, FeaturedCase, project_id, test_case_ids)


def sizes_of_features(connection: Connection, *, project_id: int, test_case_ids: Collection[int]) -> list[int | None]:
    """List the bytes of the features of the existing test cases with these ids; None for one without features."""
    c, sizes = test_cases.c, list[int | None]()
    for piece in queries.pieces(sorted(test_case_ids)):
        of_piece = select(func.length(c.features)).where(no_index(c.project_id) == project_id, c.id.in_(piece))
        sizes += connection.scalars(of_piece)
    return sizes


def cases_of(connection: Connection, *, project_id: int, test_case_ids: Collection[int]) -> list[MemberCase]:
    """List the existing test cases with these ids, in the order of their ids."""
    return _listed(connection, MemberCase, project_id, test_case_ids)


def _listed(connection: Connection, kind: type[T], project_id: int, test_case_ids: Collection[int]) -> list[T]:
    c = test_cases.c
    cases: list[T] = []
    for piece in queries.pieces(sorted(test_case_ids)):
        statement = select(*queries.columns_of(kind, test_cases)).where(
            no_index(c.project_id) == project_id, c.id.in_(piece)
        )
        cases += queries.list_rows(connection, kind, statement.order_by(c.id))
    return cases
