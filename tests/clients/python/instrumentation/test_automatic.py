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


GROUPS = {
    "openinference_instrumentor": {"openai": "Openai"},
    "opentelemetry_instrumentor": {
        "openai": "OtherOpenai",
        "flask": "Flask",
        "anthropic": "Anthropic",
        "genai-openai": "Missing",
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


@pytest.mark.parametrize(("capture", "value"), [(True, "SPAN_ONLY"), (False, None)])
def test_messages_are_recorded_unless_they_are_switched_off(capture: bool, value: str | None) -> None:
    automatic.start_installed(capture_content=capture)

    assert automatic.os.environ.get(automatic._CAPTURE) == value
    automatic.os.environ.pop(automatic._CAPTURE, None)


def test_without_it_nothing_is_started(start: Instrument) -> None:
    start()

    assert started == []
