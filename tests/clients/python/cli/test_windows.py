"""Commands with parts of the platform replaced by those of Windows, as far as that can be done elsewhere."""

from __future__ import annotations

import errno
import importlib
import io
import os
import signal
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from reprise_client.cli import interruption, standard_streams
from reprise_client.cli.interruption import Interrupted, interruptible
from reprise_client.cli.replay import slug
from reprise_client.instrumentation import file_lock

BREAK = signal.SIGUSR1  # in the place of SIGBREAK, which only Windows has


@pytest.fixture
def windows_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signals of Windows: SIGHUP does not exist there."""
    names = ("SIGINT", "SIGTERM", "SIG_IGN", "signal", "getsignal")
    module = types.SimpleNamespace(SIGBREAK=BREAK, **{name: getattr(signal, name) for name in names})
    monkeypatch.setattr(interruption, "signal", module)


@pytest.mark.usefixtures("windows_signals")
def test_ctrl_break_ends_a_command_and_hangup_keeps_its_handler() -> None:
    before = signal.getsignal(signal.SIGHUP)
    with interruptible() as stop:
        assert signal.getsignal(signal.SIGHUP) == before
        os.kill(os.getpid(), BREAK)
        with pytest.raises(Interrupted):
            stop.sleep(3600)
    assert signal.getsignal(BREAK) == signal.SIG_DFL


@pytest.mark.usefixtures("windows_signals")
def test_a_command_starts_where_only_the_signals_of_c_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(interruption.signal, "SIGBREAK")
    with interruptible() as stop:
        stop.check()


def test_a_pipe_is_written_to_without_select_which_knows_only_sockets(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.EBADF, "not a socket")

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(standard_streams.select, "select", refuse)
    file = standard_streams.LastingFile(tmp_path / "out", "wb")
    with io.TextIOWrapper(io.BufferedWriter(file), encoding="cp1252", errors="reprise") as stream:
        stream.write("注文 → ok · naïve")

    assert file.problem is None
    assert (tmp_path / "out").read_text("cp1252") == "\\u6ce8\\u6587 -> ok · naïve"


def test_a_console_keeps_its_stream_which_writes_every_character(monkeypatch: pytest.MonkeyPatch) -> None:
    class Console(io.StringIO):
        def isatty(self) -> bool:
            return True

    console = Console()
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(sys, "stdout", console)
    monkeypatch.setattr(sys, "stderr", console)
    standard_streams.protect()

    assert sys.stdout is sys.stderr is console


@pytest.fixture
def locking(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The module of locks as Windows loads it; the modes in which `msvcrt` was asked to lock."""
    modes: list[int] = []

    def lock(_descriptor: int, mode: int, length: int) -> None:
        if modes:
            raise OSError(errno.EACCES, "Permission denied")
        modes.append(mode)
        assert length == 1

    monkeypatch.setitem(sys.modules, "msvcrt", types.SimpleNamespace(locking=lock, LK_NBLCK=2))  # type: ignore[arg-type]
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "fcntl", None)  # type: ignore[arg-type]  # an import of it fails
    importlib.reload(file_lock)
    yield modes
    monkeypatch.undo()
    importlib.reload(file_lock)


def test_a_folder_of_spans_is_locked_without_fcntl(locking: list[int], tmp_path: Path) -> None:
    with file_lock.try_lock(tmp_path / "lock") as first, file_lock.try_lock(tmp_path / "lock") as second:
        assert (first, second) == (True, False)
    assert locking == [2]


@pytest.mark.parametrize("name", ["Con", "nul", "AUX", "prn", "com1", "LPT9", "COM²", "con?"])
def test_no_file_of_a_test_case_has_the_name_of_a_device(name: str) -> None:
    made = slug(name)

    assert made.rstrip("-") == name.casefold().rstrip("?")
    assert made.endswith("-")


@pytest.mark.parametrize("name", ["a<b>c", 'x:y|"z"', "a/b\\\\c", "end. ", "tab\tline\n", "?*", "console", "com10"])
def test_file_names_of_test_cases_have_only_characters_that_windows_accepts(name: str) -> None:
    made = slug(name)

    assert not set(made) & set('<>:"/\\|?*\t\n. ')
    assert made.strip("-") == made != ""
