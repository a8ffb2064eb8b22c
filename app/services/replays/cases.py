"""Makes test cases of sessions or by hand; changes, copies, deletes and imports them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from sqlalchemy import Connection

from app.chat import ToolDefinition
from app.concurrency import computing
from app.database.transactions import Database, retried
from app.errors import Invalid, NotFound
from app.models import agents, prompt_versions, prompts, sessions
from app.models import cases as test_cases
from app.models.audit_log import SYSTEM, Action, Actor
from app.models.calibrations import calibrations
from app.models.case_snapshots import case_snapshots
from app.models.cases import TestCaseRow
from app.models.known_verdicts import known_verdicts
from app.models.prompts import PromptHead
from app.models.queries import delete_rows
from app.models.suites import lock_suites, suite_members
from app.pagination import ListPage, json_size, page_by_size
from app.rendering.render import render
from app.replay import calibration
from app.replay.accepting import StepOutcome, accept_step, accept_steps
from app.replay.case_limits import SPANS_MAX, TURNS_MAX, fitting_turns, require_small_enough
from app.replay.case_types import AssertionType, TestCase
from app.replay.cases import case_by_hand, case_from_turns, load_case, shown_document
from app.replay.changes import CaseChanges, change_case
from app.replay.documents import dump, load
from app.replay.effects import defined_tools, require_usable, tools_of
from app.replay.excerpts import only_turn
from app.replay.session_pieces import is_piece
from app.services.prompts.content import PromptContent, parse_config
from app.services.prompts.reader import PromptReader
from app.services.replays.case_commands import CaseChange, WrittenCase
from app.services.replays.case_store import CaseStore
from app.services.replays.mistake_signs import mistake_signs
from app.services.replays.proposals import CaseProposal, chosen_turns, with_instruction_gaps
from app.services.replays.stored_cases import NAME_MAX, columns, title
from app.services.sessions.instructions import with_selections
from app.services.sessions.service import SessionService, require_session
from app.sessions.types import Turn
from app.timestamps import Now

PIECES_MAX = 20
"""How many of the sessions after a session are searched for one that contains it."""


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

    @property
    def store(self) -> CaseStore:
        return CaseStore(self.database, self.now)

    def proposed(self, *, project_id: int, session_id: str, turns: int | None = None) -> CaseProposal:
        """Return the test case of a session with the default checks.

        A session that is too long for a test case is cut to the first `turns`; raises `Invalid` if these are too many.
        """
        return self._proposed(project_id, session_id, partial(chosen_turns, number=turns))

    def _proposed(
        self, project_id: int, session_id: str, choose: Callable[[Sequence[Turn], int], Sequence[Turn]]
    ) -> CaseProposal:
        key: dict[str, Any] = {"project_id": project_id, "session_id": session_id}
        with self.sessions.beginning(**key, turns_max=TURNS_MAX, spans_max=SPANS_MAX) as (session, count):
            head, draft = self._draft(project_id, session.prompt_id)
            tools = parse_config(draft.config, draft.model).tools
            opening = next((turn.own_words for turn in session.turns if turn.own_words), None)
            chosen = with_selections(choose(session.turns, count), draft)
            assertion, derive = cast(AssertionType, head.assertion_type), self._agent_owns_tools(head, tools)
            case = case_from_turns(chosen, assertion, tools, derive_tools=derive)
            case = with_instruction_gaps(case, chosen, partial(self._rendered, head))
            name = title(opening, f"Session {session_id[:8]}")
            return CaseProposal(head, name, case, tools, count - len(chosen), mistake_signs(session))

    def names(self, *, project_id: int, ids: Collection[int]) -> dict[int, str]:
        """Return the names of the existing test cases, by id."""
        with self.database.read() as connection:
            return test_cases.names_of(connection, project_id=project_id, ids=ids)

    def part_of(self, *, project_id: int, session_id: str) -> str | None:
        """Return the id of a later session that contains all turns of this one, None without any.

        An agent that names no conversation makes a session of each turn, and sends all messages before it again. So the
        last of the next `PIECES_MAX` sessions is the longest.
        """
        key: dict[str, Any] = {"project_id": project_id, "turns_max": 1, "spans_max": SPANS_MAX}
        with self.sessions.beginning(session_id=session_id, **key) as (session, _):
            turns = session.turns
        with self.database.read() as connection:
            row = require_session(connection, project_id=project_id, session_id=session_id)
            later = sessions.list_without_conversation_after(
                connection, row, limit=0 if row.conversation_id else PIECES_MAX
            )
        for row in reversed(later):
            with self.sessions.beginning(session_id=row.session_key.hex(), **key) as (other, _):
                if other.turns and is_piece(turns, other.turns[0]):
                    return other.id
        return None

    def _agent_owns_tools(self, head: PromptHead, defined: Sequence[ToolDefinition]) -> bool:
        """Return whether the prompt was made for an agent that sent traces, and never defined a tool.

        Then test cases get definitions of the tools that are derived from the recorded calls.
        """
        if defined:
            return False
        with self.database.read() as connection:
            of_agent = agents.is_of_agent(connection, project_id=head.project_id, prompt_id=head.id)
            return of_agent and not prompt_versions.ever_defined_tools(connection, prompt_id=head.id)

    def _rendered(self, head: PromptHead, commit_hash: str, placeholders: Mapping[str, str]) -> str | None:
        """Return the instruction that a version renders; None if the prompt has no such version."""
        try:
            with self.database.read() as connection:
                content = self.reader.content_of(connection, head, self.reader.pinned(connection, head, commit_hash))
        except (NotFound, Invalid):
            return None
        return render(content.value, content.instruction_format, content.placeholders, placeholders).instruction

    def beginning(self, *, project_id: int, session_id: str) -> CaseProposal:
        """Return the test case of all turns of a session, or of as many of the first ones as fit into a test case."""
        return self._proposed(project_id, session_id, lambda turns, _: turns[: fitting_turns(turns)])

    def from_session(
        self, *, project_id: int, session_id: str, change: CaseChange, actor: Actor = SYSTEM
    ) -> TestCaseRow:
        """Make a test case of all the session's turns, with the default checks changed by `change`.

        If the session is too long for a test case, it has the turns that `change` includes.
        """
        # Raises `Invalid` for bad changes before the session is read, which costs up to a second.
        included = load(change.changes, CaseChanges).included_turns
        turns = included if included and included > 0 else None
        proposal = self.proposed(project_id=project_id, session_id=session_id, turns=turns)
        return self.from_proposal(proposal, session_id=session_id, change=change, actor=actor)

    def from_proposal(
        self,
        proposal: CaseProposal,
        *,
        session_id: str,
        change: CaseChange,
        actor: Actor = SYSTEM,
        once: bool = False,
    ) -> TestCaseRow:
        """Make a test case of what a session proposes, with the default checks changed as `change` has it.

        `once`: returns the newest test case of the session if the prompt has one.
        """
        case = change_case(proposal.case, change.changes)
        require_usable(tools_of(case, proposal.tools))
        name = change.name or proposal.name
        return self.store.add(proposal.head, name, case, session_id, actor, change.details, once=once)

    def by_hand(self, *, project_id: int, prompt_id: int, written: WrittenCase, actor: Actor = SYSTEM) -> TestCaseRow:
        """Store a test case that a person wrote. Its default name is the beginning of the question."""
        head = self._head(project_id, prompt_id)
        assertion = cast(AssertionType, head.assertion_type)
        case = case_by_hand(
            written.question, written.expected_answer, assertion, written.placeholders, written.later_turns
        )
        return self.store.add(head, written.name or title(written.question, "Test case"), case, None, actor)

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
        """Return the test case; a large one is read when the thread's request has its place to compute."""
        with self.database.read() as connection:
            sizes = test_cases.sizes_of(connection, project_id=project_id, test_case_ids=[test_case_id])
        computing.await_place(sizes.get(test_case_id, 0))
        return self.store.get(project_id, test_case_id)

    def view(self, row: TestCaseRow) -> CaseView:
        """Return the test case as people see it, with the effects that its prompt's draft gives to tools."""
        (view,) = self.views([row])
        return view

    def views(self, rows: Sequence[TestCaseRow]) -> Iterator[CaseView]:
        """Yield the test cases, all of one prompt, as people see them. Each is read when it is reached."""
        tools = self._tools(rows[0]) if rows else ()
        resolved = defined_tools(tools)
        return (
            CaseView(row, shown_document(load_case(row.document), tools, row.proposed_effects, resolved))
            for row in rows
        )

    def defined_tools(self, *, project_id: int, prompt_id: int) -> Sequence[ToolDefinition]:
        """Return the tools of the prompt's draft."""
        draft = self._draft(project_id, prompt_id)[1]
        return parse_config(draft.config, draft.model).tools

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

        return self.store.change(project_id, test_case_id, change.name, changed, actor, change.details)

    def accept(self, *, project_id: int, test_case_id: int, outcome: StepOutcome, actor: Actor = SYSTEM) -> TestCaseRow:
        """Expect the outcome of a replay from now on, like `app.replay.accepting.accept_step`."""
        return self.store.change(project_id, test_case_id, None, lambda case: accept_step(case, outcome), actor)

    def accept_all(self, *, project_id: int, test_case_id: int, outcomes: Sequence[StepOutcome], actor: Actor) -> int:
        """Expect the outcomes of a replay for these steps from now on, all in one change.

        Returns the number of changed steps. Steps that can no longer be accepted are not changed.
        """
        accepted = 0

        def accept(case: TestCase) -> TestCase:
            nonlocal accepted
            changed, accepted = accept_steps(case, outcomes)
            return changed

        self.store.change(project_id, test_case_id, None, accept, actor)
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
        return self.store.change(project_id, test_case_id, None, accept, actor)

    @retried
    def delete(self, *, project_id: int, test_case_id: int, actor: Actor = SYSTEM) -> None:
        """Delete a test case, also from its suites; the results of its replays stay."""
        with self.database.write() as connection:
            # A suite that is getting the test case has it before the deletion, or does not get it.
            lock_suites(connection, project_id=project_id)
            if not test_cases.delete_test_case(connection, project_id=project_id, test_case_id=test_case_id):
                raise NotFound("There is no such test case.")
            for table in (calibrations, case_snapshots, known_verdicts):
                delete_rows(connection, table, test_case_id=test_case_id)
            delete_rows(connection, suite_members, project_id=project_id, test_case_id=test_case_id)
            self.store.note(connection, project_id, actor, Action.TEST_CASE_DELETED, test_case_id)

    def copy(
        self, *, project_id: int, test_case_id: int, name: str | None, turn: int | None = None, actor: Actor = SYSTEM
    ) -> TestCaseRow:
        """Copy a test case, or only its turn at the index `turn`, like `app.replay.excerpts.only_turn`."""
        row = self.get(project_id=project_id, test_case_id=test_case_id)
        head = self._head(project_id, row.prompt_id)
        case = load_case(row.document)
        copied = case if turn is None else only_turn(case, turn)
        require_small_enough(copied)
        default = f"Copy of {row.name}" if turn is None else f"Turn {turn + 1} of {row.name}"
        return self.store.add(head, name or default[:NAME_MAX], copied, row.session_id, actor)

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
                return Imported(self.store.insert(connection, owner | values, actor), created=True)
            if known.document == values["document"]:
                return Imported(known, created=False)
            changed = self.store.update(connection, known, values, actor)
            assert changed is not None  # noqa: S101 - its row is locked
            return Imported(changed, created=False)

        return self.database.retrying(work)

    def _head(self, project_id: int, prompt_id: int) -> PromptHead:
        with self.database.read() as connection:
            return self.reader.head(connection, project_id=project_id, prompt_id=prompt_id)

    def _draft(self, project_id: int, prompt_id: int) -> tuple[PromptHead, PromptContent]:
        with self.database.read() as connection:
            return self.reader.read_draft(connection, project_id=project_id, prompt_id=prompt_id)

    def _tools(self, row: TestCaseRow) -> Sequence[ToolDefinition]:
        """Return the tools of the prompt's draft; none if the prompt is archived."""
        try:
            return self.defined_tools(project_id=row.project_id, prompt_id=row.prompt_id)
        except NotFound:
            return ()
