"""Test cases: recorded or written turns with their checks. Each is a complete copy."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    DefaultClause,
    ForeignKey,
    Index,
    Integer,
    String,
    Text,
    delete,
    func,
    select,
    type_coerce,
    update,
)

from app.models.base import BigInt, Json, MediumBlob, Timestamp, exact, new_table, no_index
from app.models.queries import (
    changes_row,
    columns_of,
    count_rows,
    find_row,
    in_order,
    insert_row,
    list_rows,
    newest_first,
    pieces,
)


@dataclass(frozen=True, slots=True)
class TestCaseRow:
    """A test case as stored; `document` is the JSON of `app.replay.case_types.TestCase`."""

    id: int
    project_id: Annotated[int, BigInt, ForeignKey("projects.id")]
    prompt_id: Annotated[int, BigInt, ForeignKey("prompts.id")]
    name: Annotated[str, String(128)]
    # The source of the test case. Its session may be deleted.
    session_id: Annotated[str | None, exact(32)]
    document: Annotated[dict[str, Any], Json]
    # Recorded steps of the turns that a replay plays.
    steps: Annotated[int, Integer]
    # Its document's variants, [{"name", "faults"}]; NULL without any.
    variants: Annotated[list[dict[str, Any]] | None, Json]
    # The SHA-256 of the document, as 64 hex digits; "" in rows of older releases until they are replayed.
    fingerprint: Annotated[str, exact(64), DefaultClause("")]
    # What a model proposes for tools with an unknown effect: {name: app.replay.effect_proposals.EffectProposal}. NULL
    # until a worker asks.
    proposed_effects: Annotated[dict[str, Any] | None, Json]
    created_at: Annotated[datetime, Timestamp]
    updated_at: Annotated[datetime, Timestamp]


@dataclass(frozen=True, slots=True)
class CaseColumns(TestCaseRow):
    """All columns. Only suites read `features`, which may have 50 KB."""

    # What suites compare (`app.suites.cases.CaseFeatures`); NULL, or of another document, after an older release.
    features: Annotated[bytes | None, MediumBlob]


test_cases = new_table(
    "test_cases",
    CaseColumns,
    Index("ix_test_cases_prompt_id_id", "prompt_id", "id"),
    Index("ix_test_cases_project_id", "project_id"),
)


_ROW = select(*columns_of(TestCaseRow, test_cases))


def add_test_case(connection: Connection, *, values: dict[str, Any], now: datetime) -> TestCaseRow:
    columns = {"session_id": None, "proposed_effects": None, **values, "created_at": now, "updated_at": now}
    test_case_id = insert_row(connection, test_cases, **columns)
    return TestCaseRow(test_case_id, **_of_row(columns))


def find_test_case(connection: Connection, *, project_id: int, test_case_id: int) -> TestCaseRow | None:
    c = test_cases.c
    return find_row(connection, TestCaseRow, _ROW.where(c.id == test_case_id, c.project_id == project_id))


# A document may have 4 MiB.
DOCUMENTS_AT_ONCE = 10


def documents_of(connection: Connection, *, ids: Sequence[int]) -> Iterator[dict[int, str]]:
    """Yield the documents of test cases as they are stored, by id, a few at a time."""
    c = test_cases.c
    for piece in pieces(ids, DOCUMENTS_AT_ONCE):
        statement = select(c.id, type_coerce(c.document, Text)).where(c.id.in_(piece))
        yield {row[0]: row[1] for row in connection.execute(statement)}


def sizes_of(connection: Connection, *, project_id: int, test_case_ids: Sequence[int]) -> dict[int, int]:
    """Return the characters of the stored documents of test cases, by id."""
    c = test_cases.c
    sizes: dict[int, int] = {}
    for piece in pieces(sorted(test_case_ids)):
        length = func.length(type_coerce(c.document, Text))
        of_piece = select(c.id, length).where(no_index(c.project_id) == project_id, c.id.in_(piece))
        sizes.update((id_, size) for id_, size in connection.execute(of_piece))
    return sizes


def find_named(connection: Connection, *, prompt_id: int, name: str) -> TestCaseRow | None:
    """Find the newest of a prompt's test cases that has exactly this name, and lock it."""
    c = test_cases.c
    # Without the documents: other test cases may have the same name, or the name in another case.
    named = connection.execute(newest_first(select(c.id, c.name).where(c.prompt_id == prompt_id, c.name == name), c.id))
    newest = next((row.id for row in named if row.name == name), None)
    return None if newest is None else find_row(connection, TestCaseRow, _ROW.where(c.id == newest).with_for_update())


