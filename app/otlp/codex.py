"""Log records of coding agents as spans: of Codex, Claude Code and Gemini CLI.

Only records have Codex's words, and they name no span unless it exports traces, too. The others export
spans if they are set to do so, and their records complete these; here, their records without a trace are read.

Sources: https://github.com/openai/codex/tree/main/codex-rs/otel, https://code.claude.com/docs/en/monitoring-usage and
https://geminicli.com/docs/cli/telemetry/
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from itertools import islice
from typing import Any

import orjson

from app.errors import TooLarge
from app.otlp.logs import BadRecord, fields_of_records
from app.otlp.normalise.hidden import is_hidden
from app.otlp.values import any_value, attributes, id_bytes, integer, time_ns
from app.values.json import Body, json_container, kept_json

SCOPE = "codex_otel"
MARKS = (b"codex.", b"claude_code.", b"gemini_cli.")
"""Bytes of which a batch with such records has one."""
_CODEX, _CLAUDE, _GEMINI = "codex.", "claude_code.", "gemini_cli."
_SCOPES = {_CLAUDE: "com.anthropic.claude_code.events", _GEMINI: "gemini-cli"}
QUESTIONS = frozenset({"codex.user_prompt", "claude_code.user_prompt", "gemini_cli.user_prompt"})
"""The names of the span of a question, which begins a turn."""
_ANSWERS = frozenset({"codex.agent_response", "claude_code.assistant_response"})
_TOOL = "codex.tool_result"
_TOOLS = frozenset({_TOOL, "claude_code.tool_result", "gemini_cli.tool_call"})
_CALLS = frozenset(
    {"claude_code.api_request", "claude_code.api_error", "gemini_cli.api_response", "gemini_cli.api_error"}
)
_MODEL = frozenset({"codex.sse_event", "codex.api_request"})
_REDACTED = "[REDACTED]"
_WORDS = frozenset({"prompt", "response", "arguments", "output", "tool_input", "function_args", "response_text"})
"""Attributes of records that spans have under the conventions' names."""
_COUNTS = {
    "input_token_count": "gen_ai.usage.input_tokens",
    "output_token_count": "gen_ai.usage.output_tokens",
    "cached_token_count": "gen_ai.usage.cache_read.input_tokens",
    "reasoning_token_count": "gen_ai.usage.reasoning.output_tokens",
}
_OTHER_COUNTS = {
    "gen_ai.usage.input_tokens": (
        *("input_tokens", "cache_read_tokens", "cache_creation_tokens"),
        "input_token_count",
    ),
    "gen_ai.usage.output_tokens": ("output_tokens", "output_token_count", "thoughts_token_count"),
    "gen_ai.usage.cache_read.input_tokens": ("cache_read_tokens", "cached_content_token_count"),
    "gen_ai.usage.cache_creation.input_tokens": ("cache_creation_tokens",),
    "gen_ai.usage.reasoning.output_tokens": ("thoughts_token_count",),
}
"""The counts of Claude Code and Gemini CLI, each the sum of the counts with these names in a record."""
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
    traced = _traced(body, protobuf=protobuf) if any(mark in body for mark in MARKS[1:]) else set[str]()
    found = (
        span
        for fields in _fields(body, protobuf=protobuf)
        if (span := _span(fields, prompt_id, masked, traced)) is not None
    )
    spans, size = defaultdict[str, list[bytes]](list), 0
    for scope, raw in islice(found, RECORDS_MAX):
        spans[scope].append(raw)
        size += len(raw)
        if size > _PIECE:
            yield _batch(spans)
            spans.clear()
            size = 0
    if spans:
        yield _batch(spans)
    if next(found, None) is not None:
        raise TooLarge(f"Only the first {RECORDS_MAX} records of coding agents are stored; send smaller batches.")


def _batch(spans: Mapping[str, Sequence[bytes]]) -> bytes:
    groups = [
        b'{"scope":%b,"spans":[%b]}' % (orjson.dumps({"name": scope}), b",".join(of_scope))
        for scope, of_scope in spans.items()
    ]
    return b'{"resourceSpans":[{"scopeSpans":[%b]}]}' % b",".join(groups)


def _traced(body: Body, *, protobuf: bool) -> set[str]:
    """Return the sessions of which a record names a trace, so that spans have their words."""
    named = (
        attributes(fields["attributes"]).get("session.id")
        for fields in _fields(body, protobuf=protobuf)
        if id_bytes(fields.get("traceId"), 16)
    )
    return {session for session in named if isinstance(session, str)}


def _fields(body: Body, *, protobuf: bool) -> Iterator[Mapping[str, Any]]:
    for read in fields_of_records(body, protobuf=protobuf):
        try:
            fields = read()
        except BadRecord:
            continue
        listed = fields.get("attributes") if isinstance(fields, dict) else None
        if isinstance(listed, list) and len(listed) <= ATTRIBUTES_MAX:
            yield fields


