"""Transports a run's events and its end from the worker to the requests that wait for them.

A Redis stream keeps the events while a model writes and for a while after; the row has the whole answer. The worker
numbers the events. The numbers are the ids of the stream's entries, so that an event that is sent twice is stored once.
The ends of runs are published to all web processes; each has one thread that listens.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby, starmap
from typing import NamedTuple

import msgspec
import orjson
import redis
import structlog

from app.chat import OnEvent, StreamEvent
from app.concurrency.batching import Forwarder
from app.redis_store import keys
from app.redis_store.kept_bytes import KeptBytes

log = structlog.get_logger(__name__)

FLUSH_S = 0.02
# More than the flushes of the longest call; only a safeguard.
ENTRIES_MAX = 50_000
# While a run goes on, longer than any pause of a model; after its end, long enough for a client to reconnect.
TTL_S = 3600
TTL_ENDED_S = 600
KIND, DATA, SEALED, END = "kind", "data", "sealed", "end"
# What an entry needs besides its event in the embedded mode; Redis needs less.
ENTRY_BYTES = 512
# Characters of all runs of a process that Redis does not have yet. Models that write more wait, unless Redis is away.
UNSENT_MAX = 8 * 1024 * 1024
# A run may end before its caller begins to wait. This many ids cover some seconds, even at the highest possible rate.
IDS_REMEMBERED = 10_000
LISTENING_STEP_S = 1.0
SUBSCRIBE_S = 2.0


@dataclass(slots=True)
class _Feed:
    """The events of one run: `open` may still be merged, `numbered` are not yet confirmed by Redis.

    `uncounted` are bytes of entries that `KeptBytes` does not count yet, `unsent` characters that Redis does not have.
    """

    key: str
    encrypt: Callable[[bytes], bytes] | None
    open: list[StreamEvent] = field(default_factory=list)
    numbered: list[tuple[str, dict[str, bytes]]] = field(default_factory=list)
    count: int = 0
    uncounted: int = 0
    unsent: int = 0

    def number(self) -> list[tuple[str, dict[str, bytes]]]:
        for event in _merged(self.open):
            self.count += 1
            data = self.encrypt(_data(event)) if self.encrypt else _data(event)
            fields = {KIND: event.kind.encode(), SEALED if self.encrypt else DATA: data}
            self.numbered.append((f"{self.count}-0", fields))
            self.uncounted += len(data) + ENTRY_BYTES
        self.open = []
        return self.numbered


@dataclass(slots=True)
class LiveRuns:
    """Sends the events of all runs of this process together, at most every `every_s`: one command per token would be
    too many. Its thread exists only while there are runs. Where `kept` has no room, the oldest streams are deleted.
    """

    client: redis.Redis
    kept: KeptBytes
    every_s: float = FLUSH_S
    _lock: threading.Condition = field(default_factory=threading.Condition, init=False)
    _sending: threading.Lock = field(default_factory=threading.Lock, init=False)
    _unsent: int = field(default=0, init=False)
    _is_away: bool = field(default=False, init=False)
    _wake: threading.Event = field(default_factory=threading.Event, init=False)
    _feeds: dict[str, _Feed] = field(default_factory=dict, init=False)
    _thread: threading.Thread | None = field(default=None, init=False)

    @contextmanager
    def of(self, run_id: int, encrypt: Callable[[bytes], bytes] | None = None) -> Iterator[OnEvent]:
        """Give the block a callback for the run's events; they are encrypted with `encrypt`, and sent by its end."""
        feed = _Feed(keys.run_events(run_id), encrypt)

        def note(event: StreamEvent) -> None:
            with self._lock:
                while self._unsent > UNSENT_MAX and not self._is_away:
                    self._lock.wait(LISTENING_STEP_S)
                feed.open.append(event)
                feed.unsent += len(event.text)
                self._unsent += len(event.text)
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
                self._has_sent(feed, feed.unsent)
            self._wake.set()

    def end(self, run_id: int) -> None:
        """Add the last entry of a run's stream. Redis assigns its id, which is higher than the number of any event."""
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
        """Return False when Redis is away; then the events stay, and are sent with the next ones."""
        with self._sending:
            with self._lock:
                due = [(feed, entries, feed.unsent) for feed in self._feeds.values() if (entries := feed.number())]
            if not due:
                return True
            try:
                with self.client.pipeline(transaction=False) as pipe:
                    for feed, entries, _ in due:
                        size, feed.uncounted = feed.uncounted, 0
                        if over := self.kept.add(feed.key, size):
                            pipe.delete(*over)
                        for number, fields in entries:
                            pipe.xadd(feed.key, fields, id=number, maxlen=ENTRIES_MAX, approximate=True)  # type: ignore[arg-type]
                        pipe.expire(feed.key, TTL_S)
                    pipe.execute(raise_on_error=False)  # Redis refuses only entries that it has already
            except redis.RedisError as error:
                log.debug("live_runs_not_sent", runs=len(due), error=str(error))
                with self._lock:
                    self._is_away = True
                    self._lock.notify_all()
                return False
            with self._lock:
                self._is_away = False
                for feed, _, unsent in due:
                    feed.numbered = []
                    self._has_sent(feed, unsent)
            return True

    def _has_sent(self, feed: _Feed, size: int) -> None:
        size = min(size, feed.unsent)  # less, where the run ended while its last pieces were sent
        feed.unsent -= size
        self._unsent -= size
        self._lock.notify_all()


