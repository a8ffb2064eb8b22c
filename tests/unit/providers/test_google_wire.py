"""Google's generateContent: what is sent, and what comes back whole and as events."""

import pytest

from app.chat import File, Message, Tokens, ToolCall, ToolDefinition
from app.errors import Invalid
from app.providers.failures import ProviderFailure
from app.providers.google_wire import GoogleDecoder, GoogleWire
from app.providers.types import ModelConfig, ModelRef, ModelRequest


def request(*messages, model="gemini-2.5-flash", **config):
    return ModelRequest(ModelRef("GOOGLE", model), ModelConfig(**config), messages, None, 60)


def body(*messages, **options):
    return GoogleWire().body(request(*messages, **options), streamed=False)


def response(*parts, finish="STOP", **more):
    candidate = {"content": {"role": "model", "parts": list(parts)}}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], **more}


def whole(sent):
    decoder = GoogleDecoder()
    decoder.read_whole(sent)
    return decoder.end()


def streamed(*events):
    decoder = GoogleDecoder()
    for event in events:
        decoder.read_event(event)
    return decoder.end()


HI = Message("user", "Hi")


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-2.5-flash", "/v1beta/models/gemini-2.5-flash"),
        ("tunedModels/mine", "/v1beta/tunedModels/mine"),
        ("a?b#c", "/v1beta/models/a%3Fb%23c"),
    ],
)
def test_the_model_is_in_the_path(model, path):
    wire, asked = GoogleWire(), request(HI, model=model)
    assert wire.path(asked, streamed=False) == f"{path}:generateContent"
    assert wire.path(asked, streamed=True) == f"{path}:streamGenerateContent?alt=sse"


def test_a_lone_instruction_is_asked_as_the_user():
    assert body(Message("system", "Say hello.")) == {"contents": [{"role": "user", "parts": [{"text": "Say hello."}]}]}


def test_results_of_parallel_calls_are_one_message_under_the_names_of_their_calls():
    calls = (ToolCall("a", "weather", {"city": "Bonn"}), ToolCall("b", "time", "no JSON"))
    results = (Message("tool", '{"sky": "clear"}', tool_call_id="a"), Message("tool", "noon", tool_call_id="b"))
    _, said, given = body(HI, Message("assistant", "", tool_calls=calls), *results)["contents"]

    assert said["role"] == "model"
    assert [part["functionCall"]["args"] for part in said["parts"]] == [{"city": "Bonn"}, {"input": "no JSON"}]
    assert "thoughtSignature" in said["parts"][0]
    assert "thoughtSignature" not in said["parts"][1]
    assert given["parts"] == [
        {"functionResponse": {"name": "weather", "response": {"sky": "clear"}}},
        {"functionResponse": {"name": "time", "response": {"result": "noon"}}},
    ]


def test_an_id_that_google_gave_goes_back_and_no_other():
    parts = [{"functionCall": {"id": "g1", "name": "look", "args": {}}}, {"functionCall": {"name": "look"}}]
    answer = whole(response(*parts, responseId="r"))
    assert [call.id for call in answer.tool_calls] == ["g1", "call_r_1"]

    results = (Message("tool", "1", tool_call_id="g1"), Message("tool", "2", tool_call_id="call_r_1"))
    _, said, given = body(HI, Message("assistant", "", tool_calls=answer.tool_calls), *results)["contents"]
    assert [part["functionCall"].get("id") for part in said["parts"]] == ["g1", None]
    assert [part["functionResponse"].get("id") for part in given["parts"]] == ["g1", None]


def test_the_signature_of_a_text_goes_back_with_it():
    answer = streamed(response({"text": "Hel"}, finish=""), response({"text": "lo", "thoughtSignature": "s"}))
    assert answer.text == "Hello"

    said = Message("assistant", answer.text, vendor_state=answer.vendor_state)
    assert body(HI, said)["contents"][1]["parts"] == [{"text": "Hello", "thoughtSignature": "s"}]


def test_the_schema_of_a_tool_is_sent_whole():
    schema = {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}
    (tools,) = body(HI, tools=(ToolDefinition("look", "Looks.", schema), ToolDefinition("wait")))["tools"]
    assert tools["functionDeclarations"] == [
        {"name": "look", "description": "Looks.", "parametersJsonSchema": schema},
        {"name": "wait", "description": ""},
    ]


