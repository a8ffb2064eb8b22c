"""Conversations that were under way when their session began."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.otlp.decode import decode
from app.otlp.normalise.messages import Messages, own_words_at, read_messages
from app.otlp.span import Span
from app.sessions.build import build_session
from app.sessions.facts import TurnFacts, opening_of
from app.sessions.types import EARLIER_MAX, EarlierMessage, Turn
from app.sessions.under_way import earlier_in
from tests.support.exports import export, pairs_of, span

ASKED, ANSWERED = {"role": "user", "content": "one"}, {"role": "assistant", "content": "first answer"}
AGAIN, SYSTEM = {"role": "user", "content": "two"}, {"role": "system", "content": "Be kind."}
BEFORE = [("user", "one"), ("assistant", "first answer")]

OPENAI_CALL = [
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": call}]}
    for call in ({"name": "weather", "arguments": '{"city": "Oslo"}'},)
]
OPENAI_RESULT = {"role": "tool", "tool_call_id": "c1", "content": '{"temp": 7}'}
ANTHROPIC = [
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Oslo"}},
        ],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": '{"temp": 7}'}]},
]
CALLED = EarlierMessage(role="tool", text='{"temp": 7}', name="weather", arguments={"city": "Oslo"})
COMPACTED = {"role": "user", "content": "Summary of the conversation: the user asked about Oslo."}


def messages(*raw: Any) -> Messages:
    return read_messages(list(raw)) or ()


def call(*raw: Any, scope: str = "opentelemetry.instrumentation.openai_v2", **attributes: Any) -> list[Span]:
    recorded = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(raw)} | attributes
    return decode(export(span(recorded), scope=scope)).spans


def first_turn(spans: list[Span]) -> Turn:
    (turn,) = build_session([spans])
    return turn


@pytest.mark.parametrize(
    ("raw", "earlier"),
    [
        ([ASKED, ANSWERED, AGAIN], []),
        ([SYSTEM, ASKED, ANSWERED, AGAIN], []),
        ([ASKED, *OPENAI_CALL, OPENAI_RESULT, ANSWERED, AGAIN], [CALLED]),
        ([ASKED, *ANTHROPIC, ANSWERED, AGAIN], [CALLED]),
        ([SYSTEM, COMPACTED, {"role": "assistant", "content": "I see."}, ASKED, ANSWERED, AGAIN], None),
    ],
    ids=["openai", "system first", "openai's tools", "anthropic's tools", "compacted"],
)
def test_a_turn_has_its_last_words_and_what_came_before(raw: list[Any], earlier: list[EarlierMessage] | None) -> None:
    turn = first_turn(call(*raw))

    assert turn.user == (COMPACTED["content"] if earlier is None else "one")
    assert (turn.question, turn.own_words) == ("two", "two")
    texts = [message for message in turn.earlier if message.role != "tool"]
    assert [(message.role, message.text) for message in texts][-2:] == BEFORE
    assert earlier is None or [message for message in turn.earlier if message.role == "tool"] == earlier


def openai_messages(raw: list[Any]) -> dict[str, Any]:
    return {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(raw)}


def values(raw: list[Any]) -> dict[str, Any]:
    return {"gen_ai.operation.name": "chat", "gen_ai.input.messages": raw}


def numbered(raw: list[Any]) -> dict[str, Any]:
    fields = {f"llm.input_messages.{n}.message.{key}": item[key] for n, item in enumerate(raw) for key in item}
    return {"openinference.span.kind": "LLM", "llm.model_name": "gpt"} | fields


def ai_sdk(raw: list[Any]) -> dict[str, Any]:
    parts = [{"role": item["role"], "content": [{"type": "text", "text": item["content"]}]} for item in raw]
    return {"ai.operationId": "ai.generateText.doGenerate", "ai.prompt.messages": json.dumps(parts)}


def openllmetry(raw: list[Any]) -> dict[str, Any]:
    return {f"gen_ai.prompt.{n}.{key}": item[key] for n, item in enumerate(raw) for key in item}


HISTORIES = {
    "one question": ([ASKED], "one"),
    "a system text and two questions": ([SYSTEM, ASKED, AGAIN], "one"),
    "a greeting": ([ANSWERED, ASKED], "one"),
    "an exchange before": ([SYSTEM, ASKED, ANSWERED, AGAIN], "two"),
    "a beginning of the answer": ([ASKED, ANSWERED, AGAIN, {"role": "assistant", "content": "The"}], "two"),
    "two exchanges before": ([ASKED, ANSWERED, ASKED, ANSWERED, AGAIN], "two"),
}


@pytest.mark.parametrize("written", [openai_messages, values, numbered, ai_sdk, openllmetry])
@pytest.mark.parametrize("history", HISTORIES)
def test_lists_name_a_turn_by_the_words_that_its_page_shows(history: str, written: Any) -> None:
    raw, words = HISTORIES[history]
    spans = decode(export(span(written(raw)))).spans

    assert (first_turn(spans).own_words, TurnFacts.of(spans).preview) == (words, words)


@pytest.mark.parametrize("history", HISTORIES)
def test_lists_name_a_turn_by_the_words_of_its_events_and_log_records(history: str) -> None:
    raw, words = HISTORIES[history]
    named = [(f"gen_ai.{item['role']}.message", {"content": item["content"]}) for item in raw]
    chat = {"gen_ai.operation.name": "chat"}
    events = [{"name": name, "attributes": pairs_of(recorded)} for name, recorded in named]
    with_events = decode(export(span(chat, events=events))).spans
    bare = decode(export(span(chat))).spans
    records = {(bare[0].trace_id, bare[0].span_id): named}

    (of_records,) = build_session([bare], records=records)

    assert (first_turn(with_events).own_words, of_records.own_words) == (words, words)
    assert [opening and opening[1] for opening in (opening_of(with_events, {}), opening_of(bare, records))] == [
        words
    ] * 2


@pytest.mark.parametrize(
    "raw",
    [
        [],
        [ASKED],
        [SYSTEM, ASKED, AGAIN],
        [ANSWERED, ASKED],
        [ASKED, ANSWERED],
        [ASKED, *OPENAI_CALL, OPENAI_RESULT],
        [ASKED, *ANTHROPIC],
    ],
    ids=["nothing", "one question", "two texts", "a greeting", "a beginning of the answer", "tools", "tools as user"],
)
def test_a_turn_of_one_exchange_is_not_under_way(raw: list[Any]) -> None:
    assert own_words_at(messages(*raw)) == 0
    assert (first_turn(call(*raw)).question, first_turn(call(*raw)).earlier) == (None, ())


@pytest.mark.parametrize(
    ("scope", "line"),
    [
        ("opentelemetry.instrumentation.openai_v2", 'attributes={"session.id": conversation_id}'),
        ("openinference.instrumentation.openai", "using_session(conversation_id)"),
        ("ai", "metadata: { sessionId: conversationId }"),
        ("@arizeai/openinference-instrumentation-openai", '{ "session.id": conversationId }'),
        ("somebody's", "put a span with session.id around each turn"),
    ],
)
def test_the_warning_has_the_line_of_the_instrumentation(scope: str, line: str) -> None:
    (warning,) = [
        text for text in first_turn(call(ASKED, ANSWERED, AGAIN, scope=scope)).warnings if "under way" in text
    ]

    assert line in warning


def test_a_conversation_with_a_name_gets_no_line() -> None:
    named = {"gen_ai.conversation.id": "c"}

    (warning,) = [text for text in first_turn(call(ASKED, ANSWERED, AGAIN, **named)).warnings if "under way" in text]

    assert "session.id" not in warning


def test_a_later_turn_has_nothing_from_before() -> None:
    opening, later = call(ASKED), call(ASKED, ANSWERED, AGAIN)
    later[0] = decode(export(span({"gen_ai.operation.name": "chat"}, startTimeUnixNano=1, endTimeUnixNano=2))).spans[0]

    turns = build_session([later, opening])

    assert [turn.earlier for turn in turns] == [(), ()]


def test_calls_without_a_result_and_calls_of_the_vendor_are_left_out() -> None:
    hosted = {"role": "assistant", "parts": [{"type": "server_tool_call", "id": "h", "name": "search"}]}

    assert earlier_in(messages(ASKED, *OPENAI_CALL, hosted)) == (EarlierMessage(role="user", text="one"),)


def test_of_many_earlier_messages_the_last_are_kept_and_the_rest_is_a_gap() -> None:
    turn = first_turn(call(*[ASKED, ANSWERED] * EARLIER_MAX, AGAIN))

    assert len(turn.earlier) == EARLIER_MAX
    assert [gap.kind for gap in turn.gaps] == ["history"]


def test_an_earlier_image_is_a_gap_and_no_file_of_the_turn() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    shown = {"role": "user", "content": [{"type": "text", "text": "one"}, image]}

    turn = first_turn(call(shown, ANSWERED, AGAIN))

    assert turn.files == ()
    assert [gap.message for gap in turn.gaps] == ["an earlier message of the user has content that is no text"]
