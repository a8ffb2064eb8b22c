"""Answers in OpenAI's format, from servers that differ from OpenAI's own."""

import json

import pytest

from app.chat import Tokens
from app.providers.bounds import ELEMENTS_MAX
from app.providers.decoding import ANSWER_MAX, TOKENS_MAX
from app.providers.failures import ProviderFailure
from app.providers.openai_answers import OpenAIDecoder, ThinkingDecoder
from tests.support.operations import growth_of


def answer(*chunks):
    """The answer of a stream."""
    decoder = OpenAIDecoder()
    for chunk in chunks:
        decoder.read_event(chunk)
    return decoder.end()


def whole(message, finish="stop"):
    """The answer of a completion that is not streamed."""
    decoder = OpenAIDecoder()
    decoder.read_whole({"choices": [{"message": message, "finish_reason": finish}]})
    return decoder.end()


def piece(index, arguments="", **call):
    """A chunk with a piece of a call."""
    function = {"arguments": arguments} | ({"name": call.pop("name")} if "name" in call else {})
    return delta(tool_calls=[{"index": index, "function": function, **call}])


def calls_of(said):
    return [(call.id, call.name, call.arguments) for call in said.tool_calls]


def delta(finish=None, **parts):
    return {"choices": [{"delta": parts, "finish_reason": finish}]}


def test_calls_without_an_index_are_separated_by_their_ids():
    def piece(arguments, **call):
        return delta(tool_calls=[{**call, "function": {"name": call.get("id"), "arguments": arguments}}])

    said = answer(piece('{"a":', id="x"), piece(" 1}"), piece('{"b":', id="y"), piece(" 2}"), delta("tool_calls"))

    assert [(call.id, call.name, call.arguments) for call in said.tool_calls] == [
        ("x", "x", {"a": 1}),
        ("y", "y", {"b": 2}),
    ]


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content", "thinking"])
def test_reasoning_is_found_under_the_names_that_servers_use(key):
    assert answer(delta(**{key: "Hm."}), delta("stop", content="Yes.")).reasoning == "Hm."


@pytest.mark.parametrize("usage", [{}, {"extra_properties": {"google": {}}}])
def test_usage_without_counts_replaces_none(usage):
    counted = {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}
    assert answer(delta("stop") | counted, {"choices": [], "usage": usage}).tokens == Tokens(3, 4)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [(2**80, TOKENS_MAX), (1e300, TOKENS_MAX), (-1, 0), (7.0, 7), (float("nan"), 0), ("7", 0), (True, 0)],
)
def test_a_count_fits_its_column(sent, kept):
    assert answer(delta("stop") | {"usage": {"prompt_tokens": sent}}).tokens.prompt == kept


@pytest.mark.parametrize(
    "chunk",
    [7, [], {"choices": {}}, {"choices": [7]}, delta(content=7), delta(tool_calls={}), delta(tool_calls=["x"]),
     delta(refusal={}), delta(reasoning=[7]), delta(content=["x"]), delta(content={}), {"usage": 7}],
)  # fmt: skip
def test_a_value_of_a_wrong_type_is_a_failure(chunk):
    with pytest.raises(ProviderFailure, match="The answer has a"):
        answer(chunk, delta("stop"))


END = delta("tool_calls")
LONDON, UTC = '{"city": "London"}', '{"tz": "UTC"}'
TWO_CALLS = [("a", "weather", {"city": "London"}), ("b", "time", {"tz": "UTC"})]


def test_parallel_calls_with_one_index_stay_apart_by_their_ids():
    chunks = [piece(0, LONDON, id="a", name="weather"), piece(0, UTC, id="b", name="time")]
    assert calls_of(answer(*chunks, END)) == TWO_CALLS

    together = delta(tool_calls=[call for chunk in chunks for call in chunk["choices"][0]["delta"]["tool_calls"]])
    assert calls_of(answer(together, END)) == TWO_CALLS


def test_calls_with_one_index_arrive_in_pieces():
    said = answer(
        piece(0, LONDON[:5], id="a", name="weather"),
        piece(0, LONDON[5:]),
        piece(0, "", id="b", name="time"),
        piece(0, UTC, id="b"),
        END,
    )
    assert calls_of(said) == TWO_CALLS


