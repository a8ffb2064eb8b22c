"""OpenAI's chat completions, as OpenAI, DeepSeek and OpenAI-compatible servers speak them.

Source: https://platform.openai.com/docs/api-reference/chat. Servers differ from it in ways that this module accepts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from app.chat import Answer, File, Message, StreamEvent, Tokens, ToolCall, ToolDefinition
from app.errors import Invalid
from app.providers import encoding
from app.providers.decoding import Decoder, arguments_text, count_of, list_of, object_of, text_of
from app.providers.failures import ProviderFailure
from app.providers.types import ModelConfig, ModelRequest
from app.providers.vendors import VENDORS, Vendor

# DeepSeek's V4 knows these efforts only, and accepts others by their nearest, wherever it is served
# (https://api-docs.deepseek.com/guides/thinking_mode).
_DEEPSEEK_EFFORTS = {"low": "low", "medium": "high", "high": "high", "xhigh": "high"}
_DEEPSEEK_V4 = re.compile(r"\bdeepseek-v4(?!\d)", re.IGNORECASE)
# The keys under which servers send what a model has thought.
_REASONING = ("reasoning", "reasoning_content", "thinking", "think", "chain_of_thought")


class OpenAIWire:
    """Encodes requests and decodes answers."""

    headers: Mapping[str, str] = {}

    def path(self, request: ModelRequest, *, streamed: bool) -> str:
        return "/chat/completions"

    def body(self, request: ModelRequest, *, streamed: bool) -> dict[str, Any]:
        encoding.check(request)
        vendor, config = request.model.vendor, request.config
        # Many self-hosted servers ignore the name that OpenAI's models want, and DeepSeek knows only the old one.
        limit = "max_completion_tokens" if vendor == "OPENAI" else "max_tokens"
        parameters = {
            "model": request.model.name,
            "messages": list(
                _messages(vendor, config, encoding.with_json_instruction(vendor, config, request.messages))
            ),
            "tools": [_tool(tool) for tool in config.tools] or None,
            "response_format": _response_format(vendor, config),
            "temperature": encoding.temperature_of(vendor, config),
            "top_p": config.top_p,
            "stop": list(config.stop) or None,
            "seed": config.seed,
            limit: config.max_tokens,
            **_reasoning(vendor, request.model.name, config.reasoning_effort),
        }
        streaming = {"stream": True, "stream_options": {"include_usage": True}} if streamed else {}
        return encoding.given(parameters) | streaming

    def decoder(self, request: ModelRequest) -> Decoder:
        return DeepSeekDecoder() if request.model.vendor == "DEEPSEEK" else OpenAIDecoder()


def _reasoning(vendor: Vendor, model: str, effort: str | None) -> dict[str, Any]:
    if effort is None:
        return {}
    if vendor != "DEEPSEEK":
        spoken = _DEEPSEEK_EFFORTS | {"minimal": "low"} if _DEEPSEEK_V4.search(model) else {}
        return {"reasoning_effort": spoken.get(effort, effort)}
    if effort == "none":
        return {"thinking": {"type": "disabled"}}
    if effort not in _DEEPSEEK_EFFORTS:
        raise Invalid(f"The model configuration can't be sent: {vendor} models know no reasoning_effort {effort!r}.")
    return {"reasoning_effort": _DEEPSEEK_EFFORTS[effort], "thinking": {"type": "enabled"}}


def _response_format(vendor: Vendor, config: ModelConfig) -> dict[str, Any] | None:
    formats = VENDORS[vendor].formats
    match config.response_format:
        case "json_schema" if "json_schema" in formats:
            schema = {"name": "answer", "schema": config.json_schema or {"type": "object"}, "strict": config.strict}
            return {"type": "json_schema", "json_schema": encoding.given(schema)}
        case "json_schema" | "json_object" if "json_object" in formats:
            return {"type": "json_object"}
        case _:
            return None


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters or {"type": "object", "properties": {}},
        "strict": tool.strict,
    }
    return {"type": "function", "function": encoding.given(function)}


def _messages(vendor: Vendor, config: ModelConfig, messages: tuple[Message, ...]) -> Iterator[dict[str, Any]]:
    for message in messages:
        match message.role:
            case "system" if not message.text:
                continue
            case "user" if message.files:
                text = [{"type": "text", "text": message.text}] if message.text else []
                yield {"role": "user", "content": text + [_part(vendor, file) for file in message.files]}
            case "assistant" if message.tool_calls:
                calls = [_tool_call(call) for call in message.tool_calls]
                content = {"role": "assistant", "content": message.text or None, "tool_calls": calls}
                yield content | _state(vendor, config, message)
            case "tool":
                yield {"role": "tool", "content": message.text, "tool_call_id": message.tool_call_id or ""}
            case role:
                yield {"role": role, "content": message.text} | _state(vendor, config, message)


def _tool_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": json.dumps(encoding.arguments_object(call))}
    return {"id": call.id, "type": "function", "function": function}


def _state(vendor: Vendor, config: ModelConfig, message: Message) -> dict[str, Any]:
    """Return what DeepSeek's model has thought, which it needs where tools are offered.

    Source: https://api-docs.deepseek.com/guides/thinking_mode#tool-calls.
    """
    state = encoding.own_state(vendor, message.vendor_state)
    return {"reasoning_content": state.get("reasoning_content")} if state and config.tools else {}


def _part(vendor: Vendor, file: File) -> dict[str, Any]:
    media_type = encoding.media_type_of(vendor, file)
    if media_type == "text/plain":
        return {"type": "text", "text": f"{file.name}:\n\n{encoding.decoded(file)}"}
    url = f"data:{media_type};base64,{encoding.base64_of(file.content)}"
    if media_type == encoding.PDF:
        return {"type": "file", "file": {"filename": file.name, "file_data": url}}
    return {"type": "image_url", "image_url": {"url": url}}


class OpenAIDecoder(Decoder):
    """Reads chat completions, whole or as chunks."""

    def __init__(self) -> None:
        super().__init__()
        # The place of the call that each `index` of a stream names at the moment.
        self._places: dict[int, int] = {}

    def read_whole(self, sent: Any) -> None:
        completion = object_of(sent)
        if not isinstance(completion.get("choices"), list):
            raise ProviderFailure("The answer has no choices.")
        self._read_usage(completion.get("usage"))
        choice = _first(completion)
        self._read_finish(text_of(choice.get("finish_reason")) or "stop")
        message = object_of(choice.get("message"))
        for place, call in enumerate(list_of(message.get("tool_calls"))):
            self._read_call(place, object_of(call))
        self._read_message(message)

    def read_event(self, sent: Any) -> list[StreamEvent]:
        chunk = object_of(sent)
        self._read_usage(chunk.get("usage"))
        choice = _first(chunk)
        self._read_finish(text_of(choice.get("finish_reason")))
        delta = object_of(choice.get("delta"))
        for call in map(object_of, list_of(delta.get("tool_calls"))):
            self._read_call(self._place(call), call)
        return self._read_message(delta)

    def _read_finish(self, reason: str) -> None:
        if reason:
            self.answer.finish = "length" if reason == "length" else "refused" if reason == "content_filter" else "stop"

    def _read_message(self, message: dict[str, Any]) -> list[StreamEvent]:
        reasoning = next((message[key] for key in _REASONING if message.get(key) is not None), None)
        events = self.answer.add_reasoning(_words(reasoning))
        events += self._read_content(message.get("content"))
        self.answer.add_refusal(text_of(message.get("refusal")))
        return events

    def _read_content(self, content: object) -> list[StreamEvent]:
        """Read the text, or a list of parts, some of which are thoughts: https://docs.mistral.ai/capabilities/reasoning."""
        if not isinstance(content, list):
            return self.answer.add_text(text_of(content))
        events = []
        for part in map(object_of, content):
            is_thought = part.get("type") == "thinking"
            events += self.answer.add_reasoning(_words(part.get("thinking"))) if is_thought else []
            events += self.answer.add_text(text_of(part.get("text")))
        return events

    def _place(self, piece: dict[str, Any]) -> int:
        """Return the place of the call that a piece belongs to.

        Some servers name no index: what begins a call brings its id. Some name the same index for each of several
        calls: another id, or another name after whole arguments, begins a call.
        """
        places, index = self._places, piece.get("index")
        count = len(self.answer.calls)
        if not isinstance(index, int):
            return count if piece.get("id") else max(count - 1, 0)
        if index not in places or self._begins_another(places[index], piece):
            places[index] = max(self.answer.calls, default=-1) + 1 if index in places else self._free(index)
        return places[index]

    def _free(self, index: int) -> int:
        return index if index not in self.answer.calls else max(self.answer.calls) + 1

    def _begins_another(self, place: int, piece: dict[str, Any]) -> bool:
        call, name = self.answer.calls.get(place), text_of(object_of(piece.get("function")).get("name"))
        if call is None:
            return False
        other_id = bool(call.id and piece.get("id")) and piece["id"] != call.id
        other_name = bool(call.name and name) and name != call.name
        # Only the last characters: the piece may be long, and names may change often.
        return other_id or (other_name and bool(call.arguments) and call.arguments[-1][-64:].rstrip().endswith("}"))

    def _read_call(self, place: int, piece: dict[str, Any]) -> None:
        call, function = self.answer.call(place), object_of(piece.get("function"))
        call.id = text_of(piece.get("id")) or call.id
        call.name = text_of(function.get("name")) or call.name
        self.answer.add_arguments(call, arguments_text(function.get("arguments")))

    def _read_usage(self, sent: object) -> None:
        usage = object_of(sent)
        if usage.get("prompt_tokens") is None and usage.get("completion_tokens") is None:
            return  # some servers send an object without counts with each chunk
        prompt, completion = (object_of(usage.get(f"{part}_tokens_details")) for part in ("prompt", "completion"))
        self.answer.tokens = Tokens(
            prompt=count_of(usage.get("prompt_tokens")),
            completion=count_of(usage.get("completion_tokens")),
            # The other one is DeepSeek's.
            cache_read=count_of(prompt.get("cached_tokens")) or count_of(usage.get("prompt_cache_hit_tokens")),
            cache_write=count_of(prompt.get("cache_write_tokens")),
            reasoning=count_of(completion.get("reasoning_tokens")),
        )


class DeepSeekDecoder(OpenAIDecoder):
    """Keeps what the model has thought, which DeepSeek needs to get back."""

    def end(self) -> Answer:
        answer = super().end()
        state = {"deepseek": {"reasoning_content": answer.reasoning}}
        return replace(answer, vendor_state=state) if answer.reasoning else answer


def _first(completion: dict[str, Any]) -> dict[str, Any]:
    choices = list_of(completion.get("choices"))
    return object_of(choices[0]) if choices else {}


def _words(reasoning: object) -> str:
    """Return what a model has thought: a text, an object with one, or a list of parts with texts."""
    if isinstance(reasoning, list):
        return "".join(text_of(object_of(part).get("text")) for part in reasoning)
    return text_of(reasoning.get("content") if isinstance(reasoning, dict) else reasoning)
