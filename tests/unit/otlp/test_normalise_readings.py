"""How often a span is read: ingest reads each span of a batch while its sender waits."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pytest

from app.otlp.normalise import CONVENTIONS, Normalised, SpanView, messages
from app.otlp.normalise import _readers as readers_of
from app.otlp.normalise.convention import Convention
from app.otlp.normalise.messages import first_user_text
from tests.support.normalized_spans import normal

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt", "gen_ai.usage.input_tokens": 3}
ANSWERED = CHAT | {"gen_ai.output.messages": [{"role": "assistant", "content": "Hello"}]}
FACTS = [name for name, value in vars(Convention).items() if not name.startswith("_") and callable(value)]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
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
    # Methods are looked up once for each set of names: earlier tests must not have done so, nor later ones call these.
    readers_of.cache_clear()
    yield readings
    readers_of.cache_clear()


def test_a_convention_is_not_asked_for_a_fact_of_which_the_span_has_no_attribute(asked: list[tuple[str, str]]) -> None:
    span = normal(CHAT)

    assert (span.model, span.provider) == ("gpt", None)
    assert {name for name, fact in asked if fact == "model"} == {"gen_ai"}
    assert "provider" not in {fact for _, fact in asked}


def test_facts_of_a_call_are_read_once(asked: list[tuple[str, str]]) -> None:
    span = normal(CHAT)

    for _ in range(3):
        assert (span.model, span.served_model, span.convention, span.tokens.prompt) == ("gpt", "gpt", "gen_ai", 3)

    assert len(asked) == len(set(asked))


def test_the_output_of_a_call_without_tools_is_read_once_in_each_convention(asked: list[tuple[str, str]]) -> None:
    (answer,) = normal(ANSWERED).output_messages or ()

    assert answer.text == "Hello"
    outputs = [name for name, fact in asked if fact == "output_messages"]
    assert sorted(outputs) == ["gen_ai", "gen_ai.events"]


SYSTEM = {"role": "system", "content": "Be brief"}
CALL = {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "weather"}}]}
QUESTIONS: list[tuple[dict[str, Any], str | None]] = [
    ({"gen_ai.input.messages": [SYSTEM, {"role": "user", "content": "Hi"}, {"role": "user", "content": "Bye"}]}, "Hi"),
    ({"gen_ai.input.messages": [SYSTEM, {"role": "user", "content": ""}, {"role": "human", "content": "Bye"}]}, "Bye"),
    ({"gen_ai.input.messages": [SYSTEM, CALL, {"role": "tool", "content": "18", "tool_call_id": "c1"}]}, None),
    ({"gen_ai.input.messages": []}, None),
    ({"gen_ai.input.messages": [], "gen_ai.prompt": [{"role": "user", "content": "Hi"}]}, "Hi"),
    ({"ai.operationId": "ai.generateText.doGenerate", "ai.prompt.messages": [{"role": "user", "content": "Hi"}]}, "Hi"),
]


@pytest.mark.parametrize("written", [json.dumps, list], ids=["as JSON", "as values"])
@pytest.mark.parametrize(("recorded", "question"), QUESTIONS)
def test_the_question_is_the_first_text_of_the_user_in_the_input(
    recorded: dict[str, Any], question: str | None, written: Callable[[Any], Any]
) -> None:
    span = normal(CHAT | {key: written(value) if isinstance(value, list) else value for key, value in recorded.items()})

    assert span.question() == first_user_text(span.input_messages) == question


def test_what_is_between_the_first_words_and_the_last_ones_of_a_long_history_is_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[Any] = []
    read_item = messages._read_item
    monkeypatch.setattr(messages, "_read_item", lambda item, role: read.append(item) or read_item(item, role))
    exchanges = [[{"role": "user", "content": f"Q{n}"}, {"role": "assistant", "content": f"A{n}"}] for n in range(500)]
    history = [SYSTEM, *chain.from_iterable(exchanges), {"role": "user", "content": "Last question"}]
    span = normal(CHAT | {"gen_ai.input.messages": json.dumps(history)})

    assert (span.question(), len(read)) == ("Last question", 4)
    assert (len(span.input_messages or ()), len(read)) == (1002, 4 + 1002)


def test_events_of_a_span_are_parsed_once_for_its_question_and_its_messages() -> None:
    parsed: list[str] = []
    asked = [("gen_ai.user.message", {"content": "Hi"}), ("gen_ai.choice", {"content": "Hello"})]
    span = Normalised(SpanView("chat", "test", CHAT, lambda: parsed.append("events") or asked))

    assert span.question() == first_user_text(span.input_messages) == "Hi"
    assert span.output_messages
    assert parsed == ["events"]
