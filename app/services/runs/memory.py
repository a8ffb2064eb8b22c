"""Limits the memory of all the large runs that a worker executes at once.

Until its model has answered, a run has in memory its files and texts, and what is sent to the vendor.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

import msgspec

from app.concurrency.quotas import FairSemaphore, Quota
from app.database.transactions import Database
from app.models import runs
from app.models.runs import RunRow

AT_ONCE_BYTES, SHARE_PERCENT = 192 * 1024 * 1024, 25
"""Memory of large runs that a process executes at once, and the percentage that only further organizations can use."""
PER_BYTE = 4
"""Bytes of memory for each byte of files and texts: for their JSON in Base64, and for its copies in the client."""
WAIT_S = 30.0
"""The time after which a run that waits for memory goes back to the queue."""


@dataclass(slots=True, kw_only=True)
class RunMemory:
    """The memory of a process for large runs; `stopping` is true once the process ends."""

    database: Database
    stopping: Callable[[], bool]
    _semaphore: FairSemaphore = field(
        default_factory=lambda: FairSemaphore(Quota.of(AT_ONCE_BYTES, SHARE_PERCENT)), init=False
    )
    _reading: Lock = field(default_factory=Lock, init=False)

    @contextmanager
    def hold(self, run_id: int) -> Iterator[None]:
        """Hold the memory of a run. Raises `NoFreePlace` if not enough is free in time, or if the process ends."""
        organization_id, size = self._measured(run_id)
        places = min(size * PER_BYTE, AT_ONCE_BYTES)
        with self._semaphore.hold(organization_id, wait_s=WAIT_S, places=places, stopping=self.stopping):
            yield

    def _measured(self, run_id: int) -> tuple[int, int]:
        """Return the run's organization, and its size; 0 for one that no worker will execute."""
        # One at a time: the memory of a run counts only once it is held, which needs the size.
        with self._reading:
            with self.database.read() as connection:
                row = next(iter(runs.find_runs(connection, run_ids=[run_id])), None)
            return (row.organization_id, size_of(row)) if row and row.status == "queued" else (0, 0)


def size_of(row: RunRow) -> int:
    """Return the bytes of a run's files and texts. What is sealed is in memory encrypted, too."""
    texts = sys.getsizeof(row.question) + len(msgspec.json.encode(row.request))
    size = texts + sum(file.size for file in row.request.files)
    return 2 * size if row.request.sealed else size
