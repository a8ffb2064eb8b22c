"""Makes test cases of proposed sessions, adds them to a suite, and calibrates them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Literal

from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import Invalid, NotFound
from app.models import cases as test_cases
from app.models import prompts, sessions, suites
from app.models.audit_log import SYSTEM, Actor
from app.models.suites import MemberRow
from app.services.replays.calibrations import CalibrationService
from app.services.replays.case_commands import CaseChange
from app.services.replays.cases import TestCaseService
from app.services.replays.judge_choice import JudgeChoice
from app.services.replays.proposals import CaseProposal
from app.services.sessions.service import session_key_of
from app.services.suites.service import NewMember, SuiteService, SuiteView

PICKS_MAX = 20
"""Sessions that are accepted at once."""
TURNS_AND_CALLS_MAX = 2_000
"""Turns and tool calls of the sessions that one request reads: two seconds of a processor. The first may have more."""
REPEATS = 5
"""Replays of a calibration."""
Left = Literal["correct_first", "not_faithful", "no_test_case", "gone", "later"]
"""Why a session was left out."""


@dataclass(frozen=True, slots=True)
class Pick:
    """A session of a proposal, with the reason that the proposal gave."""

    session_id: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A session of which no test case was made, and why, in a word and in a sentence."""

    session_id: str
    why: Left
    message: str


@dataclass(frozen=True, slots=True)
class AcceptedCases:
    """The test cases of sessions, and the sessions of which none was made."""

    members: Sequence[NewMember]
    left_out: Sequence[LeftOut]


@dataclass(frozen=True, slots=True)
class AcceptedSuite:
    """The suite after the acceptance, and the sessions of which no test case was made."""

    view: SuiteView
    left_out: Sequence[LeftOut]


@dataclass(frozen=True, slots=True)
class CalibratedSuite:
    """The suite with its new calibrations, and their replays, of which the caller sends the messages."""

    view: SuiteView
    replay_ids: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteAcceptance:
    database: Database
    suites: SuiteService
    test_cases: TestCaseService
    calibrations: CalibrationService

    def accept(
        self,
        *,
        project_id: int,
        prompt_id: int,
        name: str,
        picks: Sequence[Pick],
        actor: Actor = SYSTEM,
    ) -> AcceptedSuite:
        """Make test cases of sessions and add them to the suite with a name, which is made where there is none.

        Raises `NotFound` for an unknown prompt.
        """
        owner: dict[str, Any] = {"project_id": project_id, "prompt_id": prompt_id}
        accepted = self.accept_cases(**owner, picks=picks, actor=actor)
        view = self.suites.put(**owner, name=name, members=accepted.members, actor=actor)
        return AcceptedSuite(view, accepted.left_out)

    def accept_cases(
        self, *, project_id: int, prompt_id: int, picks: Sequence[Pick], actor: Actor = SYSTEM
    ) -> AcceptedCases:
        """Make test cases of sessions.

        A session that has a test case is not copied again, so that a call that was interrupted can be repeated. Beyond
        `TURNS_AND_CALLS_MAX` sessions are left for a `later` call. Raises `NotFound` for an unknown prompt.
        """
        with self.database.read() as connection:
            prompts.require_head(connection, project_id=project_id, prompt_id=prompt_id)
        members: list[NewMember] = []
        left_out: list[LeftOut] = []
        work = 0
        for pick in {pick.session_id: pick for pick in picks}.values():
            made: int | LeftOut | None
            made, size = self._known(project_id, prompt_id, pick)
            if made is None and work and work + size > TURNS_AND_CALLS_MAX:
                made = LeftOut(pick.session_id, "later", "The sessions before it are long: accept it again.")
            elif made is None:
                work += size
                made = self._case_of(project_id, prompt_id, pick, actor)
            if isinstance(made, LeftOut):
                left_out.append(made)
            else:
                members.append(NewMember(made, pick.reason))
        return AcceptedCases(members, left_out)

    def calibrate(
        self, *, project_id: int, suite_id: int, repeats: int = REPEATS, again: bool = False
    ) -> CalibratedSuite:
        """Start calibrations of up to `PICKS_MAX` test cases without one.

        With `again`, also of those with an ended calibration that does not call them reliable. Raises `Conflict`
        for a prompt without a version.
        """
        which: dict[str, Any] = {"project_id": project_id, "suite_id": suite_id}
        rows = (member.row for member in self.suites.get(**which).members)
        waiting = (row for row in rows if row.calibration_id is None or (again and self._is_doubtful(row)))
        replay_ids: list[int] = []
        for row in islice(waiting, PICKS_MAX):
            replay_ids += self.database.retrying(partial(self._calibrate, member=row, repeats=repeats))
        return CalibratedSuite(self.suites.get(**which), replay_ids)

    def _is_doubtful(self, row: MemberRow) -> bool:
        """Return whether the last calibration has ended without calling the test case reliable, or was removed."""
        try:
            view = self.calibrations.get(project_id=row.project_id, calibration_id=row.calibration_id or 0)
        except NotFound:
            return True
        return view.finished and not view.is_reliable

    def _calibrate(self, connection: Connection, *, member: MemberRow, repeats: int) -> Sequence[int]:
        """Start the calibration of a test case, unless it left the suite or another request started one meanwhile.

        Returns the ids of its replays.
        """
        suites.lock_suites(connection, project_id=member.project_id)
        if not suites.is_unchanged(connection, member):
            return ()
        which = {"project_id": member.project_id, "test_case_id": member.test_case_id}
        return self.calibrations.add(connection, **which, repeats=repeats, choice=JudgeChoice()).replay_ids

    def _known(self, project_id: int, prompt_id: int, pick: Pick) -> tuple[int | None, int]:
        """Return the test case of a session, None without one, and the turns and tool calls to read otherwise."""
        key = session_key_of(pick.session_id)
        with self.database.read() as connection:
            known = test_cases.newest_of_session(connection, prompt_id=prompt_id, session_id=pick.session_id)
            row = sessions.find_session(connection, project_id=project_id, session_key=key) if key else None
        return known, row.turns + row.tool_calls if row else 0

    def _case_of(self, project_id: int, prompt_id: int, pick: Pick, actor: Actor) -> int | LeftOut:
        try:
            proposal = self.test_cases.beginning(project_id=project_id, session_id=pick.session_id)
            if proposal.head.id != prompt_id:
                return LeftOut(pick.session_id, "gone", "The prompt has no such session.")
            if problem := _problem(pick.session_id, proposal):
                return problem
            row = self.test_cases.from_proposal(
                proposal, session_id=pick.session_id, change=CaseChange.of(), actor=actor, once=True
            )
        except NotFound as gone:
            return LeftOut(pick.session_id, "gone", str(gone))
        except Invalid as invalid:
            return LeftOut(pick.session_id, "no_test_case", str(invalid))
        return row.id


def _problem(session_id: str, proposal: CaseProposal) -> LeftOut | None:
    if proposal.doubts:
        first = proposal.doubts[0].message
        message = f"It went wrong, so correct it first: make a test case with corrections. {first}"
        return LeftOut(session_id, "correct_first", message)
    fidelity = proposal.case.fidelity
    missing = fidelity.missing if fidelity else ()
    # A draft without the tools fails its steps, and is no reason to leave the session out.
    if gap := next((gap for gap in missing if gap.kind != "tool_definitions"), None):
        return LeftOut(session_id, "not_faithful", f"A replay can't show what the model saw: {gap.message}")
    return None
