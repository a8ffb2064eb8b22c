"""Queries of the log and of rejected spans, and their entries as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from marshmallow import fields, post_load, validate

from app.models.rejected_spans import RejectedSpan
from app.models.run_log import RunEntry
from app.schemas.base import Identifier, Moment, StrictSchema, Text
from app.services.traces.sessions import SessionSummary
from app.sessions.present import present_usage, timestamp
from app.timestamps import iso

PAGE = 50
PAGE_MAX = 200
# Characters shown of a text.
TEXT_MAX = 300


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Which entries of a prompt's log; `status` is a run's, so it leaves out sessions."""

    type: str | None = None
    limit: int = PAGE
    cursor: str | None = None
    from_: datetime | None = None
    to: datetime | None = None
    search: str | None = None
    status: str | None = None


class LogQuerySchema(StrictSchema):
    type = fields.String(validate=validate.OneOf(["run", "otel"]))
    limit = fields.Integer(validate=validate.Range(1, PAGE_MAX))
    cursor = Text(maximum=1000)
    from_ = Moment(data_key="from")
    to = Moment()
    search = Text(maximum=200)
    status = fields.String(validate=validate.OneOf(["running", "ok", "nok", "failed"]))

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> LogQuery:
        return LogQuery(**data)


@dataclass(frozen=True, slots=True)
class RejectedQuery:
    prompt_id: int | None = None
    limit: int = PAGE
    cursor: str | None = None


class RejectedQuerySchema(StrictSchema):
    prompt_id = Identifier(data_key="promptId")
    limit = fields.Integer(validate=validate.Range(1, PAGE_MAX))
    cursor = Text(maximum=1000)

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> RejectedQuery:
        return RejectedQuery(**data)


def dump_entry(entry: RunEntry | SessionSummary) -> dict[str, Any]:
    return _run(entry) if isinstance(entry, RunEntry) else _session(entry)


def _run(run: RunEntry) -> dict[str, Any]:
    return {
        "type": "run",
        "id": run.id,
        "startedAt": iso(run.created_at),
        "status": run.outcome,
        "source": run.source,
        "question": run.question[:TEXT_MAX],
        "answer": None if run.answer is None else run.answer[:TEXT_MAX],
        "model": run.model_name,
        "commitHash": run.commit_hash,
        "tokens": {
            "prompt": run.prompt_tokens,
            "completion": run.completion_tokens,
            "total": run.prompt_tokens + run.completion_tokens,
        },
        "cost": run.cost_usd,
        "response_time_ms": run.response_time_ms,
        "error": (run.error or run.nok or "")[:TEXT_MAX] or None,
        "preview": run.question[:TEXT_MAX],
    }


def _session(session: SessionSummary) -> dict[str, Any]:
    return {
        "type": "otel",
        "id": session.id,
        "conversationId": session.conversation_id,
        "startedAt": timestamp(session.start_ns),
        "lastActivityAt": timestamp(session.last_ns),
        "turns": session.turns,
        "preview": session.preview,
        "models": list(session.models),
        "promptVersions": list(session.prompt_versions),
        "usage": present_usage(session.usage),
        "errors": session.errors,
    }


def dump_rejected(span: RejectedSpan) -> dict[str, Any]:
    return {
        "id": span.id,
        "promptId": span.prompt_id,
        "traceId": span.trace_id,
        "spanId": span.span_id,
        "name": span.name,
        "code": span.code,
        "reason": span.reason,
        "receivedAt": iso(span.received_at),
    }
