"""The turns of a replay as its page shows them, and the place on the page where each violation happened."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from app.json_schema.checker import canonical
from app.models.replays import Outcome
from app.replay.accepting import StepOutcome, is_acceptable, is_expected
from app.replay.edited_steps import EditedSteps
from app.replay.types import TestCase
from app.replay.violations import shown_arguments
from app.values.budget import WorkBudget
from app.web.filters import pretty
from app.web.presenters.diffs import Budget, DiffRow, diff_json, diff_rows

# A call of these kinds has no recorded step of its own, unless the recording answered it in spite of the rule.
BESIDES = frozenset({"extra_write", "extra_read", "never", "max_calls"})


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step, or a call or answer besides; `step` is its JSON.

    `number` counts the steps of all turns from 0; it is None for what came besides. `rows` are where the recorded and
    the produced differ. `accepted` is True if the test case expects by now what the draft did, and None if that can't
    be made its expectation. `violations` are the kinds of those that the step is.
    """

    anchor: str
    step: Mapping[str, Any]
    number: int | None = None
    rows: list[DiffRow] = field(default_factory=list)
    accepted: bool | None = None
    violations: list[str] = field(default_factory=list)

    @property
    def call(self) -> Mapping[str, Any] | None:
        """The call that the draft made here, if it made one."""
        if self.step["kind"] != "tool_call":
            return None
        call: Mapping[str, Any] | None = self.step if self.number is None else self.step["actual"]
        return call

    @property
    def may_be_judged(self) -> bool:
        """True if a person may decide: the step needs review, or a judge decided it."""
        step = self.step
        return step.get("result") == "needs_review" or step.get("decidedBy") == "judge" or "judged" in step


@dataclass(frozen=True, slots=True)
class ShownViolation:
    """A violation: `violation` is its JSON, `anchor` that of the step that it is, or else of its turn."""

    violation: Mapping[str, Any]
    anchor: str
    step: ShownStep | None

    @property
    def cut(self) -> bool:
        """True if the message lacks arguments of the call, or has them cut off."""
        arguments = self.violation["arguments"]
        text = "" if arguments is None else shown_arguments(arguments)
        return text.endswith("…") or text not in self.violation["message"]


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn: `turn` is its JSON."""

    turn: Mapping[str, Any]
    steps: list[ShownStep]
    extra: list[ShownStep]


def shown_turns(result: Mapping[str, Any], case: TestCase | None = None) -> list[ShownTurn]:
    """Return the turns of a result, which is the JSON of a `ReplayResult` or empty.

    `case` is the test case as it is now, None where there is none any more.
    """
    numbers, budget, expected = count(), Budget(), EditedSteps(case) if case else None
    return [
        ShownTurn(
            turn,
            [
                _step(next(numbers), step, budget, _accepted(expected, index - 1, place, step))
                for place, step in enumerate(turn["steps"])
            ],
            [ShownStep(f"turn-{index}-extra-{n}", step) for n, step in enumerate(turn["extra"], 1)],
        )
        for index, turn in enumerate(result.get("turns", ()), 1)
    ]


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """The progress of replays that were started together, by replays and by steps."""

    replays: int
    finished: int
    passed: int
    done: int
    steps: int


def batch_progress(outcomes: Sequence[Outcome]) -> BatchProgress:
    """Sum up replays of one batch. A replay that has ended counts with all its steps, so that no sum goes back."""
    return BatchProgress(
        replays=len(outcomes),
        finished=sum(outcome.finished for outcome in outcomes),
        passed=sum(outcome.status == "passed" for outcome in outcomes),
        done=sum(outcome.total if outcome.finished else outcome.done for outcome in outcomes),
        steps=sum(outcome.total for outcome in outcomes),
    )


def placed_violations(result: Mapping[str, Any], turns: list[ShownTurn]) -> list[ShownViolation]:
    """Return the violations of a result with their places; the kind of each is added to its step."""
    placed = []
    places = [_Places(turn) for turn in turns]
    for violation in result.get("violations", ()):
        index = violation["turn"]
        step = places[index].of(violation) if index < len(turns) else None
        if step:
            step.violations.append(violation["kind"])
        placed.append(ShownViolation(violation, step.anchor if step else f"turn-{index + 1}", step))
    return placed


def _step(number: int, step: Mapping[str, Any], budget: Budget, accepted: bool | None) -> ShownStep:
    return ShownStep(f"step-{number}", step, number, _difference(step, budget), accepted)


def _accepted(steps: EditedSteps | None, turn: int, place: int, step: Mapping[str, Any]) -> bool | None:
    """Return True if accepting what came of the step would change nothing, None if it can't be accepted."""
    if steps is None or step["result"] not in ("failed", "needs_review") or not is_acceptable(step):
        return None
    return is_expected(steps, StepOutcome(turn, place, step["actual"]))


def _difference(step: Mapping[str, Any], budget: Budget) -> list[DiffRow]:
    """Return the rows that differ, where the step failed and both sides are there."""
    expected, actual = step["expected"], step["actual"]
    if step["result"] not in ("failed", "needs_review") or actual is None:
        return []
    if step["kind"] == "tool_call":
        return diff_json(expected["arguments"], actual["arguments"], budget)
    return diff_rows(pretty(expected), actual, budget)


class _Places:
    """The steps of a turn by their calls, so that each step is looked at once for all violations."""

    def __init__(self, turn: ShownTurn) -> None:
        self._steps, self._extra = _by_call(turn.steps), _by_call(turn.extra)
        self._recorded: dict[str, ShownStep] = {}
        for step in (*turn.steps, *turn.extra):
            if isinstance(recorded := step.step.get("expected"), Mapping):
                self._recorded.setdefault(recorded["name"], step)

    def of(self, violation: Mapping[str, Any]) -> ShownStep | None:
        """Return the first step with the call of the violation that is no other violation; None if there is none."""
        if violation["kind"] == "lost_tool":
            return self._recorded.get(violation["tool"])
        call = _call_key(violation["tool"], violation["arguments"])
        steps, extra = _first(self._steps.get(call)), _first(self._extra.get(call))
        return extra or steps if violation["kind"] in BESIDES else steps or extra


def _by_call(steps: Iterable[ShownStep]) -> dict[str, deque[ShownStep]]:
    found: dict[str, deque[ShownStep]] = defaultdict(deque)
    for step in steps:
        if (call := step.call) is not None:
            found[_call_key(call["name"], call["arguments"])].append(step)
    return found


def _call_key(name: str, arguments: Any) -> str:
    return canonical([name, arguments], WorkBudget())


def _first(steps: deque[ShownStep] | None) -> ShownStep | None:
    """Return the first step that is no violation yet; those before it are dropped."""
    while steps and steps[0].violations:
        steps.popleft()
    return steps[0] if steps else None
