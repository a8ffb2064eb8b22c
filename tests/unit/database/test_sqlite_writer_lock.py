"""Processes that write to one SQLite file have turns, of which none gets the next one before the other had its own."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.database import sqlite_writer_lock as writer_turns
from app.database.sqlite_writer_lock import WriterTurns
from tests.support.waiting import wait_until

OTHER = """
import sys
from app.database.sqlite_writer_lock import WriterTurns

with WriterTurns(sys.argv[1]):
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
    """Another process that gets its turn, reports it, and has it until it receives a line."""
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


def test_who_waits_has_the_turn_before_who_had_it_gets_it_again(database: str, others: list[Other]) -> None:
    turns, entered = WriterTurns(database), threading.Event()

    def enter() -> None:
        with turns:
            entered.set()

    with turns:
        other = start(others, database)
        wait_until(lambda: is_next(other), "the other process to wait")
    again = threading.Thread(target=enter)
    again.start()
    assert said(other) == "has it\n"
    assert not entered.is_set()
    tell(other)
    again.join()
    assert entered.is_set()


def test_a_turn_ends_with_its_process(database: str, others: list[Other]) -> None:
    other = start(others, database)
    assert said(other) == "has it\n"
    other.kill()
    with WriterTurns(database):
        assert other.wait() < 0


def test_no_caller_waits_for_ever_for_a_process_that_is_stopped(
    database: str, others: list[Other], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_turns, "WAIT_S", 0.01)
    other = start(others, database)
    assert said(other) == "has it\n"
    with WriterTurns(database):
        assert other.poll() is None


@pytest.mark.parametrize("database", [None, "", ":memory:", "/nowhere/reprise.db"])
def test_a_database_without_a_lock_file_needs_no_turns(database: str | None) -> None:
    turns = WriterTurns(database)
    with turns, turns:
        assert not Path("/nowhere").exists()
