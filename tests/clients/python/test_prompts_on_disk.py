"""Copies on disk bridge a start without the server, and do no harm whatever happens to the files."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from reprise_client.connection import Connection
from reprise_client.disk import DiskCache
from reprise_client.records import PromptVersions, Record
from reprise_client.wanted import WantedVersion

from tests.clients.python.fakes import OTHER, FakeReprise, client_of
from tests.support.waiting import wait_until

Start = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "prompts" / "cache"


@pytest.fixture
def start(kind: str, url: str, folder: Path) -> Start:
    """Gives a client as a new process has it, with nothing in memory."""

    @contextmanager
    def started(api_key: str = "rp_key", base_url: str = url, **options: Any) -> Iterator[Any]:
        with client_of(kind, base_url, api_key, cache_dir=folder, **options) as client:
            yield client

    return started


@pytest.fixture
def copy(start: Start, fake: FakeReprise, folder: Path) -> Path:
    """The file of a prompt that was fetched before the server went away."""
    with start() as client:
        assert client.prompt(17).state == "fresh"
        (file,) = wait_until(lambda: list(folder.glob("*.prompt")), "the copy")
    fake.refuse(503, "The database is away.")
    return file


def test_a_start_without_the_server_serves_the_copy(copy: Path, start: Start) -> None:
    with start() as client:
        prompt = client.prompt(17, fallback="bundled")

    assert (prompt.value, prompt.state, str(prompt.problem)) == ("Be {{tone}}.", "stale", "The database is away.")
    assert prompt.age_s is not None


def test_a_copy_that_the_server_confirms_is_fresh_and_not_sent_again(
    copy: Path, start: Start, fake: FakeReprise
) -> None:
    fake.refusal = None
    with start() as client:
        assert client.prompt(17).state == "fresh"

    assert fake.unchanged == 1


def test_both_versions_of_a_split_are_kept(start: Start, fake: FakeReprise) -> None:
    fake.split = {"commitHash": OTHER, "share": 0.5}
    keys = [str(number) for number in range(50)]
    with start() as client:
        before = [client.prompt(17, label="live", split_key=key).version for key in keys]
    fake.refuse(503)
    with start() as client:
        assert [client.prompt(17, label="live", split_key=key).version for key in keys] == before


def test_only_the_owner_reads_the_files(copy: Path, folder: Path) -> None:
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert list(folder.iterdir()) == [copy]


@pytest.mark.parametrize("other", [{"api_key": "rp_other"}, {"base_url": "http://127.0.0.1:9"}], ids=str)
def test_a_copy_of_another_project_or_server_is_none(copy: Path, start: Start, other: dict[str, str]) -> None:
    with start(**other) as client, pytest.raises(Exception, match=r"The database is away|http://127\.0\.0\.1:9"):
        client.prompt(17)


def test_a_copy_under_the_name_of_another_prompt_is_none(copy: Path, start: Start, fake: FakeReprise) -> None:
    fake.refusal = None
    with start() as client:
        client.prompt(18)
        wait_until(lambda: len(list(copy.parent.iterdir())) == 2, "the other copy")
    (other,) = set(copy.parent.iterdir()) - {copy}
    fake.refuse(503)
    copy.replace(other)
    with start() as client, pytest.raises(Exception, match="Not now"):
        client.prompt(18)


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(b""),
        lambda file: file.write_bytes(file.read_bytes()[:-1]),
        lambda file: file.write_bytes(file.read_bytes().replace(b"tone", b"evil")),
        lambda file: file.write_bytes(b"\xff\0" * 100_000),
        lambda file: file.write_bytes(b"[" * 1_000_000),
        lambda file: (file.unlink(), file.mkdir()),
        lambda file: (file.unlink(), file.symlink_to(file)),
    ],
    ids=["empty", "cut off", "changed", "binary", "nested", "a folder", "a loop"],
)
def test_a_damaged_copy_is_none_and_written_again(
    copy: Path, start: Start, fake: FakeReprise, damage: Callable[[Path], object]
) -> None:
    damage(copy)
    with start() as client:
        assert client.prompt(17, fallback="bundled").state == "fallback"
    fake.refusal = None
    with start() as client:
        assert client.prompt(17).state == "fresh"


@pytest.mark.parametrize("is_link", [True, False])
def test_what_has_the_name_of_an_unfinished_copy_is_replaced_and_not_followed(tmp_path: Path, is_link: bool) -> None:
    folder, other = tmp_path / "cache", tmp_path / "other"
    other.write_text("mine")
    cache, wanted = DiskCache(folder, Connection("http://reprise.test", "rp_key")), WantedVersion(17)
    versions = PromptVersions(Record.of_fallback("Be brief.", 17))
    cache.save(wanted, versions)
    (copy,) = folder.iterdir()
    unfinished = copy.with_suffix(f".{os.getpid()}-{threading.get_ident()}.tmp")
    if is_link:
        unfinished.symlink_to(other)
    else:
        unfinished.write_text("of a process that died")

    cache.save(wanted, versions)

    assert other.read_text() == "mine"
    assert list(folder.iterdir()) == [copy]
    assert not copy.is_symlink()
    assert cache.load(wanted)


def test_a_folder_that_fails_is_done_without(start: Start, fake: FakeReprise, folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("a file where the folder should be")
    with start() as client:
        assert client.prompt(17).state == "fresh"


def test_nothing_is_written_unless_it_was_asked_for(
    kind: str, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    with client_of(kind, url) as client:
        client.prompt(17)

    assert list(tmp_path.iterdir()) == []


def test_the_api_key_and_its_hash_are_in_no_file(copy: Path) -> None:
    assert b"rp_key" not in copy.read_bytes()


def test_a_reader_sees_a_whole_copy_while_several_write(folder: Path) -> None:
    connection, wanted = Connection.of("http://127.0.0.1:1", "rp_key"), WantedVersion(17)
    texts = ["a" * 200_000, "b" * 300_000]

    def write(text: str) -> None:
        versions = PromptVersions(Record.of_fallback(text, 17))
        for _ in range(50):
            DiskCache(folder, connection).save(wanted, versions)

    write("first")
    with ThreadPoolExecutor() as pool:
        writers = [pool.submit(write, text) for text in texts]
        while not all(writer.done() for writer in writers):
            loaded = DiskCache(folder, connection).load(wanted)
            assert loaded
            assert loaded[0].record.value in ("first", *texts)

    assert len(list(folder.iterdir())) == 1


def test_an_unreachable_server_is_waited_for_at_most_the_first_wait(
    copy: Path, start: Start, fake: FakeReprise
) -> None:
    fake.held = threading.Event()
    with start(first_wait_s=0.2) as client:
        prompt = client.prompt(17)
        fake.held.set()

    assert (prompt.state, prompt.problem) == ("stale", None)
