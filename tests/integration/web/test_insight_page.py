"""The page that shows how a prompt's versions do."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import pytest

from app.models.organizations import Role
from tests.integration.test_insight import recorded, turn
from tests.integration.web.conftest import Browser
from tests.support.world import World

MemberOf = Callable[[Role], Browser]


def test_the_page_answers_if_the_newer_version_got_better(world: World, member_of: MemberOf) -> None:
    prompt_id, viewer = world.prompt(), member_of(Role.VIEWER)
    path = f"{viewer.base}/prompts/{prompt_id}/insight"
    viewer.open(path)
    assert "Nothing was recorded in this time" in viewer.text

    recorded(world, *(turn(prompt_id, "<b>a</b>", failed=n < 15) for n in range(30)))
    recorded(world, *(turn(prompt_id, "z") for _ in range(30)))
    page = viewer.open(f"{path}?before=z&after=%3Cb%3Ea%3C%2Fb%3E")

    said = " ".join(viewer.text.split())
    assert "Did it get better? It got worse: more sessions with errors." in said
    assert "50 %33 % to 67 %" in said
    assert "worse" in said
    assert "&lt;b&gt;a&lt;/b&gt;" in page.text
    [failing] = re.findall(r'href="([^"]*errors=true[^"]*)"', page.text)
    viewer.open(html.unescape(failing))
    assert "15 sessions" in viewer.text
    for by in ("label", "model", "day"):
        assert viewer.open(f"{path}?by={by}&days=7").status_code == 200


@pytest.mark.parametrize("query", ["by=colour", "days=12"])
def test_the_page_accepts_only_its_choices(admin: Browser, world: World, query: str) -> None:
    assert admin.open(f"{admin.base}/prompts/{world.prompt()}/insight?{query}").status_code == 400
