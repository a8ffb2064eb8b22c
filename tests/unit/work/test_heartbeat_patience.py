"""Work at stake waits for a database that is away, but not for ever, and not for a bug."""

import pytest

from app.errors import Unavailable
from app.work import heartbeat
from app.work.heartbeat import Patience


def failing(times: int, error: Exception):
    left = iter(range(times))

    def work() -> str:
        if next(left, None) is not None:
            raise error
        return "stored"

    return work


def test_it_tries_again_every_second_until_the_database_is_back() -> None:
    pauses: list[float] = []

    assert Patience(pauses.append)(failing(3, Unavailable("away"))) == "stored"
    assert pauses == [heartbeat.PAUSE_BEFORE_RETRY_S] * 3


def test_its_patience_ends(monkeypatch) -> None:
    monkeypatch.setattr(heartbeat, "PATIENCE_S", 0.0)
    with pytest.raises(Unavailable, match="away"):
        Patience(lambda _: None)(failing(10, Unavailable("away")))


def test_another_error_is_raised_at_once() -> None:
    pauses: list[float] = []
    with pytest.raises(ZeroDivisionError):
        Patience(pauses.append)(failing(1, ZeroDivisionError()))
    assert pauses == []
