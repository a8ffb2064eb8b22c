from __future__ import annotations

from typing import Any

import pytest

from app.errors import Invalid
from app.replay.case_types import CaseTurn, Check, CheckedAnswer, CheckedCall, TestCase, ToolRules
from app.replay.cases import case_by_hand, case_from_turns
from app.replay.changes import change_case
from app.sessions.types import Step, Turn
from tests.unit.replay.fakes import answer, call, turn

TWO_TURNS = TestCase(turns=(turn("Hi", call("f", {"a": 1}), answer("x")), turn("Bye", answer("y"))))


def test_a_case_copies_all_that_a_replay_needs_of_the_turns() -> None:
    steps = Step("tool_call", "s1", "f", {"a": 1}, {"r": 2}, "failed"), Step("answer", "s2", text="Hello")
    recorded = Turn("t1", 0, 1, "Hi", steps, {"tone": "formal"}, ("f", {"name": "g"}), "abc")

    case = case_from_turns([recorded], "AI")

    check = Check(answer="ai")
    assert case.turns == (
        CaseTurn(
            user="Hi",
            steps=(
                CheckedCall(span_id="s1", name="f", arguments={"a": 1}, result={"r": 2}, error="failed", check=check),
                CheckedAnswer(text="Hello", span_id="s2", check=check),
            ),
            placeholders={"tone": "formal"},
            offered_tools=("f", {"name": "g"}),
            prompt_version="abc",
            trace_id="t1",
        ),
    )


def test_of_several_answers_in_a_turn_only_the_last_is_enabled() -> None:
    steps = Step("answer", "s1", text="a plan"), Step("tool_call", "s2", "f"), Step("answer", "s3", text="done")

    case = case_from_turns([Turn("t1", 0, 1, "Hi", steps)], "STRICT")

    assert [step.check.enabled for step in case.turns[0].steps] == [False, True, True]


def test_a_case_by_hand_is_one_question_and_one_answer() -> None:
    case = case_by_hand("What?", "That.", "STRICT", {"tone": "formal"})

    assert case.turns == (
        CaseTurn(user="What?", steps=(CheckedAnswer(text="That."),), placeholders={"tone": "formal"}),
    )
    with pytest.raises(Invalid, match="question: must not be empty"):
        case_by_hand(" ", "That.", "STRICT")


def test_changes_name_exceptions_and_leave_the_rest() -> None:
    changes = {
        "steps": [
            {"turn": 0, "step": 0, "check": {"arguments": "subset"}},
            {"turn": 0, "step": 0, "check": {"ignorePaths": ["/a"]}},
            {"turn": 1, "step": 0, "check": {"enabled": False}},
        ],
        "order": "in_order",
        "history": "recorded",
        "onMissing": "error",
        "includedTurns": 1,
        "assertionValue": "is polite",
    }

    case = change_case(TWO_TURNS, changes)

    assert case.turns[0].steps[0].check == Check(arguments="subset", ignore_paths=("/a",))
    assert case.turns[0].steps[1] == TWO_TURNS.turns[0].steps[1]
    assert not case.turns[1].steps[0].check.enabled
    assert (case.order, case.history, case.on_missing) == ("in_order", "recorded", "error")
    assert (case.included_turns, case.assertion_value) == (1, "is polite")
    assert change_case(case, {"includedTurns": None}).included_turns is None
    assert change_case(TWO_TURNS, {}) == TWO_TURNS


