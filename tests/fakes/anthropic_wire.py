"""Anthropic's messages: blocks of content, counts next to each other, and a stream of named events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def body(asked: Any, reply: Any) -> dict[str, Any]:
    message = _message(asked, reply)
    message["content"] = _blocks(asked, reply)
    message["usage"]["output_tokens"] = _output_tokens(asked, reply)
    return message | _end(reply)


def events(asked: Any, reply: Any) -> Iterator[bytes]:
    yield _event("message_start", message=_message(asked, reply))
    yield _event("ping")
    for index, block in enumerate(_blocks(asked, reply)):
        empty, deltas = _deltas(block)
        yield _event("content_block_start", index=index, content_block=empty)
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    yield _event("message_delta", delta=_end(reply), usage={"output_tokens": _output_tokens(asked, reply)})
    yield _event("message_stop")


def error(reply: Any, message: str) -> tuple[int, dict[str, Any]]:
    kind = _ERRORS.get(reply.status, "api_error")
    return reply.status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def _message(asked: Any, reply: Any) -> dict[str, Any]:
    return {
        "id": f"msg_{asked.id}",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": asked.prompt_tokens - reply.cached - reply.cache_write,
            "cache_read_input_tokens": reply.cached,
            "cache_creation_input_tokens": reply.cache_write,
            "output_tokens": 1,
        },
    }


def _blocks(asked: Any, reply: Any) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.reasoning:
        blocks.append({"type": "thinking", "thinking": reply.reasoning, "signature": "c2lnbmVk"})
    if text := asked.answer(reply):
        blocks.append({"type": "text", "text": text})
    for at, (name, arguments) in enumerate(reply.tool_calls):
        blocks.append({"type": "tool_use", "id": f"toolu_{asked.id}_{at}", "name": name, "input": arguments})
    return blocks


def _deltas(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    match block["type"]:
        case "thinking":
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
            return block | {"thinking": "", "signature": ""}, deltas
        case "text":
            words = block["text"].split(" ")
            texts = [f"{word} " for word in words[:-1]] + words[-1:]
            return block | {"text": ""}, [{"type": "text_delta", "text": text} for text in texts]
        case _:
            text = json.dumps(block["input"])
            halves = (text[: len(text) // 2], text[len(text) // 2 :])
            deltas = [{"type": "input_json_delta", "partial_json": half} for half in halves]
            return block | {"input": {}}, deltas


def _end(reply: Any) -> dict[str, Any]:
    if reply.refusal:
        details = {"type": "refusal", "category": None, "explanation": reply.refusal}
        return {"stop_reason": "refusal", "stop_sequence": None, "stop_details": details}
    reason = "max_tokens" if reply.truncated else "tool_use" if reply.tool_calls else "end_turn"
    return {"stop_reason": reason, "stop_sequence": None}


def _output_tokens(asked: Any, reply: Any) -> int:
    return len((asked.answer(reply) or "").split()) + int(reply.reasoning_tokens)


def _event(kind: str, **fields: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n".encode()
