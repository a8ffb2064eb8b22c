"""Limits the memory of all the requests of programs that a web process answers at once.

A request has the test case of its replay in memory, what the program did before, and the answers of the model, for the
minutes that the model may need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.concurrency.quotas import FairSemaphore, Quota
from app.database.transactions import Database
from app.metrics import Metrics
from app.metrics.registry import SHARE_REFUSED
from app.models import replays
from app.models.program_replays import ProgramReplay
from app.services.replays.memory import PER_BYTE, CaseSizes

AT_ONCE_BYTES, SHARE_PERCENT = 192 * 1024 * 1024, 25
"""Memory of such requests of a process, and the percentage that only further organizations can use."""
PER_MARK = 128
"""Bytes of memory for each bracket and comma of JSON: an object with one member needs about 280."""
PER_TRANSCRIPT_BYTE = 16
"""Bytes of memory for each byte of what the program did before."""
WAIT_S = 10.0


@dataclass(slots=True, kw_only=True)
class ProgramMemory:
    """The memory of a process for requests of programs."""

    database: Database
    metrics: Metrics
    sizes: CaseSizes
    _semaphore: FairSemaphore = field(init=False)

    def __post_init__(self) -> None:
        count = self.metrics.count
        self._semaphore = FairSemaphore(
            Quota.of(AT_ONCE_BYTES, SHARE_PERCENT), on_refused=lambda: count(SHARE_REFUSED, "program_requests")
        )

    @contextmanager
    def hold(self, row: ProgramReplay) -> Iterator[Callable[[int], None]]:
        """Hold the memory of a request; yield a function that counts further bytes of memory until the block ends.

        Raises `Unavailable` if not enough is free in time.
        """
        grown = list[int]()

        def grow(size: int) -> None:
            grown.append(size)
            self._semaphore.add(row.organization_id, size)

        places = min(self._size(row), AT_ONCE_BYTES)
        with self._semaphore.hold(row.organization_id, wait_s=WAIT_S, places=places):
            try:
                yield grow
            finally:
                self._semaphore.add(row.organization_id, -sum(grown))

    def _size(self, row: ProgramReplay) -> int:
        with self.database.read() as connection:
            replay = replays.find_replay(connection, project_id=row.project_id, replay_id=row.replay_id)
        size = self.sizes.of(replay.case_snapshot_id, replay.test_case_id) if replay else None
        of_case = size.text * PER_BYTE + size.marks * PER_MARK if size else 0
        return max(1, of_case + row.size * PER_TRANSCRIPT_BYTE)
