"""Suites of test cases: listed, made, changed, and read by whatever plays them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from app.database.transactions import Database, retried
from app.errors import Conflict, Invalid, NotFound, require
from app.models import audit_log, suites
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.prompts import require_head
from app.models.queries import delete_rows, insert_row, update_rows
from app.models.suites import MemberCase, MemberRow, SuiteRow
from app.timestamps import Now

SUITES_MAX = 50
"""Suites of one prompt."""
MEMBERS_MAX = 200
"""Test cases of one suite."""
NO_SUITE = "There is no such suite."
NAME_USED = "name: A suite of this prompt has this name: choose another one."


@dataclass(frozen=True, slots=True)
class SuiteMember:
    """A test case in a suite, with why it was proposed and the id of its last calibration by the suite."""

    case: MemberCase
    row: MemberRow


@dataclass(frozen=True, slots=True)
class SuiteView:
    """A suite with its test cases in the order in which they were added."""

    row: SuiteRow
    members: Sequence[SuiteMember]


@dataclass(frozen=True, slots=True)
class NewMember:
    """A test case to add, with why it was proposed."""

    test_case_id: int
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteService:
    database: Database
    now: Now

    def list(self, *, project_id: int, prompt_id: int) -> Sequence[SuiteRow]:
        """Return the suites of a prompt, ordered by name."""
        with self.database.read() as connection:
            require_head(connection, project_id=project_id, prompt_id=prompt_id)
            return suites.list_suites(connection, project_id=project_id, prompt_id=prompt_id)

    def get(self, *, project_id: int, suite_id: int) -> SuiteView:
        """Return a suite; `NotFound` if there is none."""
        with self.database.read() as connection:
            return view_of(connection, _suite(connection, project_id, suite_id))

    def case_ids(self, *, project_id: int, prompt_id: int, name: str) -> Sequence[int]:
        """Return the ids of the test cases of a suite, in their order; `Invalid` for no such suite, or an empty one."""
        with self.database.read() as connection:
            return case_ids(connection, project_id=project_id, prompt_id=prompt_id, name=name)

    @retried
    def create(
        self, *, project_id: int, prompt_id: int, name: str, members: Sequence[NewMember] = (), actor: Actor = SYSTEM
    ) -> SuiteView:
        """Make a suite with these test cases.

        Raises `NotFound` for an unknown prompt, `Conflict` for a name in use, and `Invalid` beyond the limits or for a
        test case that is not the prompt's.
        """
        with self.database.write() as connection:
            if _find_locked(connection, project_id, prompt_id, name):
                raise Conflict(NAME_USED)
            row = self._insert(connection, project_id, prompt_id, name, actor)
            self._add(connection, row, members)
            return view_of(connection, row)

    @retried
    def put(
        self, *, project_id: int, prompt_id: int, name: str, members: Sequence[NewMember], actor: Actor = SYSTEM
    ) -> SuiteView:
        """Add test cases to the suite with a name, which is made where there is none; raises like `create`."""
        with self.database.write() as connection:
            row = _find_locked(connection, project_id, prompt_id, name)
            if row is None:
                row = self._insert(connection, project_id, prompt_id, name, actor)
            elif members:
                self._note(connection, row, Action.SUITE_CHANGED, actor, {"added": len(members)})
            self._add(connection, row, members)
            return view_of(connection, row)

    @retried
    def rename(self, *, project_id: int, suite_id: int, name: str, actor: Actor = SYSTEM) -> SuiteView:
        """Rename a suite; `Conflict` for a name in use."""
        with self.database.write() as connection:
            row = _suite(connection, project_id, suite_id)
            known = _find_locked(connection, project_id, row.prompt_id, name)
            if known and known.id != suite_id:
                raise Conflict(NAME_USED)
            if known is None:
                update_rows(connection, suites.suites, {"id": suite_id, "project_id": project_id}, name=name)
                self._note(connection, row, Action.SUITE_CHANGED, actor, {"changed": "name"})
            return view_of(connection, _suite(connection, project_id, suite_id))

    @retried
    def add(self, *, project_id: int, suite_id: int, members: Sequence[NewMember], actor: Actor = SYSTEM) -> SuiteView:
        """Add test cases that the suite does not have; `Invalid` beyond the limit or for an unknown one."""
        with self.database.write() as connection:
            row = self._locked(connection, project_id, suite_id)
            self._add(connection, row, members)
            self._note(connection, row, Action.SUITE_CHANGED, actor, {"added": len(members)})
            return view_of(connection, row)

    @retried
    def remove(self, *, project_id: int, suite_id: int, test_case_id: int, actor: Actor = SYSTEM) -> SuiteView:
        """Remove a test case from a suite; the test case stays. `NotFound` if the suite does not have it."""
        with self.database.write() as connection:
            row = self._locked(connection, project_id, suite_id)
            if not suites.remove_members(
                connection, project_id=project_id, suite_id=suite_id, test_case_ids=[test_case_id]
            ):
                raise NotFound("The suite has no such test case.")
            self._note(connection, row, Action.SUITE_CHANGED, actor, {"removed": 1})
            return view_of(connection, row)

    @retried
    def delete(self, *, project_id: int, suite_id: int, actor: Actor = SYSTEM) -> None:
        """Delete a suite; its test cases stay."""
        with self.database.write() as connection:
            row = self._locked(connection, project_id, suite_id)
            suites.remove_members(connection, project_id=project_id, suite_id=suite_id)
            delete_rows(connection, suites.suites, id=suite_id, project_id=project_id)
            self._note(connection, row, Action.SUITE_DELETED, actor)

    def _insert(self, connection: Connection, project_id: int, prompt_id: int, name: str, actor: Actor) -> SuiteRow:
        if len(suites.list_suites(connection, project_id=project_id, prompt_id=prompt_id)) >= SUITES_MAX:
            raise Invalid(f"name: A prompt has at most {SUITES_MAX} suites; delete one first.")
        owner = {"project_id": project_id, "prompt_id": prompt_id}
        suite_id = insert_row(connection, suites.suites, **owner, name=name, created_at=self.now())
        row = _suite(connection, project_id, suite_id)
        self._note(connection, row, Action.SUITE_CREATED, actor)
        return row

    def _locked(self, connection: Connection, project_id: int, suite_id: int) -> SuiteRow:
        """Return a suite while no other transaction changes the suites of its project."""
        suites.lock_suites(connection, project_id=project_id)
        return _suite(connection, project_id, suite_id)

    def _add(self, connection: Connection, row: SuiteRow, members: Sequence[NewMember]) -> None:
        ids = [member.test_case_id for member in members]
        known = suites.cases_of(connection, project_id=row.project_id, test_case_ids=ids)
        of_prompt = {case.id for case in known if case.prompt_id == row.prompt_id}
        for index, id_ in enumerate(ids):
            if id_ not in of_prompt:
                raise Invalid(f"testCaseIds.{index}: The prompt has no such test case.")
        before = suites.list_members(connection, project_id=row.project_id, suite_id=row.id)
        if len({member.test_case_id for member in before} | of_prompt) > MEMBERS_MAX:
            raise Invalid(f"testCaseIds: A suite has at most {MEMBERS_MAX} test cases.")
        owner = {"project_id": row.project_id, "prompt_id": row.prompt_id, "suite_id": row.id}
        new = {
            member.test_case_id: MemberRow(
                **owner,
                test_case_id=member.test_case_id,
                reason=member.reason,
                calibration_id=None,
                added_at=self.now(),
            )
            for member in members
        }
        suites.add_members(connection, [*new.values()])

    def _note(
        self,
        connection: Connection,
        row: SuiteRow,
        action: Action,
        actor: Actor,
        details: Mapping[str, object] | None = None,
    ) -> None:
        subject = {"promptId": row.prompt_id, **(details or {})}
        audit_log.note(connection, self.now(), actor, action, row.name, subject, project_id=row.project_id)


def case_ids(connection: Connection, *, project_id: int, prompt_id: int, name: str) -> Sequence[int]:
    """Return the ids of the test cases of a suite, in their order; `Invalid` for no such suite, or an empty one."""
    row = suites.find_named(connection, project_id=project_id, prompt_id=prompt_id, name=name)
    if row is None:
        raise Invalid("suite: The prompt has no suite with this name.")
    members = suites.list_members(connection, project_id=project_id, suite_id=row.id)
    if not members:
        raise Invalid("suite: The suite has no test cases.")
    return [member.test_case_id for member in members]


def chosen_cases(
    connection: Connection, *, project_id: int, prompt_id: int, suite: str | None, test_case_ids: Sequence[int] | None
) -> Sequence[int] | None:
    """Return the ids of the test cases of the suite, if one is named, else `test_case_ids`."""
    if suite is None:
        return test_case_ids
    return case_ids(connection, project_id=project_id, prompt_id=prompt_id, name=suite)


def view_of(connection: Connection, row: SuiteRow) -> SuiteView:
    """Return the suite with its test cases; a test case that was deleted meanwhile is left out."""
    rows = suites.list_members(connection, project_id=row.project_id, suite_id=row.id)
    ids = [member.test_case_id for member in rows]
    cases = {case.id: case for case in suites.cases_of(connection, project_id=row.project_id, test_case_ids=ids)}
    members = [SuiteMember(cases[member.test_case_id], member) for member in rows if member.test_case_id in cases]
    return SuiteView(row, members)


def _suite(connection: Connection, project_id: int, suite_id: int) -> SuiteRow:
    return require(suites.find_suite(connection, project_id=project_id, suite_id=suite_id), NO_SUITE)


def _find_locked(connection: Connection, project_id: int, prompt_id: int, name: str) -> SuiteRow | None:
    """Return the suite with a name, None without any; no other transaction changes the project's suites meanwhile."""
    suites.lock_suites(connection, project_id=project_id)
    require_head(connection, project_id=project_id, prompt_id=prompt_id)
    return suites.find_named(connection, project_id=project_id, prompt_id=prompt_id, name=name)
