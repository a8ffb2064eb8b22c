"""The folder of a spool holds no more, and nothing older, than its limits allow."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reprise_client.instrumentation.spool import Limits, Spool, spans_of

OLD = "00000000000000000001-3-0123456789abcdef.json.gz"


def test_what_is_older_than_the_limit_goes_with_the_next_batch(tmp_path: Path) -> None:
    (tmp_path / OLD).write_bytes(b"old")
    spool = Spool(tmp_path, Limits(max_age_s=60))

    lost = spool.put(b"new", 1)

    assert lost == spans_of(OLD) == 3
    assert [spool.read(name) for name in spool.names()] == [b"new"]


def test_a_file_of_somebody_else_is_no_batch_and_stays(tmp_path: Path) -> None:
    (tmp_path / "notes.json.gz").write_bytes(b"mine")
    spool = Spool(tmp_path, Limits(max_bytes=1))

    spool.trim()

    assert spool.names() == []
    assert (tmp_path / "notes.json.gz").exists()


def test_a_batch_that_another_process_took_is_none(tmp_path: Path) -> None:
    spool = Spool(tmp_path, Limits())
    spool.put(b"body", 1)
    [name] = spool.names()
    Spool(tmp_path, Limits()).remove(name)

    assert spool.read(name) is None
    spool.remove(name)


def test_a_folder_that_was_removed_is_made_again(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", Limits())
    spool.put(b"one", 1)
    for path in (tmp_path / "spool").iterdir():
        path.unlink()
    (tmp_path / "spool").rmdir()

    spool.put(b"two", 1)

    assert [spool.read(name) for name in spool.names()] == [b"two"]


@given(sizes=st.lists(st.integers(1, 100), max_size=40), limit=st.integers(100, 1000))
def test_it_never_holds_more_than_an_eighth_over_its_bytes(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], limit: int
) -> None:
    folder = tmp_path_factory.mktemp("spool")
    spool = Spool(folder, Limits(max_bytes=limit))
    for size in sizes:
        spool.put(b"x" * size, 1)

    kept = [spool.read(name) or b"" for name in spool.names()]

    assert sum(map(len, kept)) <= limit * 9 / 8
    assert [len(body) for body in kept] == sizes[len(sizes) - len(kept) :]
