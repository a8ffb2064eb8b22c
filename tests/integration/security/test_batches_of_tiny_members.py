"""Batches of JSON with millions of tiny members once occupied a storing process for minutes, until it was ended."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.otlp.decode import decode
from app.services.ingest import service
from app.services.ingest.turns import parts_of
from app.sessions import bounded_views
from app.values.budget import WorkBudget
from tests.support.exports import export, span
from tests.support.operations import calls_of
from tests.support.world import World

ELEMENTS = 2_000
DEAR = f"[{','.join(['{}'] * ELEMENTS)}]"
# Attributes that conventions look into.
KEYS = ("gen_ai.input.messages", "request_data", "gcp.vertex.agent.llm_request", "gen_ai.usage.raw", "input.value")


def chat(number: int, messages: str, **more: Any) -> dict[str, Any]:
    named = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "echo", "gen_ai.conversation.id": f"c{number}"}
    recorded = named | {"gen_ai.input.messages": messages} | more
    return span(recorded, traceId=f"{1 + number:032x}", spanId=f"{1 + number:016x}")


def asked(text: str) -> str:
    return json.dumps([{"role": "user", "content": text}])


@pytest.mark.parametrize("key", KEYS)
def test_the_work_for_a_batch_does_not_grow_with_its_members_beyond_the_budget(key: str) -> None:
    def calls(count: int) -> int:
        spans = decode(export(*(chat(number, "[]", **{key: DEAR}) for number in range(count)))).spans
        return calls_of(lambda: parts_of(spans, budget=WorkBudget(3 * ELEMENTS)))

    few, more = calls(4), calls(24)
    assert more - few < 20 * ELEMENTS


def test_a_span_beyond_the_budget_is_stored_whole_with_facts_of_its_short_attributes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "ELEMENTS_READ", ELEMENTS)
    prompt = {"service.prompt.id": world.prompt()}
    sent = [chat(0, asked("first"), **prompt), chat(1, DEAR, **prompt), chat(2, asked("last"), **prompt)]
    assert world.send(export(*sent)).json == {"partialSuccess": {}}

    sessions = world.get("/api/v1/sessions").json["sessions"]
    assert {entry["conversationId"]: entry["preview"] for entry in sessions} == {
        "c0": "first",
        "c1": None,
        "c2": "last",
    }
    assert all(entry["models"] == ["echo"] for entry in sessions)
    (dear,) = (entry["id"] for entry in sessions if entry["conversationId"] == "c1")
    (turn,) = world.get(f"/api/v1/sessions/{dear}").json["turns"]
    assert turn["spans"][0]["attributes"]["gen_ai.input.messages"] == DEAR


def test_the_members_of_a_small_batch_are_not_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_views, "count_marks", lambda _: pytest.fail("the members were counted"))
    sent = export(chat(0, DEAR, **{"service.prompt.id": world.prompt()}))

    assert world.send(sent).json == {"partialSuccess": {}}
