"""OpenAI's chat completions and Responses, as programs call them.

Sources: https://platform.openai.com/docs/api-reference/chat-streaming and …/responses-streaming.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from app.chat import ToolDefinition
from app.errors import Invalid
from app.providers.openai_answers import OpenAIDecoder
from app.providers.passing.wire import (
    Body,
    PassingWire,
    Results,
    cut_to_repeat,
    entries,
    listed,
    texts,
    tool,
    without_nulls,
)
from app.providers.responses_wire import ResponsesDecoder, is_call
from app.providers.vendors import Vendor

_SYSTEM = ("system", "developer")
# The fields of an answer that each chunk of its stream repeats.
_CHUNK_FIELDS = ("id", "created", "model", "system_fingerprint", "service_tier")
# The calls in a response that are answered, and where their arguments are.
_ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}
# The texts of a message, each of which is a separate chunk.
_TEXTS = ("reasoning", "reasoning_content", "content", "refusal")


class ChatCompletions(PassingWire):
    """`POST /v1/chat/completions`."""

    vendor: ClassVar[Vendor] = "OPENAI"
    make_decoder = OpenAIDecoder
    stream_end = b"data: [DONE]\n\n"
    limit_names = ("max_completion_tokens", "max_tokens")
    number_name = "n"

    def path(self, model: str) -> str:
        return "/chat/completions"

    def conversation(self, body: Body) -> list[Any]:
        return listed(body, "messages")

    def continued(self, body: Body, results: Results) -> Body:
        message = results.received["choices"][0]["message"]
        answers = [
            {"role": "tool", "tool_call_id": call.get("id"), "content": text}
            for call, text in zip(message.get("tool_calls") or (), results.texts, strict=False)
        ]
        return body | {"messages": [*self.conversation(body), without_nulls(message), *answers]}

    def events(self, received: Any, body: Body) -> Iterator[Any]:
        shared = {key: cut_to_repeat(received[key]) for key in _CHUNK_FIELDS if key in received}
        shared["object"] = "chat.completion.chunk"
        for choice in received["choices"]:
            index = cut_to_repeat(choice.get("index", 0))
            for delta in _deltas(choice["message"]):
                yield shared | {"choices": [{"index": index, "delta": delta, "finish_reason": None}]}
            end = {"index": index, "delta": {}, "finish_reason": choice.get("finish_reason")}
            yield shared | {"choices": [end]}
        options = body.get("stream_options")
        if isinstance(options, dict) and options.get("include_usage"):
            yield shared | {"choices": [], "usage": received.get("usage")}

    def instruction(self, body: Body) -> str:
        messages = entries(body.get("messages"))
        return "\n".join(texts(message.get("content")) for message in messages if message.get("role") in _SYSTEM)

    def tools(self, body: Body) -> Iterator[ToolDefinition]:
        for entry in entries(body.get("tools")):
            if isinstance(function := entry.get("function") or entry.get("custom"), dict):
                yield from tool(function, function.get("parameters"))


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the deltas of a message's stream: the role, the fields that are no texts, each text, then each call."""
    yield {"role": "assistant", "content": ""}
    more = {key: value for key, value in message.items() if key not in ("role", "tool_calls") and value}
    pieces = [{key: more.pop(key)} for key in _TEXTS if key in more]
    yield from (piece for piece in (more, *pieces) if piece)
    for place, call in enumerate(message.get("tool_calls") or ()):
        yield {"tool_calls": [{"index": place, **call}]}


class Responses(PassingWire):
    """`POST /v1/responses`."""

    vendor: ClassVar[Vendor] = "OPENAI"
    make_decoder = ResponsesDecoder
    limit_names = ("max_output_tokens",)
    # The calls of the others are run by the program, and their results have other forms.
    acting = ("mcp", "shell", "local_shell", "apply_patch", "computer")

    def check(self, body: Body) -> None:
        if body.get("background") not in (None, False):
            raise Invalid(
                "background: Must be false, because a replay counts what its calls cost when they are answered."
            )
        super().check(body)

    def path(self, model: str) -> str:
        return "/responses"

    def conversation(self, body: Body) -> list[Any]:
        """Return the input, which a prompt or an earlier response of the vendor can replace."""
        given = body.get("input")
        if isinstance(given, str):
            return [{"role": "user", "content": given}]
        return [] if given is None else listed(body, "input")

    def continued(self, body: Body, results: Results) -> Body:
        output = results.received["output"]
        answers = [
            {"type": f"{call['type']}_output", "call_id": call.get("call_id"), "output": text}
            for call, text in zip(filter(is_call, output), results.texts, strict=False)
            if call["type"] in _ARGUMENTS
        ]
        return body | {"input": [*self.conversation(body), *map(without_nulls, output), *answers]}

    def events(self, received: Any, body: Body) -> Iterator[Any]:
        return ({**event, "sequence_number": number} for number, event in enumerate(_events(received)))

    def instruction(self, body: Body) -> str:
        items = (item for item in entries(body.get("input")) if item.get("role") in _SYSTEM)
        return "\n".join(filter(None, (texts(body.get("instructions")), *(texts(item["content"]) for item in items))))

    def tools(self, body: Body) -> Iterator[ToolDefinition]:
        for entry in entries(body.get("tools")):
            if entry.get("type") in ("function", "custom"):
                yield from tool(entry, entry.get("parameters"))


def _events(received: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of the stream that would have brought a response, without their sequence numbers."""
    begun = received | {"status": "in_progress", "output": []}
    last = {"incomplete": "response.incomplete", "failed": "response.failed"}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for place, item in enumerate(received["output"]):
        yield from _item_events(place, item)
    yield {"type": last.get(str(received.get("status")), "response.completed"), "response": received}


def _item_events(place: int, item: dict[str, Any]) -> Iterator[dict[str, Any]]:
    where = {"output_index": place, "item_id": cut_to_repeat(item.get("id")) or ""}
    kind = item.get("type")
    empty: dict[str, Any] = {"content": []} if kind == "message" else {}
    if kind in _ARGUMENTS:
        empty = {_ARGUMENTS[kind]: ""}
    yield {"type": "response.output_item.added", "output_index": place, "item": item | empty}
    if kind in _ARGUMENTS:
        name, arguments = _ARGUMENTS[kind], item.get(_ARGUMENTS[kind]) or ""
        yield {"type": f"response.{kind}_{name}.delta", **where, "delta": arguments}
        yield {"type": f"response.{kind}_{name}.done", **where, name: arguments}
    for index, part in enumerate(item.get("content") or () if item.get("type") == "message" else ()):
        yield from _part_events(where | {"content_index": index}, part)
    yield {"type": "response.output_item.done", "output_index": place, "item": item}


def _part_events(where: dict[str, Any], part: dict[str, Any]) -> Iterator[dict[str, Any]]:
    key, kind = ("refusal", "response.refusal") if part.get("type") == "refusal" else ("text", "response.output_text")
    logprobs: dict[str, Any] = {"logprobs": []} if key == "text" else {}
    yield {"type": "response.content_part.added", **where, "part": part | {key: ""}}
    yield {"type": f"{kind}.delta", **where, "delta": part.get(key, ""), **logprobs}
    yield {"type": f"{kind}.done", **where, key: part.get(key, ""), **logprobs}
    yield {"type": "response.content_part.done", **where, "part": part}
