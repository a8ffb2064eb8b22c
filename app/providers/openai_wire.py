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
from app.providers.call_pieces import CallPlaces, repeats
from app.providers.conversations import with_accepted_calls
from app.providers.decoding import Decoder, arguments_text, count_of, list_of, object_of, text_of
from app.providers.failures import ProviderFailure
from app.providers.types import ModelConfig, ModelRequest
from app.providers.vendors import VENDORS, Vendor

# DeepSeek's V4 knows these efforts only, and accepts others by their nearest, wherever it is served
# (https://api-docs.deepseek.com/guides/thinking_mode).
_DEEPSEEK_EFFORTS = {"low": "low", "medium": "high", "high": "high", "xhigh": "high"}
_DEEPSEEK_V4 = re.compile(r"\bdeepseek-v4(?!\d)", re.IGNORECASE)
# The keys under which servers send what a model has thought.
_REASONING = ("reasoning", "reasoning_content", "thinking", "think", "chain_of_thought", "reasoning_details")


class OpenAIWire:
    """Encodes requests and decodes answers."""

    headers: Mapping[str, str] = {}

    def path(self, request: ModelRequest, *, streamed: bool) -> str:
        return "/chat/completions"

    def body(self, request: ModelRequest, *, streamed: bool) -> dict[str, Any]:
        encoding.check(request)
        vendor, config = request.model.vendor, request.config
        messages = with_accepted_calls(vendor, request.messages)
        messages = encoding.with_json_instruction(vendor, config, messages)
        # Many self-hosted servers ignore the name that OpenAI's models want, and DeepSeek knows only the old one.
        limit = "max_completion_tokens" if vendor == "OPENAI" else "max_tokens"
        parameters = {
            "model": request.model.name,
            "messages": list(_messages(vendor, config, messages)),
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
        raise Invalid(f"languageModelConfig.reasoning_effort: {vendor} models do not accept {effort!r}.")
    return {"reasoning_effort": _DEEPSEEK_EFFORTS[effort], "thinking": {"type": "enabled"}}


def _response_format(vendor: Vendor, config: ModelConfig) -> dict[str, Any] | None:
    formats = VENDORS[vendor].formats
    match config.response_format:
        case "json_schema" if "json_schema" in formats:
            return {"type": "json_schema", "json_schema": encoding.named_schema(config)}
        case "json_schema" | "json_object" if "json_object" in formats:
            return {"type": "json_object"}
        case _:
            return None


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": encoding.parameters_of(tool),
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
    thoughts = encoding.own_state(vendor, message.vendor_state).get("reasoning_content")
    return {"reasoning_content": thoughts} if thoughts and config.tools else {}


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
        self._places = CallPlaces(self.answer.calls)

    def read_whole(self, sent: Any) -> None:
        completion = object_of(sent)
        if not isinstance(completion.get("choices"), list):
            raise ProviderFailure("The answer has no choices.")
        choice = _first(completion)
        self._read_usage(completion, choice)
        self._read_finish(text_of(choice.get("finish_reason")) or "stop")
        message = object_of(choice.get("message"))
        for place, call in enumerate(_calls(message)):
            self._read_call(place, call, arguments_text(_function(call).get("arguments")))
        self._read_message(message)

    def read_event(self, sent: Any) -> list[StreamEvent]:
        chunk = object_of(sent)
        choice = _first(chunk)
        self._read_usage(chunk, choice)
        self._read_finish(text_of(choice.get("finish_reason")))
        delta = object_of(choice.get("delta"))
        for call in _calls(delta):
            self._read_piece(call)
        return self._read_message(delta)

    def _read_finish(self, reason: str) -> None:
        """Read why the model ended; servers use the reasons of other formats, too."""
        match reason.lower():
            case "":
                return
            case "length" | "max_tokens" | "max_output_tokens" | "model_length":
                self.answer.finish = "length"
            case "content_filter" | "refusal" | "safety":
                self.answer.finish = "refused"
            case "error" | "abort" | "insufficient_system_resource":
                raise ProviderFailure(f"The answer broke off ({reason}).", retryable=True, outage=True)
            case _:
                self.answer.finish = "stop"

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
            self.answer.add_refusal(text_of(part.get("refusal")))
        return events

    def _read_piece(self, piece: dict[str, Any]) -> None:
        call_id, function = text_of(piece.get("id")), _function(piece)
        arguments = arguments_text(function.get("arguments"))
        place = self._places.place_of(piece.get("index"), call_id, text_of(function.get("name")), arguments)
        has_it_already = place in self.answer.calls and repeats(self.answer.calls[place], call_id, arguments)
        self._read_call(place, piece, "" if has_it_already else arguments)

    def _read_call(self, place: int, piece: dict[str, Any], arguments: str) -> None:
        call = self.answer.call(place)
        call.id = text_of(piece.get("id")) or call.id
        call.name = text_of(_function(piece).get("name")) or call.name
        self.answer.add_arguments(call, arguments)

    def _read_usage(self, sent: dict[str, Any], choice: dict[str, Any]) -> None:
        """Read the counts; Moonshot sends a stream's in its choice, and Groq under a key with its name."""
        usage = object_of(sent.get("usage")) or object_of(choice.get("usage"))
        usage = usage or object_of(object_of(sent.get("x_groq")).get("usage"))
        if usage.get("prompt_tokens") is None and usage.get("completion_tokens") is None:
            return  # some servers send an object without counts with each chunk
        self.answer.tokens = _tokens(usage)


def _tokens(usage: dict[str, Any]) -> Tokens:
    """Return the counts. Where the total has more than prompt and completion, the rest are thoughts or the cache's.

    xAI and Google do not count thoughts as completion, but bill them as such.
    """
    prompt_details, completion_details = (
        object_of(usage.get(f"{part}_tokens_details")) for part in ("prompt", "completion")
    )
    prompt, completion, total = (count_of(usage.get(f"{part}_tokens")) for part in ("prompt", "completion", "total"))
    # The other one is DeepSeek's.
    cache_read = count_of(prompt_details.get("cached_tokens")) or count_of(usage.get("prompt_cache_hit_tokens"))
    reasoning = count_of(completion_details.get("reasoning_tokens"))
    is_counted = None not in (usage.get("prompt_tokens"), usage.get("completion_tokens"))
    rest = max(total - prompt - completion, 0) if is_counted else 0
    if rest and rest in (reasoning, cache_read or None):
        prompt, completion = (prompt, completion + rest) if rest == reasoning else (prompt + rest, completion)
    elif not reasoning:
        completion, reasoning = completion + rest, rest
    cache_write = count_of(prompt_details.get("cache_write_tokens"))
    return Tokens(count_of(prompt), count_of(completion), cache_read, cache_write, reasoning)


class DeepSeekDecoder(OpenAIDecoder):
    """Keeps what the model has thought, which DeepSeek needs to get back."""

    def end(self) -> Answer:
        answer = super().end()
        state = {"deepseek": {"reasoning_content": answer.reasoning}}
        return replace(answer, vendor_state=state) if answer.reasoning else answer


def _first(completion: dict[str, Any]) -> dict[str, Any]:
    choices = list_of(completion.get("choices"))
    return object_of(choices[0]) if choices else {}


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the calls of a message; `function_call` is the form for a single call that OpenAI used before."""
    if calls := [object_of(call) for call in list_of(message.get("tool_calls"))]:
        return calls
    function = object_of(message.get("function_call"))
    return [{"function": function}] if any(function.values()) else []


def _function(call: dict[str, Any]) -> dict[str, Any]:
    return object_of(call.get("function"))


def _words(reasoning: object) -> str:
    """Return what a model has thought: a text, an object with one, or a list of parts with texts or summaries."""
    if isinstance(reasoning, list):
        parts = map(object_of, reasoning)
        return "".join(text_of(part.get("text")) or text_of(part.get("summary")) for part in parts)
    return text_of(reasoning.get("content") if isinstance(reasoning, dict) else reasoning)
