"""Calibrations: rates of steps, the smallest looser check that accepts all, and test cases that can't fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat import Answer, Message
from app.errors import Conflict
from app.replay.calibration import Calibration, Proposal, accept_proposals, calibrate
from app.replay.case_types import Check, TestCase, ToolRules
from app.replay.checks import Checker
from app.replay.engine import replay
from app.replay.loosening import Evidence, Loosening
from app.replay.result_types import ProducedCall, ReplayResult
from app.replay.text_reader import TextReader
from app.replay.texts.sources import Sources
from app.values.budget import WorkBudget
from tests.support.growth import work_by_function
from tests.unit.replay.fakes import FakeDraft, FakeJudge, FakeModel, answer, call, calls, ports, says, turn

Script = Callable[[int, Sequence[Message]], Answer]


def played(case: TestCase, *scripts: Script) -> list[ReplayResult]:
    return [replay(case, ports(FakeModel(script))) for script in scripts]


def calibrated(case: TestCase, *scripts: Script) -> Calibration:
    return calibrate(case, FakeDraft(), played(case, *scripts))


def saying(*answers: Answer) -> Script:
    """Return a script of the answers; the last one comes again."""
    return lambda n, messages: answers[min(n, len(answers) - 1)]


def one_call(recorded: Any, **check: Any) -> TestCase:
    return TestCase(turns=(turn("Book it", call("get_room", recorded, **check), answer("Done.")),))


def calling(*arguments: Any) -> list[Script]:
    return [saying(calls(("get_room", each)), says("Done.")) for each in arguments]


@pytest.mark.slow
def test_what_each_turn_of_an_unstable_replay_has_is_read_once() -> None:
    def work(turns: int) -> Counter[str]:
        case = TestCase(turns=tuple(turn("Hi", call("get", {"n": n}), answer("Done")) for n in range(turns)))
        results = played(case, *calling(*({"n": n} for n in range(2))))
        return work_by_function(lambda: calibrate(case, FakeDraft(), results))

    name = "replay/attempt_sources:_results_elsewhere"
    assert 0 < work(80)[name] <= 2.2 * work(40)[name]


def test_a_stable_test_case_is_usable_and_proposes_nothing() -> None:
    found = calibrated(one_call({"id": 7}), *calling({"id": 7}, {"id": 7}))
    assert [(rate.turn, rate.step, rate.passed, rate.of) for rate in found.steps] == [(0, 0, 2, 2), (0, 1, 2, 2)]
    assert (found.proposals, found.usable, found.can_fail, found.problems) == ((), True, True, ())


@pytest.mark.parametrize(
    ("recorded", "produced", "matchers"),
    [
        ({"q": "Red shoes"}, {"q": "red  shoes!"}, {"/q": "text"}),
        ({"ids": [1, 2]}, {"ids": [2, 1]}, {"/ids": "unordered"}),
        ({"at": 10}, {"at": 12.5}, {"/at": {"match": "number", "tolerance": 2.5}}),
        ({"at": 0.3}, {"at": 0.1}, {"/at": {"match": "number", "tolerance": 0.2}}),
        ({"at": 2**54 + 1}, {"at": 0}, {"/at": {"match": "number", "tolerance": float(2**54 + 4)}}),
        ({"note": "a table for 4"}, {"note": "4 people at one table"}, {"/note": "facts"}),
        ({"mode": "fast"}, {"mode": None}, {"/mode": "any"}),
        ({"id": 1}, {"id": 1, "why": "so"}, {"/why": "any"}),
        ({"a": "X", "b": [1, 2]}, {"a": "x", "b": [2, 1]}, {"/a": "text", "/b": "unordered"}),
        ({"a/b": "X"}, {"a/b": "x"}, {"/a~1b": "text"}),
    ],
)
def test_a_path_that_varies_gets_the_strictest_matcher_that_accepts_it(
    recorded: Any, produced: Any, matchers: dict[str, Any]
) -> None:
    found = calibrated(one_call(recorded), *calling(recorded, produced, recorded))
    assert found.proposals == (Proposal(0, 0, {"arguments": matchers}),)
    assert (found.usable, found.steps[0].passed, found.steps[0].of) == (True, 2, 3)


def test_the_matchers_of_the_step_stay() -> None:
    case = one_call({"a": "X", "b": "Y"}, arguments={"/b": "any"})
    found = calibrated(case, *calling({"a": "x", "b": "?"}))
    assert found.proposals == (Proposal(0, 0, {"arguments": {"/b": "any", "/a": "text"}}),)


def test_arguments_that_are_something_else_altogether_get_no_check() -> None:
    found = calibrated(one_call({"id": 7}), *calling("what?"))
    assert (found.proposals, found.usable) == ((), False)
    assert found.problems == ("Turn 1, step 1: no looser check accepts all that was produced.",)


def test_a_step_that_did_not_always_come_makes_the_test_case_unusable() -> None:
    found = calibrated(one_call({"id": 7}), *calling({"id": 7}), saying(says("Done.")))
    assert (found.steps[0].passed, found.steps[0].of, found.usable) == (1, 2, False)


def test_a_reworded_answer_needs_only_its_meaning() -> None:
    case = TestCase(turns=(turn("How much?", call("get_price", {}, 42), answer("It is 42 euro.")),))
    scripts = [saying(calls(("get_price", {})), says(text)) for text in ("It is 42 euro.", "42 euro, please.")]
    found = calibrated(case, *scripts)
    assert found.proposals == (Proposal(0, 1, {"answer": "meaning"}),)
    accepted = accept_proposals(case, case, found.proposals)
    judge = FakeJudge(lambda expected, actual: "passed")
    replays = [replay(accepted, ports(FakeModel(script), judge=judge)) for script in scripts]
    assert {result.status for result in replays} == {"passed"}


def test_an_answer_without_values_is_not_compared_by_values() -> None:
    case = TestCase(turns=(turn("Hi", answer("Hello there", answer="meaning")),))
    found = calibrated(case, saying(says("Good day to you")))
    assert found.can_fail
    assert (found.proposals, found.usable) == ((), False)


@pytest.mark.parametrize("check", [{"answer": "contains", "value": "yes"}, {"answer": "regex", "value": "^yes"}])
def test_a_check_that_a_person_wrote_is_not_replaced(check: dict[str, Any]) -> None:
    found = calibrated(TestCase(turns=(turn("Well?", answer("yes", **check)),)), saying(says("no")))
    assert (found.proposals, found.usable) == ((), False)


def test_a_step_that_a_person_decides_is_no_problem() -> None:
    found = calibrated(TestCase(turns=(turn("Well?", answer("yes", answer="manual")),)), saying(says("no")))
    assert (found.steps[0].passed, found.usable, found.can_fail) == (0, True, True)


def test_a_test_case_that_nothing_fails_is_reported() -> None:
    found = calibrated(TestCase(turns=(turn("Well?", answer("", answer="regex", value=".*")),)), saying(says("no")))
    assert (found.usable, found.can_fail) == (True, False)


def test_a_test_case_without_results_is_not_usable() -> None:
    found = calibrated(one_call({}))
    assert (found.usable, found.can_fail, [rate.of for rate in found.steps]) == (False, True, [0, 0])


def test_a_violation_makes_the_test_case_unusable() -> None:
    case = TestCase(turns=(turn("Thanks", answer("Done.")),))
    found = calibrated(case, saying(calls(("refund", {"id": 1})), says("Done.")))
    assert not found.usable
    assert "refund" in found.problems[0]


def test_what_follows_a_refused_call_is_no_evidence() -> None:
    steps = (call("send", {"body": "Hello Bob"}), answer("It is sent."))
    case = TestCase(turns=(turn("Mail Bob", *steps), turn("And Eve", answer("Sent to Eve, too."))))
    varying = saying(calls(("send", {"body": "helloBob!"})), says("I could not send it."))
    found = calibrated(case, varying)
    assert found.proposals == (Proposal(0, 0, {"arguments": {"/body": "text"}}),)
    assert (found.usable, found.problems) == (True, ())


def test_a_refused_call_does_not_excuse_a_tool_that_must_never_be_called() -> None:
    rules = {"drop": ToolRules(never=True)}
    case = TestCase(turns=(turn("Mail", call("send", {"body": "Hello"}), answer("Sent.")),), tools=rules)
    found = calibrated(case, saying(calls(("send", {"body": "hello"}), ("drop", {})), says("Sent.")))
    assert not found.usable


def test_a_turn_that_was_not_played_to_its_end_makes_the_test_case_unusable() -> None:
    case = TestCase(turns=(turn("Go", answer("Done.")),))
    found = calibrated(case, lambda n, messages: calls(("get_more", {"page": n})))
    assert "Turn 1 was not played to its end (step limit)." in found.problems


def test_calls_that_differ_at_too_many_paths_get_no_check() -> None:
    recorded = {f"k{n}": "A" for n in range(200)}
    found = calibrated(one_call(recorded), *calling(dict.fromkeys(recorded, "B")))
    assert (found.proposals, found.usable) == ((), False)


def test_the_search_ends_when_it_has_read_all_that_it_may() -> None:
    case = one_call({"q": "x" * 1000})
    result = played(case, *calling({"q": "X" * 1000}))[0]
    assert calibrate(case, FakeDraft(), [result]).proposals
    step = case.turns[0].steps[0]
    checkers = (Checker({}, Sources, reader=TextReader(WorkBudget(limit))) for limit in (100, 10_000))
    short, enough = ([Evidence(ProducedCall("get_room", {"q": "X" * 1000}), checker)] for checker in checkers)
    assert Loosening().of(step, short) is None
    assert Loosening().of(step, enough) is not None


def test_proposals_are_accepted_one_by_one_and_again() -> None:
    case = one_call({"a": "X"})
    proposals = calibrated(case, *calling({"a": "x"})).proposals
    accepted = accept_proposals(case, case, proposals)
    assert accepted.turns[0].steps[0].check == Check(arguments={"/a": "text"})
    assert accept_proposals(accepted, case, proposals) == accepted


@pytest.mark.parametrize(
    "changed",
    [
        one_call({"a": "other"}),
        one_call({"a": "X"}, arguments="ignore"),
        TestCase(turns=(turn("Something else", call("get_room", {"a": "X"}), answer("Done.")),)),
        TestCase(turns=(turn("Book it", answer("Done.")),)),
    ],
)
def test_a_proposal_is_not_applied_to_another_step(changed: TestCase) -> None:
    case = one_call({"a": "X"})
    with pytest.raises(Conflict, match="has changed since this calibration"):
        accept_proposals(changed, case, [Proposal(0, 0, {"arguments": {"/a": "text"}})])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.text(max_size=3), JSON, max_size=4)


@pytest.mark.slow
@settings(max_examples=150)
@given(recorded=ARGUMENTS, produced=st.lists(ARGUMENTS, min_size=1, max_size=4))
def test_an_accepted_calibration_passes_on_what_it_was_made_of(recorded: Any, produced: list[Any]) -> None:
    case, scripts = one_call(recorded), calling(*produced)
    found = calibrated(case, *scripts)
    if found.usable:
        accepted = accept_proposals(case, case, found.proposals)
        assert {result.turns[0].steps[0].result for result in played(accepted, *scripts)} == {"passed"}
        assert calibrated(accepted, *scripts).proposals == ()


@pytest.mark.slow
@settings(max_examples=100)
@given(texts=st.lists(st.text(max_size=20), min_size=1, max_size=4), recorded=st.text(min_size=1, max_size=20))
def test_no_calibration_makes_an_answer_accept_the_empty_text(texts: list[str], recorded: str) -> None:
    case = TestCase(turns=(turn("Well?", answer(recorded)),))
    replies = cycle(texts)
    found = calibrated(case, *(saying(says(next(replies))) for _ in range(4)))
    if found.proposals:
        accepted = accept_proposals(case, case, found.proposals)
        assert calibrated(accepted, saying(says(""))).steps[0].passed == 0


def test_a_judge_that_does_not_always_agree_leaves_a_comparison_of_values() -> None:
    case = TestCase(turns=(turn("How much?", call("get_price", {}, 42), answer("It is 42 euro.", answer="ai")),))
    judge = FakeJudge(lambda expected, actual: "failed")
    result = replay(case, ports(FakeModel(saying(calls(("get_price", {})), says("42 euro"))), judge=judge))
    assert calibrate(case, FakeDraft(), [result]).proposals == (Proposal(0, 1, {"answer": "facts"}),)
