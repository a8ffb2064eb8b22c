"""Test cases that grow in one way each, and all that is done with a test case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from math import inf
from typing import Any

from msgspec import structs

from app.chat import Answer, Message, ToolCall, ToolDefinition
from app.errors import Conflict, Invalid
from app.replay.accepting import StepOutcome, accept_steps, acceptable_steps
from app.replay.calibration import accept_proposals, calibrate
from app.replay.case_limits import fitting_turns, require_small_enough
from app.replay.case_types import CaseFile, Fidelity, Missing, RemovedCall, TestCase, ToolRules
from app.replay.cases import load_case, needs_judge, shown_document
from app.replay.conversation import recorded_past
from app.replay.documents import dump
from app.replay.effect_proposals import unknown_tools
from app.replay.effects import defined_tools, require_usable, tools_of
from app.replay.engine import replay
from app.replay.judge_types import JudgedTurn, StepJudgement, TurnJudgement
from app.replay.program_transcript import is_void, program_case
from app.replay.result_types import ReplayResult
from app.replay.results import agreement, answers_digest, step_at, with_verdict
from app.replay.verdict_digests import MessageDigests, TurnDigests
from app.sessions.types import EarlierMessage
from app.values.budget import WorkBudget
from tests.support.cores import Make
from tests.support.growth import Work
from tests.unit.replay.fakes import FakeDraft, FakeJudge, answer, call, ports, says, turn
from tests.unit.replay.test_bounds import VALUES
from tests.unit.replay.test_bounds_of_texts import SHAPES

MakeCase = Callable[[int], TestCase]
NOTHING = says("")


@dataclass
class Known:
    """Remembers every verdict by the digests of its step."""

    verdicts: dict[str, StepJudgement] = field(default_factory=dict)
    messages: MessageDigests = field(default_factory=MessageDigests)

    def recall(self, index: int, turn: JudgedTurn) -> Mapping[int, StepJudgement]:
        digests = TurnDigests(index, turn, self.messages)
        by_step = {step.step: (digests.of_judge("j", step), digests.of_person(step)) for step in turn.steps}
        return {n: StepJudgement(n, "needs_review", digest=digest) for n, (_, digest) in by_step.items()}

    def remember(self, index: int, judgement: TurnJudgement) -> None:
        for step in judgement.steps:
            self.verdicts[f"{index} {step.step}"] = step


class Scripted:
    """A model that gives these answers, and then empty ones."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._answers = iter(answers)

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        return next(self._answers, NOTHING)


def repeated(case: TestCase, *, at_once: bool = True, stray: bool = False) -> Iterator[Answer]:
    """Yield the calls of each turn, the last one first, and its answer; with `stray` others."""
    for played in case.turns:
        made = [
            ToolCall(f"c{n}", step.name, _other(step.arguments) if stray else step.arguments)
            for n, step in enumerate(played.steps)
            if step.kind == "tool_call"
        ][::-1]
        if made and at_once:
            yield Answer("", tuple(made))
        elif made:
            yield from (Answer("", (asked,)) for asked in made)
        texts = [step.text for step in played.steps if step.kind == "answer"]
        yield says(f"{texts[-1]}!" if stray and texts else texts[-1] if texts else "")


def _other(arguments: Any) -> Any:
    match arguments:
        case dict():
            return {key: _other(value) for key, value in reversed(arguments.items())} | {"more": 1}
        case list():
            return [*reversed(arguments), 0]
        case str():
            return f"{arguments} x"
        case int() | float():
            return arguments + 1
    return arguments


# The replays of both sizes use it up: what they do beyond it must be linear.
BUDGET = 1_500


def _played(case: TestCase, draft: FakeDraft, answers: Iterable[Answer], limit: float = inf) -> ReplayResult:
    made = ports(Scripted(answers), draft=draft, earlier_verdicts=Known(), judge=FakeJudge())
    return replay(case, made, budget=WorkBudget(limit))


def played(case: TestCase, draft: FakeDraft) -> Work:
    """Play a test case with a draft that answers and calls something else."""

    def work() -> None:
        calibrate(case, draft, [_played(case, draft, repeated(case, stray=True))])

    return work


def life(case: TestCase, draft: FakeDraft) -> Work:
    """Do with a test case all that is done with one: check it, show it, play it, and read its results."""
    document = dump(case)
    scripts = ([*repeated(case, at_once=False)], [*repeated(case, stray=True)], [])

    def work() -> None:
        for path in ("", "testCase"):
            with suppress(Invalid):
                require_small_enough(load_case(document, path), path)
        with suppress(Invalid):
            require_usable(tools_of(case, draft.tools))
        shown_document(case, draft.tools, resolved=defined_tools(draft.tools))
        needs_judge(case)
        fitting_turns(case.turns)
        unknown_tools(case, draft.tools)
        is_void(program_case(case))
        recorded_past(case.turns)
        results = [_played(case, draft, answers, BUDGET) for answers in scripts]
        read(case, draft, results)

    return work


def read(case: TestCase, draft: FakeDraft, results: Sequence[ReplayResult]) -> None:
    for result in results:
        answers_digest(result.turns)
        agreement(result.turns)
        last = sum(len(played.steps) for played in result.turns) - 1
        step_at(result, last)
        with suppress(Invalid):
            with_verdict(result, last, "passed")
        written = dump(result)
        list(acceptable_steps(case, written))
        outcomes = [
            StepOutcome(number, n, step["actual"])
            for number, played in enumerate(written["turns"])
            for n, step in enumerate(played["steps"])
        ]
        accept_steps(case, outcomes)
    calibration = calibrate(case, draft, results)
    with suppress(Invalid, Conflict):
        accept_proposals(case, case, calibration.proposals)


