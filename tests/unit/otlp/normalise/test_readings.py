"""How often a span is read: ingest reads each span of a batch while its sender waits."""

from __future__ import annotations

from typing import Any

import pytest

from app.otlp.normalise import CONVENTIONS
from app.otlp.normalise.convention import Convention
from app.otlp.normalise.genai import GenAI
from tests.support.normalized_spans import normal

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt", "gen_ai.usage.input_tokens": 3}
ANSWERED = CHAT | {"gen_ai.output.messages": [{"role": "assistant", "content": "Hello"}]}
FACTS = [name for name, value in vars(Convention).items() if not name.startswith("_") and callable(value)]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The name of the convention and the fact of each reading."""
    readings: list[tuple[str, str]] = []

    def counting(kind: type[Convention], fact: str) -> Any:
        method = getattr(kind, fact)

        def read(convention: Convention, span: Any) -> Any:
            readings.append((convention.name, fact))
            return method(convention, span)

        return read

    for kind in {type(convention) for convention in CONVENTIONS} | {Convention}:
        for fact in FACTS:
            if fact in vars(kind):
                monkeypatch.setattr(kind, fact, counting(kind, fact))
    return readings


def test_a_convention_without_names_for_a_fact_is_not_asked_for_it(asked: list[tuple[str, str]]) -> None:
    span = normal(CHAT)

    assert (span.model, span.provider) == ("gpt", None)
    assert {name for name, fact in asked if fact == "model"} == {"gen_ai"}
    assert {name for name, fact in asked if fact == "provider"} == {"gen_ai"}


def test_facts_of_a_call_are_read_once(asked: list[tuple[str, str]]) -> None:
    span = normal(CHAT)

    for _ in range(3):
        assert (span.model, span.served_model, span.convention, span.tokens.prompt) == ("gpt", "gpt", "gen_ai", 3)

    assert len(asked) == len(set(asked))


def test_the_output_of_a_call_without_tools_is_read_once_in_each_convention(asked: list[tuple[str, str]]) -> None:
    messages = normal(ANSWERED).output_messages

    assert messages
    assert messages[0].text == "Hello"
    outputs = [name for name, fact in asked if fact == "output_messages"]
    assert sorted(outputs) == ["gen_ai", "gen_ai.events"]


def test_the_input_is_kept_only_where_it_is_asked_for_as_an_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    given = [{"role": "user", "content": "Hi"}]
    span = normal(CHAT | {"gen_ai.input.messages": given})

    assert span.read_input() == span.input_messages == span.read_input()

    monkeypatch.setattr(GenAI, "input_messages", lambda *_: None)
    assert span.input_messages
    assert span.read_input() is None
