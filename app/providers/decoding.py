"""Turns what any-llm returns, whole or chunk by chunk, into an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from app.chat import Answer, FinishReason, Tokens, ToolCall, VendorState
from app.providers.failures import ProviderFailure
from app.providers.types import StreamEvent

if TYPE_CHECKING:
    from any_llm.types.completion import ChatCompletion, ChatCompletionChunk, CompletionUsage

_FILTERED = "content_filter"


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""
    vendor_state: VendorState | None = None

    def decoded(self) -> ToolCall:
        return ToolCall(self.id, self.name, _json_or_text(self.arguments), self.vendor_state)


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

    def add_chunk(self, chunk: ChatCompletionChunk) -> Iterator[StreamEvent]:
        """The events to hand on; tool calls come as events only once they are whole, from `end`."""
        self._usage(chunk.usage)
        for choice in chunk.choices[:1]:
            delta = choice.delta
            self.finish = choice.finish_reason or self.finish
            for call in delta.tool_calls or ():
                self._add_call(call.index, call)
            yield from self._add_message(delta)

    def add_completion(self, completion: ChatCompletion) -> None:
        self._usage(completion.usage)
        for choice in completion.choices[:1]:
            self.finish = choice.finish_reason or "stop"
            for index, call in enumerate(choice.message.tool_calls or ()):
                self._add_call(index, call)
            for _ in self._add_message(choice.message):
                pass

    def end(self) -> Answer:
        """Raises `ProviderFailure` when the vendor stopped in the middle of the answer."""
        if self.finish is None:
            raise ProviderFailure("The answer broke off before its end.", retryable=True, outage=True)
        reason, reasoning = self._reason(), "".join(self.reasoning) or None
        if "anthropic" in self.vendor_state:
            # The signature is one of this text: neither goes back without the other.
            self.vendor_state["reasoning"] = reasoning or ""
        refusal = "".join(self.refusal) or "The vendor's filter stopped this answer."
        return Answer(
            text="".join(self.text),
            tool_calls=tuple(call.decoded() for _, call in sorted(self.calls.items())),
            reasoning=reasoning,
            tokens=self.tokens,
            finish_reason=reason,
            refusal=refusal if reason == "refused" else None,
            vendor_state=self.vendor_state or None,
        )

    def _reason(self) -> FinishReason:
        if self.finish == _FILTERED or self.refusal:
            return "refused"
        if self.finish == "length":
            return "length"
        return "tool_calls" if self.calls else "stop"

    def _add_message(self, message: Any) -> Iterator[StreamEvent]:
        self.vendor_state |= message.extra_content or {}
        if message.reasoning is not None and message.reasoning.content:
            self.reasoning.append(message.reasoning.content)
            yield StreamEvent("reasoning", message.reasoning.content)
        if message.content:
            self.text.append(message.content)
            yield StreamEvent("token", message.content)
        if explanation := _explanation(message):
            self.refusal = [explanation]
        elif message.refusal:
            self.refusal.append(message.refusal)

    def _add_call(self, index: int, piece: Any) -> None:
        call = self.calls.setdefault(index, _Call())
        call.id = piece.id or call.id
        call.vendor_state = getattr(piece, "extra_content", None) or call.vendor_state
        if (function := getattr(piece, "function", None)) is not None:
            call.name = function.name or call.name
            call.arguments += function.arguments or ""

    def _usage(self, usage: CompletionUsage | None) -> None:
        if usage is None:
            return
        prompt, completion = usage.prompt_tokens_details, usage.completion_tokens_details
        self.tokens = Tokens(
            prompt=usage.prompt_tokens or 0,
            completion=usage.completion_tokens or 0,
            cache_read=(prompt and prompt.cached_tokens) or 0,
            cache_write=(prompt and prompt.cache_write_tokens) or 0,
            reasoning=(completion and completion.reasoning_tokens) or 0,
        )


def _explanation(message: Any) -> str | None:
    """Anthropic's own words on a refusal; its `refusal` is only any-llm's."""
    details = (message.extra_content or {}).get("anthropic", {}).get("stop_details") or {}
    explanation = details.get("explanation")
    return explanation if isinstance(explanation, str) else None


def _json_or_text(arguments: str) -> Any:
    try:
        return json.loads(arguments) if arguments else {}
    except ValueError:
        return arguments
