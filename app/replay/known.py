"""Digests by which an earlier verdict on the same texts is found again."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from msgspec import to_builtins

from app.chat import Message
from app.replay.judging import JudgedTurn, OpenStep
from app.replay.rubric import RUBRIC_ID


def person_digest(index: int, turn: JudgedTurn, step: OpenStep) -> str:
    """Return the digest of all that a person's verdict depends on: the two texts, the user's message and the calls.

    The instruction is no part of it: a draft that changes it may give the answer that a person has accepted. `index`
    is that of the turn. The digest is 64 hex digits.
    """
    return _digest("person", index, _step(step), turn.user, _calls(turn))


def judge_digest(judge: str, index: int, turn: JudgedTurn, step: OpenStep) -> str:
    """Return the digest of all that the verdict of a judge depends on: its model, the rubric and the question."""
    context = [turn.instruction, list(map(_message, turn.conversation)), turn.user, _calls(turn)]
    return _digest("judge", judge, RUBRIC_ID, index, _step(step), context, to_builtins(step.evidence))


def _step(step: OpenStep) -> list[Any]:
    return [step.step, step.kind, step.tool, step.recorded, step.produced, step.assertion]


def _calls(turn: JudgedTurn) -> list[Any]:
    return [[call.name, call.arguments, call.result] for call in turn.calls]


def _message(message: Message) -> list[Any]:
    return [message.role, message.text, [[call.name, call.arguments] for call in message.tool_calls]]


def _digest(*parts: Any) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
