"""The API behind the pages of replays: a proposal before a test case is made, and a step accepted."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection

from app.models import replays
from app.models.queries import delete_rows
from tests.integration.replays.recording import finished, make_case, prompt, record, replayed
from tests.support.world import World, new_world


@pytest.fixture
def prompt_id(world: World) -> int:
    return prompt(world, model="echo")


def case_expecting(world: World, prompt_id: int, answer: str) -> int:
    written = {"question": "Ping", "expectedAnswer": answer}
    case_id: int = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json=written).json["id"]
    return case_id


def test_a_proposal_is_the_test_case_that_the_session_makes(world: World, prompt_id: int) -> None:
    session_id = record(world, prompt_id)

    answer = world.get(f"/api/v1/sessions/{session_id}/test-case-proposal")

    assert answer.status_code == 200
    assert world.count("test_cases") == 0
    made = make_case(world, session_id)
    assert (answer.json["promptId"], answer.json["name"]) == (prompt_id, made["name"])
    assert answer.json["testCase"] == {name: made[name] for name in answer.json["testCase"]}


@pytest.mark.parametrize("session_id", ["0" * 32, "nonsense"])
def test_there_is_no_proposal_without_a_session(world: World, session_id: str) -> None:
    assert world.get(f"/api/v1/sessions/{session_id}/test-case-proposal").status_code == 404


def test_an_accepted_answer_is_expected_from_then_on(world: World, prompt_id: int) -> None:
    case_id = case_expecting(world, prompt_id, "Pong")
    replay = replayed(world, case_id)
    assert replay["status"] == "failed"

    accepted = world.post(f"/api/v1/replays/{replay['id']}/steps/0/accept")

    assert accepted.status_code == 200
    assert accepted.json["turns"][0]["steps"][0]["text"] == "Ping"
    assert accepted.json == world.get(f"/api/v1/test-cases/{case_id}").json
    assert replayed(world, case_id)["status"] == "passed"
    assert world.get(f"/api/v1/replays/{replay['id']}").json["status"] == "failed", "it keeps its verdict"
    entries = world.get("/api/v1/audit-log").json["entries"]
    assert [e["subject"] for e in entries if e["action"] == "test_case.changed"] == [str(case_id)]


@pytest.mark.parametrize("step", ["1", "7", "x", "-1", "9" * 30])
def test_a_step_that_produced_nothing_can_not_be_accepted(world: World, prompt_id: int, step: str) -> None:
    replay = replayed(world, case_expecting(world, prompt_id, "Pong"))
    answer = world.post(f"/api/v1/replays/{replay['id']}/steps/{step}/accept")
    assert (answer.status_code, answer.json["error"][:3]) == (400, "n: ")


def test_a_step_of_a_test_case_that_is_gone_can_not_be_accepted(world: World, prompt_id: int) -> None:
    case_id = case_expecting(world, prompt_id, "Pong")
    replay = replayed(world, case_id)
    world.delete(f"/api/v1/test-cases/{case_id}")
    assert world.post(f"/api/v1/replays/{replay['id']}/steps/0/accept").status_code == 404


def test_nothing_foreign_is_accepted_or_proposed(world: World, prompt_id: int) -> None:
    case_id, stranger = case_expecting(world, prompt_id, "Pong"), new_world(world.container)
    replay, session_id = replayed(world, case_id), record(world, prompt_id)
    assert stranger.post(f"/api/v1/replays/{replay['id']}/steps/0/accept").status_code == 404
    assert stranger.get(f"/api/v1/sessions/{session_id}/test-case-proposal").status_code == 404
    assert world.get(f"/api/v1/test-cases/{case_id}").json["turns"][0]["steps"][0]["text"] == "Pong"


def batch_of(world: World, prompt_id: int, *answers: str) -> str:
    """Replay test cases that expect these answers together; the path of the API that accepts the batch."""
    for answer in answers:
        case_expecting(world, prompt_id, answer)
    started = world.post(f"/api/v1/prompts/{prompt_id}/replays").json["replays"]
    for each in started:
        finished(world, each["id"])
    return f"/api/v1/replays/{started[0]['id']}/batch/accept"


def test_all_that_the_failed_replays_of_a_batch_did_is_accepted_once(world: World, prompt_id: int) -> None:
    path = batch_of(world, prompt_id, "Pong", "Ping", "Peng")

    listed = world.get(path).json["steps"]

    assert [(each["turn"], each["step"], each["verdict"]["actual"]) for each in listed] == [(0, 0, "Ping")] * 2
    assert world.post(path).json == {"accepted": 2}
    assert world.get(path).json == {"steps": []}
    assert world.post(path).json == {"accepted": 0}
    cases = world.get(f"/api/v1/prompts/{prompt_id}/test-cases").json["testCases"]
    assert {case["turns"][0]["steps"][0]["text"] for case in cases} == {"Ping"}


def test_of_a_batch_only_the_named_steps_are_accepted(world: World, prompt_id: int) -> None:
    path = batch_of(world, prompt_id, "Pong", "Peng")
    first, second = world.get(path).json["steps"]

    assert world.post(path, json={"steps": [first["key"], "0.0.0"]}).json == {"accepted": 1}

    assert world.get(path).json == {"steps": [second]}


@pytest.mark.parametrize("steps", [[7], ["x" * 65], "all"])
def test_what_is_no_list_of_keys_accepts_nothing(world: World, prompt_id: int, steps: object) -> None:
    path = batch_of(world, prompt_id, "Pong")

    answer = world.post(path, json={"steps": steps})

    assert (answer.status_code, answer.json["error"][:5]) == (400, "steps")
    assert len(world.get(path).json["steps"]) == 1


def test_a_foreign_batch_is_neither_listed_nor_accepted(world: World, prompt_id: int) -> None:
    path, stranger = batch_of(world, prompt_id, "Pong"), new_world(world.container)

    assert (stranger.get(path).status_code, stranger.post(path).status_code) == (404, 404)

    assert len(world.get(path).json["steps"]) == 1


@pytest.mark.parametrize(("path", "status"), [("", 200), ("/batch/accept", 404)])
def test_a_replay_that_is_removed_while_it_is_read_is_no_failure_of_the_server(
    world: World, prompt_id: int, monkeypatch: pytest.MonkeyPatch, path: str, status: int
) -> None:
    replay = replayed(world, case_expecting(world, prompt_id, "Pong"))
    find, database = replays.find_replay, world.container.database

    def found_and_removed(connection: Connection, **key: int) -> replays.ReplayRow | None:
        found = find(connection, **key)
        with database.write() as removing:
            delete_rows(removing, replays.replays, id=replay["id"])
        return found

    monkeypatch.setattr(replays, "find_replay", found_and_removed)

    answer = world.get(f"/api/v1/replays/{replay['id']}{path}")

    # On SQLite all statements see what was stored when the first one began.
    assert answer.status_code == (200 if database.is_sqlite else status), answer.text
