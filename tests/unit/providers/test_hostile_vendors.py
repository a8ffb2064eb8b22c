"""Whatever form a server gives an answer, whole or streamed, none of it is lost, doubled, misnamed or mispriced."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat import Answer, Message, Tokens
from app.providers import catalogue
from app.providers.anthropic_wire import AnthropicDecoder
from app.providers.decoding import Decoder
from app.providers.google_wire import GoogleDecoder
from app.providers.openai_answers import OpenAIDecoder
from app.providers.responses_wire import ResponsesDecoder
from app.providers.types import ModelConfig, ModelRef, ModelRequest
from app.providers.vendors import VENDORS
from app.providers.wires import wire_of

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
NAMES = st.sampled_from(["look", "wait", "book"])
IDS = st.sampled_from(["a", "b", "call_1", "", None])
SCALARS = st.one_of(
    TEXTS, st.integers(-(2**63), 2**64 - 1), st.booleans(), st.none(), st.sampled_from(['}"{', "\\", '\\"'])
)
# Each call differs by a number, because a server may send a call with its id once more.
ARGUMENTS = st.dictionaries(TEXTS, st.one_of(SCALARS, st.lists(SCALARS, max_size=2)), max_size=3)
UNKNOWN = st.dictionaries(st.sampled_from(["x_vendor", "logprobs", "annotations"]), st.sampled_from([None, [], {}, 7]))
ENTRY = catalogue.load()["ANTHROPIC", "claude-haiku-4-5"]


@dataclass(frozen=True)
class Call:
    id: str | None
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Intended:
    """What a model wrote, and the form that its server gives to it."""

    text: list[str]
    reasoning: list[str]
    calls: list[Call]
    cut: int
    index: str
    repeats: bool
    in_parts: bool
    as_objects: bool
    names_end: bool
    tokens: Tokens
    more: dict[str, Any]

    def pieces(self, call: Call) -> list[str]:
        text = json.dumps(call.arguments)
        return [text[: self.cut], text[self.cut :]] if 0 < self.cut < len(text) else [text]


@st.composite
def answers(draw: st.DrawFn) -> Intended:
    drawn = draw(st.lists(st.tuples(IDS, NAMES, ARGUMENTS), max_size=4))
    prompt, completion = draw(st.integers(0, 10**6)), draw(st.integers(0, 10**6))
    cached, reasoning = draw(st.integers(0, prompt)), draw(st.integers(0, completion))
    return Intended(
        text=draw(st.lists(TEXTS, max_size=4)),
        reasoning=draw(st.lists(TEXTS, max_size=3)),
        calls=[Call(call_id, name, arguments | {"n°": n}) for n, (call_id, name, arguments) in enumerate(drawn)],
        cut=draw(st.integers(0, 30)),
        index=draw(st.sampled_from(["each", "same", "none"])),
        repeats=draw(st.booleans()),
        in_parts=draw(st.booleans()),
        as_objects=draw(st.booleans()),
        names_end=draw(st.booleans()),
        tokens=Tokens(prompt, completion, cached, 0, reasoning),
        more=draw(UNKNOWN),
    )


def whole(decoder: Decoder, sent: Any) -> Answer:
    decoder.read_whole(json.loads(json.dumps(sent)))
    return decoder.end()


def streamed(decoder: Decoder, events: Iterator[Any]) -> tuple[Answer, str, str]:
    pieces = [piece for event in events for piece in decoder.read_event(json.loads(json.dumps(event)))]
    decoder.read_done()
    text, reasoning = ("".join(piece.text for piece in pieces if piece.kind == kind) for kind in ("token", "reasoning"))
    return decoder.end(), text, reasoning


def check(intended: Intended, answer: Answer, tokens: Tokens) -> None:
    assert answer.text == "".join(intended.text)
    assert (answer.reasoning or "") == "".join(intended.reasoning)
    assert [(call.name, call.arguments) for call in answer.tool_calls] == [
        (call.name, call.arguments) for call in intended.calls
    ]
    ids = [call.id for call in answer.tool_calls]
    assert len(set(ids)) == len(ids)
    assert "" not in ids
    assert answer.tokens == tokens
    assert catalogue.cost(ENTRY, answer.tokens) == catalogue.cost(ENTRY, tokens)
    for vendor in VENDORS:  # the answer can be sent again, with the results of its calls
        results = (Message("tool", "done", tool_call_id=call.id) for call in answer.tool_calls)
        said = Message("assistant", answer.text, tool_calls=answer.tool_calls, vendor_state=answer.vendor_state)
        conversation = (Message("user", "Hi"), said, *results)
        request = ModelRequest(ModelRef(vendor, "m"), ModelConfig(max_tokens=9), conversation, None, 60)  # type: ignore[arg-type]
        json.dumps(wire_of(request).body(request, streamed=False))


def check_both(intended: Intended, sent: Answer, events: tuple[Answer, str, str], tokens: Tokens) -> None:
    check(intended, sent, tokens)
    check(intended, events[0], tokens)
    assert (events[1], events[2]) == (events[0].text, events[0].reasoning or "")
    assert sent.tool_calls == events[0].tool_calls


def openai_usage(intended: Intended) -> dict[str, Any]:
    tokens = intended.tokens
    return {
        "prompt_tokens": tokens.prompt,
        "completion_tokens": tokens.completion,
        "total_tokens": tokens.total,
        "prompt_tokens_details": {"cached_tokens": tokens.cache_read},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }


def openai_message(intended: Intended, text: list[str], reasoning: list[str]) -> dict[str, Any]:
    if intended.in_parts:
        thoughts = [{"type": "thinking", "thinking": [{"type": "text", "text": piece}]} for piece in reasoning]
        return {"content": [*thoughts, *({"type": "text", "text": piece} for piece in text)], **intended.more}
    return {"content": "".join(text) or None, "reasoning_content": "".join(reasoning) or None, **intended.more}


def openai_calls(intended: Intended) -> list[list[dict[str, Any]]]:
    """The pieces of each call."""
    return [list(openai_pieces(intended, place, call)) for place, call in enumerate(intended.calls)]


def openai_pieces(intended: Intended, place: int, call: Call) -> Iterator[dict[str, Any]]:
    index = {"each": {"index": place}, "same": {"index": 0}, "none": {}}[intended.index]
    texts: list[Any] = [call.arguments] if intended.as_objects else intended.pieces(call)
    for number, arguments in enumerate(texts):
        function = {"arguments": arguments}
        if number == 0 or intended.repeats:
            yield {**index, "id": call.id, "function": {"name": call.name, **function}}
        else:
            yield {**index, "id": None, "function": function}


def openai_events(intended: Intended) -> Iterator[Any]:
    yield {"choices": []}
    for piece in intended.reasoning:
        yield {"choices": [{"delta": openai_message(intended, [], [piece])}]}
    for piece in intended.text:
        yield {"choices": [{"delta": openai_message(intended, [piece], []), "finish_reason": None}], "usage": None}
    for pieces in openai_calls(intended):
        for call in pieces:
            yield {"choices": [{"delta": {"tool_calls": [call], "content": ""}}]}
    if intended.names_end:
        yield {"choices": [{"delta": {}, "finish_reason": "stop"}]}
    yield {"choices": [], "usage": openai_usage(intended)}


@settings(max_examples=150)
@given(answers())
def test_openais_format(intended: Intended) -> None:
    calls = [
        {
            "id": call.id,
            "function": {
                "name": call.name,
                "arguments": call.arguments if intended.as_objects else json.dumps(call.arguments),
            },
        }
        for call in intended.calls
    ]
    message = openai_message(intended, intended.text, intended.reasoning) | {"tool_calls": calls or None}
    sent = {"choices": [{"message": message, "finish_reason": "stop" if intended.names_end else None}]}
    answer = whole(OpenAIDecoder(), sent | {"usage": openai_usage(intended)})
    check_both(intended, answer, streamed(OpenAIDecoder(), openai_events(intended)), intended.tokens)


def anthropic_usage(tokens: Tokens) -> dict[str, Any]:
    return {
        "input_tokens": tokens.prompt - tokens.cache_read,
        "cache_read_input_tokens": tokens.cache_read,
        "cache_creation_input_tokens": None,
        "output_tokens": tokens.completion,
        "output_tokens_details": {"thinking_tokens": tokens.reasoning},
    }


def anthropic_blocks(intended: Intended) -> list[dict[str, Any]]:
    return [
        *({"type": "thinking", "thinking": piece, "signature": "s"} for piece in intended.reasoning),
        *({"type": "text", "text": piece, **intended.more} for piece in intended.text),
        *({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in intended.calls),
    ]


def anthropic_events(intended: Intended) -> Iterator[Any]:
    yield {"type": "message_start", "message": {"usage": {"input_tokens": 1, "output_tokens": 1}}}
    yield {"type": "ping"}
    for place, block in enumerate(anthropic_blocks(intended)):
        index = {"each": {"index": place}, "same": {"index": 0}, "none": {}}[intended.index]
        key, kind = {"thinking": ("thinking", "thinking_delta"), "text": ("text", "text_delta")}.get(
            block["type"], ("input", "")
        )
        deltas: list[dict[str, Any]] = [{"type": kind, key: block[key]}]
        if not kind:
            call = intended.calls[place - len(intended.text) - len(intended.reasoning)]
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in intended.pieces(call)]
        is_whole = intended.as_objects
        begun = block if is_whole or (not kind and intended.repeats) else block | {key: "" if kind else {}}
        yield {"type": "content_block_start", **index, "content_block": begun}
        for delta in () if is_whole else deltas:
            yield {"type": "content_block_delta", **index, "delta": delta}
        yield {"type": "content_block_stop", **index}
    reason = "end_turn" if intended.names_end else None
    yield {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": anthropic_usage(intended.tokens)}
    yield {"type": "message_stop"}


@settings(max_examples=150)
@given(answers())
def test_anthropics_format(intended: Intended) -> None:
    sent = {"content": anthropic_blocks(intended), "stop_reason": None, "usage": anthropic_usage(intended.tokens)}
    answer = whole(AnthropicDecoder(), sent)
    check_both(intended, answer, streamed(AnthropicDecoder(), anthropic_events(intended)), intended.tokens)


def google_parts(intended: Intended) -> list[dict[str, Any]]:
    return [
        *({"text": piece, "thought": True} for piece in intended.reasoning),
        *({"text": piece, **intended.more} for piece in intended.text),
        *(
            {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}, "thoughtSignature": None}
            for call in intended.calls
        ),
    ]


def google_response(intended: Intended, parts: list[dict[str, Any]], reason: str | None) -> dict[str, Any]:
    tokens = intended.tokens
    usage = {
        "promptTokenCount": tokens.prompt,
        "cachedContentTokenCount": tokens.cache_read,
        "candidatesTokenCount": tokens.completion - tokens.reasoning,
        "thoughtsTokenCount": tokens.reasoning,
    }
    candidate = {"content": {"parts": parts or None}, "finishReason": reason}
    return {"candidates": [candidate], "usageMetadata": usage, "responseId": None, **intended.more}


@settings(max_examples=150)
@given(answers())
def test_googles_format(intended: Intended) -> None:
    parts = google_parts(intended)
    events = [google_response(intended, [part], None) for part in parts]
    events.append(google_response(intended, [], "STOP"))
    answer = whole(GoogleDecoder(), google_response(intended, parts, "STOP"))
    check_both(intended, answer, streamed(GoogleDecoder(), iter(events)), intended.tokens)


def responses_items(intended: Intended) -> list[dict[str, Any]]:
    summary = [{"type": "summary_text", "text": piece} for piece in intended.reasoning]
    content = [{"type": "output_text", "text": piece} for piece in intended.text]
    return [
        {"type": "reasoning", "summary": summary, "encrypted_content": "x"},
        *({"type": "message", "content": [part], **intended.more} for part in content),
        *(
            {
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments if intended.as_objects else json.dumps(call.arguments),
            }
            for call in intended.calls
        ),
    ]


def responses_events(intended: Intended, response: dict[str, Any]) -> Iterator[Any]:
    yield {"type": "response.created", "response": {"status": "in_progress", "output": []}}
    if intended.in_parts:
        for piece in intended.reasoning:
            yield {"type": "response.reasoning_summary_text.delta", "delta": piece}
        for piece in intended.text:
            yield {"type": "response.output_text.delta", "delta": piece}
    if intended.repeats or intended.in_parts:
        for item in response["output"]:
            yield {"type": "response.output_item.done", "item": item}
    yield {"type": "response.completed", "response": response}


@settings(max_examples=150)
@given(answers())
def test_the_format_of_responses(intended: Intended) -> None:
    tokens = intended.tokens
    usage = {
        "input_tokens": tokens.prompt,
        "input_tokens_details": {"cached_tokens": tokens.cache_read},
        "output_tokens": tokens.completion,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }
    response = {"status": "completed", "output": responses_items(intended), "usage": usage, "error": None}
    answer = whole(ResponsesDecoder(), response)
    check_both(intended, answer, streamed(ResponsesDecoder(), responses_events(intended, response)), tokens)
