"""The spans of a turn that have its tokens: its model calls, or without any its outermost agents."""

from __future__ import annotations

from typing import Any

import pytest

from app.otlp.decode import decode
from app.sessions.spans import read_turn
from app.sessions.token_spans import spans_with_tokens
from tests.support.exports import export, span

TOKENS = {"gen_ai.usage.input_tokens": 7}


def recorded(number: int, parent: int | None, operation: str, **attributes: Any) -> dict[str, Any]:
    ids = {"spanId": f"{number:016x}", **({"parentSpanId": f"{parent:016x}"} if parent else {})}
    return span({"gen_ai.operation.name": operation} | attributes, **ids)


def numbers(*spans: dict[str, Any]) -> list[int]:
    read = read_turn(decode(export(*spans)).spans, None, {})
    return sorted(int(span.span_id, 16) for span in spans_with_tokens(read))


def test_model_calls_pay_whatever_is_around_them() -> None:
    spans = recorded(1, None, "invoke_agent", **TOKENS), recorded(2, 1, "chat"), recorded(3, 1, "chat", **TOKENS)

    assert numbers(*spans) == [2, 3]


@pytest.mark.parametrize("operation", ["invoke_agent", "invoke_workflow", "handle_conversation_turn"])
def test_without_a_model_call_the_outermost_agents_with_tokens_pay(operation: str) -> None:
    spans = (
        recorded(1, None, operation),
        recorded(2, 1, operation, **TOKENS),
        recorded(3, 2, "step"),
        recorded(4, 3, operation, **TOKENS),
        recorded(5, 1, operation, **TOKENS),
        recorded(6, None, "execute_tool", **TOKENS),
    )

    assert numbers(*spans) == [2, 5]


def test_agents_in_a_circle_of_parents_are_read() -> None:
    spans = recorded(1, 2, "invoke_agent", **TOKENS), recorded(2, 1, "step"), recorded(3, 2, "invoke_agent", **TOKENS)

    assert numbers(*spans) == []


def test_a_parent_that_is_not_here_is_no_agent() -> None:
    assert numbers(recorded(1, 9, "invoke_agent", **TOKENS), recorded(2, 8, "invoke_agent", **TOKENS)) == [1, 2]
