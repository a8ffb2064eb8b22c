"""`instrument(auto=True)` starts the installed instrumentations of model clients and agent libraries."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest
from reprise_client.instrumentation import automatic

from tests.clients.python.instrumentation.conftest import Instrument

started: list[str] = []


class Openai:
    def instrument(self) -> None:
        started.append(type(self).__name__)


class OtherOpenai(Openai):
    pass


class Flask(Openai):
    pass


class Anthropic:
    def instrument(self) -> None:
        raise RuntimeError("of another release")


def absent() -> object:
    raise ModuleNotFoundError("No module named 'anthropic'")


GROUPS = {
    "openinference_instrumentor": {"openai": "Openai"},
    "opentelemetry_instrumentor": {
        "openai": "OtherOpenai",
        "flask": "Flask",
        "anthropic": "Anthropic",
        "genai-openai": "Missing",
        "genai-anthropic": "absent",
    },
}


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    started.clear()
    monkeypatch.delenv(automatic._CAPTURE, raising=False)

    def entries(group: str) -> list[EntryPoint]:
        return [EntryPoint(name, f"{__name__}:{kind}", group) for name, kind in GROUPS[group].items()]

    monkeypatch.setattr(automatic, "entry_points", entries)


def test_one_instrumentation_of_each_library_starts_and_what_fails_is_a_warning(
    start: Instrument, caplog: pytest.LogCaptureFixture
) -> None:
    start(auto=True)

    assert started == ["Openai"]
    assert "anthropic does not start: RuntimeError: of another release" in caplog.text
    assert "genai-openai does not start: AttributeError" in caplog.text


def test_nothing_is_logged_of_an_instrumentation_without_its_library(
    start: Instrument, caplog: pytest.LogCaptureFixture
) -> None:
    start(auto=True)

    assert "genai-anthropic" not in caplog.text


@pytest.mark.parametrize(("capture", "value"), [(True, "SPAN_ONLY"), (False, None)])
def test_messages_are_recorded_unless_they_are_switched_off(capture: bool, value: str | None) -> None:
    automatic.start_installed(capture_content=capture)

    assert automatic.os.environ.get(automatic._CAPTURE) == value
    automatic.os.environ.pop(automatic._CAPTURE, None)


@pytest.mark.parametrize(("content", "client"), [("content", "a client"), ("content", None), (None, "a client")])
def test_no_instrumentation_is_missed_where_the_client_of_anthropic_records_its_calls(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, content: str | None, client: str | None
) -> None:
    monkeypatch.setattr(automatic, "entry_points", lambda group: [])
    monkeypatch.setattr(automatic, "find_spec", lambda name: client)
    monkeypatch.delenv(automatic._ANTHROPIC, raising=False)
    if content:
        monkeypatch.setenv(automatic._ANTHROPIC, content)

    automatic.start_installed(capture_content=False)

    assert ("No instrumentation is installed" in caplog.text) == (content is None or client is None)


def test_without_it_nothing_is_started(start: Instrument) -> None:
    start()

    assert started == []