@pytest.mark.parametrize(
    ("model", "effort", "sent"),
    [
        ("gemini-2.5-flash", "none", {"thinkingBudget": 0}),
        ("gemini-2.5-flash-lite", "xhigh", {"includeThoughts": True, "thinkingBudget": 24_576}),
        ("gemini-2.5-pro", "xhigh", {"includeThoughts": True, "thinkingBudget": 32_768}),
        ("gemini-3.6-flash", "minimal", {"includeThoughts": True, "thinkingLevel": "minimal"}),
        ("models/gemini-12-pro", "xhigh", {"includeThoughts": True, "thinkingLevel": "high"}),
    ],
)
def test_the_effort_is_a_level_or_a_budget(model, effort, sent):
    assert body(HI, model=model, reasoning_effort=effort)["generationConfig"]["thinkingConfig"] == sent


@pytest.mark.parametrize("model", ["gemini-2.5-pro", "gemini-3.6-flash"])
def test_a_model_that_always_thinks_gets_no_request_to_stop(model):
    with pytest.raises(Invalid, match="reasoning_effort"):
        body(HI, model=model, reasoning_effort="none")


def test_a_text_file_in_a_named_charset_is_sent_as_utf_8():
    file = File("a.csv", "text/csv; charset=iso-8859-1", "é".encode("latin-1"))
    (part,) = body(Message("user", " ", files=(file,)))["contents"][0]["parts"]
    assert part == {"inlineData": {"mimeType": "text/plain", "data": "w6k="}}


def test_counts_of_thoughts_and_tools_are_added():
    usage = {
        "promptTokenCount": 10,
        "toolUsePromptTokenCount": 2,
        "cachedContentTokenCount": 4,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 3,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 10}],
    }
    tokens = whole(response({"text": "x"}, usageMetadata=usage)).tokens
    assert tokens == Tokens(prompt=12, completion=8, cache_read=4, reasoning=3)


@pytest.mark.parametrize("parts", [[], [{"text": ""}]])
def test_an_answer_without_a_word_is_an_empty_one(parts):
    answer = whole(response(*parts))
    assert (answer.text, answer.finish_reason) == ("", "stop")


@pytest.mark.parametrize("reason", ["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "SAFETY", "OTHER"])
def test_an_answer_without_words_has_its_reason(reason):
    for answer in (whole(response(finish=reason)), streamed(response(finish=reason))):
        assert (answer.text, answer.finish_reason) == ("", "refused")
        assert reason in answer.refusal


def test_an_answer_with_words_ends_by_an_unknown_reason():
    assert whole(response({"text": "Yes."}, finish="NEW_REASON")).finish_reason == "stop"


def test_a_prompt_that_was_blocked_is_refused():
    answer = whole({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})
    assert (answer.finish_reason, "PROHIBITED_CONTENT" in answer.refusal) == ("refused", True)


def test_a_stream_without_an_end_broke_off():
    with pytest.raises(ProviderFailure, match="broke off"):
        streamed(response({"text": "half"}, finish=""))


@pytest.mark.parametrize(
    "sent", [{}, [], {"candidates": {}}, {"candidates": ["x"]}, response("x"), response({"text": 7})]
)
def test_what_is_no_answer_is_a_failure(sent):
    with pytest.raises(ProviderFailure) as failed:
        whole(sent)
    assert not failed.value.outage


@pytest.mark.parametrize("args", [{"n": 1}, '{"n": 1}'])
def test_arguments_are_an_object_or_its_json(args):
    (call,) = whole(response({"functionCall": {"name": "look", "args": args}})).tool_calls
    assert call.arguments == {"n": 1}


def test_calls_with_equal_ids_get_ids_that_differ():
    parts = [{"functionCall": {"id": "g", "name": "look", "args": {"n": number}}} for number in (1, 2)]
    answer = whole(response(*parts))
    assert [(call.id, call.arguments["n"]) for call in answer.tool_calls] == [("g", 1), ("call_2", 2)]


@pytest.mark.parametrize(
    ("text", "response"),
    [
        ('{"n": 18446744073709551616}', {"n": 2**64}),
        ('{"n": 1e999}', {"result": '{"n": 1e999}'}),
        ("NaN", {"result": "NaN"}),
        ("9" * 5000, {"result": "9" * 5000}),
        ("3", {"result": 3}),
    ],
)
def test_a_result_keeps_its_digits(text, response):
    call = ToolCall("a", "look", {})
    messages = (HI, Message("assistant", "", tool_calls=(call,)), Message("tool", text, tool_call_id="a"))
    (part,) = body(*messages)["contents"][-1]["parts"]
    assert part["functionResponse"]["response"] == response