def _merged(events: list[StreamEvent]) -> Iterator[StreamEvent]:
    """Join consecutive texts of the same kind."""
    for kind, group in groupby(events, key=lambda event: event.kind):
        if kind == "tool_call":
            yield from group
        else:
            yield StreamEvent(kind, "".join(event.text for event in group))


def _data(event: StreamEvent) -> bytes:
    """Return the event's JSON, as the API sends it."""
    call = event.tool_call
    data = {"id": call.id, "name": call.name, "arguments": call.arguments} if call else {"text": event.text}
    return orjson.dumps(data)


class Announcement(NamedTuple):
    """The end of a run, with its record if that is short enough (see `app.services.runs.records`)."""

    run_id: int
    record: bytes = b""


@dataclass(slots=True, eq=False)
class _Waiter:
    """`called` is set when `announcement` is known."""

    called: threading.Event = field(default_factory=threading.Event)
    announcement: Announcement | None = None


class RunCompletions:
    """Shortens waits without a guarantee: waiting requests also read the run's row from time to time.

    All requests share one connection to Redis, and each waits on its own event. Runs that end at the same time share
    one message: a MessagePack list of each run's id and its record.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._announce: Forwarder[Announcement] = Forwarder(self._publish)
        self._lock = threading.Lock()
        self._listening = threading.Event()
        self._thread: threading.Thread | None = None
        self._ended: OrderedDict[int, None] = OrderedDict()
        self._waiting: defaultdict[int, list[_Waiter]] = defaultdict(list)
        self._closed = False

    def close(self) -> None:
        """Stop listening, within a second."""
        self._closed = True

    def announce(self, run_id: int, record: bytes = b"") -> None:
        """Send the end of a run to all processes. `record` is the ended run, or empty to let readers query it.

        Errors of Redis are logged: the requests that wait read the run's row.
        """
        try:
            self._announce(Announcement(run_id, record))
        except redis.RedisError as error:
            log.warning("run_end_not_announced", run_id=run_id, error=str(error))

    def _publish(self, ends: Sequence[Announcement]) -> None:
        self._client.publish(keys.RUNS_ENDED, msgspec.msgpack.encode(ends))

    def listen(self) -> None:
        """Listen, unless this process already does. Call it before a run is sent: earlier messages are missed."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen, name="run-ends", daemon=True)
                self._thread.start()
        self._listening.wait(SUBSCRIBE_S)

    def wait(self, run_id: int, timeout_s: float) -> Announcement | None:
        """Return the announcement of the run's end as soon as it arrives, or None after `timeout_s`.

        An announcement that arrived before the call has lost its record.
        """
        waiter = _Waiter()
        with self._lock:
            if run_id in self._ended:
                return Announcement(run_id)
            self._waiting[run_id].append(waiter)
        try:
            waiter.called.wait(timeout_s)
            return waiter.announcement
        finally:
            with self._lock:
                self._waiting[run_id].remove(waiter)
                if not self._waiting[run_id]:
                    del self._waiting[run_id]

    def _listen(self) -> None:
        while not self._closed:
            try:
                with self._client.pubsub(ignore_subscribe_messages=True) as channel:
                    channel.subscribe(keys.RUNS_ENDED)
                    self._listening.set()
                    while not self._closed:
                        message = channel.get_message(timeout=LISTENING_STEP_S)
                        if message is not None:
                            self._note(starmap(Announcement, msgspec.msgpack.decode(message["data"])))
            except redis.RedisError as error:
                log.warning("run_ends_not_heard", error=str(error))
                time.sleep(LISTENING_STEP_S)

    def _note(self, ends: Iterable[Announcement]) -> None:
        with self._lock:
            for end in ends:
                self._ended[end.run_id] = None
                for waiter in self._waiting.get(end.run_id, ()):
                    waiter.announcement = end
                    waiter.called.set()
            while len(self._ended) > IDS_REMEMBERED:
                self._ended.popitem(last=False)
