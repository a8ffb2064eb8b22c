"""Draws probes from test cases: recorded steps with a planted error, and harmless ones in another form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import msgspec

from app.audit.arguments import (
    HARMLESS_ARGUMENTS,
    HARMLESS_READS,
    PLANTED_ARGUMENTS,
    PLANTED_READS,
    RecordedArguments,
)
from app.audit.draw import Draw
from app.audit.harmless import HARMLESS
from app.audit.planted import PLANTED
from app.audit.probed_text import Conversation, ProbedText, spend_on
from app.chat import ToolDefinition
from app.replay.case_types import CaseTurn, CheckedAnswer, CheckedCall, TestCase
from app.replay.effects import Tool, tools_of
from app.replay.fingerprints import json_of
from app.replay.tool_names import is_thought
from app.values.budget import UNLIMITED, OverBudget, WorkBudget
from app.values.json import json_container

PROBES = 40
"""The number of planted errors, and of harmless probes, in an audit."""
DRAWING_STEPS_MAX = 6_000_000
"""Steps of work (`app/values/budget.py`) for drawing the probes of a prompt."""
LONGEST_PROBED = 20_000
"""Characters of a step that is probed."""
_OTHERS_MAX = 200  # answers of other test cases
_OTHER_ANSWERS = 3
_WORK_PER_STEP = 5
_RESULTS_PER_STEP = 100  # results that are copied for a step of work


class Probe(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A recorded step in another form, and whether that form has an error.

    `kind` is the operator; `recorded` and `produced` are texts of answers, or arguments of calls. `was` and `now` are
    the part that the operator changed.
    """

    test_case_id: int
    turn: int
    step: int
    kind: str
    planted: bool
    recorded: Any
    produced: Any
    was: Any = None
    now: Any = None


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text that a person accepted or refused as the answer of a step."""

    turn: int
    step: int
    text: str
    accepted: bool


@dataclass(frozen=True)
class ProbedCase:
    """A test case, the instruction and tools with which it is played, and what people decided about its answers."""

    test_case_id: int
    case: TestCase
    instruction: str = ""
    labelled: tuple[Labelled, ...] = ()
    tools: Sequence[ToolDefinition] = ()


@dataclass(frozen=True)
class ProbedStep:
    """A recorded step that is checked, and what its turn has: `turn_results` are the results of all of its calls."""

    case: ProbedCase
    turn: int
    step: int
    calls_before: int
    turn_results: Sequence[Any] = field(repr=False, compare=False)
    conversation: Conversation = field(repr=False, compare=False)
    tools: Mapping[str, Tool] = field(repr=False, compare=False)

    @property
    def recorded(self) -> CheckedAnswer | CheckedCall:
        return self._turn.steps[self.step]

    @property
    def results(self) -> Sequence[Any]:
        """The results of the calls before the step."""
        self.conversation.budget.spend(self.calls_before // _RESULTS_PER_STEP)
        return self.turn_results[: self.calls_before]

    @property
    def user(self) -> str:
        return self._turn.user or ""

    @property
    def key(self) -> tuple[int, int, int]:
        return self.case.test_case_id, self.turn, self.step

    @cached_property
    def may_be_excused(self) -> bool:
        """True if the gate asks a judge about this call with other values than the recorded ones."""
        call = self.recorded
        if call.kind == "answer" or call.error is not None or call.check.arguments != "exact":
            return False
        tool = self.tools[call.name]
        return not tool.arguments and tool.called_with(call.arguments).effect == "read"

    @property
    def _turn(self) -> CaseTurn:
        return self.case.case.turns[self.turn]


@dataclass(frozen=True)
class Operators:
    """The operators of one kind of probes, by name: on answers and on arguments."""

    planted: bool
    answers: Mapping[str, Any]
    arguments: Mapping[str, Any]

    @cached_property
    def kinds(self) -> list[str]:
        return list(dict.fromkeys([*self.answers, *self.arguments]))

    def apply(self, kind: str, probed_step: ProbedStep, draw: Draw) -> Probe | None:
        """Return the probe that an operator makes of a step; None if it finds nothing to change there."""
        recorded = probed_step.recorded
        if recorded.kind == "answer":
            return self._of_answer(kind, probed_step, recorded, draw) if kind in self.answers else None
        return self._of_call(kind, probed_step, recorded, draw) if kind in self.arguments else None

    def _of_answer(self, kind: str, probed_step: ProbedStep, recorded: CheckedAnswer, draw: Draw) -> Probe | None:
        spend_on(probed_step.conversation.budget, recorded.text)
        probed = ProbedText(recorded.text, probed_step.user, probed_step.results, probed_step.conversation)
        change = self.answers[kind](probed, draw)
        if change is None or change.text.split() == recorded.text.split():
            return None
        return Probe(*probed_step.key, kind, self.planted, recorded.text, change.text, change.was, change.now)

    def _of_call(self, kind: str, probed_step: ProbedStep, recorded: CheckedCall, draw: Draw) -> Probe | None:
        if not isinstance(recorded.arguments, Mapping):
            return None
        tool = probed_step.tools[recorded.name]
        if kind in _READS and not probed_step.may_be_excused:
            return None
        call = RecordedArguments(
            recorded.arguments, tool.schema, probed_step.user, probed_step.results, probed_step.conversation
        )
        change = self.arguments[kind](call, draw)
        if change is None:
            return None
        return Probe(*probed_step.key, kind, self.planted, recorded.arguments, change.arguments, change.was, change.now)


_READS = {**PLANTED_READS, **HARMLESS_READS}
_ON_PROSE = "prose_"  # the names of operators on prose in arguments begin with it
PLANTED_OPERATORS = Operators(True, PLANTED, PLANTED_ARGUMENTS)
HARMLESS_OPERATORS = Operators(False, HARMLESS, HARMLESS_ARGUMENTS)
"""The operators on answers and on all arguments. Rules decide changes of values in arguments, a judge all others.

