"""Sign-ins: browsers that are signed in, and links that sign one in. Of their tokens only digests are stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import Column, Connection, Index, Table, UniqueConstraint, delete, select

from app.models import queries
from app.models.base import OPTIONS, Timestamp, binary, exact, identifier, metadata, reference
from app.models.users import users

Kind = Literal["session", "link"]

sign_ins = Table(
    "sign_ins",
    metadata,
    identifier(),
    reference("user_id", "users"),
    Column("kind", exact(8), nullable=False),
    Column("digest", binary(32), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("expires_at", Timestamp, nullable=False),
    UniqueConstraint("digest"),
    Index("ix_sign_ins_user_id", "user_id"),
    Index("ix_sign_ins_expires_at", "expires_at"),
    **OPTIONS,
)


@dataclass(frozen=True, slots=True)
class SignedIn:
    user_id: int
    email: str
    name: str


def add_sign_in(
    connection: Connection, *, user_id: int, kind: Kind, digest: bytes, now: datetime, expires_at: datetime
) -> None:
    queries.insert_row(
        connection, sign_ins, user_id=user_id, kind=kind, digest=digest, created_at=now, expires_at=expires_at
    )


def find_user(connection: Connection, *, kind: Kind, digest: bytes, now: datetime) -> SignedIn | None:
    """The user of a token that has not expired."""
    statement = (
        select(*queries.columns_of(SignedIn, users, user_id=users.c.id))
        .join(sign_ins, sign_ins.c.user_id == users.c.id)
        .where(sign_ins.c.digest == digest, sign_ins.c.kind == kind, sign_ins.c.expires_at > now)
    )
    return queries.find_row(connection, SignedIn, statement)


def remove(connection: Connection, *, kind: Kind, digest: bytes) -> bool:
    """Delete a sign-in; False if there is none."""
    return queries.changes_row(connection, delete(sign_ins).where(sign_ins.c.kind == kind, sign_ins.c.digest == digest))


def remove_all_of(connection: Connection, *, user_id: int, kind: Kind | None = None) -> None:
    """Delete the sign-ins of a user, all or those of one kind."""
    statement = delete(sign_ins).where(sign_ins.c.user_id == user_id)
    connection.execute(statement.where(sign_ins.c.kind == kind) if kind else statement)


def remove_expired(connection: Connection, *, now: datetime) -> None:
    connection.execute(delete(sign_ins).where(sign_ins.c.expires_at <= now))
