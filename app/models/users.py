"""Users: people who sign in, whichever organizations they are members of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Column, Connection, String, Table, UniqueConstraint, select, update

from app.models import queries
from app.models.base import OPTIONS, Timestamp, exact, identifier, metadata

users = Table(
    "users",
    metadata,
    identifier(),
    Column("email", exact(254), nullable=False),
    Column("name", String(128), nullable=False),
    Column("password_hash", String(255), nullable=False),
    Column("created_at", Timestamp, nullable=False),
    UniqueConstraint("email"),
    **OPTIONS,
)


@dataclass(frozen=True, slots=True)
class User:
    """`email` is in lower case; `password_hash` is argon2's own encoding, parameters and salt included."""

    id: int
    email: str
    name: str
    password_hash: str
    created_at: datetime


_SELECT = select(*queries.columns_of(User, users))


def add_user(connection: Connection, *, email: str, name: str, password_hash: str, now: datetime) -> int:
    return queries.insert_row(connection, users, email=email, name=name, password_hash=password_hash, created_at=now)


def find_by_email(connection: Connection, email: str) -> User | None:
    return queries.find_row(connection, User, _SELECT.where(users.c.email == email))


def find_user(connection: Connection, user_id: int) -> User | None:
    return queries.find_row(connection, User, _SELECT.where(users.c.id == user_id))


def set_password(connection: Connection, *, user_id: int, password_hash: str) -> None:
    connection.execute(update(users).where(users.c.id == user_id).values(password_hash=password_hash))
