"""Writes of one recorded message that a draft makes in another order are for a reader."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from app.chat import Answer, ToolCall
from app.replay.case_types import CaseStep, Check, CheckedCall, TestCase, ToolRules
from app.replay.effects import resolve
from app.replay.engine import replay
from app.replay.exchanged_writes import exchanged_writes
from app.replay.result_types import ReplayResult
from app.replay.violations import Attempt
from tests.support.operations import growth_of
from tests.unit.replay.fakes import FakeJudge, answer, calls, ports, says, scripted, turn

DELETE, RESTART = ("delete_files", {"of": "fb-07"}), ("restart_host", {"host": "fb-07"})
PING, LOOK = ("page_person", {"who": "Priya"}), ("get_state", {"host": "fb-07"})


def recorded(*named: tuple[str, Any], batch: str = "m1", **check: Any) -> list[CaseStep]:
    return [
        CheckedCall(name=name, arguments=arguments, result="ok", batch=batch, check=Check(**check))
        for name, arguments in named
    ]


def case_of(*steps: CaseStep, **more: Any) -> TestCase:
    return TestCase(turns=(turn("Delete the files, and restart.", *steps, answer("Done.")),), **more)


def played(case: TestCase, *script: Answer, judge: FakeJudge | None = None) -> ReplayResult:
    return replay(case, ports(scripted(*script, says("Done.")), judge=judge))


def results(result: ReplayResult) -> list[str]:
    return [step.result for step in result.turns[0].steps]


def reasons(result: ReplayResult) -> list[str]:
    return [step.reason for step in result.turns[0].steps if step.reason]


BOTH = case_of(*recorded(DELETE, RESTART))
EXCHANGED = calls(RESTART), calls(DELETE)


def test_a_judge_decides_whether_two_writes_of_one_message_may_be_exchanged() -> None:
    for verdict, status in (("passed", "passed"), ("failed", "failed")):
        judge = FakeJudge(lambda *_, verdict=verdict: verdict)  # type: ignore[misc]

        result = played(BOTH, *EXCHANGED, judge=judge)

        assert (result.status, result.violations) == (status, ())
        [step] = judge.asked
        assert (step.step, step.tool) == (1, "restart_host")
        assert 'asked for delete_files with {"of": "fb-07"} and then for this call of restart_host' in step.assertion


def test_without_a_judge_a_person_decides_and_the_reason_names_both_calls() -> None:
    result = played(case_of(*recorded(DELETE, RESTART), judge="never"), *EXCHANGED)

    assert (result.status, results(result)) == ("needs_review", ["passed", "needs_review", "passed"])
    assert reasons(result) == [
        "restart_host was called before delete_files, and the recording has the two in one message in the other order; "
        "no model may judge whether that matters"
    ]


@pytest.mark.parametrize(
    ("case", "script"),
    [
        (BOTH, [calls(DELETE, RESTART)]),
        (BOTH, [calls(DELETE), calls(RESTART)]),
        (case_of(*recorded(DELETE, RESTART), order="any"), EXCHANGED),
        (case_of(*recorded(DELETE, RESTART), tools={"delete_files": ToolRules(effect="read")}), EXCHANGED),
        (case_of(*recorded(DELETE, RESTART, enabled=False), *recorded(PING)), [calls(PING), *EXCHANGED]),
        (case_of(*recorded(LOOK, DELETE)), [calls(DELETE), calls(LOOK)]),
        (case_of(*recorded(PING, PING)), [calls(PING), calls(PING)]),
        (case_of(*recorded(PING, DELETE, PING)), [calls(PING, DELETE, PING)]),
        (case_of(*recorded(DELETE, batch="m1"), *recorded(RESTART, batch="m2")), [calls(DELETE), calls(RESTART)]),
    ],
)
def test_no_judge_is_asked_where_no_write_is_exchanged_with_another(case: TestCase, script: list[Answer]) -> None:
    judge = FakeJudge()

    assert played(case, *script, judge=judge).status == "passed"
    assert judge.asked == []


def test_writes_in_another_order_in_one_message_of_the_draft_are_exchanged_too() -> None:
    judge = FakeJudge()

    played(BOTH, calls(RESTART, DELETE), judge=judge)

    assert [step.step for step in judge.asked] == [1]


def test_writes_of_different_messages_keep_a_fixed_order() -> None:
    case = case_of(*recorded(DELETE, batch="m1"), *recorded(RESTART, batch="m2"))

    assert [each.kind for each in played(case, *EXCHANGED).violations] == ["order"]


def test_calls_that_one_check_accepts_are_not_exchanged() -> None:
    mails = [("page_person", {"who": name}) for name in ("Ada", "Priya")]
    judge = FakeJudge()

    result = played(case_of(*recorded(*mails, arguments="ignore")), calls(*reversed(mails)), judge=judge)

    assert (result.status, judge.asked) == ("passed", [])


def test_a_call_in_other_words_that_is_exchanged_is_one_question_about_both() -> None:
    notes = [("page_person", {"text": f"Please look at {name} as soon as you can."}) for name in ("it", "the host")]
    changed = ("page_person", {"text": "Could you look at the host as soon as possible?"})
    judge = FakeJudge(lambda *_: "failed")

    result = played(case_of(*recorded(DELETE, notes[1])), calls(changed, DELETE), judge=judge)

    assert (result.status, len(judge.asked)) == ("failed", 1)
    assert "its arguments ask for the same as the recorded ones" in judge.asked[0].assertion


@pytest.mark.slow
def test_the_work_grows_linearly_with_the_writes_of_a_message() -> None:
    def reversed_writes(size: int) -> Callable[[], object]:
        pings = [("page_person", {"who": str(n), "why": ["x"] * 10}) for n in range(size)]
        tool = resolve("page_person", ToolRules(), None, None)
        attempts = [Attempt(ToolCall(str(n), *pings[n]), tool, "recording", 1 << n) for n in reversed(range(size))]
        pairs = {n: size - 1 - n for n in range(size)}
        return partial(exchanged_writes, recorded(*pings), attempts, pairs)

    assert len(reversed_writes(50)()) == 49  # type: ignore[arg-type]
    assert growth_of(reversed_writes, 50) < 2.4
