"""OpenAI's Responses API: which requests use it, what is sent, and what comes back whole and as events."""

import pytest

from app.chat import File, Message, Tokens, ToolCall, ToolDefinition
from app.errors import Invalid
from app.providers.failures import ProviderFailure
from app.providers.responses_wire import ResponsesDecoder, needs_responses
from app.providers.types import ModelConfig, ModelRef, ModelRequest
from app.providers.wires import wire_of

LOOK = ToolDefinition("look", "Looks.", {"type": "object", "properties": {}})
HI = Message("user", "Hi")


def request(*messages, model="gpt-6-luna", vendor="OPENAI", **config):
    parameters = ModelConfig(**{"tools": (LOOK,)} | config)
    return ModelRequest(ModelRef(vendor, model), parameters, messages or (HI,), None, 60)


def body(*messages, **options):
    asked = request(*messages, **options)
    return wire_of(asked).body(asked, streamed=False)


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        ({}, True),
        ({"model": "gpt-6.1-sol", "reasoning_effort": "high"}, True),
        ({"model": "gpt-5.5"}, True),
        ({"model": "openai/gpt-10-sol"}, True),
        ({"reasoning_effort": "none"}, False),
        ({"tools": ()}, False),
        ({"model": "gpt-5-mini"}, False),
        ({"model": "gpt-5.2"}, False),
        ({"model": "gpt-4o"}, False),
        ({"model": "gpt-6-chat-latest"}, False),
        ({"vendor": "CUSTOM_OPENAI_COMPATIBLE"}, False),
    ],
)
def test_requests_with_tools_to_models_that_reason_need_it(options, needed):
    asked = request(**options)
    assert needs_responses(asked) is needed
    assert wire_of(asked).path(asked, streamed=False) == ("/responses" if needed else "/chat/completions")


def test_a_configuration_is_sent_under_the_names_of_this_api():
    sent = body(
        Message("system", "Be brief."),
        HI,
        max_tokens=50,
        reasoning_effort="high",
        response_format="json_schema",
        json_schema={"type": "object"},
        strict=True,
        tools=(LOOK, ToolDefinition("book", strict=True)),
    )
    assert (sent["instructions"], sent["max_output_tokens"]) == ("Be brief.", 50)
    assert (sent["reasoning"], sent["store"]) == ({"effort": "high"}, False)
    schema = {"type": "json_schema", "name": "answer", "schema": {"type": "object"}, "strict": True}
    assert sent["text"] == {"format": schema}
    assert [(tool["name"], tool["strict"]) for tool in sent["tools"]] == [("look", False), ("book", True)]


@pytest.mark.parametrize(("key", "value"), [("stop", ("a",)), ("seed", 0)])
def test_what_this_api_does_not_have_is_refused(key, value):
    with pytest.raises(Invalid, match=rf"^languageModelConfig\.{key}: "):
        body(**{key: value})


def test_files_are_parts_of_the_question():
    files = (
        File("a.png", "image/png", b"x"),
        File("a.pdf", "application/pdf", b"x"),
        File("a.txt", "text/plain", b"x"),
    )
    (message,) = body(Message("user", "Look.", files=files))["input"]
    assert [part["type"] for part in message["content"]] == ["input_text", "input_image", "input_file", "input_text"]


CALL = {"type": "function_call", "id": "fc", "call_id": "c1", "name": "look", "arguments": '{"n": 1}'}
THOUGHT = {
    "type": "reasoning",
    "id": "rs",
    "summary": [{"type": "summary_text", "text": "Hm."}],
    "encrypted_content": "x",
}
TEXT = {"type": "message", "content": [{"type": "output_text", "text": "Yes."}]}
MORE = {"type": "message", "content": [{"type": "output_text", "text": " No."}, {"type": "refusal", "refusal": ""}]}
USAGE = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 3},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 5},
}


def response(*items, status="completed", **more):
    return {"status": status, "output": list(items), "usage": USAGE, "error": None, **more}


def whole(sent):
    decoder = ResponsesDecoder()
    decoder.read_whole(sent)
    return decoder.end()


