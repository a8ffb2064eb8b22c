"""Sends imported spans in batches to the address of a prompt, and counts what became of them."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Protocol

from reprise_formats.formats import plural
from reprise_formats.importers import Convert
from reprise_formats.importers.records import ImportedRecord
from reprise_formats.importers.spans import Sendable, Unreadable, object_in

BATCH_BYTES = 4 * 1024 * 1024
BATCH_SPANS = 500
ID_MAX = 1_000
"""Characters of the id of a trace, which is hashed for each of its spans."""
RECORD_BYTES = 256 * 1024 * 1024
"""The spans of one record together: each repeats what its record has once, such as the resource of a batch."""
# A record without a time is a microsecond later than the one before it.
_RECORD_NS = 1_000
_HEAD, _TAIL = b'{"resourceSpans":[', b"]}"
_OK, _TOO_LARGE = 200, 413
_HEADERS = {"Content-Type": "application/json", "Content-Encoding": "gzip"}


class HttpAnswer(Protocol):
    @property
    def status_code(self) -> int: ...
    @property
    def text(self) -> str: ...


Send = Callable[[bytes, "dict[str, str]"], HttpAnswer]
"""Posts a body with headers, as often as needed; it answers with 200, 400 or 413, and raises for all else."""
Report = Callable[[str], None]


@dataclass(frozen=True)
class _Encoded:
    """A span in the form that is sent, with hashes of its trace and of its conversation's name, if it has one."""

    body: bytes
    trace: int
    conversation: int | None

    @classmethod
    def of(cls, span: Sendable, scope: str) -> _Encoded:
        name = span.conversation
        return cls(span.resource_spans(scope), hash(span.trace_id), None if name is None else hash(name))


@dataclass
class Import:
    """An import under way. It keeps a hash of each trace and conversation, some 200 bytes, to count the sessions.

    A record is not imported if its spans have more than `record_bytes`, or with those of the records before it more
    than `total_bytes`.
    """

    convert: Convert
    scope: str
    send: Send
    report: Report
    strict: bool = False
    record_bytes: int = RECORD_BYTES
    total_bytes: float = inf
    spans: int = 0
    rejected: int = 0
    unread: int = 0
    _sessions: dict[int, int] = field(default_factory=dict)
    # The bytes of all spans, also of records that are not imported.
    _bytes: int = 0

    @property
    def sessions(self) -> int:
        """The number of conversations that the accepted spans name, and of the traces that name none."""
        return len(set(self._sessions.values()))

    def run(self, records: Iterable[ImportedRecord], at_ns: int) -> None:
        """Send all that the records hold. With `strict`, stop behind the first that can't be read or is rejected."""
        for batch in _batches(self._encoded(records, at_ns)):
            self._post(batch)
            if self.failed and self.strict:
                return

    @property
    def failed(self) -> bool:
        return bool(self.unread or self.rejected)

    @property
    def summary(self) -> str:
        """What was imported and what was not, as a sentence."""
        parts = [plural(self.sessions, "session"), plural(self.spans, "span")]
        if self.rejected:
            parts.append(f"{plural(self.rejected, 'span')} rejected")
        if self.unread:
            parts.append(f"{plural(self.unread, 'record')} not readable")
        return "Imported " + ", ".join(parts) + "."

    def _encoded(self, records: Iterable[ImportedRecord], at_ns: int) -> Iterator[_Encoded]:
        for number, record in enumerate(records):
            try:
                yield from self._spans_of(record, at_ns + number * _RECORD_NS)
            except Unreadable as error:
                self.unread += 1
                self.report(f"{record.place}: {error}")
                if self.strict:
                    return

    def _spans_of(self, record: ImportedRecord, at_ns: int) -> list[_Encoded]:
        """Return the record's spans, all or none."""
        if record.problem:
            raise Unreadable(record.problem)
        self._check_total()
        encoded: list[_Encoded] = []
        size = 0
        for span in self.convert(record.value, at_ns):
            if len(span.trace_id) > ID_MAX:
                raise Unreadable(f"has the id of a trace with more than {ID_MAX:,} characters")
            encoded.append(_Encoded.of(span, self.scope))
            size += len(encoded[-1].body)
            self._bytes += len(encoded[-1].body)
            if size > self.record_bytes:
                repeated = "of which each repeats what they share"
                raise Unreadable(f"has more than {self.record_bytes:,} bytes of spans, {repeated}")
            self._check_total()
        return encoded

    def _check_total(self) -> None:
        if self._bytes > self.total_bytes:
            raise Unreadable(f"comes after spans of {self.total_bytes:,} bytes, which are all of an import")

    def _count(self, spans: list[_Encoded]) -> None:
        for span in spans:
            if span.conversation is None:
                self._sessions.setdefault(span.trace, span.trace)
            else:
                self._sessions[span.trace] = span.conversation

    def _post(self, spans: list[_Encoded]) -> None:
        """Send a batch, in halves where it is too large for the server or for a proxy before it."""
        waiting = [spans]
        while waiting:
            part = waiting.pop()
            answer = self.send(gzip.compress(_HEAD + b",".join(span.body for span in part) + _TAIL, mtime=0), _HEADERS)
            if answer.status_code == _TOO_LARGE and len(part) > 1:
                half = len(part) // 2
                waiting += [part[half:], part[:half]]
            else:
                self._note(part, answer)

    def _note(self, spans: list[_Encoded], answer: HttpAnswer) -> None:
        content = object_in(answer.text)
        if answer.status_code == _OK:
            partial = object_in(content.get("partialSuccess"))
            rejected, message = int(partial.get("rejectedSpans") or 0), partial.get("errorMessage")
            self._count(spans)
        else:
            rejected, message = len(spans), content.get("message") or f"The server answered {answer.status_code}."
        self.spans += len(spans) - rejected
        self.rejected += rejected
        if message:
            self.report(message)


def _batches(spans: Iterator[_Encoded]) -> Iterator[list[_Encoded]]:
    """Yield lists of at most `BATCH_SPANS` spans and `BATCH_BYTES`; a larger span is a list by itself."""
    batch: list[_Encoded] = []
    size = 0
    for span in spans:
        if batch and (len(batch) == BATCH_SPANS or size + len(span.body) > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(span)
        size += len(span.body)
    if batch:
        yield batch