A judge decides as well on reads with other arguments, which have further operators.
"""


def in_words(operators: Operators) -> Operators:
    """Return only the operators on texts: on answers, and on prose in arguments."""
    words = {
        name.removeprefix(_ON_PROSE): operator
        for name, operator in operators.arguments.items()
        if name.startswith(_ON_PROSE)
    }
    return Operators(operators.planted, operators.answers, words)


def _of_judge(operators: Operators, probed_steps: Sequence[ProbedStep]) -> Operators:
    """Return the operators that a judge decides: those on texts, and those on reads if there are any."""
    worded = in_words(operators)
    if not any(probed_step.may_be_excused for probed_step in probed_steps):
        return worded
    reads = PLANTED_READS if operators.planted else HARMLESS_READS
    return replace(worded, arguments={**worded.arguments, **reads})


def draw_probes(
    cases: Sequence[ProbedCase], seed: str, number: int = PROBES, budget: WorkBudget = UNLIMITED
) -> list[Probe]:
    """Return up to `number` planted errors and up to `number` harmless probes, of each kind about equally many.

    Answers that people refused are planted errors, and accepted ones are harmless: they come first, up to a quarter of
    each. The probes depend only on the seed and on the test cases. Once the budget is used up, no more are drawn.
    """
    probes: list[Probe] = []
    try:
        probed_steps = probed_steps_of(cases, budget)
        for operators in (_of_judge(PLANTED_OPERATORS, probed_steps), _of_judge(HARMLESS_OPERATORS, probed_steps)):
            labelled = _labelled(cases, operators.planted, number // 4)
            probes += labelled
            # One by one, so that the probes before `OverBudget` are kept.
            for probe in _round_robin(operators, probed_steps, Draw(seed), budget, number - len(labelled)):
                probes.append(probe)
    except OverBudget:
        pass
    return _balanced(probes)


def probed_steps_of(cases: Sequence[ProbedCase], budget: WorkBudget = UNLIMITED) -> list[ProbedStep]:
    """Return the checked steps of turns with a user's message, in the order of the test cases."""
    answers = {case.test_case_id: _answers(case.case) for case in cases}
    probed_steps = []
    for index, case in enumerate(cases):
        following = cases[index + 1 : index + 1 + _OTHERS_MAX]
        neighbours = [*following, *cases[max(0, index - _OTHERS_MAX) : index]][:_OTHERS_MAX]
        others = [text for other in neighbours for text in answers[other.test_case_id][:_OTHER_ANSWERS]]
        results = [[decoded(call.result) for call in _calls(turn)] for turn in case.case.played_turns]
        conversation, tools = _conversation(case, results, others, budget), tools_of(case.case, case.tools)
        for turn, recorded in enumerate(case.case.played_turns):
            if recorded.user:
                for step, calls in _decidable(recorded, budget):
                    probed_steps.append(ProbedStep(case, turn, step, calls, results[turn], conversation, tools))
    return probed_steps


