"""A small batch once read again what earlier ones had stored: the spans of its trace, or the records of its span."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from app.services.ingest.batch import BatchForm
from tests.support.database_reads import database_reads
from tests.support.exports import export, pairs_of, span
from tests.support.operations import work_of
from tests.support.world import World

SIZE, BATCH = 400, 20
"""The number of things that are stored first and then again, and of those in a batch."""
MEASURED = 3
"""The last batches, of which the one with the least work counts: some also sum what others have left."""
GROWTH, SLACK = 1.2, 200
BEGIN_NS = 1_795_000_000 * 10**9
LOGS = BatchForm(signal="logs")
SHARED = (
    "",
    "trace",
    "conversation",
    "user",
    "response",
    "trace conversation response",
    "conversation user response model tool",
)
OPERATIONS = ("chat", "execute_tool", "invoke_agent")


@dataclass(frozen=True)
class Source:
    """Makes spans and log records; those of one source share the things that `shared` names."""

    prompts: Sequence[int]
    shared: str
    operation: str = "chat"

    def _of(self, noun: str, number: int) -> int:
        return 0 if noun in self.shared.split() else number

    def trace_id(self, number: int) -> str:
        return f"{self.prompts[0]:016x}{1 + self._of('trace', number):016x}"

    def span(self, number: int, **recorded: Any) -> dict[str, Any]:
        """Return a span that overlaps with all others of its trace."""
        attributes = {
            "service.prompt.id": self.prompts[number % len(self.prompts)],
            "gen_ai.operation.name": self.operation,
            "gen_ai.conversation.id": f"conversation {self._of('conversation', number)}",
            "gen_ai.response.id": f"conversation {self._of('response', number) + 1}",
            "gen_ai.request.model": f"model {self._of('model', number) % 50}",
            "gen_ai.tool.name": f"tool {self._of('tool', number) % 50}",
            "user.id": f"user {self._of('user', number)}",
        }
        return span(
            attributes | recorded,
            traceId=self.trace_id(number),
            spanId=f"{number + 1:016x}",
            startTimeUnixNano=str(BEGIN_NS + number),
            endTimeUnixNano=str(BEGIN_NS + 10**12),
            events=[evaluation(number)],
        )

    def record(self, number: int, **fields: Any) -> dict[str, Any]:
        named = {"traceId": self.trace_id(number), "spanId": f"{1 + self._of('span', number):016x}"}
        content = {"eventName": "gen_ai.user.message", "attributes": pairs_of({"content": f"question {number}"})}
        return named | content | {"timeUnixNano": str(BEGIN_NS + number)} | fields


def evaluation(number: int) -> dict[str, Any]:
    result = {"gen_ai.evaluation.name": "Relevance", "gen_ai.evaluation.score.value": number / 2}
    return {"name": "gen_ai.evaluation.result", "timeUnixNano": str(BEGIN_NS), "attributes": pairs_of(result)}


Store = Callable[[Sequence[dict[str, Any]]], None]


def storing(world: World, *, logs: bool = False) -> Store:
    """Return a function that stores a batch in this thread, without the queue."""
    ingest = world.container.services.ingest

    def store(things: Sequence[dict[str, Any]]) -> None:
        if logs:
            body = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": things}]}]}).encode()
            receipt, _ = ingest.store_repeatable(world.project_id, body, LOGS, b"")
        else:
            receipt = ingest.store(world.project_id, export(*things))
        assert (receipt.outcome, receipt.rejected) == ("stored", 0), receipt

    return store


def costs(store: Store, batches: Iterator[Sequence[dict[str, Any]]]) -> tuple[int, int]:
    """Return the least reads of the database and the least work in Python of the next batches."""
    measured = []
    # The first one finds the tables and caches in another state.
    store(next(batches))
    for _ in range(MEASURED):
        batch = next(batches)
        with database_reads() as reads:
            work = work_of(lambda batch=batch: store(batch))  # type: ignore[misc]
            measured.append((reads(), work))
    return min(reads for reads, _ in measured), min(work for _, work in measured)


def check(store: Store, fill: Callable[[int], dict[str, Any]], last: Callable[[int], dict[str, Any]]) -> None:
    """Store `SIZE` things in small batches, and as many again: the last batch of each, of one thing, costs as much."""
    numbers, lasts = count(), count(10**6)
    measured = []
    for _ in range(2):
        for _ in range(SIZE // BATCH):
            store([fill(next(numbers)) for _ in range(BATCH)])
        measured.append(costs(store, ([last(number)] for number in lasts)))
    (reads, work), (later_reads, later_work) = measured
    assert later_reads <= GROWTH * reads + SLACK, measured
    assert later_work <= GROWTH * work + SLACK, measured


KINDS = [(shared, operation) for shared in SHARED for operation in OPERATIONS]


@pytest.mark.parametrize(("shared", "operation"), KINDS)
def test_a_batch_of_one_new_span_costs_as_much_however_many_are_stored(
    world: World, shared: str, operation: str
) -> None:
    source = Source([world.prompt()], shared, operation)
    check(storing(world), source.span, source.span)


@pytest.mark.parametrize("shared", SHARED)
def test_a_batch_that_is_sent_again_costs_as_much_however_many_are_stored(world: World, shared: str) -> None:
    source = Source([world.prompt()], shared)
    check(storing(world), source.span, lambda number: source.span(number % (MEASURED + 1)))


@pytest.mark.parametrize("shared", SHARED)
def test_a_batch_that_moves_a_turn_costs_as_much_however_many_are_stored(world: World, shared: str) -> None:
    """The first span of a trace names its conversation."""
    source = Source([world.prompt()], shared)

    def moved(number: int) -> dict[str, Any]:
        conversation = {"gen_ai.conversation.id": f"moved {number}"}
        first = {"startTimeUnixNano": str(BEGIN_NS - number), "spanId": f"{number:016x}"}
        return source.span(number % (MEASURED + 1), **conversation) | first

    check(storing(world), source.span, moved)


def test_a_batch_for_a_trace_of_other_prompts_costs_as_much_however_many_are_stored(world: World) -> None:
    prompt_id, other = world.prompt(), world.prompt()
    trace = {"traceId": f"{prompt_id:032x}"}
    source, others = Source([prompt_id], "trace"), Source([other], "trace")
    storing(world)([source.span(10**7) | trace])

    check(
        storing(world),
        lambda number: others.span(number) | trace,
        lambda number: source.span(number) | trace,
    )


@pytest.mark.parametrize("shared", ["", "trace", "trace span", "conversation"])
@pytest.mark.parametrize("spans", ["stored", "not stored", "sent again"])
def test_a_log_record_costs_as_much_however_many_are_stored(world: World, shared: str, spans: str) -> None:
    source, store, store_records = Source([world.prompt()], shared), storing(world), storing(world, logs=True)
    if spans != "not stored":
        store([source.span(number) for number in range(10)])
    if spans == "sent again":

        def store_span(things: Sequence[dict[str, Any]]) -> None:
            (store_records if "eventName" in things[0] else store)(things)

        check(store_span, source.record, lambda number: source.span(number % (MEASURED + 1)))
    else:
        check(store_records, source.record, source.record)


def test_an_evaluation_of_a_response_costs_as_much_however_many_turns_have_its_id(world: World) -> None:
    source, store_records = Source([world.prompt()], "response"), storing(world, logs=True)

    def store(things: Sequence[dict[str, Any]]) -> None:
        (store_records if "eventName" in things[0] else storing(world))(things)

    def result(number: int) -> dict[str, Any]:
        event = evaluation(number)
        named = pairs_of({"gen_ai.response.id": "conversation 1"})
        return {"eventName": event["name"], "timeUnixNano": str(BEGIN_NS), "attributes": event["attributes"] + named}

    check(store, source.span, result)


def test_a_score_of_a_session_costs_as_much_however_many_turns_it_has(world: World) -> None:
    """Turns that follow each other by response ids. The first one names no conversation, so the session has no id."""
    source, store = Source([world.prompt()], ""), storing(world)
    first = source.span(0)
    first["attributes"] = [pair for pair in first["attributes"] if pair["key"] != "gen_ai.conversation.id"]

    def store_or_score(things: Sequence[dict[str, Any]]) -> None:
        if "traceId" in things[0]:
            store(things)
        else:
            assert world.post("/api/v1/scores", json=things[0]).status_code == 201

    def score(number: int) -> dict[str, Any]:
        [session] = world.get("/api/v1/sessions").json["sessions"]
        assert session["conversationId"] is None
        return {"name": "q", "value": 0.5, "target": {"sessionId": session["id"]}, "id": f"{number}"}

    check(store_or_score, lambda number: source.span(number) if number else first, score)
