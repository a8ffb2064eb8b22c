"""The first step that explains why a replay did not pass."""

from __future__ import annotations

from typing import Any

import pytest

from app.web.presenters.replay_findings import first_trouble, shown_findings, troubled_turns

FINDING = {"kind": "added", "recorded": "", "produced": "6 EUR", "matters": True, "why": "The price is new."}


def answer(result: str, **more: Any) -> dict[str, Any]:
    return {"kind": "answer", "result": result, "expected": "It is free.", "actual": "It costs 6 EUR."} | more


def replay(status: str, *steps: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"user": "Hello", "steps": [answer("passed")], "extra": []}
    return {"status": status, "turns": [empty, {"user": "?", "steps": list(steps), "extra": []}]}


def test_the_first_failed_step_is_named_with_the_findings_that_matter() -> None:
    aside = FINDING | {"matters": False, "why": "It is shorter."}
    failed = answer("failed", reason="The price is new.", findings=[aside, FINDING])

    trouble = first_trouble(replay("failed", answer("needs_review"), failed, answer("failed")))

    assert trouble is not None
    assert (trouble.anchor, trouble.title) == ("step-2", "It failed: the answer in turn 2")
    (shown,) = trouble.findings
    assert (shown.finding["why"], shown.produced.quote, shown.recorded.quote) == ("The price is new.", "6 EUR", "")
    assert len(shown_findings(failed)) == 2


def test_a_step_without_findings_has_its_reason() -> None:
    expected = {"name": "refund", "arguments": {}}
    call = {"kind": "tool_call", "result": "needs_review", "expected": expected, "actual": None, "reason": "Odd."}

    trouble = first_trouble(replay("needs_review", call))

    assert trouble is not None
    assert trouble.title == "A person must decide: the call of refund in turn 2"
    assert (trouble.reason, trouble.findings) == ("Odd.", [])


def test_an_answer_without_findings_is_shown_with_what_differs() -> None:
    trouble = first_trouble(replay("failed", answer("failed", reason="the answer differs")))

    assert trouble is not None
    assert trouble.texts is not None
    assert [text.line for text in trouble.texts] == ["It »is free.«", "It »costs 6 EUR.«"]


@pytest.mark.parametrize("more", [{"actual": None}, {"expected": {"a": 1}}, {"findings": [FINDING]}])
def test_no_texts_are_shown_where_one_is_absent_or_a_finding_quotes_them(more: dict[str, Any]) -> None:
    trouble = first_trouble(replay("failed", answer("failed", **more)))

    assert trouble is not None
    assert trouble.texts is None


def test_the_advice_names_the_program_that_was_tested() -> None:
    trouble = first_trouble(replay("failed", answer("failed")), "program")

    assert trouble is not None
    assert trouble.advice.startswith("Change the program.")


@pytest.mark.parametrize("result", [{}, replay("passed", answer("passed")), replay("failed", answer("passed"))])
def test_a_replay_without_such_a_step_has_no_trouble(result: dict[str, Any]) -> None:
    assert first_trouble(result) is None


def test_the_turns_that_did_not_pass_have_a_violation_or_an_open_or_failed_step() -> None:
    results = (["passed"], ["passed", "failed"], ["needs_review"], ["ignored", "not_run"], ["passed"])
    turns = [{"steps": [{"result": result} for result in steps], "violations": []} for steps in results]
    turns[4]["violations"] = [{"kind": "extra_write"}]

    assert troubled_turns({"turns": turns}) == [2, 3, 5]
    assert troubled_turns({}) == []
