"""Lists, logs and observed usage count each call once, in whatever batches the spans of its copies arrive."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
from msgspec import structs
from sqlalchemy import update

from app.models import turns
from app.models.span_sizes import SPAN_BYTES
from app.models.turns import TurnRow
from app.services.ingest import settling
from app.services.ingest.settling import SETTLE_AFTER, TurnSettler
from app.sessions.facts import dump, load
from app.work.work_time import WorkTime
from tests.support.exports import export, span
from tests.support.waiting import PATIENCE_S
from tests.support.world import World

SAID = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "7 degrees"}]}])
PARENT = "aa" * 8


class Recorded:
    """A turn of which two libraries record a model call and a tool."""

    def __init__(self, world: World) -> None:
        self.world, self.prompt_id, self.trace_id = world, world.prompt(), secrets.token_hex(16)

    def span(self, number: int, name: str, *, parent: int | None = None, **attributes: Any) -> dict[str, Any]:
        fields = {"traceId": self.trace_id, "spanId": f"{number:016x}", "startTimeUnixNano": str(10**18 + number)}
        if parent:
            fields["parentSpanId"] = f"{parent:016x}"
        named = {"service.prompt.id": self.prompt_id, "gen_ai.operation.name": name}
        return span({**named, **attributes}, **fields, endTimeUnixNano=str(10**18 + 1000))

    def chat(self, number: int, parent: int | None = None, **attributes: Any) -> dict[str, Any]:
        usage = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10}
        model = {"gen_ai.request.model": "gpt-4o", "gen_ai.provider.name": "openai"}
        return self.span(
            number, "chat", parent=parent, **usage, **model, **{"gen_ai.output.messages": SAID}, **attributes
        )

    def tool(self, number: int, name: str, parent: int | None = None) -> dict[str, Any]:
        arguments = {"gen_ai.tool.name": name, "gen_ai.tool.call.arguments": '{"path": "a"}'}
        return self.span(number, "execute_tool", parent=parent, **arguments)

    @property
    def batches(self) -> list[bytes]:
        return [
            export(self.chat(1), self.tool(2, "mcp__files__read"), scope="framework"),
            export(self.chat(3, 1), scope="client"),
            export(self.tool(4, "read", 2), scope="mcp"),
        ]

    def send(self, *batches: bytes) -> None:
        for batch in batches:
            assert self.world.send(batch).status_code == 200

    @property
    def counted(self) -> dict[str, Any]:
        """What all lists and sums have of the prompt."""
        [row] = self.world.get("/api/v1/sessions", params={"promptId": self.prompt_id}).json["sessions"]
        session = self.world.get(f"/api/v1/sessions/{row['id']}").json
        [entry] = self.world.get(f"/api/v1/prompts/{self.prompt_id}/logs").json["entries"]
        days = {"from": "2001-09-09", "to": "2001-09-09", "promptId": self.prompt_id, "groupBy": "day"}
        observed = self.world.get("/api/v1/usage/observed", params=days).json["total"]
        tokens = [(usage["inputTokens"], usage["outputTokens"]) for usage in (row["usage"], entry["usage"])]
        steps = [step for turn in session["turns"] for step in turn["steps"]]
        return {
            "tokens": [*tokens, (observed["tokens"]["prompt"], observed["tokens"]["completion"])],
            "costs": len(
                {round(cost, 9) for cost in (row["cost"], session["cost"]["total"], observed["cost"]["total"])}
            ),
            "calls": observed["calls"],
            "tools": (row["toolCalls"], row["tools"]),
            "steps": [step["kind"] for step in steps],
        }

    def row(self) -> TurnRow:
        key = (self.prompt_id, bytes.fromhex(self.trace_id))
        with self.world.container.database.read() as connection:
            [row] = turns.list_existing(connection, project_id=self.world.project_id, keys=[key])
        return row


ONCE = {
    "tokens": [(100, 10)] * 3,
    "costs": 1,
    "calls": 1,
    "tools": (1, ["mcp__files__read"]),
    "steps": ["tool_call", "answer"],
}


@pytest.fixture
def recorded(world: World) -> Recorded:
    return Recorded(world)


@pytest.fixture
def sweep(world: World) -> Callable[[], None]:
    """Settles as the clock does, after the time without new spans, but until none is left: others' turns wait, too."""
    container = world.container

    def later() -> datetime:
        # Later than all batches that were sent until now, however long that took.
        return container.now() + SETTLE_AFTER + timedelta(seconds=1)

    return TurnSettler(database=container.database, now=later, work_time=WorkTime(PATIENCE_S)).sweep


def test_copies_in_one_batch_are_counted_once(recorded: Recorded) -> None:
    spans = [json.loads(batch) if isinstance(batch, bytes) else batch for batch in recorded.batches]
    recorded.send({"resourceSpans": [resource for batch in spans for resource in batch["resourceSpans"]]})  # type: ignore[arg-type]

    assert recorded.counted == ONCE
    assert recorded.row().unsettled is None


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_copies_in_several_batches_are_counted_once_when_each_batch_is_acknowledged(
    recorded: Recorded, order: tuple[int, ...]
) -> None:
    recorded.send(*(recorded.batches[place] for place in order))

    assert recorded.counted == ONCE


