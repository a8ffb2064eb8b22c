"""One event loop in a thread of its own, on which any number of waiting threads have their calls done."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
E = TypeVar("E")


class LoopThread:
    """Started by the first call; a process forked after that starts its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = 0

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """What the coroutine returns or raises; it is cancelled when the calling thread is interrupted."""
        return _wait(asyncio.run_coroutine_threadsafe(coroutine, self._running()))

    def drain(
        self, produce: Callable[[Callable[[E], None]], Coroutine[Any, Any, T]], consume: Callable[[E], None]
    ) -> T:
        """As `run`, while each thing that `produce` emits is consumed, in order, in the calling thread."""
        emitted: SimpleQueue[tuple[E] | None] = SimpleQueue()
        future = asyncio.run_coroutine_threadsafe(produce(lambda event: emitted.put((event,))), self._running())
        future.add_done_callback(lambda _: emitted.put(None))
        try:
            while (item := emitted.get()) is not None:
                consume(*item)
        except BaseException:
            future.cancel()
            raise
        return future.result()

    def close(self) -> None:
        """Stop the loop; the next call would start another."""
        with self._lock:
            if self._loop is not None and self._pid == os.getpid():
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()
                self._loop.close()
            self._loop = None

    @property
    def generation(self) -> int:
        """Changes when the loop does: what is bound to a loop must not outlive it."""
        self._running()
        return self._pid

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._pid != os.getpid():
                self._loop, self._pid = asyncio.new_event_loop(), os.getpid()
                self._thread = threading.Thread(target=self._loop.run_forever, name="providers", daemon=True)
                self._thread.start()
            return self._loop


def _wait(future: Future[T]) -> T:
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise
