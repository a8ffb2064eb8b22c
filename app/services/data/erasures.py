"""The erased prompts, or projects, that may still have rows, however long ago they were erased."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from operator import attrgetter

from app.models.removal import Erased
from app.work.remover import RemovalStep

AFTERMATH = timedelta(days=2)
"""Runs and batches that had begun before an erasure may store rows for this time; a run may last a day."""
OLD_AT_ONCE = 20
"""Erasures before that time that a sweep examines: a process examines each of them, and newer ones must not wait."""


@dataclass(slots=True)
class Erasures:
    """What is erased and was not yet seen without rows, after `AFTERMATH`, by this process. Not thread-safe.

    An erasure is interrupted together with its process, which may be away for longer than `AFTERMATH`.
    """

    _open: dict[int, Erased] = field(default_factory=dict, init=False)
    # The first sweep reads all erasures, a later one those since the start of the aftermath at the sweep before it.
    _since: datetime = field(default=datetime(1970, 1, 1, tzinfo=UTC), init=False)

    def due(self, read: Callable[[datetime], Iterable[Erased]], *, now: datetime) -> dict[int, Erased]:
        """Return what the sweep empties, by id. `read` lists what was erased since a time."""
        self._open |= {erased.id: erased for erased in read(self._since)}
        self._since = now - AFTERMATH
        newest_first = sorted(self._open.values(), key=attrgetter("erased_at", "id"), reverse=True)
        old = [erased for erased in newest_first if self._is_old(erased)]
        recent = newest_first[: len(newest_first) - len(old)]
        return {erased.id: erased for erased in (*recent, *old[:OLD_AT_ONCE])}

    def until_empty(self, erased: Erased, steps: Iterable[RemovalStep]) -> Iterator[RemovalStep]:
        """Yield the steps. A caller that asks for more after the last one has found no rows by any of them."""
        yield from steps
        if self._is_old(erased):
            self._open.pop(erased.id, None)

    def _is_old(self, erased: Erased) -> bool:
        return erased.erased_at < self._since
