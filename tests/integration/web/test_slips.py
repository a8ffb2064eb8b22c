"""Nothing is lost by a slip: what can be undone has an undo, what can't is asked about."""

from __future__ import annotations

import re
from collections.abc import Callable

from app.models.organizations import Role
from tests.integration.web.conftest import Browser
from tests.support.world import World

MemberOf = Callable[[Role], Browser]


def test_an_archived_prompt_comes_back_by_the_button_beside_the_message(world: World, admin: Browser) -> None:
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
    assert "Take out" in admin.text
    assert "Take out" not in viewer.text


def test_a_message_undoes_nothing_outside_the_projects(admin: Browser) -> None:
    admin.cookies["reprise_flash"] = "WyJPaCIsImRvbmUiLCJodHRwczovL2VsYmUuZXhhbXBsZS8iXQ"
    admin.open(f"{admin.base}/prompts")

    assert "Oh" in admin.text
    assert "elbe.example" not in admin.page
