from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from app.chat import Answer, Message
from app.errors import ProviderError
from app.replay.case_types import Order, TestCase, ToolRules
from app.replay.engine import replay
from app.replay.judge_types import JudgedTurn, TurnJudgement
from app.replay.result_types import Drift, ProducedCall, ReplayResult, TurnResult
from app.replay.stored_replies import StoredReplies
from tests.unit.replay.fakes import (
    FakeDraft,
    FakeJudge,
    FakeModel,
    answer,
    call,
    calls,
    ports,
    says,
    scripted,
    turn,
)


def results(result: ReplayResult) -> list[list[str]]:
    return [[step.result for step in each.steps] for each in result.turns]


def test_repeating_the_recording_passes() -> None:
    case = TestCase(turns=(turn("Weather?", call("weather", {"city": "Rome"}, {"t": 31}), answer("Hot.")),))
    model = scripted(calls(("weather", {"city": "Rome"})), says("hot. "))

    result = replay(case, ports(model))

    assert result.status == "passed"
    assert results(result) == [["passed", "passed"]]
    assert (result.tokens.prompt, result.tokens.completion) == (20, 4)


def test_the_model_gets_the_instruction_the_question_and_the_recorded_result() -> None:
    case = TestCase(turns=(turn("Weather?", call("weather", {"city": "Rome"}, {"t": "31 °C"}), answer("Hot.")),))
    model = scripted(calls(("weather", {"city": "Rome"}), text="Let me see."), says("Hot."))

    replay(case, ports(model))

    instruction, messages, _ = model.asked[1]
    assert instruction.startswith("Be helpful")
    assert [message.role for message in messages] == ["user", "assistant", "tool"]
    assert messages[1].text == "Let me see."
    assert (messages[2].text, messages[2].tool_call_id) == ('{"t": "31 °C"}', "id0")


def test_text_with_tool_calls_is_no_step() -> None:
    case = TestCase(turns=(turn("?", call("f"), answer("Done.")),))

    result = replay(case, ports(scripted(calls(("f", {}), text="Done."), says("Done."))))

    assert result.turns[0].extra == ()


def test_the_calls_of_each_answer_are_kept_in_their_order() -> None:
    case = TestCase(turns=(turn("?", call("a"), call("b"), answer("x")), turn("?", answer("y"))), order="any")
    script = calls(("b", {}), ("c", {})), calls(("a", {})), says("x"), says("y")
    assert [each.calls for each in replay(case, ports(scripted(*script))).turns] == [(("b", "c"), ("a",)), ()]


def test_a_recorded_error_is_given_as_the_tool_s_own_words() -> None:
    case = TestCase(turns=(turn("?", call("f", {}, None, "disk full"), answer("Sorry.")),))
    model = scripted(calls(("f", {})), says("Sorry."))

    assert replay(case, ports(model)).status == "passed"
    assert json.loads(model.asked[1][1][-1].text) == {"error": "disk full"}


def test_a_call_the_draft_forgets_has_failed_and_a_new_one_is_extra() -> None:
    case = TestCase(turns=(turn("?", call("search", {"q": "x"}), call("book", {"id": 1}), answer("Booked.")),))

    result = replay(case, ports(scripted(calls(("search", {"q": "x"}), ("search", {"q": "x"})), says("Booked."))))

    assert result.status == "failed"
    assert results(result) == [["passed", "failed", "passed"]]
    assert result.turns[0].steps[1].reason == "book was never called"
    assert result.turns[0].extra == (ProducedCall("search", {"q": "x"}, "ok", "read", "recording"),)


def test_extra_reads_do_not_fail() -> None:
    case = TestCase(turns=(turn("?", call("get", 1), answer("x")),))
    script = calls(("get", 1), ("get", 1)), calls(("get", 1)), says("x")

    assert replay(case, ports(scripted(*script))).status == "passed"


def test_steps_out_of_order_pass_under_any_and_fail_in_order() -> None:
    case = TestCase(turns=(turn("?", call("a"), call("b"), answer("x")),), order="any")
    script = calls(("b", {})), calls(("a", {})), says("x")

    assert replay(case, ports(scripted(*script))).status == "passed"
    in_order = replay(replace(case, order="in_order"), ports(scripted(*script)))
    assert sorted(results(in_order)[0]) == ["failed", "passed", "passed"]
    assert [step.reason for step in in_order.turns[0].steps if step.reason] == ["b was called out of order"]


