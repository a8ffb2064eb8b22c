"""Conversations that were under way when their session began."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.otlp.decode import decode
from app.otlp.normalise.messages import Messages, read_messages
from app.otlp.span import Span
from app.sessions.build import build_session
from app.sessions.types import EARLIER_MAX, EarlierMessage, Turn
from app.sessions.under_way import earlier_in, own_words_at
from tests.support.exports import export, span

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
