"""Stores batches of spans.

Spans are decoded outside of transactions. Each transaction writes spans with their turns and sessions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import structlog
from sqlalchemy import Connection

from app.database.transactions import Database
from app.errors import Invalid, ServiceError, TooLarge, Unavailable, UnsupportedMediaType
from app.metrics import Metrics
from app.metrics.registry import BATCH_BYTES, BATCH_SECONDS, BATCHES, SPANS
from app.models import observed, prompt_versions, scores, search, spans
from app.models.queries import new_batch_id
from app.models.span_bodies import SpanKey, ToStored
from app.models.span_sizes import SPAN_BYTES
from app.models.spans import TurnKey
from app.otlp.codex import MARKS as CODING_MARKS
from app.otlp.codex import spans_of_records
from app.otlp.decode import Decoded, decode
from app.otlp.decode_protobuf import decode_protobuf
from app.otlp.evaluations import MARK
from app.otlp.inflate import inflate
from app.otlp.logs import decode_logs
from app.otlp.masking import MASK
from app.otlp.names import version_hash
from app.otlp.span import (
    Rejection,
    Span,
    explain,
    reject_unknown_prompts,
    too_large,
    with_prompts_of_names,
)
from app.redis_store.batches import Mailbox
from app.services.ingest.batch import BatchForm, BatchLost, Receipt, StoredKeys
from app.services.ingest.clocks import ClockWatch
from app.services.ingest.evaluations import scores_in
from app.services.ingest.joining import TurnJoiner
from app.services.ingest.known_prompts import KnownPrompts
from app.services.ingest.log_records import LogRecordService
from app.services.ingest.memory import BatchMemory
from app.services.ingest.observed import observed_rows
from app.services.ingest.openings import OpeningService
from app.services.ingest.rejections import RejectionService
from app.services.ingest.settling import TurnSettler
from app.services.ingest.storer import Storer
from app.services.ingest.turns import TURNS_AT_ONCE, Hashes, TurnPart, add_to_turns, parts_of
from app.services.masking.rules import MaskingRules, new_budget
from app.services.prompts.adoption import AdoptionService
from app.services.prompts.agent_splits import AgentSplitter
from app.timestamps import Now
from app.values.budget import UNLIMITED, WorkBudget
from app.values.json import Body

log = structlog.get_logger(__name__)

SPANS_AT_ONCE = 4096
"""Spans of one transaction. Their rows are in memory with the batch, and other writers wait for the commit."""
LOOKED_AT = 1024 * 1024
"""Bytes of an uncompressed batch that is looked at before an agent is made of it."""
ELEMENTS_READ = 2_000_000
"""Brackets and commas of the spans of a batch that the conventions read: some seconds of work."""


class _Written(NamedTuple):
    """The number of new spans, and the turns of all spans.

    `shared` are the turns in which some may be copies of earlier ones, with the numbers of their spans.
    """

    stored: int
    shared: Mapping[TurnKey, int]
    parts: Sequence[TurnPart]


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestService:
    """Stores batches; `storer` stores queued batches in another process, if there is one."""

    database: Database
    mailbox: Mailbox
    now: Now
    span_bytes: int
    to_stored: ToStored
    metrics: Metrics
    rules: MaskingRules
    known_prompts: KnownPrompts
    adoption: AdoptionService
    splitter: AgentSplitter
    log_records: LogRecordService
    rejections: RejectionService
    memory: BatchMemory
    openings: OpeningService
    settler: TurnSettler
    joiner: TurnJoiner
    clocks: ClockWatch
    searchable: bool
    storer: Storer | None = None

    def store_claimed(
        self, project_id: int, key: str, ticket: str, form: BatchForm, *, sealed: bool = False
    ) -> Receipt:
        """Store the batch that waits under `ticket`; it is encrypted if `sealed`."""
        stored_keys = b""
        try:
            body, earlier = self.mailbox.read(key, ticket)
            if body is None:
                return self._lost("The batch was lost before it was stored; send it again.")
            if sealed:
                body = self.rules.cipher.decrypt(body)
            store = self.storer or self.store_repeatable
            receipt, stored_keys = store(project_id, body, form, earlier)
            return receipt
        except BatchLost as error:
            return self._lost(str(error))
        finally:
            self.mailbox.done(key, ticket, note=stored_keys)

    def _lost(self, message: str) -> Receipt:
        self.metrics.count(BATCHES, "unavailable")
        return Receipt("unavailable", message=message)

    def store(self, project_id: int, body: bytes) -> Receipt:
        """Store an uncompressed batch of JSON."""
        return self.store_repeatable(project_id, body, BatchForm(), b"")[0]

    def store_repeatable(
        self, project_id: int, body: bytes, form: BatchForm, stored_keys: StoredKeys
    ) -> tuple[Receipt, StoredKeys]:
        """Store a batch in the format in which it was sent; returns its receipt and its stored keys.

        `stored_keys` are those of an earlier delivery of the same body.
        """
        with self.metrics.timed(BATCH_SECONDS):
            receipt = self._repeated(project_id, stored_keys) if stored_keys else None
            if receipt is None:
                receipt, stored_keys = self._store_opened(project_id, body, form)
        log.info("batch", **asdict(receipt))
        self.metrics.count(BATCHES, receipt.outcome)
        self.metrics.count(BATCH_BYTES, by=len(body))
        if form.signal == "logs":
            return receipt, b""
        self._count(receipt)
        return receipt, stored_keys

    def _count(self, receipt: Receipt) -> None:
        for outcome, count in (
            ("stored", receipt.stored),
            ("duplicate", receipt.duplicates),
            ("rejected", receipt.rejected),
        ):
            self.metrics.count(SPANS, outcome, by=count)

    def refusal(self, body: bytes, form: BatchForm) -> Receipt | None:
        """Return the receipt of a batch of which nothing can be stored, for whatever prompt; None for another batch.

        A web process has no quota for decoding, so it does not look at a batch of more than `LOOKED_AT` bytes.
        """
        try:
            plain = inflate(body, form.encoding, limit=LOOKED_AT)
        except TooLarge:
            return None
        except (Invalid, UnsupportedMediaType) as error:
            return Receipt(error.code, message=str(error))
        try:
            if form.signal == "logs":
                records = decode_logs(plain, 0, protobuf=form.protobuf, limit=self.log_records.record_bytes)
                kept, rejected, message = len(records.records), records.rejected.total(), records.explain()
                kept += any(mark in plain for mark in CODING_MARKS)
            else:
                decoded = decode_batch(plain, form)
                kept, rejected, message = len(decoded.spans), len(decoded.rejected), explain(decoded.rejected)
        except (Invalid, TooLarge, UnsupportedMediaType) as error:
            return Receipt(error.code, message=str(error))
        if kept:
            return None
        return Receipt("invalid" if rejected else "stored", rejected=rejected, message=message)

    def _repeated(self, project_id: int, stored_keys: StoredKeys) -> Receipt | None:
        """Return the receipt of a repeated batch without decoding it; None unless all of its spans are still stored."""
        keys = _keys(stored_keys)
        try:
            with self.database.read() as connection:
                stored = spans.stored_keys(connection, project_id=project_id, keys=keys)
        except ServiceError as error:
            return Receipt("unavailable", message=str(error))
        if len(stored) < len(keys):
            return None
        self.metrics.count(SPANS, "received", by=len(keys))
        return Receipt("stored", duplicates=len(keys))

    def _store_opened(self, project_id: int, body: bytes, form: BatchForm) -> tuple[Receipt, bytes]:
        try:
            with self.memory.opened(project_id, body, form.encoding) as plain:
                return self._store(project_id, plain, form)
        except (Invalid, TooLarge, UnsupportedMediaType, Unavailable) as error:
            return Receipt(error.code, message=str(error)), b""

    def _store(self, project_id: int, plain: Body, form: BatchForm) -> tuple[Receipt, bytes]:
        """Store a decompressed batch. Raises `Invalid` and `TooLarge` for a batch of which nothing is stored."""
        if form.signal == "logs":
            receipt = self.log_records.store(project_id, plain, form)
            return self._with_spans_of_records(project_id, plain, form, receipt), b""
        decoded = decode_batch(plain, form)
        self.metrics.count(SPANS, "received", by=len(decoded.spans) + len(decoded.rejected))
        try:
            kept, foreign = self._of_project(project_id, decoded.spans)
            kept, large = self._reject_large(kept)
            kept, rejected = self.rules.apply(project_id, kept, decoded.rejected + foreign + large)
            # With the prompt of the address, the erasure of the prompt also removes these.
            rejected = [replace(item, prompt_id=item.prompt_id or form.prompt_id) for item in rejected]
            if form.split and form.prompt_id:
                kept = self.splitter.split(project_id, form.prompt_id, kept, may_make=form.split == "make")
            evaluated = MARK in plain
            # Each mark is a byte: in small batches they need no count.
            is_small = sum(len(span.raw) for span in kept) <= ELEMENTS_READ
            budget = UNLIMITED if is_small else WorkBudget(ELEMENTS_READ)
            written = [self._write(project_id, piece, budget, evaluated=evaluated) for piece in _pieces(kept)]
            stored = sum(piece.stored for piece in written)
            shared = {key: count for piece in written for key, count in piece.shared.items()}
            self.settler.settle(project_id, shared, batch_bytes=sum(SPAN_BYTES + len(span.raw) for span in kept))
            # Also turns of stored spans: the delivery that stored them may have ended before it joined them.
            self.joiner.join(project_id, [part for piece in written for part in piece.parts])
            if form.agent:
                self.adoption.fill(project_id, form.agent, _of_prompt(kept, form.prompt_id))
            self.openings.add(project_id, {(span.trace_id, span.span_id) for span in kept}, agent=form.agent)
            self.rejections.keep(project_id, [*rejected, *self.clocks.warnings(project_id, kept)])
        except ServiceError as error:
            return Receipt("unavailable", message=str(error)), b""
        receipt = Receipt("stored", stored, len(kept) - stored, len(rejected), explain(rejected))
        if rejected:
            return receipt if kept else replace(receipt, outcome="invalid"), b""
        return receipt, b"".join(span.trace_id + span.span_id for span in kept)

    def _with_spans_of_records(self, project_id: int, body: Body, form: BatchForm, receipt: Receipt) -> Receipt:
        """Store the spans that records are equivalent to; returns the receipt of both. Raises as `spans_of_records`."""
        if not any(mark in body for mark in CODING_MARKS) or receipt.outcome != "stored":
            return receipt
        try:
            masked = self._masked_words(project_id)
        except ServiceError as error:
            return Receipt("unavailable", message=str(error))
        of_traces = replace(form, signal="traces", protobuf=False, encoding="")
        outcomes = []
        for export in spans_of_records(body, form.prompt_id, protobuf=form.protobuf, masked=masked):
            stored, _ = self._store(project_id, export, of_traces)
            self._count(stored)
            if stored.outcome == "unavailable":
                return stored
            outcomes.append(stored.outcome)
            receipt = Receipt(
                "stored" if "stored" in outcomes else outcomes[0],
                receipt.stored + stored.stored,
                receipt.duplicates + stored.duplicates,
                receipt.rejected + stored.rejected,
                "; ".join(filter(None, (receipt.message, stored.message))),
            )
        return receipt

    def _masked_words(self, project_id: int) -> Callable[[str, Any], Any]:
        """Return the function that masks an attribute of a record by its name there."""
        masking, budget = self.rules.of(project_id), new_budget()

        def masked(key: str, value: Any) -> Any:
            try:
                return masking.at(value, (key,), budget=budget) if masking else value
            except RecursionError:
                return MASK

        return masked

    def _of_project(self, project_id: int, spans: Sequence[Span]) -> tuple[list[Span], list[Rejection]]:
        """Return the spans of the project's prompts, which they name by id or by name, and reject the others."""
        names = {span.prompt_name for span in spans if span.prompt_name}
        named, unnamed = with_prompts_of_names(spans, self.known_prompts.of_names(project_id, names))
        # A prompt never moves to another project.
        known = self.known_prompts.among(project_id, {span.prompt_id for span in named})
        kept, foreign = reject_unknown_prompts(named, known)
        return kept, unnamed + foreign

    def _reject_large(self, spans: list[Span]) -> tuple[list[Span], list[Rejection]]:
        large = [span for span in spans if len(span.raw) > self.span_bytes]
        if not large:
            return spans, []
        kept = [span for span in spans if len(span.raw) <= self.span_bytes]
        return kept, [too_large(span, self.span_bytes) for span in large]

    def _write(self, project_id: int, spans_: Sequence[Span], budget: WorkBudget, *, evaluated: bool) -> _Written:
        """Store the new spans with their scores, turns and sessions.

        Scores are only looked for if the spans are `evaluated`.
        """
        # A key occurs once in a batch: see `decode`.
        ordered = dict(sorted(((span.trace_id, span.span_id), span) for span in spans_))
        batch_id = new_batch_id(self.now())

        def rows_of(keyed: Mapping[SpanKey, Span]) -> list[spans.SpanRow]:
            stored = self.to_stored(list(keyed.values()))
            return [spans.row_of(project_id, batch_id, span, stored[key]) for key, span in keyed.items()]

        rows = rows_of(ordered)
        hashes = self._hashes(spans_)
        parts = parts_of(list(ordered.values()), hashes, budget)
        scored = scores_in(project_id, spans_) if evaluated else []

        def work(connection: Connection) -> _Written:
            shared: Mapping[TurnKey, int] = {}
            stored = spans.insert_new(connection, rows)
            scores.insert_new(connection, scored)
            new_parts = parts
            if stored < len(rows):
                keys = spans.stored_keys(connection, project_id=project_id, keys=ordered.keys(), batch_id=batch_id)
                new = {key: span for key, span in ordered.items() if key in keys}
                # The row that was to hold their bodies may be one that another batch has stored, without these bodies.
                spans.replace_bodies(connection, sorted({*rows_of(new)}.difference(rows)))
                new_parts = parts_of(list(new.values()), hashes, budget)
            if new_parts:
                shared = add_to_turns(connection, project_id, batch_id, new_parts)
                observed.add(connection, observed_rows(project_id, batch_id, new_parts))
                if self.searchable:
                    search.note_batch(connection, project_id=project_id, batch_id=batch_id)
            return _Written(stored, shared, parts)

        return self.database.retrying(work)

    def _hashes(self, decoded: Sequence[Span]) -> Hashes:
        """Return the version hashes that spans name by `GENAI_VERSION`, by prompt."""
        named: dict[int, set[str]] = defaultdict(set)
        for span in decoded:
            if commit_hash := version_hash(span.attributes):
                named[span.prompt_id].add(commit_hash)
        if not named:
            return {}
        with self.database.read() as connection:
            return {
                prompt_id: prompt_versions.messages_by_hash(connection, prompt_id=prompt_id, hashes=hashes)
                for prompt_id, hashes in named.items()
            }