WRITES = {"think": ToolRules(effect="write")}
TIMED_OUT = {"error": {"code": "TIMEOUT", "retryable": True}}


def read_again(first: object = TIMED_OUT) -> TestCase:
    steps = (call("get_profile", {"id": "1"}, first), call("get_profile", {"id": "1"}, {"days": 16}))
    return TestCase(turns=(turn("How many days?", *steps, answer("16 days.")),))


ORDERS: tuple[Order, ...] = ("effects", "any", "in_order")


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("made", [["1"], ["1", "1"], ["1", "1", "2"]])
def test_a_call_may_be_left_out_if_its_result_reports_a_failure_and_the_tool_succeeded_later(
    made: list[str], order: Order
) -> None:
    script = [*(calls(("get_profile", {"id": person})) for person in made), says("16 days.")]

    result = replay(replace(read_again(), order=order), ports(scripted(*script)))

    assert result.status == "passed"


@pytest.mark.parametrize("order", ORDERS)
def test_a_read_of_another_person_does_not_count_as_the_read_that_succeeded_at_the_second_try(order: Order) -> None:
    script = calls(("get_profile", {"id": "1"})), calls(("get_profile", {"id": "2"})), says("16 days.")

    result = replay(replace(read_again(), order=order), ports(scripted(*script)))

    assert result.status == "failed"
    assert results(result) == [["passed", "failed", "passed"]]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("made", "status"), [(1, "failed"), (2, "passed"), (3, "failed")])
def test_a_write_that_only_got_the_recorded_failure_does_not_count_as_the_one_that_succeeded(
    made: int, status: str, order: Order
) -> None:
    refused = call("refund", {"id": "A-1"}, error="503: nothing was booked")
    steps = (refused, call("refund", {"id": "A-1"}, {"refunded": True}), answer("I have refunded it."))
    case = TestCase(turns=(turn("Refund A-1", *steps),), order=order)
    script = [*(calls(("refund", {"id": "A-1"})) for _ in range(made)), says("I have refunded it.")]

    result = replay(case, ports(scripted(*script)))

    assert result.status == status
    if made == 1:
        reason = 'refund was called with {"id": "A-1"} fewer times than in the recording'
        assert [step.reason for step in result.turns[0].steps] == [None, reason, None]


@pytest.mark.parametrize(("made", "status"), [("enable send", "passed"), ("send enable", "failed"), ("send", "failed")])
def test_a_write_that_another_write_lets_succeed_may_be_right_at_once(made: str, status: str) -> None:
    refused = call("send", {"to": "Ann"}, error="the network is off")
    steps = (refused, call("enable", {"to": "Ann"}), call("send", {"to": "Ann"}), answer("Sent."))
    script = [*(calls((name, {"to": "Ann"})) for name in made.split()), says("Sent.")]

    assert replay(TestCase(turns=(turn("Write Ann", *steps),)), ports(scripted(*script))).status == status


def test_a_statement_with_a_mistake_may_be_left_out() -> None:
    steps = (
        call("sql_query", {"sql": "SELECT net FROM shops"}, {"error": "column net does not exist"}),
        call("get_schema", {"table": "shops"}, {"columns": ["sold"]}),
        call("sql_query", {"sql": "SELECT sold FROM shops"}, {"rows": [[1]]}),
    )
    case = TestCase(turns=(turn("?", *steps, answer("1.")),))
    script = calls(("get_schema", {"table": "shops"})), calls(("sql_query", {"sql": "SELECT sold FROM shops"}))

    assert replay(case, ports(scripted(*script, says("1.")))).status == "passed"
    assert replay(case, ports(scripted(script[0], says("1.")))).status == "failed"


@pytest.mark.parametrize("name", ["think", "mcp__sequential-thinking__sequentialthinking", "ThinkTool"])
@pytest.mark.parametrize("thoughts", [[], ["Refund A-1?"], ["Wait.", "Is it late?"]])
def test_thoughts_are_neither_demanded_nor_compared(name: str, thoughts: list[str]) -> None:
    case = TestCase(turns=(turn("?", call(name, {"thought": "Refund A-1?"}, ""), answer("No.")),))
    script = [*(calls((name, {"thought": thought})) for thought in thoughts), says("No.")]

    assert replay(case, ports(scripted(*script))).status == "passed"


