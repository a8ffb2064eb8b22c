"""The migrations and the models agree, on both databases."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.util import CommandError
from sqlalchemy import Engine, event, inspect, select, text

from app.database.engines import build_engine
from app.database.transactions import Database
from app.errors import Conflict
from app.models import metadata, schema
from app.models.span_blocks import span_blocks
from tests.support.deployment import environment, run_to_end

ONLY_ON_SQLITE = {"0040"}
# Alembic keeps its context in the module: what runs at once must be processes.
UPGRADE = (
    "import sys; from app.database import engines, transactions; from app.models import schema; "
    "schema.upgrade(transactions.Database(engines.build_engine(sys.argv[1])))"
)


@pytest.fixture(params=["sqlite", pytest.param("mysql", marks=pytest.mark.services)])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database without tables."""
    sqlite = request.param == "sqlite"
    url = f"sqlite:///{tmp_path}/empty.db" if sqlite else request.getfixturevalue("mysql_url")
    database = Database(build_engine(url))
    yield database
    database.engine.dispose()


def differences(database: Database) -> list[object]:
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, metadata))


def test_an_upgraded_database_has_no_difference_to_the_models(empty: Database) -> None:
    assert schema.current_revision(empty) == ""

    schema.upgrade(empty)

    assert differences(empty) == []
    assert schema.current_revision(empty) == schema.newest_revision()


def test_a_downgrade_leaves_nothing_and_can_be_undone(empty: Database) -> None:
    schema.upgrade(empty)

    schema.downgrade(empty)

    assert set(inspect(empty.engine).get_table_names()) == {"alembic_version"}
    schema.upgrade(empty)
    assert differences(empty) == []


def test_a_downgrade_that_would_lose_packed_spans_is_refused(empty: Database) -> None:
    schema.upgrade(empty)
    with empty.write() as connection:
        block = {"project_id": 1, "traces": bytes(16), "body": b"packed"}
        connection.execute(span_blocks.insert().values(block))

    with pytest.raises(CommandError, match="Spans of this database are packed"):
        schema.downgrade(empty)

    # MySQL has committed the downgrades of later revisions.
    schema.upgrade(empty)
    assert differences(empty) == []
    with empty.write() as connection:
        assert connection.scalars(select(span_blocks.c.body)).all() == [b"packed"]
        connection.execute(span_blocks.delete())
    schema.downgrade(empty)


@pytest.mark.services
@pytest.mark.parametrize("revision", [name for name in schema.revisions()[:5] if name not in ONLY_ON_SQLITE])
def test_an_upgrade_that_is_interrupted_between_two_statements_can_be_run_again(mysql_url: str, revision: str) -> None:
    database = Database(build_engine(mysql_url))
    before = schema.revisions()[schema.revisions().index(revision) + 1]
    schema.upgrade(database, before)
    interruptions = 0
    while schema.current_revision(database) == before:
        with interrupted_after_change(database):
            interruptions += 1
            with suppress(RuntimeError):
                schema.upgrade(database, revision)
    assert interruptions > 1

    schema.upgrade(database)

    assert differences(database) == []
    database.engine.dispose()


@contextmanager
def interrupted_after_change(database: Database) -> Iterator[None]:
    """Interrupt an upgrade after its first statement that changes a table."""

    def interrupt(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.strip().startswith(("ALTER", "CREATE", "DROP")):
            raise RuntimeError("interrupted")

    event.listen(Engine, "after_cursor_execute", interrupt)
    try:
        yield
    finally:
        event.remove(Engine, "after_cursor_execute", interrupt)


def test_processes_that_upgrade_at_once_wait_for_each_other(empty: Database, tmp_path: Path) -> None:
    url = empty.engine.url.render_as_string(hide_password=False)
    argv = [sys.executable, "-c", UPGRADE, url]
    with ThreadPoolExecutor(4) as processes:
        list(processes.map(lambda _: run_to_end(argv, environment(tmp_path)), range(4)))

    assert differences(empty) == []


def test_an_upgrade_moves_the_heads_of_versions_before_their_content(tmp_path: Path) -> None:
    file = tmp_path / "old.db"
    database = Database(build_engine(f"sqlite:///{file}"))
    schema.upgrade(database, "0027")
    with closing(sqlite3.connect(file)) as old, old:
        stored = {table: _stored_row(old, table) for table in ("prompts", "language_models", "prompt_versions")}

    schema.upgrade(database)

    with database.read() as connection:
        row = dict(connection.execute(text("SELECT * FROM prompt_versions")).mappings().one())
    assert row == stored["prompt_versions"]
    # SQLite reads a row as far as the last column of the statement.
    assert list(row)[-3:] == ["config", "placeholders", "value"]
    database.engine.dispose()


def test_an_upgrade_removes_blanks_at_the_end_of_names_unless_another_row_has_the_name(tmp_path: Path) -> None:
    file = tmp_path / "old.db"
    database = Database(build_engine(f"sqlite:///{file}"))
    schema.upgrade(database, "0039")
    with closing(sqlite3.connect(file)) as old, old:
        for number, name in enumerate(["a b ", "both", "both ", "none", "many   "]):
            _stored_row(old, "model_prices", id=number, model=name)

    schema.upgrade(database)

    with database.read() as connection:
        stored = connection.execute(text("SELECT model FROM model_prices ORDER BY id")).scalars().all()
    assert stored == ["a b", "both", "both ", "none", "many"]
    database.engine.dispose()


def _stored_row(connection: sqlite3.Connection, table: str, **values: Any) -> dict[str, Any]:
    """Store a row with a value in each column, some of them given, and return it."""
    columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
    row = {name: 1 if kind == "INTEGER" else f"{table} {name}" for _, name, kind, *_ in columns} | values
    marks = ", ".join(f":{name}" for name in row)
    connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", row)
    return row


def test_every_constraint_and_index_has_a_name() -> None:
    unnamed = [
        item for table in metadata.tables.values() for item in [*table.constraints, *table.indexes] if not item.name
    ]

    assert unnamed == []


def test_data_of_a_newer_release_is_refused_in_a_sentence(empty: Database) -> None:
    schema.upgrade(empty)
    with empty.write() as connection:
        connection.execute(text("update alembic_version set version_num = '9999'"))

    with pytest.raises(Conflict, match=r"The data is of another release .*9999.*: start that release"):
        schema.upgrade(empty)