def test_another_name_after_whole_arguments_begins_a_call():
    said = answer(piece(0, LONDON, name="weather"), piece(0, UTC, name="time"), END)
    assert calls_of(said) == [("call_1", "weather", {"city": "London"}), ("call_2", "time", {"tz": "UTC"})]


@pytest.mark.parametrize("repeated", [{"id": "a"}, {"id": ""}, {"id": None}, {}, {"name": "weather"}])
def test_what_repeats_the_begun_call_goes_on_with_it(repeated):
    said = answer(piece(0, LONDON[:5], id="a", name="weather"), piece(0, LONDON[5:], **repeated), END)
    assert calls_of(said) == TWO_CALLS[:1]


def test_pieces_of_two_calls_arrive_in_turns():
    said = answer(
        piece(0, LONDON[:5], id="a", name="weather"),
        piece(1, UTC[:5], id="b", name="time"),
        piece(0, LONDON[5:]),
        piece(1, UTC[5:]),
        END,
    )
    assert calls_of(said) == TWO_CALLS


@pytest.mark.parametrize("index", [0, None, "0"])
@pytest.mark.parametrize("ids", [("a", "b"), ("", ""), (None, None), ("a", "a")])
def test_whole_calls_at_one_index_are_all_kept(index, ids):
    pieces = [piece(index, arguments, id=sent, name="look") for arguments, sent in zip((LONDON, UTC), ids, strict=True)]
    answers = (
        answer(*pieces, END),
        whole({"tool_calls": [chunk["choices"][0]["delta"]["tool_calls"][0] for chunk in pieces]}),
    )
    for said in answers:
        assert [call.arguments for call in said.tool_calls] == [{"city": "London"}, {"tz": "UTC"}]
        assert len({call.id for call in said.tool_calls}) == 2


def test_calls_without_index_that_repeat_their_id_go_on_in_turns():
    said = answer(
        piece(None, LONDON[:5], id="a", name="weather"),
        piece(None, UTC[:5], id="b", name="time"),
        piece(None, LONDON[5:], id="a"),
        piece(None, UTC[5:], id="b"),
        END,
    )
    assert calls_of(said) == TWO_CALLS


def test_calls_without_arguments_at_one_index_stay_apart_by_their_names():
    said = answer(piece(0, name="weather"), piece(0, name="time"), END)
    assert [(call.name, call.arguments) for call in said.tool_calls] == [("weather", {}), ("time", {})]


def test_a_call_that_is_sent_once_more_at_its_end_is_one_call():
    said = answer(*(piece(0, text, id="a", name="weather") for text in (LONDON[:5], LONDON[5:], LONDON)), END)
    assert calls_of(said) == TWO_CALLS[:1]


@pytest.mark.parametrize("arguments", ['{"a": "}"}', r'{"a": "\\\""}', '{"a": [{"b": {}}], "c": 1}', r'{"a\\": "{"}'])
def test_brackets_in_texts_end_no_arguments(arguments):
    pieces = [piece(0, character, name="look") for character in arguments]
    (call,) = answer(*pieces, END).tool_calls
    assert call.arguments == json.loads(arguments)


def test_made_ids_differ_from_the_ids_that_were_sent():
    calls = [{"id": sent, "function": {"name": "look"}} for sent in ("", "call_1", "call_1", "call_3", "call_3")]
    assert [call.id for call in whole({"tool_calls": calls}).tool_calls] == [
        "call_1_2",
        "call_1",
        "call_3_2",
        "call_3",
        "call_5",
    ]


def test_the_former_field_of_a_single_call_is_read():
    call = {"name": "weather", "arguments": LONDON}
    halves = [
        delta(function_call={"name": "weather", "arguments": LONDON[:4]}),
        delta(function_call={"arguments": LONDON[4:]}),
    ]
    for said in (
        whole({"content": None, "function_call": call}, "function_call"),
        answer(*halves, delta("function_call")),
    ):
        assert calls_of(said) == [("call_1", "weather", {"city": "London"})]


@pytest.mark.parametrize("reason", ["error", "abort", "insufficient_system_resource"])
def test_an_end_that_is_an_error_is_an_outage(reason):
    with pytest.raises(ProviderFailure, match=reason) as broken:
        answer(delta(reason, content="half"))
    assert (broken.value.outage, broken.value.retryable) == (True, True)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("MAX_TOKENS", "length"),
        ("model_length", "length"),
        ("SAFETY", "refused"),
        ("eos_token", "stop"),
        (None, "stop"),
    ],
)
def test_reasons_of_other_formats_are_read(reason, finish):
    assert whole({"content": "x"}, reason).finish_reason == finish


