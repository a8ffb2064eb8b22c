"""Export: all of a prompt's sessions, runs or test cases, newest first, a page at a time however many there are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from app.db import Database
from app.errors import NotFound
from app.models import cases as test_cases
from app.models import runs, sessions
from app.models.cases import TestCaseRow
from app.models.erasures import has_prompt
from app.models.run_log import RunFilter, page_of_runs
from app.models.runs import RunRow
from app.services.traces.logs import ns_of
from app.services.traces.sessions import Session, SessionService

PAGE = 100
# Of what is read whole, a page at a time: a test case may have 4 MiB.
CASES_PAGE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportService:
    """No transaction spans an export: what is stored or removed meanwhile may or may not be in it.

    While a record is looked at, no connection to the database is in use.
    """

    database: Database
    sessions: SessionService

    def check(self, *, project_id: int, prompt_id: int) -> None:
        """`NotFound` for what is no prompt of the project; archived ones can be exported."""
        with self.database.read() as connection:
            if not has_prompt(connection, project_id=project_id, prompt_id=prompt_id):
                raise NotFound("There is no such prompt.")

    def of_sessions(
        self, *, project_id: int, prompt_id: int, since: datetime | None = None, until: datetime | None = None
    ) -> Iterator[Session]:
        """Those that started in [since, until)."""
        before: tuple[int, int] | None = None
        from_ns, to_ns = ns_of(since) if since else None, ns_of(until) if until else None
        while True:
            with self.database.read() as connection:
                rows = sessions.list_sessions(
                    connection, prompt_id=prompt_id, limit=PAGE, before=before, from_ns=from_ns, to_ns=to_ns
                )
            for row in rows:
                try:
                    yield self.sessions.get(project_id=project_id, session_id=row.session_key.hex())
                except NotFound:  # removed meanwhile
                    continue
            if len(rows) < PAGE:
                return
            before = (rows[-1].start_ns, rows[-1].id)

    def of_runs(
        self, *, project_id: int, prompt_id: int, since: datetime | None = None, until: datetime | None = None
    ) -> Iterator[RunRow]:
        """Those that were asked for in [since, until)."""
        before: tuple[datetime, int] | None = None
        wanted = RunFilter(since=since, until=until)
        while True:
            with self.database.read() as connection:
                page = page_of_runs(
                    connection, project_id=project_id, prompt_id=prompt_id, wanted=wanted, before=before, limit=PAGE
                )
            for entry in page:
                with self.database.read() as connection:  # one by one: a run can be as long as a model lets it be
                    row = runs.find_run(connection, project_id=project_id, run_id=entry.id)
                if row is not None:
                    yield row
            if len(page) < PAGE:
                return
            before = (page[-1].created_at, page[-1].id)

    def of_test_cases(self, *, prompt_id: int) -> Iterator[TestCaseRow]:
        before: int | None = None
        while True:
            with self.database.read() as connection:
                rows = test_cases.list_test_cases(connection, prompt_id=prompt_id, before_id=before, limit=CASES_PAGE)
            yield from rows
            if len(rows) < CASES_PAGE:
                return
            before = rows[-1].id