def streamed(*events):
    decoder = ResponsesDecoder()
    pieces = [piece for event in events for piece in decoder.read_event(event)]
    return decoder.end(), "".join(piece.text for piece in pieces if piece.kind == "token")


def test_a_response_is_read_whole_and_streamed():
    items = (THOUGHT, TEXT, MORE, CALL, CALL | {"call_id": "c1", "name": "book"})
    events = [
        {"type": "response.created", "response": response(status="in_progress")},
        {"type": "response.reasoning_summary_text.delta", "delta": "Hm."},
        {"type": "response.output_text.delta", "delta": "Yes."},
        {"type": "response.output_text.delta", "delta": " No."},
        *({"type": "response.output_item.done", "item": item} for item in items),
        {"type": "response.completed", "response": response(*items)},
    ]
    bare = [{"type": "response.completed", "response": response(*items)}]
    for answer, text in ((whole(response(*items)), "Yes. No."), streamed(*events), streamed(*bare)):
        assert (answer.text, text, answer.reasoning) == ("Yes. No.", "Yes. No.", "Hm.")
        assert [(call.id, call.name, call.arguments) for call in answer.tool_calls] == [
            ("c1", "look", {"n": 1}),
            ("call_2", "book", {"n": 1}),
        ]
        assert (answer.finish_reason, answer.tokens) == ("tool_calls", Tokens(9, 7, cache_read=3, reasoning=5))


def test_what_the_model_has_thought_goes_back_before_its_calls():
    answer = whole(response(THOUGHT, CALL))
    said = Message("assistant", "", tool_calls=answer.tool_calls, vendor_state=answer.vendor_state)
    _, thought, call, result = body(HI, said, Message("tool", "seen", tool_call_id="c1"))["input"]
    assert thought == THOUGHT
    assert (call["call_id"], call["arguments"]) == ("c1", '{"n": 1}')
    assert result == {"type": "function_call_output", "call_id": "c1", "output": "seen"}


def test_calls_of_other_vendors_are_sent_with_their_texts():
    said = Message("assistant", "Let me see.", tool_calls=(ToolCall("", "look", "no JSON"),))
    _, text, call, result = body(HI, said, Message("tool", "seen"))["input"]
    assert (text["content"], call["arguments"]) == ("Let me see.", '{"input": "no JSON"}')
    assert call["call_id"] == result["call_id"]


@pytest.mark.parametrize(
    ("reason", "finish"), [("max_output_tokens", "length"), ("content_filter", "refused"), (None, "length")]
)
def test_the_reason_of_an_incomplete_response_is_read(reason, finish):
    assert whole(response(TEXT, status="incomplete", incomplete_details={"reason": reason})).finish_reason == finish


def test_a_refusal_is_read():
    answer = whole(response({"type": "message", "content": [{"type": "refusal", "refusal": "I can't."}]}))
    assert (answer.finish_reason, answer.refusal) == ("refused", "I can't.")


def test_an_empty_response_is_an_empty_answer():
    assert (whole(response()).text, whole(response()).finish_reason) == ("", "stop")


@pytest.mark.parametrize(
    ("event", "outage"),
    [
        ({"type": "error", "code": "server_error", "message": "Broken"}, True),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "Broken"}, False),
        ({"type": "response.failed",
          "response": response(status="failed", error={"code": "server_error", "message": "Broken"})}, True),
        ({"type": "response.failed",
          "response": response(status="failed", error={"code": "invalid_prompt", "message": "Broken"})}, False),
    ],
)  # fmt: skip
def test_a_failure_is_in_words_and_an_outage_only_if_the_server_failed(event, outage):
    with pytest.raises(ProviderFailure, match="Broken") as failed:
        streamed(event)
    assert failed.value.outage is outage


def test_a_stream_without_an_end_broke_off():
    with pytest.raises(ProviderFailure, match="broke off"):
        streamed({"type": "response.output_text.delta", "delta": "half"})


@pytest.mark.parametrize("sent", [{}, [], {"output": {}}, response(7), response({"type": "message", "content": [7]})])
def test_what_is_no_response_is_a_failure(sent):
    with pytest.raises(ProviderFailure):
        whole(sent)
