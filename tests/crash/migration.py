"""An upgrade of the schema that is killed at each of its calls, and run again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text

from app.database.transactions import Database
from app.models import metadata, schema
from tests.crash.trial import Trial, Victim, points_of

NAME = "a migration"
OLD = "0037"
"""The revision that is upgraded: later ones add tables, columns and indexes, and change rows."""
ROW = "INSERT INTO organizations (name, created_at) VALUES ('Ada', '2026-01-05 00:00:00')"
UPGRADE = {"work": "upgrade", "ids": []}
REBUILT_AFTER = 8
"""MariaDB keeps the place of a column that was dropped until its table is rebuilt, and a row has a largest size."""


def try_migration(database: Database, victim: Victim, *, at_most: int | None = None) -> Trial:
    """Kill the upgrade of the victim's empty database at each of its calls, and upgrade again."""
    schema.upgrade(database, OLD)
    with database.write() as connection:
        connection.execute(text(ROW))
    rows = _rows(database)
    trial = Trial(NAME, victim.perform(UPGRADE, at=0)["calls"])
    trial.wrong += _problems(database, rows)
    for at in points_of(trial.calls, at_most):
        schema.downgrade(database, OLD)
        is_done = victim.perform(UPGRADE, at=at)["acknowledged"]
        trial.points += 1
        if trial.points % REBUILT_AFTER == 0 and not database.is_sqlite:
            _rebuild(database)
        trial.acknowledged += is_done
        if is_done:
            trial.wrong += [f"{at}: {problem}" for problem in _problems(database, rows)]
        schema.upgrade(database)
        trial.wrong += [f"{at}, upgraded again: {problem}" for problem in _problems(database, rows)]
    return trial


def _rebuild(database: Database) -> None:
    with database.single() as connection:
        for table in connection.scalars(text("SHOW TABLES")).all():
            connection.execute(text(f"ALTER TABLE `{table}` FORCE"))


def _rows(database: Database) -> list[Any]:
    with database.read() as connection:
        return list(connection.scalars(text("SELECT name FROM organizations ORDER BY id")))


def _problems(database: Database, rows: list[Any]) -> Iterator[str]:
    if schema.current_revision(database) != schema.newest_revision():
        yield f"the revision is {schema.current_revision(database)}"
    if (stored := _rows(database)) != rows:
        yield f"stored {stored}, not {rows}"
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        if differences := list(compare_metadata(context, metadata)):
            yield f"the schema differs from the models: {differences}"
