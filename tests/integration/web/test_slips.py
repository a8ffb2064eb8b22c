"""Nothing is lost by a slip: what can be undone has an undo, what can't is asked about."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

from sqlalchemy import update

from app.models.data_policies import DataPolicy
from app.models.organizations import Role
from app.models.runs import runs
from tests.integration.replays.recording import make_case, prompt, record, replayed
from tests.integration.web.conftest import Browser
from tests.integration.web.test_replaying import case_of
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.waiting import wait_until
from tests.support.world import World

MemberOf = Callable[[Role], Browser]


def test_an_archived_prompt_comes_back_by_the_button_next_to_the_message(world: World, admin: Browser) -> None:
    prompt = f"{admin.base}/prompts/{world.prompt()}"
    admin.open(f"{prompt}/archive")
    assert "Nothing is deleted" in admin.text

    admin.open(admin.send(f"{prompt}/archive").headers["location"])
    undo = re.search(r'<form method="post" action="([^"]+/unarchive)">', admin.page)[1]  # type: ignore[index]
    assert admin.open(f"{prompt}/edit").status_code == 404
    admin.open(f"{admin.base}/prompts")

    assert admin.send(undo).headers["location"] == prompt
    assert admin.open(f"{prompt}/edit").status_code == 200


def test_the_archive_lists_what_can_be_taken_out(world: World, admin: Browser, member_of: MemberOf) -> None:
    prompt_id = world.prompt()
    admin.open(f"{admin.base}/prompts/archived")
    assert "The archive is empty" in admin.text

    world.delete(f"/api/v1/prompts/{prompt_id}")
    for visitor in (admin, viewer := member_of(Role.VIEWER)):
        visitor.open(f"{admin.base}/prompts/archived")
        assert "A prompt" in visitor.text
    assert "Unarchive" in admin.text
    assert "Unarchive" not in viewer.text


def test_a_message_undoes_nothing_outside_the_projects(admin: Browser) -> None:
    admin.cookies["reprise_flash"] = "WyJPaCIsImRvbmUiLCJodHRwczovL2VsYmUuZXhhbXBsZS8iXQ"
    admin.open(f"{admin.base}/prompts")

    assert "Oh" in admin.text
    assert "elbe.example" not in admin.page


def test_a_message_waits_for_a_page_while_a_preview_is_answered(world: World, admin: Browser) -> None:
    prompt = f"{admin.base}/prompts/{world.prompt()}"
    admin.open(f"{prompt}/edit")
    admin.cookies["reprise_flash"] = "WyJPaCIsImRvbmUiLCIiXQ"

    admin.send(f"{prompt}/preview", value="One", model="echo")
    assert "Oh" not in admin.text
    admin.open(f"{prompt}/edit")

    assert "Oh" in admin.text
    assert "reprise_flash" not in admin.cookies


def test_a_policy_that_removes_rows_asks_and_names_how_many(world: World, admin: Browser) -> None:
    path, policies = f"{admin.base}/settings/data", world.container.services.data_policies
    for question in ("One?", "Two?"):
        world.post("/api/v1/prompts/run", json={"id": world.prompt(), "question": question, "productive": False})
    with world.container.database.write() as connection:
        long_ago = world.container.now() - timedelta(days=40)
        of_project = runs.c.project_id == world.project_id
        connection.execute(update(runs).where(of_project).values(created_at=long_ago))
    rule = {"kind": ["pattern", "pattern"], "value": ["a", "b"], "replacement": ["x", "y"]}
    admin.open(path)

    asked = admin.send(path, spans="", runs="30", replays="30", rejectedSpans="", **rule)

    assert (asked.status_code, policies.get(project_id=world.project_id)) == (200, DataPolicy())
    assert "deleted soon after you save: 2 runs." in admin.text
    sent = dict[str, list[str]]()
    for name, value in re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', admin.page):
        sent.setdefault(name, []).append(value)
    assert admin.send(path, csrf=sent.pop("csrf")[-1], **sent).status_code == 303
    kept = policies.get(project_id=world.project_id)
    assert (kept.runs_days, kept.replays_days, [each["value"] for each in kept.masking]) == (30, 30, ["a", "b"])


def test_a_policy_that_removes_nothing_new_is_saved_at_once(world: World, admin: Browser) -> None:
    path = f"{admin.base}/settings/data"
    admin.open(path)
    sent = {"spans": "30", "runs": "30", "replays": "", "rejectedSpans": ""}

    assert admin.send(path, **sent).status_code == 303


def test_what_was_accepted_is_offered_no_more_and_a_call_never_made_can_be_accepted(
    world: World, admin: Browser
) -> None:
    turn = RecordedTurn("Where is A-1?", "On its way.", (RecordedCall("get_order", {"id": "A-1"}, {"state": "sent"}),))
    case = make_case(world, record(world, prompt(world, "echo"), [turn]))
    path = f"{admin.base}/replays/{replayed(world, case['id'])['id']}"
    admin.open(path)
    offered = re.findall(r'href="([^"]+/accept)"', admin.page)
    assert offered == [f"{path}/steps/0/accept", f"{path}/steps/1/accept"]

    admin.open(offered[0])
    assert "does not check this call any more" in admin.text
    for number, each in enumerate(offered):
        assert admin.send(each).headers["location"] == f"{path}?at=step-{number}#step-{number}"

    admin.open(path)
    assert admin.text.count("The test case expects this by now.") == 2
    assert "/accept" not in admin.page


def run_all(browser: Browser, prompt_id: int) -> str:
    """Run all test cases, wait until their page, which is open then, shows the end, and return its address."""
    browser.open(f"{browser.base}/prompts/{prompt_id}/test-cases")
    together = browser.send(f"{browser.base}/prompts/{prompt_id}/test-cases", do="all").headers["location"]
    assert together.endswith("/batch")
    wait_until(lambda: "data-live" not in browser.open(together).text, "the end of all replays")
    return str(together)


def test_the_last_run_counts_the_test_cases_that_the_list_does_not_show(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    cases = [case_of(world, prompt_id) for _ in range(2)]
    world.patch(f"/api/v1/test-cases/{cases[0]}", json={"name": "The first"})
    together = run_all(admin, prompt_id)

    admin.open(f"{admin.base}/prompts/{prompt_id}/test-cases?search=first")
    assert len(re.findall(r'<th scope="row"', admin.page)) == 1
    assert "The last run: 2 of 2 passed" in admin.text
    for replay in set(re.findall(r'href="([^"]+/replays/\d+)"', admin.page)):
        admin.open(replay)
        assert f'href="{together.rsplit("/", 2)[0]}/' in admin.page
        assert "All 2 of this run" in admin.text


def test_a_run_without_test_cases_explains_it(world: World, admin: Browser) -> None:
    path = f"{admin.base}/prompts/{world.prompt()}/test-cases"
    admin.open(path)

    assert admin.send(path, do="all").headers["location"] == path


def test_replays_started_together_are_one_page_that_counts_how_many_passed(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    good, bad = case_of(world, prompt_id), case_of(world, prompt_id)
    for case in (good, bad):
        assert replayed(world, case)["status"] == "passed"
    step = {"turn": 0, "step": 0, "check": {"answer": "contains", "value": "Pong"}}
    assert world.patch(f"/api/v1/test-cases/{bad}", json={"steps": [step]}).status_code == 200

    together = run_all(admin, prompt_id)

    assert "1 of 2 passed" in admin.text
    assert "1 test case passed in its previous replay and failed now." in admin.text
    assert len(re.findall(r'<th scope="row"', admin.page)) == 2
    admin.open(f"{together}?show=failed")
    assert len(re.findall(r'<th scope="row"', admin.page)) == 1
    assert "newly failing" in admin.text


def test_what_failed_replays_did_is_accepted_in_one_go_and_once(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    wrong = [case_of(world, prompt_id, expected=f"Pong {n}") for n in range(2)]
    case_of(world, prompt_id)
    together = run_all(admin, prompt_id)
    assert f'href="{together}/accept"' in admin.page

    admin.open(f"{together}/accept")
    assert "Update the expectations?" in admin.text
    steps = re.findall(r'name="step" value="([^"]+)" checked', admin.page)
    assert len(steps) == 2
    before = changes_of_cases(world)
    assert admin.send(f"{together}/accept").headers["location"] == together
    assert changes_of_cases(world) == before
    assert admin.send(f"{together}/accept", step=steps).headers["location"] == together
    assert sorted(changes_of_cases(world)[: -len(before) or None]) == [str(case) for case in sorted(wrong)]

    admin.send(f"{together}/accept", step=steps)
    assert len(changes_of_cases(world)) == len(before) + 2
    assert admin.open(f"{together}/accept").headers["location"] == together
    assert run_all(admin, prompt_id)
    assert "3 of 3 passed" in admin.text


def test_only_what_was_listed_is_accepted(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    case_of(world, prompt_id, expected="Pong")
    together = run_all(admin, prompt_id)
    before = changes_of_cases(world)

    admin.open(f"{together}/accept")
    assert admin.send(f"{together}/accept", step=["0.0.0", "x"]).headers["location"] == together
    assert changes_of_cases(world) == before


def test_only_ticked_steps_are_accepted(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    for n in range(2):
        case_of(world, prompt_id, expected=f"Pong {n}")
    together = run_all(admin, prompt_id)
    before = changes_of_cases(world)

    admin.open(f"{together}/accept")
    assert re.findall(r"Pong \d", admin.text) == ["Pong 0", "Pong 1"]
    steps = re.findall(r'name="step" value="([^"]+)"', admin.page)
    admin.send(f"{together}/accept", step=steps[:1])

    assert len(changes_of_cases(world)) == len(before) + 1


def changes_of_cases(world: World) -> list[str]:
    """The ids of the changed test cases in the audit log, the newest first."""
    page = world.container.services.audit.page(organization_id=world.organization_id, limit=100, cursor=None)
    return [entry.subject for entry in page.entries if entry.action == "test_case.changed"]


def test_the_heading_of_a_batch_names_the_version_that_was_played_with_its_message(
    world: World, admin: Browser
) -> None:
    prompt_id = world.prompt()
    prompt = f"/api/v1/prompts/{prompt_id}"
    case_id = case_of(world, prompt_id)
    first = world.post(f"{prompt}/commit", json={"message": "First"}).json["commitHash"]
    world.patch(prompt, json={"value": "Answer."})
    of_draft = run_all(admin, prompt_id)
    assert '<h1 dir="auto">Replays of a draft</h1>' in admin.page
    committed = world.post(f"{prompt}/commit", json={"message": "Write <i>less</i>"}).json["commitHash"]

    admin.open(of_draft)
    assert f'<h1 dir="auto">Replays of version {committed[:8]}</h1>' in admin.page
    assert '<p class="lead">Write &lt;i&gt;less&lt;/i&gt;</p>' in admin.page
    replay = world.post(f"/api/v1/test-cases/{case_id}/replays", json={"candidate": {"commitHash": first}}).json
    admin.open(f"{admin.base}/replays/{replay['id']}/batch")
    assert f'<h1 dir="auto">Replays of version {first[:8]}</h1>' in admin.page
    changed = {"candidate": {"base": first, "value": "Else."}}
    replay = world.post(f"/api/v1/test-cases/{case_id}/replays", json=changed).json
    admin.open(f"{admin.base}/replays/{replay['id']}/batch")
    assert f"Replays of version {first[:8]} with changes" in admin.page


def test_a_batch_shows_what_it_played_and_is_run_again(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    case_of(world, prompt_id)
    together = run_all(admin, prompt_id)
    shown = " ".join(admin.text.split())
    assert "Played" in shown
    assert "the draft at that time" in shown
    assert "1 of 1" in shown
    again = dict(re.findall(r'name="(case)" value="(\d+)"', admin.page))

    answer = admin.send(f"{admin.base}/prompts/{prompt_id}/test-cases", do="ticked", **again)

    assert answer.status_code == 303
    assert answer.headers["location"] != together
    assert answer.headers["location"].endswith("/batch")
