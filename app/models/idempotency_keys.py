"""Idempotency-Keys of API keys. Each is kept for a day with the run that it began."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any

from sqlalchemy import Column, Connection, ForeignKey, Index, UniqueConstraint, bindparam, delete, insert, select

from app.models.base import BigInt, Timestamp, binary, new_table, reference
from app.models.queries import columns_of


@dataclass(frozen=True, slots=True)
class KeptKey:
    """The run that an Idempotency-Key has started, and the SHA-256 of the body that it came with."""

    body_digest: Annotated[bytes, binary(32)]
    run_id: Annotated[int, BigInt, ForeignKey("runs.id")]
    created_at: Annotated[datetime, Timestamp]


idempotency_keys = new_table(
    "idempotency_keys",
    reference("api_key_id", "api_keys"),
    Column("key_digest", binary(32), nullable=False),
    KeptKey,
    UniqueConstraint("api_key_id", "key_digest"),
    Index("ix_idempotency_keys_run_id", "run_id"),
    Index("ix_idempotency_keys_created_at", "created_at"),
)


ApiKeyAndDigest = tuple[int, bytes]
"""The id of an API key, and the SHA-256 of an Idempotency-Key that came with it."""
_OF_KEYS = (
    idempotency_keys.c.api_key_id == bindparam("api_key_id"),
    idempotency_keys.c.key_digest.in_(bindparam("digests", expanding=True)),
)
_KEPT = select(
    idempotency_keys.c.api_key_id, idempotency_keys.c.key_digest, *columns_of(KeptKey, idempotency_keys)
).where(*_OF_KEYS)
_DELETE_EXPIRED = delete(idempotency_keys).where(
    *_OF_KEYS, idempotency_keys.c.created_at <= bindparam("expired_before", type_=Timestamp())
)


def find_keys(connection: Connection, keys: Collection[ApiKeyAndDigest]) -> dict[ApiKeyAndDigest, KeptKey]:
    """Return the stored entries of these keys."""
    return {
        (api_key_id, digest): KeptKey(*kept)
        for values in _by_api_key(keys)
        for api_key_id, digest, *kept in connection.execute(_KEPT, values)
    }


def add_keys(
    connection: Connection, new: Sequence[tuple[ApiKeyAndDigest, KeptKey]], *, expired_before: datetime
) -> None:
    """Insert keys and replace expired ones. Raises `IntegrityError` for a key that is stored, or comes twice."""
    for values in _by_api_key([key for key, _ in new]):
        connection.execute(_DELETE_EXPIRED, {**values, "expired_before": expired_before})
    rows = [{"api_key_id": api_key_id, "key_digest": digest, **asdict(kept)} for (api_key_id, digest), kept in new]
    connection.execute(insert(idempotency_keys), rows)


def _by_api_key(keys: Collection[ApiKeyAndDigest]) -> Iterator[dict[str, Any]]:
    """Yield the values of a statement for each API key: one for all would look up every digest with every API key."""
    for api_key_id, group in groupby(sorted(set(keys)), key=itemgetter(0)):
        yield {"api_key_id": api_key_id, "digests": [digest for _, digest in group]}


def delete_expired_keys(connection: Connection, *, before: datetime, limit: int) -> None:
    """Delete the `limit` oldest expired keys, by id, so that few rows are locked."""
    c = idempotency_keys.c
    expired = select(c.id).where(c.created_at <= before).order_by(c.created_at).limit(limit)
    ids = sorted(connection.scalars(expired))
    if ids:
        connection.execute(delete(idempotency_keys).where(c.id.in_(ids)))
