"""Traces: schemas of ingest, sessions and rejected spans."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import orjson
from marshmallow import INCLUDE, Schema, fields

from app.models.rejected_spans import RejectedSpan
from app.prices import types as price_types
from app.schemas.answer import (
    AnswerSchema,
    answer_of,
    choice,
    dump,
    either,
    fields_of,
    integer,
    itself,
    listing,
    many,
    mapping,
    number,
    one,
    part,
    text,
    time,
)
from app.schemas.base import Identifier, PageQuerySchema, Text
from app.schemas.scores import SessionScore
from app.services.sessions import service as logs
from app.sessions import types
from app.timestamps import of_unix_ns


class TraceExportSchema(Schema):
    """ExportTraceServiceRequest of OTLP; unknown fields are ignored."""

    class Meta:
        unknown = INCLUDE

    resourceSpans = fields.List(fields.Dict(), allow_none=True)  # noqa: N815 - OTLP's name


class LogExportSchema(Schema):
    """ExportLogsServiceRequest of OTLP; unknown fields are ignored."""

    class Meta:
        unknown = INCLUDE

    resourceLogs = fields.List(fields.Dict(), allow_none=True)  # noqa: N815 - OTLP's name


class LogsPartialSuccess(AnswerSchema):
    """Empty if no record was rejected. OTLP writes the count, an int64, as a string."""

    rejected_log_records = text(required=False, get=lambda receipt: str(receipt.rejected) if receipt.rejected else None)
    error_message = text(required=False, get=lambda receipt: receipt.message if receipt.rejected else None)


class LogsStored(AnswerSchema):
    partial_success = one(LogsPartialSuccess, get=itself)


class PartialSuccess(AnswerSchema):
    """Empty if all spans were stored. OTLP writes the count, an int64, as a string."""

    rejected_spans = text(required=False, get=lambda receipt: str(receipt.rejected) if receipt.rejected else None)
    error_message = text(required=False, get=lambda receipt: receipt.message if receipt.rejected else None)


class TracesStored(AnswerSchema):
    partial_success = one(PartialSuccess, get=itself)


class TokenUsage(AnswerSchema):
    """Input tokens include cached tokens, output tokens include reasoning tokens. Counts of zero are omitted."""

    usage = fields_of(types.Usage, "input_tokens", "output_tokens")
    cache_read_tokens = integer(required=False, get=lambda usage: usage.cache_read_tokens or None)
    cache_write_tokens = integer(required=False, get=lambda usage: usage.cache_write_tokens or None)
    reasoning_tokens = integer(required=False, get=lambda usage: usage.reasoning_tokens or None)


class ModelCost(AnswerSchema):
    """US dollars at current prices."""

    prompt = number(get=lambda cost: float(cost.prompt))
    completion = number(get=lambda cost: float(cost.completion))
    total = number(get=lambda cost: float(cost.total))


class CalledModelSchema(AnswerSchema):
    """A model and its provider as the instrumentation names them; "" where it names none."""

    called = fields_of(price_types.CalledModel, "provider", "model")


class Unpriced(AnswerSchema):
    unpriced_models = many(CalledModelSchema, get=lambda bill: sorted(bill.unpriced))


class Billed(Unpriced):
    """`cost` excludes the calls of `unpricedModels`. It is null if no call has both tokens and a price."""

    cost = one(ModelCost, allow_none=True)


class AnswerStep(AnswerSchema):
    """`usage`, `cost` and times belong to the model call that answered."""

    kind = choice("answer", get=lambda _: "answer")
    step = fields_of(types.Step, "span_id", "text", path="step")
    usage = one(TokenUsage)
    billed = part(Billed, "bill")
    duration_ms = number(allow_none=True)
    time_to_first_token_ms = number(allow_none=True, attribute="first_token_ms")


class ToolCallStep(AnswerSchema):
    """`durationMs` is null for a call that occurs only in messages, without a span."""

    kind = choice("tool_call", get=lambda _: "tool_call")
    step = fields_of(types.Step, "span_id", "name", "arguments", "result", "error", "source", "answered", path="step")
    duration_ms = number(allow_none=True)


_STEPS = {"answer": AnswerStep, "tool_call": ToolCallStep}


def _steps(turn: types.Turn) -> list[Any]:
    return [dump(_STEPS[timed.step.kind], timed) for timed in turn.timed_steps]


class SpanSchema(AnswerSchema):
    """`convention` is the semantic convention that the span was read by. `attributes` are complete and unchanged."""

    head = fields_of(types.ShownSpan, "span_id", "parent_span_id", "name", "operation")
    origin = fields_of(types.ShownSpan, "convention", "provider", "model", "served_model")
    usage = one(TokenUsage)
    billed = part(Billed, "bill")
    started_at = time(get=lambda span: of_unix_ns(span.start_ns))
    duration_ms = number()
    time_to_first_token_ms = number(allow_none=True, attribute="first_token_ms")
    error = text(allow_none=True)
    attributes = mapping()


class TurnHead(AnswerSchema):
    """A turn without its spans."""

    trace_id = text()
    started_at = time(get=lambda turn: of_unix_ns(turn.start_ns))
    ended_at = time(get=lambda turn: of_unix_ns(turn.end_ns))
    user = text(allow_none=True)
    question = text(allow_none=True)
    earlier = many(answer_of(types.EarlierMessage))
    steps = many(either(AnswerStep, ToolCallStep), get=_steps)
    request = fields_of(types.Turn, "placeholders", "offered_tools", "prompt_version", "user_id", "instruction")
    usage = one(TokenUsage)
    billed = part(Billed, "bill")
    duration_ms = number()
    time_to_first_token_ms = number(allow_none=True, attribute="first_token_ms")
    warnings = many(text())


class TurnSchema(TurnHead):
    spans = many(SpanSchema)


def _started_at(session: Any) -> datetime | None:
    return of_unix_ns(min(turn.start_ns for turn in session.turns)) if session.turns else None


def _last_activity_at(session: Any) -> datetime | None:
    return of_unix_ns(max(turn.end_ns for turn in session.turns)) if session.turns else None


def _user_id(session: Any) -> str | None:
    return next((turn.user_id for turn in session.turns if turn.user_id), None)


class SessionHead(AnswerSchema):
    """A session without its turns."""

    session = fields_of(logs.Session, "id", "prompt_id", "conversation_id")
    user_id = text(allow_none=True, get=_user_id)
    started_at = time(allow_none=True, get=_started_at)
    last_activity_at = time(allow_none=True, get=_last_activity_at)
    scores = many(SessionScore)
    usage = one(TokenUsage)
    billed = part(Billed, "bill")
    duration_ms = number()
    time_to_first_token_ms = number(allow_none=True, attribute="first_token_ms")


class SessionSchema(SessionHead):
    turns = many(TurnSchema)


def session_pieces(session: logs.Session) -> Iterator[bytes]:
    """Yield the JSON of a session span by span: all spans together may have tens of megabytes."""
    yield _without_end(SessionHead, session) + b',"turns":['
    for index, turn in enumerate(session.turns):
        yield (b"," if index else b"") + _without_end(TurnHead, turn) + b',"spans":['
        for place, span in enumerate(turn.spans):
            yield (b"," if place else b"") + orjson.dumps(dump(SpanSchema, span))
        yield b"]}"
    yield b"]}"


def _without_end(schema: type[Schema], value: object) -> bytes:
    return orjson.dumps(dump(schema, value)).removesuffix(b"}")


class RejectedQuerySchema(PageQuerySchema):
    """A page of rejected spans. `code` is the code of the cause."""

    prompt_id = Identifier()
    code = Text(maximum=32)


class RejectedSpanSchema(AnswerSchema):
    span = fields_of(RejectedSpan, "id", "prompt_id", "trace_id", "span_id", "name")
    rejection = fields_of(RejectedSpan, "code", "reason", "received_at")


RejectedSpans = listing("rejected_spans", RejectedSpanSchema, paged=True)
