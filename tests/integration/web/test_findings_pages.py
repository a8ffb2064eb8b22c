"""The sessions of a finding are scored one after another on their pages."""

from __future__ import annotations

from tests.integration.suites.test_findings_api import REFUND, listed, traffic
from tests.integration.web.conftest import Browser
from tests.support.world import World


def test_sessions_get_numbers_one_after_another_and_a_score_can_be_taken_back(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    traffic(world, prompt_id, REFUND, 2, "refund")
    (found,) = listed(world, prompt_id)
    finding = f"/prompts/{prompt_id}/findings/{found['id']}"
    first, second = world.get(f"/api/v1{finding}").json["sessionIds"]
    origin = f"list=findings%2F{found['id']}%3Fscore%3Dhelpful"
    address = f"{admin.base}/sessions/{first}"
    admin.open(f"{address}?{origin}")
    assert [f'data-press="{number}"' in admin.page for number in (1, 9, 10)] == [True, True, False]
    assert admin.send(f"{address}/annotation?{origin}", choice="10", comment="").status_code == 400
    assert admin.send(f"{admin.base}/sessions/{'0' * 32}/annotation?{origin}", choice="1").status_code == 404

    sent = admin.send(f"{address}/annotation?{origin}", choice="1", comment="It gave up.")
    moved = admin.open(sent.headers["Location"])
    assert moved.headers["Location"].startswith(f"{admin.base}/sessions/{second}?list=findings")
    admin.send(f"{admin.base}/sessions/{second}/annotation?{origin}", choice="9", comment="")
    scores = world.get("/api/v1/scores").json["scores"]
    assert [(one["name"], one["value"], one["comment"]) for one in scores] == [
        ("helpful", 1.0, None),
        ("helpful", 0.0, "It gave up."),
    ]
    admin.open(f"{address}?{origin}")
    assert 'value="1" class="chosen" aria-pressed="true"' in admin.page
    last = admin.open(f"{admin.base}/sessions/{second}?{origin}&go=next")
    assert last.headers["Location"].startswith(admin.base + finding)
    back = admin.open(f"{admin.base}/sessions/{second}?{origin}&go=previous")
    assert f"/sessions/{first}?" in back.headers["Location"]

    admin.send(f"{address}/rating/remove?name=helpful")
    assert len(world.get("/api/v1/scores").json["scores"]) == 1


def test_a_finding_of_another_project_is_not_found(world: World, admin: Browser) -> None:
    assert admin.open(f"{admin.base}/prompts/{world.prompt()}/findings/{'0' * 32}").status_code == 404
