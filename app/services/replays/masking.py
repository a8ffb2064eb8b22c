"""A replay as it may be kept where the project masks. Verdicts are made before, of what the draft really said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from app.otlp.masking import MASK
from app.pointers import parse_pointer
from app.services.data.masked_words import MaskedWords

Json = dict[str, Any]
Mask = Callable[[Any, Sequence[str]], Any]


def masked_replay(values: Json, words: MaskedWords) -> Json:
    """Columns of a replay that ended; `result` is the JSON of `app.replay.types.ReplayResult`."""
    kept = values | {"error": words.other(values.get("error"))}
    result = values.get("result")
    if result is None:
        return kept
    whole = {
        "turns": [_turn(turn, words) for turn in result["turns"]],
        "drift": words.other(result["drift"]),
        "error": words.other(result["error"]),
    }
    return kept | {"result": result | whole}


def _turn(turn: Json, words: MaskedWords) -> Json:
    return turn | {
        "user": words.asked(turn["user"]),
        "steps": [_step(step, words) for step in turn["steps"]],
        "extra": [_extra(step, words) for step in turn["extra"]],
        "drift": words.other(turn["drift"]),
        "error": words.other(turn["error"]),
    }


def _step(step: Json, words: MaskedWords) -> Json:
    is_call = step["kind"] == "tool_call"
    mask = words.arguments if is_call else words.answered
    sides = {side: _call(step[side], words) if is_call else mask(step[side]) for side in ("expected", "actual")}
    kept = step | sides
    if "diff" in step:
        kept["diff"] = [_difference(each, mask) for each in step["diff"]]
    if "reason" in step:
        # A judge's own words, which come without a diff, may tell in other ones what was masked.
        told = sides["actual"] != step["actual"] and "diff" not in step
        kept["reason"] = MASK if told else words.other(step["reason"])
    return kept


def _extra(step: Json, words: MaskedWords) -> Json:
    if step["kind"] == "answer":
        return step | {"text": words.answered(step["text"])}
    return step | (_call(step, words) or {}) | {"result": words.result(step["result"])}


def _call(call: Json | None, words: MaskedWords) -> Json | None:
    """`{name, arguments}`."""
    return call and {"name": words.other(call["name"]), "arguments": words.arguments(call["arguments"])}


def _difference(difference: Json, mask: Mask) -> Json:
    """Its path leads from the arguments, or from the answer's JSON, to both sides, of which one may be missing."""
    path = parse_pointer(difference["path"])
    return {name: value if name == "path" else mask(value, path) for name, value in difference.items()}
