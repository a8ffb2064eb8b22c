"""Known origins: from which addresses and browsers a user signed in before. Only keyed digests of them are stored."""

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
    """Those of the digests from which the user of that e-mail signed in since then; none for nobody's e-mail."""
    statement = select(_c.digest).join(users, users.c.id == _c.user_id)
    found = connection.scalars(statement.where(users.c.email == email, _c.digest.in_(digests), _c.used_at > since))
    return {bytes(digest) for digest in found}


def remember(
    connection: Connection, *, user_id: int, digests: Collection[bytes], now: datetime, since: datetime, most: int
) -> None:
    """Keep the digests as used now, at most so many of the user's, and of nobody one that was not used since then."""
    for digest in sorted(digests):
        queries.put_row(connection, known_origins, key={"user_id": user_id, "digest": digest}, values={"used_at": now})
    ours = _c.user_id == user_id
    newest = select(_c.id).where(ours).order_by(_c.used_at.desc(), _c.id.desc()).limit(most)
    connection.execute(delete(known_origins).where(ours, _c.id.not_in(list(connection.scalars(newest)))))
    connection.execute(delete(known_origins).where(_c.used_at <= since))
