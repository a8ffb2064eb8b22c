"""Logs, sessions and rejected spans, as answers show them."""

from __future__ import annotations

from app.schemas.answers.common import Tokens
from app.schemas.answers.shapes import (
    anything,
    choice,
    either,
    integer,
    many,
    mapping,
    number,
    one,
    shape,
    text,
    time,
)

Usage = shape("TokenUsage", {"inputTokens": integer(), "outputTokens": integer()})
SessionEntry = shape(
    "SessionEntry",
    {
        "type": choice("otel"),
        "id": text(),
        "conversationId": text(allow_none=True),
        "startedAt": time(),
        "lastActivityAt": time(),
        "turns": integer(),
        "preview": text(allow_none=True),
        "models": many(text()),
        "promptVersions": many(text()),
        "usage": one(Usage),
        "errors": integer(),
    },
)
RunEntry = shape(
    "RunEntry",
    {
        "type": choice("run"),
        "id": integer(),
        "startedAt": time(),
        "status": choice("running", "ok", "nok", "failed"),
        "source": text(),
        "question": text(),
        "answer": text(allow_none=True),
        "model": text(allow_none=True),
        "commitHash": text(allow_none=True),
        "tokens": one(Tokens),
        "cost": number(allow_none=True),
        "response_time_ms": integer(allow_none=True),
        "error": text(allow_none=True),
        "preview": text(allow_none=True),
    },
)
Log = shape("Log", {"entries": many(either(RunEntry, SessionEntry)), "nextCursor": text(allow_none=True)})
AnswerStep = shape("AnswerStep", {"kind": choice("answer"), "spanId": text(), "text": text()})
ToolCallStep = shape(
    "ToolCallStep",
    {
        "kind": choice("tool_call"),
        "spanId": text(),
        "name": text(),
        "arguments": anything(),
        "result": anything(),
        "error": text(allow_none=True),
    },
)
Span = shape(
    "Span",
    {
        "spanId": text(),
        "parentSpanId": text(allow_none=True),
        "name": text(),
        "operation": text(),
        "convention": text(allow_none=True),
        "provider": text(allow_none=True),
        "model": text(allow_none=True),
        "usage": one(Usage),
        "startedAt": time(),
        "durationMs": number(),
        "error": text(allow_none=True),
        "attributes": mapping(),
    },
)
Turn = shape(
    "Turn",
    {
        "traceId": text(),
        "startedAt": time(),
        "endedAt": time(),
        "user": text(allow_none=True),
        "steps": many(either(AnswerStep, ToolCallStep)),
        "placeholders": mapping(text(), allow_none=True),
        "offeredTools": many(anything(), allow_none=True),
        "promptVersion": text(allow_none=True),
        "usage": one(Usage),
        "warnings": many(text()),
        "spans": many(Span),
    },
)
Session = shape(
    "Session",
    {
        "id": text(),
        "promptId": integer(),
        "conversationId": text(allow_none=True),
        "startedAt": time(allow_none=True),
        "lastActivityAt": time(allow_none=True),
        "turns": many(Turn),
        "usage": one(Usage),
    },
)
RejectedSpan = shape(
    "RejectedSpan",
    {
        "id": integer(),
        "promptId": integer(allow_none=True),
        "traceId": text(),
        "spanId": text(),
        "name": text(),
        "code": text(),
        "reason": text(),
        "receivedAt": time(),
    },
)
RejectedSpans = shape("RejectedSpans", {"rejectedSpans": many(RejectedSpan), "nextCursor": text(allow_none=True)})
PartialSuccess = shape("PartialSuccess", {"rejectedSpans": text(required=False), "errorMessage": text(required=False)})
TracesStored = shape("TracesStored", {"partialSuccess": one(PartialSuccess)})
