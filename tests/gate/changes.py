"""Changes of the calls of a scene, of which behaviours are made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from msgspec.structs import replace as changed

from app.replay.case_types import ToolRules
from tests.gate.scenes import Call, Round, Scene, calls_of

WORDED_KEYS = frozenset(("query", "body", "message", "reason", "note", "subject", "summary"))
Scenes = Iterable[Scene]
Place = tuple[int, int, int, Call]


def writes(scene: Scene) -> Iterator[Place]:
    return (place for place in calls_of(scene) if scene.is_write(place[3].name))


def reads(scene: Scene) -> Iterator[Place]:
    return (place for place in calls_of(scene) if not scene.is_write(place[3].name))


def has_read_before(scene: Scene, place: Place) -> bool:
    turn, number = place[:2]
    earlier = scene.turns[turn].rounds[:number]
    return any(not scene.is_write(call.name) for calls in earlier for call in calls)


def set_round(scene: Scene, turn: int, number: int, calls: Round) -> Scene:
    rounds = scene.turns[turn].rounds
    return scene.with_turn(turn, rounds=tuple(filter(None, (*rounds[:number], calls, *rounds[number + 1 :]))))


def with_round(scene: Scene, turn: int, number: int, *calls: Call) -> Scene:
    """The scene with one more round, before that of the number."""
    rounds = scene.turns[turn].rounds
    return scene.with_turn(turn, rounds=(*rounds[:number], calls, *rounds[number:]))


def with_call(scene: Scene, place: Place, call: Call, *, beside: bool = False) -> Scene:
    """The scene with another call in a place, or with one more next to it."""
    turn, number, at, _ = place
    calls = scene.turns[turn].rounds[number]
    return set_round(scene, turn, number, (*calls[: at + beside], call, *calls[at + 1 :]))


def without(scene: Scene, place: Place) -> Scene:
    turn, number, at, _ = place
    calls = scene.turns[turn].rounds[number]
    return set_round(scene, turn, number, (*calls[:at], *calls[at + 1 :]))


def without_tool(calls: Round, name: str) -> Round:
    return tuple(call for call in calls if call.name != name)


def ruled(scene: Scene, name: str, rules: ToolRules) -> Scene:
    return replace(scene, case=changed(scene.case, tools={**scene.case.tools, name: rules}))


def given(call: Call, arguments: Mapping[str, Any]) -> Call:
    return Call(call.name, {**call.arguments, **arguments})


def altered(call: Call, change: Callable[[Any], Any]) -> Iterator[Call]:
    """The call with one value changed, for each that `change` returns something for."""
    for key, value in call.arguments.items():
        if other := change(value):
            yield given(call, {key: other})


def with_arguments(scene: Scene, change: Callable[[Any], Any]) -> Scenes:
    for place in writes(scene):
        yield from (with_call(scene, place, call) for call in altered(place[3], change))


def with_text(scene: Scene, others: Mapping[str, str]) -> Scenes:
    for place in writes(scene):
        body = place[3].arguments.get("body", "")
        for one, other in others.items():
            if one in body:
                yield with_call(scene, place, given(place[3], {"body": body.replace(one, other)}))


def other_target(call: Call) -> Call:
    """The call with its first value changed to another of the same kind."""
    for key, value in call.arguments.items():
        if key in WORDED_KEYS or isinstance(value, bool) or not isinstance(value, str | int | float):
            continue
        return given(call, {key: f"{value}9" if isinstance(value, str) else value + 1})
    return call


def is_amount(value: Any) -> bool:
    return isinstance(value, float) or (
        isinstance(value, str) and value.replace(".", "", 1).isdecimal() and "." in value
    )


def is_address(value: Any) -> bool:
    return isinstance(value, str) and "@" in value


def times(value: Any, factor: float) -> Any:
    return f"{float(value) * factor:.2f}" if isinstance(value, str) else value * factor


def plus(value: Any, more: float) -> Any:
    return f"{float(value) + more:.2f}" if isinstance(value, str) else value + more
