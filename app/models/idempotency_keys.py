"""Idempotency keys: which run an API key's request was given, so that the same request gets it again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Column, Connection, Index, Table, UniqueConstraint, delete, select

from app.models.base import OPTIONS, Timestamp, binary, identifier, metadata, reference
from app.models.queries import columns_of, find_row, insert_row

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


@dataclass(frozen=True, slots=True)
class KeptKey:
    body_digest: bytes
    run_id: int
    created_at: datetime


def find_key(connection: Connection, *, api_key_id: int, key_digest: bytes) -> KeptKey | None:
    c = idempotency_keys.c
    kept = select(*columns_of(KeptKey, idempotency_keys))
    return find_row(connection, KeptKey, kept.where(c.api_key_id == api_key_id, c.key_digest == key_digest))


def add_key(
    connection: Connection, *, api_key_id: int, key_digest: bytes, body_digest: bytes, run_id: int, now: datetime
) -> None:
    """`IntegrityError` when the API key has this key already."""
    values = {"api_key_id": api_key_id, "key_digest": key_digest, "body_digest": body_digest, "run_id": run_id}
    insert_row(connection, idempotency_keys, created_at=now, **values)


def delete_expired_key(connection: Connection, *, api_key_id: int, key_digest: bytes, before: datetime) -> None:
    c = idempotency_keys.c
    connection.execute(
        delete(idempotency_keys).where(c.api_key_id == api_key_id, c.key_digest == key_digest, c.created_at <= before)
    )


def delete_of_run(connection: Connection, *, run_id: int) -> None:
    connection.execute(delete(idempotency_keys).where(idempotency_keys.c.run_id == run_id))


def delete_expired(connection: Connection, *, before: datetime, limit: int) -> None:
    """The oldest `limit` of those that have expired; by id, so that few rows are locked."""
    c = idempotency_keys.c
    expired = select(c.id).where(c.created_at <= before).order_by(c.created_at).limit(limit)
    ids = sorted(connection.scalars(expired))
    if ids:
        connection.execute(delete(idempotency_keys).where(c.id.in_(ids)))
