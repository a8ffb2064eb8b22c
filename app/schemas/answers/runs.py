"""Runs, as answers show them."""

from __future__ import annotations

from app.schemas.answers.common import Cost, ModelName, Resolved, Tokens, ToolCall
from app.schemas.answers.shapes import boolean, choice, integer, many, mapping, one, shape, text, time

RunAnswer = shape(
    "RunAnswer",
    {
        "answer": text(),
        "model": one(ModelName),
        "fallback": boolean(required=False),
        "tokens": one(Tokens),
        "cost": one(Cost),
        "response_time_ms": integer(),
        "placeholders": one(Resolved),
        "status": text(required=False),
        "masked": boolean(required=False),
        "chainOfThoughts": text(required=False),
        "toolCalls": many(ToolCall, required=False),
    },
)
Run = shape(
    "Run",
    {
        "id": integer(),
        "promptId": integer(),
        "commitHash": text(allow_none=True),
        "source": text(),
        "status": choice("queued", "running", "done", "failed"),
        "question": text(),
        "files": many(shape("RunFile", {"fileName": text(), "contentType": text(), "size": integer()})),
        "placeholders": one(Resolved),
        "languageModel": one(ModelName),
        "languageModelConfig": mapping(),
        "instruction": text(allow_none=True),
        "answer": text(allow_none=True),
        "toolCalls": many(ToolCall),
        "chainOfThoughts": text(allow_none=True),
        "nok": text(allow_none=True),
        "fallback": one(shape("Fallback", {"firstError": text()}), allow_none=True),
        "error": one(shape("RunError", {"kind": text(), "message": text(allow_none=True)}), allow_none=True),
        "tokens": one(Tokens, allow_none=True),
        "cost": one(Cost, allow_none=True),
        "response_time_ms": integer(allow_none=True),
        "createdAt": time(),
        "startedAt": time(allow_none=True),
        "finishedAt": time(allow_none=True),
    },
)
