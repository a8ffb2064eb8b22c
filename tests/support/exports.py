"""Builders of OTLP JSON for tests."""

from __future__ import annotations

import json
import math
from typing import Any

TRACE_ID = "5b8efff798038103d269b633813fc60c"
SPAN_ID = "eee19b7ec3c1b174"


def value_of(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": value}
    if isinstance(value, float):
        # Protobuf's JSON has words for numbers that JSON does not have.
        return {"doubleValue": value if math.isfinite(value) else str(value).replace("inf", "Infinity")}
    if isinstance(value, list):
        return {"arrayValue": {"values": [value_of(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": pairs_of(value)}}
    return {"stringValue": value} if value is not None else {}


def pairs_of(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value_of(value)} for key, value in attributes.items()]


def span(recorded: dict[str, Any] | None = None, /, **fields: Any) -> dict[str, Any]:
    """A valid span of prompt 7; `fields` replace its own fields (None removes one)."""
    whole = {
        "traceId": TRACE_ID,
        "spanId": SPAN_ID,
        "name": "chat gpt",
        "startTimeUnixNano": "1544712660000000000",
        "endTimeUnixNano": "1544712661000000000",
        "attributes": pairs_of({"service.prompt.id": 7} | (recorded or {})),
    } | fields
    return {key: value for key, value in whole.items() if value is not None}


def export(*spans: Any, resource: dict[str, Any] | None = None, scope: str = "test") -> bytes:
    return json.dumps(
        {
            "resourceSpans": [
                {
                    "resource": {"attributes": pairs_of(resource or {})},
                    "scopeSpans": [{"scope": {"name": scope}, "spans": list(spans)}],
                }
            ]
        }
    ).encode()
