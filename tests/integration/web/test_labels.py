"""Labels on the versions page: shown with what each version did, moved, split, guarded, and moved back by one click."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from app.models.organizations import Role
from app.timestamps import utc_now
from tests.integration.prompts.test_labels_guarded import experiment
from tests.integration.web.conftest import Browser
from tests.support.conversations import RecordedTurn, export
from tests.support.world import World

MemberOf = Callable[[Role], Browser]


@pytest.fixture
def prompt(world: World) -> tuple[int, list[str]]:
    """A prompt of two versions, the oldest first."""
    prompt_id = world.prompt()
    path = f"/api/v1/prompts/{prompt_id}"
    hashes = [world.post(f"{path}/commit", json={"message": "First"}).json["commitHash"]]
    world.patch(path, json={"value": "Be brief."})
    return prompt_id, [*hashes, world.post(f"{path}/commit", json={"message": "Second"}).json["commitHash"]]


def labels(world: World, prompt_id: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = world.get(f"/api/v1/prompts/{prompt_id}/labels").json["labels"]
    return found


def said(browser: Browser) -> str:
    return " ".join(browser.text.split())


def test_a_label_is_made_moved_and_moved_back_by_one_click(
    world: World, member_of: MemberOf, prompt: tuple[int, list[str]]
) -> None:
    prompt_id, (first, second) = prompt
    page = f"/projects/{world.project_id}/prompts/{prompt_id}"
    member = member_of(Role.MEMBER)

    member.open(f"{page}/labels?label=production&version={first}")
    assert f'value="{first}" selected' in member.page
    for commit_hash in (first, second):
        moved = member.send(f"{page}/labels", label="production", version=commit_hash)
        assert moved.headers["location"] == f"{page}/versions"

    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Not committed."})
    member.open(f"{page}/versions")
    assert "The draft, not committed" in said(member)
    assert f"Second latest production {second[:6]}" in said(member)
    back = re.search(
        r'name="version" value="(\w+)"><button class="small" title="To version (\w+)">Roll back<', member.page
    )
    assert back is not None
    assert (back[1], back[2]) == (first, first[: len(back[2])])
    member.send(f"{page}/labels", label="production", version=back[1])

    assert [label["commitHash"] for label in labels(world, prompt_id)] == [first]


def test_a_split_is_shown_with_what_each_version_did(
    world: World, member_of: MemberOf, prompt: tuple[int, list[str]]
) -> None:
    prompt_id, (first, second) = prompt
    page = f"/projects/{world.project_id}/prompts/{prompt_id}"
    member = member_of(Role.MEMBER)
    member.open(f"{page}/labels")
    member.send(f"{page}/labels", label="production", version=first)
    member.send(f"{page}/labels", label="production", version=second, share="12.5")
    run = {"id": prompt_id, "question": "Hi", "label": "production"}
    for key in range(30):
        world.post("/api/v1/prompts/run", json=run | {"splitKey": str(key)})

    member.open(f"{page}/versions")

    rows = re.findall(r"(\d+) % (\d+) \$0", said(member))
    assert [share for share, _ in rows[:2]] == ["88", "12"]
    assert sum(int(runs) for _, runs in rows[:2]) == 30
    assert 0 < int(rows[1][1]) < 15


def test_sessions_are_counted_by_the_version_that_their_spans_name(
    world: World, admin: Browser, prompt: tuple[int, list[str]]
) -> None:
    prompt_id, (first, second) = prompt
    turn, start_ns = RecordedTurn("Hi", "Hello"), int(utc_now().timestamp()) * 10**9
    for number, (version, failed) in enumerate([(first, False), (second, False), (second, True)]):
        batch = json.loads(export(prompt_id, f"conversation {number}", [turn], start_ns=start_ns))
        for span in batch["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            span["traceId"] = f"{number + 1:032x}"
            span["attributes"].append({"key": "service.prompt.version", "value": {"stringValue": version}})
            span["status"] = {"code": 2 if failed else 1}
        assert world.send(batch).status_code == 200
    world.container.services.insight_counter.count(world.project_id)

    admin.open(f"{admin.base}/prompts/{prompt_id}/versions")

    assert re.search(r"Second latest .* 02 sessions – – –50 % .* First .* 01 session – – –0 %", said(admin))


def test_a_form_that_is_refused_is_shown_again_with_the_reason(
    world: World, member_of: MemberOf, prompt: tuple[int, list[str]]
) -> None:
    prompt_id, (first, second) = prompt
    page = f"/projects/{world.project_id}/prompts/{prompt_id}"
    member = member_of(Role.MEMBER)
    member.open(f"{page}/labels")
    member.send(f"{page}/labels", label="production", version=first, guard="on")

    for status, word, fields in (
        (409, "experimentId", {"version": second}),
        (403, "admin", {"version": second, "override": "It is on fire."}),
        (403, "admin", {"version": first, "guard": "off"}),
        (404, "version", {"version": "0" * 64}),
        (400, "share", {"version": second, "share": "a lot"}),
        (400, "share", {"version": second, "share": "nan"}),
        (400, "share", {"version": second, "share": "0"}),
        (400, "experimentId", {"version": second, "experiment": "x"}),
        (400, "label", {"version": second, "label": "latest"}),
    ):
        refused = member.send(f"{page}/labels", **{"label": "production"} | fields)
        assert (refused.status_code, word in member.text) == (status, True), fields
        assert ("Label a version" if word == "label" else "Move production") in member.text

    assert "Reason to move it" not in member.text
    assert [label["commitHash"] for label in labels(world, prompt_id)] == [first]


def test_an_admin_overrides_the_guard_with_a_reason_and_switches_it_off(
    world: World, admin: Browser, prompt: tuple[int, list[str]]
) -> None:
    prompt_id, (first, second) = prompt
    page = f"{admin.base}/prompts/{prompt_id}"
    admin.open(f"{page}/labels")
    admin.send(f"{page}/labels", label="production", version=first, guard="on")
    admin.send(f"{page}/labels", label="production", version=second, override="It is on fire.")
    admin.send(f"{page}/labels", label="production", version=second, guard="off")

    assert [(label["commitHash"], label["guarded"]) for label in labels(world, prompt_id)] == [(second, False)]
    admin.open(f"{admin.base}/settings/audit")
    assert "reason: It is on fire." in said(admin)
    assert "guarded: yes" in said(admin)


def test_a_passed_experiment_is_chosen_for_a_guarded_label(
    world: World, member_of: MemberOf, prompt: tuple[int, list[str]]
) -> None:
    prompt_id, (first, second) = prompt
    path = f"/api/v1/prompts/{prompt_id}"
    world.put(f"{path}/labels/production", json={"commitHash": first, "guarded": True})
    passed = experiment(world, path, second, first)
    experiment(world, path, second, first, verdict="failed")
    member = member_of(Role.MEMBER)
    page = f"{member.base}/prompts/{prompt_id}/labels"

    member.open(f"{page}?label=production&version={first}")
    assert f'value="{second}" selected' in member.page
    assert f"compare?from={first}&amp;to={second}" in member.page
    choices = member.page.partition('<select id="experiment"')[2].partition("</select>")[0]
    offered = re.findall(r'<option value="(\d*)"( selected)?>', choices)
    member.send(page, label="production", version=second, experiment=str(passed))

    assert offered == [("", ""), (str(passed), " selected")]
    assert [label["commitHash"] for label in labels(world, prompt_id)] == [second]


def test_a_label_is_deleted_after_asking(world: World, admin: Browser, prompt: tuple[int, list[str]]) -> None:
    prompt_id, (first, _) = prompt
    page = f"{admin.base}/prompts/{prompt_id}"
    admin.open(f"{page}/labels")
    admin.send(f"{page}/labels", label="production", version=first)

    admin.open(f"{page}/labels/production/delete")
    assert "Delete the label “production”?" in admin.text
    admin.send(f"{page}/labels/production/delete")

    assert labels(world, prompt_id) == []
    assert admin.open(f"{page}/labels/production/delete").status_code == 404


def test_a_viewer_sees_labels_and_moves_none(world: World, member_of: MemberOf, prompt: tuple[int, list[str]]) -> None:
    prompt_id, (first, second) = prompt
    world.put(f"/api/v1/prompts/{prompt_id}/labels/production", json={"commitHash": first})
    viewer = member_of(Role.VIEWER)
    page = f"{viewer.base}/prompts/{prompt_id}"

    viewer.open(f"{page}/versions")
    assert "production" in viewer.text
    assert f"{page}/labels" not in viewer.page
    assert viewer.send(f"{page}/labels", label="production", version=second).status_code == 403
    assert viewer.send(f"{page}/labels/production/delete").status_code == 403
