"""Accepts what the failed replays of one batch did, in one go."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from app.errors import Invalid, NotFound
from app.models.audit_log import Actor
from app.replay.accepting import StepOutcome, acceptable_steps
from app.services.replays.cases import TestCaseService
from app.services.replays.history import BatchEntry, ReplayHistory
from app.services.replays.service import ReplayService

# The steps that one request accepts; those of one test case are one transaction.
STEPS_MAX = 100


@dataclass(frozen=True, slots=True)
class AcceptableStep:
    """A failed step whose outcome the test case can expect from now on; `verdict` is its JSON."""

    replay_id: int
    test_case_id: int
    test_case_name: str
    turn: int
    step: int
    verdict: dict[str, Any]

    @property
    def key(self) -> str:
        return f"{self.replay_id}.{self.turn}.{self.step}"

    @property
    def outcome(self) -> StepOutcome:
        return StepOutcome(self.turn, self.step, self.verdict["actual"])


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptanceService:
    history: ReplayHistory
    replays: ReplayService
    test_cases: TestCaseService

    def of_batch(self, *, project_id: int, replay_id: int) -> list[AcceptableStep]:
        """List the failed steps of the batch that accepting would change, `STEPS_MAX` at most.

        Of a test case that was replayed more than once only the last replay counts. What was accepted is left out.
        """
        entries = self.history.batch(project_id=project_id, replay_id=replay_id)
        last = {entry.row.test_case_id: entry for entry in entries if entry.row.status == "failed"}
        found = (step for entry in last.values() for step in self._of_replay(project_id, entry))
        return list(islice(found, STEPS_MAX))

    def accept(self, *, project_id: int, replay_id: int, keys: Collection[str] | None = None, actor: Actor) -> int:
        """Accept the steps of the batch that are still to be accepted, and return how many changed a test case.

        `keys` are those of the steps to accept; without them `of_batch` lists the steps. Each test case changes at
        once: after an interruption the next call accepts the steps of the others.
        """
        listed = self.of_batch(project_id=project_id, replay_id=replay_id)
        steps = listed if keys is None else [step for step in listed if step.key in keys]
        accepted = 0
        for test_case_id, of_case in groupby(steps, key=lambda step: step.test_case_id):
            outcomes = [step.outcome for step in of_case]
            with suppress(NotFound):  # deleted meanwhile
                accepted += self.test_cases.accept_all(
                    project_id=project_id, test_case_id=test_case_id, outcomes=outcomes, actor=actor
                )
        return accepted

    def _of_replay(self, project_id: int, entry: BatchEntry) -> Iterator[AcceptableStep]:
        row, name = entry.row, entry.test_case_name
        if name is None:
            return
        try:
            case = self.test_cases.case(project_id=project_id, test_case_id=row.test_case_id)
            result = self.replays.get(project_id=project_id, replay_id=row.id).result or {}
        except (Invalid, NotFound):
            return
        for turn, step, verdict in acceptable_steps(case, result):
            yield AcceptableStep(row.id, row.test_case_id, name, turn, step, verdict)
