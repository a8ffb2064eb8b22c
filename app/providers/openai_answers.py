"""Reads OpenAI's chat completions, whole or as chunks, in the forms that servers give to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.chat import Answer, StreamEvent, Tokens
from app.providers.call_pieces import CallPlaces, repeats
from app.providers.decoding import Decoder, arguments_text, count_of, list_of, object_of, text_of
from app.providers.failures import ProviderFailure
from app.values.thoughts import Piece, ThoughtSplitter

# The keys under which servers send what a model has thought.
_REASONING = ("reasoning", "reasoning_content", "thinking", "think", "chain_of_thought", "reasoning_details")


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
            return self._read_text(text_of(content))
        events = []
        for part in map(object_of, content):
            is_thought = part.get("type") == "thinking"
            events += self.answer.add_reasoning(_words(part.get("thinking"))) if is_thought else []
            events += self._read_text(text_of(part.get("text")))
            self.answer.add_refusal(text_of(part.get("refusal")))
        return events

    def _read_text(self, text: str) -> list[StreamEvent]:
        return self.answer.add_text(text)

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


class ThinkingDecoder(OpenAIDecoder):
    """Separates thoughts that are part of the text: servers without a parser of reasoning send `<think>` as it comes.

    A server that has sent thoughts in a field, before the text, has a parser: then the tag is the model's answer.
    """

    def __init__(self) -> None:
        super().__init__()
        self._splitter: ThoughtSplitter | None = None

    def _read_text(self, text: str) -> list[StreamEvent]:
        if self._splitter is None and (not text or self.answer.reasoning):
            return super()._read_text(text)
        self._splitter = self._splitter or ThoughtSplitter()
        return self._added(self._splitter.read(text))

    def rest(self) -> list[StreamEvent]:
        return self._added(self._splitter.end()) if self._splitter else []

    def _added(self, pieces: list[Piece]) -> list[StreamEvent]:
        add = {"reasoning": self.answer.add_reasoning, "token": self.answer.add_text}
        return [event for kind, text in pieces for event in add[kind](text)]


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
    """Return the name and the arguments of a call; those of a custom tool are a text.

    Snowflake's calls of functions have a custom tool without a name and without an input, too.
    """
    custom = object_of(call.get("custom"))
    if any(custom.values()):
        return {"name": custom.get("name"), "arguments": custom.get("input")}
    return object_of(call.get("function"))


def _words(reasoning: object) -> str:
    """Return what a model has thought: a text, an object with one, or a list of parts with texts or summaries."""
    if isinstance(reasoning, list):
        parts = map(object_of, reasoning)
        return "".join(text_of(part.get("text")) or text_of(part.get("summary")) for part in parts)
    return text_of(reasoning.get("content") if isinstance(reasoning, dict) else reasoning)
