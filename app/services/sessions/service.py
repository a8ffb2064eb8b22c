"""Sessions as people read them; each request builds them from the stored spans."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import require
from app.models import scores, session_list, sessions, turns
from app.models.scores import ScoreRow
from app.models.sessions import SessionRow
from app.models.spans import StoredSpan
from app.otlp.logs import events_of
from app.prices.book import NO_PRICES, PriceBook
from app.prices.types import NOTHING, Bill, total
from app.services.language_models.prices import PriceService
from app.services.sessions import reading
from app.services.sessions.bills import short_ones
from app.services.sessions.reading import (
    LargeReads,
    ReadSpans,
    read_spans,
    spans_left_out,
    turns_left_out,
    turns_within,
)
from app.sessions.build import build_session
from app.sessions.facts import TurnFacts
from app.sessions.model_calls import CallSums, calls_in
from app.sessions.outlines import load_outline, versions_in
from app.sessions.sums import may_lack_names, names_in
from app.sessions.types import Turn, Usage

_SESSION_ID = re.compile(r"[0-9a-f]{32}")
NO_SESSION = "There is no such session."
TURNS_MAX = 10_000
"""Traces of a session that are read at once."""


@dataclass(frozen=True, slots=True)
class Session:
    """A session with its turns, and the scores of the session, its turns and its spans, both in order."""

    id: str
    prompt_id: int
    conversation_id: str | None
    turns: tuple[Turn, ...]
    scores: tuple[ScoreRow, ...] = ()

    @property
    def usage(self) -> Usage:
        return sum((turn.usage for turn in self.turns), Usage())

    @property
    def bill(self) -> Bill:
        """The cost of the model calls of all turns."""
        return total(turn.bill for turn in self.turns)

    @property
    def duration_ms(self) -> float:
        """The milliseconds from the start of the first turn to the end of the last one."""
        times = [(turn.start_ns, turn.end_ns) for turn in self.turns]
        return round((max(end for _, end in times) - min(start for start, _ in times)) / 1e6, 3) if times else 0.0

    @property
    def first_token_ms(self) -> float | None:
        """The milliseconds until the first token of the first turn that recorded one."""
        return next((turn.first_token_ms for turn in self.turns if turn.first_token_ms is not None), None)


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """A session as a log lists it. It is made from the facts of the turns; no span is read."""

    id: str
    row_id: int
    conversation_id: str | None
    start_ns: int
    last_ns: int
    turns: int
    preview: str | None
    models: tuple[str, ...]
    prompt_versions: tuple[str, ...]
    usage: Usage
    errors: int
    bill: Bill = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionService:
    database: Database
    prices: PriceService
    large: LargeReads

    def get(self, *, project_id: int, session_id: str) -> Session:
        """Return a session; `NotFound` in another project, or if all of its turns have moved to another session.

        It is read until it needs `RECORD_BYTES`, and at most its first `TURNS_MAX` traces. Its turns have a warning
        where spans are left out, and the last one where turns are.
        """
        return self._get(project_id, session_id, reading.RECORD_BYTES)

    def _get(self, project_id: int, session_id: str, most: int | None, book: PriceBook | None = None) -> Session:
        with self.database.read() as connection:
            row = require_session(connection, project_id=project_id, session_id=session_id)
            of_session: dict[str, Any] = {"project_id": project_id, "session_key": row.session_key}
            first = turns.traces_of(connection, **of_session, limit=TURNS_MAX)
            count = len(first) if len(first) < TURNS_MAX else turns.count_turns(connection, **of_session)
            book = book or self.prices.book(connection, project_id=project_id)
            read = read_spans(connection, row, first, most=most)
            read.later_turns = count - len(first)
            return session_of(connection, row, first, read, book)

    def opened(
        self, *, project_id: int, session_id: str, book: PriceBook | None = None
    ) -> AbstractContextManager[Session]:
        """Return a session as `get`. Few large ones are open at once; raises `Unavailable` if these are too many.

        Without a `book` the prices are read.
        """
        read = partial(self._get, project_id, session_id, book=book)
        return self.large.opened(project_id, read, most=reading.RECORD_BYTES)

    def beginning(
        self, *, project_id: int, session_id: str, turns_max: int, spans_max: int
    ) -> AbstractContextManager[tuple[Session, int]]:
        """Return a session with its first turns, and the number of all its turns; raises as `opened`.

        It has at most so many turns, and no more than have so many spans in all and need `RECORD_BYTES`.
        """
        read = partial(self._beginning, project_id, session_id, turns_max, spans_max)
        return self.large.opened(project_id, read, most=reading.RECORD_BYTES)

    def _beginning(
        self, project_id: int, session_id: str, turns_max: int, spans_max: int, most: int | None
    ) -> tuple[Session, int]:
        with self.database.read() as connection:
            row = require_session(connection, project_id=project_id, session_id=session_id)
            of_session: dict[str, Any] = {"project_id": project_id, "session_key": row.session_key}
            trace_ids = turns.traces_of(connection, **of_session, limit=turns_max)
            of_prompt = {"project_id": project_id, "prompt_id": row.prompt_id}
            facts = turns.facts_of(connection, **of_prompt, trace_ids=trace_ids)
            spans_of = {trace_id: load_outline(dumped).span_count for trace_id, dumped in facts}
            sizes = accumulate(spans_of.get(trace_id, 0) for trace_id in trace_ids)
            fitting = trace_ids[: sum(1 for size in sizes if size <= spans_max)]
            first = turns_within(connection, row, fitting, reading.RECORD_BYTES)
            book = self.prices.book(connection, project_id=project_id)
            count = turns.count_turns(connection, **of_session)
            return built_session(connection, row, first, book, most=most), count


def built_session(
    connection: Connection,
    row: SessionRow,
    trace_ids: Sequence[bytes],
    prices: PriceBook,
    *,
    most: int | None,
    least_of: Collection[bytes] = (),
) -> Session:
    """Return a session with the turns of `trace_ids` and their scores; for `most` and `least_of` see `read_spans`."""
    read = read_spans(connection, row, trace_ids, most=most, least_of=least_of)
    return session_of(connection, row, trace_ids, read, prices)


def session_of(
    connection: Connection,
    row: SessionRow,
    trace_ids: Sequence[bytes],
    read: ReadSpans,
    prices: PriceBook,
    *,
    divide: bool = True,
) -> Session:
    """Return a session with the turns of `trace_ids`, built from these of their spans; see `built_session`."""
    project_id = row.project_id
    scored = scores.scores_of(connection, project_id=project_id, trace_ids=trace_ids, session_key=row.session_key)
    traces: dict[bytes, list[StoredSpan]] = defaultdict(list)
    for span in read.spans:
        traces[span.trace_id].append(span)
    facts = turns.facts_of(connection, project_id=project_id, prompt_id=row.prompt_id, trace_ids=list(traces))
    named = frozenset(names_in(row.names or "", "version")).union(*(versions_in(dumped) for _, dumped in facts))
    built = build_session(traces.values(), named, events_of(read.records), prices, divide=divide)
    known_spans = {(span.trace_id, span.span_id) for span in read.spans}
    shown = tuple(score for score in scored if score.span_id is None or score.key in known_spans)
    return Session(row.session_key.hex(), row.prompt_id, row.conversation_id, _warned(built, read), shown)


def _warned(built: Sequence[Turn], read: ReadSpans) -> tuple[Turn, ...]:
    """Return the turns, with a warning where spans of them, or other turns, were left out."""
    lacking = +read.left_out  # without the traces of which nothing was left out
    if not lacking and not read.later_turns:
        return tuple(built)
    counts = [lacking.pop(bytes.fromhex(turn.trace_id), 0) for turn in built]
    notes = [[spans_left_out(count)] if count else [] for count in counts]
    if (missing := len(lacking) + read.later_turns) and notes:
        notes[-1].append(turns_left_out(missing))
    return tuple(replace(turn, warnings=(*turn.warnings, *more)) for turn, more in zip(built, notes, strict=True))


def session_key_of(session_id: str) -> bytes | None:
    """Return the key of a session's id, 32 lower-case hex digits; None for any other text."""
    return bytes.fromhex(session_id) if _SESSION_ID.fullmatch(session_id) else None


