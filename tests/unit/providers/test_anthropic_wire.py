"""Anthropic's messages: what is sent, and what comes back whole and as events."""

import pytest

from app.chat import File, Message, Tokens, ToolCall, ToolDefinition
from app.errors import Invalid
from app.providers.anthropic_wire import MAX_TOKENS, AnthropicDecoder, AnthropicWire
from app.providers.failures import ProviderFailure
from app.providers.types import ModelConfig, ModelRef, ModelRequest
from tests.support.operations import growth_of


def body(*messages, model="claude-opus-5-5", **config):
    request = ModelRequest(ModelRef("ANTHROPIC", model), ModelConfig(**config), messages, None, 60)
    return AnthropicWire().body(request, streamed=False)


def streamed(*events):
    decoder = AnthropicDecoder()
    pieces = [piece for event in events for piece in decoder.read_event(event)]
    return decoder.end(), "".join(piece.text for piece in pieces if piece.kind == "token")


def start(index, **block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index, **delta):
    return {"type": "content_block_delta", "index": index, "delta": delta}


def end(reason="end_turn", **usage):
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage}


HI = Message("user", "Hi")


def test_a_request_has_a_limit_even_where_the_configuration_has_none():
    assert body(HI)["max_tokens"] == MAX_TOKENS
    assert body(HI, max_tokens=128_000)["max_tokens"] == 128_000


@pytest.mark.parametrize("blank", ["", " \n"])
def test_no_text_is_sent_that_has_no_visible_character(blank):
    call = ToolCall("c1", "look", {})
    messages = (
        Message("system", blank),
        HI,
        Message("assistant", blank),
        Message("user", blank),
        Message("assistant", blank, tool_calls=(call,)),
        Message("tool", "seen", tool_call_id="c1"),
    )
    sent = body(*messages)["messages"]
    assert sent == [
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "seen"}]},
    ]


def test_the_results_of_parallel_calls_are_one_message():
    calls = (ToolCall("a", "look", {}), ToolCall("b", "look", [1]))
    results = (Message("tool", "1", tool_call_id="a"), Message("tool", "2", tool_call_id="b"))
    sent = body(HI, Message("assistant", "Let me see.", tool_calls=calls), *results)["messages"]

    assert [block["type"] for block in sent[1]["content"]] == ["text", "tool_use", "tool_use"]
    assert sent[1]["content"][2]["input"] == {"input": [1]}
    assert [block["tool_use_id"] for block in sent[2]["content"]] == ["a", "b"]


@pytest.mark.parametrize(("strict", "sent"), [(True, True), (False, None), (None, None)])
def test_a_strict_tool_is_sent_as_such(strict, sent):
    (tool,) = body(HI, tools=(ToolDefinition("look", strict=strict),))["tools"]
    assert tool.get("strict") == sent


def test_a_newer_model_gets_an_effort_and_an_older_one_a_budget():
    assert body(HI, reasoning_effort="high")["output_config"] == {"effort": "high"}
    assert body(HI, reasoning_effort="high")["thinking"] == {"type": "adaptive"}
    older = body(HI, model="claude-haiku-4-5", reasoning_effort="high", max_tokens=10_000)
    assert older["thinking"] == {"type": "enabled", "budget_tokens": 10_000 - 1024}
    assert "output_config" not in older
    assert body(HI, reasoning_effort="none")["thinking"] == {"type": "disabled"}


def test_a_limit_without_room_for_thinking_is_refused():
    with pytest.raises(Invalid, match=r"max_tokens: .* 2048 is the least"):
        body(HI, model="claude-haiku-4-5", reasoning_effort="low", max_tokens=2047)


def test_a_pdf_has_its_name():
    (document,) = body(Message("user", "", files=(File("terms.pdf", "application/x-pdf", b"%PDF"),)))["messages"][0][
        "content"
    ]
    assert (document["type"], document["title"]) == ("document", "terms.pdf")
    assert document["source"]["media_type"] == "application/pdf"


def test_thinking_goes_back_as_it_came_whole_and_streamed():
    blocks = [
        {"type": "thinking", "thinking": "First.", "signature": "s1"},
        {"type": "redacted_thinking", "data": "xyz"},
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}},
    ]
    whole = AnthropicDecoder()
    whole.read_whole({"content": blocks, "stop_reason": "tool_use", "usage": {}})
    events, _ = streamed(
        start(0, type="thinking", thinking="", signature=""),
        delta(0, type="thinking_delta", thinking="Fir"),
        delta(0, type="thinking_delta", thinking="st."),
        delta(0, type="signature_delta", signature="s1"),
        start(1, type="redacted_thinking", data="xyz"),
        start(2, type="tool_use", id="c1", name="look", input={}),
        delta(2, type="input_json_delta", partial_json='{"a":'),
        delta(2, type="input_json_delta", partial_json=" 1}"),
        end("tool_use"),
    )
    for answer in (whole.end(), events):
        assert (answer.reasoning, answer.finish_reason) == ("First.", "tool_calls")
        said = Message("assistant", "", tool_calls=answer.tool_calls, vendor_state=answer.vendor_state)
        assert body(HI, said)["messages"][1]["content"] == blocks


