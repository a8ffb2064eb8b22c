"""Packs spans an hour after the last batch of their turn, and compresses the facts of turns further."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import NamedTuple

from app.database.transactions import Database
from app.models import organizations, queries, row_rewriting, span_packing
from app.models.bulk import by_size
from app.models.turns import turns
from app.timestamps import Now
from app.work.round_robin import RoundRobin
from app.work.work_time import WorkTime

# The clock packs for `WORK_S` seconds out of `EVERY_S`.
WORK_S, EVERY_S = 6.0, 30.0
PACK_AFTER = timedelta(hours=1)
"""The time without new spans after which the clock packs a turn."""
TURNS_AT_ONCE, SESSIONS_AT_ONCE = 200, 50
BYTES_AT_ONCE = 4 * 1024 * 1024
"""Bodies that one transaction packs."""


class Packed(NamedTuple):
    """The number of sessions that were examined, and the batch id up to which turns are packed."""

    sessions: int
    until: int


@dataclass(slots=True, kw_only=True)
class SpanPacker:
    """Packs spans in small transactions: other processes may store, read and remove them meanwhile.

    It may be interrupted anywhere. Nothing is packed unless `enabled`.
    """

    database: Database
    now: Now
    enabled: bool
    work_time: WorkTime
    _round_robin: RoundRobin = field(default_factory=RoundRobin, init=False)

    def sweep(self) -> None:
        """Pack turns without new spans until none is left or the time is used up."""
        if not self.enabled:
            return
        self.work_time.begin()
        with self.database.read() as connection:
            owners = organizations.owners(connection)
        before = queries.first_batch_id(self.now() - PACK_AFTER)
        pack = partial(self._pack_next, before=before)
        if self._round_robin.serve(owners, pack, is_over=lambda: self.work_time.is_over):
            self.work_time.caught_up()

    def _pack_next(self, project_id: int, *, before: int) -> bool:
        database = self.database.background
        with database.read() as connection:
            after = span_packing.packed_until(connection, project_id=project_id)
        packed = self._pack_after(project_id, after, before)
        if packed.sessions:
            database.retrying(partial(span_packing.put_packed_until, project_id=project_id, until=packed.until))
        return packed.until < before - 1  # the last id below `before`

    def pack_all(self) -> Iterator[int]:
        """Pack all turns of all projects; yields the number of sessions that were examined since the last time."""
        with self.database.read() as connection:
            project_ids = sorted(organizations.owners(connection))
        for project_id in project_ids:
            yield from self.pack_project(project_id)

    def pack_project(self, project_id: int) -> Iterator[int]:
        """Pack all turns of a project, even new ones; yields what `pack_all` yields."""
        before = queries.first_batch_id(self.now() + timedelta(seconds=1))
        packed = Packed(0, 0)
        while packed.until < before - 1:
            packed = self._pack_after(project_id, packed.until, before)
            yield packed.sessions

    def _pack_after(self, project_id: int, after: int, before: int) -> Packed:
        """Pack the first turns with their last spans from batches with ids in (after, before)."""
        with self.database.background.read() as connection:
            waiting = span_packing.waiting(
                connection, project_id=project_id, after=after, before=before, limit=TURNS_AT_ONCE
            )
        for session_keys in queries.pieces(waiting.session_keys, SESSIONS_AT_ONCE):
            self._pack(project_id, session_keys, after, before)
        return Packed(len(waiting.session_keys), waiting.until)

    def _pack(self, project_id: int, session_keys: Sequence[bytes], after: int, before: int) -> None:
        background = self.database.background
        with background.read() as connection:
            listed = span_packing.turns_of(
                connection, project_id=project_id, session_keys=session_keys, after=after, before=before
            )
            groups = span_packing.groups_to_pack(connection, project_id=project_id, listed=listed)
        for piece in by_size(groups, span_packing.size_of_joined, BYTES_AT_ONCE):
            background.retrying(partial(span_packing.pack, project_id=project_id, groups=piece))
        for ids in queries.pieces(sorted(turn.id for turn in listed)):
            background.retrying(partial(row_rewriting.compress_rows, column=turns.c.facts, ids=ids))
