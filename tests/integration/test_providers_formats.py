"""Each vendor's wire format over real HTTP: what is sent, and what is understood of the answer."""

import json
from contextlib import closing

import pytest

from app.chat import File, Message, Tokens, ToolCall, ToolDefinition
from app.errors import Invalid
from app.providers import catalogue
from app.providers.router import Providers
from tests.fakes.models import KEY, VENDORS, request
from tests.fakes.upstream import Reply, Upstream

OPENAI_LIKE = ("OPENAI", "DEEPSEEK", "CUSTOM_OPENAI_COMPATIBLE")
WEATHER = ToolDefinition(
    "weather",
    "Today's weather",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}
PNG = File("dot.png", "image/png", b"\x89PNG fake")
PNG_BASE64 = "iVBORyBmYWtl"
PDF = File("terms.pdf", "application/pdf", b"%PDF fake")
TEXT = File("notes.md", "text/markdown; charset=utf-8", "héllo notes".encode())


@pytest.fixture(params=VENDORS)
def vendor(request):
    return request.param


@pytest.fixture(scope="module")
def running():
    with Upstream() as upstream:
        yield upstream


@pytest.fixture
def upstream(running):
    running.reset()
    return running


@pytest.fixture(scope="module")
def providers():
    with closing(Providers()) as providers:
        yield providers


@pytest.fixture(params=["whole", "streamed"])
def ask(request, providers):
    """Call a model one way or the other; a streamed answer must be told by its events as well."""
    if request.param == "whole":
        return providers.complete

    def streamed(model_request):
        events = []
        answer = providers.stream(model_request, events.append)
        told = {kind: "".join(event.text for event in events if event.kind == kind) for kind in ("token", "reasoning")}
        assert told == {"token": answer.text, "reasoning": answer.reasoning or ""}
        assert tuple(event.tool_call for event in events if event.kind == "tool_call") == answer.tool_calls
        return answer

    return streamed


def sent(upstream):
    return upstream.requests[-1].body


def test_text_comes_back_with_its_tokens(upstream, ask, vendor):
    answer = ask(request(upstream, vendor))

    assert (answer.text, answer.finish_reason, answer.tool_calls) == ("echo: Say hello.", "stop", ())
    assert (answer.tokens.completion, answer.reasoning, answer.refusal) == (3, None, None)
    assert answer.tokens.prompt > 0


def test_the_key_goes_where_the_vendor_looks_for_it_and_nowhere_else(upstream, ask, vendor):
    ask(request(upstream, vendor))

    headers = upstream.requests[-1].headers
    holder = {"ANTHROPIC": "x-api-key", "GOOGLE": "x-goog-api-key"}.get(vendor, "authorization")
    assert [name for name, value in headers.items() if KEY in value] == [holder]


def test_the_instruction_is_the_system_message(upstream, ask, vendor):
    ask(request(upstream, vendor))

    body = sent(upstream)
    match vendor:
        case "ANTHROPIC":
            assert body["system"] == "Be brief."
        case "GOOGLE":
            assert body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
        case _:
            assert body["messages"][0] == {"role": "system", "content": "Be brief."}


def test_settings_reach_the_model_under_its_own_names(upstream, ask, vendor):
    ask(request(upstream, vendor, max_tokens=50, temperature=0.25, top_p=0.5, stop=("END",)))

    body = sent(upstream)
    body = body.get("generationConfig", body)
    names = {
        "OPENAI": ("max_completion_tokens", "temperature", "top_p", "stop"),
        "ANTHROPIC": ("max_tokens", "temperature", "top_p", "stop_sequences"),
        "GOOGLE": ("maxOutputTokens", "temperature", "topP", "stopSequences"),
    }.get(vendor, ("max_tokens", "temperature", "top_p", "stop"))
    assert [body[name] for name in names] == [50, 0.25, 0.5, ["END"]]


def test_the_default_temperature_is_left_unsaid_where_reasoning_models_refuse_it(upstream, ask, vendor):
    ask(request(upstream, vendor, temperature=1.0, max_tokens=9))

    assert ("temperature" in json.dumps(sent(upstream))) == (vendor == "CUSTOM_OPENAI_COMPATIBLE")


def test_a_seed_is_sent_or_refused_but_never_dropped(upstream, ask, vendor):
    if vendor in {"ANTHROPIC", "DEEPSEEK"}:
        with pytest.raises(Invalid, match=f"{vendor} models take no seed"):
            ask(request(upstream, vendor, seed=7))
    else:
        ask(request(upstream, vendor, seed=7))
        assert '"seed": 7' in json.dumps(sent(upstream))


