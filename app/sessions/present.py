"""Turns and sessions as the JSON shapes of the API."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from app.sessions.types import ShownSpan, Step, Turn, Usage


def present_session(
    session_id: str, prompt_id: int, conversation_id: str | None, turns: Sequence[Turn]
) -> dict[str, Any]:
    """A session; its times are null without turns."""
    usage = sum((turn.usage for turn in turns), Usage())
    return {
        "id": session_id,
        "promptId": prompt_id,
        "conversationId": conversation_id,
        "startedAt": timestamp(min(turn.start_ns for turn in turns)) if turns else None,
        "lastActivityAt": timestamp(max(turn.end_ns for turn in turns)) if turns else None,
        "turns": [present_turn(turn) for turn in turns],
        "usage": present_usage(usage),
    }


def present_turn(turn: Turn) -> dict[str, Any]:
    return {
        "traceId": turn.trace_id,
        "startedAt": timestamp(turn.start_ns),
        "endedAt": timestamp(turn.end_ns),
        "user": turn.user,
        "steps": [present_step(step) for step in turn.steps],
        "placeholders": turn.placeholders,
        "offeredTools": None if turn.offered_tools is None else list(turn.offered_tools),
        "promptVersion": turn.prompt_version,
        "usage": present_usage(turn.usage),
        "warnings": list(turn.warnings),
        "spans": [present_span(span) for span in turn.spans],
    }


def present_step(step: Step) -> dict[str, Any]:
    if step.kind == "answer":
        return {"kind": step.kind, "spanId": step.span_id, "text": step.text}
    return {
        "kind": step.kind,
        "spanId": step.span_id,
        "name": step.name,
        "arguments": step.arguments,
        "result": step.result,
        "error": step.error,
    }


def present_span(span: ShownSpan) -> dict[str, Any]:
    return {
        "spanId": span.span_id,
        "parentSpanId": span.parent_span_id,
        "name": span.name,
        "operation": span.operation,
        "convention": span.convention,
        "provider": span.provider,
        "model": span.model,
        "usage": present_usage(span.usage),
        "startedAt": timestamp(span.start_ns),
        "durationMs": round((span.end_ns - span.start_ns) / 1e6, 3),
        "error": span.error,
        "attributes": span.attributes,
    }


def present_usage(usage: Usage) -> dict[str, int]:
    return {"inputTokens": usage.input_tokens, "outputTokens": usage.output_tokens}


def timestamp(ns: int) -> str:
    """Unix nanoseconds as ISO 8601 UTC with milliseconds."""
    whole = datetime.fromtimestamp(ns // 1_000_000_000, UTC)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{ns // 1_000_000 % 1000:03d}Z"
