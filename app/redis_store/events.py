"""Carries the events of an answer, as a model writes them, from the worker to the requests that follow a run.

A Redis stream keeps them for a while; the row has the whole answer. Events are numbered here, and the numbers are the
ids of the stream's entries, so that an event that is sent twice is stored once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby

import orjson
import redis
import structlog

from app.chat import OnEvent, StreamEvent
from app.redis_store import keys

log = structlog.get_logger(__name__)

FLUSH_S = 0.02
# More than the flushes of the longest call: the cap is for what nobody foresees.
ENTRIES_MAX = 50_000
# Longer than any silence of a model; after the end, long enough to come back.
TTL_S = 3600
TTL_ENDED_S = 600
KIND, DATA, SEALED, END = "kind", "data", "sealed", "end"
TEXTS = ("token", "reasoning")


@dataclass(slots=True)
class _Feed:
    """The events of one run: `open` may still be merged, `numbered` are not known to be in Redis."""

    key: str
    encrypt: Callable[[bytes], bytes] | None
    open: list[StreamEvent] = field(default_factory=list)
    numbered: list[tuple[str, dict[str, bytes]]] = field(default_factory=list)
    count: int = 0

    def number(self) -> list[tuple[str, dict[str, bytes]]]:
        for event in _merged(self.open):
            self.count += 1
            data = {SEALED: self.encrypt(_data(event))} if self.encrypt else {DATA: _data(event)}
            self.numbered.append((f"{self.count}-0", {KIND: event.kind.encode(), **data}))
        self.open = []
        return self.numbered


@dataclass(slots=True)
class LiveRuns:
    """Sends the events of all runs of this process together, at most every `every_s`, so that tokens do not become as
    many commands. Its thread exists only while there are runs.
    """

    client: redis.Redis
    every_s: float = FLUSH_S
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _sending: threading.Lock = field(default_factory=threading.Lock, init=False)
    _wake: threading.Event = field(default_factory=threading.Event, init=False)
    _feeds: dict[str, _Feed] = field(default_factory=dict, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)

    @contextmanager
    def of(self, run_id: int, encrypt: Callable[[bytes], bytes] | None = None) -> Iterator[OnEvent]:
        """Give the block a callback for the run's events; all are sent, encrypted with `encrypt`, when it ends."""
        feed = _Feed(keys.run_events(run_id), encrypt)

        def note(event: StreamEvent) -> None:
            with self._lock:
                feed.open.append(event)
            self._wake.set()

        with self._lock:
            self._feeds[feed.key] = feed
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="live-runs", daemon=True)
                self._thread.start()
        try:
            yield note
        finally:
            self._send()
            with self._lock:
                self._feeds.pop(feed.key)
            self._wake.set()

    def end(self, run_id: int) -> None:
        """Add the last entry of a run's stream; the id that Redis gives it is higher than every number of an event."""
        key = keys.run_events(run_id)
        try:
            with self.client.pipeline(transaction=False) as pipe:
                pipe.xadd(key, {KIND: END, DATA: b""})
                pipe.expire(key, TTL_ENDED_S)
                pipe.execute()
        except redis.RedisError as error:
            log.warning("live_run_not_ended", run_id=run_id, error=str(error))

    def _work(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            with self._lock:
                if not self._feeds:
                    self._thread = None
                    return
            if not self._send():
                self._wake.set()
            time.sleep(self.every_s)

    def _send(self) -> bool:
        """Return False when Redis is away: the events stay, and are sent with the next ones."""
        with self._sending:
            with self._lock:
                due = [(feed, entries) for feed in self._feeds.values() if (entries := feed.number())]
            if not due:
                return True
            try:
                with self.client.pipeline(transaction=False) as pipe:
                    for feed, entries in due:
                        for number, fields in entries:
                            pipe.xadd(feed.key, fields, id=number, maxlen=ENTRIES_MAX, approximate=True)  # type: ignore[arg-type]
                        pipe.expire(feed.key, TTL_S)
                    pipe.execute(raise_on_error=False)  # an entry that is there already is refused, alone
            except redis.RedisError as error:
                log.debug("live_runs_not_sent", runs=len(due), error=str(error))
                return False
            for feed, _ in due:
                feed.numbered = []
            return True


def _merged(events: list[StreamEvent]) -> Iterator[StreamEvent]:
    """Join texts of one kind that follow each other."""
    for kind, group in groupby(events, key=lambda event: event.kind):
        if kind == "tool_call":
            yield from group
        else:
            yield StreamEvent(kind, "".join(event.text for event in group))


def _data(event: StreamEvent) -> bytes:
    """Return the JSON of the API's event."""
    call = event.tool_call
    data = {"id": call.id, "name": call.name, "arguments": call.arguments} if call else {"text": event.text}
    return orjson.dumps(data)
