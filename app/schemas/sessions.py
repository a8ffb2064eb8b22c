"""The list of a project's sessions: its query, and its answer as JSON, as JSON lines and as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import orjson
from marshmallow import fields, post_load, validate

from app.cursors import Sorted
from app.models.session_list import Order
from app.models.sessions import SessionRow
from app.schemas.answer import Answer, choice, dump, fields_of, integer, many, number, one, text, time
from app.schemas.base import BIGINT_MAX, Identifier, Moment, PageQuerySchema, QueryBoolean, StrictSchema, Text
from app.schemas.csv_lines import csv_lines
from app.schemas.lists import SortedEntries, with_ranges
from app.schemas.traces import TokenUsage
from app.services.traces import search, session_list
from app.services.traces.session_filter import PERIODS, YESTERDAY, SessionFilter
from app.sessions.facts import MAX_NAME
from app.sessions.said import Kind
from app.timestamps import of_unix_ns

# A duration in nanoseconds is a BIGINT.
MS_MAX = BIGINT_MAX // 1_000_000


def _whole(maximum: int = BIGINT_MAX) -> fields.Integer:
    return fields.Integer(validate=validate.Range(0, maximum))


def _name(maximum: int = MAX_NAME) -> Text:
    return Text(minimum=1, maximum=maximum)


class Filters(StrictSchema):
    """Conditions on sessions. All that are given hold of each session that is listed.

    `errors` is true for sessions in which a span has an error, false for those without. `tool` was called, `failedTool`
    failed; `label` points to a version that the session ran with, now. `score` is the name of a score of it, or of one
    of its turns or spans, whose value is between `minScore` and `maxScore`. `minCost` and `maxCost` are US dollars by
    the prices of now; a session without any price meets neither. `q` is what is all said in one turn of the session,
    tools included: words, "phrases", beginnings of words as in `refund*`, and with a minus what the turn must not have.
    `since` is the last hour, day, 7 or 30 days, or yesterday in UTC, in which the session started.
    """

    q = Text(attribute="words", minimum=1, maximum=200)
    prompt_id = Identifier()
    version = _name()
    label = _name(64)
    model = _name()
    user_id = _name()
    conversation_id = _name(512)
    errors: fields.Boolean = QueryBoolean()
    tool = _name()
    failed_tool = _name()
    score = _name()
    min_score = fields.Float()
    max_score = fields.Float()
    min_tokens = _whole()
    max_tokens = _whole()
    min_duration_ms = _whole(MS_MAX)
    max_duration_ms = _whole(MS_MAX)
    min_turns = _whole()
    max_turns = _whole()
    min_cost = fields.Float(validate=validate.Range(0))
    max_cost = fields.Float(validate=validate.Range(0))
    from_ = Moment(attribute="from_at")
    to = Moment(attribute="to_at")
    since = fields.String(validate=validate.OneOf((*PERIODS, YESTERDAY)))
    sort = fields.String(attribute="order", validate=validate.OneOf((*get_args(Order), "cost")))


def _with_filters(data: dict[str, Any], *others: str) -> dict[str, Any]:
    """Return the other fields as they are, and the rest as `filters`."""
    kept = {name: data.pop(name) for name in others if name in data}
    return kept | {"filters": SessionFilter(**with_ranges(data, "tokens", "duration_ms", "turns", "cost"))}


class SessionQuerySchema(Filters, PageQuerySchema):
    """A page of the list, which begins with the latest (`sort=time`), the longest or those with the most errors.

    Or it begins with the `oldest`, the `shortest`, or those with the `fewestErrors`. With `sort=cost` it begins with
    those that cost the most of the newest 1,000 that match, or of those that were found in half a second: no index has
    costs, which are those of the prices of now.
    """

    count = QueryBoolean()

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """Return the keywords of `SessionListService.page`, and `count`."""
        return _with_filters(data, "order", "limit", "cursor", "count")


class SessionExportSchema(Filters):
    """All sessions that match, as the list has them; they are in no order by cost."""

    sort = fields.String(attribute="order", validate=validate.OneOf(get_args(Order)))

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """Return the keywords of `SessionListService.all`."""
        return {"order": "time"} | _with_filters(data, "order")


class ListedSession(Answer):
    """`errors` is null until a session that an earlier release stored has been added up.

    `cost` is in US dollars by the prices of now, null where no model call has a price.
    """

    id = text()
    prompt_id = integer(attribute="row.prompt_id")
    prompt = text(attribute="prompt_name")
    named = fields_of(SessionRow, "conversation_id", "user_id", path="row")
    preview = text(allow_none=True)
    started_at = time(get=lambda session: of_unix_ns(session.row.start_ns))
    last_activity_at = time(get=lambda session: of_unix_ns(session.row.last_ns))
    duration_ms = number(get=lambda session: round(session.row.duration_ns / 1e6, 3))
    counted = fields_of(SessionRow, "turns", "errors", "tool_calls", "tool_errors", path="row")
    usage = one(TokenUsage)
    cost = number(allow_none=True, attribute="bill.total_usd")
    models = many(text(), get=lambda session: session.names("model"))
    prompt_versions = many(text(), get=lambda session: session.names("version"))
    tools = many(text(), get=lambda session: session.names("tool"))
    failed_tools = many(text(), get=lambda session: session.names("failed_tool"))


class SearchHit(Answer):
    """The first text of the session that has words of `q`: a part of it around these words.

    `turn` is the number of the turn in the session, `spanId` is null for what the user said. `places` are the beginning
    and the end of each word in the part, counted in characters.
    """

    found = fields_of(search.Hit, "turn", "trace_id", "span_id")
    kind = choice(*get_args(Kind))
    text = text()
    places = many(many(integer()))


class FoundSession(ListedSession):
    """`hit` is there where the query has `q`."""

    hit = one(SearchHit, required=False)


class SessionCount(Answer):
    """There are more sessions than were counted unless it is `complete`."""

    count = fields_of(session_list.Count, "sessions", "complete")


@dataclass(frozen=True, slots=True)
class SessionPage:
    entries: Sequence[session_list.ListedSession]
    next_cursor: str | None
    count: session_list.Count | None
    sorted: Sorted | None


class Sessions(Answer):
    """`count` is there where the query asks for it, `sorted` where the sort is by cost."""

    sessions = many(FoundSession, attribute="entries")
    next_cursor = text(allow_none=True)
    count = one(SessionCount, required=False)
    sorted = one(SortedEntries, required=False)


def session_lines(found: Iterable[session_list.ListedSession]) -> Iterator[bytes]:
    """Yield the sessions as JSON lines."""
    return (orjson.dumps(dump(ListedSession, one), option=orjson.OPT_APPEND_NEWLINE) for one in found)


def session_csv(found: Iterable[session_list.ListedSession]) -> Iterator[bytes]:
    """Yield the sessions as CSV."""
    return (line.encode() for line in csv_lines((dump(ListedSession, one) for one in found), COLUMNS))


COLUMNS = [
    name
    for key, field in ListedSession._declared_fields.items()
    for name in (
        [f"{field.data_key}.{inner.data_key}" for inner in TokenUsage._declared_fields.values()]
        if key == "usage"
        else [str(field.data_key)]
    )
]
"""The columns of CSV: the keys of the JSON, with those of nested objects behind a point."""
