"""Bounds the memory of the models' answers that a process receives at once.

A server may send most of an answer and never its end, and an organization may name any server for its models.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from app.concurrency.quotas import Quota, Shares
from app.providers.failures import ProviderFailure

AT_ONCE_BYTES, SHARE_PERCENT = 96 * 1024 * 1024, 25
"""Bytes of all answers of a process, and the percentage that only further organizations can use."""
STEP_BYTES = 64 * 1024
"""Answers are counted in steps of this size. The first one is free, so that most answers count nothing."""


@dataclass(slots=True)
class AnswerMemory:
    """The memory of a process for answers."""

    _shares: Shares = field(default_factory=lambda: Shares(Quota.of(AT_ONCE_BYTES, SHARE_PERCENT)))
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)

    def count(self, organization_id: int, size: int) -> None:
        """Count so many bytes more; raises `ProviderFailure` if too much is held."""
        with self._lock:
            admitted = self._shares.take(organization_id, size)
        if not admitted:
            raise ProviderFailure("The answer was not read to its end: too many long answers are received at once.")

    def release(self, organization_id: int, size: int) -> None:
        with self._lock:
            self._shares.release(organization_id, size)


class HeldAnswer:
    """What one answer of an organization has in memory, until the end of the block.

    `received` are bytes that are not read yet, `texts` what was read.
    """

    __slots__ = ("_memory", "_organization_id", "held", "received", "texts")

    def __init__(self, memory: AnswerMemory, organization_id: int) -> None:
        self._memory, self._organization_id = memory, organization_id
        self.held = 0
        self.received, self.texts = AnswerPart(self), AnswerPart(self)

    def __enter__(self) -> HeldAnswer:
        return self

    def __exit__(self, *_: object) -> None:
        if self.held:
            self._memory.release(self._organization_id, self.held)

    def count(self, size: int) -> None:
        """Count so many bytes more; raises as `AnswerMemory.count`."""
        self._memory.count(self._organization_id, size)
        self.held += size


class AnswerPart:
    """A part of an answer, which is counted up to `until` bytes."""

    __slots__ = ("_held_answer", "until")

    def __init__(self, held_answer: HeldAnswer) -> None:
        self._held_answer, self.until = held_answer, STEP_BYTES

    def grow(self, size: int) -> None:
        """Count a part that has more than `until` bytes now; raises as `AnswerMemory.count`."""
        more = -(-(size - self.until) // STEP_BYTES) * STEP_BYTES
        self._held_answer.count(more)
        self.until += more
