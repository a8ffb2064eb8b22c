"""Known origins: addresses and browsers from which a user signed in before, stored as keyed digests."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import Column, Connection, Index, Table, UniqueConstraint, delete, select

from app.models import queries
from app.models.base import OPTIONS, Timestamp, binary, identifier, metadata, reference
from app.models.users import users

known_origins = Table(
    "known_origins",
    metadata,
    identifier(),
    reference("user_id", "users"),
    Column("digest", binary(32), nullable=False),
    Column("used_at", Timestamp, nullable=False),
    UniqueConstraint("user_id", "digest"),
    Index("ix_known_origins_used_at", "used_at"),
    **OPTIONS,
)
_c = known_origins.c


def find_known(connection: Connection, *, email: str, digests: Collection[bytes], since: datetime) -> set[bytes]:
    """The digests from which the user of that e-mail signed in since then; none for an unknown e-mail."""
    statement = select(_c.digest).join(users, users.c.id == _c.user_id)
    found = connection.scalars(statement.where(users.c.email == email, _c.digest.in_(digests), _c.used_at > since))
    return {bytes(digest) for digest in found}


def remember(
    connection: Connection, *, user_id: int, digests: Collection[bytes], now: datetime, since: datetime, most: int
) -> None:
    """Store the digests as used now; delete all but the user's `most` newest, and all that were used before `since`."""
    for digest in sorted(digests):
        queries.put_row(connection, known_origins, key={"user_id": user_id, "digest": digest}, values={"used_at": now})
    ours = _c.user_id == user_id
    newest = select(_c.id).where(ours).order_by(_c.used_at.desc(), _c.id.desc()).limit(most)
    connection.execute(delete(known_origins).where(ours, _c.id.not_in(list(connection.scalars(newest)))))
    connection.execute(delete(known_origins).where(_c.used_at <= since))
