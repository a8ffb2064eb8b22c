"""Spans of conversations, in any number, as libraries record them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.exports import pairs_of, span

BEGIN_NS, SECOND_NS = 1_700_000_000 * 10**9, 10**9


def message(role: str, *parts: Any) -> dict[str, Any]:
    """A message of the GenAI conventions; a part that is text is one of that type."""
    return {
        "role": role,
        "parts": [{"type": "text", "content": part} if isinstance(part, str) else part for part in parts],
    }


def call(id_: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": id_, "name": name, "arguments": arguments}


def response(id_: str, result: Any) -> dict[str, Any]:
    return {"type": "tool_call_response", "id": id_, "response": result}


@dataclass
class Turn:
    """The spans of one trace, `number` counts from 0; each span begins a second after the one before."""

    prompt_id: int
    number: int = 0
    conversation: str = "ticket"
    spans: list[dict[str, Any]] = field(default_factory=list)

    def chat(self, asked: Sequence[Any], said: Sequence[Any] | None = None, **fields: Any) -> Turn:
        """Add a model call; without `said` it has no output."""
        recorded = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "demo-agent",
            "gen_ai.input.messages": json.dumps(asked),
        }
        if said is not None:
            recorded["gen_ai.output.messages"] = json.dumps(said)
        return self.add(recorded, name="chat demo-agent", **fields)

    def tool(self, name: str, arguments: Any, result: Any = None, **fields: Any) -> Turn:
        recorded = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": name,
            "gen_ai.tool.call.arguments": json.dumps(arguments),
        }
        if result is not None:
            recorded["gen_ai.tool.call.result"] = json.dumps(result)
        return self.add(recorded, name=f"execute_tool {name}", **fields)

    def add(self, recorded: dict[str, Any], **fields: Any) -> Turn:
        place = len(self.spans)
        start_ns = BEGIN_NS + (self.number * 1000 + place) * SECOND_NS
        fields_of_span = {
            "traceId": f"{self.number + 1:032x}",
            "spanId": f"{place + 1:016x}",
            "startTimeUnixNano": str(start_ns),
            "endTimeUnixNano": str(start_ns + SECOND_NS),
        }
        common = {"service.prompt.id": self.prompt_id, "gen_ai.conversation.id": self.conversation}
        self.spans.append(span(common | recorded, **fields_of_span, **fields))
        return self


def failure(text: str) -> dict[str, Any]:
    """The fields of a span that failed with an exception of this text."""
    exception = {"name": "exception", "attributes": pairs_of({"exception.message": text})}
    return {"status": {"code": 2, "message": "failed"}, "events": [exception]}
