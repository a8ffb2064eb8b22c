"""Google's generateContent.

Sources: https://ai.google.dev/api/generate-content, and under https://ai.google.dev/gemini-api/docs/ the pages
thinking, thought-signatures, function-calling and structured-output.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from app.chat import File, Message, StreamEvent, Tokens, ToolDefinition
from app.errors import Invalid
from app.providers import encoding
from app.providers.conversations import with_accepted_calls
from app.providers.decoding import Decoder, arguments_text, count_of, list_of, object_of, text_of
from app.providers.failures import ProviderFailure
from app.providers.types import ModelConfig, ModelRequest

_VERSION = re.compile(r"(?:^|/)gemini-(\d+)")
# Models from Gemini 3 on have a thinking level, earlier ones a number of tokens.
_LEVELS = {"minimal": "minimal", "low": "low", "medium": "medium", "high": "high", "xhigh": "high"}
_BUDGETS = {"minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576, "xhigh": 32_768}
_MOST_BUDGET = {"gemini-2.5-pro": 32_768, "gemini-2.5-flash": 24_576}
# In the place of a signature, for a call that another model made, or that was recorded without one.
_NO_SIGNATURE = "skip_thought_signature_validator"
_LENGTH = "MAX_TOKENS"
_FILTERS = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    }
)


def _finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"{digits} is no number of JSON")
    return number


# A result with a number that JSON can't have, such as NaN, stays text.
_DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


class GoogleWire:
    """Encodes requests and decodes answers."""

    headers: Mapping[str, str] = {}

    def path(self, request: ModelRequest, *, streamed: bool) -> str:
        name = request.model.name
        model = name if "/" in name else f"models/{name}"
        method = "streamGenerateContent?alt=sse" if streamed else "generateContent"
        return f"/v1beta/{quote(model)}:{method}"

    def body(self, request: ModelRequest, *, streamed: bool) -> dict[str, Any]:
        encoding.check(request)
        config = request.config
        messages = with_accepted_calls("GOOGLE", request.messages)
        messages = encoding.with_json_instruction("GOOGLE", config, messages)
        instruction, contents = encoding.instruction_of(messages), _contents(messages)
        if not contents and instruction:  # the API refuses a request without any
            contents, instruction = [{"role": "user", "parts": [{"text": instruction}]}], ""
        contents = encoding.between_users(contents, messages, "parts", "model")
        parameters = {
            "contents": contents,
            "systemInstruction": {"parts": [{"text": instruction}]} if instruction else None,
            "tools": [{"functionDeclarations": [_tool(tool) for tool in config.tools]}] if config.tools else None,
            "toolConfig": _tool_config(config),
            "generationConfig": _generation(request.model.name, config) or None,
        }
        return encoding.given(parameters)

    def decoder(self, request: ModelRequest) -> Decoder:
        return GoogleDecoder()


def _tool_config(config: ModelConfig) -> dict[str, Any] | None:
    """Hold the model to the parameters of its tools; the API has this for all tools together."""
    is_strict = bool(config.tools) and all(tool.strict for tool in config.tools)
    return {"functionCallingConfig": {"mode": "VALIDATED"}} if is_strict else None


def _generation(model: str, config: ModelConfig) -> dict[str, Any]:
    is_json = config.response_format in ("json_object", "json_schema")
    if is_json and config.tools and (_version_of(model) or 3) < 3:
        raise Invalid(f"languageModelConfig.response_format: {model} does not accept tools with JSON.")
    parameters = {
        "maxOutputTokens": config.max_tokens,
        "temperature": encoding.temperature_of("GOOGLE", config),
        "topP": config.top_p,
        "stopSequences": list(config.stop) or None,
        "seed": config.seed,
        "responseMimeType": "application/json" if is_json else None,
        "responseJsonSchema": (config.json_schema or {"type": "object"})
        if config.response_format == "json_schema"
        else None,
        "thinkingConfig": _thinking(model, config.reasoning_effort),
    }
    return encoding.given(parameters)


def _thinking(model: str, effort: str | None) -> dict[str, Any] | None:
    if effort is None:
        return None
    name, has_levels = model.rpartition("/")[2].lower(), (_version_of(model) or 0) >= 3
    if effort == "none":
        if has_levels or name.startswith("gemini-2.5-pro"):
            raise Invalid(f"languageModelConfig.reasoning_effort: {model} does not accept 'none'.")
        return {"thinkingBudget": 0}
    if has_levels:
        return {"includeThoughts": True, "thinkingLevel": _LEVELS[effort]}
    most = next((most for prefix, most in _MOST_BUDGET.items() if name.startswith(prefix)), _BUDGETS[effort])
    return {"includeThoughts": True, "thinkingBudget": min(_BUDGETS[effort], most)}


def _version_of(model: str) -> int | None:
    """Return the number after "gemini-", None for a name without one."""
    version = _VERSION.search(model.lower())
    return int(version[1][:4]) if version else None


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    schema = tool.parameters or None
    return encoding.given({"name": tool.name, "description": tool.description, "parametersJsonSchema": schema})


def _contents(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Return the messages without the instruction; the results of calls that follow each other are one message."""
    contents: list[dict[str, Any]] = []
    names: dict[str, tuple[str, str | None]] = {}
    for message in messages:
        match message.role:
            case "user":
                parts = [*_text(message.text), *map(_file, message.files)]
                contents += [{"role": "user", "parts": parts}] if parts else []
            case "assistant":
                names |= {call.id: (call.name, _own_id(call.vendor_state)) for call in message.tool_calls}
                parts = list(_model_parts(message))
                contents += [{"role": "model", "parts": parts}] if parts else []
            case "tool":
                result = _result(message, *names.get(message.tool_call_id or "", ("unknown", None)))
                if contents and "functionResponse" in contents[-1]["parts"][-1]:
                    contents[-1]["parts"].append(result)
                else:
                    contents.append({"role": "user", "parts": [result]})
    return contents


