"""OpenAI's chat completions, as OpenAI, DeepSeek and OpenAI-compatible servers speak them.

Source: https://platform.openai.com/docs/api-reference/chat. Servers differ from it in ways that this module accepts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from app.chat import File, Message, ToolCall, ToolDefinition
from app.errors import Invalid
from app.providers import encoding, vendors
from app.providers.conversations import with_accepted_calls
from app.providers.decoding import Decoder
from app.providers.openai_answers import DeepSeekDecoder, OpenAIDecoder, ThinkingDecoder
from app.providers.types import ModelConfig, ModelRequest
from app.providers.vendors import VENDORS, Vendor

# DeepSeek's V4 knows these efforts only, and accepts others by their nearest, wherever it is served
# (https://api-docs.deepseek.com/guides/thinking_mode).
_DEEPSEEK_EFFORTS = {"low": "low", "medium": "high", "high": "high", "xhigh": "high"}
_DEEPSEEK_V4 = re.compile(r"\bdeepseek-v4(?!\d)", re.IGNORECASE)


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
        match request.model.vendor:
            case "DEEPSEEK":
                return DeepSeekDecoder()
            case vendors.CUSTOM:
                return ThinkingDecoder()
            case _:
                return OpenAIDecoder()


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
    data = encoding.base64_of(file.content)
    if media_type.startswith("audio/"):
        return {"type": "input_audio", "input_audio": {"data": data, "format": media_type.removeprefix("audio/")}}
    url = f"data:{media_type};base64,{data}"
    if media_type == encoding.PDF:
        return {"type": "file", "file": {"filename": file.name, "file_data": url}}
    return {"type": "image_url", "image_url": {"url": url}}
