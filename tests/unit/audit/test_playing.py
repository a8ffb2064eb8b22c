"""A probe is played through the whole gate: only its step differs, and the verdict is the gate's."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from app.audit.playing import HISTORY_MAX, play_probe
from app.audit.probes import Probe
from app.replay.case_types import CaseTurn, Check, CheckedAnswer, CheckedCall, TestCase
from app.replay.ports import Ports
from app.sessions.types import EarlierMessage
from tests.unit.replay.fakes import FakeDraft, FakeJudge

CALL = CheckedCall(
    name="send_mail", arguments={"to": "ada@example.com", "body": "Thank you for the order."}, result="ok"
)


def turn(answer: str = "It costs 85 euros.", check: str = "meaning") -> CaseTurn:
    return CaseTurn(user="How much?", steps=(CALL, CheckedAnswer(text=answer, check=Check(answer=check))))


def probe(step: int, produced: Any, *, at: int = 0) -> Probe:
    return Probe(1, at, step, "number_changed", True, "", produced)


def played(case: TestCase, changed: Probe, judge: FakeJudge | None = None) -> tuple[str, str | None]:
    outcome = play_probe(case, changed, lambda model: Ports(model, FakeDraft(), judge))
    return outcome.verdict, outcome.decided_by


@pytest.mark.parametrize(
    ("check", "produced", "verdict"),
    [
        ("strict", "It costs 85 euros.", "passed"),
        ("strict", "It costs  85 Euros.", "passed"),
        ("strict", "It costs 86 euros.", "failed"),
        ("facts", "You pay 85 euros.", "passed"),
        ("facts", "You pay 86 euros.", "failed"),
        ("manual", "It costs 86 euros.", "needs_review"),
    ],
)
def test_the_check_of_the_step_decides(check: str, produced: str, verdict: str) -> None:
    assert played(TestCase(turns=(turn(check=check),)), probe(1, produced))[0] == verdict


def test_a_judge_decides_where_the_check_asks_one() -> None:
    judge = FakeJudge(lambda expected, actual: "passed")

    assert played(TestCase(turns=(turn(check="ai"),)), probe(1, "Nothing."), judge) == ("passed", "judge")


def test_another_argument_of_a_write_fails() -> None:
    changed = probe(0, CALL.arguments | {"to": "eve@example.com"})

    assert played(TestCase(turns=(turn(),)), changed) == ("failed", "violation")


def test_the_turns_before_are_repeated_up_to_a_bound() -> None:
    turns = (*(turn(f"Answer {number}", "manual") for number in range(HISTORY_MAX + 5)), turn(check="strict"))
    case = replace(TestCase(turns=turns), tools={})

    assert played(case, probe(1, "It costs 85 euros.", at=HISTORY_MAX + 5))[0] == "passed"
    assert played(case, probe(1, "It costs 86 euros.", at=HISTORY_MAX + 5))[0] == "failed"


def test_turns_without_a_message_of_the_user_are_not_played() -> None:
    silent = replace(turn(), user=None)

    assert played(TestCase(turns=(silent, turn(check="strict"))), probe(1, "No.", at=1))[0] == "failed"


def test_messages_from_before_the_recording_are_no_turns_of_the_model() -> None:
    before = (EarlierMessage(role="user", text="Hello"), EarlierMessage(role="assistant", text="Hello!"))
    case = TestCase(turns=(replace(turn("First", "manual"), earlier=before * 2), turn(check="strict")))

    assert played(case, probe(1, "It costs 85 euros.", at=1))[0] == "passed"
    assert played(case, probe(1, "It costs 86 euros.", at=1))[0] == "failed"