def _text(text: str) -> list[dict[str, Any]]:
    return [{"text": text}] if text.strip() else []


def _model_parts(message: Message) -> Iterator[dict[str, Any]]:
    for part in _text(message.text):
        yield part | _signature(message.vendor_state)
    for place, call in enumerate(message.tool_calls):
        function = {"id": _own_id(call.vendor_state), "name": call.name, "args": encoding.arguments_object(call)}
        # Only the first of parallel calls is signed.
        unsigned = {"thoughtSignature": _NO_SIGNATURE} if place == 0 else {}
        yield {"functionCall": encoding.given(function)} | (_signature(call.vendor_state) or unsigned)


def _signature(state: dict[str, Any] | None) -> dict[str, Any]:
    signature = encoding.own_state("GOOGLE", state).get("thought_signature")
    return {"thoughtSignature": signature} if isinstance(signature, str) else {}


def _own_id(state: dict[str, Any] | None) -> str | None:
    """Return the id that Google itself gave a call; others are ours, or another vendor's."""
    call_id = encoding.own_state("GOOGLE", state).get("id")
    return call_id if isinstance(call_id, str) else None


def _result(message: Message, name: str, own_id: str | None) -> dict[str, Any]:
    return {"functionResponse": encoding.given({"id": own_id, "name": name, "response": result_object(message.text)})}


def result_object(text: str) -> dict[str, Any]:
    """Return a tool's result as an object: the API accepts nothing else."""
    content: Any = text
    with suppress(ValueError, RecursionError):
        content = _DECODER.decode(text)
    return content if isinstance(content, dict) else {"result": content}


def _file(file: File) -> dict[str, Any]:
    media_type = encoding.media_type_of("GOOGLE", file)
    content = encoding.decoded(file).encode() if media_type == "text/plain" else file.content
    return {"inlineData": {"mimeType": media_type, "data": encoding.base64_of(content)}}


class GoogleDecoder(Decoder):
    """Reads responses; a stream's events have the same form as a whole one."""

    def read_whole(self, sent: Any) -> None:
        response = object_of(sent)
        if not response:
            raise ProviderFailure("The answer has no candidates.")
        self.read_event(response)
        if self.answer.finish is None:
            self.answer.finish = "stop"

    def read_event(self, sent: Any) -> list[StreamEvent]:
        response = object_of(sent)
        self._read_usage(response.get("usageMetadata"))
        feedback = object_of(response.get("promptFeedback"))
        if blocked := text_of(feedback.get("blockReason")):
            blocked = ": ".join(filter(None, (blocked, text_of(feedback.get("blockReasonMessage")).rstrip("."))))
            self.read_refusal(f"Google refused the prompt: {blocked}.")
        candidates = list_of(response.get("candidates"))
        candidate = object_of(candidates[0]) if candidates else {}
        parts = list_of(object_of(candidate.get("content")).get("parts"))
        response_id = text_of(response.get("responseId"))
        events = [event for part in parts for event in self._read_part(object_of(part), response_id)]
        self._read_finish(candidate)
        return events

    def _read_part(self, part: dict[str, Any], response_id: str) -> list[StreamEvent]:
        text = text_of(part.get("text"))
        if part.get("thought"):
            return self.answer.add_reasoning(text)
        signature = text_of(part.get("thoughtSignature"))
        if function := object_of(part.get("functionCall")):
            place, own_id = len(self.answer.calls), text_of(function.get("id"))
            call = self.answer.call(place)
            call.id = own_id or f"call_{response_id}_{place}"
            call.name = text_of(function.get("name"))
            self.answer.add_arguments(call, arguments_text(function.get("args")))
            state = encoding.given({"thought_signature": signature or None, "id": own_id or None})
            call.vendor_state = {"google": state} if state else None
            return []
        if signature:
            self.answer.vendor_state["google"] = {"thought_signature": signature}
        return self.answer.add_text(text)

    def _read_finish(self, candidate: dict[str, Any]) -> None:
        reason = text_of(candidate.get("finishReason"))
        if not reason:
            return
        if reason == _LENGTH:
            self.answer.finish = "length"
        elif reason in _FILTERS or (reason != "STOP" and not (self.answer.text or self.answer.calls)):
            # Others, such as MALFORMED_FUNCTION_CALL, leave an answer without a word.
            message = text_of(candidate.get("finishMessage"))
            self.read_refusal(": ".join(filter(None, (f"Google stopped this answer ({reason})", message))) + ".")
        else:
            self.answer.finish = "stop"

    def _read_usage(self, sent: object) -> None:
        """Read the counts: thoughts and the tokens of tools are not among those of candidates and prompt."""
        if not (usage := object_of(sent)):
            return
        counts = {name: count_of(value) for name, value in usage.items() if name.endswith("TokenCount")}
        thoughts = counts.get("thoughtsTokenCount", 0)
        self.answer.tokens = Tokens(
            prompt=count_of(counts.get("promptTokenCount", 0) + counts.get("toolUsePromptTokenCount", 0)),
            completion=count_of(counts.get("candidatesTokenCount", 0) + thoughts),
            cache_read=counts.get("cachedContentTokenCount", 0),
            reasoning=thoughts,
        )
