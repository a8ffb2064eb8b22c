"""A key with `write` may make any number of prompts. A filter of sessions reads the labels of few of them."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest
from sqlalchemy import insert, select

from app.models import prompts, sessions
from app.models.invariants import INVARIANTS, broken_of
from app.models.labels import EvidenceRule, Label
from app.models.sessions import SESSION_COLUMNS
from app.services.ingest.turns import conversation_key
from app.services.prompts import labels as label_service
from app.services.sessions import filters
from app.timestamps import utc_now
from tests.support.exports import export, span
from tests.support.world import World


def version_of(number: int) -> str:
    return f"{number:064x}"


def label_of(number: int, name: str, cases: int = 0) -> Label:
    evidence = EvidenceRule(test_case_ids=tuple(range(cases))) if cases else None
    return Label(name, version_of(number), utc_now(), evidence=evidence)


def copied(world: World, count: int, *, further: list[Label]) -> list[int]:
    """Make prompts with a label `production` of different versions, and with further labels; returns their ids."""
    first, table = world.prompt(), prompts.prompts
    others = {label.name: label for label in further}
    with world.container.database.write() as connection:
        row = dict(connection.execute(select(table).where(table.c.id == first)).mappings().one())
        del row["id"]
        labelled = [others | {"production": label_of(number, "production")} for number in range(count)]
        connection.execute(insert(table), [row | {"labels": labels} for labels in labelled])
        of_project = select(table.c.id).where(table.c.project_id == world.project_id, table.c.id > first)
        return list(connection.scalars(of_project.order_by(table.c.id)))


def with_sessions(world: World, prompt_ids: list[int], conversation_id: str) -> None:
    """Store a session of each prompt; the one of every second prompt is of the version that its label points to."""
    first = {"service.prompt.id": prompt_ids[0], "gen_ai.operation.name": "chat", "service.prompt.version": "v"}
    assert world.send(export(span(first | {"gen_ai.conversation.id": "first"}))).status_code == 200

    with world.container.database.write() as connection:
        [row] = sessions.uncounted(connection, project_id=world.project_id, limit=1)
        common = {name: getattr(row, name) for name in SESSION_COLUMNS} | {"conversation_id": conversation_id}
        rows = [
            common
            | {
                "session_key": conversation_key(prompt_id, conversation_id),
                "prompt_id": prompt_id,
                "names": f"\nv:{version_of(number) if number % 2 == 0 else 'another'}\n",
            }
            for number, prompt_id in enumerate(prompt_ids)
        ]
        connection.execute(insert(sessions.sessions), rows)


def shown_prompts(world: World, **query: Any) -> list[int]:
    """Return the prompts of all sessions that a filter finds, page after page."""
    shown: list[int] = []
    cursor = ""
    while cursor is not None:
        paged = query | {"limit": 200} | ({"cursor": cursor} if cursor else {})
        answer = world.get("/api/v1/sessions", params=paged)
        assert answer.status_code == 200, answer.text
        shown += [entry["promptId"] for entry in answer.json["sessions"]]
        cursor = answer.json["nextCursor"]
    return sorted(shown)


def test_a_label_of_a_thousand_prompts_finds_their_sessions(world: World) -> None:
    """On SQLite the filter was 503 from 1,000 prompts on, because its condition had a part for each prompt."""
    prompt_ids = copied(world, 1_100, further=[])
    with_sessions(world, prompt_ids, "talk")

    assert shown_prompts(world, label="production") == prompt_ids[::2]


def test_labels_of_few_prompts_are_in_memory_at_once(world: World) -> None:
    """100 labels of a prompt that name 1,000 test cases each have 3 MB, and those of all prompts were read."""
    prompt_ids = copied(world, 30, further=[label_of(n, f"l{n}", cases=1_000) for n in range(99)])
    with_sessions(world, prompt_ids, "talk")
    assert shown_prompts(world, label="other") == []  # imports are no memory of the second request

    tracemalloc.start()
    try:
        shown = shown_prompts(world, label="production")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert shown == prompt_ids[::2]
    assert peak < 25_000_000


def test_the_clock_examines_the_labels_of_few_prompts_at_once(world: World) -> None:
    prompt_ids = copied(world, 30, further=[label_of(n, f"l{n}", cases=1_000) for n in range(99)])
    [rule] = [rule for rule in INVARIANTS if rule.name == "labels"]
    with world.container.database.read() as connection:
        key: dict[str, Any] = {"project_id": world.project_id, "now": utc_now()}
        assert broken_of(rule, connection, ids=prompt_ids[:1], **key) == set(prompt_ids[:1])
        tracemalloc.start()
        try:
            broken = broken_of(rule, connection, ids=prompt_ids, **key)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()

    assert broken == set(prompt_ids)
    assert peak < 25_000_000


def test_a_conversation_of_many_prompts_is_listed_up_to_a_limit(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    prompt_ids = copied(world, 600, further=[])
    with_sessions(world, prompt_ids, "talk")

    assert shown_prompts(world, conversationId="talk") == prompt_ids
    assert shown_prompts(world, conversationId="talk", promptId=prompt_ids[7]) == [prompt_ids[7]]
    monkeypatch.setattr(filters, "CONVERSATIONS_MAX", 3)
    assert shown_prompts(world, conversationId="talk") == prompt_ids[-3:]


def test_the_labels_of_a_prompt_name_a_limited_number_of_test_cases(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(label_service, "EVIDENCE_CASES_MAX", 5)
    path = f"/api/v1/prompts/{world.prompt()}"
    commit_hash = world.post(f"{path}/commit").json["commitHash"]

    def put(name: str, **evidence: Any) -> Any:
        return world.put(f"{path}/labels/{name}", json={"commitHash": commit_hash, **evidence})

    assert put("first", evidence={"testCaseIds": [1, 2, 3]}).status_code == 200
    refused = put("second", evidence={"testCaseIds": [1, 2, 3]})
    assert (refused.status_code, refused.json["error"]) == (
        400,
        "evidence.testCaseIds: The labels of a prompt name at most 5 test cases together.",
    )
    assert put("second", evidence={"testCaseIds": [1, 2]}).status_code == 200
    assert put("first", evidence={"testCaseIds": [3, 4, 5]}).status_code == 200

    # What earlier releases stored may be moved, and made smaller.
    monkeypatch.setattr(label_service, "EVIDENCE_CASES_MAX", 1)
    assert put("first").status_code == 200
    assert put("first", evidence={"testCaseIds": [3, 4]}).status_code == 200
