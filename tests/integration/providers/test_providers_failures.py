"""Failures at the vendors are tried again where that helps, and reported in their words, never with the key."""

import socket
import traceback

import pytest

from app.chat import Message
from app.errors import Invalid, ProviderError, ProviderTimeout
from app.providers.types import Credential, ModelConfig, ModelRef, ModelRequest
from tests.fakes.models import KEY, MODELS, request
from tests.fakes.upstream import Reply


def test_a_refused_key_is_reported_at_once_and_never_shown(upstream, ask, vendor):
    upstream.script(Reply(status=401, message="No such key", echo_key=True))

    with pytest.raises(ProviderError, match=f"{vendor} refused the key: No such key") as raised:
        ask(request(upstream, vendor))

    assert len(upstream.requests) == 1
    assert KEY not in "".join(traceback.format_exception(raised.value))
    assert raised.value.__context__ is None


def test_too_many_requests_are_retried_when_the_vendor_asks(upstream, ask, vendor, pauses):
    upstream.script(Reply(status=429, headers={"Retry-After": "2.5"}), Reply(text="now"))

    assert ask(request(upstream, vendor)).text == "now"
    assert pauses == [2.5]


def test_a_retry_after_beyond_the_deadline_is_not_waited_for(upstream, ask, vendor, pauses):
    upstream.script(Reply(status=429, message="Slow down", headers={"Retry-After": "600"}))

    with pytest.raises(ProviderError, match="429: Slow down"):
        ask(request(upstream, vendor))

    assert (len(upstream.requests), pauses) == (1, [])


@pytest.mark.parametrize("vendor", ["OPENAI"])
def test_an_account_without_money_is_not_asked_again(upstream, ask, vendor):
    upstream.script(Reply(status=429, message="You exceeded your quota", code="insufficient_quota"))

    with pytest.raises(ProviderError, match="You exceeded your quota"):
        ask(request(upstream, vendor))

    assert len(upstream.requests) == 1


@pytest.mark.parametrize("status", [500, 503, 529])
def test_a_failing_vendor_is_asked_again_with_growing_pauses(upstream, ask, vendor, pauses, status):
    upstream.script(*[Reply(status=status)] * 3, Reply(text="back"))

    assert ask(request(upstream, vendor)).text == "back"
    assert pauses == [0.5, 1.0, 2.0]


def test_a_vendor_that_keeps_failing_is_given_up_in_its_own_words(upstream, ask, vendor):
    upstream.script(*[Reply(status=500, message=f"Overheated {KEY}")] * 4)

    with pytest.raises(ProviderError, match=rf"{vendor} answered 500: Overheated \*\*\*"):
        ask(request(upstream, vendor))

    assert len(upstream.requests) == 4


def test_a_bad_request_is_not_sent_again(upstream, ask, vendor):
    upstream.script(Reply(status=400, message="top_p is out of range"))

    with pytest.raises(ProviderError, match=f"{vendor} answered 400: top_p is out of range"):
        ask(request(upstream, vendor))

    assert len(upstream.requests) == 1


def test_an_unanswered_call_times_out(upstream, ask, vendor):
    upstream.script(Reply(hang=True))

    with pytest.raises(ProviderTimeout, match=vendor):
        ask(request(upstream, vendor, timeout_s=0.2))


def test_a_refused_connection_is_tried_again_then_reported(upstream, ask, vendor, pauses):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        model = request(upstream, vendor)
        dead = Credential(KEY, f"http://127.0.0.1:{free.getsockname()[1]}")
        with pytest.raises(ProviderError, match=f"{vendor} could not be reached"):
            ask(ModelRequest(model.model, model.config, model.messages, dead, 10))

    assert len(pauses) == 3


def test_an_answer_that_breaks_off_is_asked_for_again(upstream, providers, vendor):
    upstream.script(Reply(text="a long answer", cut=True), Reply(text="whole"))

    assert providers.complete(request(upstream, vendor)).text == "whole"


def test_a_stream_that_breaks_off_after_its_first_words_is_a_failure(upstream, providers, vendor):
    upstream.script(Reply(text="one two three four five six", cut=True, cut_after=5))
    heard = []

    with pytest.raises(ProviderError, match=f"{vendor} could not be reached or did not answer properly"):
        providers.stream(request(upstream, vendor), heard.append)

    assert "".join(event.text for event in heard).startswith("one ")
    assert len(upstream.requests) == 1


def test_a_stream_that_breaks_off_before_its_first_word_is_asked_for_again(upstream, providers, vendor):
    upstream.script(Reply(text="unheard", cut=True, cut_after=0), Reply(text="heard"))
    heard = []

    assert providers.stream(request(upstream, vendor), heard.append).text == "heard"
    assert "".join(event.text for event in heard) == "heard"


def test_a_listener_that_fails_ends_the_stream_with_its_own_error(upstream, providers, vendor):
    upstream.script(Reply(text="one two three", per_event_s=0.01))

    def leave(event):
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        providers.stream(request(upstream, vendor), leave)


def test_a_dead_model_fails_fast_after_ten_calls_with_their_retries(upstream, providers, vendor):
    upstream.script(*[Reply(status=503)] * 50)
    for _ in range(10):
        with pytest.raises(ProviderError, match="503"):
            providers.complete(request(upstream, vendor))
    asked = len(upstream.requests)

    with pytest.raises(ProviderError, match=f"Most of the latest calls of {MODELS[vendor]} of {vendor} failed"):
        providers.complete(request(upstream, vendor))

    assert len(upstream.requests) == asked == 40


@pytest.mark.parametrize("vendor", ["OPENAI", "ANTHROPIC", "GOOGLE", "DEEPSEEK"])
def test_without_a_credential_nothing_is_sent(ask, vendor, monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "DEEPSEEK_API_KEY"):
        monkeypatch.setenv(name, "sk-of-somebody-else")
    asked = ModelRequest(ModelRef(vendor, "any"), ModelConfig(), (Message("user", "x"),), None, 5)

    with pytest.raises(ProviderError, match=f"There is no credential for {vendor}"):
        ask(asked)


def test_a_custom_endpoint_needs_a_base_url_but_no_key(upstream, ask):
    def asked(base_url):
        model = ModelRef("CUSTOM_OPENAI_COMPATIBLE", "llama3", base_url)
        return ModelRequest(model, ModelConfig(), (Message("user", "Hi"),), None, 5)

    assert ask(asked(upstream.base_url("CUSTOM_OPENAI_COMPATIBLE"))).text == "echo: Hi"
    assert "authorization" not in upstream.requests[-1].headers
    with pytest.raises(ProviderError, match="There is no base URL"):
        ask(asked(None))


@pytest.mark.parametrize("vendor", ["GOOGLE"])
def test_what_can_not_be_sent_to_a_model_is_the_callers_mistake(upstream, ask, vendor):
    with pytest.raises(Invalid, match="reasoning_effort"):
        ask(request(upstream, vendor, model="gemini-2.5-pro", reasoning_effort="none"))
