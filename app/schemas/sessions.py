"""Sessions as answers show them: turns with their steps and spans."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from app.schemas.answer import Answer, anything, choice, dump, either, integer, many, mapping, number, one, text, time
from app.sessions import types
from app.timestamps import of_unix_ns


class TokenUsage(Answer):
    input_tokens = integer()
    output_tokens = integer()


class AnswerStep(Answer):
    kind = choice("answer")
    span_id = text()
    text = text()


class ToolCallStep(Answer):
    kind = choice("tool_call")
    span_id = text()
    name = text()
    arguments = anything()
    result = anything()
    error = text(allow_none=True)


_STEPS = {"answer": AnswerStep, "tool_call": ToolCallStep}


def _steps(turn: types.Turn) -> list[Any]:
    return [dump(_STEPS[step.kind], step) for step in turn.steps]


class Span(Answer):
    """`convention` is the one by which the span was understood; `attributes` are complete, as they came."""

    span_id = text()
    parent_span_id = text(allow_none=True)
    name = text()
    operation = text()
    convention = text(allow_none=True)
    provider = text(allow_none=True)
    model = text(allow_none=True)
    usage = one(TokenUsage)
    started_at = time(get=lambda span: of_unix_ns(span.start_ns))
    duration_ms = number(get=lambda span: round((span.end_ns - span.start_ns) / 1e6, 3))
    error = text(allow_none=True)
    attributes = mapping()


class Turn(Answer):
    trace_id = text()
    started_at = time(get=lambda turn: of_unix_ns(turn.start_ns))
    ended_at = time(get=lambda turn: of_unix_ns(turn.end_ns))
    user = text(allow_none=True)
    steps = many(either(AnswerStep, ToolCallStep), get=_steps)
    placeholders = mapping(text(), allow_none=True)
    offered_tools = many(anything(), allow_none=True)
    prompt_version = text(allow_none=True)
    usage = one(TokenUsage)
    warnings = many(text())
    spans = many(Span)


def _started_at(session: Any) -> datetime | None:
    return of_unix_ns(min(turn.start_ns for turn in session.turns)) if session.turns else None


def _last_activity_at(session: Any) -> datetime | None:
    return of_unix_ns(max(turn.end_ns for turn in session.turns)) if session.turns else None


class Session(Answer):
    id = text()
    prompt_id = integer()
    conversation_id = text(allow_none=True)
    started_at = time(allow_none=True, get=_started_at)
    last_activity_at = time(allow_none=True, get=_last_activity_at)
    turns = many(Turn)
    usage = one(TokenUsage, get=lambda session: sum((turn.usage for turn in session.turns), types.Usage()))
