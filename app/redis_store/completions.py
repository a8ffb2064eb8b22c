"""Tells whoever waits in any web process that a run has ended: Redis publishes, one thread a process listens."""

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
    """A word to be quick, not to be sure: what Redis loses is found in the run's row, which is looked at anyway.

    A thousand who wait share one connection; each waits on a condition of its own, so that none blocks on Redis.
    Ends that come at the same time are one message.
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
        """To be called before the run is sent: what is published earlier is not heard."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._listen, name="run-ends", daemon=True)
                self._thread.start()
        self._listening.wait(SUBSCRIBE_S)

    def wait(self, run_id: int, timeout_s: float) -> bool:
        """True as soon as the run is known to have ended; False after `timeout_s`."""
        told = threading.Event()
        with self._lock:
            if run_id in self._ended:
                return True
            self._waiting[run_id].append(told)
        try:
            return told.wait(timeout_s)
        finally:
            with self._lock:
                self._waiting[run_id].remove(told)
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
                for told in self._waiting.get(run_id, ()):
                    told.set()
            while len(self._ended) > REMEMBERED:
                self._ended.popitem(last=False)