def test_an_image_is_sent_inline(upstream, ask, vendor):
    ask(request(upstream, vendor, Message("user", "Look.", files=(PNG,))))

    match vendor:
        case "ANTHROPIC":
            source = {"type": "base64", "media_type": "image/png", "data": PNG_BASE64}
            assert sent(upstream)["messages"][0]["content"][1] == {"type": "image", "source": source}
        case "GOOGLE":
            inline = sent(upstream)["contents"][0]["parts"][1]["inlineData"]
            assert inline == {"mime_type": "image/png", "data": PNG_BASE64}
        case _:
            url = sent(upstream)["messages"][0]["content"][1]["image_url"]["url"]
            assert url == f"data:image/png;base64,{PNG_BASE64}"


def test_a_pdf_is_sent_as_a_document_or_refused_by_type(upstream, ask, vendor):
    asked = request(upstream, vendor, Message("user", "Read.", files=(PDF,)))
    if vendor == "DEEPSEEK":
        with pytest.raises(Invalid, match=r"DEEPSEEK.*application/pdf.*terms"):
            ask(asked)
        return
    ask(asked)
    match vendor:
        case "ANTHROPIC":
            assert sent(upstream)["messages"][0]["content"][1]["type"] == "document"
        case "GOOGLE":
            inline = sent(upstream)["contents"][0]["parts"][1]["inlineData"]
            assert inline["mime_type"] == "application/pdf"
        case _:
            file = sent(upstream)["messages"][0]["content"][1]["file"]
            assert file["filename"] == "terms.pdf"
            assert file["file_data"].startswith("data:application/pdf;base64,")


def test_a_text_file_is_read_by_every_model(upstream, ask, vendor):
    ask(request(upstream, vendor, Message("user", "Read.", files=(TEXT,))))

    match vendor:
        case "ANTHROPIC":
            document = sent(upstream)["messages"][0]["content"][1]
            assert (document["source"]["data"], document["title"]) == ("héllo notes", "notes.md")
        case "GOOGLE":
            assert sent(upstream)["contents"][0]["parts"][1]["inlineData"]["mime_type"] == "text/plain"
        case _:
            part = sent(upstream)["messages"][0]["content"][1]
            assert part == {"type": "text", "text": "notes.md:\n\nhéllo notes"}


@pytest.mark.parametrize(
    ("file", "named"),
    [
        (File("song.mp3", "audio/mpeg", b"x"), "audio/mpeg.*song"),
        (File("latin.txt", "text/plain", b"\xff\xfe"), "latin.*not UTF-8"),
    ],
)
def test_a_file_no_model_can_read_is_refused_before_anything_is_sent(upstream, ask, vendor, file, named):
    with pytest.raises(Invalid, match=named):
        ask(request(upstream, vendor, Message("user", "Read.", files=(file,))))

    assert upstream.requests == []


def test_tool_calls_come_back_decoded(upstream, ask, vendor):
    upstream.script(
        Reply(text="Let me look.", tool_calls=[("weather", {"city": "Bonn"}), ("weather", {"city": "Ulm"})])
    )

    answer = ask(request(upstream, vendor, tools=(WEATHER,)))

    assert [(call.name, call.arguments) for call in answer.tool_calls] == [
        ("weather", {"city": "Bonn"}),
        ("weather", {"city": "Ulm"}),
    ]
    assert (answer.text, answer.finish_reason) == ("Let me look.", "tool_calls")
    assert len({call.id for call in answer.tool_calls}) == 2
    assert "Today's weather" in json.dumps(sent(upstream)["tools"])


def test_tool_results_go_back_beside_their_calls(upstream, ask, vendor):
    calls = (ToolCall("call_a", "weather", {"city": "Bonn"}), ToolCall("call_b", "weather", "not JSON"))
    said = (
        Message("user", "Weather?"),
        Message("assistant", "", tool_calls=calls),
        Message("tool", "rain", tool_call_id="call_a"),
        Message("tool", '{"sky": "clear"}', tool_call_id="call_b"),
    )

    ask(request(upstream, vendor, *said, tools=(WEATHER,)))

    text = json.dumps(sent(upstream))
    assert all(part in text for part in ("rain", "clear", "Bonn", "not JSON"))
    if vendor != "GOOGLE":
        assert text.count("call_a") == text.count("call_b") == 2


