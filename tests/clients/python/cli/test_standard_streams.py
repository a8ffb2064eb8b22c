"""The exit code of every command is its verdict's, whatever its output is written to and in which encoding."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from reprise_client import __main__ as program
from reprise_client.cli import interruption, main, remote, standard_streams
from reprise_client.cli.remote import Remote

from tests.fakes.json_server import serving
from tests.fakes.one_text import instance_of

TEXT = "注文 → ok · naïve « – \ud800\U0001f600"
COMMANDS = {
    "sessions": 0,
    "labels list --prompt 3": 0,
    "insight --prompt 3": 0,
    "prompts diff FOLDER/prompt.md": 1,
    "test-cases add --prompt 3 --session s1": 0,
    "test-cases export FOLDER/cases --prompt 3": 0,
    "test-cases import FOLDER/imported --prompt 3": 0,
    "replay --prompt 3 --junit FOLDER/r.xml": 1,
    "calibrate --prompt 3": 2,
    "judge audit --prompt 3": 1,
    "bisect --prompt 3 --test-case 12 --repeats 2": 1,
    "gate --prompt 3 --junit FOLDER/r.xml --json FOLDER/r.json": 1,
    "gate --prompt 3 --test-case unknown": 2,
    "sessions --no-such-option": 2,
}
REPORTS = {
    "replay --prompt 3 --json - --junit FOLDER/r.xml": 1,
    "gate --prompt 3 --markdown - --junit FOLDER/r.xml": 1,
    "gate --prompt 3 --json - --markdown FOLDER/r.md": 1,
}
# Without a verdict the document is all that was asked for.
DOCUMENTS = ("insight --prompt 3 --json", "export sessions --prompt 3")


@pytest.fixture
def patch(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("REPRISE_URL", "http://reprise")
    monkeypatch.setenv("REPRISE_API_KEY", "rp_key")
    monkeypatch.setattr(remote, "connect", lambda *_, **__: instance_of(TEXT))
    return monkeypatch


def run(patch: pytest.MonkeyPatch, folder: Path, command: str, out: object, err: object) -> int:
    """Run the program with these standard streams, and return its exit code."""
    (folder / "prompt.md").write_text("---\nprompt: 3\nmodel: echo\ninstructionFormat: RAW\n---\nHelp.\n")
    (folder / "imported").mkdir(exist_ok=True)
    (folder / "imported" / "a.json").write_text(json.dumps({"name": "a"}))
    with patch.context() as streams:
        streams.setattr(sys, "argv", ["reprise", *command.replace("FOLDER", str(folder)).split()])
        streams.setattr(sys, "stdout", out)
        streams.setattr(sys, "stderr", err)
        with pytest.raises(SystemExit) as end:
            program.main()
        for stream in (sys.stdout, sys.stderr):
            stream.close()
    assert isinstance(end.value.code, int)
    return end.value.code


@contextmanager
def streams(folder: Path, encoding: str) -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    with ExitStack() as files:
        yield tuple(  # type: ignore[misc]
            files.enter_context((folder / name).open("w", encoding=encoding)) for name in ("out", "err")
        )


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "cp932", "ascii"])
@pytest.mark.parametrize(("command", "code"), [*COMMANDS.items(), *REPORTS.items(), *((c, 0) for c in DOCUMENTS)])
def test_no_encoding_changes_the_exit_code(
    patch: pytest.MonkeyPatch, tmp_path: Path, command: str, code: int, encoding: str
) -> None:
    with streams(tmp_path, encoding) as (out, err):
        assert run(patch, tmp_path, command, out, err) == code
    assert b"Traceback" not in (tmp_path / "err").read_bytes()
    if "r.xml" in command:
        names = [case.get("name") for case in ElementTree.parse(tmp_path / "r.xml").iter("testcase")]
        assert "注文 → ok · naïve « – \ufffd\U0001f600" in names


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "cp932", "ascii"])
@pytest.mark.parametrize("command", [*REPORTS, *DOCUMENTS])
def test_documents_are_utf_8_in_every_encoding(
    patch: pytest.MonkeyPatch, tmp_path: Path, command: str, encoding: str
) -> None:
    with streams(tmp_path, encoding) as (out, err):
        run(patch, tmp_path, command, out, err)
    printed = (tmp_path / "out").read_bytes().decode("utf-8")
    assert "注文 → ok" in printed
    if "--json" in command:
        json.loads(printed)


def test_ornaments_that_a_code_page_lacks_become_plain_and_other_characters_escapes(
    patch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with streams(tmp_path, "cp932") as (out, err):
        run(patch, tmp_path, "replay --prompt 3", out, err)
    first = (tmp_path / "out").read_text("cp932").splitlines()[0]
    assert first.startswith('FAILED       注文 → ok - na\\xefve " - \\ud800\\U0001f600 - 1 violation - ')


def _closed_reader() -> io.TextIOWrapper:
    reading, writing = os.pipe()
    os.close(reading)
    return os.fdopen(writing, "w", encoding="utf-8")


def _full_disk() -> io.TextIOWrapper:
    return Path("/dev/full").open("w", encoding="utf-8")


Broken = Callable[[], AbstractContextManager[io.TextIOWrapper | None]]


@pytest.mark.parametrize("broken", [_closed_reader, _full_disk, nullcontext])
@pytest.mark.parametrize(("command", "code"), [*COMMANDS.items(), *REPORTS.items(), *((c, 2) for c in DOCUMENTS)])
def test_output_that_can_not_be_written_changes_no_verdict(
    patch: pytest.MonkeyPatch, tmp_path: Path, command: str, code: int, broken: Broken
) -> None:
    with broken() as out, broken() as err:
        assert run(patch, tmp_path, command, out, err) == code
    reports = [name for name in ("r.xml", "r.json", "r.md") if f"FOLDER/{name}" in command]
    assert all((tmp_path / name).stat().st_size for name in reports)


def test_a_full_pipe_that_does_not_block_is_waited_for(patch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    patch.setattr(remote, "connect", lambda *_, **__: instance_of("x" * 50_000))
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    chunks: list[bytes] = []

    def read() -> None:
        with os.fdopen(reading, "rb") as pipe:
            chunks.extend(iter(lambda: pipe.read(100_000), b""))

    reader = threading.Timer(0.2, read)
    reader.start()
    with streams(tmp_path, "utf-8") as (_, err), os.fdopen(writing, "w", encoding="utf-8") as out:
        code = run(patch, tmp_path, "replay --prompt 3 --json -", out, err)
    reader.join()
    printed = b"".join(chunks).decode()
    assert code == 1
    assert len(printed) > 200_000
    assert json.loads(printed)["exitCode"] == 1


@pytest.mark.parametrize("blocking", [True, False])
def test_a_reader_that_does_not_read_does_not_hold_the_command(
    patch: pytest.MonkeyPatch, tmp_path: Path, blocking: bool
) -> None:
    patch.setattr(remote, "connect", lambda *_, **__: instance_of("x" * 100_000))
    patch.setattr(interruption, "_PATIENCE_S", 0.1)
    reading, writing = os.pipe()
    os.set_blocking(writing, blocking)
    with (
        os.fdopen(reading, "rb"),
        streams(tmp_path, "utf-8") as (_, err),
        os.fdopen(writing, "w", encoding="utf-8") as out,
    ):
        assert run(patch, tmp_path, "gate --prompt 3 --json - --junit FOLDER/r.xml", out, err) == 1
    assert (tmp_path / "r.xml").exists()
    assert "Warning: Standard output: Its reader does not read." in (tmp_path / "err").read_text()


def test_a_crash_is_no_verdict(patch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def crash(*_: object, **__: object) -> Remote:
        raise ZeroDivisionError("A defect.")

    patch.setattr(remote, "connect", crash)
    with streams(tmp_path, "ascii") as (out, err):
        assert run(patch, tmp_path, "replay --prompt 3", out, err) == 2
    assert "ZeroDivisionError: A defect." in (tmp_path / "err").read_text()


def test_ctrl_c_is_no_verdict(patch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupt(*_: object, **__: object) -> Remote:
        raise KeyboardInterrupt

    patch.setattr(remote, "connect", interrupt)
    with streams(tmp_path, "utf-8") as (out, err):
        assert run(patch, tmp_path, "prompts diff FOLDER/prompt.md", out, err) == 2


def test_lacking_packages_are_no_verdict(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "reprise_client.cli", None)
    monkeypatch.setattr("builtins.__import__", _without_click(__import__))
    with pytest.raises(SystemExit) as end:
        program.main()
    assert end.value.code == 2
    assert "pip install" in capsys.readouterr().err


@pytest.mark.parametrize("entries", [[{"id": None, "name": "##vso[task.complete]\x1b[2J"}], [{"id": 1, "name": 5}]])
def test_a_list_of_entries_of_another_form_ends_with_2_and_its_reason(
    entries: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPRISE_API_KEY", "rp_key")
    with serving(lambda *_: (200, {"testCases": entries, "nextCursor": None})) as url, streams(tmp_path, "utf-8") as to:
        monkeypatch.setenv("REPRISE_URL", url)
        assert run(monkeypatch, tmp_path, "replay --prompt 3", *to) == 2

    assert program.UNEXPECTED in (tmp_path / "err").read_text()


def test_the_words_of_a_crash_control_no_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object, **__: object) -> None:
        raise ValueError("##vso[task.complete]\x1b[2J")

    monkeypatch.setenv("TF_BUILD", "True")
    monkeypatch.setattr(main, "main", crash)
    with streams(tmp_path, "utf-8") as to:
        assert run(monkeypatch, tmp_path, "sessions", *to) == 2

    printed = (tmp_path / "err").read_text()
    assert "ValueError: " in printed
    assert not any(part in printed for part in ("##vso[", "\x1b"))


def _without_click(real: object) -> object:
    def import_(name: str, *arguments: object, **options: object) -> object:
        if name == "reprise_client.cli":
            raise ModuleNotFoundError("No module named 'click'", name="click")
        assert callable(real)
        return real(name, *arguments, **options)

    return import_


def test_a_stream_without_a_file_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", stream)
    standard_streams.protect()
    assert sys.stdout is stream
    assert main.name == "main"
