"""Each log record of a span once read all earlier ones, of any size, into the memory of a storing process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from app.models import log_records
from app.services.ingest import openings
from tests.support.exports import export, span
from tests.support.world import World

LENGTH, RECORDS = 2_000, 20
LIMIT = 5 * LENGTH


def message(number: int) -> dict[str, Any]:
    text = f"question {number} {'x' * LENGTH}"
    attributes = [{"key": "content", "value": {"stringValue": text}}]
    name = {"eventName": "gen_ai.user.message", "attributes": attributes}
    return name | {"traceId": f"{1:032x}", "spanId": f"{1:016x}", "timeUnixNano": str(1 + number)}


def test_no_more_records_are_read_than_the_limit_and_the_first_ones_open_the_turn(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openings, "BYTES_READ", LIMIT)
    monkeypatch.setattr(openings, "BYTES_PER_SPAN", 0)
    read, list_records = [], log_records.list_records

    def counted(*args: Any, ids: Sequence[int], **keywords: Any) -> Any:
        read.append(len(ids))
        return list_records(*args, ids=ids, **keywords)

    monkeypatch.setattr(log_records, "list_records", counted)
    recorded = {"service.prompt.id": world.prompt(), "gen_ai.operation.name": "chat"}
    sent = span(recorded, traceId=f"{1:032x}", spanId=f"{1:016x}")
    assert world.send(export(sent)).status_code == 200
    for number in range(RECORDS):
        assert world.log([message(number)]).status_code == 200

    assert 0 < max(read) <= LIMIT / LENGTH
    (session,) = world.get("/api/v1/sessions").json["sessions"]
    assert session["preview"].startswith("question 0 ")
