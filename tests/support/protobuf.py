"""OTLP in protobuf, made of the JSON that other tests send, and read by the classes that opentelemetry-proto has."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

_IDS = ("traceId", "spanId", "parentSpanId")


def in_range(value: Any) -> Any:
    """An export of JSON without the integers that protobuf has no room for, which are doubles instead."""
    if isinstance(value, list):
        return [in_range(item) for item in value]
    if not isinstance(value, dict):
        return value
    if not -(2**63) <= int(value.get("intValue") or 0) < 2**63:
        return {"doubleValue": float(value["intValue"])}
    return {key: in_range(inner) for key, inner in value.items()}


def traces(batch: bytes | dict[str, Any]) -> bytes:
    """A trace export of JSON as protobuf."""
    return _message(batch, ExportTraceServiceRequest())


def logs(batch: bytes | dict[str, Any]) -> bytes:
    """A log export of JSON as protobuf."""
    return _message(batch, ExportLogsServiceRequest())


def _message(batch: bytes | dict[str, Any], message: Message) -> bytes:
    fields = json.loads(batch) if isinstance(batch, bytes) else batch
    return bytes(json_format.ParseDict(_with_base64_ids(in_range(fields)), message).SerializeToString())


def _with_base64_ids(value: Any) -> Any:
    """OTLP writes ids in hexadecimal, protobuf's own JSON in base64."""
    if isinstance(value, list):
        return [_with_base64_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: b64encode(bytes.fromhex(inner)).decode() if key in _IDS else _with_base64_ids(inner)
        for key, inner in value.items()
    }
