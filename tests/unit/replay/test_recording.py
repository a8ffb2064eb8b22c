"""The recorded calls that answer a draft's."""

from typing import Any

from app.chat import ToolCall
from app.replay.case_types import CaseTurn, ToolRules
from app.replay.checks import Checker
from app.replay.effects import resolve
from app.replay.recording import RecordedCalls, Recording
from app.replay.text_reader import TextReader
from app.replay.texts.sources import Sources
from app.values.budget import WorkBudget
from tests.unit.replay.fakes import answer, call, turn


def recording_of(*turns: CaseTurn, at: int = 0) -> Recording:
    return Recording(RecordedCalls(turns), turns[at].steps, at, Checker({}, Sources))


def look_up(recording: Recording, *named: tuple[str, Any], **rules: Any) -> list[Any]:
    asked = [
        (ToolCall("", name, arguments), resolve(name, ToolRules(**rules), None, None)) for name, arguments in named
    ]
    keys = recording.keys_of([call for call, _ in asked])
    replies = recording.answer_calls(asked, [True] * len(asked), keys)
    return [(reply.step.result, reply.answered_by) if reply.step else None for reply in replies]


def test_equal_arguments_are_answered_whatever_their_order() -> None:
    recording = recording_of(turn("?", call("get", {"n": 1}, "one"), call("get", {"n": 2}, "two")))

    assert look_up(recording, ("get", {"n": 2.0})) == [("two", "recording")]
    assert look_up(recording, ("get", {"n": 1})) == [("one", "recording")]


def test_key_order_and_number_form_do_not_matter_but_true_is_not_one() -> None:
    steps = call("get", {"a": True}, "bool"), call("get", {"a": 1, "b": 2}, "number")

    assert look_up(recording_of(turn("?", *steps)), ("get", {"b": 2, "a": 1.0})) == [("number", "recording")]


def test_other_arguments_are_answered_only_where_the_check_accepts_them() -> None:
    recording = recording_of(turn("?", call("get", 1, "one"), call("get", {"n": 2}, "two", arguments="subset")))

    assert look_up(recording, ("get", 7)) == [None]
    assert look_up(recording, ("get", {"n": 2, "page": 3})) == [("two", "recording")]


def test_a_read_is_answered_again_and_a_write_is_not() -> None:
    recording = recording_of(turn("?", call("get", 1, "one"), call("pay", 1, "paid")))

    assert [look_up(recording, ("get", 1)) for _ in range(3)] == [[("one", "recording")]] * 3
    assert [look_up(recording, ("pay", 1)) for _ in range(2)] == [[("paid", "recording")], [None]]
    assert look_up(recording, ("pay", 1), extra="allow") == [("paid", "recording")]
    assert look_up(recording, ("pay", 2), extra="allow") == [None]


def test_another_turn_answers_reads_with_equal_arguments() -> None:
    turns = turn("?", call("get", 1, "one"), call("pay", 1, "paid")), turn("?", answer("x")), turn("?", call("get", 3))
    recording = recording_of(*turns, at=1)

    assert look_up(recording, ("get", 1)) == [("one", "borrowed")]
    assert look_up(recording, ("get", 3)) == [("ok", "borrowed")]
    assert look_up(recording, ("get", 2)) == [None]
    assert look_up(recording, ("pay", 1)) == [None]


def test_this_turn_answers_before_the_others() -> None:
    recording = recording_of(turn("?", call("get", 1, "then")), turn("?", call("get", 1, "now")), at=1)

    assert look_up(recording, ("get", 1)) == [("now", "recording")]


def test_calls_made_side_by_side_get_the_same_results_in_any_order() -> None:
    steps = call("get", {"n": 1}, "one", arguments="subset"), call("get", {"n": 1, "m": 2}, "two", arguments="subset")
    exact, loose = ("get", {"n": 1, "m": 2}), ("get", {"n": 1, "m": 9})

    assert look_up(recording_of(turn("?", *steps)), loose, exact) == [("one", "recording"), ("two", "recording")]
    assert look_up(recording_of(turn("?", *steps)), exact, loose) == [("two", "recording"), ("one", "recording")]


def test_duplicates_are_each_used_once() -> None:
    recording = recording_of(turn("?", call("pay", 1, "first"), call("pay", 1, "second")))

    assert look_up(recording, ("pay", 1), ("pay", 1)) == [("first", "recording"), ("second", "recording")]


def test_a_disabled_step_answers_equal_arguments_after_the_enabled_ones() -> None:
    steps = call("pay", 1, "off", enabled=False, arguments="ignore"), call("pay", 1, "on")
    recording = recording_of(turn("?", *steps))

    assert look_up(recording, ("pay", 1), ("pay", 1)) == [("on", "recording"), ("off", "recording")]
    assert look_up(recording_of(turn("?", *steps)), ("pay", 2)) == [None]


def test_a_call_that_is_not_allowed_uses_up_no_answer_of_another() -> None:
    recording = recording_of(turn("?", call("pay", 1, "paid")))
    asked = [(ToolCall("", "pay", 1), resolve("pay", ToolRules(), None, None))] * 2

    replies = recording.answer_calls(asked, [False, True], recording.keys_of([pay for pay, _ in asked]))

    assert [reply.answered_by for reply in replies] == ["none", "recording"]


def test_a_call_that_is_too_long_to_compare_is_answered_for_a_person_to_compare() -> None:
    checker = Checker({}, Sources, reader=TextReader(WorkBudget(2_000)))
    recorded = turn("?", *(call("get", n, n, arguments={"": "number"}) for n in range(200)), call("get", -1, "exact"))
    recording = Recording(RecordedCalls([recorded]), recorded.steps, 0, checker)

    found = look_up(recording, ("get", 7), *(("get", 1_000 + n) for n in range(3)), ("pay", 1))

    assert found[0] == (7, "recording")
    assert all(reply[1] == "recording" for reply in found[1:4])
    assert recording.accepted[3] == (1 << 201) - 1, "each may be the call that was meant"
    assert found[4] is None


def test_no_arguments_are_the_same_in_every_form() -> None:
    recording = recording_of(turn("?", call("other", {}, "x"), call("now", None, "noon"), call("now", None, "noon")))

    assert look_up(recording, ("now", {}), ("now", "")) == [("noon", "recording")] * 2


def test_arguments_that_are_no_json_are_text() -> None:
    recording = recording_of(turn("?", call("get", {"a": 1}, "json"), call("get", "{a: 1", "text")))

    assert look_up(recording, ("get", "{a: 1")) == [("text", "recording")]


def test_the_nearest_is_the_next_one_that_has_answered_nothing() -> None:
    recording = recording_of(turn("?", call("get", 1, "one"), call("get", 2, "two")))
    look_up(recording, ("get", 1))

    found = [recording.next_unused_call("get") for _ in range(2)]

    assert [step and step.result for step in found] == ["two", None]
