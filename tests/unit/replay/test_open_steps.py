from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from app.chat import Message, Tokens
from app.errors import ProviderError
from app.replay.judge_types import JudgedCall, JudgedTurn, OpenStep, StepEvidence, StepJudgement, TurnJudgement
from app.replay.open_steps import judge_open_steps
from app.replay.ports import Ports
from app.replay.verdict_digests import MessageDigests, TurnDigests
from tests.support.growth import work_by_function
from tests.unit.replay.fakes import FakeDraft, FakeJudge, scripted

STEPS = OpenStep(0, "answer", None, "A", "A"), OpenStep(2, "answer", None, "A", "B")
TURN = JudgedTurn("Be brief.", (Message("user", "Hello"),), "What?", (JudgedCall("look", {"n": 1}, "ok"),), STEPS)


@dataclass
class Memory:
    """A `EarlierVerdictsPort` with these verdicts."""

    known: Mapping[int, StepJudgement]
    remembered: list[tuple[int, TurnJudgement]] = field(default_factory=list)

    def recall(self, index: int, turn: JudgedTurn) -> Mapping[int, StepJudgement]:
        return self.known

    def remember(self, index: int, judgement: TurnJudgement) -> None:
        self.remembered.append((index, judgement))


class BrokenJudge(FakeJudge):
    def judge_turn(self, turn: JudgedTurn) -> TurnJudgement:
        raise ProviderError("no connection")


def ports(judge: FakeJudge | None, memory: Memory | None = None) -> Ports:
    return Ports(scripted(), FakeDraft(), judge, earlier_verdicts=memory)


def always(_step: OpenStep) -> bool:
    return True


def test_a_judge_is_asked_only_about_steps_of_which_nothing_is_known() -> None:
    judge, passed = FakeJudge(), StepJudgement(2, "passed", is_earlier=True, digest="two")
    memory = Memory({0: StepJudgement(0, "needs_review", digest="zero"), 2: passed})

    judgement = judge_open_steps(ports(judge, memory), 7, TURN, always)

    assert [step.step for turn in judge.turns for step in turn.steps] == [0]
    assert judgement.steps == (StepJudgement(0, "passed", digest="zero"), passed)
    assert [(index, len(given.steps)) for index, given in memory.remembered] == [(7, 1)]
    assert judgement.tokens == Tokens(3, 1)


def test_nothing_is_asked_if_all_is_known() -> None:
    judge = FakeJudge()
    memory = Memory({step.step: StepJudgement(step.step, "failed", is_earlier=True) for step in STEPS})

    assert [step.verdict for step in judge_open_steps(ports(judge, memory), 0, TURN, always).steps] == [
        "failed",
        "failed",
    ]
    assert (judge.turns, memory.remembered) == ([], [])


def test_without_a_judge_what_is_known_still_decides() -> None:
    known = {0: StepJudgement(0, "passed", is_earlier=True), 2: StepJudgement(2, "needs_review", digest="two")}

    assert judge_open_steps(ports(None, Memory(known)), 0, TURN, always).steps == tuple(known.values())
    assert judge_open_steps(ports(None), 0, TURN, always).steps == ()


def test_a_step_that_no_judge_may_decide_is_not_asked_about() -> None:
    judge = FakeJudge()

    judgement = judge_open_steps(ports(judge), 0, TURN, lambda step: step.step == 2)

    assert [(step.step, step.verdict) for step in judgement.steps] == [(2, "failed")]


def test_a_judge_that_fails_leaves_the_steps_to_a_person_and_nothing_is_remembered() -> None:
    memory = Memory({0: StepJudgement(0, "needs_review", digest="zero")})

    judgement = judge_open_steps(ports(BrokenJudge(), memory), 0, TURN, always)

    reason = "the judge failed: no connection"
    assert judgement.steps[0] == StepJudgement(0, "needs_review", (), reason, digest="zero")
    assert judgement.steps[1].reason == reason
    assert memory.remembered == []


def digests(turn: JudgedTurn) -> TurnDigests:
    return TurnDigests(0, turn, MessageDigests())


def test_the_order_of_messages_is_a_part_of_the_context() -> None:
    messages = (Message("user", "a"), Message("assistant", "b"))
    turns = [replace(TURN, conversation=listed) for listed in (messages, messages[::-1], messages[:1])]
    assert len({digests(turn).of_judge("gpt", STEPS[0]) for turn in turns}) == 3


@pytest.mark.slow
def test_a_message_is_read_once_for_the_turns_after_it() -> None:
    def prepare(size: int) -> Callable[[], object]:
        messages = [Message("user", f"{number}") for number in range(size)]
        turns = [replace(TURN, conversation=tuple(messages[:number])) for number in range(size)]

        def work() -> None:
            known = MessageDigests()
            for turn in turns:
                TurnDigests(0, turn, known)

        return work

    # Each turn looks up the digests of the messages before it.
    counts = [work_by_function(prepare(size)) for size in (50, 100)]
    assert counts[1]["replay/verdict_digests:_message"] <= 2.1 * counts[0]["replay/verdict_digests:_message"]


@pytest.mark.parametrize(
    ("change", "of_person"),
    [
        ({"instruction": "Be polite."}, False),
        ({"conversation": ()}, False),
        ({"user": "Who?"}, True),
        ({"calls": ()}, True),
        ({"calls": (JudgedCall("look", {"n": 2}, "ok"),)}, True),
    ],
)
def test_a_verdict_is_known_only_in_its_context(change: dict[str, Any], of_person: bool) -> None:
    other = replace(TURN, **change)

    assert digests(TURN).of_judge("gpt", STEPS[0]) != digests(other).of_judge("gpt", STEPS[0])
    assert (digests(TURN).of_person(STEPS[0]) != digests(other).of_person(STEPS[0])) is of_person


@pytest.mark.parametrize(
    "change",
    [{"step": 1}, {"kind": "arguments"}, {"tool": "look"}, {"recorded": "B"}, {"produced": "B"}, {"assertion": "C"}],
)
def test_a_verdict_is_known_only_of_its_texts(change: dict[str, Any]) -> None:
    step = replace(STEPS[0], **change)

    assert digests(TURN).of_person(STEPS[0]) != digests(TURN).of_person(step)
    assert digests(TURN).of_judge("gpt", STEPS[0]) != digests(TURN).of_judge("gpt", step)


def test_a_verdict_of_a_judge_is_known_only_of_its_model_and_its_evidence() -> None:
    step = replace(STEPS[0], evidence=StepEvidence(lost=("5",)))

    assert digests(TURN).of_judge("gpt", STEPS[0]) != digests(TURN).of_judge("claude", STEPS[0])
    assert digests(TURN).of_judge("gpt", STEPS[0]) != digests(TURN).of_judge("gpt", step)
    assert digests(TURN).of_person(STEPS[0]) == digests(TURN).of_person(step)
    assert digests(TURN).of_person(step) != TurnDigests(1, TURN, MessageDigests()).of_person(step)