def test_another_assertion_type_sets_all_answers_before_the_exceptions() -> None:
    changes = {"assertionType": "MANUAL", "steps": [{"turn": 1, "step": 0, "check": {"answer": "ai"}}]}

    case = change_case(TWO_TURNS, changes)

    assert case.assertion_type == "MANUAL"
    assert [step.check.answer for each in case.turns for step in each.steps] == ["manual", "manual", "ai"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sort": 1}, "sort: unknown field"),
        ({"order": "random"}, "order: must be one of effects, any, in_order"),
        ({"judge": "sometimes"}, "judge: must be one of auto, never, always"),
        ({"tools": {"pay": {"effect": "delete"}}}, "tools.pay.effect: must be one of read, write"),
        ({"tools": {"pay": {"maxCalls": -1}}}, "tools.pay.maxCalls: must be at least 0"),
        (
            {"tools": {"pay": {"arguments": {"/body": "near"}}}},
            "tools.pay.arguments./body: must be one of exact, facts",
        ),
        ({"tools": {"pay": {"arguments": {"body": "any"}}}}, "tools.pay.arguments.body: a JSON pointer is empty or"),
        ({"tools": {"pay": {"colour": 1}}}, "tools.pay.colour: unknown field"),
        ({"tools": {"pay": 1}}, "tools.pay: must be an object"),
        ({"history": None}, "history: must be one of replayed, recorded"),
        ({"onMissing": ""}, "onMissing: must be one of error, stop, nearest, static, simulate"),
        ({"includedTurns": 0}, "includedTurns: must be a whole number from 1 to 2"),
        ({"includedTurns": 3}, "includedTurns: must be a whole number from 1 to 2"),
        ({"includedTurns": True}, "includedTurns: must be a whole number"),
        ({"steps": {}}, "steps: must be a list"),
        ({"steps": [{"turn": 0, "step": 0, "check": []}]}, "steps.0.check: must be an object"),
        ({"steps": [{"turn": 0, "step": 0}]}, "steps.0.check: is required"),
        ({"steps": [{"turn": 2, "step": 0, "check": {}}]}, "steps.0.turn: there are 2, counted from 0"),
        ({"steps": [{"turn": 1, "step": -1, "check": {}}]}, "steps.0.step: there are 1, counted from 0"),
        ({"steps": [{"turn": "0", "step": 0, "check": {}}]}, "steps.0.turn: must be a whole number"),
        (
            {"steps": [{"turn": 0, "step": 0, "check": {"answer": "fuzzy"}}]},
            "steps.0.check.answer: must be one of",
        ),
    ],
)
def test_what_is_wrong_is_named_by_its_path(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid) as refused:
        change_case(TWO_TURNS, changes)
    assert str(refused.value).startswith(message)


def test_a_case_that_checks_nothing_is_refused() -> None:
    off = [{"turn": 0, "step": n, "check": {"enabled": False}} for n in range(2)]
    silent = {"turn": 1, "step": 0, "check": {"answer": "ignore"}}

    with pytest.raises(Invalid, match="at least one step"):
        change_case(TWO_TURNS, {"steps": [*off, silent]})
    with pytest.raises(Invalid, match="at least one step"):
        change_case(TWO_TURNS, {"steps": off, "includedTurns": 1})
    assert change_case(TWO_TURNS, {"steps": off})


def test_rules_of_tools_change_key_by_key_and_none_puts_them_back() -> None:
    rules = {"pay": {"extra": "allow", "maxCalls": 2}, "unheard_of": {"never": True}}
    case = change_case(TWO_TURNS, {"tools": rules})

    changed = change_case(case, {"tools": {"pay": {"extra": None, "arguments": {"/note": {"match": "facts"}}}}})
    emptied = change_case(changed, {"tools": {"pay": None, "unheard_of": {"never": None}}})

    assert case.tools == {"pay": ToolRules(extra="allow", max_calls=2), "unheard_of": ToolRules(never=True)}
    assert changed.tools["pay"] == ToolRules(max_calls=2, arguments={"/note": "facts"})
    assert emptied.tools == {}


def test_kinds_of_texts_are_proposed_for_the_tools_of_a_session() -> None:
    steps = (
        Step("tool_call", "s1", "search_docs", {"query": "refunds", "limit": 3}, []),
        Step("tool_call", "s2", "send_email", {"to": "a@b.c", "body": "We have refunded your order today."}, "sent"),
        Step("answer", "s3", text="Done"),
    )

    case = case_from_turns([Turn("t", 0, 1, "Refund me, a@b.c", steps)], "STRICT")

    assert case.tools == {
        "search_docs": ToolRules(kinds={"/query": "search"}),
        "send_email": ToolRules(kinds={"/body": "prose"}),
    }


def test_no_kind_is_proposed_for_a_place_with_texts_of_several_kinds() -> None:
    code = {"path": "slots.py", "old_str": "limit = 10", "new_str": "limit = 20"}
    prose = {"path": "CHANGELOG.md", "old_str": "Unreleased", "new_str": "The limit is twice as high."}
    steps = [Step("tool_call", f"s{n}", "edit", arguments, "ok") for n, arguments in enumerate((code, prose, code))]

    case = case_from_turns([Turn("t", 0, 1, "Double the limit.", tuple(steps))], "STRICT")

    assert case.tools == {"edit": ToolRules(kinds={"/path": "code", "/old_str": "code"})}
