"""Makes test cases of sessions or by hand; changes, copies, deletes and imports them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from sqlalchemy import Connection

from app.chat import ToolDefinition
from app.database.transactions import Database, retried
from app.errors import NotFound, require
from app.models import audit_log, prompts
from app.models import cases as test_cases
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.calibrations import calibrations
from app.models.case_snapshots import case_snapshots
from app.models.cases import TestCaseRow
from app.models.prompts import PromptHead
from app.models.queries import delete_rows
from app.pagination import ListPage, json_size, page_by_size
from app.replay import calibration
from app.replay.accepting import StepOutcome, accept_step, accept_steps
from app.replay.case_limits import SPANS_MAX, TURNS_MAX, fitting_turns, require_small_enough
from app.replay.cases import case_by_hand, case_from_turns, load_case, shown_document
from app.replay.changes import change_case
from app.replay.documents import dump
from app.replay.effects import require_usable, tools_of
from app.replay.types import AssertionType, TestCase
from app.services.prompts.content import parse_config
from app.services.prompts.reader import PromptReader
from app.services.replays.case_commands import CaseChange, WrittenCase
from app.services.replays.proposals import CaseProposal, chosen_turns
from app.services.replays.stored_cases import NAME_MAX, columns, title
from app.services.sessions.service import SessionService
from app.sessions.types import Turn
from app.timestamps import Now


@dataclass(frozen=True, slots=True)
class CaseView:
    """A test case as people see it: `document` has the rules of every tool, including defaults and effects."""

    row: TestCaseRow
    document: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Imported:
    """An imported test case; `created` is False if it replaced a test case with its name."""

    row: TestCaseRow
    created: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCaseService:
    database: Database
    now: Now
    sessions: SessionService
    reader: PromptReader

    def proposed(self, *, project_id: int, session_id: str, turns: int | None = None) -> CaseProposal:
        """Return the test case of a session with the default checks.

        A session that is too long for a test case is cut to the first `turns`; raises `Invalid` if these are too many.
        """
        return self._proposed(project_id, session_id, partial(chosen_turns, number=turns))

    def _proposed(
        self, project_id: int, session_id: str, choose: Callable[[Sequence[Turn], int], Sequence[Turn]]
    ) -> CaseProposal:
        session, count = self.sessions.beginning(
            project_id=project_id, session_id=session_id, turns_max=TURNS_MAX, spans_max=SPANS_MAX
        )
        head, tools = self._draft(project_id, session.prompt_id)
        opening = next((turn.user for turn in session.turns if turn.user), None)
        chosen = choose(session.turns, count)
        case = case_from_turns(chosen, cast(AssertionType, head.assertion_type), tools)
        name = title(opening, f"Session {session_id[:8]}")
        return CaseProposal(head, name, case, tools, count - len(chosen))

    def beginning(self, *, project_id: int, session_id: str) -> CaseProposal:
        """Return the test case of all turns of a session, or of as many of the first ones as fit into a test case."""
        return self._proposed(project_id, session_id, lambda turns, _: turns[: fitting_turns(turns)])

    def from_session(
        self, *, project_id: int, session_id: str, change: CaseChange, actor: Actor = SYSTEM
    ) -> TestCaseRow:
        """Make a test case of all the session's turns, with the default checks changed by `change`.

        If the session is too long for a test case, it has the turns that `change` includes.
        """
        included = change.changes.get("includedTurns")
        turns = included if isinstance(included, int) and included > 0 else None
        proposal = self.proposed(project_id=project_id, session_id=session_id, turns=turns)
        return self.from_proposal(proposal, session_id=session_id, change=change, actor=actor)

    def from_proposal(
        self, proposal: CaseProposal, *, session_id: str, change: CaseChange, actor: Actor = SYSTEM
    ) -> TestCaseRow:
        """Make a test case of what a session proposes, with the default checks changed as `change` has it."""
        case = change_case(proposal.case, change.changes)
        require_usable(tools_of(case, proposal.tools))
        return self._add(proposal.head, change.name or proposal.name, case, session_id, actor)

    def by_hand(self, *, project_id: int, prompt_id: int, written: WrittenCase, actor: Actor = SYSTEM) -> TestCaseRow:
        head = self._head(project_id, prompt_id)
        assertion = cast(AssertionType, head.assertion_type)
        case = case_by_hand(written.question, written.expected_answer, assertion, written.placeholders)
        return self._add(head, written.name or title(written.question, "Test case"), case, None, actor)

    def list(
        self,
        *,
        project_id: int,
        prompt_id: int,
        limit: int = 50,
        cursor: str | None = None,
        search: str | None = None,
        order: str = "-created",
    ) -> ListPage[TestCaseRow]:
        """List the prompt's test cases, the newest first unless `order` is another one of `list_test_cases`.

        A page ends early if the documents are large.
        """
        with self.database.read() as connection:
            self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)
            read = partial(test_cases.list_test_cases, connection, prompt_id=prompt_id, search=search, order=order)
            return page_by_size(read, size=lambda row: json_size(row.document), limit=limit, cursor=cursor)

    def get(self, *, project_id: int, test_case_id: int) -> TestCaseRow:
        with self.database.read() as connection:
            return find(connection, project_id, test_case_id)

    def view(self, row: TestCaseRow) -> CaseView:
        """Return the test case as people see it, with the effects that its prompt's draft gives to tools."""
        (view,) = self.views([row])
        return view

    def views(self, rows: Sequence[TestCaseRow]) -> Sequence[CaseView]:
        """Return the test cases, all of one prompt, as people see them."""
        tools = self._tools(rows[0]) if rows else ()
        return [CaseView(row, shown_document(load_case(row.document), tools)) for row in rows]

    def defined_tools(self, *, project_id: int, prompt_id: int) -> Sequence[ToolDefinition]:
        """Return the tools of the prompt's draft."""
        return self._draft(project_id, prompt_id)[1]

    def exported(self, *, project_id: int, test_case_id: int) -> CaseView:
        """Return the test case for a file: with the rules that it sets, and no others."""
        row = self.get(project_id=project_id, test_case_id=test_case_id)
        return CaseView(row, dump(load_case(row.document)))

    def case(self, *, project_id: int, test_case_id: int) -> TestCase:
        """Return the test case that a replay plays and checks."""
        return load_case(self.get(project_id=project_id, test_case_id=test_case_id).document)

    def change(self, *, project_id: int, test_case_id: int, change: CaseChange, actor: Actor = SYSTEM) -> TestCaseRow:
        """Replace the named fields; two concurrent changes are applied one after the other."""
        row = self.get(project_id=project_id, test_case_id=test_case_id)
        tools = self._tools(row)

        def changed(case: TestCase) -> TestCase:
            case = change_case(case, change.changes)
            if change.changes.get("tools"):
                require_usable(tools_of(case, tools))
            return case

        return self._changed(project_id, test_case_id, change.name, changed, actor)

    def accept(self, *, project_id: int, test_case_id: int, outcome: StepOutcome, actor: Actor = SYSTEM) -> TestCaseRow:
        """Expect the outcome of a replay from now on, like `app.replay.accepting.accept_step`."""
        return self._changed(project_id, test_case_id, None, lambda case: accept_step(case, outcome), actor)

    def accept_all(self, *, project_id: int, test_case_id: int, outcomes: Sequence[StepOutcome], actor: Actor) -> int:
        """Expect the outcomes of a replay for these steps from now on, all in one change.

        Returns the number of changed steps. Steps that can no longer be accepted are not changed.
        """
        accepted = 0

        def accept(case: TestCase) -> TestCase:
            nonlocal accepted
            changed, accepted = accept_steps(case, outcomes)
            return changed

        self._changed(project_id, test_case_id, None, accept, actor)
        return accepted

    def accept_proposals(
        self,
        *,
        project_id: int,
        test_case_id: int,
        calibrated: TestCase,
        proposals: Sequence[calibration.Proposal],
        actor: Actor = SYSTEM,
    ) -> TestCaseRow:
        """Apply a calibration's proposals; raises `Conflict` for a step that was changed after `calibrated`."""
        accept = partial(calibration.accept_proposals, calibrated=calibrated, proposals=proposals)
        return self._changed(project_id, test_case_id, None, accept, actor)

    @retried
    def delete(self, *, project_id: int, test_case_id: int, actor: Actor = SYSTEM) -> None:
        """Delete a test case with its calibrations and snapshots; the results of its replays stay."""
        with self.database.write() as connection:
            if not test_cases.delete_test_case(connection, project_id=project_id, test_case_id=test_case_id):
                raise NotFound("There is no such test case.")
            for table in (calibrations, case_snapshots):
                delete_rows(connection, table, test_case_id=test_case_id)
            self._note(connection, project_id, actor, Action.TEST_CASE_DELETED, test_case_id)

    def copy(self, *, project_id: int, test_case_id: int, name: str | None, actor: Actor = SYSTEM) -> TestCaseRow:
        row = self.get(project_id=project_id, test_case_id=test_case_id)
        head = self._head(project_id, row.prompt_id)
        case = load_case(row.document)
        require_small_enough(case)
        return self._add(head, name or f"Copy of {row.name}"[:NAME_MAX], case, row.session_id, actor)

    def import_case(
        self, *, project_id: int, prompt_id: int, name: str, document: object, actor: Actor = SYSTEM
    ) -> Imported:
        """Import an exported test case; it replaces the newest test case with the same name."""
        case = load_case(document, "testCase")
        require_small_enough(case, "testCase")
        values = columns(case) | {"name": name}

        def work(connection: Connection) -> Imported:
            # The lock serialises two imports of the same name.
            prompts.require_prompt(connection, project_id=project_id, prompt_id=prompt_id, lock=True)
            known = test_cases.find_named(connection, prompt_id=prompt_id, name=name)
            if known is None:
                owner = {"project_id": project_id, "prompt_id": prompt_id}
                return Imported(self._insert(connection, owner | values, actor), created=True)
            if known.document == values["document"]:
                return Imported(known, created=False)
            changed = self._update(connection, known, values, actor)
            assert changed is not None  # noqa: S101 - its row is locked
            return Imported(changed, created=False)

        return self.database.retrying(work)

    def _changed(
        self, project_id: int, test_case_id: int, name: str | None, change: Callable[[TestCase], TestCase], actor: Actor
    ) -> TestCaseRow:
        """Change a test case. Only the UPDATE is in the transaction, so that others wait little for it."""
        while True:
            before = self.get(project_id=project_id, test_case_id=test_case_id)
            case = load_case(before.document)
            if (changed := change(case)) is case:
                return before
            values = columns(changed) | ({} if name is None else {"name": name})
            update = partial(self._update, before=before, values=values, actor=actor)
            if (row := self.database.retrying(update)) is not None:
                return row

    def _head(self, project_id: int, prompt_id: int) -> PromptHead:
        with self.database.read() as connection:
            return self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)

    def _draft(self, project_id: int, prompt_id: int) -> tuple[PromptHead, Sequence[ToolDefinition]]:
        with self.database.read() as connection:
            head, draft = self.reader.read_draft(connection, project_id=project_id, prompt_id=prompt_id)
            return head, parse_config(draft.config, draft.model).tools

    def _tools(self, row: TestCaseRow) -> Sequence[ToolDefinition]:
        """Return the tools of the prompt's draft; none if the prompt is archived."""
        try:
            return self._draft(row.project_id, row.prompt_id)[1]
        except NotFound:
            return ()

    def _note(self, connection: Connection, project_id: int, actor: Actor, action: Action, test_case_id: int) -> None:
        """Write an entry to the audit log with the test case's id.

        The name could be a user's question, and audit entries are kept when data is erased.
        """
        audit_log.note(connection, self.now(), actor, action, str(test_case_id), project_id=project_id)

    @retried
    def _add(self, head: PromptHead, name: str, case: TestCase, session_id: str | None, actor: Actor) -> TestCaseRow:
        owner = {"project_id": head.project_id, "prompt_id": head.id}
        values = owner | columns(case) | {"name": name, "session_id": session_id}
        with self.database.write() as connection:
            return self._insert(connection, values, actor)

    def _insert(self, connection: Connection, values: dict[str, Any], actor: Actor) -> TestCaseRow:
        row = test_cases.add_test_case(connection, values=values, now=self.now())
        self._note(connection, row.project_id, actor, Action.TEST_CASE_CREATED, row.id)
        return row

    def _update(
        self, connection: Connection, before: TestCaseRow, values: dict[str, Any], actor: Actor
    ) -> TestCaseRow | None:
        """Return the changed test case; None if its document has changed since `before` was read."""
        row = test_cases.change_test_case(connection, before=before, values=values, now=self.now())
        if row is not None:
            self._note(connection, row.project_id, actor, Action.TEST_CASE_CHANGED, row.id)
        return row


def find(connection: Connection, project_id: int, test_case_id: int) -> TestCaseRow:
    row = test_cases.find_test_case(connection, project_id=project_id, test_case_id=test_case_id)
    return require(row, "There is no such test case.")