def test_a_thought_that_writes_is_compared() -> None:
    case = TestCase(turns=(turn("?", call("think", {"thought": "a"}, ""), answer("No.")),), tools=WRITES)

    assert replay(case, ports(scripted(calls(("think", {"thought": "b"})), says("No.")))).status == "failed"


@pytest.mark.parametrize(
    ("produced", "status"),
    [
        ({"id": 7, "idempotencyKey": "3c9e8f71-42d6-4b8a-a1f0-5d2e7b6c0a94"}, "passed"),
        ({"id": 8, "idempotencyKey": "3c9e8f71-42d6-4b8a-a1f0-5d2e7b6c0a94"}, "failed"),
        ({"id": 7, "idempotencyKey": "0a52b6f9-c3e1-4d74-8f29-7b90e4d1a338", "force": True}, "failed"),
    ],
)
def test_an_id_that_the_caller_makes_for_each_call_is_left_to_a_judge(produced: object, status: str) -> None:
    recorded = {"id": 7, "idempotencyKey": "0a52b6f9-c3e1-4d74-8f29-7b90e4d1a338"}
    case = TestCase(turns=(turn("Pay", call("pay", recorded, "ok"), answer("Done")),))
    script = calls(("pay", produced)), says("Done")

    assert replay(case, ports(scripted(*script), judge=FakeJudge(lambda *_: "passed"))).status == status
    without = replay(replace(case, judge="never"), ports(scripted(*script)))
    assert without.status == ("needs_review" if status == "passed" else status)


def test_a_call_that_only_reported_a_failure_is_demanded_if_the_tool_never_succeeded() -> None:
    case = TestCase(turns=(turn("?", call("get_order", {"id": "9"}, {"error": "no such order"}), answer("None.")),))

    assert replay(case, ports(scripted(says("None.")))).status == "failed"


def test_a_disabled_step_is_ignored_whatever_happens() -> None:
    case = TestCase(turns=(turn("?", call("get", 1, enabled=False), answer("x"), answer("y", answer="ignore")),))

    result = replay(case, ports(scripted(calls(("get", 2)), says("x"))))

    assert result.status == "passed"
    assert results(result) == [["ignored", "passed", "ignored"]]
    assert result.turns[0].steps[0].actual == {
        "name": "get",
        "arguments": 2,
        "result": '{"error": "tool unavailable for these arguments"}',
        "effect": "read",
        "answeredBy": "none",
    }


def test_later_turns_see_the_drafts_answers() -> None:
    case = TestCase(turns=(turn("Hi", answer("Hello")), turn("Bye", answer("Goodbye"))))
    model = scripted(says("Howdy"), says("Goodbye"))

    replay(case, ports(model))

    assert [message.text for message in model.asked[1][1]] == ["Hi", "Howdy", "Bye"]


def test_with_recorded_history_later_turns_see_the_recording() -> None:
    first = turn("Hi", call("f", {"n": 1}, [1]), answer("Hello"))
    case = TestCase(turns=(first, turn("Bye", answer("Goodbye"))), history="recorded")
    model = scripted(says("Howdy"), says("Goodbye"))

    result = replay(case, ports(model))

    assert [message.text for message in model.asked[1][1]] == ["Hi", "", "[1]", "Hello", "Bye"]
    assert model.asked[1][1][1].tool_calls[0].id == model.asked[1][1][2].tool_call_id
    assert results(result) == [["failed", "failed"], ["passed"]]


def test_turns_with_recorded_history_can_be_played_side_by_side() -> None:
    turns = tuple(turn(f"Q{n}", call("f", n, n), answer(f"A{n}")) for n in range(20))
    seen: list[tuple[int, int]] = []

    def script(_: int, messages: Sequence[Message]) -> Answer:
        n = sum(message.role == "user" for message in messages) - 1
        return says(f"A{n}") if messages[-1].role == "tool" else calls(("f", n))

    with ThreadPoolExecutor(4) as pool:
        result = replay(
            TestCase(turns=turns, history="recorded"),
            ports(FakeModel(script), progress=lambda done, total, _: seen.append((done, total))),
            pool.map,
        )

    assert result.status == "passed"
    assert [each.user for each in result.turns] == [f"Q{n}" for n in range(20)]
    assert max(seen) == (40, 40)


