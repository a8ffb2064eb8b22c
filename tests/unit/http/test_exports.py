"""One record of an export may need a hundred megabytes: a process makes one line at a time, and keeps no record."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from app.http import exports

KINDS = ["runs", "test-cases"]


class Record:
    id = 1


class Exports:
    """The part of the service that yields the records."""

    def __init__(self, items: Iterator[Record]) -> None:
        self.of_runs = self.of_test_cases = lambda **_which: items

    def check(self, **_which: Any) -> None:
        pass


def lines(monkeypatch: pytest.MonkeyPatch, kind: str, items: Iterator[Record], dump: Any) -> Iterator[bytes]:
    monkeypatch.setattr("app.http.exports.dumper", lambda _schema: dump)
    service: Any = Exports(items)
    return exports.records(service, kind, project_id=1, prompt_id=1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_is_forgotten_before_its_line_is_sent(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    made: list[weakref.ref[Record]] = []

    def record() -> Record:
        new = Record()
        made.append(weakref.ref(new))
        return new

    sent = lines(monkeypatch, kind, (record() for _ in range(2)), lambda record: {"id": record.id})

    assert next(sent) == b'{"id":1}\n'
    assert [reference() for reference in made] == [None]
    assert len(list(sent)) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_process_makes_one_line_at_a_time(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    held = []

    def dumped(record: Record) -> dict[str, int]:
        held.append(exports._ONE_RECORD.locked())
        return {"id": record.id}

    for _ in lines(monkeypatch, kind, (Record() for _ in range(2)), dumped):
        assert not exports._ONE_RECORD.locked()
    assert held == [True, True]
