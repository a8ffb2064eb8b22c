"""Test cases, replays and usage as pages: roles, verdicts, what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from app.models.organizations import Role
from app.models.replays import ReplayFilter
from tests.integration.web.conftest import Browser
from tests.support.waiting import wait_until
from tests.support.world import World, new_world

MemberOf = Callable[[Role], Browser]


def case_of(world: World, prompt_id: int, *, assertion: str = "STRICT", expected: str = "Ping") -> int:
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"assertionType": assertion})
    made = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json={"question": "Ping", "expectedAnswer": expected})
    return int(made.json["id"])


def replayed(world: World, case_id: int) -> dict[str, Any]:
    """A replay of the test case, ended."""
    replay_id = world.post(f"/api/v1/test-cases/{case_id}/replays").json["id"]
    wait_until(lambda: shown(world, replay_id)["status"] not in ("queued", "running"), "the replay")
    return shown(world, replay_id)


def shown(world: World, replay_id: int) -> dict[str, Any]:
    return dict(world.get(f"/api/v1/replays/{replay_id}").json)


@pytest.mark.parametrize(
    "path",
    [
        "/prompts/{prompt}/edit",
        "/prompts/{prompt}/archive",
        "/prompts/{prompt}/versions/{hash}/restore",
        "/prompts/{prompt}/test-cases",
        "/prompts/{prompt}/test-cases/new",
        "/test-cases/{case}",
        "/test-cases/{case}/replay",
        "/test-cases/{case}/copy",
        "/test-cases/{case}/delete",
        "/replays/{replay}/cancel",
        "/replays/{replay}/batch/accept",
        "/replays/{replay}/steps/0/verdict",
        "/replays/{replay}/steps/0/accept",
    ],
)
def test_a_viewer_reads_and_changes_nothing(world: World, member_of: MemberOf, path: str) -> None:
    viewer = member_of(Role.VIEWER)
    viewer.open("/account")
    target = path.format(prompt=world.prompt(), hash="0" * 64, case=1, replay=1)

    assert viewer.send(viewer.base + target).status_code == 403


@pytest.mark.parametrize("path", ["prompts/{prompt}/edit", "test-cases/{case}", "replays/{replay}", "runs/{run}"])
def test_what_belongs_to_others_is_not_there(world: World, admin: Browser, path: str) -> None:
    others = new_world(world.container)
    prompt = others.prompt()
    case = case_of(others, prompt)
    run = others.post("/api/v1/prompts/run", json={"id": prompt, "question": "x", "productive": False})
    ids = {"prompt": prompt, "case": case, "replay": replayed(others, case)["id"], "run": run.headers["x-run-id"]}

    assert admin.open(f"{admin.base}/{path.format(**ids)}").status_code == 404


def test_a_person_judges_a_step_and_the_verdict_follows(world: World, admin: Browser) -> None:
    replay = replayed(world, case_of(world, world.prompt(), assertion="MANUAL"))
    path = f"{admin.base}/replays/{replay['id']}"
    assert replay["status"] == "needs_review"
    admin.open(path)
    assert "It passes" in admin.text

    assert admin.send(f"{path}/steps/0/verdict", verdict="maybe").status_code == 400
    assert admin.send(f"{path}/steps/0/verdict", verdict="passed").status_code == 303

    assert shown(world, replay["id"])["status"] == "passed"
    admin.open(path)
    assert "It passes" not in admin.text


def test_where_nothing_defines_tools_the_page_explains_that_none_was_offered(world: World, admin: Browser) -> None:
    replay = replayed(world, case_of(world, world.prompt()))
    admin.open(f"{admin.base}/replays/{replay['id']}")

    assert "Neither the prompt nor the recording defines tools, so none was offered" in admin.text
    assert "the recording’s tools" not in admin.text
    assert replay["offeredFrom"] == "prompt"


def test_an_accepted_answer_is_expected_from_then_on(world: World, admin: Browser) -> None:
    case = case_of(world, world.prompt(), expected="Pong")
    replay = replayed(world, case)
    path = f"{admin.base}/replays/{replay['id']}/steps/0/accept"
    assert replay["status"] == "failed"
    admin.open(path)

    assert admin.send(path).status_code == 303

    assert replayed(world, case)["status"] == "passed"
    assert shown(world, replay["id"])["status"] == "failed"


def test_a_step_that_produced_nothing_cannot_be_accepted(world: World, admin: Browser) -> None:
    replay = replayed(world, case_of(world, world.prompt()))

    assert admin.open(f"{admin.base}/replays/{replay['id']}/steps/7/accept").status_code == 400


def test_an_ended_replay_cannot_be_cancelled(world: World, admin: Browser) -> None:
    replay = replayed(world, case_of(world, world.prompt()))
    admin.open("/account")

    assert admin.send(f"{admin.base}/replays/{replay['id']}/cancel").status_code == 409


def test_ticked_test_cases_are_replayed_and_no_others(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    ticked, other = case_of(world, prompt_id), case_of(world, prompt_id)
    path = f"{admin.base}/prompts/{prompt_id}/test-cases"
    admin.open(path)

    assert admin.send(path, do="ticked").status_code == 400
    assert admin.send(path, do="ticked", case=str(ticked)).status_code == 303

    page = world.container.services.replays.list(
        project_id=world.project_id, prompt_id=prompt_id, filters=ReplayFilter(), limit=9, cursor=None
    )
    assert [view.row.test_case_id for view in page.entries] == [ticked]
    assert other != ticked


def test_a_test_case_that_would_check_nothing_is_refused_and_shown_again(world: World, admin: Browser) -> None:
    case = case_of(world, world.prompt())
    path = f"{admin.base}/test-cases/{case}"
    admin.open(path)
    settings = {"name": "Mine", "order": "any", "history": "replayed", "on_missing": "stop", "included": ""}
    sent = settings | {"step.0.0.check": "contains", "step.0.0.value": "ing"}

    assert admin.send(path, **sent).status_code == 400
    assert "at least one step" in admin.text
    assert 'value="Mine"' in admin.page
    kept = sent | {"step.0.0.enabled": "on"}
    assert admin.send(path, **kept).status_code == 303
    assert world.get(f"/api/v1/test-cases/{case}").json["turns"][0]["steps"][0]["check"]["value"] == "ing"


def test_the_list_shows_the_last_verdict_and_the_trend_of_each_test_case(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    passing, failing = case_of(world, prompt_id), case_of(world, prompt_id, expected="Pong")
    for case in (failing, passing, passing):
        replayed(world, case)

    admin.open(f"{admin.base}/prompts/{prompt_id}/test-cases")

    rows = re.findall(r'<tr class="linked">.*?/test-cases/(\d+)".*?</tr>', admin.page, re.DOTALL)
    assert rows == [str(failing), str(passing)]
    assert len(re.findall(r'/replays/\d+" class="ok"', admin.page)) == 2
    assert len(re.findall(r'/replays/\d+" class="bad"', admin.page)) == 1
    assert "data-live" not in admin.page


def test_versions_show_how_their_runs_and_replays_went(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    world.post(f"/api/v1/prompts/{prompt_id}/commit", json={"message": "First"})
    for question in ("Hi", "Ho"):
        world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": question})
    replayed(world, case_of(world, prompt_id))

    admin.open(f"{admin.base}/prompts/{prompt_id}/versions")

    said = " ".join(admin.text.split())
    assert "First latest" in said
    assert re.search(r"API key 2 \$0 [\d.]+ ms 0 % 100 %", said)


def test_usage_is_shown_and_downloaded(world: World, member_of: MemberOf) -> None:
    prompt_id = world.prompt()
    world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": "Hi", "productive": False})
    viewer = member_of(Role.VIEWER)

    for by in ("prompt", "model", "version", "key", "source"):
        assert viewer.open(f"{viewer.base}/usage?by={by}").status_code == 200
        assert "1 run" in viewer.text
    answer = viewer.open(f"{viewer.base}/usage.csv?by=source&days=7")

    assert answer.headers["content-type"].startswith("text/csv")
    assert re.search(r"^\d{4}-\d\d-\d\d,api,1,0,", answer.text, re.MULTILINE)


@pytest.mark.parametrize("query", ["by=colour", "days=12", "days=x"])
def test_usage_accepts_only_its_choices(admin: Browser, query: str) -> None:
    assert admin.open(f"{admin.base}/usage?{query}").status_code == 400


def test_a_replay_names_what_was_played(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    case_id = case_of(world, prompt_id)
    for candidate, played in (("draft", "the draft at that time"), ({"value": "Be brief."}, "the prompt as sent")):
        accepted = world.post(f"/api/v1/test-cases/{case_id}/replays", json={"candidate": candidate})
        assert played in admin.open(f"{admin.base}/replays/{accepted.json['id']}").text


def test_a_conversation_is_written_turn_by_turn(world: World, admin: Browser) -> None:
    path = f"{admin.base}/prompts/{world.prompt()}/test-cases/new"
    admin.open(path)

    shown = admin.send(path, question="Ping <b>", expected="Ping <b>", name="Two turns", more="1")

    assert shown.status_code == 200
    assert (admin.page.count('name="question"'), admin.page.count("Ping &lt;b&gt;</textarea>")) == (2, 2)
    assert 'value="Two turns"' in admin.page
    assert world.count("test_cases") == 0

    made = admin.send(path, question=["Ping <b>", "Pong", ""], expected=["Ping <b>", "Pong", ""], name="Two turns")

    case = world.get(f"/api/v1{made.headers['location'].removeprefix(admin.base)}").json
    assert [(turn["user"], turn["steps"][0]["text"]) for turn in case["turns"]] == [("Ping <b>",) * 2, ("Pong",) * 2]
    assert replayed(world, case["id"])["status"] == "passed"


def test_a_written_turn_without_a_question_is_shown_again(world: World, admin: Browser) -> None:
    path = f"{admin.base}/prompts/{world.prompt()}/test-cases/new"
    admin.open(path)

    refused = admin.send(path, question=["Ping", ""], expected=["Ping", "Pong"], name="")

    assert (refused.status_code, world.count("test_cases")) == (400, 0)
    assert "laterTurns.0.question" in admin.text
    assert "Pong</textarea>" in admin.page