def newest_of_session(connection: Connection, *, prompt_id: int, session_id: str) -> int | None:
    """Return the id of the newest of a prompt's test cases that was made of a session; None without any."""
    c = test_cases.c
    of_session = select(c.id).where(c.prompt_id == prompt_id, c.session_id == session_id)
    newest: int | None = connection.scalar(newest_first(of_session, c.id, limit=1))
    return newest


def sessions_with_cases(connection: Connection, *, prompt_id: int, session_ids: Collection[str]) -> set[str]:
    """Return the ids of the sessions that a test case of the prompt was made of."""
    c = test_cases.c
    made = select(c.session_id).where(c.prompt_id == prompt_id)
    keys = sorted(session_ids)
    return {id_ for piece in pieces(keys) for id_ in connection.scalars(made.where(c.session_id.in_(piece)))}


def of_sessions(connection: Connection, *, prompt_id: int, session_ids: Sequence[str]) -> dict[int, str]:
    """Return {id: name} of a prompt's test cases that were made of these sessions, the oldest first."""
    c = test_cases.c
    made = select(c.id, c.name).where(c.prompt_id == prompt_id, c.session_id.in_(session_ids)).order_by(c.id)
    return dict(map(tuple, connection.execute(made)))


def list_test_cases(
    connection: Connection,
    *,
    prompt_id: int,
    before_id: int | None = None,
    limit: int | None = None,
    search: str | None = None,
    order: str = "-created",
) -> list[TestCaseRow]:
    """List at most `limit` test cases after `before_id`; `search` is a part of the name, in any case.

    `order` is `created` or `name`, with a minus for descending order.
    """
    statement = in_order(
        _ROW.where(*_found(prompt_id, search)),
        _ORDERS[order.removeprefix("-")],
        test_cases.c.id,
        descending=order.startswith("-"),
        last_id=before_id,
        limit=limit,
    )
    return list_rows(connection, TestCaseRow, statement)


def list_ids(connection: Connection, *, prompt_id: int, before_id: int | None, limit: int) -> list[int]:
    """List the ids of at most `limit` test cases of a prompt after `before_id`, newest first."""
    c = test_cases.c
    of_prompt = select(c.id).where(c.prompt_id == prompt_id)
    return list(connection.scalars(newest_first(of_prompt, c.id, before_id=before_id, limit=limit)))


def count_test_cases(connection: Connection, *, prompt_id: int, search: str | None) -> int:
    return count_rows(connection, select(test_cases.c.id).where(*_found(prompt_id, search)))


def _found(prompt_id: int, search: str | None) -> list[ColumnElement[bool]]:
    c = test_cases.c
    named = [c.name.icontains(search, autoescape=True)] if search else []
    return [c.prompt_id == prompt_id, *named]


_ORDERS: dict[str, ColumnElement[Any]] = {"created": test_cases.c.id, "name": func.lower(test_cases.c.name)}


@dataclass(frozen=True, slots=True)
class CaseEntry:
    """A test case without its document; `steps` is the number of steps that a replay plays."""

    id: int
    name: str
    steps: int
    fingerprint: str
    variants: list[dict[str, Any]] | None = None


