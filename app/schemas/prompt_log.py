"""A prompt's log: the schemas of its query, and of its entries with the hits of a search."""

from __future__ import annotations

from typing import Any, get_args

from marshmallow import fields, post_load, validate

from app.models import run_log
from app.otlp.evaluations import EVALUATION_NAME_MAX
from app.schemas.answer import AnswerSchema, choice, either, fields_of, integer, many, number, one, part, text, time
from app.schemas.base import Moment, PageQuerySchema, QueryBoolean, StrictSchema, Text
from app.schemas.lists import SortedEntries, with_ranges
from app.schemas.runs import Tokens
from app.schemas.sessions import SearchHit
from app.schemas.traces import TokenUsage, Unpriced
from app.services.prompt_log import words as log_words
from app.services.prompt_log.query import LogFilter
from app.services.prompt_log.service import LogSort
from app.services.sessions import service as logs
from app.services.sessions.filters import ALL
from app.sessions.facts import MAX_NAME
from app.timestamps import of_unix_ns

# Shown characters of a text.
EXCERPT_MAX = 300
STATUSES = ("running", "ok", "nok", "failed", "cancelled")


class LogFilters(StrictSchema):
    """Conditions on the entries of a prompt's log, and their order.

    `q` searches one turn of a session, including tools, or the question and answer of a run. All of it must match:
    words, "phrases" and beginnings of words as in `refund*`; a minus excludes what follows it. `search` is a part of a
    question, an answer or a conversation's id. Sessions without a model call, a tool call, an agent or words, such as
    health checks, are only listed with `include=all`.
    """

    type = fields.String(validate=validate.OneOf(["run", "otel"]))
    q = Text(attribute="words", minimum=1, maximum=200)
    search = Text(maximum=200)
    version = Text(maximum=MAX_NAME)
    model = Text(maximum=MAX_NAME)
    score = Text(minimum=1, maximum=EVALUATION_NAME_MAX)
    min_score = fields.Float()
    max_score = fields.Float()
    min_cost = fields.Float(validate=validate.Range(0))
    max_cost = fields.Float(validate=validate.Range(0))
    min_duration_ms = fields.Float(validate=validate.Range(0))
    max_duration_ms = fields.Float(validate=validate.Range(0))
    include = fields.String(validate=validate.Equal(ALL))
    sort = fields.String(attribute="order", validate=validate.OneOf(get_args(LogSort)))


def log_page(data: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of `LogService.page`. The fields of `LogFilter` become its filter."""
    page = {name: data.pop(name) for name in ("limit", "cursor", "order") if name in data}
    return page | {"filters": LogFilter(**with_ranges(data, "cost", "duration_ms"))}


class LogQuerySchema(LogFilters, PageQuerySchema):
    """A page of the log; see `LogFilter` for the conditions.

    The log begins with the latest entry (`sort=time`) or the `oldest`. With `duration`, `cost` or `errors` it begins
    with the highest value, and has the newest 1,000 matching entries, or as many as are found in half a second.
    """

    from_ = Moment(attribute="from_at")
    to = Moment(attribute="to_at")
    status = fields.String(validate=validate.OneOf(STATUSES))
    errors = QueryBoolean()

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        return log_page(data)


class SessionEntry(AnswerSchema):
    """`cost` is the sum in US dollars. It is null for sessions that were stored before costs were kept by model."""

    type = choice("otel", get=lambda _: "otel")
    session = fields_of(logs.SessionSummary, "id", "conversation_id")
    started_at = time(get=lambda session: of_unix_ns(session.start_ns))
    last_activity_at = time(get=lambda session: of_unix_ns(session.last_ns))
    about = fields_of(logs.SessionSummary, "turns", "preview", "models", "prompt_versions")
    usage = one(TokenUsage)
    cost = number(allow_none=True, attribute="bill.total_usd")
    unpriced = part(Unpriced, "bill")
    errors = integer()


def _tokens(run: run_log.RunEntry) -> dict[str, int]:
    prompt, completion = run.prompt_tokens, run.completion_tokens
    return {"prompt": prompt, "completion": completion, "total": prompt + completion}


class RunEntrySchema(AnswerSchema):
    type = choice("run", get=lambda _: "run")
    id = integer()
    started_at = time(attribute="created_at")
    status = choice(*STATUSES, attribute="outcome")
    source = text()
    question = text(get=lambda run: run.question[:EXCERPT_MAX])
    answer = text(allow_none=True, get=lambda run: run.answer and run.answer[:EXCERPT_MAX])
    model = text(allow_none=True, attribute="model_name")
    commit_hash = text(allow_none=True)
    tokens = one(Tokens, get=_tokens)
    cost = number(allow_none=True, attribute="cost_usd")
    response_time_ms = integer(allow_none=True, data_key="response_time_ms")
    error = text(allow_none=True, get=lambda run: (run.error or run.nok or "")[:EXCERPT_MAX] or None)
    preview = text(allow_none=True, get=lambda run: run.question[:EXCERPT_MAX])


class RunHitSchema(AnswerSchema):
    """The first text of the run with words of `q`: an excerpt around these words, and their places in the excerpt."""

    kind = choice("question", "answer")
    text = text()
    places = many(many(integer()))


class FoundRunEntry(RunEntrySchema):
    """A run in a log that was searched with `q`."""

    hit = one(RunHitSchema, required=False)


class FoundSessionEntry(SessionEntry):
    """A session in a log that was searched with `q`."""

    hit = one(SearchHit, required=False)


LogEntry = either(
    by_type={
        run_log.RunEntry: RunEntrySchema,
        logs.SessionSummary: SessionEntry,
        log_words.FoundRun: FoundRunEntry,
        log_words.FoundSession: FoundSessionEntry,
    }
)


class LogSchema(AnswerSchema):
    """`sorted` is present if the log is sorted by duration, cost or errors; entries have `hit` if `q` was sent."""

    entries = many(LogEntry)
    next_cursor = text(allow_none=True)
    sorted = one(SortedEntries, required=False)
