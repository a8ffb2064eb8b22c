"""Publishes the ends of runs to the requests that wait for them in any web process; one thread a process listens."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Sequence

import redis
import structlog

from app.coalesce import Coalescer
from app.errors import Unavailable
from app.redis_store.keys import RUNS_ENDED

log = structlog.get_logger(__name__)

# A run may end before its caller begins to wait. So many ids span seconds at any rate that is possible.
REMEMBERED = 10_000
PAUSE_S = 1.0
SUBSCRIBE_S = 2.0


class RunCompletions:
    """Shortens waits and guarantees nothing: waiting requests read the run's row from time to time all the same.

    All of them share one connection to Redis; each waits on an event of its own. Ends of runs that come at the same
    time are one message.
    """

    def __init__(self, client: redis.Redis) -> None:
        self._client = client
        self._announce: Coalescer[int, None] = Coalescer(self._publish)
        self._lock = threading.Lock()
        self._listening = threading.Event()
        self._thread: threading.Thread | None = None
        self._ended: OrderedDict[int, None] = OrderedDict()
        self._waiting: defaultdict[int, list[threading.Event]] = defaultdict(list)
        self._closed = False

    def close(self) -> None:
        """Stop listening, within a second."""
        self._closed = True

    def announce(self, run_id: int) -> None:
        try:
            self._announce(run_id)
        except (redis.RedisError, Unavailable) as error:
            log.warning("run_end_not_announced", run_id=run_id, error=str(error))

    def _publish(self, run_ids: Sequence[int]) -> list[None]:
        self._client.publish(RUNS_ENDED, " ".join(map(str, run_ids)))
        return [None] * len(run_ids)

    def listen(self) -> None:
        """Start to listen, unless this process does; call it before a run is sent, as earlier messages are missed."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen, name="run-ends", daemon=True)
                self._thread.start()
        self._listening.wait(SUBSCRIBE_S)

    def wait(self, run_id: int, timeout_s: float) -> bool:
        """Return True as soon as the run is known to have ended, False after `timeout_s`."""
        ended = threading.Event()
        with self._lock:
            if run_id in self._ended:
                return True
            self._waiting[run_id].append(ended)
        try:
            return ended.wait(timeout_s)
        finally:
            with self._lock:
                self._waiting[run_id].remove(ended)
                if not self._waiting[run_id]:
                    del self._waiting[run_id]

    def _listen(self) -> None:
        while not self._closed:
            try:
                with self._client.pubsub(ignore_subscribe_messages=True) as channel:
                    channel.subscribe(RUNS_ENDED)
                    self._listening.set()
                    while not self._closed:
                        message = channel.get_message(timeout=PAUSE_S)
                        if message is not None:
                            self._note(map(int, message["data"].split()))
            except redis.RedisError as error:
                log.warning("run_ends_not_heard", error=str(error))
                time.sleep(PAUSE_S)

    def _note(self, run_ids: Iterable[int]) -> None:
        with self._lock:
            for run_id in run_ids:
                self._ended[run_id] = None
                for ended in self._waiting.get(run_id, ()):
                    ended.set()
            while len(self._ended) > REMEMBERED:
                self._ended.popitem(last=False)
