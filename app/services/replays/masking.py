"""Masks replays before they are stored. Verdicts are reached before that, on the draft's original output."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import structs

from app.experiments.behaviour import Behaviour
from app.otlp.masking import MASK
from app.replay.result_types import Difference
from app.replay.wording import differing, shown_json
from app.services.masking.rules import MessageMasking
from app.values.json_pointer import parse_pointer

Json = dict[str, Any]
Mask = Callable[[Any, Sequence[str]], Any]

COMPARED_MAX = 200_000
"""Comparisons of a replay's messages with wordings of differences: a part of a second."""


class Wordings:
    """How differences are worded before and after their values are masked.

    A message is compared with each wording, `COMPARED_MAX` times in a replay; further messages are masked whole.
    """

    def __init__(self) -> None:
        self._replacements: dict[str, str] = {}
        self._left = COMPARED_MAX

    def add(self, wording: str, replacement: str) -> None:
        self._replacements[wording] = replacement

    def masked(self, message: str) -> str:
        """Return a message with the replacements of the wordings that it repeats."""
        self._left -= len(self._replacements)
        if self._left < 0:
            return MASK
        for wording, replacement in self._replacements.items():
            message = message.replace(wording, replacement)
        return message


def masked_replay(values: Json, masking: MessageMasking) -> Json:
    """Mask the columns of an ended replay; `result` is the JSON of `app.replay.result_types.ReplayResult`."""
    kept = values | {"error": masking.error(values.get("error"))}
    if behaviour := values.get("behaviour"):
        kept["behaviour"] = _behaviour(behaviour, masking)
    result = values.get("result")
    if result is None:
        return kept
    wordings = Wordings()
    whole = {
        "turns": [_turn(turn, masking, wordings) for turn in result["turns"]],
        "drift": masking.other(result["drift"]),
        "error": masking.error(result["error"]),
        "violations": [_violation(violation, masking, wordings) for violation in result["violations"]],
        "void": masking.other(result["void"]),
        "fidelity": masking.other(result["fidelity"]),
    }
    return kept | {"result": result | whole, "violations": whole["violations"]}


def _behaviour(behaviour: Behaviour, masking: MessageMasking) -> Behaviour:
    tools = tuple((masking.other(name), count) for name, count in behaviour.tools)
    return structs.replace(behaviour, tools=tools, order=tuple(map(masking.other, behaviour.order)))


def _turn(turn: Json, masking: MessageMasking, wordings: Wordings) -> Json:
    return turn | {
        "user": masking.question(turn["user"]),
        "steps": [_step(step, masking, wordings) for step in turn["steps"]],
        "extra": [_extra(step, masking) for step in turn["extra"]],
        "drift": masking.other(turn["drift"]),
        "error": masking.error(turn["error"]),
        "violations": [_violation(violation, masking, wordings) for violation in turn["violations"]],
        "calls": [masking.other(together) for together in turn["calls"]],
    }


def _violation(violation: Json, masking: MessageMasking, wordings: Wordings) -> Json:
    """Mask a violation; its message repeats the arguments, which may be cut off, and how they differ."""
    arguments = masking.arguments(violation["arguments"])
    message = str(violation["message"])
    if arguments != violation["arguments"]:
        message = message.replace(shown_json(violation["arguments"]), shown_json(arguments))
        message = wordings.masked(message)
    return violation | {
        "arguments": arguments,
        "message": masking.other(message),
        "tool": masking.other(violation["tool"]),
    }


def _step(step: Json, masking: MessageMasking, wordings: Wordings) -> Json:
    is_call = step["kind"] == "tool_call"
    mask = masking.arguments if is_call else masking.answer
    sides = {side: _call(step[side], masking) if is_call else mask(step[side]) for side in ("expected", "actual")}
    kept = step | sides
    if step.get("facts"):
        kept["facts"] = {kind: [mask(value) for value in values] for kind, values in step["facts"].items()}
    if "diff" in step:
        kept["diff"] = [_difference(value, mask) for value in step["diff"]]
        if kept["diff"] != step["diff"]:
            wording, replacement = (
                differing([Difference(**value) for value in side]) for side in (step["diff"], kept["diff"])
            )
            wordings.add(wording, replacement)
    # Reasons repeat values of both sides, and a judge's may paraphrase them.
    revealing = any(sides[side] != step[side] for side in sides)
    if "reason" in step:
        kept["reason"] = MASK if revealing else masking.other(step["reason"])
    if "form" in step:
        kept["form"] = masking.other(step["form"])
    if "findings" in step:
        kept["findings"] = [_finding(finding, mask, masking, revealing=revealing) for finding in step["findings"]]
    return kept


def _finding(finding: Json, mask: Mask, masking: MessageMasking, *, revealing: bool) -> Json:
    quotes = {side: mask(finding[side], ()) for side in ("recorded", "produced")}
    return finding | quotes | {"why": MASK if revealing else masking.other(finding["why"])}


def _extra(step: Json, masking: MessageMasking) -> Json:
    if step["kind"] == "answer":
        return step | {"text": masking.answer(step["text"])}
    return _call(step, masking) or {}


def _call(call: Json | None, masking: MessageMasking) -> Json | None:
    """Mask a recorded or produced call, and its result if it has one."""
    if call is None:
        return None
    masked_call = call | {"name": masking.other(call["name"]), "arguments": masking.arguments(call["arguments"])}
    return masked_call | ({"result": masking.result(call["result"])} if "result" in call else {})


def _difference(difference: Json, mask: Mask) -> Json:
    """Mask a difference between two values.

    Its path leads from the arguments, or from the answer's JSON, to both sides, of which one may be missing.
    """
    path = parse_pointer(difference["path"])
    return {name: value if name == "path" else mask(value, path) for name, value in difference.items()}