TOOL = ToolDefinition("get_note", "Reads a note.", {"type": "object", "properties": {"note": {"type": "string"}}})
# `test_bounds_of_texts` has all shapes: each of these makes other readers loop.
TEXTS = ("one letter each", "commands", "lines of code")
PLAYED_VALUES = ("keys",)
CHECKS: dict[str, dict[str, Any]] = {
    "strict": {"answer": "strict"},
    "meaning": {"answer": "meaning"},
    "facts": {"answer": "facts"},
    "contains": {"answer": "contains", "value": "order 1"},
    "a pattern": {"answer": "regex", "value": "(a*)*b"},
    "ai": {"answer": "ai"},
    "part of JSON": {"answer": "json_subset"},
}
SHAPES_OF_CALLS: dict[str, Callable[[int], Any]] = {
    "equal": lambda k: {"n": 1},
    "different": lambda k: {"n": k, "note": f"the note {k} of Ann"},
    "falling": lambda k: {"n": -k},
}


def of_text(shape: Callable[[int], str], check: dict[str, Any]) -> MakeCase:
    """One turn with a text everywhere."""

    def make(size: int) -> TestCase:
        text = shape(2 * size)
        arguments = dict.fromkeys(("note", "query", "command", "sql", "url"), text)
        step = call("get_note", arguments, {"text": text}, arguments={"/note": "text"})
        return TestCase(turns=(turn(text, step, call("send", text, text), answer(text, **check)),))

    return make


def of_value(shape: Callable[[int], Any]) -> MakeCase:
    """One turn with a JSON value everywhere."""

    def make(size: int) -> TestCase:
        value = shape(size)
        matchers = {"/a": "unordered", "/b/*": "number", "/c": {"match": "one_of", "values": [value, 1]}}
        arguments = dict.fromkeys("abcd", value)
        steps = [call("get_note", arguments, value, arguments=matchers), call("put", {"d": value}, value)]
        fields = answer("", answer="json_subset", value=value)
        return TestCase(turns=(turn("?", *steps, fields),), tools={"put": ToolRules(arguments={"/d": "number"})})

    return make


def of_calls(shape: Callable[[int], Any], order: Any, tools: int = 1) -> MakeCase:
    """One turn of many calls."""

    def make(size: int) -> TestCase:
        steps = [call(f"get_{k % tools}" if k % 3 else "put", shape(k), f"ok {k}") for k in range(size)]
        return TestCase(turns=(turn("Do it", *steps, answer("Done")),), order=order, on_missing="nearest")

    return make


def of_turns(history: Any, **more: Any) -> MakeCase:
    """Many turns, with all that a turn can have."""

    def make(size: int) -> TestCase:
        fidelity = Fidelity(missing=tuple(Missing(kind="cut", turn=k, message="m") for k in range(size)))
        return TestCase(
            turns=tuple(_turn(k) for k in range(size)), history=history, accept_partial=True, fidelity=fidelity, **more
        )

    return make


def _turn(number: int) -> Any:
    past = EarlierMessage(role="user", text=f"Before {number}")
    result = EarlierMessage(role="tool", text="[1]", name="get_note", arguments={"n": number})
    return turn(
        f"What is {number}?",
        call("get_note", {"n": number, "note": "It is a note for Ann."}, {"name": f"Bob{number}"}),
        structs.replace(call(f"put_{number}", {"n": number}), batch="b"),
        answer(f"It is {number} for Ann.", answer="meaning"),
        placeholders={"k": f"{number}"},
        offered_tools=(f"t{number}", {"name": f"d{number}", "description": "d", "parameters": {}}),
        removed=(RemovedCall(name=f"gone_{number}", arguments={"n": number}),),
        files=(CaseFile(kind="image", media_type=f"image/{number}", data="YQ=="),),
        earlier=(past, result),
    )


@cache
def _tools(count: int) -> list[ToolDefinition]:
    return [ToolDefinition(f"tool_{k}", "A tool.", {"properties": {f"f{k}": {}}}) for k in range(count)]


def lives() -> dict[str, Make]:
    """Return the works of all cases by their names."""
    texts: dict[str, MakeCase] = {
        **{f"a text: {name}": of_text(SHAPES[name], CHECKS["meaning"]) for name in TEXTS},
        **{f"an answer by {name}": of_text(SHAPES["names"], check) for name, check in CHECKS.items()},
    }
    values = {f"a value: {name}": of_value(VALUES[name]) for name in PLAYED_VALUES}
    cases: dict[str, MakeCase] = {
        **{f"{shape} calls": of_calls(make, "effects") for shape, make in SHAPES_OF_CALLS.items()},
        "calls in order": of_calls(SHAPES_OF_CALLS["different"], "in_order"),
        "calls of several tools": of_calls(SHAPES_OF_CALLS["different"], "any", tools=7),
        "turns": of_turns("replayed"),
        "turns with a recorded history": of_turns("recorded", on_missing="simulate"),
    }
    return {
        **{name: _made(make, played) for name, make in (texts | values).items()},
        **{name: _made(make, life) for name, make in cases.items()},
    }


def _made(make: MakeCase, live: Callable[[TestCase, FakeDraft], Work]) -> Make:
    def prepare(size: int) -> Work:
        return live(make(size), FakeDraft([TOOL, *_tools(3)], {"k": ["1"]}))

    return prepare
