"""OpenAI's Responses API: items of output instead of choices, and a stream of typed events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.fakes import openai_wire


def body(asked: Any, reply: Any) -> dict[str, Any]:
    return _response(asked, reply, _items(asked, reply), "incomplete" if reply.truncated else "completed")


def events(asked: Any, reply: Any) -> Iterator[bytes]:
    return (_event(number, kind, fields) for number, (kind, fields) in enumerate(_stream(asked, reply)))


def error(reply: Any, message: str) -> tuple[int, dict[str, Any]]:
    return openai_wire.error(reply, message)


def _stream(asked: Any, reply: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    begun = _response(asked, reply, [], "in_progress")
    yield "created", {"response": begun}
    yield "in_progress", {"response": begun}
    for index, item in enumerate(_items(asked, reply)):
        at = {"output_index": index}
        yield "output_item.added", at | {"item": item | _EMPTY[item["type"]] | {"status": "in_progress"}}
        for kind, fields in _PARTS[item["type"]](item):
            yield kind, at | {"item_id": item["id"]} | fields
        yield "output_item.done", at | {"item": item}
    whole = body(asked, reply)
    yield whole["status"], {"response": whole}


def _of_message(item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, part in enumerate(item["content"]):
        at = {"content_index": index}
        (key,) = part.keys() & {"text", "refusal"}
        kind = part["type"] if key == "text" else "refusal"
        yield "content_part.added", at | {"part": part | {key: ""}}
        for word in openai_wire.pieces(part[key]):
            yield f"{kind}.delta", at | {"delta": word, "logprobs": []}
        yield f"{kind}.done", at | {key: part[key], "logprobs": []}
        yield "content_part.done", at | {"part": part}


def _of_call(item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    text = item["arguments"]
    for half in (text[: len(text) // 2], text[len(text) // 2 :]):
        yield "function_call_arguments.delta", {"delta": half}
    yield "function_call_arguments.done", {"arguments": text, "name": item["name"]}


def _of_reasoning(item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for index, part in enumerate(item["summary"]):
        at = {"summary_index": index}
        yield "reasoning_summary_part.added", at | {"part": part | {"text": ""}}
        yield "reasoning_summary_text.delta", at | {"delta": part["text"]}
        yield "reasoning_summary_text.done", at | {"text": part["text"]}
        yield "reasoning_summary_part.done", at | {"part": part}


_EMPTY: dict[str, dict[str, Any]] = {
    "message": {"content": []},
    "function_call": {"arguments": ""},
    "reasoning": {"summary": []},
}
_PARTS = {"message": _of_message, "function_call": _of_call, "reasoning": _of_reasoning}


def _items(asked: Any, reply: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.reasoning:
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        items.append({"type": "reasoning", "id": f"rs_{asked.id}", "summary": summary})
    content = []
    if text := asked.answer(reply):
        content.append({"type": "output_text", "text": text, "annotations": [], "logprobs": []})
    if reply.refusal:
        content.append({"type": "refusal", "refusal": reply.refusal})
    if content:
        items.append({"type": "message", "id": f"msg_{asked.id}", "role": "assistant", "content": content})
    items += [_call(asked, at, name, arguments) for at, (name, arguments) in enumerate(reply.tool_calls)]
    return [item | {"status": "completed"} for item in items]


def _call(asked: Any, at: int, name: str, arguments: Any) -> dict[str, Any]:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    ids = {"id": f"fc_{asked.id}_{at}", "call_id": f"call_{asked.id}_{at}"}
    return {"type": "function_call", **ids, "name": name, "arguments": text}


def _response(asked: Any, reply: Any, items: list[dict[str, Any]], status: str) -> dict[str, Any]:
    return {
        "id": f"resp_{asked.id}",
        "object": "response",
        "created_at": 1,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": asked.instructions,
        "metadata": {},
        "model": asked.model,
        "output": items,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": asked.tools,
        "top_p": 1.0,
        "text": {"format": {"type": "text"}},
        "truncation": "disabled",
        "usage": None if status == "in_progress" else _usage(asked, reply),
    }


def _usage(asked: Any, reply: Any) -> dict[str, Any]:
    output = len((asked.answer(reply) or "").split()) + reply.reasoning_tokens
    return {
        "input_tokens": asked.prompt_tokens,
        "input_tokens_details": {"cached_tokens": reply.cached},
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": reply.reasoning_tokens},
        "total_tokens": asked.prompt_tokens + output,
    }


def _event(number: int, kind: str, fields: dict[str, Any]) -> bytes:
    name = f"response.{kind}"
    return f"event: {name}\ndata: {json.dumps({'type': name, 'sequence_number': number, **fields})}\n\n".encode()
