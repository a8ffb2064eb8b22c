"""Users, their sign-ins, and the origins that they signed in from. Tokens and origins are stored as digests only."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from sqlalchemy import Column, Connection, Index, String, UniqueConstraint, delete, select, update

from app.models import queries
from app.models.base import Timestamp, binary, exact, new_table, reference


@dataclass(frozen=True, slots=True)
class User:
    """`email` is in lower case; `password_hash` is argon2's own encoding, parameters and salt included."""

    id: int
    email: Annotated[str, exact(254)]
    name: Annotated[str, String(128)]
    password_hash: Annotated[str, String(255)]
    created_at: Annotated[datetime, Timestamp]


users = new_table("users", User, UniqueConstraint("email"))


_SELECT = select(*queries.columns_of(User, users))


def find_by_email(connection: Connection, email: str) -> User | None:
    return queries.find_row(connection, User, _SELECT.where(users.c.email == email))


def find_user(connection: Connection, user_id: int) -> User | None:
    return queries.find_row(connection, User, _SELECT.where(users.c.id == user_id))


def replace_password(connection: Connection, user: User, password_hash: str) -> bool:
    """Set a password if `user`'s is still the current one; returns False if another one was set meanwhile."""
    same = users.c.id == user.id, users.c.password_hash == user.password_hash
    return queries.changes_row(connection, update(users).where(*same).values(password_hash=password_hash))


Kind = Literal["session", "link", "reset"]
"""A browser's session; a link that signs in; a link that sets a new password, which ends all of the three."""

sign_ins = new_table(
    "sign_ins",
    reference("user_id", "users"),
    Column("kind", exact(8), nullable=False),
    Column("digest", binary(32), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    Column("expires_at", Timestamp, nullable=False),
    UniqueConstraint("digest"),
    Index("ix_sign_ins_user_id", "user_id"),
    Index("ix_sign_ins_expires_at", "expires_at"),
)


@dataclass(frozen=True, slots=True)
class SignedIn:
    """The user of a session or of a sign-in link."""

    user_id: int
    email: str
    name: str


def find_signed_in(connection: Connection, *, kind: Kind, digest: bytes, now: datetime) -> SignedIn | None:
    """Return the user of a token that has not expired."""
    statement = (
        select(*queries.columns_of(SignedIn, users, user_id=users.c.id))
        .join(sign_ins, sign_ins.c.user_id == users.c.id)
        .where(sign_ins.c.digest == digest, sign_ins.c.kind == kind, sign_ins.c.expires_at > now)
    )
    return queries.find_row(connection, SignedIn, statement)


def remove_expired_sign_ins(connection: Connection, *, now: datetime) -> None:
    connection.execute(delete(sign_ins).where(sign_ins.c.expires_at <= now))


known_origins = new_table(
    "known_origins",
    reference("user_id", "users"),
    Column("digest", binary(32), nullable=False),
    Column("used_at", Timestamp, nullable=False),
    UniqueConstraint("user_id", "digest"),
    Index("ix_known_origins_used_at", "used_at"),
)
_known = known_origins.c


def known_digests(connection: Connection, *, email: str, digests: Collection[bytes], since: datetime) -> set[bytes]:
    """Return the digests that the user of that e-mail has signed in from since then; none for an unknown e-mail."""
    statement = select(_known.digest).join(users, users.c.id == _known.user_id)
    stored = connection.scalars(
        statement.where(users.c.email == email, _known.digest.in_(digests), _known.used_at > since)
    )
    return {bytes(digest) for digest in stored}


def remember_origins(
    connection: Connection, *, user_id: int, digests: Collection[bytes], now: datetime, since: datetime, most: int
) -> None:
    """Store the digests as used now.

    Delete all but the user's `most` newest digests, and all digests that were last used before `since`.
    """
    for digest in sorted(digests):
        queries.put_row(connection, known_origins, key={"user_id": user_id, "digest": digest}, values={"used_at": now})
    ours = _known.user_id == user_id
    newest = select(_known.id).where(ours).order_by(_known.used_at.desc(), _known.id.desc()).limit(most)
    connection.execute(delete(known_origins).where(ours, _known.id.not_in(list(connection.scalars(newest)))))
    connection.execute(delete(known_origins).where(_known.used_at <= since))


# People as OpenID providers know them. The digest is of the provider's address and its name for the person.
identities = new_table(
    "identities",
    reference("user_id", "users"),
    Column("digest", binary(32), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    UniqueConstraint("digest"),
)


def find_identity(connection: Connection, digest: bytes) -> int | None:
    """Return the id of the user who a provider knows by that digest."""
    return connection.scalar(select(identities.c.user_id).where(identities.c.digest == digest))
