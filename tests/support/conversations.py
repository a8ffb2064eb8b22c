"""Conversations as an exporter of OpenTelemetry records them, to send to Reprise."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson

SECOND_NS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class RecordedCall:
    name: str
    arguments: Any
    result: Any = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """One trace: the user's message, the tool calls, the answer. Fields that are None are left out of the spans."""

    user: str
    answer: str
    calls: tuple[RecordedCall, ...] = ()
    offered: tuple[str | dict[str, Any], ...] | None = None
    placeholders: dict[str, str] | None = None
    version: str | None = None


def export(
    prompt_id: int, conversation_id: str, turns: Sequence[RecordedTurn], *, start_ns: int, model: str = "demo-agent"
) -> bytes:
    """The conversation as one batch; its ids derive from prompt and conversation, so that it is stored once."""
    spans: list[dict[str, Any]] = []
    for index, turn in enumerate(turns):
        shared = _shared(prompt_id, conversation_id, turn)
        trace = sha256(f"{prompt_id}/{conversation_id}/{index}".encode()).hexdigest()[:32]
        at_ns = start_ns + index * 60 * SECOND_NS
        for number, (name, attributes) in enumerate(_spans(turn, model)):
            spans.append(
                {
                    "traceId": trace,
                    "spanId": sha256(f"{trace}/{number}".encode()).hexdigest()[:16],
                    "name": name,
                    "startTimeUnixNano": str(at_ns + number * SECOND_NS),
                    "endTimeUnixNano": str(at_ns + (number + 1) * SECOND_NS),
                    "attributes": [_attribute(key, value) for key, value in (shared | attributes).items()],
                }
            )
    return orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})


def _shared(prompt_id: int, conversation_id: str, turn: RecordedTurn) -> dict[str, Any]:
    known = {
        "service.prompt.id": prompt_id,
        "gen_ai.conversation.id": conversation_id,
        "service.tools.offered": None if turn.offered is None else json.dumps(turn.offered),
        "service.prompt.placeholders": None if turn.placeholders is None else json.dumps(turn.placeholders),
        "service.prompt.version": turn.version,
    }
    return {key: value for key, value in known.items() if value is not None}


def _spans(turn: RecordedTurn, model: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for call in turn.calls:
        yield (
            f"execute_tool {call.name}",
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": call.name,
                "gen_ai.tool.call.arguments": json.dumps(call.arguments, ensure_ascii=False),
                **_outcome(call),
            },
        )
    yield (
        f"chat {model}",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": model,
            "gen_ai.input.messages": _message("user", turn.user),
            "gen_ai.output.messages": _message("assistant", turn.answer),
            "gen_ai.usage.input_tokens": len(turn.user.split()),
            "gen_ai.usage.output_tokens": len(turn.answer.split()),
        },
    )


def _outcome(call: RecordedCall) -> dict[str, Any]:
    if call.error is not None:
        return {"error.type": "ToolError", "gen_ai.tool.call.result": call.error}
    return {"gen_ai.tool.call.result": json.dumps(call.result, ensure_ascii=False)}


def _message(role: str, text: str) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}], ensure_ascii=False)


def _attribute(key: str, value: str | int) -> dict[str, Any]:
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return {"key": key, "value": {kind: str(value)}}
