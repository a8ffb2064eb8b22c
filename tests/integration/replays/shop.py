"""A shop's prompt with tools that look orders up and refund them, and recorded conversations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

from tests.fakes.judging import judged
from tests.fakes.wire import Reply
from tests.integration.replays.recording import START_NS, make_case, prompt, record, tool
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.exports import export, span
from tests.support.world import World

TOOLS = [tool("get_order", "id"), tool("get_policy", "topic"), tool("refund", "id")]
ORDER = RecordedCall("get_order", {"id": "A-1"}, {"total": 20})
POLICY = RecordedCall("get_policy", {"topic": "refunds"}, {"days": 30})
REFUND = RecordedCall("refund", {"id": "A-1"}, {"ok": True})
REFUNDED = RecordedTurn("Refund order A-1, please.", "Order A-1 is refunded.", (ORDER, REFUND))
SEEN = RecordedTurn("What is in order A-1?", "Order A-1 costs 20.", (ORDER,))

LOOK_UP = ("get_order", {"id": "A-1"})
READ_POLICY = ("get_policy", {"topic": "refunds"})
PAY_BACK = ("refund", {"id": "A-1"})
ANSWER = Reply(text="Order A-1 is refunded.")
JUDGED, JUDGED_WRONG = judged("passed"), judged("failed")


def calls(*made: tuple[str, Any]) -> Reply:
    return Reply(tool_calls=list(made))


def shop(world: World, tools: Sequence[Any] = TOOLS, **fields: Any) -> int:
    return prompt(world, languageModelConfig={"tools": list(tools)}, value="Help customers of the shop.", **fields)


def set_tools(world: World, prompt_id: int, tools: Sequence[Any]) -> None:
    changed = world.patch(f"/api/v1/prompts/{prompt_id}", json={"languageModelConfig": {"tools": list(tools)}})
    assert changed.status_code == 200, changed.text


def shop_case(
    world: World, turns: Sequence[RecordedTurn] = (REFUNDED,), prompt_id: int | None = None, **body: Any
) -> dict[str, Any]:
    return make_case(world, record(world, prompt_id or shop(world), turns), **body)


def record_exchanges(world: World, prompt_id: int, user: str, batches: Sequence[Any], answer: str) -> str:
    """Send a turn that has only model calls; each of `batches` are the calls of one message of the model."""
    messages = [{"role": "user", "parts": [{"type": "text", "content": user}]}]
    ids, spans = count(), []
    for number, batch in enumerate(batches, 1):
        numbered = [(f"c{next(ids)}", call) for call in batch]
        asked = [{"type": "tool_call", "id": n, "name": c.name, "arguments": c.arguments} for n, c in numbered]
        told = [{"type": "tool_call_response", "id": n, "response": call.result} for n, call in numbered]
        spans.append(_model_call(prompt_id, number, messages, [{"role": "assistant", "parts": asked}]))
        messages = [*messages, {"role": "assistant", "parts": asked}, {"role": "tool", "parts": told}]
    last = [{"role": "assistant", "parts": [{"type": "text", "content": answer}]}]
    spans.append(_model_call(prompt_id, len(batches) + 1, messages, last))
    sent = world.send(json.loads(export(*spans)))
    assert (sent.status_code, sent.json) == (200, {"partialSuccess": {}})
    session_id: str = world.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json["entries"][0]["id"]
    return session_id


def _model_call(prompt_id: int, number: int, inputs: list[Any], outputs: list[Any]) -> dict[str, Any]:
    recorded = {"gen_ai.input.messages": json.dumps(inputs), "gen_ai.output.messages": json.dumps(outputs)}
    attributes = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "chat", **recorded}
    at_ns = START_NS + number * 10**9
    times = {"startTimeUnixNano": str(at_ns), "endTimeUnixNano": str(at_ns + 5)}
    return span(attributes, spanId=f"{number:016x}", traceId=f"{prompt_id:032x}", **times)


def change(world: World, case: dict[str, Any], **body: Any) -> dict[str, Any]:
    changed = world.patch(f"/api/v1/test-cases/{case['id']}", json=body)
    assert changed.status_code == 200, changed.text
    after: dict[str, Any] = changed.json
    return after


def kinds(replay: dict[str, Any]) -> list[tuple[str, str, int]]:
    return [(each["kind"], each["tool"], each["turn"]) for each in replay["violations"]]
