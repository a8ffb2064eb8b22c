"""Lists: what is chosen is in the address and comes back, rows are links, exceptions stand out."""

from __future__ import annotations

import html
import re
import secrets
from typing import Any

import pytest

from app.web.views import logs
from tests.integration.web.conftest import Browser
from tests.support.exports import export, span
from tests.support.world import World

FAILED = {"code": 2, "message": "429 Too many requests"}


def record(world: World, prompt_id: int, **more: Any) -> None:
    chat = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "chat"}
    status = more.pop("status", {})
    world.send(export(span(chat | more, traceId=secrets.token_hex(16), status=status)))


def ask(world: World, prompt_id: int, *questions: str) -> None:
    for question in questions:
        world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": question, "productive": False})


def rows(browser: Browser) -> list[str]:
    """The addresses that the rows of the page's table lead to."""
    found = re.findall(r'<tr class="linked">.*?<th scope="row"[^>]*><a href="([^"]*)"', browser.page, re.DOTALL)
    return [html.unescape(address) for address in found]


def pager(browser: Browser, rel: str) -> str:
    return html.unescape(re.search(rf'rel="{rel}" href="([^"]*)"', browser.page)[1])  # type: ignore[index]


def test_what_is_not_ok_is_found_among_runs_and_sessions(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    record(world, prompt_id, status=FAILED)
    record(world, prompt_id)
    ask(world, prompt_id, "Fine")

    admin.open(f"{admin.base}/prompts/{prompt_id}/logs?status=nok")
    failed = rows(admin)
    assert "1 error" in admin.text
    assert "1 entry" in admin.text

    admin.open(f"{admin.base}/prompts/{prompt_id}/logs?status=ok")
    assert (len(failed), len(rows(admin))) == (1, 2)
    assert failed[0].partition("?")[0] not in admin.page


def test_the_log_is_filtered_by_version_model_and_days(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    version = world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"] or "v" * 64
    record(world, prompt_id, **{"service.prompt.version": version, "gen_ai.request.model": "gpt-x"})
    ask(world, prompt_id, "Of the draft")
    log = f"{admin.base}/prompts/{prompt_id}/logs"

    for query, found in (
        (f"version={version}", 1),
        ("version=draft", 1),
        ("model=gpt-x", 1),
        ("model=echo", 1),
        ("from=2018-01-01&to=2018-12-31", 1),
        ("from=2019-01-01", 1),
        ("to=2000-01-01", 0),
    ):
        admin.open(f"{log}?{query}")
        assert len(rows(admin)) == found, query


@pytest.mark.parametrize("query", ["from=yesterday", "to=9999-01-01", "model=" + "x" * 256, "sort=x&status=old"])
def test_a_filter_the_log_does_not_have_is_a_bad_request(world: World, admin: Browser, query: str) -> None:
    assert admin.open(f"{admin.base}/prompts/{world.prompt()}/logs?{query}").status_code == 400


def test_an_entry_leads_back_to_the_log_as_it_was_filtered(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    ask(world, prompt_id, "One")
    log = f"{admin.base}/prompts/{prompt_id}/logs?type=run&search=One"

    admin.open(log)
    admin.open(rows(admin)[0])

    assert f'href="{html.escape(log)}">Logs' in admin.page


def test_pages_of_the_log_lead_back_too(world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "PAGE_SIZE", 1)
    prompt_id = world.prompt()
    ask(world, prompt_id, "One", "Two", "Three")
    log = f"{admin.base}/prompts/{prompt_id}/logs"
    admin.open(f"{log}?type=run")
    assert "3 entries" in admin.text
    seen = [rows(admin)[0].partition("?")[0]]
    for _ in range(2):
        admin.open(log + pager(admin, "next"))
        seen.append(rows(admin)[0].partition("?")[0])

    for expected in reversed(seen[:2]):
        admin.open(log + pager(admin, "prev"))
        assert rows(admin)[0].partition("?")[0] == expected
    assert len(set(seen)) == 3
    assert 'rel="prev"' not in admin.page


def test_only_exceptions_have_a_badge_in_the_log(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    record(world, prompt_id)
    ask(world, prompt_id, "Fine")

    admin.open(f"{admin.base}/prompts/{prompt_id}/logs")

    assert len(rows(admin)) == 2
    assert 'class="badge' not in admin.page


def test_a_version_in_the_log_is_a_link_if_the_prompt_has_it(world: World, admin: Browser) -> None:
    made = world.post("/api/v1/prompts", json={"name": "Log", "value": "x", "languageModelName": "echo"}).json
    prompt_id = made["prompt"]["id"]
    version = world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]
    record(world, prompt_id, **{"service.prompt.version": version})
    record(world, prompt_id, **{"service.prompt.version": "../../keys"})

    admin.open(f"{admin.base}/prompts/{prompt_id}/logs")

    assert f'href="{admin.base}/prompts/{prompt_id}/versions/{version}"' in admin.page
    assert "versions/.." not in admin.page
