"""Snapshots of test cases: one for each content that was replayed. A replay plays the content it was started with."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import Connection, ForeignKey, Index, UniqueConstraint, select, type_coerce

from app.models import queries
from app.models.base import BigInt, Timestamp, exact, lock_count, new_table
from app.models.cases import test_cases
from app.models.compression import CompressedJson, CompressedText


@dataclass(frozen=True, slots=True)
class CaseSnapshotRow:
    """The content of a test case; `document` is the JSON of `app.replay.case_types.TestCase`."""

    id: int
    prompt_id: Annotated[int, BigInt, ForeignKey("prompts.id")]
    # No foreign key: a snapshot is deleted with its test case, before it or after it.
    test_case_id: Annotated[int, BigInt]
    # The SHA-256, as 64 hex digits, of the test case's fingerprint and its prompt's assertion value.
    fingerprint: Annotated[str, exact(64)]
    document: Annotated[dict[str, Any], CompressedJson]
    created_at: Annotated[datetime, Timestamp]


case_snapshots = new_table(
    "case_snapshots",
    CaseSnapshotRow,
    UniqueConstraint("test_case_id", "fingerprint"),
    Index("ix_case_snapshots_prompt_id", "prompt_id"),
    lock_count(),
    # SQLite reuses the ids of deleted rows, and replays keep the ids of deleted snapshots.
    sqlite_autoincrement=True,
)
_C = case_snapshots.c


def snapshot_fingerprint(of_case: str, assertion_value: str) -> str:
    """Return the fingerprint of a snapshot: of a test case with this fingerprint and its prompt's assertion value."""
    return hashlib.sha256(f"{of_case} {assertion_value}".encode()).hexdigest()


def find_snapshots(connection: Connection, fingerprints: Mapping[int, str]) -> dict[int, int]:
    """Return the ids of the snapshots with these fingerprints, by test case."""
    snapshot_ids: dict[int, int] = {}
    for case_ids in queries.pieces(sorted(fingerprints)):
        # One condition for each column: MySQL would use no index for a tuple of both.
        statement = select(_C.test_case_id, _C.fingerprint, _C.id).where(
            _C.test_case_id.in_(case_ids), _C.fingerprint.in_({fingerprints[case_id] for case_id in case_ids})
        )
        snapshot_ids.update({row[0]: row[2] for row in connection.execute(statement) if row[1] == fingerprints[row[0]]})
    return snapshot_ids


def lock_snapshots(connection: Connection, fingerprints: Mapping[int, str]) -> dict[int, int]:
    """Return the ids of the snapshots with these fingerprints, by test case; they are not deleted before the commit."""
    snapshot_ids: dict[int, int] = {}
    for case_ids in queries.pieces(sorted(fingerprints)):
        snapshots = find_snapshots(connection, {case_id: fingerprints[case_id] for case_id in case_ids})
        known = {snapshot_id: case_id for case_id, snapshot_id in snapshots.items()}
        # By id, the order in which removal locks and deletes. Snapshots that were deleted meanwhile are not returned.
        named = _C.id.in_(sorted(known))
        queries.lock_rows(connection, case_snapshots, named)
        snapshot_ids.update({known[id_]: id_ for id_ in connection.scalars(select(_C.id).where(named))})
    return snapshot_ids


@dataclass(frozen=True, slots=True)
class PlayedCase:
    """The document that a replay plays; `created_at` is when the test case was made."""

    document: dict[str, Any]
    created_at: datetime


def text_of(connection: Connection, *, snapshot_id: int) -> str | None:
    """Return the document of a snapshot as JSON; None if its test case was deleted."""
    text: str | None = connection.scalar(select(type_coerce(_C.document, CompressedText)).where(_C.id == snapshot_id))
    return text


def played_case(connection: Connection, *, snapshot_id: int) -> PlayedCase | None:
    """Return the content of a snapshot; None if its test case was deleted."""
    statement = select(_C.document, test_cases.c.created_at).join(test_cases, test_cases.c.id == _C.test_case_id)
    return queries.find_row(connection, PlayedCase, statement.where(_C.id == snapshot_id))
