"""Queries on a prompt's log: which of its runs and sessions match, and where a page of them begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Connection

from app.models import prompts, session_log
from app.models.run_log import RunEntry, RunFilter, count_runs, nth_created_at, page_of_runs
from app.models.session_list import Conditions, Range
from app.models.session_log import SessionRange
from app.models.sessions import SessionRow
from app.prices.book import NO_PRICES, PriceBook
from app.services.sessions.filters import ALL
from app.services.sessions.service import SessionSummary, summarise
from app.timestamps import EPOCH, NS_PER_MS, ns_of

# Summaries that a search has in memory at once.
SUMMARIES_AT_ONCE = 100
# Longer than any session, and databases can compare it with integers.
LONGEST_NS = 2.0**63
COUNTED_MAX = 1_000
"""Log entries of each kind are counted up to this number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFilter(RunFilter):
    """Conditions on a log's entries: the conditions on runs, applied to sessions too; `type` is `run` or `otel`.

    A session either has errors or is OK. It has no other `status`, so a `status` excludes sessions. Its `score` is a
    score of the session or of a part of it. An entry without a price or a duration is within no limits of it. `words`
    is looked for in each turn of a session, and in the question and the answer of a run. This needs the search index:
    SQL and summaries cannot answer it.
    """

    type: str | None = None
    words: str | None = None
    include: str | None = None

    @property
    def has_runs(self) -> bool:
        return self.type != "otel"

    @property
    def has_sessions(self) -> bool:
        return self.type != "run" and not self.status

    @property
    def of_summaries(self) -> bool:
        """True if matching sessions can only be found by reading their summaries."""
        return self.cost != Range()

    @property
    def sparse(self) -> bool:
        """True if no index finds the matching entries, so that a page may have to read far."""
        conditions = self.search or self.status or self.score or self.words or self.version or self.model
        return bool(conditions) or self.errors is not None or (self.cost, self.duration_ms) != (Range(), Range())

    def matches(self, session: SessionSummary) -> bool:
        """Return whether a session has the requested errors, version, model, cost and duration."""
        return (
            self.errors in (None, session.errors > 0)
            and self.version in (None, *session.prompt_versions)
            and self.model in (None, *session.models)
            and self.cost.has(cost_of(session))
            and self.duration_ms.has(duration_ms_of(session))
        )


Entry = RunEntry | SessionSummary
Row = RunEntry | SessionRow
"""An entry without a summary yet."""


def duration_ms_of(entry: Entry) -> float | None:
    """Return the duration of an entry; None for a run that was not answered."""
    return entry.response_time_ms if isinstance(entry, RunEntry) else (entry.last_ns - entry.start_ns) / NS_PER_MS


def cost_of(entry: Entry) -> float | None:
    """Return the cost of an entry in USD; None for a session without a price."""
    return entry.cost_usd if isinstance(entry, RunEntry) else entry.bill.total_usd


# Runs come first among entries that started at the same time.
RUN, SESSION = 0, 1
ID_MAX = 2**63 - 2


class LogPosition(NamedTuple):
    """The position of an entry in the log."""

    start_ns: int
    kind: int
    id: int

    @classmethod
    def of(cls, entry: Entry | Row) -> LogPosition:
        if isinstance(entry, RunEntry):
            return cls(ns_of(entry.created_at), RUN, entry.id)
        return cls(entry.start_ns, SESSION, entry.id if isinstance(entry, SessionRow) else entry.row_id)

    @property
    def order(self) -> tuple[int, int, int]:
        return (-self.start_ns, self.kind, -self.id)

    def of_runs(self) -> tuple[datetime, int]:
        """Return the (created at, id) after which runs come; runs have times in milliseconds.

        The position of a session uses the run id 0, which no run has. So runs at the session's time come before it when
        the newest is first, and after it when the oldest is first.
        """
        if self.kind == RUN:
            return (time_of(self.start_ns), self.id)
        return (time_of(self.start_ns + NS_PER_MS - 1), 0)

    def of_sessions(self) -> tuple[int, int]:
        """Return the (start, id) after which sessions come, in both orders."""
        return (self.start_ns, self.id) if self.kind == SESSION else (self.start_ns + 1, 0)


