"""Accepts the results of the failed replays of a batch in one request."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from app.errors import Invalid, NotFound
from app.models.audit_log import Actor
from app.pagination import json_size
from app.replay.accepting import StepOutcome, acceptable_steps
from app.replay.cases import load_case
from app.services.replays.cases import TestCaseService
from app.services.replays.history import BatchEntry, ReplayHistory
from app.services.replays.service import ReplayService

# Steps that one request accepts; the steps of each test case are one transaction.
ACCEPTED_STEPS_MAX = 100
# Bytes of test cases and results that are read for one list of steps, and while no step has been found: about a
# second's work.
READ_BYTES, SEARCHED_BYTES = 16 * 1024 * 1024, 48 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class AcceptableStep:
    """A failed step with an outcome that the test case can expect from now on; `verdict` is its JSON.

    It is `unanswered` if it is the answer of a turn in which a tool call got no result: it may be about that.
    """

    replay_id: int
    test_case_id: int
    test_case_name: str
    turn: int
    step: int
    verdict: dict[str, Any]
    unanswered: bool = False

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
        """List the failed steps of the batch that accepting would change, `ACCEPTED_STEPS_MAX` at most.

        Only the last replay of each test case counts, none with faults. Accepted steps are left out. The list ends
        early if test cases and results are large. Raises `Invalid` if `SEARCHED_BYTES` of them contain no such step.
        """
        entries = self.history.batch(project_id=project_id, replay_id=replay_id)
        failed = (entry for entry in entries if entry.row.status == "failed" and not entry.row.faults)
        last = {entry.row.test_case_id: entry for entry in failed}
        steps: list[AcceptableStep] = []
        read = 0
        for entry in last.values():
            if read > (READ_BYTES if steps else SEARCHED_BYTES):
                break
            of_replay, size = self._of_replay(project_id, entry)
            steps += islice(of_replay, ACCEPTED_STEPS_MAX - len(steps))
            read += size
            if len(steps) == ACCEPTED_STEPS_MAX:
                break
        if read > SEARCHED_BYTES and not steps:
            raise Invalid(
                f"The first {SEARCHED_BYTES // 2**20} MiB of test cases and results have nothing to accept; "
                "accept the steps of the other replays one by one."
            )
        return steps

    def accept(self, *, project_id: int, replay_id: int, keys: Collection[str] | None = None, actor: Actor) -> int:
        """Accept the remaining steps of the batch, and return how many changed a test case.

        `keys` are the keys of the steps to accept, by default all of `of_batch`. Each test case is changed in a
        separate transaction: after an interruption the next call accepts the steps of the other test cases.
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

    def _of_replay(self, project_id: int, entry: BatchEntry) -> tuple[Iterator[AcceptableStep], int]:
        """Return the steps of a replay, and the bytes of JSON that were read for them."""
        row, name = entry.row, entry.test_case_name
        if name is None:
            return iter(()), 0
        try:
            stored = self.test_cases.get(project_id=project_id, test_case_id=row.test_case_id)
            case = load_case(stored.document)
            result = self.replays.get(project_id=project_id, replay_id=row.id).result or {}
        except (Invalid, NotFound):
            return iter(()), 0
        unanswered = {turn for turn, played in enumerate(result.get("turns", ())) if has_unanswered_call(played)}
        steps = (
            AcceptableStep(
                row.id, row.test_case_id, name, turn, step, verdict, verdict["kind"] == "answer" and turn in unanswered
            )
            for turn, step, verdict in acceptable_steps(case, result)
        )
        return steps, json_size(stored.document) + json_size(result)


def has_unanswered_call(turn: dict[str, Any]) -> bool:
    """Return True if the draft called a tool for which the test case has no result; `turn` is a `TurnResult`'s JSON."""
    paired = (step["actual"] for step in turn["steps"] if step["kind"] == "tool_call" and step["actual"])
    extra = (step for step in turn.get("extra", ()) if step["kind"] == "tool_call")
    return any(call.get("answeredBy") == "none" for call in (*paired, *extra))
