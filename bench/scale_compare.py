"""Two instances of different size, measured in turns, so that other work on the machine meets both alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

# Batches before ingest is compared again. A server that constantly stores spans has the neighbouring keys of new rows
# in memory. After bulk writes it has bodies and the pages of the search index in memory instead.
WARM_UP = 600


class Instance(Protocol):
    def store_batch(self) -> float:
        """Store a batch, and return its seconds."""

    def pages(self) -> dict[str, Callable[[], object]]: ...


def compare(small: Instance, large: Instance, repeats: int) -> None:
    """Print the medians of both, and their ratio."""
    batches = (small.store_batch, large.store_batch)
    _compare("a batch, after other work", *batches, repeats)
    here = large.pages()
    for name, page in small.pages().items():
        _compare(name, partial(timed, page), partial(timed, here[name]), repeats)
    for _ in range(WARM_UP):
        large.store_batch()
    _compare(f"a batch, after {WARM_UP} others", *batches, repeats)


def _compare(name: str, there: Callable[[], float], here: Callable[[], float], repeats: int) -> None:
    taken = [(there(), here()) for _ in range(repeats)]
    small, large = (statistics.median(times) * 1000 for times in zip(*taken, strict=True))
    print(f"  {name:48} {small:9.1f} ms {large:9.1f} ms {large / small:7.2f}", flush=True)


def timed(work: Callable[[], object]) -> float:
    """Do the work and return its seconds."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