def test_the_clock_settles_turns_that_are_too_large_to_settle_at_once(
    recorded: Recorded, sweep: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settling, "BYTES_AT_ONCE", 0)
    container = recorded.world.container
    begun = container.now()
    recorded.send(*recorded.batches)
    assert recorded.counted["tokens"] == [(200, 20)] * 3
    TurnSettler(database=container.database, now=lambda: begun, work_time=WorkTime(PATIENCE_S)).sweep()
    assert recorded.row().unsettled, "spans may still arrive"

    sweep()

    assert recorded.counted == ONCE
    assert recorded.row().unsettled is None


def test_a_batch_settles_the_smallest_turns_and_leaves_the_others_to_the_clock(
    world: World, sweep: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settling, "BATCH_BYTES", 20 * SPAN_BYTES)
    monkeypatch.setattr(settling, "TIMES_BATCH", 0)
    small, large = Recorded(world), Recorded(world)
    small.send(export(small.chat(1), scope="framework"))
    large.send(export(large.chat(1), *(large.tool(n, "read") for n in range(100, 120)), scope="framework"))

    # The second span of each turn is a copy of its model call.
    world.send(export(small.chat(3, 1), large.chat(3, 1), scope="client"))

    assert (small.row().unsettled, small.counted["tokens"]) == (None, [(100, 10)] * 3)
    assert large.row().unsettled
    sweep()
    assert (large.row().unsettled, large.counted["tokens"]) == (None, [(100, 10)] * 3)


def test_the_clock_corrects_the_sums_of_an_earlier_release_once(recorded: Recorded, sweep: Callable[[], None]) -> None:
    alone = Recorded(recorded.world)
    alone.send(export(alone.chat(1)))
    recorded.send(export(recorded.chat(1), recorded.tool(2, "read")))
    recorded.send(*recorded.batches[1:])
    as_before(recorded)
    assert recorded.counted["tokens"] == [(200, 20)] * 3

    sweep()
    sweep()

    assert recorded.counted["tokens"] == [(100, 10)] * 3
    assert alone.counted["tokens"] == [(100, 10)] * 3


def as_before(recorded: Recorded) -> None:
    """Add the copy of the model call to all sums, as earlier releases did."""
    row = recorded.row()
    facts = load(row.facts)
    [calls] = facts.calls
    doubled = structs.replace(calls, calls=2, usage=calls.usage + calls.usage)
    inflated = structs.replace(facts, calls=(doubled,), usage=doubled.usage)
    counted = {row.key: (row, inflated)}
    with recorded.world.container.database.write() as connection:
        settling._write(connection, project_id=row.project_id, batch_id=7, counted=counted)
        of_turn = turns.turns.c.trace_id == row.trace_id
        connection.execute(update(turns.turns).where(of_turn).values(unsettled=1))


def test_a_turn_that_changes_while_it_is_read_keeps_its_new_spans(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, sweep: Callable[[], None]
) -> None:
    recorded.send(*recorded.batches[:2])
    count, arrived = settling.recounted, []

    def interrupted(*read: Any) -> Any:
        facts = count(*read)
        if not arrived:
            arrived.append(True)
            recorded.send(export(recorded.chat(9, **{"gen_ai.response.id": "other"}), scope="client"))
        return facts

    with recorded.world.container.database.write() as connection:
        connection.execute(update(turns.turns).where(turns.turns.c.prompt_id == recorded.prompt_id).values(unsettled=1))
    monkeypatch.setattr(settling, "recounted", interrupted)
    sweep()

    assert arrived
    assert load(recorded.row().facts).span_count == 4
    assert recorded.counted["tokens"][0] == recorded.counted["tokens"][2]


def test_a_turn_that_can_not_be_read_keeps_its_sums(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, sweep: Callable[[], None]
) -> None:
    recorded.send(*recorded.batches)
    with recorded.world.container.database.write() as connection:
        row = recorded.row()
        turns.replace(connection, [replace(row, unsettled=1, facts=dump(load(row.facts)))])
    monkeypatch.setattr(settling, "recounted", lambda *_: (_ for _ in ()).throw(ValueError("cut off")))

    sweep()

    assert recorded.row().unsettled is None
    assert recorded.counted == ONCE


def test_a_turn_with_more_bytes_than_are_read_keeps_its_sums(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, sweep: Callable[[], None]
) -> None:
    monkeypatch.setattr(settling, "BYTES_AT_ONCE", 0)
    monkeypatch.setattr(settling, "TURN_BYTES", 0)
    recorded.send(*recorded.batches)

    sweep()

    assert recorded.row().unsettled is None
    assert recorded.counted["tokens"] == [(200, 20)] * 3


def test_log_records_with_the_words_of_calls_settle_their_turn(recorded: Recorded, sweep: Callable[[], None]) -> None:
    chat = recorded.chat(1)
    other = recorded.chat(2)
    for recorded_span in (chat, other):
        kept = [pair for pair in recorded_span["attributes"] if pair["key"] != "gen_ai.output.messages"]
        recorded_span["attributes"] = kept
    recorded.send(export(chat, scope="client"), export(other, scope="framework"))
    assert recorded.counted["tokens"] == [(200, 20)] * 3
    ids = {"traceId": recorded.trace_id, "spanId": f"{2:016x}"}
    body = {"key": "gen_ai.output.messages", "value": {"stringValue": SAID}}
    record = {"eventName": "gen_ai.client.inference.operation.details", "attributes": [body]}
    assert recorded.world.log([{**ids, **record}]).status_code == 200

    sweep()

    assert recorded.counted["tokens"] == [(100, 10)] * 3