def _span(
    fields: Mapping[str, Any], prompt_id: int | None, masked: Masked, traced: Container[str]
) -> tuple[str, bytes] | None:
    """Return the scope and the JSON of the span of a record.

    It is None for a record that is no step, or nests too deeply to be written.
    """
    listed = fields["attributes"]
    named = attributes(listed)
    name = _name(fields, named)
    sender = next(filter(name.startswith, _SCOPES), _CODEX)
    conversation = named.get("conversation.id" if sender == _CODEX else "session.id")
    if sender != _CODEX and (id_bytes(fields.get("traceId"), 16) or conversation in traced):
        return None
    recorded = _recorded(name, {key: masked(key, value) if key in _WORDS else value for key, value in named.items()})
    at = _time(fields, named)
    if recorded is None or not isinstance(conversation, str) or not at:
        return None
    kept = [pair for pair in listed if isinstance(pair, dict) and pair.get("key") not in _WORDS]
    content = orjson.dumps([conversation, str(at), sorted(named.items(), key=str)], default=str)
    trace_id = id_bytes(fields.get("traceId"), 16)
    took_ms = integer(named.get("duration_ms")) or 0
    error = named.get("error.message") or (named.get("error") if sender != _CODEX else None)
    is_failed = error or named.get("success") in ("false", False)
    failed = {"status": {"code": 2, "message": str(error or "")}} if is_failed else {}
    span = {
        "traceId": (trace_id or _digest(f"{prompt_id}:{conversation}".encode(), 16)).hex(),
        "spanId": _digest(content, 8).hex(),
        **({"parentSpanId": fields["spanId"]} if trace_id and id_bytes(fields.get("spanId"), 8) else {}),
        "name": name,
        "startTimeUnixNano": str(max(at - (took_ms * _NS_OF_MS if name in _TOOLS else 0), 1)),
        "endTimeUnixNano": str(at),
        "attributes": [*kept, *({"key": key, "value": _value(value)} for key, value in recorded.items())],
        **failed,
    }
    try:
        return _SCOPES.get(sender, SCOPE), kept_json(span)
    except TypeError:  # beyond 254 levels
        return None


def _name(fields: Mapping[str, Any], named: Mapping[str, Any]) -> str:
    """Return the name of a record. Codex's field for it has a line of source code; Claude Code's body has the name."""
    body, name = any_value(fields.get("body")), named.get("event.name")
    if isinstance(body, str) and body.startswith(_CLAUDE):
        return body
    return name if isinstance(name, str) else ""


def _recorded(name: str, named: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the conventions' attributes of a record; None for a record that is no step of a conversation."""
    if name in QUESTIONS:
        return {"gen_ai.operation.name": "invoke_agent"} | _message("input", "user", named.get("prompt"))
    if name in _ANSWERS:
        return {"gen_ai.operation.name": "invoke_agent"} | _message("output", "assistant", named.get("response"))
    if not name.startswith(_CODEX):
        recorded = _of_others(name, named)
    elif name == _TOOL:
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
    return {key: value for key, value in recorded.items() if value is not None} or None


def _of_others(name: str, named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the conventions' attributes of a tool, or of a model's call, of Claude Code or Gemini CLI."""
    if name in _TOOLS:
        return {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": named.get("tool_name", named.get("function_name")),
            "gen_ai.tool.call.id": named.get("tool_use_id"),
            "gen_ai.tool.call.arguments": named.get("tool_input", named.get("function_args")),
        }
    if name not in _CALLS:
        return {}
    counts = {
        key: sum(integer(named.get(count)) or 0 for count in counted)
        for key, counted in _OTHER_COUNTS.items()
        if not named.keys().isdisjoint(counted)
    }
    words = _message("output", "assistant", _text_of_pieces(named.get("response_text")))
    return {"gen_ai.operation.name": "chat", "gen_ai.request.model": named.get("model")} | counts | words


def _text_of_pieces(pieces: Any) -> str | None:
    """Return the text in the pieces of a stream of Gemini's; None if it calls a tool."""
    listed = json_container(pieces)
    parts = [part for piece in listed for part in _parts(piece)] if isinstance(listed, list) else []
    if any("functionCall" in part for part in parts):
        return None
    return "".join(part["text"] for part in parts if isinstance(part.get("text"), str) and not part.get("thought"))


def _parts(piece: Any) -> list[dict[str, Any]]:
    match piece:
        case {"candidates": [{"content": {"parts": [*parts]}}, *_]}:
            return [part for part in parts if isinstance(part, dict)]
    return []


def _message(side: str, role: str, text: Any) -> dict[str, Any]:
    if not isinstance(text, str) or not text or text == _REDACTED or is_hidden(text):
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
