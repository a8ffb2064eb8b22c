"""The contents of pages, and their answers when something is wrong."""

from __future__ import annotations

import html
import itertools
import json
import re
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError

from app.services.search.scanning import SEARCH_S
from app.web.assets import Assets
from app.web.errors import POLICY
from tests.integration.web.conftest import HTML, Browser
from tests.support.exports import export, pairs_of, span
from tests.support.world import World

HOSTILE = "<script>alert('x')</script> & <b onmouseover=\"x\">{{ 7 * 7 }}</b>"


def test_a_key_is_shown_once(world: World, admin: Browser) -> None:
    before = len(world.container.services.keys.list(project_id=world.project_id))
    admin.open(f"{admin.base}/settings/keys")
    sent = admin.send(f"{admin.base}/settings/keys", name="Checkout", expires="30")
    cookie = sent.cookies["reprise_once"]
    assert (cookie.path, cookie.http_only, cookie.same_site) == (f"{admin.base}/settings/keys", True, "Lax")
    admin.open(f"{admin.base}/prompts")
    assert "rp_" not in admin.page
    admin.open(sent.headers["location"])
    secret = re.search(r"rp_[\w-]{43}", admin.page)[0]  # type: ignore[index]
    key = world.container.services.keys.authenticate(f"Bearer {secret}")

    admin.open(f"{admin.base}/settings/keys")

    assert (key.name, key.project_id) == ("Checkout", world.project_id)
    assert secret not in admin.page
    assert f"rp_…{secret[-4:]}" in admin.text
    assert len(world.container.services.keys.list(project_id=world.project_id)) == before + 1


def test_a_key_for_an_unknown_use_is_refused_and_a_known_one_stays_chosen(admin: Browser) -> None:
    admin.open(f"{admin.base}/settings/keys")
    assert admin.send(f"{admin.base}/settings/keys", name="x", expires="", use="everything").status_code == 400
    assert admin.send(f"{admin.base}/settings/keys", name="", expires="", use="ci").status_code == 400
    assert '<option value="ci" selected>' in admin.page


@pytest.mark.parametrize(("name", "expires"), [("", ""), (" " * 3, ""), ("x" * 129, ""), ("x", "-1"), ("x", "x")])
def test_a_key_that_cannot_be_made_is_explained_next_to_the_form(admin: Browser, name: str, expires: str) -> None:
    admin.open(f"{admin.base}/settings/keys")

    assert admin.send(f"{admin.base}/settings/keys", name=name, expires=expires).status_code == 400
    assert 'aria-invalid="true"' in admin.page


@pytest.mark.parametrize(
    ("sent", "scopes"),
    [
        ({"use": "application"}, "ingest, read, run, write"),
        ({"use": "ci"}, "read, run"),
        ({"use": "exporter"}, "ingest"),
        ({"use": "application", "admin": "on"}, "admin, ingest, read, run, write"),
        ({"use": "ci", "admin": "on"}, "admin, read, run"),
    ],
)
def test_a_key_has_the_scopes_of_what_uses_it_and_the_list_shows_them(
    world: World, admin: Browser, sent: dict[str, str], scopes: str
) -> None:
    admin.open(f"{admin.base}/settings/keys")
    admin.send(f"{admin.base}/settings/keys", name="The newest", expires="", **sent)
    admin.open(f"{admin.base}/settings/keys")

    made = max(world.container.services.keys.list(project_id=world.project_id), key=lambda key: key.id)
    assert ", ".join(sorted(made.scopes)) == scopes
    assert f'The newest<span class="sub">{scopes}</span>' in admin.page


def test_revoking_asks_first_and_names_what_is_lost(world: World, admin: Browser) -> None:
    made = world.container.services.keys.create(project_id=world.project_id, name="Old one")

    admin.open(f"{admin.base}/settings/keys/{made.id}/revoke")
    assert "Whatever uses the key" in admin.text
    admin.send(f"{admin.base}/settings/keys/{made.id}/revoke")

    assert world.container.services.keys.get(project_id=world.project_id, key_id=made.id).revoked_at


def test_a_prompt_is_made_as_a_draft(world: World, admin: Browser) -> None:
    admin.open(f"{admin.base}/prompts/new")
    made = admin.send(f"{admin.base}/prompts/new", name="  Greeter ", value="# Hi\r\n{{name}}", format="RAW")

    prompt_id = int(made.headers["location"].rpartition("/")[2])
    view = world.container.services.prompts.get(project_id=world.project_id, prompt_id=prompt_id, productive=True)
    assert (view.head.name, view.content.value, view.content.commit_hash) == ("Greeter", "# Hi\n{{name}}", None)


