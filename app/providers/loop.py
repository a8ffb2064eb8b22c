"""An event loop in a thread of its own, on which other threads run coroutines and wait for them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
E = TypeVar("E")


class LoopThread:
    """Runs until it is closed. A coroutine is cancelled when the thread that waits for it is interrupted."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="providers", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return or raise the coroutine's result in the calling thread."""
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        finally:
            future.cancel()  # changes nothing once it is done

    def drain(
        self, produce: Callable[[Callable[[E], None]], Coroutine[Any, Any, T]], consume: Callable[[E], None]
    ) -> T:
        """Do as `run`, and consume each thing that `produce` emits, in order, in the calling thread."""
        emitted: SimpleQueue[E | None] = SimpleQueue()
        future = asyncio.run_coroutine_threadsafe(produce(emitted.put), self._loop)
        future.add_done_callback(lambda _: emitted.put(None))
        try:
            while (event := emitted.get()) is not None:
                consume(event)
            return future.result()
        finally:
            future.cancel()

    def close(self) -> None:
        """Stop the loop and wait for its thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
