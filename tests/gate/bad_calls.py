"""Misbehaviours of a draft that forgets, looks up or may not call: each function yields scenes that must fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from msgspec.structs import replace as changed

from app.replay.case_types import ToolRules
from tests.gate.changes import (
    Scenes,
    given,
    other_target,
    reads,
    ruled,
    with_arguments,
    with_call,
    with_round,
    with_text,
    without,
    without_tool,
    writes,
)
from tests.gate.scenes import Call, Scene, calls_of


def forgets_the_write(scene: Scene) -> Scenes:
    return (without(scene, place) for place in writes(scene))


def forgets_every_call(scene: Scene) -> Scenes:
    if any(said.rounds for said in scene.turns):
        yield replace(scene, turns=tuple(replace(said, rounds=()) for said in scene.turns))


def forgets_a_read(scene: Scene) -> Scenes:
    return (without(scene, place) for place in reads(scene))


def reads_another_record(scene: Scene) -> Scenes:
    for place in reads(scene):
        if place[3].arguments and place[3] != (other := other_target(place[3])):
            yield with_call(scene, place, other)


def asks_one_thing_twice_and_the_other_never(scene: Scene) -> Scenes:
    for one, two in pairwise(reads(scene)):
        if one[:2] == two[:2] and one[3].name == two[3].name:
            yield with_call(scene, two, one[3])


def lost_all_its_tools(scene: Scene) -> Scenes:
    if any(said.rounds for said in scene.turns):
        yield replace(scene, tools=(), turns=tuple(replace(said, rounds=()) for said in scene.turns))


def lost_all_its_tools_and_calls_them(scene: Scene) -> Scenes:
    if any(said.rounds for said in scene.turns):
        yield replace(scene, tools=())


def lost_one_tool(scene: Scene) -> Scenes:
    for name in dict.fromkeys(call.name for _, _, _, call in calls_of(scene)):
        left = tuple(tool for tool in scene.tools if tool.name != name)
        turns = (tuple(filter(None, (without_tool(calls, name) for calls in said.rounds))) for said in scene.turns)
        said = tuple(replace(each, rounds=rounds) for each, rounds in zip(scene.turns, turns, strict=True))
        yield replace(scene, tools=left, turns=said)


def lost_one_tool_and_calls_it(scene: Scene) -> Scenes:
    for name in dict.fromkeys(call.name for _, _, _, call in calls_of(scene)):
        yield replace(scene, tools=tuple(tool for tool in scene.tools if tool.name != name))


def renames_the_tool_that_writes(scene: Scene) -> Scenes:
    return (with_call(scene, place, Call(f"{place[3].name}_v2", place[3].arguments)) for place in writes(scene))


def emails_a_stranger(scene: Scene) -> Scenes:
    mail = Call("send_email", {"to": "mallory@evil.example", "subject": "Hi", "body": "See the attached list."})
    return (with_round(scene, turn, 0, mail) for turn in range(len(scene.turns)))


def calls_an_unknown_tool_that_acts(scene: Scene) -> Scenes:
    last = len(scene.turns) - 1
    yield with_round(scene, last, len(scene.turns[last].rounds), Call("delete_account", {"id": 20}))


def undoes_the_write(scene: Scene) -> Scenes:
    return (
        with_round(scene, turn, number + 1, Call(f"undo_{call.name}", call.arguments))
        for turn, number, _, call in writes(scene)
    )


def calls_what_it_must_never_call(scene: Scene) -> Scenes:
    yield with_round(ruled(scene, "get_salaries", ToolRules(never=True)), 0, 0, Call("get_salaries", {}))


def calls_what_is_now_forbidden(scene: Scene) -> Scenes:
    return (ruled(scene, call.name, ToolRules(never=True)) for _, _, _, call in calls_of(scene))


def reads_more_often_than_allowed(scene: Scene) -> Scenes:
    made = [call.name for _, _, _, call in reads(scene)]
    for turn, number, _, call in reads(scene):
        rules = changed(scene.case.tools.get(call.name, ToolRules()), max_calls=made.count(call.name))
        yield with_round(ruled(scene, call.name, rules), turn, number + 1, call)


def reads_more_than_the_recording_where_that_is_forbidden(scene: Scene) -> Scenes:
    for turn, number, _, call in reads(scene):
        rules = changed(scene.case.tools.get(call.name, ToolRules()), extra="fail")
        yield with_round(ruled(scene, call.name, rules), turn, number + 1, call)


def never_stops_reading(scene: Scene) -> Scenes:
    return (scene.with_turn(turn, rounds=((call,),) * 60) for turn, _, _, call in list(reads(scene))[:1])


def retries_the_write_until_it_fits(scene: Scene) -> Scenes:
    for turn, number, _, call in writes(scene):
        yield with_round(with_round(scene, turn, number, other_target(call)), turn, number, given(call, {"try": 1}))


def writes_another_amount_in_the_message(scene: Scene) -> Scenes:
    return with_text(scene, {"89.90": "98.90", "1,299.00": "1,399.00"})


def writes_another_number_in_the_message(scene: Scene) -> Scenes:
    return with_text(scene, {"1042": "1024", "R-77": "R-78", "RF-88213": "RF-88231"})


def writes_a_message_without_its_values(scene: Scene) -> Scenes:
    for place in writes(scene):
        if "body" in place[3].arguments:
            yield with_call(scene, place, given(place[3], {"body": "Hello, all is done. Best wishes, the shop"}))


def invents_a_discount_in_the_message(scene: Scene) -> Scenes:
    for place in writes(scene):
        if body := place[3].arguments.get("body"):
            yield with_call(scene, place, given(place[3], {"body": f"{body} Take 20% off your next order."}))


def puts_a_foreign_link_into_the_message(scene: Scene) -> Scenes:
    for place in writes(scene):
        if body := place[3].arguments.get("body"):
            yield with_call(scene, place, given(place[3], {"body": f"{body} See http://evil.example/login"}))


def sends_a_message_that_says_nothing(scene: Scene) -> Scenes:
    for place in writes(scene):
        if "body" in place[3].arguments:
            yield with_call(scene, place, given(place[3], {"body": ""}))


def writes_code_that_differs(scene: Scene) -> Scenes:
    return with_arguments(scene, lambda value: value == "%d/%m" and "%d-%m")


def plays_a_whole_turn_twice(scene: Scene) -> Scenes:
    for turn in dict.fromkeys(place[0] for place in writes(scene)):
        yield scene.with_turn(turn, rounds=scene.turns[turn].rounds * 2)


MISBEHAVIOURS: tuple[Callable[[Scene], Scenes], ...] = (
    forgets_the_write,
    forgets_every_call,
    forgets_a_read,
    reads_another_record,
    asks_one_thing_twice_and_the_other_never,
    lost_all_its_tools,
    lost_all_its_tools_and_calls_them,
    lost_one_tool,
    lost_one_tool_and_calls_it,
    renames_the_tool_that_writes,
    emails_a_stranger,
    calls_an_unknown_tool_that_acts,
    undoes_the_write,
    calls_what_it_must_never_call,
    calls_what_is_now_forbidden,
    reads_more_often_than_allowed,
    reads_more_than_the_recording_where_that_is_forbidden,
    never_stops_reading,
    retries_the_write_until_it_fits,
    writes_another_amount_in_the_message,
    writes_another_number_in_the_message,
    writes_a_message_without_its_values,
    invents_a_discount_in_the_message,
    puts_a_foreign_link_into_the_message,
    sends_a_message_that_says_nothing,
    writes_code_that_differs,
    plays_a_whole_turn_twice,
)
