"""The same spans give the same sessions, whatever the order, the batches, the repeats and the workers at once."""

from __future__ import annotations

import json
import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import reduce
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.models import session_log, turns
from app.otlp.names import CONVERSATION_KEYS
from app.services.ingest import service as ingest
from app.services.ingest.batch import Receipt
from app.services.prompt_log.query import LogFilter
from app.sessions.facts import load
from app.sessions.sums import SessionSums, names_of, with_names
from tests.support.exports import export, span
from tests.support.world import World

SHARED_WORLD = settings(
    max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@st.composite
def recorded_spans(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Spans of a few traces with equal times, and with a conversation that is named late, twice, or not at all."""
    spans = []
    for trace in range(draw(st.integers(1, 4))):
        for _ in range(draw(st.integers(1, 5))):
            start = draw(st.integers(1, 4))
            spans.append(
                {
                    "trace": trace,
                    "prompt": draw(st.sampled_from([0, 0, 0, 1])),
                    "start": start,
                    "end": start + draw(st.integers(0, 2)),
                    "conversation": draw(st.sampled_from([None, None, "a", "b"])),
                    "named by": draw(st.sampled_from(CONVERSATION_KEYS)),
                    "failed": draw(st.booleans()),
                    "tool": draw(st.sampled_from([None, None, "search", "pay"])),
                    "user": draw(st.sampled_from([None, "ada"])),
                    "said": draw(st.sampled_from([None, "hello", "and then?"])),
                }
            )
    return spans


def wire(recorded: list[dict[str, Any]], prompts: list[int]) -> list[dict[str, Any]]:
    # New ids in the same order: turns that start at once are shown in it.
    traces = [f"{place + 1:04x}{secrets.token_hex(14)}" for place in range(4)]
    return [
        span(
            {"service.prompt.id": prompts[one["prompt"]], "gen_ai.operation.name": "chat"}
            | {"gen_ai.request.model": "gpt", "gen_ai.usage.input_tokens": place + 1}
            | ({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": one["tool"]} if one["tool"] else {})
            | ({"user.id": one["user"]} if one["user"] else {})
            | ({one["named by"]: one["conversation"]} if one["conversation"] else {})
            | ({"gen_ai.input.messages": message(one["said"])} if one["said"] else {}),
            traceId=traces[one["trace"]],
            spanId=f"{place + 1:016x}",
            startTimeUnixNano=str(one["start"] * 1_000_000),
            endTimeUnixNano=str(one["end"] * 1_000_000),
            status={"code": 2 if one["failed"] else 0},
        )
        for place, one in enumerate(recorded)
    ]


def message(text: str) -> str:
    return json.dumps([{"role": "user", "parts": [{"type": "text", "content": text}]}])


def dumps(found: Any) -> str:
    """Return JSON in one order, of sets too."""
    return json.dumps(
        found,
        sort_keys=True,
        default=lambda value: sorted(map(str, value)) if isinstance(value, frozenset) else str(value),
    )


def shown(world: World, prompts: list[int]) -> list[Any]:
    """Everything that is shown of the prompts, with places instead of ids."""
    services = world.container.services
    found: list[Any] = []
    for place, prompt_id in enumerate(prompts):
        page = services.logs.page(
            project_id=world.project_id, prompt_id=prompt_id, filters=LogFilter(type="otel"), limit=200, cursor=None
        )
        for summary in page.entries:
            session = services.sessions.get(project_id=world.project_id, session_id=summary.id)
            read = [asdict(turn) for turn in session.turns]
            for one in (one for turn in read for one in turn["spans"]):
                del one["attributes"]["service.prompt.id"]
            found.append(asdict(summary) | {"id": place, "row_id": 0, "session": read})
    return sorted(found, key=lambda one: dumps(one))


def without_traces(found: list[Any], spans: list[dict[str, Any]]) -> str:
    text = dumps(found)
    for place, trace_id in enumerate(dict.fromkeys(one["traceId"] for one in spans)):
        text = text.replace(trace_id, f"trace-{place}")
    return text


@SHARED_WORLD
@given(recorded=recorded_spans(), data=st.data())
def test_any_order_batching_and_repetition_gives_the_same_sessions(
    world: World, recorded: list[dict[str, Any]], data: st.DataObject
) -> None:
    once, shuffled = [world.prompt(), world.prompt()], [world.prompt(), world.prompt()]
    straight = wire(recorded, once)
    assert world.send(export(*straight)).status_code == 200

    spans = wire(recorded, shuffled)
    sent = data.draw(st.permutations(spans + data.draw(st.lists(st.sampled_from(spans), max_size=6))))
    size = data.draw(st.integers(1, 5))
    batches = [sent[start : start + size] for start in range(0, len(sent), size)]
    with ThreadPoolExecutor(4) as senders:
        answers = list(senders.map(lambda batch: world.send(export(*batch)).status_code, batches))

    assert set(answers) == {200}
    assert by_trace(shown(world, shuffled), spans) == by_trace(shown(world, once), straight)
    consistent(world, shuffled)


def by_trace(found: list[Any], spans: list[dict[str, Any]]) -> list[str]:
    """Comparable between two sets of traces: ids by their place, sessions in the order of their text."""
    return sorted(without_traces([one], spans) for one in found)


def consistent(world: World, prompts: list[int]) -> None:
    """Every session has turns, every turn a session, and the times and sums agree."""
    with world.container.database.read() as connection:
        for prompt_id in prompts:
            for row in session_log.list_sessions(connection, session_log.SessionRange(prompt_id), limit=100):
                found = turns.list_turns(connection, project_id=row.project_id, session_keys=[row.session_key])
                assert (row.start_ns, row.last_ns) == (
                    min(turn.start_ns for turn in found),
                    max(turn.end_ns for turn in found),
                )
                facts = [load(turn.facts) for turn in found]
                assert row.duration_ns == row.last_ns - row.start_ns
                assert row.sums == reduce(SessionSums.plus, map(SessionSums.of, facts), SessionSums())
                assert row.names == (reduce(with_names, map(names_of, facts), "") or None)
                assert bool(row.user_id) == any(one.user for one in facts)


def test_twenty_senders_of_one_batch_store_it_once(world: World) -> None:
    prompt_id = world.prompt()
    trace_id = secrets.token_hex(16)
    spans = [span({"service.prompt.id": prompt_id}, traceId=trace_id, spanId=f"{n + 1:016x}") for n in range(50)]
    batch = export(*spans)

    with ThreadPoolExecutor(20) as senders:
        answers = list(senders.map(lambda _: world.send(batch).json, range(20)))

    assert answers == [{"partialSuccess": {}}] * 20
    assert world.count("spans") == 50


def test_overlapping_batches_at_once_count_every_span_once(world: World) -> None:
    prompt_id = world.prompt()
    trace_id = secrets.token_hex(16)
    usage = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 1, "gen_ai.usage.output_tokens": 2}
    spans = [
        span({"service.prompt.id": prompt_id} | usage, traceId=trace_id, spanId=f"{n + 1:016x}") for n in range(60)
    ]
    batches = [export(*spans[start : start + 20]) for start in range(0, 50, 5)]

    with ThreadPoolExecutor(10) as senders:
        answers = {answer.status_code for answer in senders.map(world.send, batches)}

    stored = len({one["spanId"] for start in range(0, 50, 5) for one in spans[start : start + 20]})
    entry = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"][0]
    assert answers == {200}
    assert world.count("spans") == stored
    assert entry["usage"] == {"inputTokens": stored, "outputTokens": 2 * stored}


def test_a_large_batch_is_stored_in_pieces_and_counted_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "SPANS_AT_ONCE", 3)
    prompt_id, trace_id = world.prompt(), secrets.token_hex(16)
    usage = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 1, "gen_ai.usage.output_tokens": 2}
    spans = [span({"service.prompt.id": prompt_id} | usage, traceId=trace_id, spanId=f"{n + 1:016x}") for n in range(8)]
    store, project_id = world.container.services.ingest.store, world.project_id

    assert store(project_id, export(*spans[:4])) == Receipt("stored", stored=4)
    assert store(project_id, export(*spans)) == Receipt("stored", stored=4, duplicates=4)
    (entry,) = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"]
    assert entry["usage"] == {"inputTokens": 8, "outputTokens": 16}
    consistent(world, [prompt_id])