def require_session(connection: Connection, *, project_id: int, session_id: str) -> SessionRow:
    """Return the row of a session; `NotFound` if the project does not have it."""
    key = session_key_of(session_id)
    row = sessions.find_session(connection, project_id=project_id, session_key=key) if key else None
    return require(row, NO_SESSION)


def summarise(
    connection: Connection, rows: Sequence[SessionRow], prices: PriceBook = NO_PRICES
) -> list[SessionSummary]:
    """Return the summaries of a project's sessions, in their order, from their sums; without `prices` no costs.

    Turns are only read of short sessions with unknown sums, or with so many names that some are not kept.
    """
    of_turns = [row for row in rows if row.errors is None or row.calls is None or may_lack_names(row.names or "")]
    summaries = {row.session_key: summary_of(row, facts, prices) for row, facts in short_ones(connection, of_turns)}
    others = [row for row in rows if row.session_key not in summaries]
    openings = session_list.previews(connection, others)
    summaries |= {row.session_key: _of_sums(row, openings.get(row.session_key), prices) for row in others}
    return [summaries[row.session_key] for row in rows]


def _of_sums(row: SessionRow, preview: str | None, prices: PriceBook) -> SessionSummary:
    names, calls = row.names or "", calls_in(row.calls or b"")
    return SessionSummary(
        id=row.session_key.hex(),
        row_id=row.id,
        conversation_id=row.conversation_id,
        start_ns=row.start_ns,
        last_ns=row.last_ns,
        turns=row.turns,
        preview=preview,
        models=names_in(names, "model"),
        prompt_versions=names_in(names, "version"),
        usage=calls.usage,
        errors=row.errors or 0,
        bill=calls.bill(prices),
    )


def summary_of(row: SessionRow, facts: Sequence[TurnFacts], prices: PriceBook) -> SessionSummary:
    """Return the summary of a session from the facts of its turns, in their order."""
    calls = CallSums(model_calls for turn_facts in facts for model_calls in turn_facts.calls)
    return SessionSummary(
        id=row.session_key.hex(),
        row_id=row.id,
        conversation_id=row.conversation_id,
        start_ns=row.start_ns,
        last_ns=row.last_ns,
        turns=sum(turn_facts.turns for turn_facts in facts),
        preview=next((turn_facts.preview for turn_facts in facts if turn_facts.preview), None),
        models=tuple(sorted(frozenset().union(*(turn_facts.models for turn_facts in facts)))),
        prompt_versions=tuple(sorted(frozenset().union(*(turn_facts.prompt_versions for turn_facts in facts)))),
        usage=calls.usage,
        errors=sum(turn_facts.errors for turn_facts in facts),
        bill=calls.bill(prices),
    )
