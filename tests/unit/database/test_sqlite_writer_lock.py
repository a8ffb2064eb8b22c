"""Processes that write to one SQLite file get its lock in the order in which they wait for it."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.database import sqlite_writer_lock
from app.database.sqlite_writer_lock import WriterLock
from tests.support.waiting import wait_until

OTHER = """
import sys
from app.database.sqlite_writer_lock import WriterLock

with WriterLock(sys.argv[1]):
    print("has it", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def database(tmp_path: Path) -> str:
    return str(tmp_path / "reprise.db")


Other = subprocess.Popen[str]


@pytest.fixture
def others(database: str) -> Iterator[list[Other]]:
    """Processes that are ended after the test."""
    started: list[Other] = []
    yield started
    for one in started:
        with one:
            one.kill()


def start(others: list[Other], database: str) -> Other:
    """Another process that gets the lock, reports it, and holds it until it receives a line."""
    argv = [sys.executable, "-c", OTHER, database]
    others.append(subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
    return others[-1]


def said(other: Other) -> str:
    assert other.stdout is not None
    return other.stdout.readline()


def tell(other: Other) -> None:
    assert other.stdin is not None
    other.stdin.write("\n")
    other.stdin.flush()


def is_next(other: Other) -> bool:
    """Return whether the process has locked the second byte of a file."""
    locks = (line.split() for line in Path("/proc/locks").read_text().splitlines())
    return any(fields[-4] == str(other.pid) and fields[-2:] == ["1", "1"] for fields in locks)


def test_a_process_that_waits_gets_the_lock_before_its_holder_gets_it_again(database: str, others: list[Other]) -> None:
    lock, entered = WriterLock(database), threading.Event()

    def enter() -> None:
        with lock:
            entered.set()

    with lock:
        other = start(others, database)
        wait_until(lambda: is_next(other), "the other process to wait")
    again = threading.Thread(target=enter)
    again.start()
    assert said(other) == "has it\n"
    assert not entered.is_set()
    tell(other)
    again.join()
    assert entered.is_set()


def test_the_lock_ends_with_its_process(database: str, others: list[Other]) -> None:
    other = start(others, database)
    assert said(other) == "has it\n"
    other.kill()
    with WriterLock(database):
        assert other.wait() < 0


def test_no_caller_waits_for_ever_for_a_process_that_is_stopped(
    database: str, others: list[Other], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_writer_lock, "WAIT_S", 0.01)
    other = start(others, database)
    assert said(other) == "has it\n"
    with WriterLock(database):
        assert other.poll() is None


@pytest.mark.parametrize("database", [None, "", ":memory:", "/nowhere/reprise.db"])
def test_a_database_without_a_file_needs_no_lock(database: str | None) -> None:
    lock = WriterLock(database)
    with lock, lock:
        assert not Path("/nowhere").exists()
