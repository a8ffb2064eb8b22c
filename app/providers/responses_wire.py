"""OpenAI's Responses API, for models that accept tools there only, unless they do not reason.

Sources: https://platform.openai.com/docs/api-reference/responses, and for the models
https://developers.openai.com/api/docs/guides/deployment-checklist. OpenAI stores nothing: what a model has thought is
sent back encrypted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from app.chat import File, Message, StreamEvent, Tokens, ToolDefinition
from app.errors import Invalid
from app.providers import encoding
from app.providers.conversations import with_accepted_calls
from app.providers.decoding import Decoder, arguments_text, count_of, list_of, object_of, text_of
from app.providers.failures import ProviderFailure, failed_midway
from app.providers.types import ModelConfig, ModelRequest

# GPT-5.4 and later ones.
_MODELS = re.compile(r"(?:.*/)?gpt-(?:5\.(?:[4-9]|\d\d)|[6-9]|\d\d)(?!.*-chat)", re.IGNORECASE)
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
# Calls that OpenAI runs itself, and that change nothing outside of it.
_HOSTED_CALLS = frozenset(
    f"{tool}_call" for tool in ("web_search", "file_search", "code_interpreter", "image_generation", "tool_search")
)
_ARGUMENTS = ("arguments", "input", "action", "operation")


def needs_responses(request: ModelRequest) -> bool:
    """Return whether the chat completions of OpenAI refuse the request: its model reasons, and has tools."""
    config, model = request.config, request.model
    offers_tools = bool(config.tools) and config.reasoning_effort != "none"
    return model.vendor == "OPENAI" and offers_tools and _MODELS.match(model.name) is not None


class ResponsesWire:
    """Encodes requests and decodes answers."""

    headers: Mapping[str, str] = {}

    def path(self, request: ModelRequest, *, streamed: bool) -> str:
        return "/responses"

    def body(self, request: ModelRequest, *, streamed: bool) -> dict[str, Any]:
        encoding.check(request)
        config = request.config
        for key, value in (("stop", config.stop or None), ("seed", config.seed)):
            if value is not None:
                raise Invalid(f"languageModelConfig.{key}: {request.model.name} does not accept it with tools.")
        messages = with_accepted_calls("OPENAI", request.messages)
        messages = encoding.with_json_instruction("OPENAI", config, messages)
        parameters = {
            "model": request.model.name,
            "instructions": encoding.instruction_of(messages) or None,
            "input": list(_items(messages)),
            "tools": [_tool(tool) for tool in config.tools],
            "text": _text_format(config),
            "reasoning": {"effort": config.reasoning_effort} if config.reasoning_effort else None,
            "max_output_tokens": config.max_tokens,
            "temperature": encoding.temperature_of("OPENAI", config),
            "top_p": config.top_p,
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "stream": True if streamed else None,
        }
        return encoding.given(parameters)

    def decoder(self, request: ModelRequest) -> Decoder:
        return ResponsesDecoder()


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    # Tools are strict unless the request has it otherwise.
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": encoding.parameters_of(tool),
        "strict": bool(tool.strict),
    }


def _text_format(config: ModelConfig) -> dict[str, Any] | None:
    match config.response_format:
        case "json_schema":
            return {"format": {"type": "json_schema", **encoding.named_schema(config)}}
        case "json_object":
            return {"format": {"type": "json_object"}}
        case _:
            return None


def _items(messages: tuple[Message, ...]) -> Iterator[dict[str, Any]]:
    for message in messages:
        match message.role:
            case "user":
                text = [{"type": "input_text", "text": message.text}] if message.text or not message.files else []
                yield {"role": "user", "content": [*text, *map(_part, message.files)]}
            case "assistant":
                thoughts = encoding.own_state("OPENAI", message.vendor_state).get("reasoning")
                yield from thoughts if isinstance(thoughts, list) else ()
                if message.text:
                    yield {"role": "assistant", "content": message.text}
                for call in message.tool_calls:
                    arguments = json.dumps(encoding.arguments_object(call))
                    yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments}
            case "tool":
                call_id = message.tool_call_id or ""
                yield {"type": "function_call_output", "call_id": call_id, "output": message.text}


def _part(file: File) -> dict[str, Any]:
    media_type = encoding.media_type_of("OPENAI", file)
    if media_type == "text/plain":
        return {"type": "input_text", "text": f"{file.name}:\n\n{encoding.decoded(file)}"}
    url = f"data:{media_type};base64,{encoding.base64_of(file.content)}"
    if media_type == encoding.PDF:
        return {"type": "input_file", "filename": file.name, "file_data": url}
    return {"type": "input_image", "image_url": url}


class ResponsesDecoder(Decoder):
    """Reads responses, whole or as events."""

    def __init__(self) -> None:
        super().__init__()
        self._has_items = False
        # The kinds of texts that came in pieces. Complete items repeat them.
        self._in_pieces: set[str] = set()

    def read_whole(self, sent: Any) -> None:
        response = object_of(sent)
        if not isinstance(response.get("output"), list):
            raise ProviderFailure("The answer has no output.")
        self._read_response(response)
        self.read_done()

    def read_event(self, sent: Any) -> list[StreamEvent]:
        event = object_of(sent)
        kind = text_of(event.get("type"))
        match kind:
            case "response.output_text.delta":
                self._in_pieces.add("text")
                return self.answer.add_text(text_of(event.get("delta")))
            case "response.refusal.delta":
                self._in_pieces.add("refusal")
                self.answer.add_refusal(text_of(event.get("delta")))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                self._in_pieces.add("reasoning")
                return self.answer.add_reasoning(text_of(event.get("delta")))
            case "response.output_item.done":
                return self._read_item(object_of(event.get("item")))
            case "error":
                raise _failure({"code": event.get("code"), "message": event.get("message")})
        return self._read_response(object_of(event.get("response"))) if kind in _ENDS else []

    def _read_response(self, response: dict[str, Any]) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        if not self._has_items:
            for item in map(object_of, list_of(response.get("output"))):
                events += self._read_item(item)
        self._read_usage(object_of(response.get("usage")))
        reason = text_of(object_of(response.get("incomplete_details")).get("reason"))
        match text_of(response.get("status")):
            case "failed" | "cancelled":
                raise _failure(response.get("error") or "The answer broke off.")
            case "incomplete" if reason == "content_filter":
                self.answer.finish = "refused"
            case "incomplete":
                self.answer.finish = "length"
            case _:
                self.answer.finish = "stop"
        return events

    def _read_item(self, item: dict[str, Any]) -> list[StreamEvent]:
        """Read an item that is complete."""
        self._has_items = True
        match item.get("type"):
            case "message":
                return [event for part in list_of(item.get("content")) for event in self._read_part(object_of(part))]
            case "reasoning":
                return self._read_thought(item)
            case kind if is_call(item):
                call = self.answer.call(len(self.answer.calls))
                call.id = text_of(item.get("call_id"))
                call.name = text_of(item.get("name")) or text_of(kind).removesuffix("_call")
                arguments = (item[name] for name in _ARGUMENTS if item.get(name) is not None)
                self.answer.add_arguments(call, arguments_text(next(arguments, None)))
        return []

    def _read_part(self, part: dict[str, Any]) -> list[StreamEvent]:
        if "refusal" not in self._in_pieces:
            self.answer.add_refusal(text_of(part.get("refusal")))
        return [] if "text" in self._in_pieces else self.answer.add_text(text_of(part.get("text")))

    def _read_thought(self, item: dict[str, Any]) -> list[StreamEvent]:
        summary = list_of(item.get("summary"))
        if encrypted := text_of(item.get("encrypted_content")):
            state = self.answer.vendor_state.setdefault("openai", {"reasoning": []})
            state["reasoning"].append(
                {"type": "reasoning", "id": item.get("id"), "summary": summary, "encrypted_content": encrypted}
            )
        if "reasoning" in self._in_pieces:
            return []
        texts = (text_of(object_of(part).get("text")) for part in summary)
        return [event for text in texts for event in self.answer.add_reasoning(text)]

    def _read_usage(self, usage: dict[str, Any]) -> None:
        given, made = (object_of(usage.get(f"{part}_tokens_details")) for part in ("input", "output"))
        self.answer.tokens = Tokens(
            count_of(usage.get("input_tokens")),
            count_of(usage.get("output_tokens")),
            count_of(given.get("cached_tokens")),
            count_of(given.get("cache_write_tokens")),
            count_of(made.get("reasoning_tokens")),
        )


def is_call(item: dict[str, Any]) -> bool:
    """Return whether an item of an output is a call that acts for the user.

    Such a call is run by the caller, or by a server of the user's, as one of the type `mcp_call`.
    """
    kind = item.get("type")
    return isinstance(kind, str) and kind.endswith("_call") and kind not in _HOSTED_CALLS


def _failure(error: object) -> ProviderFailure:
    return failed_midway("OPENAI", None, {"error": error}) or ProviderFailure("The answer broke off.")
