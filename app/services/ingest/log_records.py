"""Stores OTLP log records with the messages of a model call, or with its evaluation; sessions join them to spans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from hashlib import blake2b

from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import Invalid, ServiceError, TooLarge
from app.models import log_records, organizations, scores, turns, waiting
from app.models.compression import ToStored
from app.models.queries import new_batch_id
from app.models.span_bodies import SpanKey
from app.otlp.evaluations import EVALUATION
from app.otlp.logs import DecodedLogs, LogRecord, decode_logs, evaluation_in
from app.services.ingest.batch import BatchForm, Receipt
from app.services.ingest.evaluations import score_row
from app.services.ingest.known_prompts import KnownPrompts
from app.services.ingest.openings import OpeningService
from app.services.masking.rules import SPAN_BYTES_MAX, MaskingRules, new_budget
from app.sessions.facts import load
from app.timestamps import Now
from app.values.json import Body
from app.work.remover import Remover
from app.work.round_robin import RoundRobin

NO_RESPONSE = "it names no span, and no stored turn has its gen_ai.response.id as that of its last model call"
WAITS = timedelta(days=7)
"""A record is removed if its span has not come within this time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRecordService:
    """Stores batches of log records; a record may have at most `record_bytes` bytes."""

    database: Database
    now: Now
    rules: MaskingRules
    known_prompts: KnownPrompts
    remover: Remover
    openings: OpeningService
    record_bytes: int
    to_stored: ToStored
    _round_robin: RoundRobin = field(default_factory=RoundRobin, init=False)

    def store(self, project_id: int, body: Body, form: BatchForm) -> Receipt:
        """Store the records of a decompressed batch; raises `Invalid` and `TooLarge`."""
        decoded = decode_logs(body, form.prompt_id, protobuf=form.protobuf, limit=self.record_bytes)
        try:
            decoded.records = self._with_spans(project_id, decoded)
            stored = self._write(project_id, self._masked(project_id, decoded))
            content = [record for record in decoded.records if record.name != EVALUATION]
            self.openings.add(project_id, {(record.trace_id, record.span_id) for record in content}, agent=form.agent)
        except (Invalid, TooLarge):
            raise
        except ServiceError as error:
            return Receipt("unavailable", message=str(error))
        rejected = decoded.rejected.total()
        all_bad = 0 < rejected == decoded.received
        kept = len(decoded.records)
        return Receipt("invalid" if all_bad else "stored", stored, kept - stored, rejected, decoded.explain())

    def _with_spans(self, project_id: int, decoded: DecodedLogs) -> list[LogRecord]:
        """Return the records, each with a span.

        An evaluation may name only the id of a response. It gets the span with this response, and is added to
        `decoded.rejected` if there is none.
        """
        named = {(record.prompt_id, record.response_id) for record in decoded.records if record.response_id}
        if not named:
            return decoded.records
        with self.database.read() as connection:
            spans = _answering_spans(connection, project_id, named)
        placed = (_placed(record, spans, decoded.rejected) for record in decoded.records)
        return [record for record in placed if record]

    def _masked(self, project_id: int, decoded: DecodedLogs) -> list[LogRecord]:
        masking = self.rules.of(project_id)
        if not masking:
            return decoded.records
        kept, budget = [], new_budget()
        for record in decoded.records:
            try:
                raw = masking.span(record.raw, budget)
            except RecursionError:
                raw = b""
            if 0 < len(raw) <= SPAN_BYTES_MAX:
                kept.append(replace(record, raw=raw))
            else:
                decoded.rejected["it can't be masked: it nests too deeply, or is too large"] += 1
        return kept

    def _write(self, project_id: int, records: Sequence[LogRecord]) -> int:
        if not records:
            return 0
        # Records never name a prompt of another project, because erasing that prompt would remove them.
        named = {record.prompt_id for record in records if record.prompt_id is not None}
        known = self.known_prompts.among(project_id, named)
        batch_id = new_batch_id(self.now())
        content = [record for record in records if record.name != EVALUATION]
        rows = list(self._rows(project_id, content, known, batch_id))
        scored = list(_scores(project_id, records, known, batch_id))

        def work(connection: Connection) -> int:
            return log_records.insert_new(connection, rows) + scores.insert_new(connection, scored)

        return self.database.retrying(work)

    def _rows(
        self, project_id: int, content: Sequence[LogRecord], known: Set[int], batch_id: int
    ) -> Iterator[log_records.NewRecord]:
        """Yield the rows of records. Equal records of one batch are numbered: a conversation may repeat its words."""
        seen: Counter[tuple[bytes, bytes, bytes]] = Counter()
        bodies = self.to_stored([record.raw for record in content])
        for record, body in zip(content, bodies, strict=True):
            same = (record.trace_id, record.span_id, record.raw)
            digest = blake2b(record.raw, digest_size=16, salt=seen[same].to_bytes(8)).digest()
            seen[same] += 1
            prompt_id = record.prompt_id if record.prompt_id in known else None
            yield (project_id, record.trace_id, record.span_id, digest, prompt_id, record.time_ns, body, batch_id)

    def sweep(self) -> None:
        """Remove rows that have waited longer than `WAITS` for a span, until none is left or the time is used up."""
        settle = partial(waiting.settle_waiting, before=self.now() - WAITS)
        with self.database.read() as connection:
            owners = organizations.owners(connection)
        self.remover.exhaust_in_turn(
            self._round_robin,
            owners,
            lambda project_id: [partial(settle, table=table, project_id=project_id) for table in waiting.TABLES],
        )


Answers = Mapping[tuple[int | None, str], SpanKey]
"""Spans by prompt, None for any, and response id."""


def _answering_spans(connection: Connection, project_id: int, responses: Set[tuple[int | None, str]]) -> Answers:
    """Return the spans of turns' last model calls that have these response ids."""
    first = turns.first_with_responses(connection, project_id=project_id, responses=responses)
    rows = turns.list_existing(connection, project_id=project_id, keys=sorted({turn.key for turn in first.values()}))
    recorded = {row.key: load(row.facts).response for row in rows}
    return {
        response: (turn.key[1], named[0][2]) for response, turn in first.items() if (named := recorded.get(turn.key))
    }


def _placed(record: LogRecord, spans: Answers, rejected: Counter[str]) -> LogRecord | None:
    """Return a record with the span of its response id; None, and a reason in `rejected`, without such a span."""
    if not record.response_id:
        return record
    key = spans.get((record.prompt_id, record.response_id))
    if key is None:
        rejected[NO_RESPONSE] += 1
        return None
    return replace(record, trace_id=key[0], span_id=key[1])


def _scores(project_id: int, records: Iterable[LogRecord], known: Set[int], batch_id: int) -> Iterator[scores.NewScore]:
    for record in records:
        if evaluation := evaluation_in(record):
            prompt_id = record.prompt_id if record.prompt_id in known else None
            key = (record.trace_id, record.span_id)
            yield score_row(project_id, prompt_id, key, record.time_ns, evaluation, waiting_since=batch_id)
