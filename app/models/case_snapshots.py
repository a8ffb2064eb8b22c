"""Snapshots of test cases: one for each content that was replayed, so that a replay plays what it was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import ForeignKey, UniqueConstraint

from app.models.base import BigInt, Json, Timestamp, exact, new_table


@dataclass(frozen=True, slots=True)
class CaseSnapshotRow:
    """The content of a test case; `document` is the JSON of `app.replay.types.TestCase`."""

    id: int
    prompt_id: Annotated[int, BigInt, ForeignKey("prompts.id")]
    # No foreign key: a snapshot is deleted with its test case, before it or after it.
    test_case_id: Annotated[int, BigInt]
    # The SHA-256 of the document, as 64 hex digits.
    fingerprint: Annotated[str, exact(64)]
    document: Annotated[dict[str, Any], Json]
    created_at: Annotated[datetime, Timestamp]


case_snapshots = new_table(
    "case_snapshots",
    CaseSnapshotRow,
    UniqueConstraint("test_case_id", "fingerprint"),
)
