"""A whole conversation in one trace is its turns if agents divide it, else one turn with a warning."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.otlp.decode import decode
from app.sessions.build import build_session
from app.sessions.facts import TurnFacts, recounted
from tests.support.exports import export, span

FIRST = [{"role": "user", "content": "hi"}]
SECOND = [*FIRST, {"role": "assistant", "content": "hello"}, {"role": "user", "content": "wet?"}]
THIRD = [*SECOND, {"role": "assistant", "content": "yes"}, {"role": "user", "content": "cold?"}]


def warnings(*spans: dict[str, Any]) -> list[str]:
    (turn,) = build_session([decode(export(*spans)).spans])
    return [warning for warning in turn.warnings if "later questions" in warning]


def agent(number: int, parent: int | None = None) -> dict[str, Any]:
    return placed({"gen_ai.operation.name": "invoke_agent"}, number, parent)


def chat(messages: Any, number: int, parent: int | None = None) -> dict[str, Any]:
    words = {"gen_ai.input.messages": json.dumps(messages), "gen_ai.output.messages": '[{"content": "a"}]'}
    return placed({"gen_ai.operation.name": "chat"} | words, number, parent)


def placed(attributes: dict[str, Any], number: int, parent: int | None) -> dict[str, Any]:
    times = {"startTimeUnixNano": str(number), "endTimeUnixNano": str(number + 1)}
    return span(attributes, spanId=f"{number:016x}", parentSpanId=f"{parent:016x}" if parent else None, **times)


CONVERSATION = agent(1), chat(FIRST, 2, 1), agent(3), chat(SECOND, 4, 3), agent(5), chat(THIRD, 6, 5)


def test_an_agent_for_each_question_is_a_turn_for_each() -> None:
    turns = build_session([decode(export(*CONVERSATION)).spans])

    assert [turn.user for turn in turns] == ["hi", "wet?", "cold?"]
    assert [[step.text for step in turn.steps] for turn in turns] == [["a"]] * 3
    assert [(turn.start_ns, turn.end_ns) for turn in turns] == [(1, 3), (3, 5), (5, 7)]
    assert [turn.warnings for turn in turns] == [()] * 3


def test_the_words_may_be_those_of_the_generations_around_the_model_calls() -> None:
    def generation(messages: Any, number: int, parent: int) -> dict[str, Any]:
        words = {"lk.chat_ctx": json.dumps({"items": messages}), "lk.response.text": "a"}
        return placed(words, number, parent) | {"endTimeUnixNano": str(number + 2)}

    turn = {"name": "agent_turn"}
    first = placed({}, 1, None) | turn, generation(FIRST, 2, 1), placed({"lk.llm_metrics": "{}"}, 3, 2)
    second = placed({}, 5, None) | turn, generation(SECOND, 6, 5), placed({"lk.llm_metrics": "{}"}, 7, 6)
    turns = build_session([decode(export(*first, *second)).spans])

    assert [turn.user for turn in turns] == ["hi", "wet?"]
    assert [[step.text for step in turn.steps] for turn in turns] == [["a"]] * 2
    assert [turn.warnings for turn in turns] == [()] * 2


def test_later_turns_have_what_only_the_trace_records() -> None:
    named = {"session.id": "c", "user.id": "u", "service.prompt.placeholders": '{"tone": "kind"}'}
    root = placed(named, 9, None) | {"startTimeUnixNano": "1"}
    (first, second) = build_session([decode(export(root, *CONVERSATION[:4])).spans])

    assert (second.conversation_id, second.user_id, second.placeholders) == ("c", "u", {"tone": "kind"})
    assert first.trace_id == second.trace_id


def test_the_facts_of_a_trace_count_its_turns_when_all_of_its_spans_are_read() -> None:
    spans = decode(export(*CONVERSATION)).spans
    facts = TurnFacts.of(spans)

    assert facts.may_have_turns
    assert (facts.turns, recounted(facts, spans).turns) == (1, 3)


def test_a_trace_is_one_turn_where_it_is_not_to_be_divided() -> None:
    assert len(build_session([decode(export(*CONVERSATION)).spans], divide=False)) == 1


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.sampled_from(["agent", "chat", "tool"]), st.integers(1, 6), st.integers(0, 12)), max_size=12)
)
def test_each_span_of_any_trace_is_in_one_of_its_turns(drawn: list[tuple[str, int, int]]) -> None:
    histories = [FIRST, SECOND, THIRD]
    spans = []
    for number, (kind, start, parent) in enumerate(drawn, 1):
        words = {"gen_ai.input.messages": json.dumps(histories[start % 3])} if kind == "chat" else {}
        operation = {"agent": "invoke_agent", "chat": "chat", "tool": "execute_tool"}[kind]
        made = placed({"gen_ai.operation.name": operation} | words, number, parent or None)
        spans.append(made | {"startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 1)})
    decoded = decode(export(*spans)).spans

    turns = build_session([decoded]) if decoded else ()

    assert sorted(span.span_id for turn in turns for span in turn.spans) == sorted(
        span.span_id.hex() for span in decoded
    )
    assert len(turns) == recounted(TurnFacts.of(decoded), decoded).turns if decoded else True
    whole = build_session([decoded], divide=False) if decoded else ()
    assert sum(turn.usage.input_tokens for turn in turns) == sum(turn.usage.input_tokens for turn in whole)


def test_model_calls_without_any_agent_are_one_too() -> None:
    assert len(warnings(chat(FIRST, 1), chat(SECOND, 2))) == 1


@pytest.mark.parametrize(
    "spans",
    [
        [agent(1), chat(FIRST, 2, 1), chat(SECOND, 3, 1)],
        [agent(1), placed({}, 2, 1), chat(FIRST, 3, 2), placed({}, 4, 1), chat(SECOND, 5, 4)],
        [agent(1), chat(FIRST, 2, 1), agent(3), chat([{"role": "user", "content": "find it"}], 4, 3)],
        [agent(1), chat(SECOND, 2, 1), agent(3), chat(SECOND, 4, 3)],
        [chat(FIRST, 1), chat(FIRST, 2)],
        [chat(SECOND, 1)],
        [chat([], 1), chat(SECOND, 2)],
        [agent(1, 2), agent(2, 1), chat(FIRST, 3, 1), chat(SECOND, 4, 1)],
    ],
    ids=["one agent", "its steps", "another agent", "the same", "again", "under way", "no words", "a circle"],
)
def test_other_turns_have_one_question(spans: list[dict[str, Any]]) -> None:
    assert warnings(*spans) == []
