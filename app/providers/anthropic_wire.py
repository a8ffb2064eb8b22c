"""Anthropic's Messages API.

Sources: https://docs.claude.com/en/api/messages, …/api/messages-streaming for events, and under
https://docs.claude.com/en/docs/build-with-claude/ the pages extended-thinking, effort and structured-outputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from app.chat import Answer, File, Message, StreamEvent, Tokens, ToolDefinition
from app.errors import Invalid
from app.providers import encoding
from app.providers.anthropic_schema import supported
from app.providers.conversations import with_accepted_calls
from app.providers.decoding import Decoder, arguments_text, count_of, object_of, text_of
from app.providers.failures import ProviderFailure
from app.providers.types import ModelConfig, ModelRequest

# The API requires a limit in each request. One without a prompt, such as the check of a credential, gets this one.
MAX_TOKENS = 4096
# Models that think for a number of tokens; newer models have an effort instead.
_WITH_BUDGET = (
    "claude-3",
    "claude-opus-4-0",
    "claude-opus-4-1",
    "claude-opus-4-2025",
    "claude-opus-4-5",
    "claude-sonnet-4-0",
    "claude-sonnet-4-2025",
    "claude-sonnet-4-5",
    "claude-haiku-4-5",
)
_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 24_576, "xhigh": 32_768}
_LEAST_BUDGET = 1024
_LEAST_TOP_P = 0.95
# The one of these models that also has an effort.
_WITH_BOTH = "claude-opus-4-5"
_EFFORTS = {"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh"}


class AnthropicWire:
    """Encodes requests and decodes answers."""

    headers: Mapping[str, str] = {"anthropic-version": "2023-06-01"}

    def path(self, request: ModelRequest, *, streamed: bool) -> str:
        return "/v1/messages"

    def body(self, request: ModelRequest, *, streamed: bool) -> dict[str, Any]:
        encoding.check(request)
        config = request.config
        messages = with_accepted_calls("ANTHROPIC", request.messages)
        messages = encoding.with_json_instruction("ANTHROPIC", config, messages)
        output: dict[str, Any] = {}
        if config.response_format == "json_schema":
            output["format"] = {"type": "json_schema", "schema": supported(config.json_schema or {"type": "object"})}
        thinking = _thinking(request.model.name, config, output)
        parameters = {
            "model": request.model.name,
            "max_tokens": config.max_tokens or MAX_TOKENS,
            "system": encoding.instruction_of(messages) or None,
            "messages": encoding.between_users(_merged(_messages(messages)), messages, "content", "assistant"),
            "tools": [_tool(tool) for tool in config.tools] or None,
            "temperature": encoding.temperature_of("ANTHROPIC", config),
            "top_p": config.top_p,
            "stop_sequences": list(config.stop) or None,
            "thinking": thinking,
            "output_config": output or None,
            "stream": True if streamed else None,
        }
        return encoding.given(parameters)

    def decoder(self, request: ModelRequest) -> Decoder:
        return AnthropicDecoder()


def _thinking(model: str, config: ModelConfig, output: dict[str, Any]) -> dict[str, Any] | None:
    """Return how the model thinks, None for its own default; put the effort into `output` where the model has one."""
    effort = config.reasoning_effort
    if effort is None:
        return None
    if effort == "none":
        return {"type": "disabled"}
    if not model.lower().startswith(_WITH_BUDGET):
        output["effort"] = _EFFORTS[effort]
        return {"type": "adaptive"}
    if model.lower().startswith(_WITH_BOTH):
        output["effort"] = "high" if effort == "xhigh" else _EFFORTS[effort]
    # The budget is a part of max_tokens; some of these must be left for the answer.
    budget = min(_BUDGETS[effort], (config.max_tokens or MAX_TOKENS) - _LEAST_BUDGET)
    if budget < _LEAST_BUDGET:
        raise Invalid(f"languageModelConfig.max_tokens: With reasoning_effort {2 * _LEAST_BUDGET} is the least.")
    if config.temperature not in (None, 1):
        raise Invalid("languageModelConfig.temperature: With reasoning_effort only 1 is accepted.")
    if config.top_p is not None and config.top_p < _LEAST_TOP_P:
        raise Invalid(f"languageModelConfig.top_p: With reasoning_effort {_LEAST_TOP_P} is the least.")
    return {"type": "enabled", "budget_tokens": budget}


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    parameters = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": {"type": "object", "properties": {}, **tool.parameters},
        "strict": tool.strict or None,
    }
    return encoding.given(parameters)


def _messages(messages: tuple[Message, ...]) -> Iterator[dict[str, Any]]:
    """Yield the messages without the instruction. The API refuses texts without a visible character."""
    for message in messages:
        match message.role:
            case "user":
                content: list[dict[str, Any]] = [*_text(message.text), *map(_file, message.files)]
                yield {"role": "user", "content": content}
            case "assistant":
                calls = [
                    {"type": "tool_use", "id": call.id, "name": call.name, "input": encoding.arguments_object(call)}
                    for call in message.tool_calls
                ]
                yield {"role": "assistant", "content": [*_thoughts(message), *_text(message.text), *calls]}
            case "tool":
                result = {"type": "tool_result", "tool_use_id": message.tool_call_id or ""}
                yield {
                    "role": "user",
                    "content": [result | ({"content": message.text} if message.text.strip() else {})],
                }


def _merged(messages: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Leave out what is empty, and join the results of calls that follow each other, which must be one message."""
    merged: list[dict[str, Any]] = []
    for message in messages:
        content = message["content"]
        if content and content[0]["type"] == "tool_result" and merged and _ends_with_result(merged[-1]):
            merged[-1]["content"] += content
        elif content:
            merged.append(message)
    return merged


