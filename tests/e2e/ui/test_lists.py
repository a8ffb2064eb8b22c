"""Lists in the browser: the whole row leads where its link leads, and controls in it keep their own action."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

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


@pytest.mark.browser
@pytest.mark.parametrize("page", ["prompts", "sessions", "overview", "prompts/{prompt}/versions"])
@pytest.mark.parametrize("width", [390, 720])
def test_no_list_is_wider_than_a_phone_or_a_doubled_page(site: Site, look: Look, page: str, width: int) -> None:
    with look(width=width) as visit:
        visit.open(f"{site.base}/{page.format(prompt=site.prompt_id)}")

        hidden = visit.page.eval_on_selector_all(".table", "all => all.filter(e => e.scrollWidth > e.clientWidth)")

        assert hidden == []


@pytest.mark.browser
def test_a_name_from_right_to_left_does_not_mix_with_the_words_around_it(site: Site, look: Look) -> None:
    name = "أين طلبي A-1042؟"
    made = site.client.post("/api/v1/prompts", {"name": name, "value": "Help."}).json()["prompt"]["id"]
    with look() as visit:
        visit.open(f"{site.base}/prompts/{made}/experiments/new")
        crumb = visit.page.get_by_role("navigation", name="Breadcrumb").get_by_role("link", name=name)

        # The mark of the question is the last character, so it is at the left end.
        mark, letter = lefts(crumb, len(name) - 1, 0)

        assert mark < letter


def lefts(element: Locator, *places: int) -> list[float]:
    """Return where the characters at some places of an element's text begin, in pixels from the left."""
    script = """(element, places) => places.map((at) => {
        const range = document.createRange();
        range.setStart(element.firstChild, at);
        range.setEnd(element.firstChild, at + 1);
        return range.getBoundingClientRect().left;
    })"""
    left: list[float] = element.evaluate(script, list(places))
    return left


@pytest.mark.browser
def test_a_name_from_right_to_left_is_drawn_so_and_cut_at_its_end(site: Site, look: Look) -> None:
    name = "المبلغ 149.90 EUR لم يصل بعد " * 4
    site.client.post("/api/v1/api-keys", {"name": name.strip()})
    site.client.post("/api/v1/prompts", {"name": name.strip(), "value": "Help."})
    with look() as visit:
        visit.open(f"{site.base}/settings/keys")
        first, later = lefts(visit.page.locator("tbody th", has_text="المبلغ").first, 0, 18)
        assert later < first

        visit.open(f"{site.base}/prompts")
        link = visit.page.locator("tbody th a", has_text="المبلغ").first
        assert link.evaluate("link => link.scrollWidth > link.clientWidth && link.clientHeight < 30")
        assert link.evaluate("link => getComputedStyle(link).textOverflow") == "ellipsis"


@pytest.mark.browser
def test_the_button_of_a_proposed_suite_ends_where_its_field_ends(site: Site, look: Look) -> None:
    with look() as visit:
        visit.open(f"{site.base}/prompts/{site.prompt_id}/suites/proposal?days=90")
        field = visit.page.get_by_label("Name of the suite").bounding_box()
        button = visit.page.get_by_role("button", name="Make test cases").bounding_box()

        assert field
        assert button
        assert abs(field["y"] + field["height"] - button["y"] - button["height"]) < 1


@pytest.mark.browser
def test_one_box_ticks_all_test_cases_of_the_list(site: Site, look: Look) -> None:
    site.client.post(
        f"/api/v1/prompts/{site.prompt_id}/test-cases", {"question": "A second one", "expectedAnswer": "Yes"}
    )
    with look() as visit:
        visit.open(f"{site.base}/prompts/{site.prompt_id}/test-cases")
        page, every = visit.page, visit.page.get_by_role("checkbox", name="Tick all test cases")
        boxes = page.locator("input[name=case]")

        every.check()
        assert {box.is_checked() for box in boxes.all()} == {True}

        boxes.first.uncheck()
        expect(every).not_to_be_checked()
        assert every.evaluate("box => box.indeterminate")
        assert visit.accessibility_problems() == []


@pytest.mark.browser
def test_one_box_unticks_all_steps_of_a_turn(site: Site, look: Look) -> None:
    with look() as visit:
        visit.open(f"{site.base}/sessions/{site.session_id}/test-case")
        turn = visit.page.locator(".turn").first

        turn.get_by_label("Check all steps").uncheck()

        assert {box.is_checked() for box in turn.locator("input[name$='.enabled']").all()} == {False}


@pytest.mark.browser
def test_a_box_for_all_is_hidden_without_scripts(site: Site, look: Look) -> None:
    with look(java_script_enabled=False) as visit:
        visit.open(f"{site.base}/prompts/{site.prompt_id}/test-cases")

        assert not visit.page.locator("[data-all]").is_visible()


@pytest.mark.browser
@pytest.mark.parametrize("page", ["sessions", "prompts/{prompt}/versions", "replays/{replay}/batch/accept"])
def test_a_table_shows_all_of_its_columns_on_a_small_desktop(site: Site, look: Look, page: str) -> None:
    with look() as visit:
        visit.open(f"{site.base}/{page.format(prompt=site.prompt_id, **site.work)}")

        wider = "[...document.querySelectorAll('.table')].filter(table => table.scrollWidth > table.clientWidth).length"
        assert visit.page.evaluate(wider) == 0


@pytest.mark.browser
def test_what_was_ticked_and_opened_stays_when_a_list_shows_its_progress(site: Site, look: Look) -> None:
    with look() as visit:
        visit.open(f"{site.base}/prompts/{site.prompt_id}/test-cases")
        page = visit.page
        page.evaluate("""() => {
          const old = document.getElementById("cases"), fold = "<details><summary>3 more</summary>Text</details>";
          const made = old.cloneNode(true);
          old.insertAdjacentHTML("beforeend", fold.repeat(2));
          made.insertAdjacentHTML("beforeend", fold.replace("3", "4").repeat(2) + "<p>Fresh</p>");
          const was = old.cloneNode(true);
          window.bring = () => merge(old, was, made);
        }""")
        page.get_by_role("checkbox", name="Run ").first.check()
        page.locator("#cases details").nth(1).locator("summary").click()

        page.evaluate("bring()")

        expect(page.locator("#cases").get_by_text("Fresh")).to_be_visible()
        expect(page.get_by_role("checkbox", name="Run ").first).to_be_checked()
        assert page.locator("#cases details").evaluate_all("folds => folds.map((fold) => fold.open)") == [False, True]
        page.get_by_role("button", name="Run ticked").click()
        expect(page).to_have_url(re.compile(r"/replays/\d+/batch$"))