def test_thinking_that_an_earlier_version_stored_goes_back():
    state = {"anthropic": {"signature": "s1"}, "reasoning": "First."}
    (thought, text) = body(HI, Message("assistant", "Yes.", vendor_state=state))["messages"][1]["content"]
    assert thought == {"type": "thinking", "thinking": "First.", "signature": "s1"}
    assert text == {"type": "text", "text": "Yes."}


def test_counts_of_a_stream_come_in_two_events():
    begin = {"input_tokens": 10, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2, "output_tokens": 1}
    answer, text = streamed(
        {"type": "message_start", "message": {"usage": begin}},
        {"type": "ping"},
        start(0, type="text", text=""),
        delta(0, type="text_delta", text="Hello"),
        {"type": "content_block_stop", "index": 0},
        end(output_tokens=7, cache_read_input_tokens=None),
        {"type": "message_stop"},
    )
    assert (answer.text, text) == ("Hello", "Hello")
    assert answer.tokens == Tokens(prompt=15, completion=7, cache_read=3, cache_write=2)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("pause_turn", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refused"),
    ],
)
def test_the_reason_of_the_end_is_read(reason, finish):
    assert streamed(end(reason))[0].finish_reason == finish


def test_a_stream_without_an_end_broke_off():
    with pytest.raises(ProviderFailure, match="broke off"):
        streamed(start(0, type="text", text="half"))


def test_blocks_of_other_kinds_are_passed_over():
    decoder = AnthropicDecoder()
    blocks = [{"type": "server_tool_use", "id": "s"}, {"type": "text", "text": "Found."}]
    decoder.read_whole({"content": blocks, "stop_reason": "end_turn"})
    assert decoder.end().text == "Found."


@pytest.mark.parametrize("sent", [{}, {"content": "text"}, {"content": ["x"]}, {"content": [], "usage": 7}, []])
def test_what_is_no_message_is_a_failure(sent):
    with pytest.raises(ProviderFailure):
        AnthropicDecoder().read_whole(sent)


def test_ends_that_are_repeated_read_no_thinking_again():
    def prepare(size):
        decoder = AnthropicDecoder()
        decoder.read_event(start(0, type="thinking", thinking="", signature="s"))
        decoder.read_event(delta(0, type="thinking_delta", thinking="x" * size))
        decoder.read_event(delta(0, type="thinking_delta", thinking="x"))
        return lambda: [decoder.read_event(end()) for _ in range(50)]

    assert growth_of(prepare, 2_000_000) < 1.2


@pytest.mark.parametrize("indexes", [(0, 1), (0, 0), (None, None), ("0", "1")])
def test_calls_at_one_index_or_none_are_all_kept(indexes):
    first, second = indexes
    answer, _ = streamed(
        start(first, type="tool_use", id="a", name="look", input={}),
        delta(first, type="input_json_delta", partial_json='{"n": 1}'),
        start(second, type="tool_use", id="b", name="wait", input={}),
        delta(second, type="input_json_delta", partial_json='{"n": 2}'),
        end("tool_use"),
    )
    assert [(call.id, call.name, call.arguments["n"]) for call in answer.tool_calls] == [
        ("a", "look", 1),
        ("b", "wait", 2),
    ]


def test_pieces_of_two_calls_arrive_in_turns():
    answer, _ = streamed(
        start(0, type="tool_use", id="a", name="look", input={}),
        start(1, type="tool_use", id="b", name="wait", input={}),
        delta(0, type="input_json_delta", partial_json='{"n": 1}'),
        delta(1, type="input_json_delta", partial_json='{"n": 2}'),
        end("tool_use"),
    )
    assert [call.arguments["n"] for call in answer.tool_calls] == [1, 2]


@pytest.mark.parametrize("pieces", [[], ['{"n":', " 1}"]])
@pytest.mark.parametrize("given", [{"n": 1}, '{"n": 1}'])
def test_arguments_that_come_with_the_start_count_once(given, pieces):
    answer, _ = streamed(
        start(0, type="tool_use", id="a", name="look", input=given),
        *(delta(0, type="input_json_delta", partial_json=piece) for piece in pieces),
        end("tool_use"),
    )
    assert [call.arguments for call in answer.tool_calls] == [{"n": 1}]


def test_a_stream_that_the_vendor_ended_is_whole_without_a_reason():
    answer, _ = streamed(start(0, type="text", text=""), {"type": "message_stop"})
    assert (answer.text, answer.finish_reason) == ("", "stop")


@pytest.mark.parametrize("reason", ["", None, "end_turn"])
def test_a_whole_answer_never_broke_off(reason):
    decoder = AnthropicDecoder()
    decoder.read_whole({"content": [], "stop_reason": reason})
    assert (decoder.end().text, decoder.end().finish_reason) == ("", "stop")


def test_tokens_of_thoughts_are_a_part_of_the_output():
    answer, _ = streamed(end(output_tokens=9, output_tokens_details={"thinking_tokens": 5}))
    assert answer.tokens == Tokens(completion=9, reasoning=5)


def test_the_arguments_of_a_tool_that_the_vendor_runs_are_no_call():
    answer, _ = streamed(
        start(0, type="server_tool_use", id="s", name="web_search", input={}),
        delta(0, type="input_json_delta", partial_json='{"query": "x"}'),
        start(1, type="text", text="Found."),
        end(),
    )
    assert (answer.text, answer.tool_calls, answer.finish_reason) == ("Found.", (), "stop")
