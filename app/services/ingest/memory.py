"""Limits the memory of all large batches that a process stores at once: compressed, such a batch may be tiny."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from app.concurrency.quotas import FairSemaphore, Quota
from app.errors import TooLarge
from app.otlp.inflate import inflate, inflated_size
from app.services.accounts.owners import Owners
from app.values.json import Body

SMALL_BYTES = 1024 * 1024
"""Bytes of a batch, decompressed, up to which its memory does not count."""
SHARE_PERCENT = 25
"""The percentage of the memory that only further organizations can use."""
WAIT_S = 10.0


@dataclass(slots=True, kw_only=True)
class BatchMemory:
    """The memory of a process for large batches: as many bytes as the largest batch may have, `batch_bytes`."""

    owners: Owners
    batch_bytes: int
    _semaphore: FairSemaphore = field(init=False)

    def __post_init__(self) -> None:
        self._semaphore = FairSemaphore(Quota.of(self.batch_bytes, SHARE_PERCENT))

    @contextmanager
    def opened(self, project_id: int, body: bytes, encoding: str) -> Iterator[Body]:
        """Hold the memory of a batch during the block, which gets the batch decompressed.

        Raises `NoFreePlace` if not enough is free within `WAIT_S`, and the errors of `inflate`.
        """
        try:
            plain = inflate(body, encoding, limit=min(SMALL_BYTES, self.batch_bytes))
        except TooLarge:
            size = inflated_size(body, encoding, limit=self.batch_bytes)
            with self._semaphore.hold(self.owners.of_project(project_id), wait_s=WAIT_S, places=size):
                yield inflate(body, encoding, limit=self.batch_bytes)
        else:
            yield plain
