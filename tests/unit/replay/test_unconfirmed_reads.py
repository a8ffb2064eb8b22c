"""A call beyond the recording of a tool that a model proposes as a read needs review until a person confirms that."""

from __future__ import annotations

from typing import Any

import pytest

from app.chat import Answer
from app.replay.case_types import DeclaredEffect, TestCase, ToolRules
from app.replay.effects import resolve
from app.replay.engine import replay
from app.replay.fault_types import Fault
from app.replay.result_types import ReplayResult
from app.replay.results import with_verdict
from app.replay.unconfirmed_reads import may_read
from tests.unit.replay.fakes import FakeJudge, answer, call, calls, ports, says, scripted, turn

PEEK, BOOK = ("stock_level", {"part": "B-1"}), ("cash_back", {"id": "A-1"})
CASE = TestCase(
    turns=(
        turn("How many?", call(*PEEK, result={"left": 4}), answer("4 are left.")),
        turn("Pay it.", call(*BOOK, result={"paid": True}), answer("It is paid.")),
    )
)
READ: dict[str, DeclaredEffect] = {"stock_level": "read"}
AGAIN = calls(PEEK), calls(PEEK), says("4 are left."), calls(BOOK), says("It is paid.")


def played(
    *script: Answer, case: TestCase = CASE, proposed: dict[str, DeclaredEffect] = READ, **more: Any
) -> ReplayResult:
    return replay(case, ports(scripted(*script), judge=FakeJudge(lambda *_: "passed"), proposed=proposed), **more)


def test_a_repeated_call_of_a_proposed_read_is_answered_and_needs_review() -> None:
    result = played(*AGAIN)

    assert (result.status, result.violations) == ("needs_review", ())
    shown, text = result.turns[0].steps
    assert (shown.result, shown.decided_by, text.result) == ("needs_review", None, "passed")
    assert shown.reason == (
        'stock_level was called beyond the recording, with {"part": "B-1"}. A model proposes that stock_level only '
        "reads, and no person has confirmed it: confirm its effect in the test case, or decide"
    )
    [extra] = result.turns[0].extra
    assert extra.kind == "tool_call"
    assert (extra.answered_by, extra.effect, extra.result) == ("recording", "write", '{"left": 4}')


def test_a_person_decides_the_step_that_shows_the_call() -> None:
    result = played(*AGAIN)

    assert with_verdict(result, 0, "passed").status == "passed"
    assert with_verdict(result, 0, "failed").status == "failed"


def test_in_a_turn_without_the_tool_the_answer_shows_the_call_which_borrows_its_result() -> None:
    result = played(calls(PEEK), says("4 are left."), calls(PEEK), calls(BOOK), says("It is paid."))

    assert (result.status, result.violations) == ("needs_review", ())
    assert [step.result for step in result.turns[1].steps] == ["passed", "needs_review"]
    [extra] = result.turns[1].extra
    assert extra.kind == "tool_call"
    assert extra.answered_by == "borrowed"


def test_several_calls_are_one_reason() -> None:
    result = played(calls(PEEK), calls(PEEK, PEEK), says("4 are left."), calls(BOOK), says("It is paid."))

    assert "and 1 more such calls came" in (result.turns[0].steps[0].reason or "")


@pytest.mark.parametrize("proposed", [{}, {"stock_level": "write"}, {"stock_level": "by_call"}, {"cash_back": "read"}])
def test_without_such_a_proposal_the_call_is_a_violation(proposed: dict[str, DeclaredEffect]) -> None:
    result = played(*AGAIN, proposed=proposed)

    assert (result.status, [violation.kind for violation in result.violations]) == ("failed", ["extra_write"])


@pytest.mark.parametrize(
    "rules",
    [
        ToolRules(effect="write"),
        ToolRules(extra="fail"),
        ToolRules(never=True),
        ToolRules(max_calls=1),
    ],
)
def test_what_a_person_has_set_outweighs_a_proposal(rules: ToolRules) -> None:
    assert played(*AGAIN, case=TestCase(turns=CASE.turns, tools={"stock_level": rules})).status == "failed"


def test_a_call_with_other_arguments_in_the_place_of_the_recorded_one_stays_a_violation() -> None:
    result = played(calls(("stock_level", {"part": "B-2"})), says("4 are left."), calls(BOOK), says("It is paid."))

    assert (result.status, [violation.kind for violation in result.violations]) == ("failed", ["unanswered_write"])


def test_a_call_of_a_tool_that_the_recording_never_calls_stays_a_violation() -> None:
    script = calls(PEEK), calls(("stock_look", {})), says("4 are left."), calls(BOOK), says("It is paid.")
    result = played(*script, proposed={"stock_look": "read"})

    assert [violation.tool for violation in result.violations] == ["stock_look"]


def test_a_call_that_no_checked_step_can_show_stays_a_violation() -> None:
    unchecked = turn("How many?", call("other", enabled=False), answer("4 are left.", enabled=False))
    result = played(
        calls(PEEK), says("4"), calls(BOOK), says("It is paid."), case=TestCase(turns=(unchecked, CASE.turns[1]))
    )

    assert result.status == "failed"


def test_after_a_fault_a_proposed_read_is_a_write() -> None:
    result = played(*AGAIN, faults=[Fault(tool="stock_level", call=0, kind="error")])

    assert [violation.kind for violation in result.violations] == ["repeated_write"]


def test_a_step_that_fails_stays_failed() -> None:
    script = calls(PEEK), calls(PEEK), says("Sorry."), calls(BOOK), says("It is paid.")
    case = TestCase(turns=(turn("How many?", call(*PEEK), answer("4", answer="contains", value="4")), CASE.turns[1]))

    assert played(*script, case=case).status == "failed"


@pytest.mark.parametrize(
    ("arguments", "proposed", "expected"),
    [
        ({"sql": "select 1"}, "by_call", True),
        ({"sql": "select 1", "host": "db1"}, "by_call", True),
        ({"sql": "delete from a"}, "by_call", False),
        ({"sql": "delete from a"}, "read", False),
        ({"command": "ls > a"}, "by_call", False),
        ({"id": 1}, "by_call", False),
        ({"id": 1}, "read", True),
        ({"id": 1}, "write", False),
        ({"id": 1}, None, False),
    ],
)
def test_a_command_or_a_statement_decides_before_a_proposal(
    arguments: Any, proposed: DeclaredEffect | None, expected: bool
) -> None:
    tool = resolve("db", ToolRules(), None, None)

    assert may_read(tool.called_with(arguments), arguments, proposed) is (
        expected and tool.called_with(arguments).effect == "write"
    )
