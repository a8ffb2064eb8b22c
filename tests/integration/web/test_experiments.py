"""Experiments as pages: their history, the form that starts one, what each found; roles, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from app.models.organizations import Role
from tests.integration.replays.recording import make_case, prompt, record, tool
from tests.integration.web.conftest import Browser
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.waiting import wait_until
from tests.support.world import World, new_world

FIND = RecordedCall("find_order", {"order": "A-1"}, "It is on its way.")
ASKED = RecordedTurn("A-1", "It is on its way.", (FIND,))


@pytest.fixture
def prompt_id(world: World) -> int:
    """A committed prompt with a test case that its version passes."""
    world.container.services.models.sync_catalogue()
    made = prompt(world, model="demo-agent", languageModelConfig={"tools": [tool("find_order", "order")]})
    make_case(world, record(world, made, [ASKED]), name="Where is | my order?")
    return made


def lose_the_tool(world: World, prompt_id: int) -> None:
    changed = world.patch(f"/api/v1/prompts/{prompt_id}", json={"languageModelConfig": {"tools": []}})
    assert changed.status_code == 200


def started(browser: Browser, prompt_id: int, **fields: Any) -> str:
    """Send the form; returns the path of the experiment."""
    browser.open(f"{browser.base}/prompts/{prompt_id}/experiments/new")
    answer = browser.send(f"{browser.base}/prompts/{prompt_id}/experiments/new", **fields)
    assert answer.status_code == 303, browser.text
    path: str = answer.headers["Location"]
    assert path.startswith(f"{browser.base}/experiments/")
    return path


def ended(world: World, path: str) -> dict[str, Any]:
    resource = f"/api/v1/experiments/{path.rpartition('/')[2]}"

    def found() -> Any:
        experiment = world.get(resource).json
        return experiment if experiment["finishedAt"] else None

    experiment: dict[str, Any] = wait_until(found, path)
    return experiment


def read(browser: Browser, path: str) -> str:
    answer = browser.open(path)
    assert answer.status_code == 200, answer.text
    return " ".join(browser.text.split())


def test_the_form_starts_an_experiment_that_reports_what_it_would_have_noticed(
    world: World, admin: Browser, prompt_id: int
) -> None:
    assert world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Be very {{tone}}."}).status_code == 200
    path = started(admin, prompt_id, detect="0.5", maxCost="2")
    found = ended(world, path)

    page = read(admin, path)

    assert (found["verdict"], found["maxCost"], found["repeats"]) == ("passed", 2, {"min": 4, "max": 40})
    assert "1 test passes as often as with version" in page
    assert "a step that fails more than 44 % of the time would have shown (4 replays each)" in page
    assert "The candidate may go live." in page
    assert "4 of 4 passed" in page
    assert "data-live" not in admin.page


def test_a_failed_experiment_shows_violations_first_and_leads_to_the_failing_replays(
    world: World, admin: Browser, prompt_id: int
) -> None:
    lose_the_tool(world, prompt_id)
    path = started(admin, prompt_id)
    found = ended(world, path)

    page = read(admin, path)

    failing = found["testCases"][0]["candidate"]["failedReplayIds"]
    assert found["verdict"] == "failed"
    assert failing
    assert page.index("The candidate does what it must not do") < page.index("Where is | my order?")
    for replay_id in failing:
        assert f'href="{admin.base}/replays/{replay_id}"' in admin.page
    assert "find_order is no longer offered" in page
    assert "| Where is &#124; my order? |" in page
    went_wrong = page.partition("### What went wrong")[2]
    assert "turn 1, step 1 (tool call) failed" in went_wrong


def test_each_test_that_got_worse_shows_why_with_the_number_of_replays(
    world: World, admin: Browser, prompt_id: int
) -> None:
    lose_the_tool(world, prompt_id)
    path = started(admin, prompt_id, detect="0.5")
    replay_id = ended(world, path)["testCases"][0]["candidate"]["failedReplayIds"][0]

    page = read(admin, path)

    assert re.search(r"It failed: the call of find_order in turn 1 ?, (\d+) of \1 replay", page), page
    href = f"{admin.base}/replays/{replay_id}?at=step-0#step-0"
    assert f'href="{href}">It failed' in admin.page
    assert 'id="step-0"' in admin.open(href.partition("#")[0]).text
    assert f'href="{path}">Its experiment' in admin.page


def test_a_failed_experiment_is_fetched_again_until_the_audit_of_its_judge_has_ended(
    world: World, admin: Browser, prompt_id: int, monkeypatch: Any
) -> None:
    monkeypatch.setattr(type(world.container.audit_delivery), "send", lambda *_: None)
    lose_the_tool(world, prompt_id)
    path = started(admin, prompt_id)
    audit_id = ended(world, path)["judgeAudit"]["id"]

    assert "The audit of the judge has not ended." in read(admin, path)
    assert 'id="experiment" data-live' in admin.page

    world.post(f"/api/v1/judge-audits/{audit_id}/cancel")
    assert "could not be audited: It was cancelled." in read(admin, path)
    assert "data-live" not in admin.page


def test_blind_test_cases_are_marked_and_their_prompt_s_page_offers_to_mend_them(world: World, admin: Browser) -> None:
    prompt_id = prompt(world, model="echo")
    made = {"name": "Never passes", "question": "Ping", "expectedAnswer": "Something else"}
    case_id = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json=made).json["id"]
    path = started(admin, prompt_id, detect="0.5")

    assert ended(world, path)["verdict"] == "inconclusive"
    page = read(admin, path)
    assert "Calibrate or fix the blind tests" in page
    assert "1 test that the baseline passes too rarely to show a drop" in page
    cases = read(admin, f"{admin.base}/prompts/{prompt_id}/test-cases")
    assert "1 test case can’t show a drop." in cases
    assert f'href="{admin.base}/test-cases/{case_id}"' in admin.page


def test_the_form_forecasts_replays_and_costs_before_it_starts_anything(
    world: World, admin: Browser, prompt_id: int
) -> None:
    form = f"{admin.base}/prompts/{prompt_id}/experiments/new"
    lose_the_tool(world, prompt_id)
    page = read(admin, form)
    assert page.index("Smallest regression to detect") < page.index("Compare with")
    assert "one time in four9 to 90" in page
    assert "not known yet" in page

    again = admin.send(form, detect="0.5", min="2", max="3", forecast="1")

    assert again.status_code == 200
    assert "every second time2 to 3" in " ".join(admin.text.split())
    assert world.get(f"/api/v1/prompts/{prompt_id}/experiments").json["experiments"] == []


def test_the_form_warns_of_a_candidate_that_equals_what_it_is_compared_with(
    world: World, admin: Browser, prompt_id: int
) -> None:
    form = f"{admin.base}/prompts/{prompt_id}/experiments/new"
    first = world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]
    warning = "this experiment can find no difference and plays each test case once"
    page = read(admin, form)
    assert f"The draft equals the version that it is compared with, so {warning}" in page
    assert "1 to 1" not in page
    assert f"The version would be compared with itself, so {warning}" in read(admin, f"{form}?candidate={first}")
    assert warning not in read(admin, f"{form}?baseline=none")
    assert warning not in read(admin, f"{form}?model=demo-agent")

    lose_the_tool(world, prompt_id)
    assert warning not in read(admin, form)
    assert world.post(f"/api/v1/prompts/{prompt_id}/commit", json={"message": "v2"}).status_code == 201
    assert warning in read(admin, form)
    assert warning not in read(admin, f"{form}?candidate={first}")
    assert warning in read(admin, f"{form}?candidate={first}&baseline={first}")


def test_ticked_versions_are_compared_and_ranked(world: World, admin: Browser, prompt_id: int) -> None:
    path = f"/api/v1/prompts/{prompt_id}"
    first = world.get(path).json["commitHash"]
    world.patch(path, json={"value": "Be very {{tone}}."})
    found = ended(world, started(admin, prompt_id, candidate="draft", other=first, baseline=first, detect="0.5"))

    page = read(admin, f"{admin.base}/experiments/{found['id']}")

    assert [each["name"] for each in found["candidates"]] == ["the draft", f"version {first[:8]}"]
    assert "Ranked by what is shown" in page
    assert "Candidates on the same tests" in page


def test_what_an_experiment_finds_is_named_as_such_and_is_no_result_of_the_test_case(
    world: World, admin: Browser, prompt_id: int
) -> None:
    case_id = world.get(f"/api/v1/prompts/{prompt_id}/test-cases").json["testCases"][0]["id"]
    pages = [f"prompts/{prompt_id}/test-cases", f"test-cases/{case_id}"]
    lose_the_tool(world, prompt_id)
    found = ended(world, started(admin, prompt_id))
    assert found["verdict"] == "failed"

    shown = [read(admin, f"{admin.base}/{page}") for page in pages]
    assert "in an experiment" in shown[0]
    assert re.search(r"\b0 of \d+ passed", shown[0])
    assert "The last run" not in shown[0]
    assert "in experiments" in read(admin, f"{admin.base}/prompts")
    assert "Last replays" not in shown[1]
    read(admin, f"{admin.base}/replays/{found['testCases'][0]['candidate']['replayIds'][0]}")
    assert "of this run" not in admin.text


def test_the_history_has_the_newest_first_and_is_filtered_by_verdict(
    world: World, admin: Browser, prompt_id: int
) -> None:
    passed = started(admin, prompt_id)
    ended(world, passed)
    lose_the_tool(world, prompt_id)
    failed = started(admin, prompt_id)
    ended(world, failed)
    history = f"{admin.base}/prompts/{prompt_id}/experiments"

    page = read(admin, history)

    assert admin.page.index(failed) < admin.page.index(passed)
    assert "The draft against version" in page
    assert "2 experiments" in page
    assert re.search("violations? in 1 test", page)
    read(admin, f"{history}?sort=when")
    assert admin.page.index(passed) < admin.page.index(failed)
    assert "1 experiment Show all" in read(admin, f"{history}?verdict=failed")
    assert failed in admin.page
    assert passed not in admin.page
    assert "No experiment matches the filter" in read(admin, f"{history}?verdict=inconclusive")
    assert admin.open(f"{history}?verdict=best").status_code == 400


def test_the_history_goes_on_on_the_next_page(world: World, admin: Browser, prompt_id: int, monkeypatch: Any) -> None:
    monkeypatch.setattr("app.web.views.experiments.PAGE_SIZE", 1)
    older, newer = started(admin, prompt_id), started(admin, prompt_id)
    history = f"{admin.base}/prompts/{prompt_id}/experiments"

    read(admin, history)

    assert newer in admin.page
    assert older not in admin.page
    cursor = admin.page.partition("?cursor=")[2].partition('"')[0]
    read(admin, f"{history}?cursor={cursor}")
    assert older in admin.page
    assert newer not in admin.page


def test_a_version_is_compared_with_nothing_and_with_other_models(world: World, admin: Browser, prompt_id: int) -> None:
    version = world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]
    (case,) = world.get(f"/api/v1/prompts/{prompt_id}/test-cases").json["testCases"]
    fields = {"case": [str(case["id"])], "model": ["echo"], "min": "2", "max": "3", "minPassRate": "90"}

    path = started(admin, prompt_id, candidate=version, baseline="none", maxSlowdown="2.5", fresh="1", **fields)
    found = ended(world, path)
    page = read(admin, path)

    assert found["candidate"]["commitHash"] == version
    assert (found["baseline"], found["minPassRate"], found["maxSlowdown"]) == (None, 0.9, 2.5)
    assert found["repeats"] == {"min": 2, "max": 3}
    assert "Models on the same tests" in page
    assert '<th scope="col">Candidate’s model</th><th scope="col">echo</th>' in admin.page
    assert admin.text.index("2 of 2 replays") < admin.text.index("0 of 2 replays")


def test_it_is_shown_while_it_runs_and_can_be_cancelled(
    world: World, admin: Browser, prompt_id: int, monkeypatch: Any
) -> None:
    # No replay is sent to a worker, so the experiment can't end before it is cancelled.
    monkeypatch.setattr(type(world.container.experiment_delivery.replays), "send", lambda *_: None)
    path = started(admin, prompt_id, baseline="none")

    page = read(admin, path)

    assert re.search(r"\b0 of [1-9]", page)
    assert 'id="experiment" data-live' in admin.page
    assert admin.send(f"{path}/cancel").headers["Location"] == path
    page = read(admin, path)
    assert "without a verdict" in page
    assert "data-live" not in admin.page
    assert admin.send(f"{path}/cancel").status_code == 409


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"detect": "2"}, "detect"),
        ({"maxCost": "0"}, "maxCost"),
        ({"maxCost": "nan"}, "maxCost: Must be a number."),
        ({"min": "9", "max": "2"}, "repeats"),
        ({"min": "many"}, "repeats.min: Must be a whole number."),
        ({"minPassRate": "101"}, "minPassRate"),
        ({"case": "x"}, "testCaseIds"),
        ({"model": "no such model"}, "languageModelNames"),
    ],
)
def test_what_can_not_be_started_is_shown_again_with_the_reason(
    world: World, admin: Browser, prompt_id: int, fields: dict[str, str], problem: str
) -> None:
    admin.open(f"{admin.base}/prompts/{prompt_id}/experiments/new")

    answer = admin.send(f"{admin.base}/prompts/{prompt_id}/experiments/new", **fields)

    assert answer.status_code == 400
    assert problem in admin.text
    assert all(
        f'value="{value}"' in admin.page for name, value in fields.items() if name not in ("detect", "case", "model")
    )
    assert world.get(f"/api/v1/prompts/{prompt_id}/experiments").json["experiments"] == []


def test_without_test_cases_the_form_explains_how_to_make_one(world: World, admin: Browser) -> None:
    assert "Make one of a recorded session" in read(admin, f"{admin.base}/prompts/{world.prompt()}/experiments/new")


def test_a_viewer_reads_experiments_and_starts_none(
    world: World, admin: Browser, member_of: Callable[[Role], Browser], prompt_id: int
) -> None:
    path = started(admin, prompt_id)
    ended(world, path)
    viewer = member_of(Role.VIEWER)

    assert "Nothing was compared: the draft is the same as" in read(viewer, path)
    assert "Start another" not in viewer.page
    read(viewer, f"{viewer.base}/prompts/{prompt_id}/experiments")
    assert "New experiment" not in viewer.page
    viewer.open("/account")
    assert viewer.open(f"{viewer.base}/prompts/{prompt_id}/experiments/new").status_code == 403
    viewer.open("/account")
    assert viewer.send(f"{viewer.base}/prompts/{prompt_id}/experiments/new").status_code == 403
    assert viewer.send(f"{path}/cancel").status_code == 403


def test_experiments_of_others_are_not_there(world: World, admin: Browser, prompt_id: int) -> None:
    path = started(admin, prompt_id)
    stranger = new_world(world.container)
    theirs = prompt(stranger, model="demo-agent")

    assert stranger.get(f"/api/v1/experiments/{path.rpartition('/')[2]}").status_code == 404
    assert admin.open(f"{admin.base}/prompts/{theirs}/experiments").status_code == 404
    assert admin.open(f"{admin.base}/prompts/{theirs}/experiments/new").status_code == 404
