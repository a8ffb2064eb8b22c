"""The clock examines old erasures until it has found one without rows, and newer ones at each sweep."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from app.models.removal import Erased
from app.services.data.erasures import AFTERMATH, OLD_AT_ONCE, Erasures

NOW = datetime(2026, 1, 5, tzinfo=UTC)


def erased(id_: int, age: timedelta) -> Erased:
    return Erased(id_, project_id=1, organization_id=1, erased_at=NOW - age)


OLD, RECENT = erased(1, timedelta(days=300)), erased(2, timedelta(hours=1))


def due(erasures: Erasures, stored: Sequence[Erased], now: datetime = NOW) -> list[int]:
    return sorted(erasures.due(lambda since: [row for row in stored if row.erased_at >= since], now=now))


def find_empty(erasures: Erasures, row: Erased) -> None:
    assert list(erasures.until_empty(row, [])) == []


def test_an_old_erasure_is_examined_until_it_has_no_rows() -> None:
    erasures = Erasures()
    assert [due(erasures, [OLD]), due(erasures, [OLD])] == [[1], [1]]
    find_empty(erasures, OLD)
    assert due(erasures, [OLD]) == []


def test_steps_that_were_not_all_done_leave_an_erasure_open() -> None:
    erasures = Erasures()
    due(erasures, [OLD])
    assert next(erasures.until_empty(OLD, [lambda _connection, limit: limit]))
    assert due(erasures, [OLD]) == [1]


def test_a_recent_erasure_is_examined_again_until_its_aftermath_is_over() -> None:
    erasures = Erasures()
    for _ in range(2):
        assert due(erasures, [RECENT]) == [2]
        find_empty(erasures, RECENT)
    assert due(erasures, [RECENT], now=NOW + AFTERMATH) == [2]
    find_empty(erasures, RECENT)
    assert due(erasures, [RECENT], now=NOW + AFTERMATH) == []


def test_an_erasure_during_a_long_pause_of_the_clock_is_examined() -> None:
    erasures = Erasures()
    due(erasures, [])
    assert due(erasures, [RECENT], now=NOW + 10 * AFTERMATH) == [2]


def test_a_failed_read_loses_no_erasure() -> None:
    erasures = Erasures()

    def fail(since: datetime) -> list[Erased]:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        erasures.due(fail, now=NOW)
    assert due(erasures, [OLD]) == [1]


def test_many_old_erasures_do_not_delay_a_recent_one_and_each_is_examined() -> None:
    erasures = Erasures()
    stored = [RECENT, *(erased(id_, timedelta(days=id_)) for id_ in range(3, 3 + 2 * OLD_AT_ONCE))]
    for _ in range(2):
        examined = erasures.due(lambda since: [row for row in stored if row.erased_at >= since], now=NOW)
        assert (2 in examined, len(examined)) == (True, OLD_AT_ONCE + 1)
        for row in examined.values():
            find_empty(erasures, row)
    assert due(erasures, stored) == [2]
