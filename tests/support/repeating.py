"""Repeats actions in threads while a test does something else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event


@contextmanager
def repeated(*actions: Callable[[], object]) -> Iterator[None]:
    """Repeat each action in a thread until the block ends, and raise what an action has raised."""
    stop = Event()

    def repeat(action: Callable[[], object]) -> None:
        while not stop.is_set():
            action()

    with ThreadPoolExecutor(len(actions)) as pool:
        running = [pool.submit(repeat, action) for action in actions]
        try:
            yield
        finally:
            stop.set()
        for each in running:
            each.result()
