"""Storing a batch of spans: decoded outside any transaction, written with its turns and sessions in one."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from itertools import groupby
from typing import Literal

import structlog
from sqlalchemy import Connection

from app.db import Database
from app.errors import Invalid, RepriseError, TooLarge, UnsupportedMediaType
from app.limits.mailbox import Mailbox
from app.metrics import Metrics
from app.metrics.registry import BATCH_BYTES, BATCH_SECONDS, BATCHES, SPANS
from app.models import rejected_spans, sessions, spans, turns
from app.models.rejected_spans import RejectedSpan
from app.models.sessions import SessionRow
from app.models.turns import TurnRow
from app.otlp.decode import decode
from app.otlp.inflate import inflate
from app.otlp.rejections import Rejection, explain, reject_unknown_prompts, too_large
from app.otlp.span import Span
from app.services.known_prompts import KnownPrompts
from app.services.masking import MaskingRules
from app.sessions.facts import TurnFacts, dump, load, merge
from app.timestamps import Now

log = structlog.get_logger(__name__)

Outcome = Literal["stored", "invalid", "too_large", "unsupported", "unavailable"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a batch. `message` says what was wrong with it or with some of its spans."""

    outcome: Outcome
    stored: int = 0
    duplicates: int = 0
    rejected: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True)
class _Turn:
    """The spans of a batch that belong to one turn, and what they say about it."""

    prompt_id: int
    trace_id: bytes
    facts: TurnFacts

    @property
    def session_key(self) -> bytes:
        return session_key(self.prompt_id, self.trace_id, self.facts)


def session_key(prompt_id: int, trace_id: bytes, facts: TurnFacts) -> bytes:
    """16 bytes that the turns of a conversation share; a turn without a conversation has its own."""
    named = f"c{facts.conversation[1]}".encode() if facts.conversation else b"t" + trace_id
    return blake2b(named, key=str(prompt_id).encode(), digest_size=16).digest()


class IngestService:
    def __init__(
        self, *, database: Database, mailbox: Mailbox, now: Now, batch_bytes: int, span_bytes: int, metrics: Metrics
    ) -> None:
        self._database = database
        self._mailbox = mailbox
        self._now = now
        self._batch_bytes = batch_bytes
        self._span_bytes = span_bytes
        self._metrics = metrics
        self._known = KnownPrompts(database)
        self._masking = MaskingRules(database)

    def store_claimed(self, project_id: int, key: str, ticket: str, encoding: str) -> dict[str, object]:
        """Store the batch that waits under `ticket`; the receipt as JSON for the request that waits for it."""
        body = self._mailbox.body(ticket)
        if body is None:
            return asdict(Receipt("unavailable", message="The batch was lost before it was stored; send it again."))
        receipt = self.store(project_id, body, encoding, seen=self._mailbox.stored_before(key))
        self._mailbox.done(key, ticket, stored=receipt.outcome == "stored")
        return asdict(receipt)

    def store(self, project_id: int, body: bytes, encoding: str = "", *, seen: bool = False) -> Receipt:
        """Store a batch as it came from an exporter; `seen` is a hint that it was stored before."""
        with self._metrics.timed(BATCH_SECONDS):
            receipt = self._store(project_id, body, encoding, seen=seen)
        self._metrics.count(BATCHES, receipt.outcome)
        self._metrics.count(BATCH_BYTES, by=len(body))
        for outcome, spans_of_it in (
            ("stored", receipt.stored),
            ("duplicate", receipt.duplicates),
            ("rejected", receipt.rejected),
        ):
            self._metrics.count(SPANS, outcome, by=spans_of_it)
        return receipt

    def _store(self, project_id: int, body: bytes, encoding: str, *, seen: bool) -> Receipt:
        try:
            decoded = decode(inflate(body, encoding, limit=self._batch_bytes))
        except (Invalid, TooLarge, UnsupportedMediaType) as error:
            return Receipt(_outcome(error), message=str(error))
        self._metrics.count(SPANS, "received", by=len(decoded.spans) + len(decoded.rejected))
        try:
            # Prompts never leave a project.
            known = self._known.among(project_id, {span.prompt_id for span in decoded.spans})
            kept, foreign = reject_unknown_prompts(decoded.spans, known)
            kept, large = self._reject_large(kept)
            kept, rejected = self._masking.apply(project_id, kept, decoded.rejected + foreign + large)
            stored = self._write(project_id, kept, seen=seen)
            self._keep_rejections(project_id, rejected)
        except RepriseError as error:
            return Receipt("unavailable", message=str(error))
        receipt = Receipt("stored", stored, len(kept) - stored, len(rejected), explain(rejected))
        log.info("batch", **asdict(receipt))
        return receipt if kept or not rejected else replace(receipt, outcome="invalid")

    def _reject_large(self, found: list[Span]) -> tuple[list[Span], list[Rejection]]:
        large = [span for span in found if len(span.raw) > self._span_bytes]
        if not large:
            return found, []
        rejections = [too_large(span, self._span_bytes) for span in large]
        return [span for span in found if len(span.raw) <= self._span_bytes], rejections

    def _write(self, project_id: int, found: Sequence[Span], *, seen: bool) -> int:
        """Store what is new, with its turns and sessions; returns how many spans were new."""
        if seen:
            found = self._not_stored(project_id, found)
        if not found:
            return 0
        ordered = sorted(found, key=lambda span: (span.trace_id, span.span_id))
        batch_id = _new_batch_id(self._now().timestamp())
        rows = [_row(project_id, batch_id, span) for span in ordered]
        groups = _turns(ordered)

        def work(connection: Connection) -> int:
            stored = spans.insert_new(connection, rows)
            fresh = groups
            if stored < len(rows):
                keys = [(span.trace_id, span.span_id) for span in ordered]
                ours = spans.stored_keys(connection, project_id=project_id, keys=keys, batch_id=batch_id)
                fresh = _turns([span for span in ordered if (span.trace_id, span.span_id) in ours])
            if fresh:
                _write_turns(connection, project_id, batch_id, fresh)
            return stored

        return self._database.retrying(work)

    def _not_stored(self, project_id: int, found: Sequence[Span]) -> list[Span]:
        keys = [(span.trace_id, span.span_id) for span in found]
        with self._database.read() as connection:
            stored = spans.stored_keys(connection, project_id=project_id, keys=keys)
        return [span for span in found if (span.trace_id, span.span_id) not in stored]

    def _keep_rejections(self, project_id: int, rejected: Sequence[Rejection]) -> None:
        if not rejected:
            return
        now = self._now()
        rows = [
            RejectedSpan(
                project_id, one.prompt_id, one.trace_id, one.span_id, one.name, one.code, one.reason[:1000], now
            )
            for one in rejected
        ]

        def work(connection: Connection) -> None:
            rejected_spans.add_rejected(connection, rows)
            rejected_spans.forget_old(connection, project_id=project_id)

        self._database.retrying(work)


