"""Decodes log exports of OTLP/HTTP, JSON and protobuf, to records with the content or evaluation of a model call.

Instrumentations move content from spans to log records. Each record names the span that it belongs to. Other records
are ignored.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import msgspec
import orjson
from google.protobuf.message import DecodeError
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord as LogRecordMessage

from app.errors import Invalid
from app.otlp.decode import groups_of, parsed
from app.otlp.decode_protobuf import items
from app.otlp.evaluations import EVALUATION, Evaluation, evaluation_of
from app.otlp.names import MAX_CONVERSATION_ID, PROMPT_ID, RESPONSE_ID, text_of
from app.otlp.normalise.bodies import events_in, has_messages
from app.otlp.normalise.convention import Event
from app.otlp.normalise.frameworks import CODE_EVENTS
from app.otlp.normalise.genai import CONTENTS, DECISION, DETAILS, EXCEPTION
from app.otlp.normalise.roles import role_of_event
from app.otlp.protobuf import ITEM_ELEMENTS_MAX, TOO_MANY, Elements, has_too_many_members, pairs, value_fields
from app.otlp.span import Raw
from app.otlp.values import MAX_INT64, any_value, attributes, id_bytes, plain_integer, time_ns
from app.otlp.wire import WIRE_FIELDS_MAX
from app.values.json import Body, kept_json, parse_json, valid_utf8, without_bom
from app.values.structs import decoder

K = TypeVar("K")
_REASONS_MAX = 10
Read = Callable[[], Any]
"""Reads the fields of one record."""


class ScopeLogs(msgspec.Struct, gc=False):
    logRecords: list[Raw] | None = None  # noqa: N815 - the wire's own names


class ResourceLogs(msgspec.Struct, gc=False):
    scopeLogs: list[ScopeLogs] | None = None  # noqa: N815


class LogsExport(msgspec.Struct, gc=False):
    resourceLogs: list[ResourceLogs] | msgspec.UnsetType | None = msgspec.UNSET  # noqa: N815


_decode_export = decoder(LogsExport)


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A record of content, or an evaluation. `raw` is JSON in the form of a span event: name, attributes and body.

    `prompt_id` is the prompt that the record names, else that of the address; None without either. An evaluation that
    names a model call by its `response_id` has empty ids of its trace and span.
    """

    trace_id: bytes
    span_id: bytes
    name: str
    prompt_id: int | None
    time_ns: int
    raw: bytes
    response_id: str = ""


@dataclass(slots=True)
class DecodedLogs:
    """The records of a batch that are kept, the number of all its records, and why some were rejected."""

    records: list[LogRecord] = field(default_factory=list)
    received: int = 0
    rejected: Counter[str] = field(default_factory=Counter)

    def explain(self) -> str:
        """Return one message of bounded length."""
        most = self.rejected.most_common(_REASONS_MAX)
        return "; ".join(f"{count} log record{'s' * (count > 1)} rejected: {reason}" for reason, count in most)


class BadRecord(ValueError):
    """Raised for a record that is rejected; the rest of the batch is stored."""


def decode_logs(body: Body, prompt_id: int | None, *, protobuf: bool, limit: int) -> DecodedLogs:
    """Decode an export request; records of more than `limit` bytes are rejected. Raises `Invalid` and `TooLarge`."""
    decoded = DecodedLogs()
    for read in fields_of_records(body, protobuf=protobuf):
        decoded.received += 1
        if decoded.received > WIRE_FIELDS_MAX:
            raise Invalid(f"The export has more than {WIRE_FIELDS_MAX} log records; send smaller batches.")
        try:
            record = _record(read(), prompt_id)
            if record and len(record.raw) > limit:
                raise BadRecord(f"it is larger than {limit} bytes")
        except BadRecord as error:
            decoded.rejected[str(error)] += 1
            continue
        if record:
            decoded.records.append(record)
    return decoded


def fields_of_records(body: Body, *, protobuf: bool) -> Iterator[Read]:
    """Yield what reads the fields of each record in the form of OTLP's JSON; it raises `BadRecord`."""
    return _of_protobuf(body) if protobuf else _of_json(body)


def _of_json(body: Body) -> Iterator[Read]:
    body = valid_utf8(without_bom(body))
    export = parsed(body, _decode_export, "log export")
    for resource_logs in groups_of(export.resourceLogs, body, "resourceLogs"):
        for scope_logs in resource_logs.scopeLogs or ():
            for raw in scope_logs.logRecords or ():
                yield partial(_fields_of_json, raw)


def _fields_of_json(raw: Raw) -> Any:
    text = bytes(raw)
    if has_too_many_members(text):
        raise BadRecord(f"it has {TOO_MANY}")
    try:
        return parse_json(text)
    except ValueError:
        raise BadRecord("it can't be read as JSON") from None


