"""Export of all sessions, runs or test cases of a prompt, newest first, one page at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from typing import TypeVar

from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import NotFound
from app.models import cases, runs, session_log
from app.models.prompts import require_known
from app.models.run_log import RunEntry, RunFilter, page_of_runs
from app.models.runs import RunRow
from app.models.session_log import SessionRange
from app.models.sessions import SessionRow
from app.services.replays.cases import CaseView, TestCaseService
from app.services.sessions.service import Session, SessionService
from app.timestamps import ns_of

Row = TypeVar("Row")
ROWS_PER_PAGE = 100  # runs, sessions or ids of test cases that one statement reads


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportService:
    """Exports data without one transaction: rows that are stored or removed meanwhile may or may not be included.

    No database connection is in use while the caller handles a record.
    """

    database: Database
    sessions: SessionService
    test_cases: TestCaseService

    def check(self, *, project_id: int, prompt_id: int) -> None:
        """Raise `NotFound` unless the project has the prompt, archived or not."""
        with self.database.read() as connection:
            require_known(connection, project_id=project_id, prompt_id=prompt_id)

    def of_sessions(
        self, *, project_id: int, prompt_id: int, since: datetime | None = None, until: datetime | None = None
    ) -> Iterator[Session]:
        """Yield the sessions that started in [since, until)."""
        within = SessionRange(prompt_id, None, ns_of(since) if since else None, ns_of(until) if until else None)

        def read(connection: Connection, last: SessionRow | None) -> list[SessionRow]:
            after = replace(within, after=(last.start_ns, last.id)) if last else within
            return session_log.list_sessions(connection, after, limit=ROWS_PER_PAGE)

        with self.database.read() as connection:
            book = self.sessions.prices.book(connection, project_id=project_id)
        for row in self._all(read, ROWS_PER_PAGE):
            with (
                suppress(NotFound),  # removed meanwhile
                self.sessions.opened(project_id=project_id, session_id=row.session_key.hex(), book=book) as session,
            ):
                yield session

    def of_runs(
        self, *, project_id: int, prompt_id: int, since: datetime | None = None, until: datetime | None = None
    ) -> Iterator[RunRow]:
        """Yield the runs that were requested in [since, until)."""
        within = RunFilter(from_at=since, to_at=until)

        def read(connection: Connection, last: RunEntry | None) -> list[RunEntry]:
            before = (last.created_at, last.id) if last else None
            return page_of_runs(
                connection,
                project_id=project_id,
                prompt_id=prompt_id,
                filters=within,
                after=before,
                limit=ROWS_PER_PAGE,
            )

        for entry in self._all(read, ROWS_PER_PAGE):
            with self.database.read() as connection:  # one by one, because the size of a run is unbounded
                row = runs.find_run(connection, project_id=project_id, run_id=entry.id)
            if row is not None:
                yield row

    def of_test_cases(self, *, project_id: int, prompt_id: int) -> Iterator[CaseView]:
        """Yield the test cases. Each is read when it is reached, and is not in memory after that."""

        def read(connection: Connection, last: int | None) -> list[int]:
            return cases.list_ids(connection, prompt_id=prompt_id, before_id=last, limit=ROWS_PER_PAGE)

        def view(test_case_id: int) -> CaseView | None:
            with self.database.read() as connection:
                row = cases.find_test_case(connection, project_id=project_id, test_case_id=test_case_id)
            return self.test_cases.view(row) if row else None  # removed meanwhile

        return filter(None, map(view, self._all(read, ROWS_PER_PAGE)))

    def _all(self, read: Callable[[Connection, Row | None], Sequence[Row]], limit: int) -> Iterator[Row]:
        """Yield all rows; for `read` see `_pages`."""
        return chain.from_iterable(self._pages(read, limit))

    def _pages(self, read: Callable[[Connection, Row | None], Sequence[Row]], limit: int) -> Iterator[Sequence[Row]]:
        """Yield all pages; `read` returns the `limit` rows after the last one, or the first page for None."""
        last: Row | None = None
        while True:
            with self.database.read() as connection:
                rows = read(connection, last)
            yield rows
            if len(rows) < limit:
                return
            last = rows[-1]