def _turns(ordered: Sequence[Span]) -> list[_Turn]:
    """The turns of spans, in key order."""

    def key(span: Span) -> tuple[int, bytes]:
        return (span.prompt_id, span.trace_id)

    return [_Turn(*turn, TurnFacts.of(group)) for turn, group in groupby(sorted(ordered, key=key), key=key)]


def _write_turns(connection: Connection, project_id: int, batch_id: int, fresh: Sequence[_Turn]) -> None:
    """Add the new spans' facts to their turns, and the turns to their sessions."""
    rows = [_turn_row(project_id, batch_id, turn) for turn in fresh]
    left: set[bytes] = set()
    if turns.insert_new(connection, rows) < len(rows):
        by_key = {(turn.prompt_id, turn.trace_id): turn for turn in fresh}
        known = turns.lock_existing(connection, keys=list(by_key), batch_id=batch_id)
        merged = {
            old.key: replace(by_key[old.key], facts=merge(load(old.facts), by_key[old.key].facts)) for old in known
        }
        turns.replace(connection, [_turn_row(project_id, batch_id, turn) for turn in merged.values()])
        left = {old.session_key for old in known if old.session_key != merged[old.key].session_key}
        fresh = list((by_key | merged).values())
    sessions.put(connection, _session_rows(project_id, fresh))
    for key in sorted(left):
        sessions.settle(connection, session_key=key)


def _session_rows(project_id: int, fresh: Sequence[_Turn]) -> list[SessionRow]:
    rows: dict[bytes, SessionRow] = {}
    for turn in fresh:
        facts = turn.facts
        conversation_id = facts.conversation[1] if facts.conversation else None
        row = SessionRow(turn.session_key, project_id, turn.prompt_id, conversation_id, facts.start_ns, facts.end_ns)
        if known := rows.get(row.session_key):
            row = replace(row, start_ns=min(known.start_ns, row.start_ns), last_ns=max(known.last_ns, row.last_ns))
        rows[row.session_key] = row
    return [rows[key] for key in sorted(rows)]


def _turn_row(project_id: int, batch_id: int, turn: _Turn) -> TurnRow:
    return TurnRow(
        project_id,
        turn.prompt_id,
        turn.trace_id,
        turn.session_key,
        turn.facts.start_ns,
        turn.facts.end_ns,
        turn.facts.opening[1] if turn.facts.opening else None,
        dump(turn.facts),
        batch_id,
    )


def _row(project_id: int, batch_id: int, span: Span) -> spans.NewSpan:
    return (project_id, span.trace_id, span.span_id, span.prompt_id, batch_id, span.scope, span.raw)


def _new_batch_id(now_s: float) -> int:
    """Milliseconds since 1970 and 21 random bits: unique enough to tell one attempt's rows from another's."""
    return int(now_s * 1000) << 21 | secrets.randbits(21)


def _outcome(error: RepriseError) -> Outcome:
    if isinstance(error, TooLarge):
        return "too_large"
    return "unsupported" if isinstance(error, UnsupportedMediaType) else "invalid"
