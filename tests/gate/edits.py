"""Changes a turn of a scene as an entry of a file describes it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

from tests.gate.scenes import Call, Round, Scene


def edited(scene: Scene, entry: Mapping[str, Any]) -> Scene:
    """Return the scene with the turn changed.

    `answer` is another answer, and `words` replaces texts of the recorded one. `call` is the place of a call in its
    turn: `set` gives values at paths such as `plan.zones.0`, `unset` removes keys, and `swapwords` replaces texts of
    arguments. `drop` and `repeat` are places of calls, `swap` is two of them, and `add` is a call after a place.
    `rounds` has other calls for the whole turn; those in one list are side by side.
    """
    said = scene.turns[entry["turn"]]
    answer = entry.get("answer", _replaced(said.answer, entry.get("words", {})))
    turn = entry["turn"]
    changed = scene.with_turn(turn, rounds=_rounds(said.rounds, entry), answer=answer)
    assert repr(changed.turns) != repr(scene.turns), entry["what"]  # 1 and 1.0 differ, and so do orders of keys
    return changed


def _rounds(rounds: tuple[Round, ...], entry: Mapping[str, Any]) -> tuple[Round, ...]:
    if "rounds" in entry:
        return tuple(tuple(Call(call["name"], call["arguments"]) for call in calls) for calls in entry["rounds"])
    calls = [(number, call) for number, calls in enumerate(rounds) for call in calls]
    if "call" in entry:
        number, call = calls[entry["call"]]
        calls[entry["call"]] = number, Call(call.name, _arguments(call.arguments, entry))
    if "drop" in entry:
        calls.pop(entry["drop"])
    if "repeat" in entry:
        calls.insert(entry["repeat"] + 1, calls[entry["repeat"]])
    if "swap" in entry:
        first, second = entry["swap"]
        calls[first], calls[second] = calls[second], calls[first]
    if "add" in entry:
        return _with_round(calls, entry["add"])
    return tuple(tuple(call for at, call in calls if at == number) for number in _numbers(calls))


def _with_round(calls: list[tuple[int, Call]], added: Mapping[str, Any]) -> tuple[Round, ...]:
    """The rounds with one more, after the call of a place; it splits the round of that call."""
    place = added["after"] + 1
    before, after = (
        tuple(tuple(call for at, call in part if at == number) for number in _numbers(part))
        for part in (calls[:place], calls[place:])
    )
    return (*before, (Call(added["name"], added["arguments"]),), *after)


def _numbers(calls: list[tuple[int, Call]]) -> list[int]:
    return list(dict.fromkeys(number for number, _ in calls))


def _arguments(arguments: Any, entry: Mapping[str, Any]) -> Any:
    for path, value in entry.get("set", {}).items():
        arguments = _with_value(arguments, path.split("."), value)
    for key in entry.get("unset", ()):
        arguments = {name: value for name, value in arguments.items() if name != key}
    for key, words in entry.get("swapwords", {}).items():
        arguments = {**arguments, key: _replaced(arguments[key], words)}
    return arguments


def _with_value(whole: Any, path: list[str], value: Any) -> Any:
    if not path:
        return value
    key, changed = path[0], copy(whole)
    if isinstance(changed, list):
        place = int(key)
        changed[place : place + 1] = [_with_value(changed[place] if place < len(changed) else {}, path[1:], value)]
    else:
        changed[key] = _with_value(changed.get(key, {}), path[1:], value)
    return changed


def _replaced(text: str, words: Mapping[str, str]) -> str:
    for old, new in words.items():
        assert old in text, old
        text = text.replace(old, new)
    return text