def test_a_prompt_that_cannot_be_made_keeps_what_was_typed(admin: Browser) -> None:
    admin.open(f"{admin.base}/prompts/new")

    refused = admin.send(f"{admin.base}/prompts/new", name=" ", value="What I typed", format="RAW")

    assert refused.status_code == 400
    assert "What I typed" in admin.page
    assert '<option value="RAW" selected>' in admin.page


def test_words_of_traces_and_names_are_text(world: World, admin: Browser) -> None:
    prompt_id = world.post("/api/v1/prompts", json={"name": HOSTILE, "value": HOSTILE}).json["prompt"]["id"]
    said = json.dumps([{"role": "user", "parts": [{"type": "text", "content": HOSTILE}]}])
    chat = {
        "service.prompt.id": prompt_id,
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": HOSTILE,
        "gen_ai.input.messages": said,
        "gen_ai.output.messages": said.replace('"user"', '"assistant"'),
        "gen_ai.conversation.id": HOSTILE,
        HOSTILE: HOSTILE,
    }
    tool = {
        "service.prompt.id": prompt_id,
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": HOSTILE,
        "gen_ai.tool.call.arguments": json.dumps({"a": HOSTILE}),
        "gen_ai.tool.call.result": HOSTILE,
    }
    score = {"gen_ai.evaluation.name": HOSTILE, "gen_ai.evaluation.explanation": HOSTILE}
    scored = {"name": "gen_ai.evaluation.result", "attributes": pairs_of(score)}
    sent = export(
        span(chat, name=HOSTILE, events=[scored]),
        span(tool, name=HOSTILE, spanId="aaaaaaaaaaaaaaaa"),
        # Rejected: there is no such prompt.
        span({"service.prompt.id": 10**12}, name=HOSTILE, spanId="bbbbbbbbbbbbbbbb"),
    )
    assert world.send(sent).status_code == 200
    session = world.get(f"/api/v1/prompts/{prompt_id}/logs").json["entries"][0]["id"]
    pages = ["/prompts", "/start", f"/prompts/{prompt_id}/logs", f"/sessions/{session}", "/rejected-spans"]
    pages.append(f"/sessions/{session}/spans/aaaaaaaaaaaaaaaa")

    for path in pages:
        assert admin.open(admin.base + path).status_code == 200
        assert "<script>alert" not in admin.page
        assert 'onmouseover="' not in admin.page
        assert "&lt;script&gt;alert" in admin.page, path


def test_an_unknown_path_is_answered_with_a_page(world: World, admin: Browser) -> None:
    accept = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"
    answer = world.client.simulate_get("/no/such/path", headers={"Accept": accept}, cookies=admin.cookies)

    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")
    assert "Page not found" in answer.text


def test_a_program_gets_its_errors_as_json_and_the_api_always(world: World) -> None:
    program = world.client.simulate_get("/no/such/path", headers={"Accept": "application/json"})
    api = world.client.simulate_get("/api/v1/nothing", headers=HTML)

    assert set(program.json) == set(api.json) == {"error"}