def _ends_with_result(message: dict[str, Any]) -> bool:
    return bool(message["content"][-1]["type"] == "tool_result")


def _text(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}] if text.strip() else []


def _thoughts(message: Message) -> list[dict[str, Any]]:
    """Return the thinking of the message as it was received, which the API checks by its signatures."""
    state = encoding.own_state("ANTHROPIC", message.vendor_state)
    if isinstance(thinking := state.get("thinking"), list):
        return thinking
    if isinstance(signature := state.get("signature"), str):  # as versions before 0.2 stored it
        text = (message.vendor_state or {}).get("reasoning") or ""
        return [{"type": "thinking", "thinking": text, "signature": signature}]
    return []


def _file(file: File) -> dict[str, Any]:
    media_type = encoding.media_type_of("ANTHROPIC", file)
    if media_type == "text/plain":
        source = {"type": "text", "media_type": media_type, "data": encoding.decoded(file)}
        return {"type": "document", "source": source, "title": file.name}
    source = {"type": "base64", "media_type": media_type, "data": encoding.base64_of(file.content)}
    if media_type == encoding.PDF:
        return {"type": "document", "source": source, "title": file.name}
    return {"type": "image", "source": source}


class AnthropicDecoder(Decoder):
    """Reads a message, whole or as events.

    Blocks are numbered as they begin, because some servers give several of them one index, or none.
    """

    def __init__(self) -> None:
        super().__init__()
        self._usage: dict[str, Any] = {}
        self._thinking: dict[int, dict[str, Any]] = {}
        # The arguments with which a call began; they count if no pieces follow.
        self._inputs: dict[int, str] = {}
        self._blocks: dict[object, int] = {}
        self._begun = -1

    def read_whole(self, sent: Any) -> None:
        message = object_of(sent)
        if not isinstance(message.get("content"), list):
            raise ProviderFailure("The answer has no content.")
        for index, block in enumerate(message["content"]):
            self._begin(index, object_of(block))
        self._read_end(message | {"stop_reason": text_of(message.get("stop_reason")) or "end_turn"})
        self._read_usage(message)

    def read_event(self, sent: Any) -> list[StreamEvent]:
        event = object_of(sent)
        match event.get("type"):
            case "message_start":
                self._read_usage(object_of(event.get("message")))
            case "content_block_start":
                return self._begin(_index_of(event), object_of(event.get("content_block")))
            case "content_block_delta":
                return self._go_on(_index_of(event), object_of(event.get("delta")))
            case "message_delta":
                self._read_end(object_of(event.get("delta")))
                self._read_usage(event)
            case "message_stop":
                self.read_done()
        return []

    def _begin(self, index: int | None, block: dict[str, Any]) -> list[StreamEvent]:
        self._begun += 1
        number = self._blocks[index] = self._begun
        match block.get("type"):
            case "text":
                return self.answer.add_text(text_of(block.get("text")))
            # Calls of the second type were run by a server of the user's, so that they count like the others.
            case "tool_use" | "mcp_tool_use":
                call = self.answer.call(number)
                call.id, call.name = text_of(block.get("id")), text_of(block.get("name"))
                self._inputs[number] = arguments_text(block.get("input"))
            case "thinking":
                text, signature = text_of(block.get("thinking")), text_of(block.get("signature"))
                self._thinking[number] = {"type": "thinking", "thinking": [text], "signature": signature}
                return self.answer.add_reasoning(text)
            case "redacted_thinking":
                self._thinking[number] = {"type": "redacted_thinking", "data": text_of(block.get("data"))}
        return []

    def _go_on(self, index: int | None, delta: dict[str, Any]) -> list[StreamEvent]:
        number = self._blocks.get(index, max(self._begun, 0))
        match delta.get("type"):
            case "text_delta":
                return self.answer.add_text(text_of(delta.get("text")))
            case "input_json_delta" if number in self._inputs:  # others are of tools that the vendor runs
                self.answer.add_arguments(self.answer.call(number), text_of(delta.get("partial_json")))
            case "thinking_delta":
                text = text_of(delta.get("thinking"))
                self._thought(number)["thinking"].append(text)
                return self.answer.add_reasoning(text)
            case "signature_delta":
                self._thought(number)["signature"] = text_of(delta.get("signature"))
        return []

    def _thought(self, number: int) -> dict[str, Any]:
        thought = self._thinking.setdefault(number, {"type": "thinking", "thinking": [], "signature": ""})
        return thought if thought["type"] == "thinking" else {"thinking": []}

    def _read_end(self, message: dict[str, Any]) -> None:
        """Read why the model ended: https://docs.claude.com/en/docs/build-with-claude/handling-stop-reasons."""
        match text_of(message.get("stop_reason")):
            case "":
                return
            case "max_tokens" | "model_context_window_exceeded":
                self.answer.finish = "length"
            case "refusal":
                self.answer.finish = "refused"
            case _:
                self.answer.finish = "stop"
        details = message.get("stop_details")
        explanation = details.get("explanation") if isinstance(details, dict) else None
        if isinstance(explanation, str) and self.answer.finish == "refused":
            self.answer.add_refusal(explanation)

    def end(self) -> Answer:
        for number, arguments in self._inputs.items():
            if not (call := self.answer.call(number)).has_arguments:
                self.answer.add_arguments(call, arguments)
        blocks = [
            block | {"thinking": "".join(block["thinking"])} if block["type"] == "thinking" else block
            for _, block in sorted(self._thinking.items())
        ]
        kept = [block for block in blocks if block.get("signature") or block.get("data")]
        if kept:
            self.answer.vendor_state["anthropic"] = {"thinking": kept}
        return super().end()

    def _read_usage(self, message: dict[str, Any]) -> None:
        """Add up the counts: tokens that the cache read or wrote are not among the input's."""
        self._usage |= encoding.given(object_of(message.get("usage")))
        names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
        sent, cache_read, cache_write, output = (count_of(self._usage.get(name)) for name in names)
        thinking = count_of(object_of(self._usage.get("output_tokens_details")).get("thinking_tokens"))
        prompt = count_of(sent + cache_read + cache_write)
        self.answer.tokens = Tokens(prompt, output, cache_read, cache_write, thinking)


def _index_of(event: dict[str, Any]) -> int | None:
    index = event.get("index")
    return index if type(index) is int else None
