"""The search of a prompt's log in its page."""

from __future__ import annotations

import html
import re

import pytest

from tests.integration.test_search import index, say
from tests.integration.web.conftest import Browser
from tests.support.world import World


def test_the_log_is_searched_and_shows_where_the_words_are(
    world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.container.services.logs, "tick", lambda: 0.0)
    prompt_id = world.prompt()
    world.post(
        "/api/v1/prompts/run",
        json={"id": prompt_id, "question": "Is <b>refund</b> 4711 possible?", "productive": False},
    )
    say(world, prompt_id, "Hello", "A refund of 4711 is not possible.")
    index(world)

    admin.open(f"{admin.base}/prompts/{prompt_id}/logs?q=refund+4711")

    assert "2 entries" in admin.text
    assert "Is &lt;b&gt;<mark>refund</mark>&lt;/b&gt; <mark>4711</mark> possible?" in admin.page
    assert "A <mark>refund</mark> of <mark>4711</mark> is not possible." in admin.page
    [hit] = re.findall(r'href="([^"]*\?turn=1[^"]*)"', admin.page)
    admin.open(html.unescape(hit).partition("#")[0])
    assert "<mark>4711</mark>" in admin.page

    admin.open(f"{admin.base}/prompts/{prompt_id}/logs?q=nowhere")
    assert "Nothing in the log matches" in admin.text
    assert admin.open(f"{admin.base}/prompts/{prompt_id}/logs?q=-refund").status_code == 400
