"""A whole conversation in one trace is one turn, with a warning that counts the later questions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.otlp.decode import decode
from app.sessions.build import build_session
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


def test_an_agent_for_each_question_is_a_conversation() -> None:
    [warning] = warnings(agent(1), chat(FIRST, 2, 1), agent(3), chat(SECOND, 4, 3), agent(5), chat(THIRD, 6, 5))

    assert warning == "The trace has later questions of the user, which are no turns: 2. Begin a trace for each turn."


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
