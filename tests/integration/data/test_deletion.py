"""Removed data is in no table afterwards, and work under way does not bring it back."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Connection

from app.errors import NotFound
from app.models import removal
from app.models.audit_log import audit_log
from app.services.data.removal import DeletionService
from app.services.ingest.service import KnownPrompts
from app.work.remover import RemovalStep, Remover
from tests.integration.data.conftest import counts
from tests.support.conversations import export as conversation
from tests.support.exports import export, span
from tests.support.full_project import MARK, TURNS, everything
from tests.support.readable import tables_with
from tests.support.waiting import wait_until
from tests.support.world import World, beside, new_world


def mine(world: World, word: str) -> str:
    """Make a prompt, a session, a run and a test case that contain the word, and return the prompt's id."""
    made = world.post("/api/v1/prompts", json={"name": "A name", "value": word}).json["prompt"]["id"]
    world.post("/api/v1/prompts/run", json={"id": made, "question": word}, headers={"Idempotency-Key": word})
    world.send(export(span({"service.prompt.id": made, "note": word}, name=word)))
    world.send(export(span({"service.prompt.id": made}, name=word, startTimeUnixNano="never")))
    session = next(
        e["id"] for e in world.get(f"/api/v1/prompts/{made}/logs?include=all").json["entries"] if e["type"] == "otel"
    )
    case = {"name": "A case", "question": word, "expectedAnswer": word}
    case_id = world.post(f"/api/v1/prompts/{made}/test-cases", json=case).json["id"]
    world.post(f"/api/v1/test-cases/{case_id}/replays", json={})
    assert session
    return made


def of_one_prompt(world: World) -> dict[str, Any]:
    """Make everything, and erase the agent, which has another prompt with a session."""
    made = everything(world)
    [agent] = world.get("/api/v1/agents").json["agents"]
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=agent["promptId"])
    return made


def test_a_deleted_session_is_gone_and_its_test_case_stays(world: World) -> None:
    made = of_one_prompt(world)
    session = f"/api/v1/sessions/{made['session_id']}"

    assert world.delete(session).status_code == 204

    assert [world.get(session).status_code, world.delete(session).status_code] == [404, 404]
    after = counts(world)
    assert (after["spans"], after["turns"], after["sessions"], after["test_cases"]) == (0, 0, 0, 1)
    assert world.get(f"/api/v1/test-cases/{made['test_case_id']}").status_code == 200


def test_a_deletion_is_in_the_audit_log(world: World) -> None:
    made = everything(world)
    world.delete(f"/api/v1/sessions/{made['session_id']}")
    with world.container.database.read() as connection:
        listed = connection.execute(audit_log.select().where(audit_log.c.project_id == world.project_id)).all()
    assert [(row.action, row.subject) for row in listed][-1] == ("session.deleted", made["session_id"])


def test_a_session_that_was_deleted_can_be_sent_again(world: World) -> None:
    prompt_id = world.prompt()
    batch = conversation(prompt_id, "c", TURNS, start_ns=1_760_000_000_000_000_000)
    world.send(batch)
    before = counts(world)
    world.delete(f"/api/v1/sessions/{world.get(f'/api/v1/prompts/{prompt_id}/logs').json['entries'][0]['id']}")
    world.send(batch)
    assert counts(world) == before


def test_a_deletion_ends_while_its_session_goes_on_and_leaves_the_turns_that_were_stored_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id, begun_ns, remove_turns, sent = world.prompt(), 1_760_000_000_000_000_000, removal.remove_turns, 0

    def send_turn() -> None:
        nonlocal sent
        sent += 1
        recorded = {"service.prompt.id": prompt_id, "session.id": "goes on"}
        trace, start_ns = f"{world.project_id:016x}{sent:016x}", begun_ns + sent * 1_000_000_000
        times = {"startTimeUnixNano": str(start_ns), "endTimeUnixNano": str(start_ns + 1)}
        world.send(export(span(recorded, traceId=trace, spanId=f"{sent:016x}", **times)))

    def removed(connection: Connection, scope: removal.TurnScope, *, limit: int) -> int:
        assert sent < 10, "the deletion does not end"
        return remove_turns(connection, scope, limit=limit)

    class GoesOn(Remover):
        def _removed(self, step: RemovalStep) -> int:
            number = super()._removed(step)
            send_turn()
            return number

    send_turn()
    send_turn()
    entry = world.get(f"/api/v1/prompts/{prompt_id}/logs?include=all").json["entries"][0]
    monkeypatch.setattr(removal, "remove_turns", removed)
    container = world.container
    remover = GoesOn(database=container.database, pause_s=0)
    deletion = replace(container.services.deletion, remover=remover)

    deletion.delete_session(project_id=world.project_id, session_id=entry["id"])

    session = world.get(f"/api/v1/sessions/{entry['id']}").json
    assert [len(session["turns"]), sent] == [2, 4]


def test_nothing_of_an_erased_prompt_is_left_in_any_table(world: World) -> None:
    word = f"secret{world.project_id}word"
    prompt_id = mine(world, word)
    filled = {"spans", "runs", "prompts", "prompt_versions", "rejected_spans", "test_cases"}
    assert filled <= set(tables_with(world, word))

    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)

    assert tables_with(world, word) == []
    assert world.get(f"/api/v1/prompts/{prompt_id}").status_code == 404
    assert world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": "?"}).status_code == 404


