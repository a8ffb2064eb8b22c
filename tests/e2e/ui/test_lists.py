"""Lists in the browser: the whole row leads where its link leads, and controls in it keep their own action."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.ui.conftest import Look, Site


@pytest.mark.browser
@pytest.mark.parametrize("column", ["td.number >> nth=0", "time"])
def test_a_row_leads_to_its_entry_wherever_it_is_clicked(site: Site, look: Look, column: str) -> None:
    with look() as visit:
        visit.open(f"{site.base}/prompts?sort=name")
        row = visit.page.locator("tr.linked").first

        # The link lies over the whole row, also where the pointer is.
        row.locator(column).click(force=True)

        expect(visit.page).to_have_url(re.compile(r"/prompts/\d+/edit$"))


@pytest.mark.browser
def test_a_box_in_a_row_is_ticked_and_leads_nowhere(site: Site, look: Look) -> None:
    with look() as visit:
        visit.open(f"{site.base}/prompts/{site.prompt_id}/test-cases")
        box = visit.page.get_by_role("checkbox").first

        box.check()

        expect(box).to_be_checked()
        expect(visit.page).to_have_url(re.compile("/test-cases$"))


@pytest.mark.browser
def test_a_followed_log_shows_what_comes(site: Site, look: Look) -> None:
    with look() as visit:
        visit.open(f"{site.base}/prompts/{site.prompt_id}/logs?type=run")
        visit.page.get_by_role("link", name="Follow new entries").click()
        expect(visit.page.get_by_text("new entries appear by themselves.")).to_be_visible()

        site.client.post("/api/v1/prompts/run", {"id": site.prompt_id, "question": "Does this come by itself?"})

        expect(visit.page.get_by_role("link", name="Does this come by itself?")).to_be_visible()
        assert visit.accessibility_problems() == []


@pytest.mark.browser
def test_a_filter_stays_on_the_way_to_an_entry_and_back(site: Site, look: Look) -> None:
    with look() as visit:
        visit.open(f"{site.base}/prompts/{site.prompt_id}/logs")
        visit.page.get_by_label("Type", exact=True).select_option("run")
        expect(visit.page).to_have_url(re.compile("type=run"))

        visit.page.locator("tr.linked a").first.click()
        visit.page.get_by_role("link", name="Logs", exact=True).click()

        expect(visit.page.get_by_label("Type", exact=True)).to_have_value("run")


@pytest.mark.browser
def test_the_address_of_a_list_has_only_the_filters_that_were_chosen(look: Look, site: Site) -> None:
    with look() as visit:
        visit.open(f"{site.base}/sessions")
        visit.page.get_by_label("Search all texts").fill("refund")
        visit.page.get_by_role("button", name="Search", exact=True).click()
        visit.page.wait_for_url("**/sessions?**")

        assert visit.page.url.partition("?")[2] == "q=refund"
