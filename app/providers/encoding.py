"""Turns a request into what each vendor reads: the body of a request in OpenAI's format, or any-llm's arguments."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from app.chat import File, Message, ToolCall, ToolDefinition, VendorState
from app.errors import Invalid
from app.providers.types import ModelConfig, ModelRequest
from app.providers.vendors import CUSTOM, EFFORTS, VENDORS, Vendor, VendorProfile

_TEXTUAL = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})
_JSON_ONLY = "Answer with one JSON object and nothing else."
# DeepSeek's V4 knows these efforts alone, and takes others by their nearest, wherever it is served
# (https://api-docs.deepseek.com/guides/thinking_mode).
_DEEPSEEK_EFFORTS = {"low": "low", "medium": "high", "high": "high", "xhigh": "high"}
_DEEPSEEK_V4 = re.compile(r"\bdeepseek-v4(?!\d)", re.IGNORECASE)


def encode(request: ModelRequest) -> dict[str, Any]:
    """Return the body or the arguments.

    `Invalid` names a file's media type or a parameter that this vendor's models can't take.
    """
    vendor, config = request.model.vendor, request.config
    if config.reasoning_effort not in (None, *EFFORTS):
        raise Invalid(
            f"The model configuration can't be sent: reasoning_effort {config.reasoning_effort!r} is unknown."
        )
    encoded = {
        "model": request.model.name,
        "messages": list(_messages(vendor, config, _with_json_instruction(vendor, config, request.messages))),
        "tools": [_tool(tool) for tool in config.tools] or None,
        "response_format": _response_format(vendor, config),
        "top_p": config.top_p,
        "stop": list(config.stop) or None,
        **_sampling(vendor, config),
    }
    if VENDORS[vendor].wire != "openai":
        # "auto" leaves thinking to the model's own default; None would turn it off on some.
        return {**encoded, "max_tokens": config.max_tokens, "reasoning_effort": config.reasoning_effort or "auto"}
    # Many self-hosted servers ignore the name that OpenAI's models want, and DeepSeek knows the old one alone.
    limit = "max_completion_tokens" if vendor == "OPENAI" else "max_tokens"
    encoded |= {limit: config.max_tokens, **_reasoning(vendor, request.model.name, config.reasoning_effort)}
    return {name: value for name, value in encoded.items() if value is not None}


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


def _sampling(vendor: Vendor, config: ModelConfig) -> dict[str, Any]:
    if config.seed is not None and not VENDORS[vendor].takes_seed:
        raise Invalid(f"{vendor} models take no seed.")
    # 1 is the default of every vendor's models, and models that reason refuse a request that contains it.
    is_default = config.temperature == 1 and vendor != CUSTOM
    return {"seed": config.seed, "temperature": None if is_default else config.temperature}


def _response_format(vendor: Vendor, config: ModelConfig) -> dict[str, Any] | None:
    formats = VENDORS[vendor].formats
    match config.response_format:
        case "json_schema" if "json_schema" in formats:
            schema = config.json_schema or {"type": "object"}
            return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
        case "json_schema" | "json_object" if "json_object" in formats:
            return {"type": "json_object"}
        case _:
            return None


def _with_json_instruction(vendor: Vendor, config: ModelConfig, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Add the instruction to answer in JSON where the vendor needs it.

    Anthropic has no JSON mode, DeepSeek's takes no schema, and OpenAI's refuses a conversation that does not mention
    JSON.
    """
    if not _needs_json_instruction(VENDORS[vendor], config, messages):
        return messages
    instruction = _JSON_ONLY
    if config.response_format == "json_schema":
        instruction += f" It must be valid against this JSON Schema: {json.dumps(config.json_schema)}"
    if messages and messages[0].role == "system":
        return (replace(messages[0], text=f"{messages[0].text}\n\n{instruction}"), *messages[1:])
    return (Message("system", instruction), *messages)


def _needs_json_instruction(vendor: VendorProfile, config: ModelConfig, messages: tuple[Message, ...]) -> bool:
    if config.response_format != "json_object":
        return config.response_format == "json_schema" and "json_schema" not in vendor.formats
    if vendor.json_instruction == "unmentioned":
        return not any("json" in message.text.lower() for message in messages)
    return vendor.json_instruction == "always"


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    function: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters or {"type": "object", "properties": {}},
    }
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _messages(vendor: Vendor, config: ModelConfig, messages: tuple[Message, ...]) -> Iterator[dict[str, Any]]:
    for message in messages:
        state = _state(vendor, config, message.vendor_state)
        match message.role:
            case "system" if not message.text:
                continue
            case "user" if message.files:
                text = [{"type": "text", "text": message.text}] if message.text else []
                yield {"role": "user", "content": text + [_part(vendor, file) for file in message.files]}
            case "assistant" if message.tool_calls:
                calls = [_tool_call(call) | _state(vendor, config, call.vendor_state) for call in message.tool_calls]
                yield {"role": "assistant", "content": message.text or None, "tool_calls": calls} | state
            case "tool":
                yield {"role": "tool", "content": message.text, "tool_call_id": message.tool_call_id or ""}
            case role:
                yield {"role": role, "content": message.text} | state


def _tool_call(call: ToolCall) -> dict[str, Any]:
    # Vendors take only an object, even where their model wrote something else.
    arguments = call.arguments if isinstance(call.arguments, dict) else {"input": call.arguments}
    function = {"name": call.name, "arguments": json.dumps(arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _state(vendor: Vendor, config: ModelConfig, state: VendorState | None) -> dict[str, Any]:
    """Return the vendor's state of a message or tool call, which is sent back to this vendor only."""
    own = VENDORS[vendor].state_key
    if not state or own not in state:
        return {}
    if vendor == "DEEPSEEK":
        # Wanted where tools are offered (https://api-docs.deepseek.com/guides/thinking_mode#tool-calls).
        return {"reasoning_content": state[own].get("reasoning_content")} if config.tools else {}
    encoded = {"extra_content": {own: state[own]}}
    return encoded | {"reasoning": state["reasoning"]} if "reasoning" in state else encoded


def _part(vendor: Vendor, file: File) -> dict[str, Any]:
    media_type = file.media_type.partition(";")[0].strip().lower()
    if media_type in VENDORS[vendor].images:
        return {"type": "image_url", "image_url": {"url": _data_url(media_type, file.content)}}
    if media_type == "application/pdf" and VENDORS[vendor].reads_pdf:
        return _document(media_type, file)
    if media_type.startswith("text/") or media_type in _TEXTUAL:
        return _text(vendor, file)
    raise Invalid(f"{vendor} models can't read {media_type} ({file.name}).")


def _text(vendor: Vendor, file: File) -> dict[str, Any]:
    """Encode a text document; vendors without text documents read it as a part of the message."""
    try:
        text = file.content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Invalid(f"{file.name} is sent as text, but it is not UTF-8.") from error
    match VENDORS[vendor].wire:
        case "anthropic":
            source = {"type": "text", "media_type": "text/plain", "data": text}
            return {"type": "document", "source": source, "title": file.name}
        case "google":
            return _document("text/plain", replace(file, content=text.encode()))
        case _:
            return {"type": "text", "text": f"{file.name}:\n\n{text}"}


def _document(media_type: str, file: File) -> dict[str, Any]:
    data = _data_url(media_type, file.content)
    return {"type": "file", "file": {"filename": file.name, "file_data": data}}


def _data_url(media_type: str, content: bytes) -> str:
    return f"data:{media_type};base64,{b64encode(content).decode('ascii')}"
