"""Looks for stored rows that break a rule: a little at a time in the clock, and all of them for `reprise doctor`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

import structlog

from app.database.damage import damages
from app.database.transactions import Database
from app.metrics import Metrics
from app.metrics.registry import INVARIANT_VIOLATIONS
from app.models.base import metadata
from app.models.invariants import INVARIANTS, Invariant, RowRef, broken_of
from app.services.data.content_rules import CONTENT_RULES
from app.timestamps import Now
from app.work.work_time import WorkTime

log = structlog.get_logger(__name__)

EVERY_S, WORK_S = 30.0, 0.3
"""The clock examines rows for `WORK_S` out of `EVERY_S` seconds: a hundredth of a processor."""
ROWS_AT_ONCE, ROWS_OF_A_PIECE = 50, 500
"""Rows that are examined together, in the clock and by the command."""
SUSPECTS_MAX = 500
"""Rows of a rule that are looked at a second time."""
RULES = (*INVARIANTS, *CONTENT_RULES)
"""What `reprise doctor --deep` examines; the clock leaves out the slow ones."""


@dataclass(frozen=True, slots=True)
class Examined:
    """The result of a rule on all rows: their number, and the rows that break it."""

    invariant: Invariant
    rows: int
    broken: Sequence[RowRef]


@dataclass(slots=True, kw_only=True)
class InvariantService:
    """Examines the rows of every rule in turn.

    A row breaks a rule only if it does so twice, the second time later: between two looks other transactions end.
    """

    database: Database
    metrics: Metrics
    now: Now
    work_time: WorkTime = field(default_factory=partial(WorkTime, WORK_S))
    _last: dict[str, int] = field(default_factory=dict, init=False)
    _suspects: dict[str, list[RowRef]] = field(default_factory=dict, init=False)
    _next: int = field(default=0, init=False)

    def sweep(self) -> None:
        """Look at suspects of the last sweep again, then at the next rows of some rules."""
        self.work_time.begin()
        suspects, self._suspects = self._suspects, {}
        for invariant in INVARIANTS:
            if broken := self._broken(invariant, suspects.get(invariant.name, [])):
                self._report(invariant, broken)
        rules = [invariant for invariant in INVARIANTS if not invariant.slow]
        for _ in rules:
            invariant = rules[self._next % len(rules)]
            self._next += 1
            self._examine_some(invariant)
            if self.work_time.is_over:
                return
        self.work_time.caught_up()

    def _examine_some(self, invariant: Invariant) -> None:
        """Examine the next rows of a rule; after the last row it begins at the first one again."""
        row_refs = self._row_refs(invariant, self._last.get(invariant.name, 0), ROWS_AT_ONCE)
        self._last[invariant.name] = row_refs[-1].id if len(row_refs) == ROWS_AT_ONCE else 0
        self._suspects.setdefault(invariant.name, []).extend(self._broken(invariant, row_refs))

    def _report(self, invariant: Invariant, broken: Sequence[RowRef]) -> None:
        self.metrics.count(INVARIANT_VIOLATIONS, invariant.name, by=len(broken))
        for row_ref in broken:
            log.error("invariant_violated", rule=invariant.name, project_id=row_ref.project_id, id=row_ref.id)

    def damages(self) -> list[str]:
        """Return what the database reports about its files; empty without damage."""
        return list(damages(self.database, metadata.tables))

    def examine_all(self, progress: Callable[[str, int], None], *, pause: Callable[[], object]) -> Iterator[Examined]:
        """Yield the result of each rule; `progress` gets its name and the number of rows that were examined so far.

        `pause` waits before the suspects are looked at again.
        """
        for invariant in RULES:
            suspects: list[RowRef] = []
            rows = last = 0
            while row_refs := self._row_refs(invariant, last, ROWS_OF_A_PIECE):
                rows, last = rows + len(row_refs), row_refs[-1].id
                suspects += islice(self._broken(invariant, row_refs), SUSPECTS_MAX - len(suspects))
                progress(invariant.name, rows)
            if suspects:
                pause()
            yield Examined(invariant, rows, self._broken(invariant, suspects))

    def _row_refs(self, invariant: Invariant, after: int, limit: int) -> list[RowRef]:
        with self.database.read() as connection:
            return invariant.row_refs(connection, after=after, limit=limit)

    def _broken(self, invariant: Invariant, row_refs: Sequence[RowRef]) -> list[RowRef]:
        by_project: dict[int, list[int]] = defaultdict(list)
        for row_ref in row_refs:
            by_project[row_ref.project_id].append(row_ref.id)
        broken: list[RowRef] = []
        for project_id, ids in by_project.items():
            with self.database.read() as connection:
                broken_ids = broken_of(invariant, connection, project_id, ids, self.now())
            broken += [RowRef(project_id, id_) for id_ in sorted(broken_ids)]
        return broken
