"""Spans as they came. Their unique key is the truth about what was received; everything else is derived."""

from __future__ import annotations

from sqlalchemy import Column, Index, String, Table, UniqueConstraint

from app.models.base import OPTIONS, BigInt, MediumBlob, binary, exact, identifier, metadata

# No foreign keys here: a check per row would cost ingest more than it is worth; the prompt is checked once a batch.
spans = Table(
    "spans",
    metadata,
    identifier(),
    Column("project_id", BigInt, nullable=False),
    Column("trace_id", binary(16), nullable=False),
    Column("span_id", binary(8), nullable=False),
    Column("prompt_id", BigInt, nullable=False),
    # Milliseconds since 1970 and 22 random bits: which attempt stored the row, and when.
    Column("batch_id", BigInt, nullable=False),
    Column("scope", String(255), nullable=False),
    Column("body", MediumBlob, nullable=False),
    UniqueConstraint("project_id", "trace_id", "span_id"),
    **OPTIONS,
)

# A trace of one prompt. `facts` is what `app/sessions/facts.py` merges over batches.
turns = Table(
    "turns",
    metadata,
    identifier(),
    Column("project_id", BigInt, nullable=False),
    Column("prompt_id", BigInt, nullable=False),
    Column("trace_id", binary(16), nullable=False),
    Column("session_key", binary(16), nullable=False),
    Column("start_ns", BigInt, nullable=False),
    Column("facts", MediumBlob, nullable=False),
    UniqueConstraint("prompt_id", "trace_id"),
    Index("ix_turns_session_key_start_ns", "session_key", "start_ns"),
    **OPTIONS,
)

sessions = Table(
    "sessions",
    metadata,
    identifier(),
    Column("session_key", binary(16), nullable=False),
    Column("project_id", BigInt, nullable=False),
    Column("prompt_id", BigInt, nullable=False),
    Column("conversation_id", exact(512)),
    Column("start_ns", BigInt, nullable=False),
    Column("last_ns", BigInt, nullable=False),
    UniqueConstraint("session_key"),
    Index("ix_sessions_prompt_id_start_ns_id", "prompt_id", "start_ns", "id"),
    **OPTIONS,
)

rejected_spans = Table(
    "rejected_spans",
    metadata,
    identifier(),
    Column("project_id", BigInt, nullable=False),
    Column("prompt_id", BigInt),
    Column("trace_id", String(64), nullable=False),
    Column("span_id", String(64), nullable=False),
    Column("name", String(255), nullable=False),
    Column("code", exact(32), nullable=False),
    Column("reason", String(1000), nullable=False),
    Column("received_ns", BigInt, nullable=False),
    Index("ix_rejected_spans_project_id_id", "project_id", "id"),
    **OPTIONS,
)
