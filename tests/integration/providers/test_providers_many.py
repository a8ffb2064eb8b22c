"""Hundreds of calls at once share few threads and pooled connections; the environment changes nothing."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from threading import Event, active_count

import pytest

from app.chat import Message
from app.providers.router import Providers
from app.providers.vendor_models import VendorModels
from tests.fakes.models import KEY, request
from tests.fakes.upstream import Reply
from tests.support.operations import calls_of
from tests.support.waiting import wait_until

CALLS = 200


def test_hundreds_wait_for_the_vendor_at_the_same_time(upstream, providers):
    providers.complete(request(upstream, "OPENAI"))
    answers = Event()
    upstream.script(*[Reply(held=answers)] * CALLS)

    def ask(number):
        return providers.complete(request(upstream, "OPENAI", Message("user", f"Call {number}"), timeout_s=120)).text

    with ThreadPoolExecutor(CALLS) as pool:
        texts = pool.map(ask, range(CALLS))
        try:
            wait_until(lambda: upstream.open_now == CALLS, "all calls")
        finally:
            answers.set()
        assert list(texts) == [f"echo: Call {number}" for number in range(CALLS)]


def test_calls_one_after_the_other_share_one_connection(upstream, vendor):
    with closing(VendorModels()) as models:
        before = upstream.connections
        models.complete(request(upstream, vendor))
        threads = active_count()
        models.complete(request(upstream, vendor))

    assert upstream.connections - before == 1
    assert active_count() <= threads


def test_a_closed_port_opens_again_with_the_next_call(upstream):
    with closing(VendorModels()) as models:
        models.complete(request(upstream, "OPENAI"))
        models.close()

        assert models.complete(request(upstream, "OPENAI")).text == "echo: Say hello."


def test_the_slot_of_a_model_is_held_for_the_length_of_its_call(upstream, models):
    log = []

    @contextmanager
    def slot(request):
        model = request.model
        log.append(f"in {model.name}")
        try:
            yield
        finally:
            log.append(f"out {model.name}")

    upstream.script(Reply(status=401))
    providers = Providers(remote=models, slot=slot)
    with pytest.raises(Exception, match="refused the key"):
        providers.complete(request(upstream, "OPENAI"))
    providers.complete(request(upstream, "GOOGLE"))

    assert log == ["in gpt-4o-mini", "out gpt-4o-mini", "in gemini-2.5-flash", "out gemini-2.5-flash"]


def test_keys_urls_and_proxies_of_the_environment_are_not_used(upstream, ask, vendor, monkeypatch):
    elsewhere = "http://127.0.0.1:9"
    for name in ("OPENAI", "ANTHROPIC", "GEMINI", "GOOGLE", "DEEPSEEK"):
        monkeypatch.setenv(f"{name}_API_KEY", "sk-of-somebody-else")
    for name in (
        "OPENAI_BASE_URL",
        "ANTHROPIC_BASE_URL",
        "GOOGLE_GEMINI_BASE_URL",
        "DEEPSEEK_API_BASE",
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
    ):
        monkeypatch.setenv(name, elsewhere)
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-somebody-else")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "authorization: Bearer sk-of-somebody-else")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-api-key: sk-of-somebody-else")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "sk-of-somebody-else")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")

    with closing(VendorModels()) as fresh:
        assert fresh.complete(request(upstream, vendor)).text == "echo: Say hello."

    headers = upstream.requests[-1].headers
    assert KEY in "".join(headers.values())
    assert "somebody-else" not in "".join(headers.values())


def calls_to_ask(upstream, *, times=1, messages=1):
    """Return how many functions are called to ask a model of OpenAI's `times` about so many `messages`."""
    asked = request(upstream, "OPENAI", *(Message("user", f"Part {number}") for number in range(messages)))

    def ask():
        with closing(VendorModels()) as models:
            for _ in range(times):
                models.complete(asked)

    return calls_of(ask)


def test_a_message_of_a_conversation_costs_few_calls_of_functions(upstream):
    of_one, of_many = calls_to_ask(upstream), calls_to_ask(upstream, messages=201)
    assert len(upstream.requests[-1].body["messages"]) == 201
    assert of_many - of_one < 200 * 20


def test_a_call_costs_few_calls_of_functions(upstream):
    of_one, of_many = calls_to_ask(upstream), calls_to_ask(upstream, times=51)
    assert of_many - of_one < 50 * 1_000