def test_a_call_the_recording_cannot_answer_stops_the_replay() -> None:
    turns = turn("?", call("a"), call("b"), answer("x")), turn("??", answer("y"))
    case = TestCase(turns=turns, on_missing="stop")

    result = replay(case, ports(scripted(calls(("a", {}), ("other", {})))))

    assert (result.status, result.stop_reason) == ("failed", "missing_result")
    assert results(result) == [["passed", "not_run", "not_run"], ["not_run"]]
    assert "other" in str(result.turns[0].steps[1].reason)
    assert [step.name for step in result.turns[0].extra] == ["other"]


def test_or_the_model_reads_that_the_tool_is_unavailable() -> None:
    case = TestCase(turns=(turn("?", answer("x")),))
    model = scripted(calls(("get_other", {})), says("x"))

    assert replay(case, ports(model)).status == "passed"
    assert json.loads(model.asked[1][1][-1].text) == {"error": "tool unavailable for these arguments"}


@pytest.mark.parametrize(("recorded_calls", "limit"), [(0, 8), (1, 8), (4, 8), (5, 10), (20, 40)])
def test_a_model_that_never_answers_meets_the_step_limit(recorded_calls: int, limit: int) -> None:
    case = TestCase(turns=(turn("?", *(call("f", n) for n in range(recorded_calls)), answer("x")),), on_missing="error")
    model = FakeModel(lambda n, _: calls(("f", 0)))

    result = replay(case, ports(model))

    assert len(model.asked) == limit
    assert (result.status, result.stop_reason) == ("failed", "step_limit")
    assert result.turns[0].steps[-1].result == "failed"


def test_a_model_that_calls_too_much_at_once_meets_it_too() -> None:
    case = TestCase(turns=(turn("?", answer("x")),), on_missing="error")
    model = FakeModel(lambda n, _: calls(*[("f", 0)] * 1_000))

    assert replay(case, ports(model)).stop_reason == "step_limit"
    assert len(model.asked) == 1


def test_a_provider_that_fails_is_an_error_that_keeps_what_there_is() -> None:
    def script(n: int, _: Sequence[Message]) -> Answer:
        if n == 2:
            raise ProviderError("overloaded")
        return [says("Hello"), calls(("f", {}))][n]

    case = TestCase(turns=(turn("Hi", answer("Hello")), turn("Go", call("f"), answer("x")), turn("Bye", answer("y"))))

    result = replay(case, ports(FakeModel(script)))

    assert (result.status, result.stop_reason, result.error) == ("error", "provider_error", "overloaded")
    assert results(result) == [["passed"], ["passed", "not_run"], ["not_run"]]
    assert result.tokens.prompt == 20


def test_a_replay_is_cancelled_before_the_next_call() -> None:
    model = FakeModel(lambda n, _: calls(("f", {})))
    case = TestCase(turns=(turn("Hi", call("f"), answer("x")), turn("Bye", answer("y"))))

    result = replay(case, ports(model, cancelled=lambda: len(model.asked) == 1))

    assert (result.status, result.stop_reason) == ("cancelled", "cancelled")
    assert results(result) == [["passed", "not_run"], ["not_run"]]
    assert len(model.asked) == 1


def test_a_turn_without_the_user_s_text_cannot_be_played() -> None:
    case = TestCase(turns=(turn(None, answer("x")), turn("Bye", answer("y"))))

    result = replay(case, ports(scripted()))

    assert (result.status, result.stop_reason) == ("failed", "no_user_text")
    assert results(result) == [["not_run"], ["not_run"]]
    assert result.turns[0].steps[0].reason == "the message of the user was not recorded"


def test_with_recorded_history_only_that_turn_is_lost() -> None:
    case = TestCase(turns=(turn(None, answer("x")), turn("Bye", answer("y"))), history="recorded")
    model = scripted(says("y"))

    result = replay(case, ports(model))

    assert (result.status, results(result)) == ("failed", [["not_run"], ["passed"]])
    assert [message.text for message in model.asked[0][1]] == ["Bye"]


