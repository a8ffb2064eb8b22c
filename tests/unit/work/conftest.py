"""A table of work rows on both databases."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, insert

from app.database.transactions import Database, build_database
from app.models import organizations
from app.models.base import OPTIONS, BigInt, Timestamp, exact
from app.work.table import WorkTable
from tests.support.mariadb import MariaDB

NOW = datetime(2026, 1, 1, tzinfo=UTC)

JOBS = Table(
    "jobs",
    MetaData(),
    Column("id", BigInt, primary_key=True, autoincrement=True),
    Column("project_id", BigInt, nullable=False),
    Column("status", exact(16), nullable=False),
    Column("claim", exact(36)),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("done", Integer, nullable=False, server_default="0"),
    Column("alive_at", Timestamp),
    Column("created_at", Timestamp, nullable=False),
    Column("started_at", Timestamp),
    Column("finished_at", Timestamp),
    **OPTIONS,
)
WORK = WorkTable(
    JOBS,
    waiting=JOBS.c.status.in_(("queued", "running")) & JOBS.c.claim.is_(None),
    on_claim={"attempts": JOBS.c.attempts + 1},
    attempts=JOBS.c.attempts,
)


@pytest.fixture(params=["sqlite", pytest.param("mysql", marks=pytest.mark.services)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """With an empty table of jobs, and without projects."""
    if request.param == "sqlite":
        yield from _with_jobs(f"sqlite:///{tmp_path / 'db'}")
        return
    mariadb: MariaDB = request.getfixturevalue("mariadb")
    with mariadb.database() as url:
        yield from _with_jobs(url)


@pytest.fixture
def job(database: Database) -> int:
    """A job that waits."""
    with database.write() as connection:
        added = connection.execute(insert(JOBS).values(project_id=1, status="queued", created_at=NOW))
    return int(added.inserted_primary_key[0])  # type: ignore[index]


def _with_jobs(url: str) -> Iterator[Database]:
    database = build_database(url, pool_size=8, on_lock_retry=lambda: None, on_pool_timeout=lambda: None)
    with database.write() as connection:
        for table in (organizations.organizations, organizations.projects, JOBS):
            table.create(connection)
    yield database
    database.dispose()
