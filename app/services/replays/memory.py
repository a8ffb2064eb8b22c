"""Limits the memory of all the replays that a worker plays at once.

A replay has its test case in memory, what the model has answered, its result, and the JSON of this.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from app.concurrency.caches import BoundedCache
from app.concurrency.quotas import FairSemaphore, Quota
from app.database.transactions import Database
from app.models import case_snapshots
from app.models import cases as test_cases
from app.models.replays import ReplayRow
from app.services.replays.program_store import TRANSCRIPT_BYTES
from app.values.json import count_marks

AT_ONCE_BYTES, SHARE_PERCENT = 96 * 1024 * 1024, 25
"""Memory of replays that a process plays at once, and the percentage that only further organizations can use."""
PER_BYTE = 4
"""Bytes of memory for each byte of a test case's text: for the text, and for what is made of it."""
LARGE_BYTES = 1024 * 1024
"""The size of a test case's text. After the replay of a larger one, garbage is collected at once."""
SIZES_KEPT = 10_000
"""Snapshots of test cases of which a process remembers the size."""
WAIT_S = 600.0
"""The time after which a replay that waits for memory goes back to the queue."""


@dataclass(frozen=True, slots=True)
class CaseSize:
    """The memory of the text of a test case, up to four bytes a character, and its brackets and commas."""

    text: int
    marks: int

    @classmethod
    def of(cls, text: str | None) -> CaseSize:
        return cls(sys.getsizeof(text or ""), count_marks(text or ""))


@dataclass(slots=True, kw_only=True)
class CaseSizes:
    """Measures the test cases of replays; a snapshot, which never changes, is read once for all of its replays."""

    database: Database
    _known: BoundedCache[CaseSize] = field(default_factory=lambda: BoundedCache(SIZES_KEPT), init=False)
    _reading: Lock = field(default_factory=Lock, init=False)

    def of(self, snapshot_id: int | None, test_case_id: int) -> CaseSize:
        """Return the size of a snapshot, or of the test case for a replay of an older release, which has none."""
        # One at a time: the memory of a text counts only once its replay holds it, which needs the size.
        with self._reading:
            known = None if snapshot_id is None else self._known.get(snapshot_id)
            if known is None:
                with self.database.read() as connection:
                    if snapshot_id is None:
                        documents = next(test_cases.documents_of(connection, ids=[test_case_id]))
                        return CaseSize.of(documents.get(test_case_id))
                    known = CaseSize.of(case_snapshots.text_of(connection, snapshot_id=snapshot_id))
                self._known.put(snapshot_id, known, weight=1)
            return known


@dataclass(slots=True)
class HeldMemory:
    """The memory of one replay, which includes `included` bytes of answers.

    Beyond these, `grow` is called with the memory for further answers; `grown` is the sum.
    """

    included: int
    grow: Callable[[int], None]
    grown: int = 0
    _lock: Lock = field(default_factory=Lock)

    def answered(self, size: int) -> None:
        """Count the bytes that the model has answered."""
        with self._lock:
            self.included -= size
            more = min(size, max(0, -self.included)) * PER_BYTE
            self.grown += more
        if more:
            self.grow(more)


@dataclass(slots=True, kw_only=True)
class ReplayMemory:
    """The memory of a process for replays."""

    sizes: CaseSizes
    _semaphore: FairSemaphore = field(
        default_factory=lambda: FairSemaphore(Quota.of(AT_ONCE_BYTES, SHARE_PERCENT)), init=False
    )

    @contextmanager
    def hold(self, row: ReplayRow, *, stopping: Callable[[], bool]) -> Iterator[HeldMemory]:
        """Hold the memory of a replay. Raises `Unavailable` if not enough is free in time, or if the process ends."""
        size = self._size(row)
        places = min(size * PER_BYTE, AT_ONCE_BYTES)
        with self._semaphore.hold(row.organization_id, wait_s=WAIT_S, places=places, stopping=stopping):
            held_memory = HeldMemory(size, lambda more: self._semaphore.add(row.organization_id, more))
            try:
                yield held_memory
            finally:
                if size >= LARGE_BYTES:
                    # The parts of a replay refer to each other, and Python collects by the number of objects.
                    gc.collect()
                self._semaphore.add(row.organization_id, -held_memory.grown)

    def _size(self, row: ReplayRow) -> int:
        """Return the memory of what a replay plays, and of the transcript of a program."""
        text = self.sizes.of(row.case_snapshot_id, row.test_case_id).text
        return text + (TRANSCRIPT_BYTES if row.external else 0)
