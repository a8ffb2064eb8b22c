"""The answers of each vendor are understood, whole or streamed, over real HTTP."""

import json

import pytest

from app.chat import Message, Tokens
from tests.fakes import hostile
from tests.fakes.models import WEATHER, request
from tests.fakes.upstream import Reply


def test_text_comes_back_with_its_tokens(upstream, ask, vendor):
    answer = ask(request(upstream, vendor))

    assert (answer.text, answer.finish_reason, answer.tool_calls) == ("echo: Say hello.", "stop", ())
    assert (answer.tokens.completion, answer.reasoning, answer.refusal) == (3, None, None)
    assert answer.tokens.prompt > 0


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


def test_reasoning_text_is_kept_apart_from_the_answer(upstream, ask, vendor):
    upstream.script(Reply(text="42", reasoning="Six times seven."))

    answer = ask(request(upstream, vendor))

    shown = None if vendor == "OPENAI" else "Six times seven."
    assert (answer.text, answer.reasoning) == ("42", shown)


def test_cached_and_reasoning_tokens_are_parts_of_prompt_and_completion(upstream, ask, vendor):
    upstream.script(Reply(text="one two", cached=2, reasoning_tokens=5))

    tokens = ask(request(upstream, vendor, Message("user", "five words are in here"))).tokens

    # Anthropic counts its thinking as output and does not report the share.
    reasoning = 0 if vendor == "ANTHROPIC" else 5
    assert tokens == Tokens(prompt=5, completion=7, cache_read=2, reasoning=reasoning)


def test_cache_writes_are_part_of_the_prompt(upstream, ask, vendor):
    upstream.script(Reply(text="one", cached=1, cache_write=3))

    tokens = ask(request(upstream, vendor, Message("user", "five words are in here"))).tokens

    # Google and DeepSeek cache for nothing, and report no writes.
    written = 0 if vendor in {"GOOGLE", "DEEPSEEK"} else 3
    assert tokens == Tokens(prompt=5, completion=1, cache_read=1, cache_write=written)


def test_a_refusal_is_an_answer_that_is_marked_as_one(upstream, ask, vendor):
    upstream.script(Reply(refusal="I can't help with that."))

    answer = ask(request(upstream, vendor))

    assert answer.finish_reason == "refused"
    own_words = vendor in {"OPENAI", "ANTHROPIC", "CUSTOM_OPENAI_COMPATIBLE"}
    assert answer.refusal == "I can't help with that." if own_words else answer.refusal


def test_an_answer_cut_at_max_tokens_is_marked(upstream, ask, vendor):
    upstream.script(Reply(text="half an", truncated=True))

    answer = ask(request(upstream, vendor))

    assert (answer.text, answer.finish_reason) == ("half an", "length")


@pytest.mark.parametrize("vendor", ["OPENAI", "DEEPSEEK", "CUSTOM_OPENAI_COMPATIBLE"])
def test_arguments_that_are_not_json_are_kept_as_text(upstream, ask, vendor):
    upstream.script(Reply(tool_calls=[("weather", '{"city": ')]))

    (call,) = ask(request(upstream, vendor, tools=(WEATHER,))).tool_calls

    assert call.arguments == '{"city": '


WHOLE = {"choices": [{"message": {"content": "Hello there.", "reasoning": "Hm."}, "finish_reason": "stop"}]}
CHUNK = {"choices": [{"delta": {"content": "Hello there.", "reasoning": "Hm."}, "finish_reason": "stop"}]}


@pytest.mark.parametrize("vendor", ["CUSTOM_OPENAI_COMPATIBLE"])
@pytest.mark.parametrize("kind", ["application/json; charset=utf-8", "text/event-stream"])
def test_an_answer_is_read_in_the_form_in_which_it_is_sent(upstream, ask, vendor, kind):
    raw = json.dumps(WHOLE) if "json" in kind else f"data: {json.dumps(CHUNK)}\n\ndata: [DONE]\n\n"
    upstream.script(Reply(raw=raw.encode(), headers={"content-type": kind}))

    answer = ask(request(upstream, vendor))

    assert (answer.text, answer.reasoning, answer.finish_reason) == ("Hello there.", "Hm.", "stop")


EMPTY = {
    "OPENAI": {"choices": []},
    "ANTHROPIC": {"content": [], "stop_reason": "end_turn"},
    "GOOGLE": {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]},
}
EMPTY_STREAMS = {
    "OPENAI": b"data: [DONE]\n\n",
    "ANTHROPIC": b'event: message_stop\ndata: {"type": "message_stop"}\n\n',
    "GOOGLE": b"data: " + json.dumps(EMPTY["GOOGLE"]).encode() + b"\n\n",
}


@pytest.mark.parametrize("vendor", ["OPENAI", "ANTHROPIC", "GOOGLE"])
def test_an_empty_answer_is_asked_for_once_and_opens_no_breaker(upstream, providers, vendor):
    heard = []
    for _ in range(15):
        upstream.script(Reply(raw=json.dumps(EMPTY[vendor]).encode()), Reply(raw=EMPTY_STREAMS[vendor]))
        whole, streamed = (
            providers.complete(request(upstream, vendor)),
            providers.stream(request(upstream, vendor), heard.append),
        )
        assert (whole.text, whole.finish_reason) == (streamed.text, streamed.finish_reason) == ("", "stop")

    assert (len(upstream.requests), heard) == (30, [])


@pytest.mark.parametrize("vendor", ["OPENAI", "CUSTOM_OPENAI_COMPATIBLE"])
def test_a_prompt_that_azures_filter_stops_is_a_refusal(upstream, ask, vendor):
    upstream.script(Reply(status=400, code="content_filter", message="The prompt was filtered"))

    answer = ask(request(upstream, vendor))

    assert (answer.finish_reason, answer.text) == ("refused", "")
    assert "The prompt was filtered" in answer.refusal
    assert len(upstream.requests) == 1


@pytest.mark.parametrize("digits", ["18446744073709551616", "-98765432109876543210", "9" * 5000])
def test_arguments_keep_all_digits_of_their_integers(upstream, providers, vendor, digits):
    upstream.script(Reply(raw=hostile.with_arguments(vendor, f'{{"n": {digits}}}', stream=False)))

    (call,) = providers.complete(request(upstream, vendor, tools=(WEATHER,))).tool_calls

    assert digits in json.dumps(call.arguments)
