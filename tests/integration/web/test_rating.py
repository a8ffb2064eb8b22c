"""People rate sessions on their pages, and low scores lead to test cases."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from app.models.organizations import Role
from tests.integration.test_insight import recorded, turn
from tests.integration.web.conftest import Browser
from tests.integration.web.test_session_page import HOSTILE, conversation, stored
from tests.support.world import World

OFFER = "to check the next version for this"


def rated(world: World) -> list[tuple[str, str, str | None]]:
    found = world.get("/api/v1/scores").json["scores"]
    return [(one["source"], one["label"], one["comment"]) for one in found]


def test_a_thumb_is_shown_changed_and_taken_back(world: World, admin: Browser) -> None:
    path = admin.base + stored(world, *conversation(world.prompt(), 1))
    admin.open(path)
    assert OFFER not in admin.text
    admin.send(f"{path}/rating", thumb="up", comment="")
    assert rated(world) == [("person", "true", None)]

    admin.open(path)
    assert "The session is rated good." in admin.text
    admin.send(f"{path}/rating", thumb="down", comment=f" Wrong: {HOSTILE} ")
    assert rated(world) == [("person", "false", f"Wrong: {HOSTILE}")]
    admin.open(path)
    assert OFFER in admin.text
    assert 'value="Wrong: &lt;script&gt;' in admin.page
    assert HOSTILE not in admin.page
    assert 'value="down" class="chosen" aria-pressed="true"' in admin.page

    admin.send(f"{path}/rating/remove")
    admin.send(f"{path}/rating/remove")
    assert rated(world) == []
    actions = [entry["action"] for entry in world.get("/api/v1/audit-log").json["entries"][:3]]
    assert actions == ["score.removed", "score.given", "score.given"]


def test_a_list_is_reviewed_one_session_after_the_other(world: World, admin: Browser) -> None:
    prompt_id, now = world.prompt(), world.container.now()
    recorded(world, *(turn(prompt_id, "a", at=now - timedelta(hours=age)) for age in range(3)))
    entries = world.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json["entries"]
    newest, middle, oldest = (f"/sessions/{entry['id']}" for entry in entries)
    origin = "list=sessions%3F"
    admin.open(f"{admin.base}{newest}?{origin}")
    assert "Then show the next session" in admin.text

    address = f"{admin.base}{newest}"
    shown = []
    for thumb in ("up", "down", "up"):
        answer = admin.send(f"{address}/rating?{origin}", thumb=thumb, comment="", next="yes")
        answer = admin.open(answer.headers["Location"])
        assert answer.status_code == 303
        shown.append(answer.headers["Location"].split("?")[0])
        admin.open(answer.headers["Location"])
        assert 'name="next" value="yes" checked' in admin.page
        address = shown[-1]

    assert shown == [f"{admin.base}{path}" for path in (middle, oldest, oldest)]
    assert "This is the last entry of the list." in admin.text
    assert [label for _, label, _ in rated(world)] == ["true", "false", "true"]


def test_each_member_has_a_thumb_and_viewers_none(
    world: World, admin: Browser, member_of: Callable[[Role], Browser]
) -> None:
    path = admin.base + stored(world, *conversation(world.prompt(), 1))
    member, viewer = member_of(Role.MEMBER), member_of(Role.VIEWER)
    for browser, thumb in ((admin, "up"), (member, "down")):
        browser.open(path)
        assert browser.send(f"{path}/rating", thumb=thumb, comment="").status_code == 303
    viewer.open(path)
    assert "Was this conversation good?" not in viewer.text
    assert "thumbs good" in viewer.text
    assert "thumbs bad" in viewer.text
    assert viewer.send(f"{path}/rating", thumb="up", comment="").status_code == 403

    assert sorted(label for _, label, _ in rated(world)) == ["false", "true"]


def test_a_thumb_that_is_none_and_a_comment_that_is_too_long_are_refused(world: World, admin: Browser) -> None:
    path = admin.base + stored(world, *conversation(world.prompt(), 1))
    admin.open(path)
    for thumb, comment in (("sideways", ""), ("up", "x" * 10_001)):
        assert admin.send(f"{path}/rating", thumb=thumb, comment=comment).status_code == 400
        admin.open(path)
    assert admin.send(f"{admin.base}/sessions/{'0' * 32}/rating", thumb="up", comment="").status_code == 404

    assert rated(world) == []


def test_a_run_shows_its_scores(world: World, admin: Browser) -> None:
    asked = {"id": world.prompt(), "question": "Who?", "productive": False}
    run_id = int(world.post("/api/v1/prompts/run", json=asked).headers["X-Run-Id"])
    body = {"name": "helpful", "value": 0.25, "comment": HOSTILE, "target": {"runId": run_id}}
    assert world.post("/api/v1/scores", json=body).status_code == 201

    admin.open(f"{admin.base}/runs/{run_id}")
    assert f"helpful0.25 {HOSTILE}" in admin.text
    assert HOSTILE not in admin.page


def test_the_log_is_filtered_by_a_score(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    path = admin.base + stored(world, *conversation(prompt_id, 1))
    admin.open(path)
    admin.send(f"{path}/rating", thumb="down", comment="")
    logs = f"{admin.base}/prompts/{prompt_id}/logs"

    admin.open(f"{logs}?score=thumbs&maxScore=0")
    assert "Question 1" in admin.text
    assert 'name="maxScore" type="number" step="any" value="0"' in admin.page
    admin.open(f"{logs}?score=thumbs&minScore=1")
    assert "Question 1" not in admin.text