def test_turns_that_were_cut_off_are_not_run_and_do_not_fail() -> None:
    case = TestCase(
        turns=(turn("Hi", answer("x")), turn("Bye", answer("y"), answer("z", enabled=False))), included_turns=1
    )

    result = replay(case, ports(scripted(says("x"))))

    assert result.status == "passed"
    assert results(result) == [["passed"], ["not_run", "ignored"]]
    assert result.turns[1].steps[0].reason == "its turn was cut off"


def test_placeholder_values_that_no_longer_exist_are_drift() -> None:
    recorded = {"tone": "formal", "language": "en"}
    case = TestCase(turns=(turn("?", answer("x"), placeholders=recorded),))

    result = replay(case, ports(scripted(says("x")), draft=FakeDraft(values={"language": ["en"]})))

    assert result.drift == Drift(placeholders={"tone": "formal"})
    assert result.status == "passed"


def test_the_judge_decides_ai_checks_and_is_asked_once_a_turn() -> None:
    judge = FakeJudge(lambda expected, actual: "failed" if "wrong" in actual else "passed")
    case = TestCase(
        turns=(turn("Q1", answer("A", answer="ai")), turn("Q2", answer("B", answer="ai", value="is polite"))),
        assertion_value="means the same",
    )

    result = replay(case, ports(scripted(says("right"), says("wrong")), judge=judge))

    asked = [(turn.user, step.assertion, step.recorded, step.produced) for turn in judge.turns for step in turn.steps]
    assert asked == [("Q1", "means the same", "A", "right"), ("Q2", "is polite", "B", "wrong")]
    assert results(result) == [["passed"], ["failed"]]
    assert result.turns[1].steps[0].reason == "because"
    assert (result.tokens.prompt, result.judge_tokens.prompt) == (20, 6)


def test_a_judge_that_fails_leaves_the_step_to_review() -> None:
    class Failing:
        def judge_turn(self, turn: JudgedTurn) -> TurnJudgement:
            raise ProviderError("no credit")

    case = TestCase(turns=(turn("?", answer("A", answer="ai")),))

    result = replay(case, ports(scripted(says("A")), judge=Failing()))

    assert (result.status, results(result)) == ("needs_review", [["needs_review"]])
    assert result.turns[0].steps[0].reason == "the judge failed: no credit"


def test_a_manual_check_waits_for_a_person_but_a_failure_is_one() -> None:
    case = TestCase(turns=(turn("?", call("f", 1), answer("A", answer="manual")),))

    waiting = replay(case, ports(scripted(calls(("f", 1)), says("B"))))
    failing = replay(case, ports(scripted(says("B"))))

    assert (waiting.status, results(waiting)) == ("needs_review", [["passed", "needs_review"]])
    assert (failing.status, results(failing)) == ("failed", [["failed", "needs_review"]])


def test_malformed_arguments_are_answered_and_shown_as_they_came() -> None:
    case = TestCase(turns=(turn("?", call("f", {"q": "x"}), answer("y")),))

    result = replay(case, ports(scripted(calls(("f", '{"q": "x')), says("y"))))

    assert results(result) == [["failed", "passed"]]
    assert result.turns[0].steps[0].actual["arguments"] == '{"q": "x'


def test_a_refusal_is_the_answer() -> None:
    case = TestCase(turns=(turn("?", answer("x")),))

    result = replay(case, ports(scripted(says("", finish_reason="refused", refusal="I can't."))))

    assert result.turns[0].steps[0].actual == "I can't."


def test_progress_counts_recorded_steps_and_brings_finished_turns() -> None:
    seen: list[tuple[int, int, TurnResult | None]] = []
    case = TestCase(
        turns=(turn("Hi", call("f"), answer("x")), turn("Bye", answer("y")), turn("", answer("z"))), included_turns=2
    )

    result = replay(
        case,
        ports(scripted(calls(("f", {})), says("x"), says("y")), progress=lambda *each: seen.append(each)),
    )

    assert seen == [(1, 3, None), (2, 3, result.turns[0]), (3, 3, result.turns[1])]


def test_big_and_odd_values_go_through_unharmed() -> None:
    big = {"é\x00🙂": "x" * 200_000}
    case = TestCase(turns=(turn("?", call("f", big, big), answer("\x00" * 1_000)),))
    model = scripted(calls(("f", dict(big))), says("\x00" * 1_000))

    assert replay(case, ports(model)).status == "passed"
    assert json.loads(model.asked[1][1][-1].text) == big