@dataclass(frozen=True, slots=True)
class LogQuery:
    """The entries of a prompt's log that match a filter and come after a position, newest or oldest first.

    If `session_keys` is not None, only these sessions can match.
    """

    project_id: int
    prompt_id: int
    filter: LogFilter
    after: LogPosition | None
    prices: PriceBook = NO_PRICES
    oldest_first: bool = False
    session_keys: Sequence[bytes] | None = None

    def check(self, connection: Connection) -> None:
        """Raise `NotFound` unless the prompt belongs to the project."""
        prompts.require_head(connection, project_id=self.project_id, prompt_id=self.prompt_id)

    @property
    def after_runs(self) -> tuple[datetime, int] | None:
        return self.after.of_runs() if self.after else None

    @property
    def sessions(self) -> SessionRange:
        """The same range for the sessions of the log: times in Unix nanoseconds instead of dates."""
        from_at, to_at = self.filter.from_at, self.filter.to_at
        return SessionRange(
            self.prompt_id,
            self.after.of_sessions() if self.after else None,
            ns_of(from_at) if from_at else None,
            ns_of(to_at) if to_at else None,
            self.oldest_first,
            self.session_keys,
            only_active=self.filter.include != ALL,
        )

    @property
    def _conditions(self) -> Conditions:
        """Return the conditions on sessions that SQL can check; `LogFilter.matches` checks the others."""
        least, most = (None if ms is None else min(ms * NS_PER_MS, LONGEST_NS) for ms in self.filter.duration_ms)
        return Conditions(
            project_id=self.project_id,
            version=self.filter.version,
            model=self.filter.model,
            errors=self.filter.errors,
            score=self.filter.score,
            # One nanosecond wider on both sides, because products of floats are not exact.
            duration_ns=Range(least and least - 1, most and most + 1),
        )

    def rows(self, connection: Connection, limit: int) -> list[Row]:
        """Return the next `limit` runs and sessions that meet the conditions in SQL, in the log's order."""
        rows: list[Row] = [*self._runs(connection, limit)]
        if self.filter.has_sessions:
            rows += session_log.list_sessions(
                connection, self.sessions, limit=limit, search=self.filter.search, conditions=self._conditions
            )
        return sorted(rows, key=lambda row: LogPosition.of(row).order, reverse=self.oldest_first)[:limit]

    def entries(self, connection: Connection, rows: Sequence[Row]) -> list[Entry]:
        """Return rows as entries: runs, and summaries of the sessions that meet all conditions but `words`."""
        summaries = summarise(connection, [row for row in rows if isinstance(row, SessionRow)], self.prices)
        sessions = {session.row_id: session for session in summaries if self.filter.matches(session)}
        entries = (row if isinstance(row, RunEntry) else sessions.get(row.id) for row in rows)
        return [entry for entry in entries if entry]

    def _runs(self, connection: Connection, limit: int) -> list[RunEntry]:
        if not self.filter.has_runs:
            return []
        return page_of_runs(
            connection,
            project_id=self.project_id,
            prompt_id=self.prompt_id,
            filters=self.filter,
            after=self.after_runs,
            limit=limit,
            oldest_first=self.oldest_first,
        )

    def count(self, connection: Connection) -> int:
        """Return the number of entries between the times of the filter, at most `COUNTED_MAX` of each kind."""
        count = 0
        if self.filter.has_runs:
            count += count_runs(connection, prompt_id=self.prompt_id, filters=self.filter, most=COUNTED_MAX)
        if self.filter.has_sessions:
            count += session_log.count_sessions(connection, self.sessions, most=COUNTED_MAX)
        return count

    def window(self, connection: Connection, size: int) -> tuple[LogQuery, LogQuery | None]:
        """Return the query of about the next `size` entries, and the query of the rest, None if fewer are left.

        The two queries meet at a time in whole milliseconds: both runs and sessions can be compared with it.
        """
        starts: list[datetime | None] = []
        if self.filter.has_runs:
            starts.append(
                nth_created_at(
                    connection,
                    prompt_id=self.prompt_id,
                    nth=size,
                    filters=self.filter,
                    after=self.after_runs,
                    oldest_first=self.oldest_first,
                )
            )
        if self.filter.has_sessions:
            start_ns = session_log.nth_start_ns(connection, self.sessions, nth=size)
            starts.append(None if start_ns is None else time_of(start_ns))
        known = [start for start in starts if start]
        if not known:
            return self, None
        if self.oldest_first:
            end = min(known) + timedelta(milliseconds=1)
            within = replace(self.filter, to_at=min(end, self.filter.to_at or end))
            return replace(self, filter=within), replace(self, after=LogPosition(ns_of(end) - 1, SESSION, ID_MAX))
        begin = max([*known, self.filter.from_at or EPOCH])
        within = replace(self.filter, from_at=begin)
        return replace(self, filter=within), replace(self, after=LogPosition(ns_of(begin), SESSION, 0))


def time_of(start_ns: int) -> datetime:
    """Return the time of Unix nanoseconds, in whole milliseconds."""
    return EPOCH + timedelta(milliseconds=start_ns // NS_PER_MS)