def _pieces(spans_: Sequence[Span]) -> Iterator[Sequence[Span]]:
    """Yield the spans in lists of at most `SPANS_AT_ONCE`, of at most `TURNS_AT_ONCE` turns."""
    start, turns = 0, set[TurnKey]()
    for end, span in enumerate(spans_):
        turn = (span.prompt_id, span.trace_id)
        if end - start == SPANS_AT_ONCE or (len(turns) == TURNS_AT_ONCE and turn not in turns):
            yield spans_[start:end]
            start, turns = end, set()
        turns.add(turn)
    if start < len(spans_):
        yield spans_[start:]


def _of_prompt(spans_: Sequence[Span], prompt_id: int | None) -> list[Span]:
    return [span for span in spans_ if span.prompt_id == prompt_id]


def decode_batch(body: Body, form: BatchForm) -> Decoded:
    """Return the spans of a decompressed batch; raises `Invalid` and `TooLarge`."""
    if form.protobuf and form.prompt_id is not None:
        return decode_protobuf(body, form.prompt_id)
    return decode(body, form.prompt_id)


def _keys(stored_keys: StoredKeys) -> set[SpanKey]:
    starts = range(0, len(stored_keys), 24)
    return {(stored_keys[start : start + 16], stored_keys[start + 16 : start + 24]) for start in starts}