def _calls(turn: CaseTurn) -> list[CheckedCall]:
    return [step for step in turn.steps if step.kind == "tool_call"]


def _decidable(turn: CaseTurn, budget: WorkBudget) -> Iterator[tuple[int, int]]:
    """Yield each step of a turn that the gate decides, and the number of calls before it."""
    calls = 0
    for number, step in enumerate(turn.steps):
        if step.checked and _is_decidable(step, budget):
            yield number, calls
        calls += step.kind == "tool_call"


def decoded(value: Any) -> Any:
    """Return the list or object that a text holds as JSON; any other value unchanged."""
    container = json_container(value) if isinstance(value, str) else None
    return value if container is None else container


def _is_decidable(step: CheckedAnswer | CheckedCall, budget: WorkBudget) -> bool:
    """Return True if the gate decides the step, and its text or its arguments are short enough to be shown."""
    if step.kind == "tool_call":
        return not is_thought(step.name) and len(json_of(step.arguments, budget)) <= LONGEST_PROBED
    if step.check.answer == "manual" or len(step.text) > LONGEST_PROBED:
        return False
    return not isinstance(decoded(step.text), list | dict)


def _answers(case: TestCase) -> list[str]:
    return [step.text for turn in case.played_turns for step in turn.steps if step.kind == "answer" and step.text]


def _conversation(
    case: ProbedCase, results: Sequence[Sequence[Any]], others: Sequence[str], budget: WorkBudget
) -> Conversation:
    data = [
        value
        for turn, of_turn in zip(case.case.played_turns, results, strict=True)
        for call, result in zip(_calls(turn), of_turn, strict=True)
        for value in (decoded(call.arguments), result)
    ]
    users = [turn.user for turn in case.case.played_turns if turn.user]
    return Conversation(case.instruction, [*users, *_answers(case.case)], data, others, budget)


def _labelled(cases: Sequence[ProbedCase], planted: bool, most: int) -> list[Probe]:
    probes = []
    for case in cases:
        for label in case.labelled:
            recorded = _recorded_answer(case.case, label)
            if label.accepted is not planted and recorded is not None and recorded != label.text:
                kind = "refused_by_person" if planted else "accepted_by_person"
                probes.append(Probe(case.test_case_id, label.turn, label.step, kind, planted, recorded, label.text))
    return probes[:most]


def _recorded_answer(case: TestCase, label: Labelled) -> str | None:
    steps = case.played_turns[label.turn].steps if label.turn < len(case.played_turns) else ()
    step = steps[label.step] if label.step < len(steps) else None
    return step.text if isinstance(step, CheckedAnswer) and step.checked else None


def _round_robin(
    operators: Operators, probed_steps: Sequence[ProbedStep], draw: Draw, budget: WorkBudget, number: int
) -> Iterator[Probe]:
    """Yield a probe of each kind in turn, until there are enough or nothing is left to change."""
    made: set[tuple[tuple[int, int, int], str]] = set()
    waiting = {kind: _of_kind(operators, kind, probed_steps, draw, budget) for kind in draw.rotated(operators.kinds)}
    left = number
    while waiting and left > 0:
        for kind in list(waiting):
            probe = next(waiting[kind], None)
            if probe is None:
                del waiting[kind]
            elif left and (key := ((probe.test_case_id, probe.turn, probe.step), str(probe.produced))) not in made:
                made.add(key)
                left -= 1
                yield probe


def _of_kind(
    operators: Operators, kind: str, probed_steps: Sequence[ProbedStep], draw: Draw, budget: WorkBudget
) -> Iterator[Probe]:
    """Yield the probes of one kind, of steps in an order that is drawn."""
    # XOR with it gives each kind another order of the same numbers.
    mask = draw.of(kind).number
    budget.spend(_WORK_PER_STEP * len(probed_steps))
    ranked = sorted(probed_steps, key=lambda probed_step: draw.of(*probed_step.key).number ^ mask)
    for probed_step in ranked:
        budget.spend(_WORK_PER_STEP)
        probe = operators.apply(kind, probed_step, draw.of(kind, *probed_step.key))
        if probe is not None:
            yield probe


def _balanced(probes: Sequence[Probe]) -> list[Probe]:
    """Return the planted errors, at most twice as many as harmless probes, and then these."""
    planted, harmless = ([probe for probe in probes if probe.planted is side] for side in (True, False))
    return planted[: 2 * len(harmless)] + harmless
