"""The requests to each vendor, in its own wire format, over real HTTP."""

import json
from base64 import b64encode

import pytest

from app.chat import File, Message, ToolCall
from app.errors import Invalid
from app.providers import catalogue
from app.providers.router import Providers
from tests.fakes.models import KEY, WEATHER, request
from tests.fakes.upstream import Reply

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}
PNG = File("dot.png", "image/png", b"\x89PNG fake")
PNG_BASE64 = "iVBORyBmYWtl"
SPEECH = File("order.wav", "audio/x-wav", b"RIFF fake")
PDF = File("terms.pdf", "application/pdf", b"%PDF fake")
TEXT = File("notes.md", "text/markdown; charset=utf-8", "héllo notes".encode())


def sent(upstream):
    return upstream.requests[-1].body


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
        with pytest.raises(Invalid, match=f"{vendor} models accept no seed"):
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
            assert inline == {"mimeType": "image/png", "data": PNG_BASE64}
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
            assert inline["mimeType"] == "application/pdf"
        case _:
            file = sent(upstream)["messages"][0]["content"][1]["file"]
            assert file["filename"] == "terms.pdf"
            assert file["file_data"].startswith("data:application/pdf;base64,")


def test_audio_is_sent_where_the_vendor_has_a_part_for_it_or_refused_by_type(upstream, ask, vendor):
    asked = request(upstream, vendor, Message("user", "Listen.", files=(SPEECH,)))
    data = b64encode(SPEECH.content).decode()
    match vendor:
        case "GOOGLE":
            ask(asked)
            inline = sent(upstream)["contents"][0]["parts"][1]["inlineData"]
            assert inline == {"mimeType": "audio/wav", "data": data}
        case "CUSTOM_OPENAI_COMPATIBLE":
            ask(asked)
            audio = {"data": data, "format": "wav"}
            assert sent(upstream)["messages"][0]["content"][1] == {"type": "input_audio", "input_audio": audio}
        case _:
            with pytest.raises(Invalid, match=r"can't read audio/x-wav \(order.wav\)"):
                ask(asked)


def test_a_text_file_is_read_by_every_model(upstream, ask, vendor):
    ask(request(upstream, vendor, Message("user", "Read.", files=(TEXT,))))

    match vendor:
        case "ANTHROPIC":
            document = sent(upstream)["messages"][0]["content"][1]
            assert (document["source"]["data"], document["title"]) == ("héllo notes", "notes.md")
        case "GOOGLE":
            assert sent(upstream)["contents"][0]["parts"][1]["inlineData"]["mimeType"] == "text/plain"
        case _:
            part = sent(upstream)["messages"][0]["content"][1]
            assert part == {"type": "text", "text": "notes.md:\n\nhéllo notes"}


@pytest.mark.parametrize(
    ("file", "named"),
    [
        (File("film.mp4", "video/mp4", b"x"), "video/mp4.*film"),
        (File("latin.txt", "text/plain", b"caf\xe9"), "latin.*not UTF-8"),
    ],
)
def test_a_file_no_model_can_read_is_refused_before_anything_is_sent(upstream, ask, vendor, file, named):
    with pytest.raises(Invalid, match=named):
        ask(request(upstream, vendor, Message("user", "Read.", files=(file,))))

    assert upstream.requests == []


def test_tools_are_described_to_the_model(upstream, ask, vendor):
    ask(request(upstream, vendor, tools=(WEATHER,)))

    tools = json.dumps(sent(upstream)["tools"])
    assert all(part in tools for part in ("weather", "Today's weather", "city"))


def test_tool_results_go_back_with_their_calls(upstream, ask, vendor):
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


@pytest.mark.parametrize("vendor", ["ANTHROPIC", "DEEPSEEK"])
def test_a_model_gets_its_own_reasoning_back_with_its_tool_calls(upstream, ask, vendor):
    upstream.script(Reply(reasoning="Ask the weather.", tool_calls=[("weather", {"city": "Bonn"})]))
    question = Message("user", "Weather?")
    answer = ask(request(upstream, vendor, question, tools=(WEATHER,)))
    said = Message("assistant", "", tool_calls=answer.tool_calls, vendor_state=answer.vendor_state)
    result = Message("tool", "rain", tool_call_id=answer.tool_calls[0].id)

    ask(request(upstream, vendor, question, said, result, tools=(WEATHER,)))

    back = sent(upstream)["messages"][1]
    if vendor == "ANTHROPIC":
        thinking = {"type": "thinking", "thinking": "Ask the weather.", "signature": "c2lnbmVk"}
        assert back["content"][0] == thinking
    else:
        assert back["reasoning_content"] == "Ask the weather."


def test_the_signature_of_a_thought_goes_back_with_its_tool_call(upstream, ask):
    upstream.script(Reply(tool_calls=[("weather", {"city": "Bonn"})], signature="c2lnbmVk"))
    question = Message("user", "Weather?")
    answer = ask(request(upstream, "GOOGLE", question, tools=(WEATHER,)))
    result = Message("tool", "rain", tool_call_id=answer.tool_calls[0].id)

    ask(request(upstream, "GOOGLE", question, Message("assistant", "", tool_calls=answer.tool_calls), result))

    (part,) = sent(upstream)["contents"][1]["parts"]
    assert part["thoughtSignature"] == "c2lnbmVk"


def test_the_reasoning_of_one_vendors_model_is_not_sent_to_another(upstream, ask, vendor):
    others = {"ANTHROPIC", "GOOGLE", "DEEPSEEK"} - {vendor}
    state = {name.lower(): {"secret": "thought"} for name in others}
    said = Message("assistant", "Hello.", vendor_state=state | {"reasoning": "thought"})

    ask(request(upstream, vendor, Message("user", "Hi"), said, Message("user", "Again")))

    assert "thought" not in json.dumps(sent(upstream))


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


def test_reasoning_effort_reaches_the_model(upstream, ask, vendor):
    ask(request(upstream, vendor, reasoning_effort="high", max_tokens=30_000))

    body = sent(upstream)
    match vendor:
        case "ANTHROPIC":
            assert body["thinking"] == {"type": "enabled", "budget_tokens": 24576}
        case "GOOGLE":
            assert body["generationConfig"]["thinkingConfig"]["includeThoughts"] is True
        case _:
            assert body["reasoning_effort"] == "high"


def test_an_unknown_reasoning_effort_is_refused(upstream, ask, vendor):
    with pytest.raises(Invalid, match="reasoning_effort"):
        ask(request(upstream, vendor, reasoning_effort="enormous"))


def test_a_model_known_to_read_no_images_is_spared_one(upstream):
    careful = Providers(catalogue=catalogue.load())  # refuses before it would connect
    asked = request(upstream, "DEEPSEEK", Message("user", "Look.", files=(PNG,)), model="deepseek-v4-pro")

    with pytest.raises(Invalid, match="deepseek-v4-pro can't read image/png"):
        careful.complete(asked)