def entries_of(
    connection: Connection, *, prompt_id: int, ids: Collection[int] | None, lock: bool = False
) -> dict[int, CaseEntry]:
    """Return the prompt's test cases with these `ids`, or all of them, oldest first, by id.

    If they are locked, other transactions cannot change or delete them before the commit.
    """
    statement = select(*columns_of(CaseEntry, test_cases)).where(test_cases.c.prompt_id == prompt_id)
    if ids is not None:
        statement = statement.where(test_cases.c.id.in_(ids))
    statement = statement.order_by(test_cases.c.id)
    entries = list_rows(connection, CaseEntry, statement.with_for_update(read=True) if lock else statement)
    return {entry.id: entry for entry in entries}


def fingerprints_of(connection: Connection, *, prompt_id: int) -> dict[int, str]:
    """Return the fingerprints of all test cases of a prompt, by id."""
    c = test_cases.c
    rows = connection.execute(select(c.id, c.fingerprint).where(c.prompt_id == prompt_id).order_by(c.id))
    return {row[0]: row[1] for row in rows}


def find_prompt_of(connection: Connection, *, project_id: int, test_case_id: int) -> int | None:
    """Return the id of the prompt of a test case of the project."""
    c = test_cases.c
    prompt_id: int | None = connection.scalar(
        select(c.prompt_id).where(c.id == test_case_id, c.project_id == project_id)
    )
    return prompt_id


def names_of(connection: Connection, *, project_id: int, ids: Collection[int]) -> dict[int, str]:
    """Return the names of the project's existing test cases, by id."""
    c = test_cases.c
    # With the project in the condition SQLite reads all test cases of the project.
    rows = connection.execute(select(c.id, c.name, c.project_id).where(c.id.in_(sorted(ids))))
    return {row[0]: row[1] for row in rows if row[2] == project_id}


def change_test_case(
    connection: Connection, *, before: TestCaseRow, values: dict[str, Any], now: datetime
) -> TestCaseRow | None:
    """Change a test case. Returns None if its document has changed since `before` was read, or if it was deleted."""
    c = test_cases.c
    unchanged = update(test_cases).where(c.id == before.id, c.fingerprint == before.fingerprint)
    changed = changes_row(connection, unchanged.values(updated_at=now, **values))
    return replace(before, **_of_row(values), updated_at=now) if changed else None


def _of_row(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != "features"}


def newest_proposals(connection: Connection, *, project_id: int, prompt_id: int, limit: int) -> list[dict[str, Any]]:
    """Return the proposed effects of the prompt's newest test cases that have any, newest first."""
    c = test_cases.c
    proposed = c.proposed_effects.is_not(None)
    statement = select(c.proposed_effects).where(c.prompt_id == prompt_id, c.project_id == project_id, proposed)
    return list(connection.scalars(newest_first(statement, c.id).limit(limit)))


def proposals_of(connection: Connection, *, project_id: int, test_case_id: int) -> dict[str, Any]:
    """Return the proposed effects of a test case, none if it has none or was deleted."""
    c = test_cases.c
    statement = select(c.proposed_effects).where(c.id == test_case_id, c.project_id == project_id)
    return connection.scalar(statement) or {}


def put_proposals(connection: Connection, row: TestCaseRow, *, proposed: dict[str, Any]) -> None:
    """Store the proposed effects of a test case, unless it has some."""
    c = test_cases.c
    of_row = c.id == row.id, c.project_id == row.project_id, c.proposed_effects.is_(None)
    connection.execute(update(test_cases).where(*of_row).values(proposed_effects=proposed))


def put_features(connection: Connection, row: TestCaseRow, features: bytes) -> None:
    """Store the features of a test case, unless its document has changed since `row` was read."""
    c = test_cases.c
    of_row = c.id == row.id, c.project_id == row.project_id, c.fingerprint == row.fingerprint
    connection.execute(update(test_cases).where(*of_row).values(features=features))


def delete_test_case(connection: Connection, *, project_id: int, test_case_id: int) -> bool:
    """Delete a test case. Return whether the project had it."""
    c = test_cases.c
    return changes_row(connection, delete(test_cases).where(c.id == test_case_id, c.project_id == project_id))
