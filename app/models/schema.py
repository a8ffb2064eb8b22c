"""The database's schema: upgrades it, and reads its revision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, text

from app.database.transactions import Database
from app.errors import Conflict

# Alembic is imported where it is used: with Mako and Pygments it would make every process start 0.13 s later.
if TYPE_CHECKING:
    from alembic.config import Config

SCRIPTS = Path(__file__).parents[2] / "migrations"


def _config(connection: Connection | None = None) -> Config:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(SCRIPTS))
    config.attributes["connection"] = connection
    return config


def upgrade(database: Database, revision: str = "head") -> None:
    """Upgrade the schema to `revision`; two processes that do so at the same time wait for each other."""
    from alembic import command
    from alembic.util import CommandError

    with _migrating(database) as connection:
        try:
            command.upgrade(_config(connection), revision)
        except CommandError as error:
            # A revision that no script of this release has.
            raise Conflict(
                f"The data is of another release than this one ({error}): start that release or a newer one, or "
                "restore a backup."
            ) from error


def downgrade(database: Database, revision: str = "base") -> None:
    """Undo the migrations after `revision`, by default all of them."""
    from alembic import command

    with _migrating(database) as connection:
        command.downgrade(_config(connection), revision)


@contextmanager
def _migrating(database: Database) -> Iterator[Connection]:
    """Let one process at a time change the schema, and commit the change.

    On SQLite all migrations are one transaction, which locks the file before Alembic reads the revision. With a
    transaction for each migration, another process could run the next one in between. MySQL commits every statement
    that changes the schema, so `exclusive` keeps other processes out.
    """
    with database.unlimited() as connection, exclusive(connection):
        if database.is_sqlite:
            connection.begin()
        yield connection
        connection.commit()


@cache
def revisions() -> tuple[str, ...]:
    """Return every revision of this release, the newest first, and "" for a database that has none yet."""
    from alembic.script import ScriptDirectory

    return (*(script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()), "")


def newest_revision() -> str:
    return revisions()[0]


def current_revision(database: Database) -> str:
    """Return the revision the database is at, "" for an empty one."""
    from alembic.runtime.migration import MigrationContext

    with database.read() as connection:
        return MigrationContext.configure(connection).get_current_revision() or ""


@contextmanager
def exclusive(connection: Connection) -> Iterator[None]:
    """Keeps out other processes that change the schema or seed it, by MySQL's advisory lock; SQLite has none."""
    if connection.dialect.name != "mysql":
        yield
        return
    lock = {"name": "reprise_schema"}
    if connection.scalar(text("SELECT GET_LOCK(:name, 60)"), lock) != 1:
        raise TimeoutError("Another process has been upgrading the schema for a minute.")
    try:
        yield
    finally:
        connection.execute(text("SELECT RELEASE_LOCK(:name)"), lock)
