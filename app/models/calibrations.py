"""Calibrations: a copy of a test case, replayed several times, and the findings."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import Connection, DefaultClause, ForeignKey, Index, Integer, select, update

from app.models.base import BigInt, Json, LongJson, Timestamp, new_table
from app.models.queries import columns_of, find_row


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """A calibration as stored.

    `document` is the JSON of the `app.replay.case_types.TestCase` that its replays play. `outcome` is the JSON of
    `app.replay.calibration.Calibration`; it is None until all replays have ended and were compared by a worker.
    """

    id: int
    project_id: Annotated[int, BigInt, ForeignKey("projects.id")]
    prompt_id: Annotated[int, BigInt, ForeignKey("prompts.id")]
    # No foreign key: it is deleted with its test case.
    test_case_id: Annotated[int, BigInt]
    repeats: Annotated[int, Integer]
    document: Annotated[dict[str, Any], Json]
    outcome: Annotated[dict[str, Any] | None, LongJson]
    created_at: Annotated[datetime, Timestamp]
    # Attempts to compare the results that began and have not ended: their process may have died.
    attempts: Annotated[int, Integer, DefaultClause("0")]


calibrations = new_table(
    "calibrations",
    CalibrationRow,
    Index("ix_calibrations_prompt_id", "prompt_id"),
    Index("ix_calibrations_test_case_id", "test_case_id"),
    Index("ix_calibrations_project_id_created_at", "project_id", "created_at"),
)


_ROW = select(*columns_of(CalibrationRow, calibrations))


def find_calibration(connection: Connection, *, project_id: int, calibration_id: int) -> CalibrationRow | None:
    c = calibrations.c
    return find_row(connection, CalibrationRow, _ROW.where(c.id == calibration_id, c.project_id == project_id))


def document_of(connection: Connection, *, calibration_id: int, before: datetime) -> dict[str, Any] | None:
    """Return the test case that the replays of a calibration created by `before` play; None if it was deleted."""
    c = calibrations.c
    statement = select(c.document).where(c.id == calibration_id, c.created_at <= before)
    document: dict[str, Any] | None = connection.scalar(statement)
    return document


def count_attempt(connection: Connection, *, calibration_id: int, by: int) -> None:
    """Count an attempt to compare the results that begins, or with -1 one that has ended without an outcome."""
    c = calibrations.c
    connection.execute(update(calibrations).where(c.id == calibration_id).values(attempts=c.attempts + by))


def put_outcome(connection: Connection, *, calibration_id: int, outcome: dict[str, Any]) -> None:
    connection.execute(update(calibrations).where(calibrations.c.id == calibration_id).values(outcome=outcome))
