"""Codex's log records as spans: only records have its words, and they name no span unless it exports traces, too.

Source: https://github.com/openai/codex/tree/main/codex-rs/otel
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from itertools import islice
from typing import Any

import orjson

from app.errors import TooLarge
from app.otlp.logs import BadRecord, fields_of_records
from app.otlp.values import attributes, id_bytes, integer, time_ns
from app.values.json import Body, kept_json

SCOPE = "codex_otel"
MARK = b"codex."
"""Bytes that a batch with such records has."""
QUESTION = "codex.user_prompt"
"""The name of the span of a question, which begins a turn."""
_ANSWER, _TOOL = "codex.agent_response", "codex.tool_result"
_MODEL = frozenset({"codex.sse_event", "codex.api_request"})
_REDACTED = "[REDACTED]"
_WORDS = frozenset({"prompt", "response", "arguments", "output"})
"""Attributes of records that spans have under the conventions' names."""
_COUNTS = {
    "input_token_count": "gen_ai.usage.input_tokens",
    "output_token_count": "gen_ai.usage.output_tokens",
    "cached_token_count": "gen_ai.usage.cache_read.input_tokens",
    "reasoning_token_count": "gen_ai.usage.reasoning.output_tokens",
}
_NS_OF_MS = 10**6
RECORDS_MAX = 20_000
"""Records of a batch that become spans. Codex sends 512 together, and each may begin a turn."""
ATTRIBUTES_MAX = 64
"""Attributes of a record, of which Codex's have about 20: one with more is none of its."""
_PIECE = 4 * 1024 * 1024  # bytes of spans that are in memory together

Masked = Callable[[str, Any], Any]
"""Returns the value of an attribute of a record as it may be stored."""


def spans_of_records(
    body: Body, prompt_id: int | None, *, protobuf: bool, masked: Masked = lambda _key, value: value
) -> Iterator[bytes]:
    """Yield batches, in OTLP's JSON, of the spans that the first `RECORDS_MAX` records of Codex are equivalent to.

    Records without a trace are of one trace for each conversation. `masked` is called for words, which spans have under
    other names. Raises `Invalid`, and `TooLarge` for further records after the last batch.
    """
    found = (
        span for fields in _fields(body, protobuf=protobuf) if (span := _span(fields, prompt_id, masked)) is not None
    )
    spans, size = list[bytes](), 0
    for span in islice(found, RECORDS_MAX):
        spans.append(span)
        size += len(span)
        if size > _PIECE:
            yield _batch(spans)
            spans, size = [], 0
    if spans:
        yield _batch(spans)
    if next(found, None) is not None:
        raise TooLarge(f"Only the first {RECORDS_MAX} records of Codex are stored; send smaller batches.")


def _batch(spans: Sequence[bytes]) -> bytes:
    scope = orjson.dumps({"name": SCOPE})
    return b'{"resourceSpans":[{"scopeSpans":[{"scope":%b,"spans":[%b]}]}]}' % (scope, b",".join(spans))


def _fields(body: Body, *, protobuf: bool) -> Iterator[Mapping[str, Any]]:
    for read in fields_of_records(body, protobuf=protobuf):
        try:
            fields = read()
        except BadRecord:
            continue
        listed = fields.get("attributes") if isinstance(fields, dict) else None
        if isinstance(listed, list) and len(listed) <= ATTRIBUTES_MAX:
            yield fields


def _span(fields: Mapping[str, Any], prompt_id: int | None, masked: Masked) -> bytes | None:
    """Return the span of a record as JSON; None for a record that is no step, or nests too deeply to be written."""
    listed = fields["attributes"]
    named = attributes(listed)
    # The record's own name is a line of Codex's source code.
    name, conversation = named.get("event.name"), named.get("conversation.id")
    recorded = _recorded(name, {key: masked(key, value) if key in _WORDS else value for key, value in named.items()})
    at = _time(fields, named)
    if recorded is None or not isinstance(name, str) or not isinstance(conversation, str) or not at:
        return None
    kept = [pair for pair in listed if isinstance(pair, dict) and pair.get("key") not in _WORDS]
    content = orjson.dumps([conversation, str(at), sorted(named.items(), key=str)], default=str)
    trace_id = id_bytes(fields.get("traceId"), 16)
    took_ms = integer(named.get("duration_ms")) or 0
    error = named.get("error.message")
    failed = {"status": {"code": 2, "message": str(error or "")}} if error or named.get("success") == "false" else {}
    span = {
        "traceId": (trace_id or _digest(f"{prompt_id}:{conversation}".encode(), 16)).hex(),
        "spanId": _digest(content, 8).hex(),
        **({"parentSpanId": fields["spanId"]} if trace_id and id_bytes(fields.get("spanId"), 8) else {}),
        "name": name,
        "startTimeUnixNano": str(max(at - (took_ms * _NS_OF_MS if name == _TOOL else 0), 1)),
        "endTimeUnixNano": str(at),
        "attributes": [*kept, *({"key": key, "value": _value(value)} for key, value in recorded.items())],
        **failed,
    }
    try:
        return kept_json(span)
    except TypeError:  # beyond 254 levels
        return None


def _recorded(name: Any, named: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the conventions' attributes of a record; None for a record that is no step of a conversation."""
    if name == QUESTION:
        return {"gen_ai.operation.name": "invoke_agent"} | _message("input", "user", named.get("prompt"))
    if name == _ANSWER:
        return {"gen_ai.operation.name": "invoke_agent"} | _message("output", "assistant", named.get("response"))
    if name == _TOOL:
        recorded = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": named.get("tool_name"),
            "gen_ai.tool.call.id": named.get("call_id"),
            "gen_ai.tool.call.arguments": named.get("arguments"),
            "gen_ai.tool.call.result": named.get("output"),
        }
    elif name in _MODEL and ("input_token_count" in named or named.get("error.message")):
        counts = {key: integer(named.get(count)) for count, key in _COUNTS.items()}
        recorded = {"gen_ai.operation.name": "chat", "gen_ai.request.model": named.get("model"), **counts}
    else:
        return None
    return {key: value for key, value in recorded.items() if value is not None}


def _message(side: str, role: str, text: Any) -> dict[str, Any]:
    if not isinstance(text, str) or text == _REDACTED:
        return {}
    return {f"gen_ai.{side}.messages": orjson.dumps([{"role": role, "content": text}]).decode()}


def _time(fields: Mapping[str, Any], named: Mapping[str, Any]) -> int:
    """Return the time of a record in nanoseconds, 0 without any."""
    recorded = time_ns(fields.get("timeUnixNano")) or time_ns(fields.get("observedTimeUnixNano"))
    try:
        return recorded or time_ns(datetime.fromisoformat(str(named.get("event.timestamp"))).timestamp() * 10**9)
    except ValueError:
        return 0


def _value(value: Any) -> dict[str, Any]:
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}


def _digest(content: bytes, size: int) -> bytes:
    return blake2b(content, digest_size=size).digest()
