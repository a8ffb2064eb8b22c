"""A prompt's log and the rejected spans: the queries, and the entries as answers show them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from marshmallow import fields, validate

from app.models import run_log
from app.schemas.answer import Answer, choice, either, integer, many, number, one, text, time
from app.schemas.base import Identifier, Moment, StrictSchema, Text
from app.schemas.common import Tokens
from app.schemas.paging import PAGE_MAX, PageQuery
from app.schemas.sessions import TokenUsage
from app.services.traces.logs import LogFilter
from app.services.traces.sessions import SessionSummary
from app.timestamps import of_unix_ns

EXCERPT = 300
"""Characters shown of a text."""
STATUSES = ("running", "ok", "nok", "failed")


@dataclass(frozen=True, slots=True)
class LogQuery(PageQuery):
    """Which entries of a prompt's log; `status` is a run's, so it leaves out sessions."""

    type: str | None = None
    from_: datetime | None = None
    to: datetime | None = None
    search: str | None = None
    status: str | None = None

    @property
    def filter(self) -> LogFilter:
        return LogFilter(self.type, self.from_, self.to, self.search, self.status)


class LogQuerySchema(StrictSchema):
    command: ClassVar[type] = LogQuery

    type = fields.String(validate=validate.OneOf(["run", "otel"]))
    limit = fields.Integer(validate=validate.Range(1, PAGE_MAX))
    cursor = Text(maximum=1000)
    from_ = Moment()
    to = Moment()
    search = Text(maximum=200)
    status = fields.String(validate=validate.OneOf(STATUSES))


@dataclass(frozen=True, slots=True)
class RejectedQuery(PageQuery):
    prompt_id: int | None = None


class RejectedQuerySchema(StrictSchema):
    command: ClassVar[type] = RejectedQuery

    prompt_id = Identifier()
    limit = fields.Integer(validate=validate.Range(1, PAGE_MAX))
    cursor = Text(maximum=1000)


class SessionEntry(Answer):
    type = choice("otel", get=lambda _: "otel")
    id = text()
    conversation_id = text(allow_none=True)
    started_at = time(get=lambda session: of_unix_ns(session.start_ns))
    last_activity_at = time(get=lambda session: of_unix_ns(session.last_ns))
    turns = integer()
    preview = text(allow_none=True)
    models = many(text())
    prompt_versions = many(text())
    usage = one(TokenUsage)
    errors = integer()


def _tokens(run: run_log.RunEntry) -> dict[str, int]:
    prompt, completion = run.prompt_tokens, run.completion_tokens
    return {"prompt": prompt, "completion": completion, "total": prompt + completion}


class RunEntry(Answer):
    type = choice("run", get=lambda _: "run")
    id = integer()
    started_at = time(attribute="created_at")
    status = choice(*STATUSES, attribute="outcome")
    source = text()
    question = text(get=lambda run: run.question[:EXCERPT])
    answer = text(allow_none=True, get=lambda run: run.answer and run.answer[:EXCERPT])
    model = text(allow_none=True, attribute="model_name")
    commit_hash = text(allow_none=True)
    tokens = one(Tokens, get=_tokens)
    cost = number(allow_none=True, attribute="cost_usd")
    response_time_ms = integer(allow_none=True, data_key="response_time_ms")
    error = text(allow_none=True, get=lambda run: (run.error or run.nok or "")[:EXCERPT] or None)
    preview = text(allow_none=True, get=lambda run: run.question[:EXCERPT])


class Log(Answer):
    entries = many(either(by_type={run_log.RunEntry: RunEntry, SessionSummary: SessionEntry}))
    next_cursor = text(allow_none=True)


class RejectedSpan(Answer):
    id = integer()
    prompt_id = integer(allow_none=True)
    trace_id = text()
    span_id = text()
    name = text()
    code = text()
    reason = text()
    received_at = time()


class RejectedSpans(Answer):
    rejected_spans = many(RejectedSpan, attribute="entries")
    next_cursor = text(allow_none=True)
