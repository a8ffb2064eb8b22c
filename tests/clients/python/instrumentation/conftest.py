"""A new tracer provider for every test, which sends its spans to a fake of Reprise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.util._once import Once
from reprise_client.instrumentation import Instrumentation, delivery, instrument

from tests.fakes.collector import Collector

KEY = "rp_test"
Instrument = Callable[..., Instrumentation]


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """OpenTelemetry keeps the provider of a process, which tests share: forget it."""
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", None)
    monkeypatch.setattr(trace, "_TRACER_PROVIDER_SET_ONCE", Once())
    monkeypatch.setattr(delivery, "FIRST_RETRY_S", 0.01)
    monkeypatch.setattr(delivery, "LAST_RETRY_S", 0.05)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("REPRISE_URL", "REPRISE_API_KEY", "REPRISE_AGENT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def start(collector: Collector, tmp_path: Path) -> Iterator[Instrument]:
    """`instrument` with the fake's address; ended after the test."""
    started: list[Instrumentation] = []

    def start(**options: object) -> Instrumentation:
        known = {"prompt": 17, "base_url": collector.url, "api_key": KEY, "spool_dir": tmp_path / "spool"}
        started.append(instrument(**{**known, **options}))
        return started[-1]

    yield start
    for instrumentation in started:
        instrumentation.shutdown()
    provider = trace.get_tracer_provider()
    if isinstance(provider, TracerProvider):
        provider.shutdown()


def batches_in(folder: Path) -> list[Path]:
    """The batches that wait in a folder of spools."""
    return sorted(folder.rglob("*.json.gz"))
