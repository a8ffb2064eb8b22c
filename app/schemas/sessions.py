"""The list of a project's sessions: its query, and its answer as JSON, JSON lines and CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import orjson
from marshmallow import fields, post_load, validate

from app.models.session_list import Order
from app.models.sessions import SessionRow
from app.pagination import Sorted
from app.schemas.answer import AnswerSchema, choice, dump, fields_of, integer, many, number, one, text, time
from app.schemas.base import BIGINT_MAX, Identifier, Moment, PageQuerySchema, QueryBoolean, StrictSchema, Text
from app.schemas.csv_lines import csv_lines
from app.schemas.lists import SortedEntries, with_ranges
from app.schemas.traces import TokenUsage
from app.services.search import service as search
from app.services.sessions.filters import ALL, PERIODS, YESTERDAY, SessionFilter
from app.services.sessions.listing import Count, ListedSession
from app.sessions.facts import MAX_NAME
from app.sessions.turn_texts import Kind
from app.timestamps import of_unix_ns

# A duration in nanoseconds is a BIGINT.
MS_MAX = BIGINT_MAX // 1_000_000


def _whole(maximum: int = BIGINT_MAX) -> fields.Integer:
    return fields.Integer(validate=validate.Range(0, maximum))


def _name(maximum: int = MAX_NAME) -> Text:
    return Text(minimum=1, maximum=maximum)


class Filters(StrictSchema):
    """Conditions on sessions. Listed sessions meet all of them.

    `errors` is true for sessions with an error in a span, false for sessions without. `tool` was called, `failedTool`
    failed; `label` now points to a version that the session ran with. `score` is the name of a score of the session, of
    a turn or a span, with a value between `minScore` and `maxScore`. `minCost` and `maxCost` are US dollars at current
    prices; sessions without any price meet neither. `q` searches the turns, including tools. All of it must match in
    one turn: words, "phrases" and beginnings of words as in `refund*`; a minus excludes what follows it. `since` is
    when the session started: in the last hour, day, 7 or 30 days, or yesterday in UTC. Sessions without a model call, a
    tool call, an agent or words, such as health checks, are only listed with `include=all`.
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
    include = fields.String(validate=validate.Equal(ALL))
    sort = fields.String(attribute="order", validate=validate.OneOf((*get_args(Order), "cost")))


def _with_filters(data: dict[str, Any], *others: str) -> dict[str, Any]:
    """Return the fields in `others` unchanged, and the rest as `filters`."""
    kept = {name: data.pop(name) for name in others if name in data}
    return kept | {"filters": SessionFilter(**with_ranges(data, "tokens", "duration_ms", "turns", "cost"))}


class SessionQuerySchema(Filters, PageQuerySchema):
    """A page of the list. It begins with the latest sessions (`sort=time`), the longest, or the ones with most errors.

    `oldest`, `shortest` and `fewestErrors` reverse the order. With `sort=cost` the list begins with the most expensive
    sessions. Costs depend on current prices, so no index has them: only the newest 1,000 matching sessions are sorted,
    or as many as are found in half a second.
    """

    count = QueryBoolean()

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """Return the keyword arguments of `SessionListService.page`, and `count`."""
        return _with_filters(data, "order", "limit", "cursor", "count")


class SessionExportSchema(Filters):
    """All matching sessions, in the order of the list. They can't be sorted by cost."""

    sort = fields.String(attribute="order", validate=validate.OneOf(get_args(Order)))

    @post_load
    def build(self, data: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
        """Return the keyword arguments of `SessionListService.all`."""
        return {"order": "time"} | _with_filters(data, "order")


class ListedSessionSchema(AnswerSchema):
    """`errors` is null for a session of an earlier release until its totals have been computed.

    `cost` is in US dollars at current prices. It is null if no model call has a price.
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


class SearchHit(AnswerSchema):
    """The first text of the session with words of `q`, as an excerpt around these words.

    `turn` is the number of the turn in the session. `spanId` is null for the user's message. `places` has the beginning
    and the end of each word within the excerpt, in characters.
    """

    found = fields_of(search.Hit, "turn", "trace_id", "span_id")
    kind = choice(*get_args(Kind))
    text = text()
    places = many(many(integer()))


class FoundSessionSchema(ListedSessionSchema):
    """`hit` is present if the query has `q`."""

    hit = one(SearchHit, required=False)


class SessionCount(AnswerSchema):
    """The number of counted sessions. There are more unless it is `complete`."""

    count = fields_of(Count, "sessions", "complete")


@dataclass(frozen=True, slots=True)
class SessionPage:
    entries: Sequence[ListedSession]
    next_cursor: str | None
    count: Count | None
    sorted: Sorted | None


class SessionsSchema(AnswerSchema):
    """`count` is present if the query requests it, `sorted` if the list is sorted by cost."""

    sessions = many(FoundSessionSchema, attribute="entries")
    next_cursor = text(allow_none=True)
    count = one(SessionCount, required=False)
    sorted = one(SortedEntries, required=False)


def session_lines(listed: Iterable[ListedSession]) -> Iterator[bytes]:
    """Yield the sessions as JSON lines."""
    return (orjson.dumps(dump(ListedSessionSchema, session), option=orjson.OPT_APPEND_NEWLINE) for session in listed)


def session_csv(listed: Iterable[ListedSession]) -> Iterator[bytes]:
    """Yield the sessions as CSV."""
    return (
        line.encode() for line in csv_lines((dump(ListedSessionSchema, session) for session in listed), CSV_COLUMNS)
    )


CSV_COLUMNS = [
    name
    for key, field in ListedSessionSchema._declared_fields.items()
    for name in (
        [f"{field.data_key}.{inner.data_key}" for inner in TokenUsage._declared_fields.values()]
        if key == "usage"
        else [str(field.data_key)]
    )
]
"""Return the columns of CSV: the keys of the JSON. Keys of nested objects follow a dot."""
