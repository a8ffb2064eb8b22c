"""`instrument` joins or sets a provider, once, and stops no application where something is wrong."""

from __future__ import annotations

import subprocess
import sys

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from tests.clients.python.instrumentation.conftest import Instrument
from tests.fakes.collector import Collector


def record(name: str) -> None:
    trace.get_tracer("app").start_span(name).end()


def test_without_a_key_the_application_runs_and_gets_a_warning(
    start: Instrument, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    instrumentation = start(api_key=None)
    record("one")

    assert instrumentation.flush(60)
    assert "REPRISE_API_KEY" in caplog.text


def test_a_key_that_no_request_can_have_stops_no_application(
    start: Instrument, collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    instrumentation = start(api_key="a key \ud83d")
    record("one")

    assert instrumentation.flush(60)
    assert collector.requests == []
    assert "No spans are sent to Reprise: UnicodeEncodeError" in caplog.text


@pytest.mark.parametrize("url", ["reprise.example", "http://", "http://[::1", "http://127.0.0.1:99999"])
def test_an_address_that_is_none_stops_no_application(
    start: Instrument, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    instrumentation = start(base_url=url)
    record("one")

    assert not instrumentation.flush()
    assert caplog.text


def test_the_environment_names_where_to(
    start: Instrument, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPRISE_URL", collector.url + "/")
    monkeypatch.setenv("REPRISE_API_KEY", "rp_env")
    instrumentation = start(base_url=None, api_key=None, spool_dir=None)
    record("one")

    assert instrumentation.flush(60)
    assert collector.requests[0][1]["Authorization"] == "Bearer rp_env"


def test_it_names_the_packages_it_needs() -> None:
    program = "import sys; sys.modules['opentelemetry'] = None; from reprise_client import instrument"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert 'pip install "$(echo build/clients/reprise_client-*.whl)[instrument]"' in done.stderr


def test_it_joins_the_provider_that_is_there(start: Instrument, collector: Collector) -> None:
    provider = TracerProvider()
    trace.set_tracer_provider(provider)
    instrumentation = start()
    record("one")

    assert trace.get_tracer_provider() is provider
    assert instrumentation.flush(60)
    assert collector.names == ["one"]


def test_a_second_call_sends_nothing_twice(
    start: Instrument, collector: Collector, caplog: pytest.LogCaptureFixture
) -> None:
    first = start()
    assert start() is first
    assert start(prompt=18) is first
    record("one")
    first.flush(60)

    assert collector.names == ["one"]
    assert "prompt_id=18" in caplog.text


def test_an_agent_needs_only_a_name(start: Instrument, collector: Collector) -> None:
    instrumentation = start(prompt=None, agent="shop/support")
    record("one")

    assert instrumentation.flush(60)
    assert instrumentation.url == f"{collector.url}/api/public/agents/shop%2Fsupport/otel/v1/traces"
    assert collector.names == ["one"]


@pytest.mark.parametrize("named", [{"prompt": None}, {"prompt": 17, "agent": "shop"}])
def test_a_prompt_or_an_agent_is_named(
    start: Instrument, named: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    assert start(**named).url is None
    assert "name either a prompt or an agent" in caplog.text


def test_the_environment_names_the_agent(
    start: Instrument, collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPRISE_AGENT", "shop")

    assert start(prompt=None).url == f"{collector.url}/api/public/agents/shop/otel/v1/traces"


def test_a_prompt_goes_before_the_agent_of_the_environment(start: Instrument, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPRISE_AGENT", "shop")

    assert "/prompts/17/" in str(start(prompt=17).url)
