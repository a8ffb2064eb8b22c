"""People's work, done in a real browser on the embedded server."""

from __future__ import annotations

import json
import os
import re
import subprocess

import pytest
from playwright.sync_api import expect

from tests.e2e.ui.conftest import JSON, Look, Site, trace
from tests.support.deployment import read_assignments
from tests.support.exports import TRACE_ID

pytestmark = pytest.mark.browser


def test_the_link_that_serve_keeps_signs_in(site: Site, look: Look) -> None:
    link = read_assignments(site.server.home / "dev.env")["SIGN_IN_LINK"]
    with look(storage_state=None) as visit:
        visit.page.goto(link)
        visit.page.get_by_role("button", name="Sign in").click()

        expect(visit.page.get_by_role("navigation", name="Main")).to_be_visible()
        assert "token" not in visit.page.url


def test_signing_out_closes_the_pages(site: Site, look: Look) -> None:
    with look(storage_state=None) as visit:
        visit.open("/sign-in")
        visit.page.fill("#email", site.known["ADMIN_EMAIL"])
        visit.page.fill("#password", site.known["ADMIN_PASSWORD"])
        visit.page.keyboard.press("Enter")
        visit.page.get_by_role("button", name="Sign out").click()
        expect(visit.page.locator(".flash")).to_have_text("You are signed out.")

        visit.open(f"{site.base}/prompts")
        expect(visit.page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_a_new_project_goes_from_the_first_key_to_the_first_trace(site: Site, look: Look) -> None:
    with look() as visit:
        page = visit.page
        visit.open(f"{site.base}/settings/project")
        page.get_by_label("Name of the new project").fill("Fresh")
        page.get_by_role("button", name="Create project").click()
        page.get_by_role("button", name="Create an API key").click()
        secret = page.locator("#secret").inner_text().removeprefix("export API_KEY=")
        base = page.url.removesuffix("/start")

        expect(page.get_by_text("Waiting for the first trace")).to_be_visible()
        page.get_by_text("Send a trace by hand").click()
        by_hand = page.locator("#snippet-2").inner_text()
        subprocess.run(["bash", "-euc", by_hand], env=os.environ | {"API_KEY": secret}, check=True, timeout=30)
        expect(page.get_by_role("heading", name=re.compile("See your agent's first trace ?: done"))).to_be_visible()

        client = site.server.client(secret)
        (prompt,) = client.get("/api/v1/prompts").json()["prompts"]
        assert prompt["name"] == "my-agent"
        page.reload()
        page.get_by_text("Run a prompt with curl").click()
        run = subprocess.run(
            ["bash", "-euc", page.locator("#snippet-3").inner_text()],
            env=os.environ | {"API_KEY": secret},
            check=True,
            capture_output=True,
            timeout=30,
        )
        assert json.loads(run.stdout)["answer"] == "What can you do?"
        expect(page.get_by_role("heading", name=re.compile("Run a prompt ?: done"))).to_be_visible()
        page.goto(f"{base}/prompts/{prompt['id']}/edit")
        expect(page.get_by_label("Text", exact=True).first).to_have_value("You are a friendly assistant.")
        projects = page.locator(".switcher")
        projects.locator("summary").click()
        page.keyboard.press("Escape")
        expect(projects.locator("summary")).to_be_focused()
        expect(projects.get_by_role("link", name="Demo")).to_be_hidden()
        projects.locator("summary").click()
        page.get_by_role("heading", level=1).click()
        expect(projects.get_by_role("link", name="Demo")).to_be_hidden()


def test_a_key_is_made_shown_once_and_revoked_in_a_dialog(site: Site, look: Look) -> None:
    with look() as visit:
        page = visit.page
        visit.open(f"{site.base}/settings/keys")
        page.get_by_label("Name").fill("Checkout")
        page.get_by_role("button", name="Create key").click()
        secret = page.locator("#secret").inner_text()
        page.reload()
        expect(page.locator("#secret")).to_have_count(0)
        expect(page.get_by_role("row", name=re.compile("Checkout"))).to_have_count(1)
        client = site.server.client(secret)
        assert client.get("/api/v1/prompts").status == 200

        revoke = page.get_by_role("link", name="Revoke Checkout")
        revoke.click()
        dialog = page.get_by_role("dialog", name="Revoke the key “Checkout”?")
        expect(dialog).to_contain_text("Whatever uses the key")
        page.keyboard.press("Escape")
        expect(dialog).not_to_be_visible()
        expect(revoke).to_be_focused()
        revoke.click()
        dialog.get_by_role("button", name="Revoke the key").click()

        expect(page.locator(".flash")).to_have_text("The key is revoked.")
        expect(page.locator("#secret")).to_have_count(0)
        assert page.locator("tr", has_text="Checkout").get_by_text("revoked").is_visible()


def test_a_key_for_ci_is_chosen_and_changes_no_prompt(site: Site, look: Look) -> None:
    with look() as visit:
        page = visit.page
        visit.open(f"{site.base}/settings/keys")
        page.get_by_label("Name").fill("Pipeline")
        page.get_by_label("Used by").select_option("ci")
        page.get_by_role("button", name="Create key").click()
        ci = site.server.client(page.locator("#secret").inner_text())

        assert ci.get("/api/v1/prompts").status == 200
        assert ci.post("/api/v1/prompts", {"name": "x", "value": "x"}).status == 403
        expect(page.locator("tr", has_text="Pipeline")).to_contain_text("read, run")


def test_a_key_that_administers_is_ticked_and_marked(site: Site, look: Look) -> None:
    with look() as visit:
        page = visit.page
        visit.open(f"{site.base}/settings/keys")
        page.get_by_label("Name").fill("Setup")
        page.get_by_label("May change the organization’s settings").check()
        page.get_by_role("button", name="Create key").click()
        secret = page.locator("#secret").inner_text()

        assert site.server.client(secret).get("/api/v1/members").status == 200
        assert site.client.get("/api/v1/members").status == 403
        expect(page.locator("tr", has_text="Setup")).to_contain_text("admin")
        expect(page.get_by_label("May change the organization’s settings")).not_to_be_checked()


def test_the_log_is_taken_along_as_files(site: Site, look: Look) -> None:
    with look() as visit:
        page = visit.page
        visit.open(f"{site.base}/prompts/{site.prompt_id}/logs")
        with page.expect_download() as taken:
            page.get_by_role("link", name="Export sessions").click()

        assert taken.value.suggested_filename == f"sessions-{site.prompt_id}.jsonl"
        [line] = taken.value.path().read_text(encoding="utf-8").splitlines()
        assert json.loads(line)["id"] == site.session_id


def test_a_member_is_invited_and_joins(site: Site, look: Look) -> None:
    with look() as admin:
        admin.open(f"{site.base}/settings/members")
        admin.page.get_by_label("Invite by e-mail").fill("grace.brewster.murray.hopper@engineering.example.org")
        admin.page.get_by_role("button", name="Create an invitation link").click()
        shown = admin.page.locator("#link")
        expect(shown).not_to_contain_text("$BASE_URL")  # for which the page's script puts its own address
        link = shown.inner_text()
    with look(360, storage_state=None) as guest:
        guest.page.goto(link)
        assert not guest.wider_than_the_screen()
        guest.page.get_by_label("Your name").fill("Grace")
        guest.page.get_by_label("Password").fill("a long password")
        guest.page.get_by_role("button", name="Join").click()

        expect(guest.page.locator(".flash")).to_contain_text("Your role is member.")
        expect(guest.page.get_by_role("link", name="Settings")).to_have_count(0)


def test_a_span_opens_over_its_session_with_all_that_it_carried(site: Site, look: Look) -> None:
    with look() as visit:
        visit.open(f"{site.base}/prompts/{site.prompt_id}/logs?type=otel")
        visit.page.locator("tbody th a").first.click()
        expect(visit.page.get_by_role("heading", name="Timeline")).to_be_visible()
        visit.page.wait_for_load_state()  # The script that opens dialogs has run.
        visit.page.locator(".outline a[data-dialog]").last.click()

        dialog = visit.page.get_by_role("dialog")
        expect(dialog).to_contain_text("gen_ai.tool.call.arguments")
        dialog.get_by_role("link", name="Back to the session").click()
        expect(dialog).to_have_count(0)


def test_slash_goes_to_the_search_and_tab_first_to_the_skip_link(site: Site, look: Look) -> None:
    with look() as visit:
        visit.open(f"{site.base}/prompts")
        visit.page.keyboard.press("Tab")
        expect(visit.page.get_by_role("link", name="Skip to content")).to_be_focused()
        visit.page.keyboard.press("Enter")
        expect(visit.page.locator("main")).to_be_focused()

        visit.page.keyboard.press("/")
        visit.page.keyboard.type("no such prompt")
        visit.page.keyboard.press("Enter")
        expect(visit.page.get_by_text("No prompt's name has")).to_be_visible()


def test_a_missing_page_is_answered_with_a_page(site: Site, look: Look) -> None:
    with look() as visit:
        visit.open(f"{site.base}/prompts/999999")
        visit.page.wait_for_load_state()
        assert visit.says("There is no such prompt.")
        assert visit.accessibility_problems() == []
        # The browser itself notes the status of the page.
        visit.wrong[:] = [said for said in visit.wrong if "404" not in said]


def test_a_search_of_older_entries_ends_with_the_way_back(site: Site, look: Look) -> None:
    for question in ("An older question", "A newer question"):
        site.client.post("/api/v1/prompts/run", {"id": site.prompt_id, "question": question})
    logs = f"/prompts/{site.prompt_id}/logs"
    newest = site.client.get(f"/api/v1{logs}?limit=1").json()
    with look() as visit:
        visit.open(f"{site.base}{logs}?search=a+newer+question&cursor={newest['nextCursor']}")
        expect(visit.page.get_by_text("Nothing older in the log matches")).to_be_visible()
        assert visit.accessibility_problems() == []

        visit.page.get_by_role("link", name="Back to the newest").click()
        expect(visit.page.locator("tbody th")).to_contain_text("A newer question")


def test_what_a_rule_masks_is_masked_wherever_it_is_shown(site: Site, look: Look) -> None:
    with look() as visit:
        page = visit.page
        visit.open(f"{site.base}/settings/data")
        page.get_by_role("button", name="Add a rule").click()
        page.get_by_label("Pattern or place of rule 1").fill(r"card \d{4}")
        page.get_by_label("Replacement of rule 1").fill("[a card]")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".flash")).to_be_visible()

        run = site.client.post("/api/v1/prompts/run", {"id": site.prompt_id, "question": "My card 4711?"})
        assert run.json()["answer"] == "My card 4711?"
        said = trace(site.prompt_id).replace(b"<script>", b"card 0815 ").replace(TRACE_ID.encode(), b"d" * 32)
        assert site.client.request("POST", "/api/public/otel/v1/traces", body=said, headers=JSON).status == 200

        visit.open(f"{site.base}/runs/{run.headers['X-Run-Id']}")
        assert visit.page.get_by_text("My [a card]?").count() >= 2
        assert not visit.says("4711")
        visit.open(f"{site.base}/prompts/{site.prompt_id}/logs?type=otel")
        page.locator("tbody th a").first.click()
        expect(page.get_by_role("heading", name="Timeline")).to_be_visible()
        page.wait_for_load_state()
        assert visit.says("[a card]")
        assert not visit.says("0815")

        visit.open(f"{site.base}/settings/data")
        page.get_by_label("Pattern or place of rule 1").fill("")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".flash")).to_be_visible()