def test_a_stream_that_the_vendor_ended_is_whole_without_a_reason():
    decoder = OpenAIDecoder()
    decoder.read_event(delta(content="Yes."))
    decoder.read_done()
    assert (decoder.end().text, decoder.end().finish_reason) == ("Yes.", "stop")


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135,
          "completion_tokens_details": {"reasoning_tokens": 94}}, Tokens(32, 103, reasoning=94)),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 150}, Tokens(10, 140, reasoning=135)),
        ({"prompt_tokens": 4, "completion_tokens": 5, "total_tokens": 15,
          "prompt_tokens_details": {"cached_tokens": 6}}, Tokens(10, 5, cache_read=6)),
        ({"prompt_tokens": 10, "completion_tokens": 9, "total_tokens": 19,
          "completion_tokens_details": {"reasoning_tokens": 4}}, Tokens(10, 9, reasoning=4)),
        ({"prompt_tokens": 10, "completion_tokens": 9, "total_tokens": 3}, Tokens(10, 9)),
        ({"completion_tokens": 9, "total_tokens": 19}, Tokens(0, 9)),
    ],
)  # fmt: skip
def test_tokens_that_only_the_total_has_are_billed(usage, tokens):
    assert answer(delta("stop") | {"usage": usage}).tokens == tokens


@pytest.mark.parametrize("place", ["choice", "x_groq"])
def test_usage_is_found_where_vendors_put_it(place):
    usage, last = {"usage": {"prompt_tokens": 3, "completion_tokens": 4}}, delta("stop")
    if place == "choice":
        last["choices"][0] |= usage
    else:
        last[place] = usage
    assert answer(last).tokens == Tokens(3, 4)


def test_details_of_thoughts_are_read():
    details = [{"type": "reasoning.text", "text": "Hm. "}, {"type": "reasoning.summary", "summary": "Yes."}]
    assert answer(delta("stop", content="x", reasoning_details=details)).reasoning == "Hm. Yes."


PARTS = [
    {"type": "thinking", "thinking": [{"type": "text", "text": "hmm"}]},
    {"type": "text", "text": "Paris"},
]


def test_content_in_parts_has_its_texts_and_its_thoughts():
    for said in (whole({"content": PARTS}), answer(delta(content=PARTS[:1]), delta("stop", content=PARTS[1:]))):
        assert (said.text, said.reasoning) == ("Paris", "hmm")


@pytest.mark.parametrize("arguments", [{"city": "Rome"}, {}])
def test_arguments_that_are_an_object_are_read(arguments):
    call = {"index": 0, "id": "a", "function": {"name": "weather", "arguments": arguments}}
    for said in (whole({"tool_calls": [call]}), answer(delta(tool_calls=[call]), END)):
        assert calls_of(said) == [("a", "weather", arguments)]


def test_an_answer_without_a_choice_is_empty():
    decoder = OpenAIDecoder()
    decoder.read_whole({"choices": []})
    assert (decoder.end().text, decoder.end().finish_reason) == ("", "stop")


def test_a_stream_that_ends_without_a_reason_broke_off():
    with pytest.raises(ProviderFailure, match="broke off") as broken:
        answer(delta(content="half"))
    assert broken.value.outage


def test_what_is_no_completion_is_a_failure_and_no_outage():
    with pytest.raises(ProviderFailure, match="no choices") as failed:
        OpenAIDecoder().read_whole({})
    assert not failed.value.outage


@pytest.mark.slow
def test_names_that_change_often_cost_no_more_for_long_arguments():
    def prepare(size):
        decoder = OpenAIDecoder()
        decoder.read_event(piece(0, "x" * size + " ", name="a"))
        return lambda: [decoder.read_event(piece(0, name="ab"[number % 2])) for number in range(50)]

    assert growth_of(prepare, 2_000_000) < 1.2


