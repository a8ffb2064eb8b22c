"""Programs score sessions, turns, steps and runs: once for an id, kept and removed with what is scored."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from app.models.queries import new_batch_id
from app.services.ingest.log_records import WAITS
from tests.integration.ingest.test_scores import chat
from tests.support.documents import read_document, shell_blocks
from tests.support.exports import export, pairs_of
from tests.support.sweeping import remove_waiting_rows
from tests.support.world import World, new_world

URL = "/api/v1/scores"
TALK = {"gen_ai.conversation.id": "talk"}


def sent(world: World, prompt_id: int, **attributes: Any) -> dict[str, Any]:
    """Send a session of one turn with one span; returns the span."""
    one = chat(prompt_id)
    one["attributes"] += pairs_of(attributes)
    assert world.send(export(one)).status_code == 200
    return one


def session_ids(world: World, prompt_id: int) -> list[str]:
    entries = world.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json["entries"]
    return [entry["id"] for entry in entries]


def shown(world: World, prompt_id: int) -> list[Any]:
    (session_id,) = session_ids(world, prompt_id)
    found: list[Any] = world.get(f"/api/v1/sessions/{session_id}").json["scores"]
    return found


def give(world: World, target: dict[str, Any], status: int = 201, **fields: Any) -> Any:
    answer = world.post(URL, json={"name": "helpful", "value": 0.5, "target": target} | fields)
    assert answer.status_code == status, answer.text
    return answer.json


def listed(world: World, **query: Any) -> list[Any]:
    found: list[Any] = world.get(URL, params=query).json["scores"]
    return found


def run_of(world: World, prompt_id: int) -> int:
    run = world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": "Who?", "productive": False})
    assert run.status_code == 200, run.text
    return int(run.headers["X-Run-Id"])


@pytest.mark.parametrize("named", ["session", "conversation", "turn", "step"])
def test_a_session_shows_what_it_its_turns_and_its_steps_are_scored(world: World, named: str) -> None:
    prompt_id = world.prompt()
    span = sent(world, prompt_id, **TALK)
    session_id = session_ids(world, prompt_id)[0]
    session, turn = {"sessionId": session_id}, {"traceId": span["traceId"]}
    target = {
        "session": session,
        "conversation": {"promptId": prompt_id, "conversationId": "talk"},
        "turn": turn,
        "step": turn | {"spanId": span["spanId"]},
    }[named]
    given = give(world, target, comment="so so")

    assert given["target"] == (session if named in ("session", "conversation") else target)
    said = {"name": "helpful", "value": 0.5, "label": None, "comment": "so so", "source": "api"}
    assert shown(world, prompt_id) == [said | {"id": given["id"], "target": given["target"]}]
    assert listed(world) == [world.get(f"{URL}/{given['id']}").json] == [given]


def test_the_example_of_the_documentation_scores_a_conversation(world: World) -> None:
    prompt_id = world.prompt()
    (command,) = [block for block in shell_blocks(read_document("reference/traces.md")) if URL in block]
    body = command.partition("-d '")[2].rpartition("'")[0].replace("""'"$PROMPT_ID"'""", str(prompt_id))
    assert world.post(URL, json=json.loads(body)).status_code == 201
    sent(world, prompt_id, **{"gen_ai.conversation.id": "conversation-1"})

    assert [(score["id"], score["label"]) for score in shown(world, prompt_id)] == [("thumb-4711", "true")]


def test_a_turn_without_a_conversation_keeps_its_score_when_it_joins_one(world: World) -> None:
    prompt_id = world.prompt()
    one = sent(world, prompt_id)
    give(world, {"sessionId": session_ids(world, prompt_id)[0]})
    late = chat(prompt_id, traceId=one["traceId"])
    late["attributes"].append({"key": "gen_ai.conversation.id", "value": {"stringValue": "talk"}})
    assert world.send(export(late)).status_code == 200

    assert [score["target"] for score in shown(world, prompt_id)] == [{"traceId": one["traceId"]}]


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (3, (3.0, None)),
        (-0.25, (-0.25, None)),
        (True, (1.0, "true")),
        (False, (0.0, "false")),
        ("größe", (None, "größe")),
    ],
)
def test_a_number_a_boolean_and_a_category_are_kept(world: World, value: Any, stored: tuple[Any, Any]) -> None:
    given = give(world, {"traceId": "ab" * 16}, value=value)
    assert (given["value"], given["label"]) == stored


def test_the_same_id_replaces_a_score_and_without_one_each_is_another(world: World) -> None:
    prompt_id = world.prompt()
    span = sent(world, prompt_id)
    target = {"traceId": span["traceId"]}
    first = give(world, target, id="ada-1", value=True)
    assert give(world, target, 200, id="ada-1", value=True)["id"] == first["id"] == "ada-1"
    give(world, target | {"spanId": span["spanId"]}, 200, id="ada-1", value=False, comment="No.")
    assert [(one["value"], one["comment"], one["target"]) for one in listed(world)] == [
        (0.0, "No.", target | {"spanId": span["spanId"]})
    ]

    for _ in range(2):
        give(world, target)
    assert len(listed(world)) == len(shown(world, prompt_id)) == 3


def test_two_that_give_the_same_score_at_once_store_it_once(world: World) -> None:
    target = {"traceId": "ab" * 16}
    body = {"id": "once", "name": "helpful", "value": 1, "target": target}
    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(lambda _: world.post(URL, json=body).status_code, range(8)))

    assert set(codes) <= {200, 201}
    assert len(listed(world)) == 1


def test_scores_are_listed_page_by_page_and_by_name_and_run(world: World) -> None:
    run_id = run_of(world, world.prompt())
    for number in range(3):
        give(world, {"traceId": "ab" * 16}, id=f"n{number}", name="Tone" if number == 1 else "tone")
    give(world, {"runId": run_id}, id="run")

    page = world.get(URL, params={"limit": 3}).json
    assert [one["id"] for one in page["scores"]] == ["run", "n2", "n1"]
    rest = world.get(URL, params={"limit": 3, "cursor": page["nextCursor"]}).json
    assert ([one["id"] for one in rest["scores"]], rest["nextCursor"]) == (["n0"], None)
    assert [one["id"] for one in listed(world, name="tone")] == ["n2", "n0"]
    assert [one["target"] for one in listed(world, runId=run_id)] == [{"runId": run_id}]


def test_a_conversation_is_scored_before_its_spans_come(world: World) -> None:
    prompt_id = world.prompt()
    give(world, {"promptId": prompt_id, "conversationId": "talk"})
    sent(world, prompt_id, **TALK)

    assert [score["value"] for score in shown(world, prompt_id)] == [0.5]


def test_the_clock_removes_scores_of_what_has_not_come_and_keeps_the_others(world: World) -> None:
    prompt_id = world.prompt()
    span = sent(world, prompt_id, **TALK)
    there = [
        {"sessionId": session_ids(world, prompt_id)[0]},
        {"traceId": span["traceId"]},
        {"traceId": span["traceId"], "spanId": span["spanId"]},
        {"runId": run_of(world, prompt_id)},
    ]
    missing = [
        {"promptId": prompt_id, "conversationId": "elsewhere"},
        {"traceId": "ab" * 16},
        {"traceId": span["traceId"], "spanId": "ab" * 8},
    ]
    for target in there + missing:
        give(world, target)
    past = new_batch_id(world.container.now() - WAITS - timedelta(minutes=1))
    with world.container.database.write() as connection:
        aged = text("UPDATE scores SET waiting_since = :past WHERE project_id = :id")
        connection.execute(aged, {"past": past, "id": world.project_id})
    give(world, missing[1], id="young")
    remove_waiting_rows(world)

    assert [one["target"] for one in reversed(listed(world))] == [*there, missing[1]]


def test_scores_go_with_what_they_score(world: World) -> None:
    prompt_id = world.prompt()
    gone, stays = sent(world, prompt_id, **TALK), sent(world, prompt_id)
    mine = next(one for one in session_ids(world, prompt_id) if _traces(world, one) == {gone["traceId"]})
    for target in ({"sessionId": mine}, {"traceId": gone["traceId"]}, {"traceId": stays["traceId"]}):
        give(world, target)
    assert world.delete(f"/api/v1/sessions/{mine}").status_code == 204
    assert [one["target"] for one in listed(world)] == [{"traceId": stays["traceId"]}]

    give(world, {"runId": run_of(world, prompt_id)})
    deletion = world.container.services.deletion
    deletion.erase_prompt(project_id=world.project_id, prompt_id=prompt_id)
    assert listed(world) == []


def _traces(world: World, session_id: str) -> set[str]:
    return {turn["traceId"] for turn in world.get(f"/api/v1/sessions/{session_id}").json["turns"]}


def test_the_scores_of_a_run_go_with_it_when_it_is_old(world: World) -> None:
    give(world, {"runId": run_of(world, world.prompt())})
    assert world.put("/api/v1/data-policy", json={"retentionDays": {"runs": 1}}).status_code == 200
    past = world.container.now() - timedelta(days=2)
    with world.container.database.write() as connection:
        aged = text("UPDATE runs SET created_at = :past WHERE project_id = :id")
        connection.execute(aged, {"past": past.replace(tzinfo=None), "id": world.project_id})
    world.container.services.retention.apply()

    assert listed(world) == []


def test_scores_are_stored_masked_and_name_the_conversation_as_its_spans_do(world: World) -> None:
    masking = {"masking": [{"kind": "pattern", "value": "ada|talk"}]}
    assert world.put("/api/v1/data-policy", json=masking).status_code == 200
    prompt_id = world.prompt()
    sent(world, prompt_id, **TALK)
    target = {"promptId": prompt_id, "conversationId": "talk"}
    give(world, target, name="by ada", value="says ada", comment="ada 🙂")

    (found,) = shown(world, prompt_id)
    assert [found[key] for key in ("name", "label", "comment")] == ["by [masked]", "says [masked]", "[masked] 🙂"]


def test_a_score_is_removed_and_its_removal_is_in_the_audit_log(world: World) -> None:
    given = give(world, {"traceId": "ab" * 16})
    assert world.delete(f"{URL}/{given['id']}").status_code == 204
    assert world.delete(f"{URL}/{given['id']}").status_code == 404

    entry = world.get("/api/v1/audit-log").json["entries"][0]
    assert (entry["action"], entry["subject"]) == ("score.removed", given["id"])


def test_nothing_of_another_project_can_be_scored(world: World) -> None:
    stranger, prompt_id = new_world(world.container), world.prompt()
    span = sent(world, prompt_id, **TALK)
    targets = [
        {"sessionId": session_ids(world, prompt_id)[0]},
        {"promptId": prompt_id, "conversationId": "talk"},
        {"runId": run_of(world, prompt_id)},
    ]
    for target in targets:
        give(stranger, target, 404)
    give(stranger, {"traceId": span["traceId"]}, id="mine")

    assert shown(world, prompt_id) == listed(world) == []
    assert world.get(f"{URL}/mine").status_code == 404


def test_sessions_are_found_by_the_scores_of_them_and_of_their_turns(world: World) -> None:
    prompt_id = world.prompt()
    sent(world, prompt_id, **TALK)
    turn = sent(world, prompt_id)
    give(world, {"promptId": prompt_id, "conversationId": "talk"}, value=True)
    give(world, {"traceId": turn["traceId"]}, value=False)

    def found(**query: Any) -> list[str | None]:
        answer = world.get("/api/v1/sessions", params={"score": "helpful"} | query)
        return [one["conversationId"] for one in answer.json["sessions"]]

    assert sorted(found(), key=str) == [None, "talk"]
    assert (found(minScore=1), found(maxScore=0.5)) == (["talk"], [None])


def test_a_log_has_the_sessions_and_runs_of_a_score(world: World) -> None:
    prompt_id = world.prompt()
    sent(world, prompt_id, **TALK)
    turn = sent(world, prompt_id)
    good, bad, _ = (run_of(world, prompt_id) for _ in range(3))
    for target, value in (
        ({"promptId": prompt_id, "conversationId": "talk"}, 0.9),
        ({"traceId": turn["traceId"]}, 0.1),
        ({"runId": good}, 0.8),
        ({"runId": bad}, 0.2),
    ):
        give(world, target, value=value)
    lone, talk = (
        next(one for one in session_ids(world, prompt_id) if (_traces(world, one) == {turn["traceId"]}) is alone)
        for alone in (True, False)
    )

    def found(**query: Any) -> set[Any]:
        answer = world.get(f"/api/v1/prompts/{prompt_id}/logs", params={"score": "helpful"} | query)
        return {entry["id"] for entry in answer.json["entries"]}

    assert found() == {lone, talk, good, bad}
    assert (found(minScore=0.5), found(maxScore=0.5)) == ({talk, good}, {lone, bad})
    assert (found(minScore=0.5, type="otel"), found(score="nothing")) == ({talk}, set())
