"""Scores: how well a span, such as a model call, did by somebody's measure; kept beside the span, or until it comes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

from sqlalchemy import Column, Connection, Double, Index, String, UniqueConstraint, select

from app.models import queries
from app.models.base import BigInt, MediumText, binary, exact, new_table
from app.models.spans import SpanKey

SESSION_MAX = 10_000
"""The scores that are read of one session, the earliest first."""

# Without foreign keys, as spans. `prompt_id` and `waiting_since` are as those of log records.
scores = new_table(
    "scores",
    Column("project_id", BigInt, nullable=False),
    # Of what tells a score from all others: the same score sent again is stored once.
    Column("digest", binary(16), nullable=False),
    Column("prompt_id", BigInt, nullable=True),
    Column("trace_id", binary(16), nullable=True),
    Column("span_id", binary(8), nullable=True),
    Column("time_ns", BigInt, nullable=False),
    Column("name", exact(255), nullable=False),
    Column("value", Double, nullable=True),
    Column("label", String(255), nullable=True),
    Column("comment", MediumText, nullable=True),
    # `otlp`: it came with telemetry.
    Column("source", exact(16), nullable=False),
    Column("waiting_since", BigInt, nullable=True),
    UniqueConstraint("project_id", "digest"),
    Index("ix_scores_project_id_trace_id_span_id", "project_id", "trace_id", "span_id"),
    Index("ix_scores_prompt_id", "prompt_id"),
    Index("ix_scores_waiting_since", "waiting_since"),
)

COLUMNS = tuple(column.name for column in scores.c if column.name != "id")
NewScore = tuple[int, bytes, int | None, bytes, bytes, int, str, float | None, str | None, str | None, str, int | None]
"""A row in the order of COLUMNS."""

_C = scores.c


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A score of a span."""

    trace_id: bytes
    span_id: bytes
    name: str
    value: float | None
    label: str | None
    comment: str | None
    source: str

    @property
    def key(self) -> SpanKey:
        return (self.trace_id, self.span_id)


def insert_new(connection: Connection, rows: Sequence[NewScore]) -> int:
    """Store those of `rows` that are not stored yet; returns their number."""
    # In key order, as two batches may have the same.
    return queries.insert_new(connection, "scores", COLUMNS, sorted(rows, key=itemgetter(1)))


def scores_of(connection: Connection, *, project_id: int, trace_ids: Sequence[bytes]) -> list[ScoreRow]:
    """List the scores of the spans of traces, in the order of their times, at most SESSION_MAX."""
    of_project = select(*queries.columns_of(ScoreRow, scores), _C.time_ns, _C.id).where(_C.project_id == project_id)
    found: list[tuple[int, int, ScoreRow]] = []
    for some in queries.pieces(trace_ids):
        statement = of_project.where(_C.trace_id.in_(some)).order_by(_C.time_ns, _C.id).limit(SESSION_MAX)
        found += [(time_ns, id_, ScoreRow(*row)) for *row, time_ns, id_ in connection.execute(statement)]
    return [row for _, _, row in sorted(found, key=itemgetter(0, 1))[:SESSION_MAX]]
