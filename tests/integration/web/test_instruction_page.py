"""The page that compares a prompt with the instruction that traces bring."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from app.models.organizations import Role
from tests.integration.ingest.test_agents import chat, prompt_of, sent
from tests.integration.ingest.test_recorded_instructions import PEOPLE, TEXT, later, send_people
from tests.integration.web.conftest import Browser
from tests.support.world import World


@pytest.fixture
def page(world: World, admin: Browser) -> str:
    world.container.services.models.sync_catalogue()
    send_people(world)
    path = f"{admin.base}/prompts/{prompt_of(world, 'bot')['id']}/instruction"
    admin.open(path)
    return path


def etag(browser: Browser) -> str:
    return re.search(r'name="etag" value="(\d+)"', browser.page)[1]  # type: ignore[index]


def ids(browser: Browser) -> list[str]:
    return re.findall(r'name="proposal" value="([^"]+)"', browser.page)


def test_ticked_proposals_become_placeholders(world: World, admin: Browser, page: str) -> None:
    assert "2 values in 3 sessions: date" in admin.page
    name, day, _ = ids(admin)
    keys = {f"key.{name}": "customer", f"key.{day}": ""}

    answer = admin.send(page, etag=etag(admin), do="accept", proposal=[name, day], **keys)

    assert (answer.status_code, answer.headers["location"]) == (303, page.replace("/instruction", "/edit"))
    value = prompt_of(world, "bot")["value"]
    assert value == TEXT.format(name="{{customer}}", day="{{today}}", plan=PEOPLE[0]["plan"])


@pytest.mark.parametrize("fields", [{}, {"proposal": "gone"}, {"key": "a b"}])
def test_what_can_not_be_accepted_shows_why_and_changes_nothing(
    world: World, admin: Browser, page: str, fields: dict[str, str]
) -> None:
    chosen = {"proposal": ids(admin)[0], f"key.{ids(admin)[0]}": fields["key"]} if "key" in fields else fields

    answer = admin.send(page, etag=etag(admin), do="accept", **chosen)

    assert answer.status_code in (400, 409)
    assert 'role="alert"' in admin.page
    assert prompt_of(world, "bot")["placeholderDefinitions"] == []


def test_another_text_is_announced_in_the_editor_and_becomes_the_draft(world: World, admin: Browser, page: str) -> None:
    editor = page.replace("/instruction", "/edit")
    assert "sends another text" not in admin.open(editor).text
    sent(world, "bot", later(50, "A <b>wholly</b> other agent."))

    assert "sends another text" in admin.open(editor).text
    assert "sends another text since" in admin.open(page).text
    assert "<b>wholly" not in admin.page
    assert admin.send(page, etag=etag(admin), do="adopt").status_code == 303

    assert prompt_of(world, "bot")["value"] == "A <b>wholly</b> other agent."
    assert "sends another text" not in admin.open(editor).text


def test_a_stale_page_changes_nothing(world: World, admin: Browser, page: str) -> None:
    sent(world, "bot", later(50, "A wholly other agent."))

    assert admin.send(page, etag="999", do="adopt").status_code == 412

    assert prompt_of(world, "bot")["value"] == TEXT.format(**PEOPLE[0])


def test_a_viewer_sees_proposals_without_a_button(
    world: World, member_of: Callable[[Role], Browser], page: str
) -> None:
    viewer = member_of(Role.VIEWER)

    assert "2 values in 3 sessions" in viewer.open(page).text
    assert "Accept the ticked" not in viewer.page
    assert viewer.send(page, etag="2", do="adopt").status_code == 403


def test_a_prompt_without_an_instruction_in_traces_explains_what_is_missing(world: World, admin: Browser) -> None:
    world.container.services.models.sync_catalogue()
    sent(world, "bot", chat(**{"gen_ai.system_instructions": None}))

    admin.open(f"{admin.base}/prompts/{prompt_of(world, 'bot')['id']}/instruction")

    assert "No instruction is recorded" in admin.page
