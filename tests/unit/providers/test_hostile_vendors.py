"""Whatever form a server gives an answer, whole or streamed, none of it is lost, doubled, misnamed or mispriced.

Each answer is read from the bytes of a response, which come in pieces of any size.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.chat import Answer, Message, StreamEvent, Tokens, ToolDefinition
from app.providers import catalogue
from app.providers.failures import ProviderFailure
from app.providers.types import Credential, ModelConfig, ModelRef, ModelRequest
from app.providers.vendor_models import VendorModels
from app.providers.vendors import CUSTOM, VENDORS, Vendor
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
# Three times as many examples as other properties have: `make test-unit` tries fewer.
EXAMPLES = 3 * settings().max_examples
ENTRY = catalogue.load()["ANTHROPIC", "claude-haiku-4-5"]


@dataclass(frozen=True)
class Form:
    """How a server writes a response."""

    piece_bytes: int
    line_end: str
    has_mark: bool
    before: str
    before_data: str
    is_compressed: bool
    ends_with_done: bool
    cut_at: int

    @property
    def encoding(self) -> str:
        return "utf-8-sig" if self.has_mark else "utf-8"

    def of_stream(self, events: Sequence[Any], *, ends: bool) -> bytes:
        return (self.before + "".join(map(self._event, events)) + self._done() * ends).encode(self.encoding)

    def _event(self, event: Any) -> str:
        before = self.before_data + self.line_end if self.before_data else ""
        return f"{before}data: {json.dumps(event)}{self.line_end * 2}"

    def _done(self) -> str:
        return f"data: [DONE]{self.line_end * 2}" if self.ends_with_done else ""


FORMS = st.builds(
    Form,
    piece_bytes=st.sampled_from([1, 7, 100, 100_000]),
    line_end=st.sampled_from(["\n", "\r\n", "\r"]),
    has_mark=st.booleans(),
    before=st.sampled_from(["", ": wait\n\n", "event: ping\ndata:\n\n"]),
    before_data=st.sampled_from(["", ": x", "event: message"]),
    is_compressed=st.booleans(),
    ends_with_done=st.booleans(),
    cut_at=st.integers(0, 20),
)


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
    end: str
    tokens: Tokens
    more: dict[str, Any]
    form: Form

    @property
    def finish(self) -> str:
        return "tool_calls" if self.calls and self.end == "stop" else self.end

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
        end=draw(st.sampled_from(["stop", "stop", "length", "refused"])),
        tokens=Tokens(prompt, completion, cached, 0, reasoning),
        more=draw(UNKNOWN),
        form=draw(FORMS),
    )


@dataclass
class Response:
    """A response with a body that was received in pieces."""

    headers: dict[str, str]
    body: list[bytes]
    status: int = 200

    def read1(self, _size: int) -> bytes:
        return self.body.pop(0) if self.body else b""


class Server:
    """Answers each request with one response."""

    def __init__(self, form: Form, content_type: str, content: bytes) -> None:
        self._headers = {"content-type": content_type}
        if form.is_compressed:
            self._headers["content-encoding"], content = "gzip", gzip.compress(content, mtime=0)
        size = form.piece_bytes
        self._pieces = [content[at : at + size] for at in range(0, len(content), size)]

    @contextmanager
    def post(self, *_: Any) -> Iterator[Response]:
        yield Response(self._headers, list(self._pieces))


TOOLS = (ToolDefinition("look"), ToolDefinition("wait"), ToolDefinition("book"))


def received(server: Server, vendor: Vendor, model: str, *, streamed: bool) -> Answer:
    """Return an answer; one that is asked for as a stream must have been streamed whole."""
    models, events = VendorModels(), list[StreamEvent]()
    models._http = server  # type: ignore[assignment]
    config = ModelConfig(tools=TOOLS, max_tokens=9)
    credential = Credential("key", "http://vendor")
    request = ModelRequest(ModelRef(vendor, model), config, (Message("user", "Hi"),), credential, 60)
    answer = models.stream(request, events.append) if streamed else models.complete(request)
    if streamed:
        texts = ("".join(event.text for event in events if event.kind == kind) for kind in ("token", "reasoning"))
        assert tuple(texts) == (answer.text, answer.reasoning or "")
        assert [event.tool_call for event in events if event.kind == "tool_call"] == list(answer.tool_calls)
    return answer


def check_all(
    intended: Intended, vendor: Vendor, model: str, whole: Any, events: Sequence[Any], endings: int, tokens: Tokens
) -> None:
    """Read an answer as a whole and as a stream, each asked for in both ways; a stream that is cut is a failure.

    The last `endings` events show that the answer is whole.
    """
    form = intended.form
    servers = (
        Server(form, "application/json; charset=utf-8", json.dumps(whole).encode(form.encoding)),
        Server(form, "text/event-stream", form.of_stream(events, ends=True)),
    )
    answers = [received(server, vendor, model, streamed=streamed) for server in servers for streamed in (False, True)]
    for answer in answers:
        check(intended, answer, tokens)
        assert answer.tool_calls == answers[0].tool_calls
    begun = events[: min(form.cut_at, len(events) - endings)]
    cut = Server(form, "text/event-stream", form.of_stream(begun, ends=False))
    for streamed in (False, True):
        with pytest.raises(ProviderFailure) as failure:
            received(cut, vendor, model, streamed=streamed)
        assert failure.value.retryable


def check(intended: Intended, answer: Answer, tokens: Tokens) -> None:
    assert answer.finish_reason == intended.finish
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


OPENAI_ENDS = {"stop": "stop", "length": "length", "refused": "content_filter"}


def openai_events(intended: Intended) -> Iterator[Any]:
    yield {"choices": []}
    for piece in intended.reasoning:
        yield {"choices": [{"delta": openai_message(intended, [], [piece])}]}
    for piece in intended.text:
        yield {"choices": [{"delta": openai_message(intended, [piece], []), "finish_reason": None}], "usage": None}
    for pieces in openai_calls(intended):
        for call in pieces:
            yield {"choices": [{"delta": {"tool_calls": [call], "content": ""}}]}
    if intended.names_end or intended.end != "stop" or not intended.form.ends_with_done:
        yield {"choices": [{"delta": {}, "finish_reason": OPENAI_ENDS[intended.end]}]}
    yield {"choices": [], "usage": openai_usage(intended)}


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(answers(), st.sampled_from(["OPENAI", "DEEPSEEK", CUSTOM]))
def test_chat_completions(intended: Intended, vendor: Vendor) -> None:
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
    finish = None if intended.end == "stop" and not intended.names_end else OPENAI_ENDS[intended.end]
    whole = {"choices": [{"message": message, "finish_reason": finish}], "usage": openai_usage(intended)}
    check_all(intended, vendor, "m", whole, list(openai_events(intended)), 2, intended.tokens)


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


ANTHROPIC_ENDS = {"stop": "end_turn", "length": "max_tokens", "refused": "refusal"}


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
    delta = {"stop_reason": ANTHROPIC_ENDS[intended.end] if intended.names_end or intended.end != "stop" else None}
    yield {"type": "message_delta", "delta": delta, "usage": anthropic_usage(intended.tokens)}
    yield {"type": "message_stop"}


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(answers())
def test_messages(intended: Intended) -> None:
    reason = None if intended.end == "stop" and not intended.names_end else ANTHROPIC_ENDS[intended.end]
    usage = anthropic_usage(intended.tokens)
    whole = {"content": anthropic_blocks(intended), "stop_reason": reason, "usage": usage}
    events = list(anthropic_events(intended))
    check_all(intended, "ANTHROPIC", "claude-haiku-4-5", whole, events, 2, intended.tokens)


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


GOOGLE_ENDS = {"stop": "STOP", "length": "MAX_TOKENS", "refused": "SAFETY"}


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(answers())
def test_generate_content(intended: Intended) -> None:
    parts, end = google_parts(intended), GOOGLE_ENDS[intended.end]
    events = [google_response(intended, [part], None) for part in parts]
    events.append(google_response(intended, [], end))
    whole = google_response(intended, parts, end)
    check_all(intended, "GOOGLE", "gemini-3.8-flash", whole, events, 1, intended.tokens)


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
    yield {"type": "response.completed" if intended.end == "stop" else "response.incomplete", "response": response}


RESPONSES_ENDS = {"stop": {}, "length": {"reason": "max_output_tokens"}, "refused": {"reason": "content_filter"}}


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(answers())
def test_responses(intended: Intended) -> None:
    tokens, end = intended.tokens, RESPONSES_ENDS[intended.end]
    usage = {
        "input_tokens": tokens.prompt,
        "input_tokens_details": {"cached_tokens": tokens.cache_read},
        "output_tokens": tokens.completion,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }
    state = {"status": "incomplete" if end else "completed", "incomplete_details": end or None, "error": None}
    response = {**state, "output": responses_items(intended), "usage": usage}
    events = list(responses_events(intended, response))
    check_all(intended, "OPENAI", "gpt-5.5", response, events, 1, tokens)