def test_a_new_prompt_shows_nothing_of_an_erased_prompt_with_its_ids(world: World) -> None:
    """SQLite gives the highest ids again, to whoever comes next, and every process remembers versions by their ids."""
    other = new_world(world.container)
    erased = world.post("/api/v1/prompts", json={"name": "A", "value": "Only ours."}).json["prompt"]["id"]
    assert world.get(f"/api/v1/prompts/{erased}").json["value"] == "Only ours."
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=erased)

    made = other.post("/api/v1/prompts", json={"name": "B", "value": "Theirs."}).json["prompt"]["id"]

    prompt = f"/api/v1/prompts/{made}"
    assert [other.get(prompt).json["value"] for _ in range(2)] == ["Theirs.", "Theirs."]
    assert other.post(f"{prompt}/render", json={}).json["instruction"] == "<instructions>\nTheirs.\n</instructions>"
    assert other.post(f"{prompt}/commit", json={}).status_code == 409
    (version,) = other.get(f"{prompt}/versions").json["versions"]
    assert other.post(f"{prompt}/versions/{version['commitHash']}/restore", json={}).status_code == 200


def test_an_archived_prompt_can_be_erased_and_an_erased_one_not_again(world: World) -> None:
    prompt_id = world.prompt()
    world.delete(f"/api/v1/prompts/{prompt_id}")
    erase = world.container.services.deletion.erase_prompt
    erase(project_id=world.project_id, prompt_id=prompt_id)
    with pytest.raises(NotFound):
        erase(project_id=world.project_id, prompt_id=prompt_id)


def test_other_prompts_stay_as_they_were(world: World) -> None:
    everything(world)
    before = counts(world)
    other = world.post("/api/v1/prompts", json={"name": "o", "value": "o"}).json["prompt"]["id"]
    world.send(conversation(other, "c", TURNS, start_ns=1_760_000_000_000_000_000))
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=other)
    assert counts(world) == before


def test_an_erased_prompt_accepts_spans_only_while_processes_remember_it_and_the_clock_removes_them(
    world: World,
) -> None:
    prompt_id = world.prompt()
    batch = export(span({"service.prompt.id": prompt_id}))
    assert world.send(batch).status_code == 200
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)

    world.send(batch)
    world.container.services.deletion.sweep()
    assert world.count("spans") == 0

    now = 0.0
    known = KnownPrompts(world.container.database, monotonic=lambda: now)
    assert known.among(world.project_id, {prompt_id}) == set()


def test_what_is_remembered_of_prompts_is_asked_again_after_seconds(world: World) -> None:
    prompt_id, now = world.prompt(), [0.0]
    known = KnownPrompts(world.container.database, monotonic=lambda: now[0])
    assert known.among(world.project_id, {prompt_id}) == {prompt_id}
    world.container.services.deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)
    assert known.among(world.project_id, {prompt_id}) == {prompt_id}
    now[0] = 6.0
    assert known.among(world.project_id, {prompt_id}) == set()


def test_an_erasure_that_was_interrupted_is_finished_by_the_clock(world: World) -> None:
    made = of_one_prompt(world)
    now = world.container.now()
    with world.container.database.write() as connection:
        removal.mark_prompt(connection, project_id=world.project_id, prompt_id=made["prompt_id"], now=now)

    def is_finished() -> bool:
        # A sweep ends after some seconds, and the next one goes on.
        world.container.services.deletion.sweep()
        return {table for table, count in counts(world).items() if count} <= {"rejected_spans"}

    wait_until(is_finished, "the erasure")


def marked_erased(world: World) -> None:
    """Make a prompt with a session, and erase the project up to the mark, where the process dies."""
    everything(world)
    with world.container.database.write() as connection:
        removal.mark_project(connection, project_id=world.project_id, now=world.container.now())


def sweep_until_empty(world: World, deletion: DeletionService) -> None:
    def is_empty() -> bool:
        deletion.sweep()
        return {*counts(world).values(), world.count("api_keys")} == {0}

    wait_until(is_empty, "the erasure")


def test_an_erasure_is_finished_also_if_the_process_starts_again_after_days(world: World) -> None:
    marked_erased(world)
    later = world.container.now() + timedelta(days=3)
    sweep_until_empty(world, beside(world.container, now=lambda: later).services.deletion)


def test_an_erasure_is_finished_also_if_the_clock_did_not_work_for_days(world: World) -> None:
    now = [world.container.now()]
    deletion = beside(world.container, now=lambda: now[0]).services.deletion
    deletion.sweep()
    marked_erased(world)
    now[0] += timedelta(days=3)
    sweep_until_empty(world, deletion)


def test_nothing_of_an_erased_project_is_left_but_the_audit_log(world: World) -> None:
    everything(world)
    world.send(export(span({"service.prompt.id": 2**62})))
    world.container.services.deletion.erase_project(project_id=world.project_id)

    assert set(counts(world).values()) == {0}
    assert world.count("api_keys") == 0
    with world.container.database.read() as connection:
        listed = connection.execute(audit_log.select().where(audit_log.c.project_id == world.project_id)).all()
    assert "project.erased" in {row.action for row in listed}
    assert MARK not in json.dumps([dict(row._mapping) for row in listed if row.action == "project.erased"], default=str)
    with pytest.raises(NotFound):
        world.container.services.deletion.erase_project(project_id=world.project_id)
