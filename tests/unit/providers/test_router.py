"""Providers: who is called, what is checked before, and what a caller may swap."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from app.chat import Answer, File, Message, StreamEvent
from app.errors import Invalid, ProviderError
from app.providers import catalogue
from app.providers.failures import ProviderFailure
from app.providers.router import Providers, Retry
from app.providers.types import Credential, ModelConfig, ModelRef, ModelRequest

PNG = File("dot.png", "image/png", b"x")


class Models:
    """A port that answers, or raises what it is given, and remembers the requests."""

    def __init__(self, *failures):
        self.failures, self.requests = list(failures), []

    def complete(self, request):
        self.requests.append(request)
        if self.failures:
            raise self.failures.pop(0)
        return Answer("answer")

    def stream(self, request, on_event):
        on_event(StreamEvent("token", "ans"))
        return self.complete(request)


def request(vendor="OPENAI", name="gpt-4o-mini", files=()):
    said = (Message("user", "Hi", files=files),)
    return ModelRequest(ModelRef(vendor, name), ModelConfig(), said, Credential("sk"), 60)


def providers(models, **parts):
    return Providers(remote=models, retry=Retry(sleep=lambda seconds: None), **parts)


def test_a_builtin_model_is_served_here():
    models = Models()

    assert providers(models).complete(request("BUILTIN", "echo")).text == "Hi"
    assert models.requests == []


def test_a_vendors_model_is_served_there_within_the_time_that_is_left():
    models = Models(ProviderFailure("down", retryable=True))

    assert providers(models).complete(request()).text == "answer"
    first, second = models.requests
    assert 60 >= first.timeout_s > second.timeout_s > 0


def test_a_stream_that_has_sent_words_is_not_begun_again():
    models = Models(ProviderFailure("down", retryable=True))
    heard = []

    with pytest.raises(ProviderError, match="down"):
        providers(models).stream(request(), heard.append)
    assert (len(heard), len(models.requests)) == (1, 1)


def test_a_slot_that_is_refused_stops_the_call():
    models = Models()

    def full(request):
        raise ProviderError(f"{request.model.name} is busy")

    with pytest.raises(ProviderError, match="gpt-4o-mini is busy"):
        providers(models, slot=full).complete(request())
    assert models.requests == []


@pytest.mark.parametrize("way", ["complete", "stream"])
def test_a_file_beyond_a_known_models_abilities_is_refused(way):
    careful = providers(Models(), catalogue=catalogue.load())
    call = careful.complete if way == "complete" else lambda asked: careful.stream(asked, print)

    with pytest.raises(Invalid, match="deepseek-v4-pro can't read image/png"):
        call(request("DEEPSEEK", "deepseek-v4-pro", (PNG,)))


def test_a_model_no_catalogue_knows_is_trusted_with_files():
    careful = providers(Models(), catalogue=catalogue.load())

    assert careful.complete(request("CUSTOM_OPENAI_COMPATIBLE", "llava", (PNG,))).text == "answer"


def test_a_credentials_key_is_in_no_repr():
    assert "sk-secret" not in repr(Credential("sk-secret"))


def test_waiting_for_a_slot_is_part_of_the_calls_time():
    clock = [0.0]
    models = Models()

    @contextmanager
    def slow(request):
        clock[0] += request.timeout_s / 2
        yield

    retry = Retry(monotonic=lambda: clock[0], sleep=lambda _s: None)
    Providers(remote=models, retry=retry, slot=slow).complete(request())
    assert models.requests[0].timeout_s == request().timeout_s / 2


def limited(is_models_limit):
    config = ModelConfig(max_tokens=900, is_models_limit=is_models_limit)
    return replace(request(), config=config)


@pytest.mark.parametrize("way", ["complete", "stream"])
def test_a_limit_that_only_repeats_the_models_is_left_out_after_its_refusal(way):
    class Refusing(Models):
        def stream(self, request, on_event):
            return self.complete(request)

    models = Refusing(ProviderFailure("max_tokens is too large", unaccepted=True))
    port = providers(models)
    answer = port.complete(limited(True)) if way == "complete" else port.stream(limited(True), print)

    assert answer.text == "answer"
    assert [asked.config.max_tokens for asked in models.requests] == [900, None]


@pytest.mark.parametrize(
    ("asked", "failure"),
    [
        (limited(False), ProviderFailure("max_tokens is too large", unaccepted=True)),
        (limited(True), ProviderFailure("No such model", unaccepted=True)),
        (limited(True), ProviderFailure("max_tokens is too large")),
    ],
)
def test_another_refusal_is_final(asked, failure):
    models = Models(failure)
    with pytest.raises(ProviderError):
        providers(models).complete(asked)
    assert len(models.requests) == 1
