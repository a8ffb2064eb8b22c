"""`make crash`: kills each operation at each of its calls, on SQLite and on MariaDB with Redis, and prints a table."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import structlog

from app.process.bootstrap import bootstrap
from config.settings import Settings
from tests.crash.migration import NAME, try_migration
from tests.crash.trial import NO_QUEUES, OPERATIONS, Trial, try_all, victim_of
from tests.support import crash_points
from tests.support.mariadb import mariadb_server
from tests.support.redis_server import redis_server
from tests.support.world import running, settings_for

DATABASES = ("SQLite", "MariaDB")


@contextmanager
def settings_on(database: str) -> Iterator[Settings]:
    """Settings of an installation with nothing in it."""
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprise-crash-")))
        urls = {}
        if database == "MariaDB":
            urls["mysql_url"] = stack.enter_context(stack.enter_context(mariadb_server()).database())
            urls["redis_url"] = stack.enter_context(stack.enter_context(redis_server()).database())
        yield settings_for(home, **urls)


def trials(database: str, only: str, at_most: int | None) -> Iterator[Trial]:
    with (
        settings_on(database) as settings,
        running(settings, queues=NO_QUEUES) as container,
        victim_of(container.settings, settings.home) as victim,
    ):
        for name in [name for name in OPERATIONS if only in name]:
            yield try_all(container, victim, name, at_most=at_most)
    if only not in NAME:
        return
    with settings_on(database) as settings, victim_of(settings, settings.home) as victim:
        container = bootstrap(settings)
        yield try_migration(container.database, victim, at_most=at_most)
        container.close()


def main(databases: Sequence[str], only: str, at_most: int | None) -> int:
    if lacking := crash_points.missing():
        print(f"NOT TRIED: {lacking}")
        return 1
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    began, wrong = time.monotonic(), list[str]()
    print(f"| database | {' | '.join(Trial.HEADINGS)} |\n|{'---|' * (1 + len(Trial.HEADINGS))}")
    for database in databases:
        for trial in trials(database, only, at_most):
            print(f"| {database} | {' | '.join(trial.cells())} |", flush=True)
            wrong += [f"{database}, {trial.name}: {problem}" for problem in trial.wrong]
    print(f"\nThis took {(time.monotonic() - began) / 60:.0f} minutes.", *wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the names of operations")
    parser.add_argument("--on", choices=DATABASES, help="only this database")
    parser.add_argument("--at-most", type=int, help="crash points of an operation")
    parsed = parser.parse_args()
    sys.exit(main([parsed.on] if parsed.on else DATABASES, parsed.only, parsed.at_most))
