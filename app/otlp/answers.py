"""The addresses of OTLP over HTTP, and the answers to exports in protobuf."""

from __future__ import annotations

import re

from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsPartialSuccess, ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from app.otlp.values import MAX_INT64, plain_integer

JSON, PROTOBUF = "application/json", "application/x-protobuf"
SIGNALS = ("/v1/traces", "/v1/logs")
"""The paths of the signals that an OTLP address accepts."""
METRICS = "/v1/metrics"
_GRPC_PATH = "/opentelemetry.proto.collector."
_PHRASE_MAX = 400
_ADDRESS = re.compile(r"(?P<base>/api/public/(?:prompts/(?P<prompt>[^/]+)/)?otel)(?:/.*)?", re.DOTALL)


def base_address(path: str) -> str | None:
    """Return the address that exporters append a signal's path to, if the path belongs to one."""
    match = _ADDRESS.fullmatch(path)
    return match["base"] if match else None


def is_of_prompt(path: str) -> bool:
    """Return whether the path is below the address of one prompt, which also accepts protobuf."""
    match = _ADDRESS.fullmatch(path)
    return bool(match and match["prompt"])


def is_of_exporter(path: str) -> bool:
    """Return whether an exporter may have chosen the path, right or wrong."""
    return base_address(path) is not None or path.endswith((*SIGNALS, METRICS)) or path.startswith(_GRPC_PATH)


def named_prompt(path: str) -> int | None:
    """Return the number of the prompt in a path, None without one."""
    match = _ADDRESS.fullmatch(path)
    number = plain_integer(match["prompt"]) if match else None
    return number if number and 0 < number <= MAX_INT64 else None


def reason_phrase(message: str) -> str:
    """Return a message as the reason phrase of a status line: one line of printable ASCII, bounded."""
    words = " ".join(message[:_PHRASE_MAX].replace("…", "...").split())
    return "".join(char if " " <= char <= "~" else "?" for char in words)


def traces_stored(rejected: int, message: str) -> bytes:
    """Return an ExportTraceServiceResponse, which is empty when no span was rejected."""
    partial = ExportTracePartialSuccess(rejected_spans=rejected, error_message=message) if rejected else None
    return bytes(ExportTraceServiceResponse(partial_success=partial).SerializeToString())


def logs_stored(rejected: int, message: str) -> bytes:
    """Return an ExportLogsServiceResponse, which is empty when no record was rejected."""
    partial = ExportLogsPartialSuccess(rejected_log_records=rejected, error_message=message) if rejected else None
    return bytes(ExportLogsServiceResponse(partial_success=partial).SerializeToString())


def status(code: int, message: str) -> bytes:
    """Return a google.rpc.Status."""
    return bytes(Status(code=code, message=message).SerializeToString())
