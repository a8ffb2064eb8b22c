"""Test cases over the API: made of sessions and by hand, edited, copied, carried as files, deleted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.concurrency import computing
from app.concurrency.computing import LARGE_TEXT, ComputingPlace
from app.concurrency.quotas import FairSemaphore, Quota
from app.errors import Unavailable
from app.services.sessions.service import SessionService
from tests.integration.replays.recording import HOT, make_case, prompt, record
from tests.support.backends import SQLITE_CONTAINER
from tests.support.conversations import RecordedTurn
from tests.support.world import World, new_world


@pytest.fixture
def prompt_id(world: World) -> int:
    return prompt(world)


@pytest.fixture
def case(world: World, prompt_id: int) -> dict[str, Any]:
    return make_case(world, record(world, prompt_id))


WRITES = {
    "effect": "write",
    "effectFrom": "unknown",
    "proposedEffect": None,
    "extra": "fail",
    "maxCalls": None,
    "never": False,
    "lost": "fail",
    "onMissing": None,
    "result": None,
    "arguments": {},
    "kinds": {},
    "idempotent": False,
}


def test_a_session_becomes_a_test_case_that_checks_every_step(world: World, prompt_id: int) -> None:
    session_id = record(world, prompt_id)

    made = world.post(f"/api/v1/sessions/{session_id}/test-cases")

    assert made.status_code == 201
    case = made.json
    assert made.headers["Location"] == f"/api/v1/test-cases/{case['id']}"
    assert (case["promptId"], case["sessionId"], case["name"]) == (prompt_id, session_id, "How hot is Rome?")
    assert (case["order"], case["history"], case["onMissing"], case["includedTurns"]) == (
        "effects",
        "replayed",
        "error",
        None,
    )
    # Effects are found only by the name: the prompt does not describe what its tools do.
    assert case["tools"] == {"weather": WRITES, "book": WRITES}
    call, answer = case["turns"][0]["steps"]
    assert (call["name"], call["arguments"], call["result"]) == ("weather", {"city": "Rome"}, {"degrees": 31})
    assert call["check"] == {
        "enabled": True,
        "arguments": "exact",
        "answer": "meaning",
        "value": None,
        "ignorePaths": [],
    }
    assert answer["text"] == "It is 31 °C in Rome."
    assert world.get(f"/api/v1/test-cases/{case['id']}").json == case


def test_exceptions_to_the_default_checks_are_given_by_turn_and_step(world: World, prompt_id: int) -> None:
    changed = {"turn": 0, "step": 0, "check": {"arguments": "subset", "ignorePaths": ["/unit"]}}
    case = make_case(world, record(world, prompt_id), name="Heat", steps=[changed], includedTurns=1, order="in_order")

    assert (case["name"], case["includedTurns"], case["order"]) == ("Heat", 1, "in_order")
    check = case["turns"][0]["steps"][0]["check"]
    assert (check["enabled"], check["arguments"], check["ignorePaths"]) == (True, "subset", ["/unit"])
    assert case["turns"][1]["steps"][0]["check"]["arguments"] == "exact"


def test_what_turns_recorded_of_their_prompt_is_kept(world: World, prompt_id: int) -> None:
    turn = RecordedTurn("Hi", "Hello.", offered=("weather",), placeholders={"tone": "kind"}, version="ab" * 32)
    case = make_case(world, record(world, prompt_id, [turn]))

    kept = case["turns"][0]
    assert (kept["offeredTools"], kept["placeholders"], kept["promptVersion"]) == (
        ["weather"],
        {"tone": "kind"},
        "ab" * 32,
    )


@SQLITE_CONTAINER
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"includedTurns": 4}, "includedTurns: must be a whole number from 1 to 3"),
        ({"order": "sorted"}, "order: must be one of effects, any, in_order"),
        ({"order": None}, "order: must be one of"),
        ({"history": 1}, "history: must be one of replayed, recorded"),
        ({"onMissing": "ask"}, "onMissing: must be one of error, stop, nearest, static, simulate"),
        ({"steps": {}}, "steps: must be a list"),
        ({"corrections": 1}, "corrections: must be a list"),
        ({"steps": [{"turn": 0, "step": 2, "check": {}}]}, "steps.0.step: there are 2, counted from 0"),
        ({"steps": [{"turn": 9, "step": 0, "check": {}}]}, "steps.0.turn: there are 3"),
        ({"steps": [{"turn": 0, "step": 0, "check": {"answers": "strict"}}]}, "steps.0.check.answers: unknown field"),
        ({"steps": [{"turn": 0, "step": 1, "check": {"answer": "regex", "value": "("}}]}, "steps.0.check.value: "),
        ({"steps": [{"turn": 0, "step": 0}]}, "steps.0.check: is required"),
        ({"name": "  "}, "name: "),
        ({"name": "a\0b"}, "name: "),
        (
            {"steps": [{"turn": 0, "step": 1, "check": {"answer": "contains", "value": "\0"}}]},
            "steps: Must not contain",
        ),
        ({"steps": [{"turn": 0, "step": 0, "check": {"ignorePaths": ["/\0"]}}]}, "steps: Must not contain"),
        (
            {"steps": [{"turn": 0, "step": 1, "check": {"value": json.loads("[" * 65 + "]" * 65)}}]},
            "steps: Must not be nested",
        ),
        ({"assertionValue": "a\0b"}, "assertionValue: "),
        ({"assertionValue": 1}, "assertionValue: "),
        ({"title": "x"}, "title: Unknown field."),
    ],
)
def test_what_a_test_case_cannot_be_is_refused_by_its_path(
    world: World, prompt_id: int, body: dict[str, Any], words: str
) -> None:
    session_id = record(world, prompt_id)

    refused = world.post(f"/api/v1/sessions/{session_id}/test-cases", json=body)

    assert refused.status_code == 400
    assert refused.json["error"].startswith(words)
    assert world.count("test_cases") == 0


@SQLITE_CONTAINER
def test_a_body_that_is_refused_is_refused_before_the_session_is_read(
    world: World, prompt_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    session_id = record(world, prompt_id)
    monkeypatch.setattr(SessionService, "beginning", lambda *_, **__: pytest.fail("read"))

    for body in ({"steps": "x" * 1_000_000}, {"history": {}}, {"includedTurns": "all"}, {"tools": {"a": 1}}):
        assert world.post(f"/api/v1/sessions/{session_id}/test-cases", json=body).status_code == 400


def test_a_test_case_that_checks_nothing_is_refused(world: World, prompt_id: int) -> None:
    session_id = record(world, prompt_id, [HOT])
    off = [{"turn": 0, "step": step, "check": {"enabled": False}} for step in (0, 1)]

    refused = world.post(f"/api/v1/sessions/{session_id}/test-cases", json={"steps": off})

    assert refused.status_code == 400
    assert "at least one step" in refused.json["error"]


@pytest.mark.parametrize(("assertion", "answer"), [("AI", "ai"), ("MANUAL", "manual"), ("STRICT", "strict")])
def test_answers_are_checked_as_the_prompt_asserts(world: World, prompt_id: int, assertion: str, answer: str) -> None:
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"assertionType": assertion})
    written = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json={"question": "1+1?", "expectedAnswer": "2"})

    assert written.status_code == 201
    assert written.json["turns"][0]["steps"][0]["check"]["answer"] == answer


def test_a_test_case_written_by_hand_is_one_question_and_one_answer(world: World, prompt_id: int) -> None:
    body = {"question": "1+1?", "expectedAnswer": "2", "placeholders": {"tone": "kind"}}

    case = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json=body).json

    assert (case["name"], case["sessionId"], len(case["turns"])) == ("1+1?", None, 1)
    turn = case["turns"][0]
    assert (turn["user"], turn["placeholders"]) == ("1+1?", {"tone": "kind"})
    assert [(step["kind"], step["text"]) for step in turn["steps"]] == [("answer", "2")]


def test_later_turns_continue_a_written_conversation(world: World, prompt_id: int) -> None:
    later = [{"question": "And 2+2?", "expectedAnswer": "4"}, {"question": "Why?", "expectedAnswer": ""}]
    body = {"question": "1+1?", "expectedAnswer": "2", "placeholders": {"tone": "kind"}, "laterTurns": later}

    case = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json=body).json

    turns = [(turn["user"], turn["placeholders"], turn["steps"][0]["text"]) for turn in case["turns"]]
    assert turns == [
        (question, {"tone": "kind"}, text) for question, text in (("1+1?", "2"), ("And 2+2?", "4"), ("Why?", ""))
    ]


@SQLITE_CONTAINER
@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"question": "?", "expectedAnswer": "2", "laterTurns": [{"question": "?"}]}, "laterTurns.0.expectedAnswer: "),
        (
            {"question": "?", "expectedAnswer": "2", "laterTurns": [{"question": " ", "expectedAnswer": ""}]},
            "laterTurns.0.question: ",
        ),
        ({"question": "?", "expectedAnswer": "2", "laterTurns": [1] * 1000}, "laterTurns: "),
        ({"expectedAnswer": "2"}, "question: "),
        ({"question": "?"}, "expectedAnswer: "),
        ({"question": "", "expectedAnswer": "2"}, "question: "),
        ({"question": "?", "expectedAnswer": 2}, "expectedAnswer: "),
        ({"question": "?", "expectedAnswer": "2", "placeholders": {"a": 1}}, "placeholders.a: "),
        ([], "Must be a JSON object."),
    ],
)
def test_a_written_test_case_needs_its_parts(world: World, prompt_id: int, body: Any, path: str) -> None:
    refused = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json=body)

    assert (refused.status_code, refused.json["error"].startswith(path)) == (400, True)


def test_a_change_replaces_only_what_it_names(world: World, case: dict[str, Any]) -> None:
    change = {
        "name": "Renamed",
        "history": "recorded",
        "steps": [{"turn": 2, "step": 0, "check": {"answer": "contains", "value": "welcome"}}],
    }

    changed = world.patch(f"/api/v1/test-cases/{case['id']}", json=change)

    assert changed.status_code == 200
    assert (changed.json["name"], changed.json["history"], changed.json["order"]) == ("Renamed", "recorded", "effects")
    check = changed.json["turns"][2]["steps"][0]["check"]
    assert (check["answer"], check["value"], check["enabled"]) == ("contains", "welcome", True)
    assert changed.json["turns"][0] == case["turns"][0]
    assert world.patch(f"/api/v1/test-cases/{case['id']}", json={"steps": 1}).status_code == 400


def test_a_test_case_outlives_its_session(world: World, prompt_id: int, case: dict[str, Any]) -> None:
    from sqlalchemy import text

    with world.container.database.write() as connection:
        for table in ("spans", "turns", "sessions"):
            connection.execute(text(f"DELETE FROM {table} WHERE prompt_id = :id"), {"id": prompt_id})

    assert world.get(f"/api/v1/sessions/{case['sessionId']}").status_code == 404
    assert world.get(f"/api/v1/test-cases/{case['id']}").json == case


def test_a_test_case_outlives_the_archiving_of_its_prompt(world: World, prompt_id: int, case: dict[str, Any]) -> None:
    assert world.delete(f"/api/v1/prompts/{prompt_id}").status_code == 204

    kept = world.get(f"/api/v1/test-cases/{case['id']}")
    changed = world.patch(f"/api/v1/test-cases/{case['id']}", json={"tools": {"book": {"never": True}}})

    assert (kept.status_code, kept.json) == (200, case)
    assert (changed.status_code, changed.json["tools"]["book"]["never"]) == (200, True)


def test_deleted_is_gone(world: World, case: dict[str, Any]) -> None:
    assert world.delete(f"/api/v1/test-cases/{case['id']}").status_code == 204
    assert world.get(f"/api/v1/test-cases/{case['id']}").status_code == 404
    assert world.delete(f"/api/v1/test-cases/{case['id']}").status_code == 404


def test_the_list_is_paged_newest_first(world: World, prompt_id: int, case: dict[str, Any]) -> None:
    copies = [world.post(f"/api/v1/test-cases/{case['id']}/copy").json["id"] for _ in range(2)]
    path = f"/api/v1/prompts/{prompt_id}/test-cases?limit=2"

    first = world.get(path).json
    second = world.get(f"{path}&cursor={first['nextCursor']}").json

    assert [one["id"] for one in first["testCases"]] == [copies[1], copies[0]]
    assert [one["id"] for one in second["testCases"]] == [case["id"]]
    assert second["nextCursor"] is None
    assert world.get(f"{path}&cursor=nonsense").status_code == 400
    assert world.get(f"/api/v1/prompts/{prompt_id}/test-cases?limit=0").status_code == 400


def test_the_list_of_prompts_counts_test_cases(world: World, prompt_id: int, case: dict[str, Any]) -> None:
    other = prompt(world)
    world.post(f"/api/v1/test-cases/{case['id']}/copy")

    listed = {one["id"]: one["_count"]["testCases"] for one in world.get("/api/v1/prompts").json["prompts"]}

    assert listed == {prompt_id: 2, other: 0}


def test_a_copy_is_its_own(world: World, case: dict[str, Any]) -> None:
    made = world.post(f"/api/v1/test-cases/{case['id']}/copy", json={"name": "Second"})
    assert made.status_code == 201
    world.patch(f"/api/v1/test-cases/{made.json['id']}", json={"includedTurns": 1})

    assert (made.json["name"], made.json["turns"]) == ("Second", case["turns"])
    assert world.get(f"/api/v1/test-cases/{case['id']}").json["includedTurns"] is None


def test_a_copy_of_one_turn_has_the_turns_before_it_as_its_history(world: World, prompt_id: int) -> None:
    later = [{"question": "And A-2?", "expectedAnswer": "In Rome."}]
    written = {"question": "Where is A-1?", "expectedAnswer": "In Oslo.", "laterTurns": later, "name": "Two"}
    case = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json=written).json

    made = world.post(f"/api/v1/test-cases/{case['id']}/copy", json={"turn": 1})

    assert (made.status_code, made.json["name"]) == (201, "Turn 2 of Two")
    (turn,) = made.json["turns"]
    assert turn["user"] == "And A-2?"
    assert [(message["role"], message["text"]) for message in turn["earlier"]] == [
        ("user", "Where is A-1?"),
        ("assistant", "In Oslo."),
    ]
    assert world.get(f"/api/v1/test-cases/{case['id']}").json["turns"] == case["turns"]


@pytest.mark.parametrize("turn", [-1, "0", True, 1.0, 10**9])
def test_a_copy_of_what_is_no_turn_is_refused(world: World, case: dict[str, Any], turn: Any) -> None:
    refused = world.post(f"/api/v1/test-cases/{case['id']}/copy", json={"turn": turn})

    assert (refused.status_code, refused.json["error"].partition(":")[0]) == (400, "turn")


def test_a_copy_of_a_turn_that_is_not_there_is_refused(world: World, case: dict[str, Any]) -> None:
    count = len(case["turns"])

    refused = world.post(f"/api/v1/test-cases/{case['id']}/copy", json={"turn": count})

    assert (refused.status_code, refused.json["error"]) == (400, f"turn: there are {count}, counted from 0")


def test_an_exported_file_is_the_same_each_time_and_anywhere(world: World, case: dict[str, Any]) -> None:
    exported = world.get(f"/api/v1/test-cases/{case['id']}/export").text
    elsewhere = prompt(world)
    brought = world.post(f"/api/v1/prompts/{elsewhere}/test-cases/import", body=exported)

    assert brought.status_code == 201
    assert brought.json["turns"] == case["turns"]
    assert world.get(f"/api/v1/test-cases/{brought.json['id']}/export").text == exported


def test_importing_again_changes_the_test_case_of_that_name(world: World, prompt_id: int, case: dict[str, Any]) -> None:
    file = world.get(f"/api/v1/test-cases/{case['id']}/export").json
    file["testCase"]["includedTurns"] = 2

    for _ in range(2):
        brought = world.post(f"/api/v1/prompts/{prompt_id}/test-cases/import", json=file)
        assert (brought.status_code, brought.json["id"], brought.json["includedTurns"]) == (200, case["id"], 2)
    assert world.count("test_cases") == 1


@SQLITE_CONTAINER
@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"format": "other/1"}, "format: "),
        ({"name": None}, "name: "),
        ({"testCase": {}}, "testCase.turns: is required"),
        ({"testCase": {"turns": [{"user": 1, "steps": []}]}}, "testCase.turns.0.user: "),
        ({"extra": 1}, "extra: "),
    ],
)
def test_a_file_that_is_none_is_refused_by_its_path(
    world: World, prompt_id: int, case: dict[str, Any], change: dict[str, Any], path: str
) -> None:
    file = world.get(f"/api/v1/test-cases/{case['id']}/export").json | change

    refused = world.post(f"/api/v1/prompts/{prompt_id}/test-cases/import", json=file)

    assert refused.status_code == 400
    assert refused.json["error"].startswith(path)


VERSION_1 = json.loads((Path(__file__).parents[2] / "data/test_cases/version_1.json").read_text(encoding="utf-8"))


def test_a_file_of_version_1_keeps_its_settings_and_is_written_as_version_2(world: World, prompt_id: int) -> None:
    brought = world.post(f"/api/v1/prompts/{prompt_id}/test-cases/import", json=VERSION_1)

    assert (brought.status_code, brought.json["order"], brought.json["onMissing"]) == (201, "in_order", "stop")
    call, answer = brought.json["turns"][0]["steps"]
    assert (call["check"]["arguments"], call["check"]["ignorePaths"]) == ("subset", ["/unit"])
    assert (answer["check"]["answer"], answer["check"]["value"]) == ("contains", "31")
    assert brought.json["turns"][1]["steps"][0]["check"]["answer"] == "strict"
    file = world.get(f"/api/v1/test-cases/{brought.json['id']}/export").json
    assert (file["format"], file["testCase"]["tools"]) == ("reprise.test-case/2", {})
    assert world.post(f"/api/v1/prompts/{prompt_id}/test-cases/import", json=file).json == brought.json


@pytest.mark.parametrize(
    ("version", "order", "on_missing"),
    [("reprise.test-case/1", "any", "stop"), ("reprise.test-case/2", "effects", "error")],
)
def test_a_setting_that_a_file_leaves_out_has_the_default_of_its_version(
    world: World, prompt_id: int, version: str, order: str, on_missing: str
) -> None:
    turns = VERSION_1["testCase"]["turns"]
    file = {"format": version, "name": "Short", "testCase": {"turns": turns}}

    brought = world.post(f"/api/v1/prompts/{prompt_id}/test-cases/import", json=file).json

    assert (brought["order"], brought["onMissing"]) == (order, on_missing)


def test_a_test_case_that_is_too_large_to_report_is_refused(world: World, prompt_id: int) -> None:
    long = RecordedTurn("Tell me all.", "All. " * 900_000)

    refused = world.post(f"/api/v1/sessions/{record(world, prompt_id, [long])}/test-cases")

    assert refused.status_code == 400
    assert "the limit is" in refused.json["error"]


def test_nothing_foreign_can_be_seen_or_touched(world: World, prompt_id: int, case: dict[str, Any]) -> None:
    foreign = new_world(world.container)
    exported = world.get(f"/api/v1/test-cases/{case['id']}/export").text
    written = json.dumps({"question": "?", "expectedAnswer": "!"})
    refused = [
        foreign.get(f"/api/v1/test-cases/{case['id']}"),
        foreign.patch(f"/api/v1/test-cases/{case['id']}", json={}),
        foreign.delete(f"/api/v1/test-cases/{case['id']}"),
        foreign.post(f"/api/v1/test-cases/{case['id']}/copy"),
        foreign.get(f"/api/v1/test-cases/{case['id']}/export"),
        foreign.post(f"/api/v1/test-cases/{case['id']}/replays"),
        foreign.get(f"/api/v1/prompts/{prompt_id}/test-cases"),
        foreign.post(f"/api/v1/prompts/{prompt_id}/test-cases", body=written),
        foreign.post(f"/api/v1/prompts/{prompt_id}/test-cases/import", body=exported),
        foreign.post(f"/api/v1/prompts/{prompt_id}/replays"),
        foreign.get(f"/api/v1/prompts/{prompt_id}/replays"),
        foreign.post(f"/api/v1/sessions/{case['sessionId']}/test-cases"),
    ]

    assert [answer.status_code for answer in refused] == [404] * len(refused)
    assert world.get(f"/api/v1/test-cases/{case['id']}").json == case
    assert world.count("replays") == 0


def test_a_large_test_case_is_read_when_the_request_has_its_place_and_a_small_one_at_once(
    world: World, prompt_id: int
) -> None:
    path, service = f"/api/v1/prompts/{prompt_id}/test-cases", world.container.services.test_cases
    small, large = (
        world.post(path, json={"question": question, "expectedAnswer": ""}).json["id"]
        for question in ("small", "x" * LARGE_TEXT)
    )
    places = FairSemaphore(Quota(1, 1, 1))
    with places.hold(0, wait_s=0):
        computing.offer(ComputingPlace(places, 1, wait_s=0))
        assert service.get(project_id=world.project_id, test_case_id=small).id == small
        with pytest.raises(Unavailable):
            service.get(project_id=world.project_id, test_case_id=large)
    computing.offer(ComputingPlace(places, 1, wait_s=30))
    assert service.get(project_id=world.project_id, test_case_id=large).id == large
    assert places._shares.taken == 1
    computing.finish()
