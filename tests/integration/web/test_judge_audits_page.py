"""The pages of audits: the button that starts one, the sentence, and each miss with both texts."""

from __future__ import annotations

from typing import Any

import pytest

from app.models.organizations import Role
from tests.integration.replays.recording import make_case, prompt, record
from tests.integration.web.conftest import Browser
from tests.support.conversations import RecordedTurn
from tests.support.waiting import wait_until
from tests.support.world import World

PAID = RecordedTurn("What did I pay?", "You paid 1,250.00 euros on 5 November 2026, and the rest is <b>not</b> due.")


@pytest.fixture
def prompt_id(world: World) -> int:
    world.container.services.models.sync_catalogue()
    prompt_id = prompt(world, model="echo", languageModelConfig={})
    step = {"turn": 0, "step": 0, "check": {"answer": "contains", "value": "paid"}}
    make_case(world, record(world, prompt_id, [PAID]), steps=[step], judge="never")
    return prompt_id


def audited(browser: Browser, world: World, prompt_id: int) -> str:
    path = f"{browser.base}/prompts/{prompt_id}/judge-audits"
    browser.open(path)
    answer = browser.send(path)
    assert answer.status_code == 303
    page: str = answer.headers["Location"]
    resource = f"/api/v1/judge-audits/{page.rpartition('/')[2]}"

    def ended() -> Any:
        return world.get(resource).json["status"] == "finished"

    wait_until(ended, page)
    return page


def test_a_person_starts_an_audit_and_looks_at_each_miss(world: World, admin: Browser, prompt_id: int) -> None:
    page = audited(admin, world, prompt_id)

    admin.open(page)
    read = " ".join(admin.text.split())

    assert "The checks without a judge noticed" in read
    assert "Planted error: number changed" in read
    assert "You paid 1,250.00 euros on 5 November 2026, and the rest is <b>not</b> due." in read
    assert "data-live" not in admin.page
    admin.open(f"{admin.base}/prompts/{prompt_id}/judge-audits")
    assert "The checks without a judge noticed" in " ".join(admin.text.split())


def test_a_viewer_starts_no_audit(member_of: Any, prompt_id: int) -> None:
    viewer = member_of(Role.VIEWER)
    path = f"{viewer.base}/prompts/{prompt_id}/judge-audits"

    viewer.open(path)

    assert "Audit the judge" not in viewer.page
