"""An experiment in a browser: started by its form, watched to its end, followed to a failing replay."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.ui.conftest import Look, Site
from tests.e2e.ui.test_work import commit, make_prompt, prompt_id, store_turn
from tests.support.browser import Visit, look_again_until

pytestmark = pytest.mark.browser

# `demo-agent` calls it with the question, as the recording does.
TOOL = (
    '[{"name": "get_order", "parameters":'
    ' {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}}}]'
)
STATIC = Path("app/web/static")


def prompt_with_a_test_case(site: Site, visit: Visit) -> Page:
    """The editor of a committed prompt; its version passes its test case."""
    page = make_prompt(site, visit, "Careful", "Help.", model="demo-agent")
    page.get_by_label("Tools, as a JSON list").fill(TOOL)
    commit(page, "It looks orders up")
    store_turn(site, prompt_id(page))
    entries = site.client.get(f"/api/v1/prompts/{prompt_id(page)}/logs?type=otel").json()["entries"]
    made = site.client.post(f"/api/v1/sessions/{entries[0]['id']}/test-cases", {"name": "Where is A-1?"})
    assert made.status == 201
    return page


def test_a_draft_is_checked_before_it_is_committed_and_the_failing_replay_is_one_click_away(
    site: Site, look: Look
) -> None:
    with look() as visit:
        page = prompt_with_a_test_case(site, visit)
        page.get_by_label("Tools, as a JSON list").fill("")

        page.get_by_role("button", name="Check before committing").click()
        page.get_by_label("Smallest regression to detect").select_option("0.33")
        page.get_by_role("button", name="Start the experiment").click()
        expect(page.locator(".outcome")).to_contain_text("violation")

        expect(page.locator(".outcome .badge")).to_have_text("failed")
        expect(page.locator(".violations")).to_contain_text("get_order is no longer offered")
        expect(page.locator(".comparisons li").first).to_contain_text("Where is A-1?")
        assert visit.accessibility_problems() == []
        visit.screen("light", 360)
        assert not visit.wider_than_the_screen()
        page.locator(".failing a").first.click()
        expect(page.get_by_role("heading", name="It failed: the draft does what it must not do")).to_be_visible()

        page.get_by_role("navigation", name="Breadcrumb").get_by_role("link", name="Careful").click()
        page.get_by_role("link", name="Experiments").click()
        expect(page.locator("tbody tr")).to_have_count(1)
        page.get_by_label("Verdict").select_option("passed")
        expect(page.get_by_text("No experiment matches the filter")).to_be_visible()


def test_without_scripts_an_experiment_is_started_and_looked_at_again(site: Site, look: Look) -> None:
    with look() as visit:
        path = prompt_with_a_test_case(site, visit).url.removeprefix(visit.url)
    with look(java_script_enabled=False) as visit:
        visit.open(path)
        page = visit.page
        page.get_by_label("Text", exact=True).fill("Help well.")
        page.get_by_role("button", name="Check before committing").click()
        page.get_by_role("button", name="Start the experiment").click()
        look_again_until(page, page.locator(".outcome", has_text="passes as often as with version"))

        outcome = page.locator(".outcome")
        expect(outcome).to_contain_text("passes as often as with version")
        expect(outcome).to_contain_text("a step that fails more than 23 % of the time would have shown")
        visit.open(path)
        expect(page.get_by_label("Text", exact=True)).to_have_value("Help well.")


def test_progress_never_runs_backwards_when_replays_are_added(site: Site, look: Look) -> None:
    """The page is asked for again each time: first 12 of 20 replays have ended, then 14 of 40, then all."""
    told = iter([(12, 20), (14, 40)])

    def answer(route: Route) -> None:
        done, total = next(told, (40, 40))
        live = ' data-live="100"' if done < total else ""
        bar = f'<progress max="{total}" value="{done}">{done} of {total}</progress>'
        script = (STATIC / "app.js").read_text(encoding="utf-8")
        body = f'<main><div id="experiment"{live}><p>{done} of {total}</p>{bar}</div></main><script>{script}</script>'
        route.fulfill(content_type="text/html", body=body)

    with look() as visit:
        page = visit.page
        page.route(re.compile("/experiments/1$"), answer)
        page.add_init_script(
            "window.seen = []; new MutationObserver(() => { const bar = document.querySelector('progress');"
            " if (bar) seen.push(bar.position); })"
            ".observe(document, {attributes: true, childList: true, subtree: true});"
        )
        page.goto(f"{visit.url}{site.base}/experiments/1")
        expect(page.get_by_text("40 of 40").first).to_be_visible()

        seen = page.evaluate("seen")
        assert seen == sorted(seen)
        assert seen[-1] == 1


def test_a_choice_that_is_made_before_the_script_has_come_is_not_lost(site: Site, look: Look) -> None:
    held: list[Route] = []
    with look() as visit:
        visit.page.route(re.compile("/app[.].*js$"), lambda route: held.append(route))
        with visit.page.expect_request(re.compile("/app[.].*js$")):
            visit.page.goto(f"{visit.url}{site.base}/prompts/{site.prompt_id}/logs", wait_until="commit")
        visit.page.get_by_label("Type").select_option("run")
        held[0].continue_()
        expect(visit.page).to_have_url(re.compile("type=run"))