def _of_protobuf(body: Body) -> Iterator[Read]:
    elements = Elements()
    for _, content in items(body):
        yield partial(_fields_of_message, content, elements)


def _fields_of_message(content: memoryview, elements: Elements) -> dict[str, Any]:
    """Return a record in the form of OTLP's JSON."""
    elements.item = ITEM_ELEMENTS_MAX
    try:
        message = LogRecordMessage.FromString(content)
        return {
            "traceId": message.trace_id.hex(),
            "spanId": message.span_id.hex(),
            "eventName": message.event_name,
            "timeUnixNano": message.time_unix_nano or message.observed_time_unix_nano,
            "attributes": pairs(message.attributes, elements),
            "body": value_fields(message.body, elements),
        }
    except DecodeError as error:
        raise BadRecord(f"it can't be read as protobuf: {error}") from None
    except OverflowError:
        raise BadRecord(f"it has {TOO_MANY}") from None


def _record(fields: Any, prompt_id: int | None) -> LogRecord | None:
    """Return the record if it is kept and names its span; raises BadRecord for a malformed one."""
    if not isinstance(fields, dict):
        raise BadRecord("it is no JSON object")
    trace_id, span_id = id_bytes(fields.get("traceId"), 16), id_bytes(fields.get("spanId"), 8)
    if trace_id is None and fields.get("traceId") not in (None, ""):
        raise BadRecord("traceId must be 32 hex digits, not all zero")
    if span_id is None and fields.get("spanId") not in (None, ""):
        raise BadRecord("spanId must be 16 hex digits, not all zero")
    listed = fields.get("attributes")
    if not isinstance(listed, list | None):
        raise BadRecord("attributes must be a list of {key, value} objects")
    listed = listed or []
    named = attributes(listed)
    body = any_value(fields.get("body"))
    named_so = fields.get("eventName") or named.get("event.name") or named.get("event_name")
    name = body if isinstance(body, str) and body in CODE_EVENTS else named_so
    response_id = text_of(named.get(RESPONSE_ID)) if name == EVALUATION and span_id is None else ""
    if not isinstance(name, str) or ((trace_id is None or span_id is None) and not response_id):
        return None
    if not _is_kept(name) and not has_messages(body):
        return None
    at = time_ns(fields.get("timeUnixNano")) or time_ns(fields.get("observedTimeUnixNano"))
    event = {"name": name, "timeUnixNano": str(at), "attributes": _with_body(listed, fields.get("body"))}
    try:
        raw = kept_json(event)
    except TypeError:  # beyond 254 levels
        raise BadRecord("it nests too deeply") from None
    ids = (b"", b"") if trace_id is None or span_id is None else (trace_id, span_id)
    return LogRecord(*ids, name, _named_prompt(named) or prompt_id, at, raw, response_id[:MAX_CONVERSATION_ID])


def _is_kept(name: str) -> bool:
    return name in (EVALUATION, EXCEPTION, DECISION) or is_content(name)


def is_content(name: str) -> bool:
    """Return whether an event of this name has content of a model call."""
    return name in DETAILS or name in CONTENTS or name in CODE_EVENTS or role_of_event(name) is not None


def _named_prompt(named: Mapping[str, Any]) -> int | None:
    prompt_id = plain_integer(named.get(PROMPT_ID))
    return prompt_id if prompt_id and 0 < prompt_id <= MAX_INT64 else None


def _with_body(listed: list[Any], body: Any) -> list[Any]:
    """Return the attributes, with those in the body, and with the body itself if it is a message."""
    inner = any_value(body)
    if inner is None:
        return listed
    values = body.get("kvlistValue", {}).get("values") if isinstance(inner, dict) else None
    of_body = [pair for pair in values or () if isinstance(pair, dict) and str(pair.get("key")).startswith("gen_ai.")]
    return [*listed, *of_body, *([] if of_body else [{"key": "body", "value": body}])]


def evaluation_in(record: LogRecord) -> Evaluation | None:
    """Return the evaluation in a record; None for a record of content, and without a complete evaluation."""
    return evaluation_of(attributes(orjson.loads(record.raw)["attributes"])) if record.name == EVALUATION else None


def events_of(stored: Iterable[tuple[K, bytes]]) -> dict[K, list[Event]]:
    """Return the span events that stored records are equivalent to, by span key, in the given order."""
    events_by_key: dict[K, list[Event]] = defaultdict(list)
    for key, raw in stored:
        fields = orjson.loads(raw)
        event = (str(fields["name"]), attributes(fields["attributes"]))
        body = event[1].get("body")
        events_by_key[key].extend(events_in(body) if has_messages(body) and not _is_kept(event[0]) else [event])
    return events_by_key
