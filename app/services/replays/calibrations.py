"""Calibrations: replays of the newest version that show how reliable a test case is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from threading import Lock
from typing import Literal

import msgspec
from msgspec.structs import replace
from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import Conflict, Invalid, NotFound, require
from app.models import calibrations, replays, suites
from app.models.audit_log import SYSTEM, Actor
from app.models.calibrations import CalibrationRow
from app.models.cases import TestCaseRow
from app.models.queries import insert_row
from app.models.replays import ReplayRow
from app.replay.calibration import Calibration, calibrate, rates
from app.replay.case_types import Judging
from app.replay.cases import load_case
from app.replay.documents import dump, load
from app.replay.result_types import ReplayResult
from app.services.replays.candidates import CandidateReader
from app.services.replays.case_store import require_case
from app.services.replays.cases import TestCaseService
from app.services.replays.frozen import freeze_cases
from app.services.replays.judge_choice import JudgeChoice
from app.services.replays.preparation import Preparation
from app.services.replays.service import ReplayService
from app.timestamps import Now

Status = Literal["queued", "running", "finished", "error", "cancelled"]
REPEATS = (2, 20)
RESULT_BYTES_MAX = 16 * 1024 * 1024
"""Bytes of JSON of the results that are compared together."""
ATTEMPTS_MAX = 2
INTERRUPTED = f"The results were not compared: {ATTEMPTS_MAX} attempts ended with their worker."
LEFT_BEHIND_AFTER = timedelta(seconds=60)
"""The time after the last replay by which a worker has compared the results, unless it died."""
# The statuses of ended replays with a result.
_PLAYED = ("passed", "failed", "needs_review")


@dataclass(frozen=True, slots=True)
class CalibrationView:
    """A calibration with its replays by id; `outcome` has no proposals until it is concluded."""

    row: CalibrationRow
    replays: Sequence[ReplayRow]
    outcome: Calibration

    @property
    def status(self) -> Status:
        """The status by the replays: "running" also while a worker compares them, "error" only if none was played."""
        statuses = {replay.status for replay in self.replays}
        if statuses & set(replays.UNFINISHED):
            return "queued" if statuses == {"queued"} else "running"
        if self.row.outcome is not None:
            return "finished"
        if statuses & set(_PLAYED):
            return "running"  # a worker compares the results of the replays
        return "cancelled" if "cancelled" in statuses else "error"

    @property
    def finished(self) -> bool:
        return self.status not in replays.UNFINISHED

    @property
    def is_reliable(self) -> bool:
        """Whether the results call the test case reliable: its checks pass as they are."""
        return self.status == "finished" and self.outcome.usable and not self.outcome.proposals

    @property
    def to_conclude(self) -> bool:
        """Whether all replays have ended and their results have not been compared yet."""
        ended = all(replay.finished for replay in self.replays)
        return self.row.outcome is None and ended and any(replay.status in _PLAYED for replay in self.replays)

    @property
    def played(self) -> int:
        """The number of replays that have ended."""
        return sum(replay.finished for replay in self.replays)

    @property
    def error(self) -> str | None:
        return next((replay.error for replay in self.replays if replay.error), None)


@dataclass(frozen=True, slots=True)
class StartedCalibration:
    """The ids of a calibration and of its replays, of which messages are sent after the commit."""

    id: int
    replay_ids: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationService:
    database: Database
    now: Now
    candidates: CandidateReader
    preparation: Preparation
    replays: ReplayService
    test_cases: TestCaseService
    # One at a time in a process, for the results need much memory.
    _comparing: Lock = field(default_factory=Lock, init=False)

    def start(
        self,
        *,
        project_id: int,
        test_case_id: int,
        repeats: int,
        judge_model: str | None = None,
        judging: Judging = "auto",
    ) -> CalibrationView:
        """Start `repeats` replays of the newest version; the caller sends their messages afterwards.

        Raises `Conflict` for a prompt without a version.
        """
        choice = JudgeChoice(judge_model, judging)
        add = partial(self.add, project_id=project_id, test_case_id=test_case_id, repeats=repeats, choice=choice)
        started = self.database.retrying(add)
        return self.get(project_id=project_id, calibration_id=started.id)

    def add(
        self, connection: Connection, *, project_id: int, test_case_id: int, repeats: int, choice: JudgeChoice
    ) -> StartedCalibration:
        """Store a calibration with its replays in the caller's transaction; raises as `start`."""
        case = require_case(connection, project_id, test_case_id)
        of = {"project_id": project_id, "prompt_id": case.prompt_id}
        newest = self.candidates.newest(connection, **of)
        if newest is None:
            raise Conflict("The prompt has no version to calibrate with: commit its draft first.")
        played = self.candidates.read(connection, **of, candidate=newest, field="")
        calibration_id = insert_row(
            connection,
            calibrations.calibrations,
            repeats=repeats,
            document=case.document,
            created_at=self.now(),
            **of,
            test_case_id=test_case_id,
        )
        recording = freeze_cases(connection, played.head, [test_case_id], now=self.now())[:1]
        replay_ids = self.replays.add(connection, played, recording * repeats, choice, calibration_id)
        suites.note_calibration(
            connection, project_id=project_id, test_case_id=test_case_id, calibration_id=calibration_id
        )
        return StartedCalibration(calibration_id, replay_ids)

    def get(self, *, project_id: int, calibration_id: int) -> CalibrationView:
        """Return a calibration."""
        with self.database.read() as connection:
            stored = calibrations.find_calibration(connection, project_id=project_id, calibration_id=calibration_id)
            row = require(stored, "There is no such calibration.")
            played = replays.replays_of_calibration(connection, calibration=row)
        outcome = load(row.outcome, Calibration) if row.outcome is not None else _unknown(row)
        return CalibrationView(row, played, outcome)

    def cancel(self, *, project_id: int, calibration_id: int) -> CalibrationView:
        """Cancel the replays that have not ended, and compare the results of the others. `Conflict` without any."""
        view = self.get(project_id=project_id, calibration_id=calibration_id)
        unfinished = [replay.id for replay in view.replays if not replay.finished]
        if not unfinished:
            raise Conflict(f"The calibration has ended: {view.status}.")
        for replay_id in unfinished:
            with suppress(Conflict):  # it has ended meanwhile
                self.replays.cancel(project_id=project_id, replay_id=replay_id)
        return self.get(project_id=project_id, calibration_id=calibration_id)

    def left_behind(self, view: CalibrationView) -> list[int]:
        """Return the replay to send again, so that a worker concludes the calibration; [] while one may be doing so."""
        if not view.to_conclude:
            return []
        last = max(view.replays, key=lambda row: row.finished_at or row.created_at)
        return [last.id] if (last.finished_at or last.created_at) < self.now() - LEFT_BEHIND_AFTER else []

    def replay_ended(self, replay_id: int) -> None:
        """Store the outcome if this replay was the calibration's last; called by its worker.

        Comparing long replays needs seconds of processor time.
        """
        if self._to_conclude(replay_id):
            with self._comparing:
                # Another thread may have compared them meanwhile.
                if view := self._to_conclude(replay_id):
                    self._conclude(view)

    def _to_conclude(self, replay_id: int) -> CalibrationView | None:
        with self.database.read() as connection:
            view = _of_replay(connection, replay_id)
        return view if view and view.to_conclude else None

    def _conclude(self, view: CalibrationView) -> None:
        """Compare the results, and store the outcome, unless this has ended several processes before."""
        count = partial(calibrations.count_attempt, calibration_id=view.row.id)
        self.database.retrying(partial(count, by=1))
        ended = False
        try:
            failed = view.row.attempts >= ATTEMPTS_MAX
            outcome = replace(view.outcome, problems=(INTERRUPTED,)) if failed else self._outcome(view)
            put = partial(calibrations.put_outcome, calibration_id=view.row.id, outcome=dump(outcome))
            self.database.retrying(put)
            ended = True
        finally:
            # After an error of the database the process lives, and may try again.
            if not ended:
                self.database.retrying(partial(count, by=-1))

    def accept(
        self, *, project_id: int, calibration_id: int, proposals: Sequence[int] | None = None, actor: Actor = SYSTEM
    ) -> TestCaseRow:
        """Apply the proposals with these indexes to the test case, by default all of them.

        Raises `Invalid` for an unknown index. Raises `Conflict` if the calibration has not ended, or if the test case
        has changed since.
        """
        view = self.get(project_id=project_id, calibration_id=calibration_id)
        if not view.finished:
            raise Conflict(f"The calibration has not ended: {view.status}.")
        made = view.outcome.proposals
        chosen = list(range(len(made))) if proposals is None else list(dict.fromkeys(proposals))
        for n, index in enumerate(chosen):
            if not 0 <= index < len(made):
                raise Invalid(f"proposals.{n}: there are {len(made)}, counted from 0")
        if not chosen:
            return self.test_cases.get(project_id=project_id, test_case_id=view.row.test_case_id)
        return self.test_cases.accept_proposals(
            project_id=project_id,
            test_case_id=view.row.test_case_id,
            calibrated=load_case(view.row.document),
            proposals=[made[index] for index in chosen],
            actor=actor,
        )

    def _outcome(self, view: CalibrationView) -> Calibration:
        ended = [replay for replay in view.replays if replay.status in _PLAYED]
        with self.database.read() as connection:
            results = [*_results(connection, ended)]
            try:
                prepared = self.preparation.prepare(connection, ended[0])
            except (NotFound, Invalid) as gone:
                return Calibration(rates(load_case(view.row.document), results), problems=(str(gone),))
        outcome = calibrate(prepared.case, prepared.draft, results)
        if len(results) == len(ended):
            return outcome
        problem = f"Only {len(results)} of {len(ended)} results were compared, because they are too long together."
        return replace(outcome, usable=False, problems=(problem, *outcome.problems))


def _results(connection: Connection, ended: Sequence[ReplayRow]) -> Iterator[ReplayResult]:
    """Yield the first results that have at most `RESULT_BYTES_MAX` together, at least one."""
    size = 0
    for replay in ended:
        stored = replays.result_of(connection, replay_id=replay.id)
        size += len(msgspec.json.encode(stored))
        if size > RESULT_BYTES_MAX and replay is not ended[0]:
            return
        yield load(stored, ReplayResult)


def _unknown(row: CalibrationRow) -> Calibration:
    return Calibration(rates(load_case(row.document), ()))


def _of_replay(connection: Connection, replay_id: int) -> CalibrationView | None:
    for replay in replays.get_replays(connection, ids=[replay_id]):
        if replay.calibration_id is not None:
            of = {"project_id": replay.project_id, "calibration_id": replay.calibration_id}
            row = calibrations.find_calibration(connection, **of)
            if row and row.created_at <= replay.created_at:
                return CalibrationView(row, replays.replays_of_calibration(connection, calibration=row), _unknown(row))
    return None
