"""Turns completions in OpenAI's format, whole or chunk by chunk, into answers that can be stored, whatever was sent.

Texts lose what no database takes (`storable_text`). Arguments that are no JSON, or nest too deeply to be stored as
JSON, stay text. A count is a whole number that fits its column. A value of a wrong type is a `ProviderFailure`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson

from app.chat import Answer, FinishReason, StreamEvent, Tokens, ToolCall, VendorState
from app.providers.failures import ProviderFailure
from app.storable import decode_json, storable_text

T = TypeVar("T")

# The largest number in a column of counts; a replay adds up the counts of its calls.
TOKENS_MAX = 2**31 - 1
# The keys under which servers send what a model has thought.
_REASONING = ("reasoning", "reasoning_content", "thinking", "think", "chain_of_thought")
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

    def add_chunk(self, chunk: object) -> list[StreamEvent]:
        """Add a chunk, and return its text as events; tool calls are whole only when all chunks were added."""
        self._add_usage(_object(chunk).get("usage"))
        choice = _first_choice(chunk)
        self.finish = _text(choice.get("finish_reason")) or self.finish
        delta = _object(choice.get("delta"))
        for call in map(_object, _list(delta.get("tool_calls"))):
            self._add_call(self._index(call), call)
        return self._add_message(delta)

    def add_completion(self, completion: object) -> None:
        self._add_usage(_object(completion).get("usage"))
        if choice := _first_choice(completion):
            self.finish = _text(choice.get("finish_reason")) or "stop"
            message = _object(choice.get("message"))
            for index, call in enumerate(_list(message.get("tool_calls"))):
                self._add_call(index, _object(call))
            self._add_message(message)

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

    def _add_message(self, message: dict[str, Any]) -> list[StreamEvent]:
        events = []
        extra = _object(message.get("extra_content"))
        self.vendor_state |= extra
        if reasoning := _reasoning(message):
            self.reasoning.append(reasoning)
            events.append(StreamEvent("reasoning", storable_text(reasoning)))
        if content := _text(message.get("content")):
            self.text.append(content)
            events.append(StreamEvent("token", storable_text(content)))
        if explanation := _explanation(extra):
            self.refusal = [explanation]
        elif refusal := _text(message.get("refusal")):
            self.refusal.append(refusal)
        return events

    def _index(self, call: dict[str, Any]) -> int:
        """Return the call's place. Some servers name none: what begins a call brings its id."""
        index = call.get("index")
        if isinstance(index, int):
            return index
        return len(self.calls) if call.get("id") else max(len(self.calls) - 1, 0)

    def _add_call(self, index: int, piece: dict[str, Any]) -> None:
        call = self.calls.setdefault(index, _Call())
        if len(self.calls) > CALLS_MAX:
            raise ProviderFailure(f"The answer calls more than {CALLS_MAX} tools at once.")
        call.id = _text(piece.get("id")) or call.id
        call.vendor_state = _object(piece.get("extra_content")) or call.vendor_state
        function = _object(piece.get("function"))
        call.name = _text(function.get("name")) or call.name
        call.arguments.append(_text(function.get("arguments")))

    def _add_usage(self, sent: object) -> None:
        usage = _object(sent)
        if usage.get("prompt_tokens") is None and usage.get("completion_tokens") is None:
            return  # some servers send an object without counts with each chunk
        prompt, completion = (_object(usage.get(f"{part}_tokens_details")) for part in ("prompt", "completion"))
        self.tokens = Tokens(
            prompt=_count(usage.get("prompt_tokens")),
            completion=_count(usage.get("completion_tokens")),
            # The other one is DeepSeek's.
            cache_read=_count(prompt.get("cached_tokens")) or _count(usage.get("prompt_cache_hit_tokens")),
            cache_write=_count(prompt.get("cache_write_tokens")),
            reasoning=_count(completion.get("reasoning_tokens")),
        )


def _first_choice(completion: object) -> dict[str, Any]:
    choices = _list(_object(completion).get("choices"))
    return _object(choices[0]) if choices else {}


def _reasoning(message: dict[str, Any]) -> str:
    said = next((message[key] for key in _REASONING if message.get(key) is not None), None)
    return _text(said.get("content") if isinstance(said, dict) else said)


def _explanation(extra_content: dict[str, Any]) -> str | None:
    """Return Anthropic's explanation of a refusal; `refusal` of its messages is any-llm's own text."""
    explanation = _object(_object(extra_content.get("anthropic")).get("stop_details")).get("explanation")
    return explanation if isinstance(explanation, str) else None


def _check_size(answer: Answer) -> None:
    calls = [(call.id, call.name, call.arguments) for call in answer.tool_calls]
    size = len(orjson.dumps((answer.text, answer.reasoning, answer.refusal, calls)))
    if size > ANSWER_MAX:
        raise ProviderFailure(f"The answer has {size} bytes; {ANSWER_MAX} are the most that can be stored.")


def _object(value: object) -> dict[str, Any]:
    return _checked(value, dict, {})


def _list(value: object) -> list[Any]:
    return _checked(value, list, [])


def _text(value: object) -> str:
    return _checked(value, str, "")


def _checked(value: object, expected: type[T], empty: T) -> T:
    """Return the value, `empty` for None, since nobody else checks the types of what a vendor sends."""
    if value is None:
        return empty
    if not isinstance(value, expected):
        raise ProviderFailure(f"The answer has a {type(value).__name__} where a {expected.__name__} belongs.")
    return value


def _count(value: object) -> int:
    if isinstance(value, float) and not math.isnan(value):
        value = min(value, TOKENS_MAX)
        value = int(max(value, 0))
    return min(max(value, 0), TOKENS_MAX) if isinstance(value, int) else 0


def _json_or_text(arguments: str) -> Any:
    try:
        return decode_json(arguments) if arguments else {}
    except ValueError:
        return storable_text(arguments)
