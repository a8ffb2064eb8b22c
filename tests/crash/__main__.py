"""`make crash`: kills each operation at each of its calls, on SQLite and on MariaDB with Redis, and prints a table."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import structlog

from app.wiring.container import Container
from tests.crash.operations import OPERATIONS
from tests.crash.trial import NO_QUEUES, Trial, try_all, victim_of
from tests.support import crash_points
from tests.support.mariadb import mariadb_server
from tests.support.redis_server import redis_server
from tests.support.world import running, settings_for


@contextmanager
def backends() -> Iterator[dict[str, Container]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reprise-crash-")))
        urls = {
            "mysql_url": stack.enter_context(stack.enter_context(mariadb_server()).database()),
            "redis_url": stack.enter_context(stack.enter_context(redis_server()).database()),
        }
        homes = {name: folder / name for name in ("SQLite", "MariaDB")}
        for home in homes.values():
            home.mkdir()
        yield {
            "SQLite": stack.enter_context(running(settings_for(homes["SQLite"]), queues=NO_QUEUES)),
            "MariaDB": stack.enter_context(running(settings_for(homes["MariaDB"], **urls), queues=NO_QUEUES)),
        }


def main(only: str, at_most: int | None) -> int:
    if lacking := crash_points.missing():
        print(f"NOT TRIED: {lacking}")
        return 1
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    began, wrong = time.monotonic(), list[str]()
    print(f"| database | {' | '.join(Trial.HEADINGS)} |\n|{'---|' * (1 + len(Trial.HEADINGS))}")
    with backends() as containers:
        for database, container in containers.items():
            with victim_of(container, container.settings.home) as victim:
                for name in [name for name in OPERATIONS if only in name]:
                    trial = try_all(container, victim, name, at_most=at_most)
                    print(f"| {database} | {' | '.join(trial.cells())} |", flush=True)
                    wrong += [f"{database}, {name}: {problem}" for problem in trial.wrong]
    print(f"\nThis took {(time.monotonic() - began) / 60:.0f} minutes.", *wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="a part of the names of operations")
    parser.add_argument("--at-most", type=int, help="crash points of an operation")
    parsed = parser.parse_args()
    sys.exit(main(parsed.only, parsed.at_most))
