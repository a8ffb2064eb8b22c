"""The pieces of answers that Redis does not have yet have a bound, together."""

from __future__ import annotations

import threading
from collections.abc import Callable

import fakeredis
import pytest
import redis

from app.chat import OnEvent, StreamEvent
from app.redis_store import keys, runs
from app.redis_store.kept_bytes import KeptBytes
from app.redis_store.runs import LiveRuns
from tests.support.waiting import PATIENCE_S

RUN_ID, MOST = 7, 10
LONG, NEXT = StreamEvent("token", "x" * (MOST + 1)), StreamEvent("token", "next")


@pytest.fixture(autouse=True)
def unsent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "UNSENT_MAX", MOST)


def started(work: Callable[[], None]) -> threading.Event:
    """Do the work in a thread; the event is set at its end."""
    ended = threading.Event()

    def run() -> None:
        work()
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    return ended


def both(note: OnEvent) -> None:
    note(LONG)
    note(NEXT)


def test_a_model_waits_until_redis_has_what_was_written_before() -> None:
    client = fakeredis.FakeRedis()
    live = LiveRuns(client, KeptBytes())
    with live.of(RUN_ID) as note:
        with live._sending:
            written = started(lambda: both(note))
            assert not written.wait(0.2)
        assert written.wait(PATIENCE_S)
    entries = client.xrange(keys.run_events(RUN_ID))
    assert [fields[runs.DATA.encode()] for _, fields in entries] == [b'{"text":"xxxxxxxxxxx"}', b'{"text":"next"}']
    assert live._unsent == 0


def test_no_model_waits_while_redis_is_away() -> None:
    live = LiveRuns(Away(), KeptBytes())
    with live.of(RUN_ID) as note:
        assert started(lambda: both(note)).wait(PATIENCE_S)
    assert live._unsent == 0


class Away(fakeredis.FakeRedis):
    """A Redis that no command reaches."""

    def pipeline(self, *_: object, **__: object) -> redis.client.Pipeline:
        raise redis.ConnectionError("away")