SEAT_1, SEAT_2 = {"seat": 1}, {"seat": 2}


def test_a_recorded_write_that_was_refused_may_be_left_out_and_may_come() -> None:
    refused, booked = call("book", SEAT_1, error="taken"), call("book", SEAT_2, "ok")
    case = TestCase(turns=(turn("Book", refused, booked, answer("Done.")),))

    right_at_once = replay(case, ports(scripted(calls(("book", SEAT_2)), says("Done."))))
    as_recorded = replay(case, ports(scripted(calls(("book", SEAT_1)), calls(("book", SEAT_2)), says("Done."))))
    gives_up = replay(case, ports(scripted(calls(("book", SEAT_1)), says("Done."))))
    another = replay(case, ports(scripted(calls(("book", {"seat": 3})), says("Done."))))

    assert (right_at_once.status, results(right_at_once)) == ("passed", [["ignored", "passed", "passed"]])
    assert [step.required for step in right_at_once.turns[0].steps] == [False, True, True]
    assert (as_recorded.status, results(as_recorded)) == ("passed", [["passed", "passed", "passed"]])
    assert (gives_up.status, results(gives_up)) == ("failed", [["passed", "failed", "passed"]])
    assert [violation.kind for violation in another.violations] == ["unanswered_write"]
    assert "seat is 3, recorded was 2" in another.violations[0].message


def test_a_read_that_repeats_one_of_its_turn_may_be_left_out() -> None:
    case = TestCase(turns=(turn("?", call("get", 1, "a"), call("get", 1, "b"), call("get", 2, "c"), answer("x")),))

    result = replay(case, ports(scripted(calls(("get", 1)), calls(("get", 2)), says("x"))))

    assert (result.status, results(result)) == ("passed", [["passed", "ignored", "passed", "passed"]])
    assert result.turns[0].steps[1].reason == "It was left out, which is allowed: it repeats a read of this turn."


def test_calls_are_paired_with_what_they_are_closest_to_and_never_by_place() -> None:
    steps = call("run", {"command": "git commit -m x"}, "ok"), answer("Done.")
    case = TestCase(turns=(turn("Commit", *steps),))
    script = calls(("run", {"command": "git status"})), calls(("run", {"command": "git commit -m x"})), says("Done.")

    result = replay(case, ports(scripted(*script)))

    assert (result.status, result.violations) == ("passed", ())
    assert [(step.arguments, step.effect) for step in result.turns[0].extra if isinstance(step, ProducedCall)] == [
        ({"command": "git status"}, "read")
    ]


def test_another_query_does_not_get_the_place_of_a_recorded_one() -> None:
    recorded = [call("search", {"query": text}, text) for text in ("refund rules for parcels", "opening hours")]
    case = TestCase(turns=(turn("?", *recorded, answer("x")),))
    asked = "hours of opening today", "rules for refund of parcels", "opening hours"
    judge = FakeJudge(lambda expected, actual: "passed")

    result = replay(case, ports(scripted(*(calls(("search", {"query": q})) for q in asked), says("x")), judge=judge))

    assert results(result) == [["passed", "passed", "passed"]]
    [question] = judge.asked
    assert (question.step, question.recorded) == (0, '{"query": "refund rules for parcels"}')
    assert question.produced == '{"query": "rules for refund of parcels"}'
    [extra] = result.turns[0].extra
    assert isinstance(extra, ProducedCall)
    assert extra.arguments == {"query": "hours of opening today"}


def test_a_turn_asks_the_judge_once_with_all_that_it_needs() -> None:
    steps = call("send", {"body": "Your order is on its way."}), answer("I have sent it.", answer="meaning")
    case = TestCase(turns=(turn("Hi", answer("Hello.")), turn("Tell them", *steps)))
    judge = FakeJudge(lambda expected, actual: "passed")
    script = says("Hello."), calls(("send", {"body": "The order was shipped."})), says("It is sent.")

    result = replay(case, ports(scripted(*script), judge=judge))

    [asked] = judge.turns
    assert [(step.step, step.kind, step.tool) for step in asked.steps] == [
        (0, "arguments", "send"),
        (1, "answer", None),
    ]
    assert asked.steps[0].evidence.differences == ("/body: other words",)
    assert (asked.instruction, asked.user) == ("Be helpful []", "Tell them")
    assert [message.text for message in asked.conversation] == ["Hi", "Hello."]
    assert [(call.name, call.result) for call in asked.calls] == [("send", "ok")]
    assert (result.status, {step.decided_by for step in result.turns[1].steps}) == ("passed", {"judge"})


