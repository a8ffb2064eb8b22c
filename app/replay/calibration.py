"""Reads from replays of a version that is good by definition how far a test case can be relied on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from app.chat import Answer, Message, ToolDefinition
from app.errors import Conflict
from app.replay.attempt_sources import AttemptSources
from app.replay.case_types import CaseStep, TestCase
from app.replay.changes import change_case, merge_check
from app.replay.checks import Checker
from app.replay.effects import Tool, tools_of
from app.replay.engine import replay
from app.replay.loosening import Evidence, Loosening
from app.replay.patterns import NewPatterns
from app.replay.ports import DraftPort, Ports
from app.replay.recorded_sources import RecordedSources
from app.replay.result_types import (
    ProducedAnswer,
    ProducedCall,
    ProducedStep,
    ReplayResult,
    StepVerdict,
)
from app.replay.text_reader import COMPARISON_STEPS_MAX, TextReader
from app.values.budget import WorkBudget

MOST_PROBLEMS = 20  # that a calibration lists
# Violations that follow from nothing that the recording refused.
_INDEPENDENT_VIOLATIONS = ("never", "lost_tool")


class _CalibrationDocument(msgspec.Struct, frozen=True, rename="camel"):
    pass


class StepRate(_CalibrationDocument, frozen=True):
    """The number of replays in which a checked step passed, of all; turns and their steps count from 0."""

    turn: int
    step: int
    passed: int
    of: int


class Proposal(_CalibrationDocument, frozen=True):
    """The fields of a step's check which make it accept all that was produced for the step."""

    turn: int
    step: int
    check: dict[str, Any]


class Calibration(_CalibrationDocument, frozen=True):
    """The findings of a calibration, which describe their stored JSON, too.

    `usable` is True if every step passes in all replays, by the proposals where not by itself; else `problems` say why
    it does not. `can_fail` is False if a draft that calls nothing and answers nothing passes.
    """

    steps: tuple[StepRate, ...]
    proposals: tuple[Proposal, ...] = ()
    usable: bool = False
    can_fail: bool = False
    problems: tuple[str, ...] = ()


def calibrate(case: TestCase, draft: DraftPort, results: Sequence[ReplayResult]) -> Calibration:
    """Return what replays of the case found, which all played the same content, `draft`.

    A call that the recording refused changes what comes after it. What comes after is no evidence then, and neither
    makes a proposal nor a problem: the next calibration, with the call accepted, decides.
    """
    tools = tools_of(case, draft.tools)
    reader = TextReader(WorkBudget(COMPARISON_STEPS_MAX))
    recorded = RecordedSources(case, reader)
    attempts = [_Attempt(case, draft, tools, recorded, reader, result) for result in results]
    loosening, proposals, problems = Loosening(), list[Proposal](), list[str]()
    for turn, n, step in _checked(case):
        evident = [attempt for attempt in attempts if attempt.is_evidence(turn, n)]
        if not any(_is_unstable(step, attempt.verdict(turn, n)) for attempt in evident):
            continue
        check = _loosened(loosening, step, [attempt.evidence(turn, n) for attempt in evident])
        if check is None:
            problems.append(f"Turn {turn + 1}, step {n + 1}: no looser check accepts all that was produced.")
        else:
            proposals.append(Proposal(turn, n, check))
    problems += dict.fromkeys(problem for attempt in attempts for problem in attempt.problems())
    return Calibration(
        steps=rates(case, results),
        proposals=tuple(proposals),
        usable=bool(results) and not problems,
        can_fail=can_fail(case, draft),
        problems=tuple(problems[:MOST_PROBLEMS]),
    )


def rates(case: TestCase, results: Sequence[ReplayResult]) -> tuple[StepRate, ...]:
    """Return how often each checked step of the played turns passed."""
    return tuple(
        StepRate(turn, n, sum(result.turns[turn].steps[n].result == "passed" for result in results), len(results))
        for turn, n, _ in _checked(case)
    )


def can_fail(case: TestCase, draft: DraftPort) -> bool:
    """Return False if a model that calls no tool and answers with no text passes every step."""
    result = replay(case, Ports(model=_SilentModel(), draft=draft, judge=None))
    steps = (step.result for turn in result.turns for step in turn.steps)
    return result.stop_reason is not None or any(step_result in ("failed", "needs_review") for step_result in steps)


def accept_proposals(case: TestCase, calibrated: TestCase, proposals: Iterable[Proposal]) -> TestCase:
    """Return the case with the proposed checks. Raises `Conflict` for a step that is not the one that was calibrated.

    A proposal that was accepted before may be accepted again.
    """
    changes = list(proposals)
    for change in changes:
        if not _is_same_step(case, calibrated, change):
            raise Conflict(
                f"Turn {change.turn + 1}, step {change.step + 1} of the test case has changed since this calibration. "
                "Calibrate it again."
            )
    return change_case(case, {"steps": [msgspec.to_builtins(change) for change in changes]})


