"""Writes test cases, each change with its entry in the audit log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection

from app.database.transactions import Database, retried
from app.errors import require
from app.models import audit_log
from app.models import cases as test_cases
from app.models.audit_log import Action, Actor
from app.models.cases import TestCaseRow
from app.models.prompts import PromptHead
from app.models.suites import lock_suites
from app.replay.case_types import TestCase
from app.replay.cases import load_case
from app.services.replays.stored_cases import columns
from app.timestamps import Now

Details = Mapping[str, Any] | None
"""What an entry in the audit log has besides the test case's id. It contains no text of a recording."""


@dataclass(frozen=True, slots=True)
class CaseStore:
    database: Database
    now: Now

    def get(self, project_id: int, test_case_id: int) -> TestCaseRow:
        with self.database.read() as connection:
            return require_case(connection, project_id, test_case_id)

    @retried
    def add(
        self,
        head: PromptHead,
        name: str,
        case: TestCase,
        session_id: str | None,
        actor: Actor,
        details: Details = None,
        *,
        once: bool = False,
    ) -> TestCaseRow:
        """Store a test case; `once`: only if the prompt has none of the session, else return the newest of these."""
        owner = {"project_id": head.project_id, "prompt_id": head.id}
        values = owner | columns(case) | {"name": name, "session_id": session_id}
        with self.database.write() as connection:
            if once and (known := _of_session(connection, head, session_id)):
                return known
            return self.insert(connection, values, actor, details)

    def insert(
        self, connection: Connection, values: dict[str, Any], actor: Actor, details: Details = None
    ) -> TestCaseRow:
        row = test_cases.add_test_case(connection, values=values, now=self.now())
        self.note(connection, row.project_id, actor, Action.TEST_CASE_CREATED, row.id, details)
        return row

    def change(
        self,
        project_id: int,
        test_case_id: int,
        name: str | None,
        change: Callable[[TestCase], TestCase],
        actor: Actor,
        details: Details = None,
    ) -> TestCaseRow:
        """Change a test case. Only the UPDATE is in the transaction, so that others wait little for it."""
        while True:
            before = self.get(project_id, test_case_id)
            case = load_case(before.document)
            if (changed := change(case)) is case:
                return before
            values = columns(changed) | ({} if name is None else {"name": name})
            update = partial(self.update, before=before, values=values, actor=actor, details=details)
            if (row := self.database.retrying(update)) is not None:
                return row

    def update(
        self,
        connection: Connection,
        before: TestCaseRow,
        values: dict[str, Any],
        actor: Actor,
        details: Details = None,
    ) -> TestCaseRow | None:
        """Return the changed test case; None if its document has changed since `before` was read."""
        row = test_cases.change_test_case(connection, before=before, values=values, now=self.now())
        if row is not None:
            self.note(connection, row.project_id, actor, Action.TEST_CASE_CHANGED, row.id, details)
        return row

    def note(
        self,
        connection: Connection,
        project_id: int,
        actor: Actor,
        action: Action,
        test_case_id: int,
        details: Details = None,
    ) -> None:
        """Write an entry to the audit log with the test case's id.

        The name could be a user's question, and audit entries are kept when data is erased.
        """
        audit_log.note(connection, self.now(), actor, action, str(test_case_id), details, project_id=project_id)


def _of_session(connection: Connection, head: PromptHead, session_id: str | None) -> TestCaseRow | None:
    """Return the newest test case of a session; no other transaction that asks this makes one before the commit."""
    lock_suites(connection, project_id=head.project_id)
    newest = session_id and test_cases.newest_of_session(connection, prompt_id=head.id, session_id=session_id)
    return require_case(connection, head.project_id, newest) if newest else None


def require_case(connection: Connection, project_id: int, test_case_id: int) -> TestCaseRow:
    """Return a test case of the project, or raise `NotFound`."""
    row = test_cases.find_test_case(connection, project_id=project_id, test_case_id=test_case_id)
    return require(row, "There is no such test case.")
