"""Changes that decide where calls go and what keys may do: their audit entries name the target, and no secret."""

from __future__ import annotations

from app.models.audit_log import SYSTEM, Action
from app.services.language_models.service import OwnModel
from tests.integration.suites.test_suites import case_of
from tests.integration.web.conftest import Browser
from tests.support.world import World

SECRET = "sk-" + "s3cr3t" * 5
URL = "https://models.example.org/v1"


def make_changes(world: World) -> str:
    """A model, a credential and a key, made and removed; the key's secret."""
    services, organization_id = world.container.services, world.organization_id
    model = OwnModel(
        name="m",
        base_url=URL,
        prompt_price=0,
        completion_price=0,
        context_tokens_max=1,
        completion_tokens_max=1,
    )
    model_id, _ = services.own_models.put(organization_id=organization_id, model=model, actor=SYSTEM)
    services.own_models.remove(organization_id=organization_id, model_id=model_id, actor=SYSTEM)
    services.credentials.set(organization_id, "OPENAI", api_key=SECRET, base_url=URL)
    services.credentials.set(organization_id, "ANTHROPIC", api_key=SECRET)
    services.credentials.clear(organization_id, "OPENAI")
    made = services.keys.create(project_id=world.project_id, name="Agent", scopes=frozenset({"run", "ingest"}))
    services.keys.revoke(project_id=world.project_id, key_id=made.id)
    return made.secret


def test_base_urls_and_scopes_are_in_the_audit_log_of_the_api(world: World) -> None:
    key = make_changes(world)
    answer = world.get("/api/v1/audit-log")

    found = {(entry["action"], entry["subject"]): entry["details"] for entry in answer.json["entries"]}
    address, scopes = {"baseUrl": URL}, {"lastFour": key[-4:], "scopes": "ingest, run"}
    assert found["model.added", "m"] == found["model.removed", "m"] == address
    assert found["credential.set", "OPENAI"] == address
    assert found["credential.set", "ANTHROPIC"] == found["credential.cleared", "OPENAI"] == {}
    assert found["api_key.created", "Agent"] == found["api_key.revoked", "Agent"] == scopes
    assert SECRET not in answer.text
    assert key not in answer.text


def test_the_page_shows_them_in_words(world: World, admin: Browser) -> None:
    make_changes(world)
    admin.open(f"{admin.base}/settings/audit")

    assert f"base URL: {URL}" in admin.text
    assert "scopes: ingest, run" in admin.text
    assert SECRET not in admin.page


def test_the_page_names_a_test_case_as_long_as_it_exists(world: World, admin: Browser) -> None:
    case_id = case_of(world, world.prompt())
    assert world.patch(f"/api/v1/test-cases/{case_id}", json={"name": "Refund <b>"}).status_code == 200
    admin.open(f"{admin.base}/settings/audit")
    link = f'<a href="{admin.base}/test-cases/{case_id}" dir="auto">Refund &lt;b&gt;</a>'
    assert f"Changed the test case {link}" in admin.page
    assert f"Created the test case {link}" in admin.page

    assert world.delete(f"/api/v1/test-cases/{case_id}").status_code == 204
    admin.open(f"{admin.base}/settings/audit")
    assert "Refund" not in admin.page
    assert f"Deleted the test case <strong>{case_id}</strong>" in admin.page


def test_the_page_does_not_name_test_cases_of_another_project(world: World, admin: Browser) -> None:
    case_id = case_of(world, world.prompt())
    projects = world.container.services.projects
    other = projects.create(organization_id=world.organization_id, name="Other", actor=SYSTEM)
    admin.open(f"/projects/{other}/settings/audit")
    assert f"Created the test case <strong>{case_id}</strong>" in admin.page


def test_every_action_that_is_audited_has_a_label() -> None:
    assert {"project.erased", "session.deleted", "prompt.erased", "sign_in.failed"} <= set(Action)
    assert all(action.label for action in Action)
