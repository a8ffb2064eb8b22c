from __future__ import annotations

from typing import Any

from app.chat import ToolCall
from app.replay.engine import Recording
from tests.unit.replay.fakes import answer, call, turn


def look_up(recording: Recording, *named: tuple[str, Any]) -> list[Any]:
    found = recording.look_up([ToolCall("", name, arguments) for name, arguments in named])
    return [step and step.result for step in found]


def test_equal_arguments_win_over_the_order_of_the_recording() -> None:
    recording = Recording([turn("?", call("get", {"n": 1}, "one"), call("get", {"n": 2}, "two"))], 0)

    assert look_up(recording, ("get", {"n": 2.0})) == ["two"]
    assert look_up(recording, ("get", {"n": 1})) == ["one"]


def test_key_order_and_number_form_do_not_matter_but_true_is_not_one() -> None:
    steps = call("get", {"a": True}, "bool"), call("get", {"a": 1, "b": 2}, "number")
    recording = Recording([turn("?", *steps)], 0)

    assert look_up(recording, ("get", {"b": 2, "a": 1.0})) == ["number"]


def test_other_arguments_get_the_next_unused_call_of_the_name() -> None:
    recording = Recording([turn("?", call("a", 0, "a"), call("get", 1, "one"), call("get", 2, "two"))], 0)

    assert look_up(recording, ("get", 7)) == ["one"]
    assert look_up(recording, ("get", 8)) == ["two"]
    assert look_up(recording, ("get", 9)) == [None]


def test_a_used_call_answers_again_when_asked_the_same() -> None:
    recording = Recording([turn("?", call("get", 1, "one"))], 0)

    assert [look_up(recording, ("get", 1)) for _ in range(3)] == [["one"]] * 3


def test_another_turn_of_the_session_answers_equal_arguments_alone() -> None:
    turns = [turn("?", call("get", 1, "one")), turn("?", answer("x")), turn("?", call("get", 3, "three"))]
    recording = Recording(turns, 1)

    assert look_up(recording, ("get", 1)) == ["one"]
    assert look_up(recording, ("get", 3)) == ["three"]
    assert look_up(recording, ("get", 2)) == [None]


def test_this_turn_answers_before_the_others() -> None:
    turns = [turn("?", call("get", 1, "then")), turn("?", call("get", 1, "now"))]

    assert look_up(Recording(turns, 1), ("get", 1)) == ["now"]


def test_calls_made_side_by_side_get_the_same_results_in_any_order() -> None:
    turns = [turn("?", call("get", 1, "one"), call("get", 2, "two"))]

    assert look_up(Recording(turns, 0), ("get", 9), ("get", 1)) == ["two", "one"]
    assert look_up(Recording(turns, 0), ("get", 1), ("get", 9)) == ["one", "two"]


def test_duplicates_are_each_used_once() -> None:
    recording = Recording([turn("?", call("get", 1, "first"), call("get", 1, "second"))], 0)

    assert look_up(recording, ("get", 1), ("get", 1)) == ["first", "second"]


def test_no_arguments_are_the_same_in_every_form() -> None:
    recording = Recording([turn("?", call("other", {}, "x"), call("now", None, "noon"))], 0)

    assert look_up(recording, ("now", {}), ("now", "")) == ["noon", "noon"]


def test_arguments_that_are_no_json_are_text() -> None:
    recording = Recording([turn("?", call("get", {"a": 1}, "json"), call("get", "{a: 1", "text"))], 0)

    assert look_up(recording, ("get", "{a: 1")) == ["text"]
