"""Runs: one row for every call of a prompt, written before its model is called."""

from __future__ import annotations

from sqlalchemy import (
    Column,
    Float,
    Index,
    Integer,
    Table,
    UniqueConstraint,
)

from app.models.base import (
    OPTIONS,
    BigInt,
    Json,
    MediumBlob,
    MediumText,
    Timestamp,
    binary,
    exact,
    identifier,
    metadata,
    reference,
)

runs = Table(
    "runs",
    metadata,
    identifier(),
    reference("project_id", "projects"),
    reference("prompt_id", "prompts"),
    Column("api_key_id", BigInt),
    Column("source", exact(8), nullable=False),
    Column("status", exact(16), nullable=False),
    # What was asked: fixed when the run is accepted, a draft's content included.
    Column("commit_hash", exact(64)),
    Column("request", Json, nullable=False),
    Column("question", MediumText, nullable=False),
    Column("language_model_id", BigInt, nullable=False),
    # What came of it.
    Column("instruction", MediumText),
    Column("answer", MediumText),
    Column("outcome", Json),
    Column("nok", MediumText),
    Column("error", MediumText),
    Column("error_kind", exact(32)),
    Column("prompt_tokens", Integer, nullable=False, server_default="0"),
    Column("completion_tokens", Integer, nullable=False, server_default="0"),
    Column("cost_usd", Float, nullable=False, server_default="0"),
    Column("response_time_ms", Integer),
    # A claim is good for the worker that made it, until it is too old to be alive.
    Column("claim", exact(36)),
    Column("claimed_at", Timestamp),
    Column("created_at", Timestamp, nullable=False),
    Column("finished_at", Timestamp),
    Index("ix_runs_prompt_id_created_at_id", "prompt_id", "created_at", "id"),
    Index("ix_runs_project_id_created_at", "project_id", "created_at"),
    Index("ix_runs_status_created_at", "status", "created_at"),
    **OPTIONS,
)

# Files wait here from the request to the model call, in pieces that fit any server's packet limit.
run_file_chunks = Table(
    "run_file_chunks",
    metadata,
    identifier(),
    reference("run_id", "runs"),
    Column("position", Integer, nullable=False),
    Column("chunk", Integer, nullable=False),
    Column("content", MediumBlob, nullable=False),
    UniqueConstraint("run_id", "position", "chunk"),
    **OPTIONS,
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    identifier(),
    reference("api_key_id", "api_keys"),
    Column("key_digest", binary(32), nullable=False),
    Column("body_digest", binary(32), nullable=False),
    reference("run_id", "runs"),
    Column("created_at", Timestamp, nullable=False),
    UniqueConstraint("api_key_id", "key_digest"),
    Index("ix_idempotency_keys_run_id", "run_id"),
    Index("ix_idempotency_keys_created_at", "created_at"),
    **OPTIONS,
)
