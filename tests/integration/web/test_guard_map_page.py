"""The page of a guard map: test cases for a sentence with one click, and what a further map would play."""

from __future__ import annotations

import pytest

from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.experimenting import ended
from tests.integration.replays.test_guard_offers_api import VOUCHER, half_guarded, mapped
from tests.integration.web.conftest import Browser
from tests.support.world import World


@pytest.fixture
def upstream(world: World, shared_upstream: Upstream) -> Upstream:
    """The vendor of the project's model."""
    shared_upstream.reset()
    stored = {"apiKey": "sk-x", "baseUrl": shared_upstream.base_url("OPENAI")}
    assert world.put("/api/v1/credentials/OPENAI", json=stored).status_code == 200
    world.container.services.models.sync_catalogue()
    return shared_upstream


def test_sessions_become_test_cases_with_one_click(world: World, admin: Browser, upstream: Upstream) -> None:
    path = mapped(world, half_guarded(world, upstream))
    page = f"{admin.base}/guard-maps/{path.rpartition('/')[2]}"
    admin.open(page)
    assert f"Choose {VOUCHER}" in admin.page
    (session,) = world.get(f"{path}/sessions").json["sentences"][0]["sessions"]

    assert admin.send(page, sentence="1").status_code == 400
    assert "Tick the sessions to make test cases of." in admin.page
    admin.send(page, sentence="1", session=session["sessionId"])
    admin.open(page)

    assert "1 test case made." in admin.page
    assert f"Choose {VOUCHER}" not in admin.page


def test_a_model_proposes_mutants_if_the_box_is_ticked(world: World, admin: Browser, upstream: Upstream) -> None:
    form = f"{admin.base}/prompts/{half_guarded(world, upstream)}/guard-maps"
    admin.open(form)
    assert "Let a model propose more mutants" in admin.page
    upstream.rewords = lambda _body: Reply(status=400, message="No such <model>.")

    page = admin.send(form, model="on", candidate="draft", replays="1", cost="").headers["Location"]
    ended(world, f"/api/v1/guard-maps/{page.rpartition('/')[2]}")

    admin.open(page)
    assert upstream.reworded
    assert "<dt>Mutants of a model</dt><dd>0</dd>" in admin.page
    assert "The model proposed no more mutants: " in admin.page
    assert "No such &lt;model&gt;." in admin.page
    admin.open(admin.send(form, candidate="draft", replays="1", cost="").headers["Location"])
    assert "Mutants of a model" not in admin.page


def test_the_form_begins_with_what_the_address_asks_for(world: World, admin: Browser, upstream: Upstream) -> None:
    prompt_id = half_guarded(world, upstream)
    path = f"{admin.base}/prompts/{prompt_id}"
    admin.open(f"{path}/guard-maps")
    assert "The draft has 2 sentences. With the 1 test case a map plays" in admin.page
    case_id = world.get(f"/api/v1/prompts/{prompt_id}/test-cases").json["testCases"][0]["id"]
    world.post(f"/api/v1/prompts/{prompt_id}/suites", json={"name": "release", "testCaseIds": [case_id]})

    admin.open(f"{path}/guard-maps?suite=release")
    assert '<option value="release" selected>' in admin.page
    assert "With the 1 test case of release a map plays" in admin.page
    admin.open(f"{path}/guard-maps?suite=gone")
    assert "The prompt has no suite with this name." in admin.page
    assert admin.open(f"{path}/guard-maps?candidate={'0' * 64}").status_code == 200
    assert "a map plays" not in admin.page
    admin.open(f"{path}/schedules?kind=watch&suite=release")
    assert '<option value="watch" selected>' in admin.page
    assert '<option value="release" selected>' in admin.page
