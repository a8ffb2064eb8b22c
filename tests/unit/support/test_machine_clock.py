"""A process's wall clock is moved while it runs, and time still passes at the same speed."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import machine_clock
from tests.support.machine_clock import MachineClock
from tests.support.mariadb import MariaDB, mariadb_server

DAY_S = 86_400
pytestmark = pytest.mark.skipif(bool(machine_clock.missing()), reason=str(machine_clock.missing()))


@pytest.fixture
def clock(tmp_path: Path) -> MachineClock:
    return MachineClock(tmp_path)


@pytest.fixture
def mariadb(needs_mariadb: None, clock: MachineClock) -> Iterator[MariaDB]:
    with mariadb_server(environment=clock.environment) as server:
        yield server


def test_only_the_wall_clock_moves(clock: MachineClock) -> None:
    clock.put(-DAY_S)
    program = [sys.executable, "-c", "import time; print(time.time(), time.monotonic())"]
    before, monotonic = time.time(), time.monotonic()

    child = subprocess.run(program, env=clock.environment, capture_output=True, check=True).stdout.split()

    assert before - DAY_S < float(child[0]) < time.time() - DAY_S
    assert monotonic < float(child[1]) < time.monotonic()


def test_a_database_server_returns_the_moved_time_and_waits_no_longer(mariadb: MariaDB, clock: MachineClock) -> None:
    clock.put(DAY_S)
    before = time.time()

    # SLEEP waits until a time of the wall clock.
    [(_, told)] = mariadb.execute("SELECT SLEEP(0.3), UNIX_TIMESTAMP(SYSDATE(6))")

    assert before + DAY_S < told < time.time() + DAY_S
