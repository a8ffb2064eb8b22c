"""OpenAI's chat completions, which DeepSeek and self-hosted servers speak with differences."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_ERRORS = {400: "invalid_request_error", 401: "invalid_request_error", 429: "rate_limit_error"}


def body(asked: Any, reply: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": asked.answer(reply), "refusal": None}
    if reply.refusal and asked.vendor != "DEEPSEEK":
        message["refusal"] = reply.refusal
    if reply.reasoning and asked.vendor != "OPENAI":
        message["reasoning_content"] = reply.reasoning
    if reply.tool_calls:
        message["tool_calls"] = [
            _call(asked, at, name, arguments) for at, (name, arguments) in enumerate(reply.tool_calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": _finish(asked, reply), "logprobs": None}
    return {
        "id": f"chatcmpl-{asked.id}",
        "object": "chat.completion",
        "created": 1,
        "model": reply.model or asked.model,
        "choices": [choice],
        "usage": _usage(asked, reply),
    }


def events(asked: Any, reply: Any) -> Iterator[bytes]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    if reply.reasoning and asked.vendor != "OPENAI":
        deltas += [{"reasoning_content": word} for word in pieces(reply.reasoning)]
    deltas += [{"content": word} for word in pieces(asked.answer(reply) or "")]
    if reply.refusal and asked.vendor != "DEEPSEEK":
        deltas += [{"refusal": word} for word in pieces(reply.refusal)]
    for at, (name, arguments) in enumerate(reply.tool_calls):
        call = _call(asked, at, name, arguments)
        text = call["function"]["arguments"]
        head = call | {"index": at, "function": {"name": name, "arguments": ""}}
        deltas.append({"tool_calls": [head]})
        for half in (text[: len(text) // 2], text[len(text) // 2 :]):
            deltas.append({"tool_calls": [{"index": at, "function": {"arguments": half}}]})
    for delta in deltas:
        yield _event(asked, [{"index": 0, "delta": delta, "finish_reason": None}])
    yield _event(asked, [{"index": 0, "delta": {}, "finish_reason": _finish(asked, reply)}])
    if asked.wants_usage:
        yield _event(asked, [], _usage(asked, reply))
    yield b"data: [DONE]\n\n"


def error(reply: Any, message: str) -> tuple[int, dict[str, Any]]:
    kind = _ERRORS.get(reply.status, "server_error")
    return reply.status, {"error": {"message": message, "type": kind, "param": None, "code": reply.code}}


def _event(asked: Any, choices: list[dict[str, Any]], usage: dict[str, Any] | None = None) -> bytes:
    chunk = {"id": f"chatcmpl-{asked.id}", "object": "chat.completion.chunk", "created": 1, "model": asked.model}
    return f"data: {json.dumps(chunk | {'choices': choices, 'usage': usage})}\n\n".encode()


def _call(asked: Any, at: int, name: str, arguments: Any) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": f"call_{asked.id}_{at}", "type": "function", "function": {"name": name, "arguments": text}}


def _finish(asked: Any, reply: Any) -> str:
    if reply.refusal and asked.vendor == "DEEPSEEK":
        return "content_filter"
    if reply.truncated:
        return "length"
    return "tool_calls" if reply.tool_calls else "stop"


def _usage(asked: Any, reply: Any) -> dict[str, Any]:
    completion = len((asked.answer(reply) or "").split()) + reply.reasoning_tokens
    usage: dict[str, Any] = {
        "prompt_tokens": asked.prompt_tokens,
        "completion_tokens": completion,
        "total_tokens": asked.prompt_tokens + completion,
        "completion_tokens_details": {"reasoning_tokens": reply.reasoning_tokens},
    }
    if asked.vendor == "DEEPSEEK":
        return usage | {
            "prompt_cache_hit_tokens": reply.cached,
            "prompt_cache_miss_tokens": asked.prompt_tokens - reply.cached,
        }
    details = {"cached_tokens": reply.cached, "cache_write_tokens": reply.cache_write}
    return usage | {"prompt_tokens_details": details}


def pieces(text: str) -> list[str]:
    """Return the text in words, each with the space after it."""
    return [f"{word} " for word in text.split(" ")[:-1]] + text.split(" ")[-1:] if text else []