def _is_same_step(case: TestCase, calibrated: TestCase, proposal: Proposal) -> bool:
    before = calibrated.turns[proposal.turn]
    now = case.turns[proposal.turn] if proposal.turn < len(case.turns) else None
    if now is None or now.user != before.user or proposal.step >= len(now.steps):
        return False
    old, new = before.steps[proposal.step], now.steps[proposal.step]
    accepted = replace(old, check=merge_check(old.check, proposal.check, "check", NewPatterns()))
    return new in (old, accepted)


def _checked(case: TestCase) -> Iterator[tuple[int, int, CaseStep]]:
    for turn, played in enumerate(case.played_turns):
        yield from ((turn, n, step) for n, step in enumerate(played.steps) if step.checked)


def _is_unstable(step: CaseStep, verdict: StepVerdict) -> bool:
    """Return True if a good draft did not pass; a person's check leaves the verdict open, and so does one by `ai`."""
    is_open = step.kind == "answer" and step.check.answer in ("manual", "ai")
    return verdict.result == "failed" or (verdict.result == "needs_review" and not is_open)


def _loosened(loosening: Loosening, step: CaseStep, evidence: Sequence[Evidence | None]) -> dict[str, Any] | None:
    """Return the smallest looser check, None also where a replay produced nothing for the step."""
    produced = [item for item in evidence if item is not None]
    return loosening.of(step, produced) if len(produced) == len(evidence) else None


class _SilentModel:
    """A `ModelPort` that calls nothing and answers with the empty text."""

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        return Answer("")


@dataclass(frozen=True)
class _Attempt:
    """One replay of the calibrated case."""

    case: TestCase
    draft: DraftPort
    tools: Mapping[str, Tool]
    recorded: RecordedSources
    reader: TextReader
    result: ReplayResult

    def verdict(self, turn: int, n: int) -> StepVerdict:
        return self.result.turns[turn].steps[n]

    @cached_property
    def _refused(self) -> list[int | None]:
        """The first step of each turn with a call that the recording refused, if any."""
        return [next((n for n, step in enumerate(turn.steps) if _is_refused(step)), None) for turn in self.result.turns]

    @cached_property
    def _first_changed(self) -> int:
        """The first turn that an earlier turn's refused call may have changed."""
        turns = len(self.result.turns)
        if self.case.history == "recorded":
            return turns
        return next((turn + 1 for turn, n in enumerate(self._refused) if n is not None), turns)

    def is_evidence(self, turn: int, n: int) -> bool:
        """Return True if the step was reached, and no refused call may have changed what was produced for it."""
        if turn >= self._first_changed or self.verdict(turn, n).result == "not_run":
            return False
        first = self._refused[turn]
        return first is None or n <= first or self._are_of_one_message(turn, first, n)

    def _are_of_one_message(self, turn: int, first: int, n: int) -> bool:
        """Return True if both steps are calls that one message of the model asked for."""
        first_step, last_step = (self.case.turns[turn].steps[index] for index in (first, n))
        return (
            first_step.kind == last_step.kind == "tool_call"
            and first_step.batch != ""
            and first_step.batch == last_step.batch
        )

    def evidence(self, turn: int, n: int) -> Evidence | None:
        """Return what the replay produced for a step; None for nothing, and for what no check accepts."""
        verdict = self.verdict(turn, n)
        produced = None if verdict.decided_by == "rule" else _produced(verdict)
        return None if produced is None else Evidence(produced, self._checkers[turn])

    @cached_property
    def _checkers(self) -> list[Checker]:
        """Compare the steps of each turn, without a judge."""
        sources = AttemptSources(self.case, self.draft, self.recorded, self.reader, self.result)
        turns = range(len(self.case.turns))
        return [Checker(self.tools, cache(partial(sources.of, turn)), self.reader) for turn in turns]

    def problems(self) -> Iterator[str]:
        """Yield what makes this replay fail besides steps, unless a refused call may be the reason."""
        for violation in islice(self.result.violations, MOST_PROBLEMS):
            if violation.kind in _INDEPENDENT_VIOLATIONS or not self._is_changed(violation.turn):
                yield violation.message
        for turn, played in enumerate(self.result.turns):
            if played.stop_reason and not self._is_changed(turn):
                yield f"Turn {turn + 1} was not played to its end ({played.stop_reason.replace('_', ' ')})."

    def _is_changed(self, turn: int) -> bool:
        return turn >= self._first_changed or self._refused[turn] is not None


def _is_refused(step: StepVerdict) -> bool:
    called = step.kind == "tool_call" and isinstance(step.actual, dict)
    return called and step.result == "failed" and step.actual.get("answeredBy") == "none"


def _produced(step: StepVerdict) -> ProducedStep | None:
    if step.actual is None:
        return None
    if step.kind == "tool_call":
        return ProducedCall(step.actual["name"], step.actual.get("arguments"))
    return ProducedAnswer(str(step.actual))
