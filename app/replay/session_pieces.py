"""Whether a session is a piece of a later one: the input of a later model call contains all of it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from app.sessions.types import Step, Turn
from app.values.json import json_key


def is_piece(turns: Sequence[Turn], later: Turn) -> bool:
    """Return whether a later turn repeats the turns of a session, as its own beginning or as earlier messages."""
    steps = [step for turn in turns for step in turn.steps]
    asked = {message.text for message in later.earlier if message.role == "user"} | {later.own_words}
    repeated = {_key(message.name, message.arguments, message.text) for message in later.earlier}
    repeated |= {_of_step(step) for step in later.steps if step.kind == "tool_call"}
    return bool(steps) and all(turn.own_words in asked for turn in turns) and {*map(_of_step, steps)} <= repeated


def _of_step(step: Step) -> Hashable:
    return _key(step.name, step.arguments, step.text)


def _key(name: str, arguments: Any, text: str) -> Hashable:
    """Return what is equal for equal calls, and for answers with equal texts."""
    return (name, json_key(arguments)) if name else text
