"""Turns what any-llm returns, whole or chunk by chunk, into an answer that can be stored, whatever the vendor sent.

Texts lose what no database takes (`storable_text`). Arguments that are no JSON, or nest too deeply to be stored as
JSON, stay text. A count is a whole number that fits its column. A value of a wrong type is a `ProviderFailure`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from app.chat import Answer, FinishReason, StreamEvent, Tokens, ToolCall, VendorState
from app.providers.failures import ProviderFailure
from app.storable import decode_json, storable_text

if TYPE_CHECKING:
    from any_llm.types.completion import ChatCompletion, ChatCompletionChunk, CompletionUsage

# The largest number in a column of counts; a replay adds up the counts of its calls.
TOKENS_MAX = 2**31 - 1
# Bytes of an answer's JSON, escapes included: less than a database takes in one packet.
ANSWER_MAX = 6_000_000
CALLS_MAX = 1000


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)
    vendor_state: VendorState | None = None

    def decoded(self) -> ToolCall:
        arguments = _json_or_text("".join(self.arguments))
        return ToolCall(storable_text(self.id), storable_text(self.name), arguments, self.vendor_state)


@dataclass(slots=True)
class AnswerBuilder:
    """Collects an answer from its pieces; a whole completion is one piece."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: dict[int, _Call] = field(default_factory=dict)
    finish: str | None = None
    tokens: Tokens = Tokens()
    vendor_state: VendorState = field(default_factory=dict)

    def add_chunk(self, chunk: ChatCompletionChunk) -> list[StreamEvent]:
        """Add a chunk, and return its text as events; tool calls are whole only when all chunks were added."""
        self._add_usage(chunk.usage)
        if not chunk.choices:
            return []
        choice = chunk.choices[0]
        self.finish = choice.finish_reason or self.finish
        for call in choice.delta.tool_calls or ():
            self._add_call(call.index, call)
        return self._add_message(choice.delta)

    def add_completion(self, completion: ChatCompletion) -> None:
        self._add_usage(completion.usage)
        for choice in (completion.choices or [])[:1]:
            self.finish = choice.finish_reason or "stop"
            for index, call in enumerate(choice.message.tool_calls or ()):
                self._add_call(index, call)
            self._add_message(choice.message)

    def end(self) -> Answer:
        """Return the answer; `ProviderFailure` when it broke off in the middle, or is too large to be stored."""
        if self.finish is None:
            raise ProviderFailure("The answer broke off before its end.", retryable=True, outage=True)
        reason, reasoning = self._finish_reason(), storable_text("".join(self.reasoning)) or None
        if "anthropic" in self.vendor_state:
            # The signature signs this text: neither is sent back without the other.
            self.vendor_state["reasoning"] = reasoning or ""
        refusal = storable_text("".join(self.refusal)) or "The vendor's filter stopped this answer."
        answer = Answer(
            text=storable_text("".join(self.text)),
            tool_calls=tuple(call.decoded() for _, call in sorted(self.calls.items())),
            reasoning=reasoning,
            tokens=self.tokens,
            finish_reason=reason,
            refusal=refusal if reason == "refused" else None,
            vendor_state=self.vendor_state or None,
        )
        _check_size(answer)
        return answer

    def _finish_reason(self) -> FinishReason:
        if self.finish == "content_filter" or self.refusal:
            return "refused"
        if self.finish == "length":
            return "length"
        return "tool_calls" if self.calls else "stop"

    def _add_message(self, message: Any) -> list[StreamEvent]:
        events = []
        self.vendor_state |= message.extra_content or {}
        if message.reasoning is not None and (reasoning := _text(message.reasoning.content)):
            self.reasoning.append(reasoning)
            events.append(StreamEvent("reasoning", storable_text(reasoning)))
        if content := _text(message.content):
            self.text.append(content)
            events.append(StreamEvent("token", storable_text(content)))
        if explanation := _explanation(message):
            self.refusal = [explanation]
        elif refusal := _text(message.refusal):
            self.refusal.append(refusal)
        return events

    def _add_call(self, index: int, piece: Any) -> None:
        call = self.calls.setdefault(index, _Call())
        if len(self.calls) > CALLS_MAX:
            raise ProviderFailure(f"The answer calls more than {CALLS_MAX} tools at once.")
        call.id = _text(piece.id) or call.id
        call.vendor_state = getattr(piece, "extra_content", None) or call.vendor_state
        if (function := getattr(piece, "function", None)) is not None:
            call.name = _text(function.name) or call.name
            call.arguments.append(_text(function.arguments))

    def _add_usage(self, usage: CompletionUsage | None) -> None:
        if usage is None:
            return
        prompt, completion = usage.prompt_tokens_details, usage.completion_tokens_details
        self.tokens = Tokens(
            prompt=_count(usage.prompt_tokens),
            completion=_count(usage.completion_tokens),
            cache_read=_count(prompt and prompt.cached_tokens),
            cache_write=_count(prompt and prompt.cache_write_tokens),
            reasoning=_count(completion and completion.reasoning_tokens),
        )


def _explanation(message: Any) -> str | None:
    """Return Anthropic's explanation of a refusal; `refusal` of its messages is any-llm's own text."""
    details = (message.extra_content or {}).get("anthropic", {}).get("stop_details") or {}
    explanation = details.get("explanation")
    return explanation if isinstance(explanation, str) else None


def _check_size(answer: Answer) -> None:
    calls = [(call.id, call.name, call.arguments) for call in answer.tool_calls]
    size = len(orjson.dumps((answer.text, answer.reasoning, answer.refusal, calls)))
    if size > ANSWER_MAX:
        raise ProviderFailure(f"The answer has {size} bytes; {ANSWER_MAX} are the most that can be stored.")


def _text(value: object) -> str:
    """Return the text, "" for None, since the SDKs do not check the types of what a vendor sends."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ProviderFailure(f"The answer has a {type(value).__name__} where text belongs.")
    return value


def _count(value: object) -> int:
    return min(max(value, 0), TOKENS_MAX) if isinstance(value, int) else 0


def _json_or_text(arguments: str) -> Any:
    try:
        return decode_json(arguments) if arguments else {}
    except ValueError:
        return storable_text(arguments)