def test_json_mode_asks_for_json(upstream, ask, vendor):
    upstream.script(Reply(text='{"name": "Ann"}'))

    answer = ask(request(upstream, vendor, response_format="json_object"))

    assert json.loads(answer.text) == {"name": "Ann"}
    body = sent(upstream)
    match vendor:
        case "ANTHROPIC":
            assert body["system"] == "Be brief.\n\nAnswer with one JSON object and nothing else."
        case "GOOGLE":
            assert body["generationConfig"]["responseMimeType"] == "application/json"
        case _:
            assert body["response_format"] == {"type": "json_object"}
            assert "JSON" in body["messages"][0]["content"]


def test_a_json_schema_reaches_the_model(upstream, ask, vendor):
    ask(request(upstream, vendor, response_format="json_schema", json_schema=SCHEMA))

    body = sent(upstream)
    match vendor:
        case "ANTHROPIC":
            assert body["output_config"]["format"]["schema"] == SCHEMA
        case "GOOGLE":
            assert body["generationConfig"]["responseJsonSchema"] == SCHEMA
        case "DEEPSEEK":
            assert body["response_format"] == {"type": "json_object"}
            assert json.dumps(SCHEMA) in body["messages"][0]["content"]
        case _:
            assert body["response_format"]["json_schema"]["schema"] == SCHEMA


def test_reasoning_text_is_kept_apart_from_the_answer(upstream, ask, vendor):
    upstream.script(Reply(text="42", reasoning="Six times seven."))

    answer = ask(request(upstream, vendor))

    shown = None if vendor == "OPENAI" else "Six times seven."
    assert (answer.text, answer.reasoning) == ("42", shown)


def test_reasoning_effort_reaches_the_model(upstream, ask, vendor):
    ask(request(upstream, vendor, reasoning_effort="high", max_tokens=30_000))

    body = sent(upstream)
    match vendor:
        case "ANTHROPIC":
            assert body["thinking"] == {"type": "enabled", "budget_tokens": 24576}
        case "GOOGLE":
            assert body["generationConfig"]["thinkingConfig"]["include_thoughts"] is True
        case _:
            assert body["reasoning_effort"] == "high"


def test_an_unknown_reasoning_effort_is_refused(upstream, ask, vendor):
    with pytest.raises(Invalid, match="reasoning_effort"):
        ask(request(upstream, vendor, reasoning_effort="enormous"))


def test_cached_and_reasoning_tokens_are_parts_of_prompt_and_completion(upstream, ask, vendor):
    upstream.script(Reply(text="one two", cached=2, reasoning_tokens=5))

    tokens = ask(request(upstream, vendor, Message("user", "five words are in here"))).tokens

    # Anthropic counts its thinking as output and does not say how much of it that is.
    reasoning = 0 if vendor == "ANTHROPIC" else 5
    assert tokens == Tokens(prompt=5, completion=7, cache_read=2, reasoning=reasoning)


def test_cache_writes_are_part_of_the_prompt(upstream, ask, vendor):
    upstream.script(Reply(text="one", cached=1, cache_write=3))

    tokens = ask(request(upstream, vendor, Message("user", "five words are in here"))).tokens

    # Google and DeepSeek cache for nothing, and report no writes.
    written = 0 if vendor in {"GOOGLE", "DEEPSEEK"} else 3
    assert tokens == Tokens(prompt=5, completion=1, cache_read=1, cache_write=written)


def test_a_refusal_is_an_answer_that_says_so(upstream, ask, vendor):
    upstream.script(Reply(refusal="I can't help with that."))

    answer = ask(request(upstream, vendor))

    assert answer.finish_reason == "refused"
    own_words = vendor in {"OPENAI", "ANTHROPIC", "CUSTOM_OPENAI_COMPATIBLE"}
    assert answer.refusal == "I can't help with that." if own_words else answer.refusal


def test_an_answer_cut_at_max_tokens_says_so(upstream, ask, vendor):
    upstream.script(Reply(text="half an", truncated=True))

    answer = ask(request(upstream, vendor))

    assert (answer.text, answer.finish_reason) == ("half an", "length")


@pytest.mark.parametrize("vendor", OPENAI_LIKE)
def test_arguments_that_are_not_json_are_kept_as_text(upstream, ask, vendor):
    upstream.script(Reply(tool_calls=[("weather", '{"city": ')]))

    (call,) = ask(request(upstream, vendor, tools=(WEATHER,))).tool_calls

    assert call.arguments == '{"city": '


def test_a_model_known_to_read_no_images_is_spared_one(upstream):
    careful = Providers(catalogue=catalogue.load())  # refuses before it would connect
    asked = request(upstream, "DEEPSEEK", Message("user", "Look.", files=(PNG,)), model="deepseek-v4-pro")

    with pytest.raises(Invalid, match="deepseek-v4-pro can't read image/png"):
        careful.complete(asked)
