"""Google's generateContent: candidates of parts, thoughts among them, counts in usageMetadata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_ERRORS = {400: "INVALID_ARGUMENT", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}


def body(asked: Any, reply: Any) -> dict[str, Any]:
    return _response(asked, reply, _parts(asked, reply), last=True)


def events(asked: Any, reply: Any) -> Iterator[bytes]:
    parts = [piece for part in _parts(asked, reply) for piece in _pieces(part)]
    for part in parts:
        yield _event(_response(asked, reply, [part], last=False))
    yield _event(_response(asked, reply, [], last=True))


def error(reply: Any, message: str) -> tuple[int, dict[str, Any]]:
    """A key it does not know is a bad request to Google."""
    status = 400 if reply.status == 401 else reply.status
    details: list[dict[str, Any]] = []
    if reply.status == 401:
        info = "type.googleapis.com/google.rpc.ErrorInfo"
        details = [{"@type": info, "reason": "API_KEY_INVALID", "domain": "googleapis.com"}]
    kind = _ERRORS.get(status, "UNKNOWN")
    return status, {"error": {"code": status, "message": message, "status": kind, "details": details}}


def _response(asked: Any, reply: Any, parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    if last:
        finish = "SAFETY" if reply.refusal else "MAX_TOKENS" if reply.truncated else "STOP"
        candidate["finishReason"] = finish
    answer = len((asked.answer(reply) or "").split())
    usage = {
        "promptTokenCount": asked.prompt_tokens,
        "candidatesTokenCount": answer,
        "thoughtsTokenCount": reply.reasoning_tokens,
        "cachedContentTokenCount": reply.cached,
        "totalTokenCount": asked.prompt_tokens + answer + reply.reasoning_tokens,
    }
    return {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": asked.model,
        "responseId": f"response-{asked.id}",
    }


def _parts(asked: Any, reply: Any) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    if reply.reasoning:
        parts.append({"text": reply.reasoning, "thought": True})
    if text := asked.answer(reply):
        parts.append({"text": text})
    signed = {"thoughtSignature": reply.signature} if reply.signature else {}
    return parts + [{"functionCall": {"name": name, "args": args}} | signed for name, args in reply.tool_calls]


def _pieces(part: dict[str, Any]) -> list[dict[str, Any]]:
    if "text" not in part:
        return [part]
    words = part["text"].split(" ")
    return [part | {"text": text} for text in [f"{word} " for word in words[:-1]] + words[-1:]]


def _event(response: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(response)}\n\n".encode()
