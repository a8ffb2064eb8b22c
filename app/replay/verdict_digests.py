"""Digests of texts that were judged: a later replay finds the verdict on the same texts by them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from msgspec import to_builtins

from app.chat import Message
from app.replay.judge_types import JudgedTurn, OpenStep
from app.replay.rubric import RUBRIC_ID


class MessageDigests:
    """Makes digests of conversations. Each message is digested once, however many turns follow it."""

    def __init__(self) -> None:
        # By the ids of the messages. The messages are kept, so that Python reuses no id.
        self._known: dict[int, tuple[Message, str]] = {}

    def of(self, conversation: Sequence[Message]) -> str:
        """Return the digest of messages in their order."""
        return sha256("".join(map(self._of, conversation)).encode()).hexdigest()

    def _of(self, message: Message) -> str:
        if id(message) not in self._known:
            self._known[id(message)] = message, _digest(_message(message))
        return self._known[id(message)][1]


class TurnDigests:
    """Makes digests of the open steps of turn `index`. A digest has 64 hexadecimal digits."""

    def __init__(self, index: int, turn: JudgedTurn, messages: MessageDigests) -> None:
        calls = [[call.name, call.arguments, call.result] for call in turn.calls]
        conversation = messages.of(turn.conversation)
        self._for_person = _digest("person", index, turn.user, calls)
        self._for_judge = _digest("judge", RUBRIC_ID, index, turn.instruction, conversation, turn.user, calls)

    def of_person(self, step: OpenStep) -> str:
        """Return the digest for a person's verdict: of both texts, the user's message and the calls.

        The instruction is left out: a person's verdict on an answer also applies to a draft with another instruction.
        """
        return _digest(self._for_person, _step(step))

    def of_judge(self, judge: str, step: OpenStep) -> str:
        """Return the digest for the verdict of `judge`: of its model, the rubric and the whole question."""
        return _digest(self._for_judge, judge, _step(step), to_builtins(step.evidence))


def _step(step: OpenStep) -> list[Any]:
    shown = [step.step, step.kind, step.tool, step.recorded, step.produced, step.assertion]
    return [*shown, step.result] if step.result else shown  # without one, as earlier releases stored it


def _message(message: Message) -> list[Any]:
    return [message.role, message.text, [[call.name, call.arguments] for call in message.tool_calls]]


def _digest(*parts: Any) -> str:
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
