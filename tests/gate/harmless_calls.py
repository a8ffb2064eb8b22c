"""Harmless variations of what a draft calls: each function yields scenes that must pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from app.chat import ToolDefinition
from tests.gate.changes import Scenes, altered, given, reads, set_round, with_call, with_round, writes
from tests.gate.scenes import Call, Round, Scene, calls_of

QUERIES = {
    "leave first year": "annual leave in the first year of employment",
    "carry over unused leave": "unused leave carried into next year",
}
BODIES = {
    "We refunded 89.90 EUR for order 1042 (R-77).": "Hello,\n\nyour refund R-77 over €89.90 for order 1042 is coming.",
    "Hello Maria, we refunded $1,299.00 for order A-1042. Your receipt is RF-88213. Best wishes, the shop": (
        "Dear Maria,\n\nUSD 1,299 were refunded for your order A-1042; the receipt is RF-88213.\n\nKind regards"
    ),
}
OTHER_TEXTS = {
    "Your refund": "We refunded your order",
    "Refund of order A-1042": "Order A-1042: your refund",
    "The laptop never came.": "Laptop was not delivered",
}


def repeats_the_recording(scene: Scene) -> Scenes:
    yield scene


def reorders_parallel_reads(scene: Scene) -> Scenes:
    return rounds_changed(scene, lambda calls: (tuple(reversed(calls)),) if all_reads(scene, calls) else (calls,))


def asks_reads_one_by_one(scene: Scene) -> Scenes:
    return rounds_changed(
        scene, lambda calls: tuple((call,) for call in calls) if all_reads(scene, calls) else (calls,)
    )


def asks_reads_one_by_one_in_another_order(scene: Scene) -> Scenes:
    def one_by_one(calls: Round) -> tuple[Round, ...]:
        return tuple((call,) for call in reversed(calls)) if all_reads(scene, calls) else (calls,)

    return rounds_changed(scene, one_by_one)


def asks_the_reads_of_two_rounds_at_once(scene: Scene) -> Scenes:
    for turn, said in enumerate(scene.turns):
        for number, (one, two) in enumerate(pairwise(said.rounds)):
            if all_reads(scene, one) and all_reads(scene, two):
                rounds = (*said.rounds[:number], (*one, *two), *said.rounds[number + 2 :])
                yield scene.with_turn(turn, rounds=rounds)


def asks_the_reads_of_a_turn_in_reverse(scene: Scene) -> Scenes:
    for turn, said in enumerate(scene.turns):
        if len(said.rounds) > 1 and all(all_reads(scene, calls) for calls in said.rounds):
            yield scene.with_turn(turn, rounds=tuple(reversed(said.rounds)))


def asks_parallel_writes_in_another_order(scene: Scene) -> Scenes:
    return rounds_changed(scene, lambda calls: (tuple(reversed(calls)),) if all_writes(scene, calls) else (calls,))


def asks_parallel_writes_one_by_one(scene: Scene) -> Scenes:
    return rounds_changed(
        scene, lambda calls: tuple((call,) for call in calls) if all_writes(scene, calls) else (calls,)
    )


def repeats_a_read(scene: Scene) -> Scenes:
    return (with_round(scene, turn, number + 1, call) for turn, number, _, call in reads(scene))


def repeats_a_read_beside_itself(scene: Scene) -> Scenes:
    return (with_call(scene, place, place[3], beside=True) for place in reads(scene))


def repeats_a_read_at_the_end_of_its_turn(scene: Scene) -> Scenes:
    return (with_round(scene, turn, len(scene.turns[turn].rounds), call) for turn, _, _, call in reads(scene))


def repeats_a_read_a_turn_later(scene: Scene) -> Scenes:
    for turn, _, _, call in reads(scene):
        if turn + 1 < len(scene.turns):
            yield with_round(scene, turn + 1, 0, call)


def reads_a_turn_early_and_again(scene: Scene) -> Scenes:
    return (with_round(scene, turn - 1, 0, call) for turn, _, _, call in reads(scene) if turn)


def reads_something_else_too(scene: Scene) -> Scenes:
    return (with_round(scene, turn, 0, Call("get_help", {"topic": "shop"})) for turn in range(len(scene.turns)))


def tries_a_read_with_other_arguments_first(scene: Scene) -> Scenes:
    for turn, number, _, call in reads(scene):
        yield with_round(scene, turn, number, Call(call.name, {"unknown": True}))


def reads_again_after_it_wrote(scene: Scene) -> Scenes:
    for turn, number, _, _ in writes(scene):
        earlier = [call for at, _, _, call in reads(scene) if at <= turn]
        if earlier:
            yield with_round(scene, turn, number + 1, earlier[-1])


def says_something_beside_its_calls(scene: Scene) -> Scenes:
    turns = tuple(replace(said, aside="Let me look that up for you.") for said in scene.turns)
    if any(said.rounds for said in scene.turns):
        yield replace(scene, turns=turns)


def orders_the_keys_of_arguments_anew(scene: Scene) -> Scenes:
    return rewritten(scene, lambda call: Call(call.name, dict(reversed(call.arguments.items()))))


def writes_numbers_in_another_form(scene: Scene) -> Scenes:
    for place in calls_of(scene):
        for call in altered(place[3], other_number):
            yield with_call(scene, place, call)


def rewords_a_search(scene: Scene) -> Scenes:
    for place in reads(scene):
        if query := QUERIES.get(place[3].arguments.get("query")):
            yield with_call(scene, place, given(place[3], {"query": query}))


def rewords_the_body_of_a_message(scene: Scene) -> Scenes:
    for place in writes(scene):
        if body := BODIES.get(place[3].arguments.get("body")):
            yield with_call(scene, place, given(place[3], {"body": body}))


def rewords_a_subject_or_a_note(scene: Scene) -> Scenes:
    for place in writes(scene):
        for call in altered(place[3], lambda value: isinstance(value, str) and OTHER_TEXTS.get(value)):
            yield with_call(scene, place, call)


def has_a_tool_more(scene: Scene) -> Scenes:
    yield replace(scene, tools=(*scene.tools, ToolDefinition("get_weather_report", parameters={"type": "object"})))


def describes_its_tools_anew(scene: Scene) -> Scenes:
    yield replace(scene, tools=tuple(replace(tool, description="Described anew.") for tool in reversed(scene.tools)))


VARIATIONS: tuple[Callable[[Scene], Scenes], ...] = (
    repeats_the_recording,
    reorders_parallel_reads,
    asks_reads_one_by_one,
    asks_reads_one_by_one_in_another_order,
    asks_the_reads_of_two_rounds_at_once,
    asks_the_reads_of_a_turn_in_reverse,
    asks_parallel_writes_in_another_order,
    asks_parallel_writes_one_by_one,
    repeats_a_read,
    repeats_a_read_beside_itself,
    repeats_a_read_at_the_end_of_its_turn,
    repeats_a_read_a_turn_later,
    reads_a_turn_early_and_again,
    reads_something_else_too,
    tries_a_read_with_other_arguments_first,
    reads_again_after_it_wrote,
    says_something_beside_its_calls,
    orders_the_keys_of_arguments_anew,
    writes_numbers_in_another_form,
    rewords_a_search,
    rewords_the_body_of_a_message,
    rewords_a_subject_or_a_note,
    has_a_tool_more,
    describes_its_tools_anew,
)


def all_reads(scene: Scene, calls: Round) -> bool:
    return not any(scene.is_write(call.name) for call in calls)


def all_writes(scene: Scene, calls: Round) -> bool:
    return all(scene.is_write(call.name) for call in calls)


def rounds_changed(scene: Scene, change: Callable[[Round], tuple[Round, ...]]) -> Scenes:
    """A scene for each turn in which the change makes other rounds."""
    for turn, said in enumerate(scene.turns):
        rounds = tuple(other for calls in said.rounds for other in change(calls))
        if rounds != said.rounds:
            yield scene.with_turn(turn, rounds=rounds)


def rewritten(scene: Scene, change: Callable[[Call], Call]) -> Iterator[Scene]:
    """The scene with every call changed; none if there are no arguments."""
    changed = scene
    for turn, said in enumerate(scene.turns):
        for number, calls in enumerate(said.rounds):
            changed = set_round(changed, turn, number, tuple(map(change, calls)))
    if any(call.arguments for _, _, _, call in calls_of(scene)):
        yield changed


def other_number(value: object) -> float | None:
    """20 as 20.0, 1299.0 as 1299."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if isinstance(value, float) and value.is_integer() else float(value)
