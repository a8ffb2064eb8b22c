"""Batches of GenAI spans for benchmarks: turns of a tool-calling agent, 2.7 KB a span; 0.6 KB without contents."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

SPANS_PER_TURN = 7
ASKED = "What is the weather in Paris? "
FILLER = "The forecast for tomorrow says sun in the morning, clouds at noon and light rain towards the evening. "
# Characters that bring a span to 2.6 KB on the wire, as measured on exports of real SDKs.
FILLER_CHARS = 1500
CONTENTS = {
    "app.note",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
}


def batch(prompt_id: int, spans: int, *, start_ns: int, asked: str = ASKED, contents: bool = True) -> bytes:
    """One export of `spans` spans with new trace ids, in which users ask something, as compact JSON.

    Without `contents` the spans are those of an instrumentation that records no messages, arguments and results.
    """
    listed: list[dict[str, Any]] = []
    while len(listed) < spans:
        listed.extend(_turn(prompt_id, start_ns + len(listed) * 1_000_000, asked, contents=contents))
    scope = {"scope": {"name": "bench"}, "spans": listed[:spans]}
    body = {"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [scope]}]}
    return json.dumps(body, separators=(",", ":")).encode()


def _turn(prompt_id: int, start_ns: int, asked: str, *, contents: bool) -> Iterator[dict[str, Any]]:
    trace_id, root, conversation = secrets.token_hex(16), secrets.token_hex(8), secrets.token_hex(8)
    common: dict[str, Any] = {"service.prompt.id": prompt_id, "gen_ai.conversation.id": f"conversation-{conversation}"}
    if contents:
        common |= {
            "service.prompt.version": "0f3c9a7be1d24c55",
            "service.prompt.placeholders": '{"tone": "friendly"}',
        }
    messages = [{"role": "user", "parts": [{"type": "text", "content": asked + _filler()}]}]
    for place in range(SPANS_PER_TURN):
        attributes = _chat(messages, place) if place % 2 else _tool(place)
        if place == 0:
            attributes = {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.agent.name": "helper",
                "app.note": _filler() * 2,
            }
        if not contents:
            attributes = {name: value for name, value in attributes.items() if name not in CONTENTS}
        yield {
            "traceId": trace_id,
            "spanId": root if place == 0 else secrets.token_hex(8),
            "parentSpanId": "" if place == 0 else root,
            "name": attributes["gen_ai.operation.name"],
            "kind": 1,
            "startTimeUnixNano": str(start_ns + place * 1000),
            "endTimeUnixNano": str(start_ns + place * 1000 + 900),
            "attributes": [{"key": key, "value": _value(value)} for key, value in (common | attributes).items()],
            "status": {"code": 0},
        }


def _chat(messages: list[dict[str, Any]], place: int) -> dict[str, Any]:
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": f"Answer {place}"}]}]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.response.id": f"chatcmpl-{secrets.token_hex(12)}",
        "gen_ai.usage.input_tokens": 412,
        "gen_ai.usage.output_tokens": 38,
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.output.messages": json.dumps(answer),
    }


def _tool(place: int) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "get_weather",
        "gen_ai.tool.call.id": f"call_{place}",
        "gen_ai.tool.call.arguments": '{"city": "Paris"}',
        "gen_ai.tool.call.result": json.dumps({"celsius": 18, "text": _filler()}),
    }


def _filler() -> str:
    return (FILLER * (FILLER_CHARS // len(FILLER) + 1))[:FILLER_CHARS]


def _value(value: Any) -> dict[str, Any]:
    return {"intValue": value} if isinstance(value, int) else {"stringValue": value}
