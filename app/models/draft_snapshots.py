"""Snapshots of the drafts that replays played; each content of a prompt is stored once for all its replays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, Connection, Index, Table, UniqueConstraint, select

from app.models import queries
from app.models.base import OPTIONS, Json, MediumText, exact, identifier, metadata, reference

draft_snapshots = Table(
    "draft_snapshots",
    metadata,
    identifier(),
    reference("prompt_id", "prompts"),
    Column("fingerprint", exact(64), nullable=False),
    Column("value", MediumText, nullable=False),
    reference("language_model_id", "language_models"),
    Column("config", Json, nullable=False),
    Column("placeholders", Json, nullable=False),
    Column("instruction_format", exact(8), nullable=False),
    UniqueConstraint("prompt_id", "fingerprint"),
    Index("ix_draft_snapshots_language_model_id", "language_model_id"),
    **OPTIONS,
)


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """The content of a draft; `config` and `placeholders` are stored as in `prompts`."""

    id: int
    prompt_id: int
    fingerprint: str
    value: str
    language_model_id: int
    config: dict[str, Any]
    placeholders: list[dict[str, Any]]
    instruction_format: Any


_ROW = select(*queries.columns_of(SnapshotRow, draft_snapshots))


def put_snapshot(connection: Connection, *, values: dict[str, Any]) -> int:
    """Store the content unless it is stored already; returns its id."""
    key = {name: values[name] for name in ("prompt_id", "fingerprint")}
    queries.put_row(connection, draft_snapshots, key=key, new=values)
    return int(connection.scalars(select(draft_snapshots.c.id).filter_by(**key)).one())


def get_snapshot(connection: Connection, *, snapshot_id: int) -> SnapshotRow:
    return SnapshotRow(*connection.execute(_ROW.where(draft_snapshots.c.id == snapshot_id)).one())
