"""Decoded log records, and the keys of calls, need memory for what they have, however many they are."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from app.otlp.codex import spans_of_records
from app.otlp.logs import decode_logs
from app.values.json import json_key
from tests.support.exports import pairs_of
from tests.support.protobuf import logs

RECORDS = 2_000
OF_EACH = 1_000
"""Bytes of memory of a record of about two hundred bytes; Python's objects around them count, too."""


def export(record: Callable[[int], dict[str, Any]]) -> dict[str, Any]:
    return {"resourceLogs": [{"scopeLogs": [{"logRecords": [record(number) for number in range(RECORDS)]}]}]}


def message(number: int) -> dict[str, Any]:
    ids = {"traceId": f"{number + 1:032x}", "spanId": "00f067aa0ba902b7"}
    return ids | {"eventName": "gen_ai.user.message", "attributes": pairs_of({"content": "x"}), "timeUnixNano": "1"}


def question(number: int) -> dict[str, Any]:
    named = {"event.name": "codex.user_prompt", "conversation.id": "c"}
    return {"attributes": pairs_of(named), "timeUnixNano": str(10**18 + number)}


def memory_of(work: Callable[[], Any]) -> int:
    """Return the bytes that are in memory at most while something is made, with what is made."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("protobuf", [False, True])
def test_log_records_need_little_more_memory_than_their_bytes(protobuf: bool) -> None:
    batch = export(message)
    body = logs(batch) if protobuf else json.dumps(batch).encode()
    decode_logs(body, 1, protobuf=protobuf, limit=10**6)  # makes what is made once

    assert memory_of(lambda: decode_logs(body, 1, protobuf=protobuf, limit=10**6)) < OF_EACH * RECORDS + len(body)


@pytest.mark.slow
@pytest.mark.parametrize("protobuf", [False, True])
def test_spans_of_codex_need_little_more_memory_than_their_bytes(protobuf: bool) -> None:
    batch = export(question)
    body = logs(batch) if protobuf else json.dumps(batch).encode()
    size = sum(map(len, spans_of_records(body, 1, protobuf=protobuf)))

    assert memory_of(lambda: list(spans_of_records(body, 1, protobuf=protobuf))) < OF_EACH * RECORDS + 2 * size


def test_keys_of_calls_need_little_more_memory_than_their_bytes() -> None:
    arguments = [{"number": number, "city": "Rome"} for number in range(RECORDS)]
    assert memory_of(lambda: list(map(json_key, arguments))) < OF_EACH * RECORDS
