"""Turns and test cases that grow in one way each, without all that is done with a test case."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from msgspec.structs import replace

from app.chat import Answer, Message, ToolCall, ToolDefinition
from app.errors import Invalid, ProviderError
from app.replay.attempt_sources import AttemptSources
from app.replay.calibration import Proposal, accept_proposals, calibrate, can_fail
from app.replay.case_types import Fidelity, Missing, TestCase
from app.replay.cases import require_playable
from app.replay.changes import change_case
from app.replay.checks import Checker
from app.replay.documents import load
from app.replay.effects import defined_tools
from app.replay.engine import PlayedConversation, replay
from app.replay.fault_types import Variant
from app.replay.faults import require_variants
from app.replay.json_differences import ignored_paths
from app.replay.judge import ModelJudge
from app.replay.judge_types import JudgedTurn, OpenStep, StepEvidence
from app.replay.open_steps import judge_open_steps
from app.replay.program_transcript import is_void
from app.replay.recorded_sources import RecordedSources
from app.replay.result_types import ProducedAnswer, ProducedCall
from app.replay.results import unplayed, void_result
from app.replay.text_reader import TextReader
from app.replay.texts.sources import Sources
from app.replay.verdicts import PairedTurn, verdicts
from app.sessions.types import EarlierMessage
from app.values.budget import WorkBudget
from tests.support.cores import Make
from tests.support.growth import Work
from tests.unit.costs.replays import BUDGET, TOOL, Known, Scripted, repeated
from tests.unit.replay.fakes import FakeDraft, FakeJudge, FakeModel, answer, call, ports, says, turn


class Away:
    """A judge, or its model, that fails."""

    def answer(self, *_: Any) -> Any:
        raise ProviderError("it is away")

    judge_turn = simulate = structured = answer


def asking(size: int) -> Work:
    """Ask about as many steps a judge that decides, one that fails, and one that fails at its second look."""
    evidence = StepEvidence(lost=("1",))
    steps = tuple(OpenStep(n, "answer", None, "n" * 20, f"It is {n}", evidence) for n in range(4 * size))
    asked = JudgedTurn("Be kind.", (Message("user", "a"),), "?", (), steps)
    passed = [{"step": step.step, "verdict": "passed", "findings": [], "reason": "r"} for step in steps]

    def script(number: int, messages: Sequence[Message]) -> Answer:
        if number:
            raise ProviderError("it is away")
        return says(json.dumps({"steps": passed}))

    def work() -> None:
        for judge in (FakeJudge(), Away()):
            judge_open_steps(ports(Scripted([]), judge=judge, earlier_verdicts=Known()), 0, asked, lambda step: True)
        for nonce in "nm":  # all texts have the first one as a delimiter
            ModelJudge(FakeModel(script), partial(str, nonce * 20), "j").judge_turn(asked)

    return work


def attempts(size: int) -> Work:
    """Calibrate a test case of as many turns, of which other calls get results that were not recorded."""
    turns = [turn(f"What is {n}?", call("get_note", {"n": n}, n), answer(f"It is {n}.")) for n in range(size)]
    case = TestCase(turns=tuple(turns), on_missing="simulate", history="recorded")
    together = [replace(call("put", {"n": n}, n), batch="b") for n in range(size)]
    refused = TestCase(turns=(turn("?", *together),))
    made = [ToolCall(f"c{n}", "put", {"n": n or "none"}) for n in range(size)]
    draft = FakeDraft([TOOL], {})

    def work() -> None:
        model = Scripted(repeated(case, stray=True))
        result = replay(case, ports(model, draft=draft), budget=WorkBudget(BUDGET))
        reader = TextReader()
        sources = AttemptSources(case, draft, RecordedSources(case, reader), reader, result)
        for number in range(size):
            sources.of(number)
        calibrate(refused, draft, [replay(refused, ports(Scripted([Answer("", tuple(made))])))])

    return work


def checks(size: int) -> Work:
    """Read and change a test case in which only the last of as many steps is checked."""
    ignored = tuple(turn("?", call("put", {}, enabled=False), answer("a", answer="ignore")) for _ in range(10 * size))
    unchecked = [answer("a", enabled=False)] * size
    case = TestCase(turns=(turn("?", *unchecked, answer("a")), *ignored))
    proposals = [Proposal(n, 1, {"answer": "ai"}) for n in range(1, size)]
    variants = TestCase(turns=ignored[:1], variants=tuple(Variant(name=f"v{n}", faults=()) for n in range(size)))
    gaps = tuple(Missing(kind="tool_definitions", turn=0, message="m") for n in range(size))
    wrong = [{"user": "?", "steps": []}] * 20 * size + [{"user": 1, "steps": []}]
    bare = TestCase(turns=(turn("?", answer("a")),) * 80 * size)

    def work() -> None:
        require_playable(case, "", "steps")
        change_case(bare, {"assertionType": "AI"})
        accept_proposals(case, case, proposals)
        can_fail(TestCase(turns=ignored), FakeDraft())
        with suppress(Invalid):
            require_variants(variants, "")
        with suppress(Invalid):
            load({"turns": wrong}, TestCase)
        is_void(TestCase(turns=ignored[:1], fidelity=Fidelity(missing=gaps)))
        unplayed(case.turns[0], "it ended")
        void_result(case, {}, Fidelity())
        ignored_paths.cache_clear()
        ignored_paths(tuple(f"/k{n}" for n in range(size)))
        defined_tools([ToolDefinition(f"t{n}", "d", {}) for n in range(size)])

    return work


def conversing(size: int) -> Work:
    """Play turns without verdicts, a call that no recorded one of a turn accepts, and one after earlier messages."""
    turns = [turn(f"What is {n}?", answer("a")) for n in range(size)]
    called = TestCase(turns=(turn("?", *[call("get", {"n": n}, n) for n in range(size + 1)]),), on_missing="nearest")
    earlier = tuple(EarlierMessage(role="user", text=f"It was {n}.") for n in range(4 * size))
    asked = TestCase(turns=(turn("?", answer("It is 4.", answer="facts"), earlier=earlier),))
    made = [ToolCall(f"c{n}", "get", {"n": n} if n < size else {"q": "none"}) for n in range(size + 1)]

    def work() -> None:
        PlayedConversation(TestCase(turns=tuple(turns)), ports(Scripted(says("a") for _ in turns))).play(size - 1)
        replay(called, ports(Scripted([Answer("", tuple(made))])))
        replay(asked, ports(Scripted([says("It is 5.")])))

    return work


def judged(size: int) -> Work:
    """Make verdicts on as many answers that are open, and on as many calls that differ."""
    numbers = range(size)
    calls = [step for n in numbers for step in (answer(f"{n}", answer="meaning"), call("put", {"a": n, "b": [n]}))]
    others = [step for n in numbers for step in (ProducedAnswer("No."), ProducedCall("put", {"a": 0.5, "b": {}}))]
    pairing = PairedTurn(calls, others, {n: n for n in range(2 * size)})
    return lambda: verdicts(pairing, Checker({}, Sources), None)


def conversations() -> dict[str, Make]:
    """Return the works by their names."""
    return {
        "asking": asking,
        "attempts": attempts,
        "checks": checks,
        "conversing": conversing,
        "verdicts": judged,
    }
