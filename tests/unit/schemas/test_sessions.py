"""Turns and sessions as the API shows them."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.otlp.decode import decode
from app.schemas import traces as schemas
from app.schemas.answer import dump
from app.services.sessions.service import Session
from app.sessions.build import build_session
from app.timestamps import iso, of_unix_ns
from tests.support.exports import SPAN_ID, TRACE_ID, export, span


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1544712660001999999, "2018-12-13T14:51:00.001Z"),
        (2**63 - 1, "2262-04-11T23:47:16.854Z"),
    ],
)
def test_times_are_iso_with_milliseconds(ns: int, text: str) -> None:
    assert iso(of_unix_ns(ns)) == text


@pytest.mark.parametrize("count", [10**12 + 1, 2**63 - 1, 2**70, "9" * 25, 1e300])
def test_a_count_of_tokens_beyond_any_models_is_none(count: Any) -> None:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": count, "service.prompt.id": 7}
    (stored,) = decode(export(span(attributes))).spans
    session = dump(schemas.SessionSchema, Session("s", 7, stored.conversation_id, build_session([[stored]])))

    assert orjson.loads(orjson.dumps(session))["usage"] == {"inputTokens": 0, "outputTokens": 0}


MEASURED = {
    "usage": {"inputTokens": 3, "outputTokens": 0},
    "cost": None,
    "unpricedModels": [{"provider": "", "model": "gpt"}],
    "durationMs": 1000,
    "timeToFirstTokenMs": None,
}


def test_a_session_has_its_times_usage_and_turns() -> None:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt",
        "gen_ai.usage.input_tokens": 3,
        "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"Hello"}]}]',
    }
    turns = build_session([decode(export(span(attributes))).spans])

    session = orjson.loads(orjson.dumps(dump(schemas.SessionSchema, Session("s1", 7, "c1", turns))))

    (turn,) = session.pop("turns")
    assert session == {
        "id": "s1",
        "promptId": 7,
        "conversationId": "c1",
        "userId": None,
        "startedAt": "2018-12-13T14:51:00.000Z",
        "lastActivityAt": "2018-12-13T14:51:01.000Z",
        "scores": [],
        "usage": {"inputTokens": 3, "outputTokens": 0},
        "cost": None,
        "unpricedModels": [{"provider": "", "model": "gpt"}],
        "durationMs": 1000,
        "timeToFirstTokenMs": None,
    }
    (shown,) = turn.pop("spans")
    assert turn == {
        "traceId": TRACE_ID,
        "startedAt": "2018-12-13T14:51:00.000Z",
        "endedAt": "2018-12-13T14:51:01.000Z",
        "instruction": None,
        "question": None,
        "earlier": [],
        "user": None,
        "steps": [{"kind": "answer", "spanId": SPAN_ID, "text": "Hello", **MEASURED}],
        "placeholders": None,
        "offeredTools": None,
        "promptVersion": None,
        "userId": None,
        "warnings": [],
        **MEASURED,
    }
    assert shown["durationMs"] == 1000
    assert shown["operation"] == "chat"
    assert shown["attributes"]["gen_ai.request.model"] == "gpt"


def test_a_session_without_turns_has_no_times() -> None:
    assert dump(schemas.SessionSchema, Session("s1", 7, None, ()))["startedAt"] is None


finite = st.floats(allow_nan=False, allow_infinity=False)
any_value = st.recursive(
    st.fixed_dictionaries({"stringValue": st.text() | st.integers()})
    | st.fixed_dictionaries({"intValue": st.integers() | st.text(max_size=3) | finite})
    | st.fixed_dictionaries({"doubleValue": finite | st.just("NaN") | st.none()})
    | st.fixed_dictionaries({"boolValue": st.booleans()})
    | st.fixed_dictionaries({"bytesValue": st.just("AAE=")})
    | st.just({})
    | st.none(),
    lambda inner: (
        st.builds(lambda items: {"arrayValue": {"values": items}}, st.lists(inner, max_size=3))
        | st.builds(
            lambda items: {"kvlistValue": {"values": [{"key": key, "value": value} for key, value in items.items()]}},
            st.dictionaries(st.text(max_size=3), inner, max_size=3),
        )
    ),
    max_leaves=6,
)
KEYS = [
    "gen_ai.operation.name",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.tool.definitions",
    "gen_ai.conversation.id",
    "gen_ai.usage.input_tokens",
    "service.prompt.version",
    "service.prompt.placeholders",
    "service.tools.offered",
    "openinference.span.kind",
    "llm.input_messages.0.message.role",
    "llm.input_messages.0.message.contents.0",
    "ai.operationId",
    "ai.prompt.messages",
    "ai.response.toolCalls",
    "traceloop.span.kind",
    "traceloop.entity.input",
    "gen_ai.prompt.0.content",
    "events",
    "error.type",
]


@given(
    st.dictionaries(st.sampled_from(KEYS), any_value, max_size=6),
    st.sampled_from(["chat", "execute_tool", None]),
    st.lists(
        st.fixed_dictionaries({"name": st.sampled_from(["exception", "gen_ai.choice"]), "attributes": st.just([])})
    ),
)
def test_whatever_is_stored_can_be_shown(attributes: dict[str, Any], operation: str | None, events: list[Any]) -> None:
    pairs = [{"key": "service.prompt.id", "value": {"intValue": 7}}]
    pairs += [{"key": key, "value": value} for key, value in attributes.items()]
    if operation is not None:
        pairs.append({"key": "gen_ai.operation.name", "value": {"stringValue": operation}})

    (stored,) = decode(export(span(attributes=pairs, events=events))).spans
    session = dump(schemas.SessionSchema, Session("s", 7, stored.conversation_id, build_session([[stored]])))

    assert orjson.loads(orjson.dumps(session)) == json.loads(json.dumps(session))