@pytest.mark.parametrize("part", ["content", "reasoning", "refusal"])
def test_an_answer_that_is_too_large_is_refused_while_it_comes(part):
    decoder, chunk = OpenAIDecoder(), delta(**{part: "x" * (ANSWER_MAX // 2)})
    for _ in range(2):
        decoder.read_event(chunk)
    with pytest.raises(ProviderFailure, match="most that can be stored"):
        decoder.read_event(chunk)


def test_arguments_of_countless_members_are_refused_while_they_come():
    decoder, half = OpenAIDecoder(), "[]," * (ELEMENTS_MAX // 4)
    decoder.read_event(piece(0, "[" + half, id="a", name="look"))
    decoder.read_event(piece(1, "[" + half[:-6], id="b", name="look"))
    with pytest.raises(ProviderFailure, match="lists, objects and members"):
        decoder.read_event(piece(0, "[], [], []]"))


@pytest.mark.slow
def test_reading_arguments_in_pieces_costs_what_they_are_long():
    def prepare(size):
        decoder = OpenAIDecoder()
        pieces = [piece(0, '{"a": [' * 20, id="a", name="look") for _ in range(size)]
        return lambda: [decoder.read_event(chunk) for chunk in pieces]

    assert growth_of(prepare, 200) < 2.5


def test_a_former_field_of_a_call_that_is_empty_is_no_call():
    said = whole({"content": "4", "function_call": {"name": "", "arguments": ""}, "tool_calls": None}, "")
    assert (said.text, said.tool_calls, said.finish_reason) == ("4", (), "stop")


THINKING = "<think>\nThey ask for `</think>`.\n</think>\n\nRome <think>is</think> it."


def thinking(*chunks):
    """The answer of a stream, and the texts of its events by their kind."""
    decoder, texts = ThinkingDecoder(), {"token": "", "reasoning": ""}
    for chunk in chunks:
        for event in decoder.read_event(chunk):
            texts[event.kind] += event.text
    for event in decoder.rest():
        texts[event.kind] += event.text
    return decoder.end(), texts


@pytest.mark.parametrize("size", [1, 2, 5, 100])
@pytest.mark.parametrize("in_parts", [False, True])
def test_thoughts_in_the_text_are_separate_also_across_chunks(size, in_parts):
    pieces = [THINKING[at : at + size] for at in range(0, len(THINKING), size)]
    contents = [[{"type": "text", "text": piece}] for piece in pieces] if in_parts else pieces
    chunks = [delta(role="assistant", content=""), *(delta(content=content) for content in contents), delta("stop")]
    streamed, texts = thinking(*chunks)

    assert (streamed.reasoning, streamed.text) == ("\nThey ask for `</think>`.\n", "Rome <think>is</think> it.")
    assert texts == {"token": streamed.text, "reasoning": streamed.reasoning}
    decoder = ThinkingDecoder()
    decoder.read_whole({"choices": [{"message": {"content": THINKING}, "finish_reason": "stop"}]})
    assert decoder.end() == streamed


@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
def test_a_tag_is_text_of_a_server_that_sends_thoughts_separately(key):
    apart = {key: "Hm."}
    streamed, _ = thinking(delta(**apart), delta(content=THINKING[:9]), delta(content=THINKING[9:]), delta("stop"))
    decoder = ThinkingDecoder()
    decoder.read_whole({"choices": [{"message": {"content": THINKING, **apart}, "finish_reason": "stop"}]})

    assert (streamed.reasoning, streamed.text) == ("Hm.", THINKING)
    assert decoder.end() == streamed


@pytest.mark.parametrize(("content", "reasoning", "text"), [("<think>Hm", "Hm", ""), ("<thi", None, "<thi")])
def test_an_answer_that_is_cut_off_in_its_thoughts_has_no_text(content, reasoning, text):
    cut, texts = thinking(*(delta(content=character) for character in content), delta("length"))

    assert (cut.reasoning, cut.text, cut.finish_reason) == (reasoning, text, "length")
    assert texts == {"token": text, "reasoning": reasoning or ""}


def test_calls_after_thoughts_have_no_text_with_them():
    asked, _ = thinking(
        delta(content=THINKING.partition("Rome")[0]), piece(0, "{}", id="a", name="look"), delta("stop")
    )

    assert (asked.text, calls_of(asked), asked.finish_reason) == ("", [("a", "look", {})], "tool_calls")


def test_thoughts_and_text_are_refused_together_once_they_are_too_large():
    decoder = ThinkingDecoder()
    decoder.read_event(delta(content="<think>" + "x" * (ANSWER_MAX // 2)))
    with pytest.raises(ProviderFailure, match="most that can be stored"):
        decoder.read_event(delta(content="</think>" + "x" * (ANSWER_MAX // 2 + 1)))