def of_order(recorded: str, said: str, aside: str, judge: FakeJudge, **more: object) -> ReplayResult:
    case = TestCase(
        turns=(turn("Where is A-1?", call("get_order", {"id": "A-1"}, {"day": 5}), answer(recorded, answer="meaning")),)
    )
    script = calls(("get_order", {"id": "A-1"}), text=aside), says(said)
    return replay(case, ports(scripted(*script), judge=judge, **more))


@pytest.mark.parametrize("aside", ["We also pay you 400 EUR.", "Ask Bob: bob@shop.example"])
def test_what_a_draft_writes_next_to_its_calls_is_judged_with_its_answer(aside: str) -> None:
    judge = FakeJudge(lambda expected, actual: "failed" if aside in actual else "passed")

    assert of_order("It comes.", "It arrives.", aside, judge).status == "failed"
    assert of_order("It comes.", "It comes.", aside, judge).status == "failed"
    assert of_order('{"day": 5}', '{"day": 5}', aside, judge).status == "failed"
    assert judge.asked[0].produced == f"{aside}\n\nIt arrives."


def test_words_without_values_next_to_calls_make_no_question_of_an_equal_answer() -> None:
    judge = FakeJudge(lambda expected, actual: "failed")

    assert of_order("It comes.", "It comes.", "Let me look up A-1.", judge).status == "passed"
    assert judge.asked == []


def with_recorded_aside(recorded: str) -> TestCase:
    first = answer("I pay you 400 EUR.", enabled=False)
    return TestCase(
        turns=(turn("Where is A-1?", first, call("get_order", {"id": "A-1"}), answer(recorded, answer="meaning")),)
    )


def test_a_draft_that_writes_next_to_its_calls_what_the_recording_has_there_passes_without_a_judge() -> None:
    script = calls(("get_order", {"id": "A-1"}), text="I pay you  400 EUR."), says("It comes.")
    assert replay(with_recorded_aside("It comes."), ports(scripted(*script), judge=None)).status == "passed"


def test_other_words_with_the_recorded_values_next_to_calls_make_no_question_of_an_equal_answer() -> None:
    script = calls(("get_order", {"id": "A-1"}), text="You get 400 EUR."), says("It comes.")
    assert replay(with_recorded_aside("It comes."), ports(scripted(*script), judge=None)).status == "passed"


def test_a_judge_reads_what_both_wrote_next_to_their_calls() -> None:
    judge = FakeJudge(lambda expected, actual: "passed")
    script = calls(("get_order", {"id": "A-1"}), text="You get 400 EUR."), says("It arrives.")

    replay(with_recorded_aside("It comes."), ports(scripted(*script), judge=judge))

    asked = judge.asked[0]
    assert (asked.recorded, asked.produced) == ("I pay you 400 EUR.\n\nIt comes.", "You get 400 EUR.\n\nIt arrives.")


def test_a_reader_of_json_gets_no_words_next_to_calls() -> None:
    judge = FakeJudge(lambda expected, actual: "passed")

    of_order('{"text": "It comes."}', '{"text": "It arrives."}', "Let me look.", judge)

    assert [step.produced for step in judge.asked] == ['{"text": "It arrives."}']


def test_the_user_of_a_program_does_not_read_what_its_models_write_next_to_calls() -> None:
    judge = FakeJudge(lambda expected, actual: "passed")

    of_order("It comes.", "It arrives.", "Pay 400 EUR.", judge, replies=StoredReplies())

    assert [step.produced for step in judge.asked] == ["It arrives."]


def test_an_answer_that_is_cut_off_fails_without_a_question() -> None:
    judge = FakeJudge(lambda expected, actual: "passed")
    case = TestCase(turns=(turn("?", answer("It is 5.", answer="meaning")),))

    result = replay(case, ports(scripted(says("It is 5", finish_reason="length")), judge=judge))

    [step] = result.turns[0].steps
    assert (step.result, step.decided_by, step.reason) == ("failed", "rule", "NOK: length")
    assert judge.turns == []