def test_a_bug_is_reported_with_only_its_id(world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> None:
        raise ZeroDivisionError("secret words")

    monkeypatch.setattr(type(world.container.services.overview), "recent", lambda *_a, **_k: broken())
    answer = admin.open(f"{admin.base}/prompts")

    assert answer.status_code == 500
    assert re.search(r"under the id \w{32}", admin.text)
    assert "secret words" not in admin.page


def test_a_missing_database_is_a_page(world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise OperationalError("SELECT 1", {}, Exception("gone"))

    monkeypatch.setattr(type(world.container.database.engine), "connect", away)
    answer = admin.open(f"{admin.base}/prompts")

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "Not available just now" in admin.text


@pytest.mark.parametrize("path", ["/sign-in", "/prompts", "/no/such/page"])
def test_every_page_keeps_strangers_code_out(world: World, admin: Browser, path: str) -> None:
    answer = admin.open(path if path != "/prompts" else f"{admin.base}/prompts")

    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.status_code == 303 or answer.headers["cache-control"] == "no-store"


def test_static_files_are_kept_for_good_under_the_name_of_their_content(world: World) -> None:
    for name in ("app.css", "app.js", "favicon.svg"):
        answer = world.client.simulate_get(Assets().url(name))
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "public, max-age=31536000, immutable")
    assert world.client.simulate_get("/static/app.css").status_code == 404
    assert world.client.simulate_get("/static/..%2fapp.css").status_code == 404


def test_templates_have_no_inline_script_style_or_handler() -> None:
    for file in Path("app/web/templates").glob("*.html"):
        found = re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son[a-z]+=|javascript:|\|\s*safe", file.read_text())
        assert not found, f"{file}: {found}"


def test_ten_thousand_prompts_are_shown_a_page_at_a_time(world: World, admin: Browser) -> None:
    for number in range(60):
        world.post("/api/v1/prompts", json={"name": f"Prompt {number}", "value": ""})
    admin.open(f"{admin.base}/prompts")
    first = set(re.findall(r"Prompt \d+", admin.text))
    following = re.search(r'rel="next" href="([^"]+)"', admin.page)[1]  # type: ignore[index]

    admin.open(f"{admin.base}/prompts{following}")
    second = set(re.findall(r"Prompt \d+", admin.text))

    assert (len(first), len(second), first & second) == (50, 10, set())


def test_a_search_that_finds_nothing_offers_the_way_back(admin: Browser) -> None:
    admin.open(f"{admin.base}/prompts?search=no+such")
    assert "No prompt's name has “no such” in it" in admin.text


@pytest.fixture
def impatient(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search of the log looks at one entry, then its time is over; the service is shared by all tests."""
    logs = world.container.services.logs
    monkeypatch.setattr(logs, "window", 1)
    monkeypatch.setattr(logs, "tick", itertools.count(step=SEARCH_S).__next__)


@pytest.mark.usefixtures("impatient")
def test_a_search_of_a_long_log_offers_to_go_on_where_it_stopped(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    for question in ("A very old one", "Between them", "A newer one"):
        world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": question, "productive": False})

    def go_on() -> None:
        following = re.search(r'rel="next" href="([^"]*)"', admin.page)[1]  # type: ignore[index]
        admin.open(f"{admin.base}/prompts/{prompt_id}/logs{html.unescape(following)}")

    admin.open(f"{admin.base}/prompts/{prompt_id}/logs?search=old")
    assert "No match in the newest part of the log" in admin.text
    go_on()
    assert "No match in this part of the log" in admin.text
    go_on()
    assert "A very old one" in admin.text


def test_a_search_that_continued_in_vain_explains_it_and_leads_back(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    for question in ("An old one", "A newer one"):
        world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": question, "productive": False})
    cursor = world.get(f"/api/v1/prompts/{prompt_id}/logs?limit=1").json["nextCursor"]

    admin.open(f"{admin.base}/prompts/{prompt_id}/logs?search=newer&cursor={cursor}")

    assert "Nothing older in the log matches" in admin.text
    assert 'href="?search=newer">Back to the newest' in admin.page


@pytest.mark.parametrize("query", ["type=x", "since=x", "status=x", "cursor=x", "cursor="])
def test_a_query_the_log_does_not_have_is_a_bad_request(world: World, admin: Browser, query: str) -> None:
    status = admin.open(f"{admin.base}/prompts/{world.prompt()}/logs?{query}").status_code
    assert status == (200 if query == "cursor=" else 400)


def test_the_steps_tick_themselves_off(world: World, admin: Browser) -> None:
    admin.open(f"{admin.base}/start")
    assert "Waiting for the first trace" in admin.text
    assert "/api/public/agents/my-agent/otel" in admin.page

    chat = span(attributes=pairs_of({"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "c"}))
    path = "/api/public/agents/my-agent/otel/v1/traces"
    sent = world.post(path, body=export(chat), headers={"Content-Type": "application/json"})
    assert sent.status_code == 200, sent.text
    admin.open(f"{admin.base}/start")
    assert "Waiting for the first trace" not in admin.text
    assert "See your agent's first trace: done" in html.unescape(admin.text)

    (prompt,) = world.get("/api/v1/prompts").json["prompts"]
    assert f'"id": {prompt["id"]}' in html.unescape(admin.page)
    assert "Run a prompt: to do" in admin.text
    world.post("/api/v1/prompts/run", json={"id": prompt["id"], "question": "Hi", "productive": False})
    admin.open(f"{admin.base}/start")
    assert "Run a prompt: done" in admin.text
