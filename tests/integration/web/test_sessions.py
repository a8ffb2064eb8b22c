"""The page of all the project's sessions."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable

import pytest

from app.models.organizations import Role
from tests.integration.test_search import index, say
from tests.integration.test_session_list import HASH, said, session
from tests.integration.web.conftest import Browser
from tests.support.exports import export, span
from tests.support.world import World


def filled(world: World) -> tuple[int, int]:
    """Two prompts, the first with a session that went well, the second with one that did not."""
    one, other = world.prompt(), world.prompt()
    session(world, one, 100, **{"gen_ai.input.messages": said("All fine?"), "service.prompt.version": HASH})
    failed = {"gen_ai.input.messages": said("<b>Refund</b> 4711"), "user.id": "ada"}
    session(world, other, 200, tools={"pay": 2}, **failed)
    return one, other


def test_the_page_lists_the_sessions_of_all_prompts_and_marks_only_exceptions(world: World, admin: Browser) -> None:
    filled(world)

    assert admin.open(f"{admin.base}/sessions").status_code == 200

    assert "2 sessions" in admin.text
    assert "All fine?" in admin.text
    assert "<b>Refund</b> 4711" in admin.text
    assert "Failed: pay" in admin.text
    # The error in its column, and below the question.
    assert admin.page.count('class="badge bad"') == 2


def test_filters_stay_in_the_address_and_in_the_files(world: World, admin: Browser) -> None:
    filled(world)

    admin.open(f"{admin.base}/sessions?errors=true&failedTool=pay&sort=duration")

    assert "All fine?" not in admin.text
    assert "1 session" in admin.text
    assert '<option value="true" selected>' in admin.page
    assert 'value="pay"' in admin.page
    [lines, sheet] = [
        world.client.simulate_get(f"{admin.base}/sessions.{kind}?errors=true&failedTool=pay", cookies=admin.cookies)
        for kind in ("jsonl", "csv")
    ]
    assert f'href="{admin.base}/sessions.csv?errors=true&amp;failedTool=pay&amp;sort=duration"' in admin.page
    assert [json.loads(line)["preview"] for line in lines.text.splitlines()] == ["<b>Refund</b> 4711"]
    assert sheet.text.count("\r\n") == 2


def test_a_list_by_cost_names_which_sessions_are_sorted_and_exports_all(
    world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(world)
    admin.open(f"{admin.base}/sessions?sort=cost")
    assert "are sorted" not in admin.text
    assert f'href="{admin.base}/sessions.csv"' in admin.page

    monkeypatch.setattr("app.services.search.scanning.SORTED_MAX", 1)
    admin.open(f"{admin.base}/sessions?sort=cost&errors=false")
    assert "are sorted" not in admin.text
    admin.open(f"{admin.base}/sessions?sort=cost")
    assert "Only the newest 1 session of these are sorted." in admin.text


def test_a_list_without_sessions_explains_what_to_do(world: World, admin: Browser) -> None:
    admin.open(f"{admin.base}/sessions")
    assert "There are no sessions yet" in admin.text

    admin.open(f"{admin.base}/sessions?tool=pay")
    assert "No session matches the filters" in admin.text


def test_a_filter_that_is_none_is_refused(world: World, admin: Browser) -> None:
    assert admin.open(f"{admin.base}/sessions?minTurns=many").status_code == 400
    assert admin.open(f"{admin.base}/sessions?since=soon").status_code == 400
    assert admin.open(f"{admin.base}/sessions?list=from+elsewhere&since=30d").status_code == 200


def test_a_search_shows_where_the_words_are_and_leads_there(world: World, admin: Browser) -> None:
    say(world, world.prompt(), "One <i>question</i>", "It is <b>possible</b>.", result={"note": "Größe 42 <script>"})
    index(world)

    admin.open(f"{admin.base}/sessions?q=gr%C3%B6sse+42")

    assert "Result of a tool, turn 1: note <mark>Größe</mark> <mark>42</mark> &lt;script&gt;" in " ".join(
        re.sub("</?(span|a)[^>]*>", "", admin.page).split()
    )
    [href] = re.findall(r'href="([^"]*#turn-1-span-2{16})"', admin.page)
    admin.open(html.unescape(href).partition("#")[0])
    assert f'id=turn-1-span-{"2" * 16} class="tool"' in admin.page
    assert "<mark>Größe</mark> <mark>42</mark> &lt;script&gt;" in admin.page


def test_a_session_that_may_contain_the_words_is_marked_in_both_lists(
    world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id = world.prompt()
    say(world, prompt_id, "A question", "It is possible.")
    index(world)
    monkeypatch.setattr("app.services.search.service._first_hit", lambda *_: None)

    for path in ("sessions", f"prompts/{prompt_id}/logs"):
        admin.open(f"{admin.base}/{path}?q=possible")
        assert '<span class="hit">May contain the words</span>' in admin.page
        admin.open(f"{admin.base}/{path}")
        assert "May contain" not in admin.page


def test_words_of_a_search_are_marked_in_answers_and_questions(world: World, admin: Browser) -> None:
    say(world, world.prompt(), "Is a *refund* <possible>?", "A **refund** is not.")
    [session_id] = [one["id"] for one in world.get("/api/v1/sessions").json["sessions"]]

    admin.open(f"{admin.base}/sessions/{session_id}?q=refund+%22%2A%22")

    assert "Is a *<mark>refund</mark>* &lt;possible&gt;?" in admin.page
    assert "A **<mark>refund</mark>** is not." in admin.page
    admin.open(f"{admin.base}/sessions/{session_id}?q=-refund")
    assert "<mark>" not in admin.page


def test_what_is_chosen_is_saved_found_again_and_deleted_after_a_question(world: World, admin: Browser) -> None:
    filled(world)
    admin.open(f"{admin.base}/sessions")
    assert "Save this filter" not in admin.text

    admin.open(f"{admin.base}/sessions?errors=1&since=30d&minTurns=01")
    action = html.unescape(re.search(r'<form class="inline narrow" method="post" action="([^"]+)"', admin.page)[1])
    assert admin.send(action, name="<b>Wrong</b>").status_code == 303
    admin.open(f"{admin.base}/sessions")

    assert "<b>Wrong</b>" in admin.text
    [href] = re.findall(r'href="([^"]+)" title="&lt;b&gt;Wrong', admin.page)
    assert html.unescape(href) == f"{admin.base}/sessions?errors=true&minTurns=1&since=30d"
    admin.open(html.unescape(href))
    assert 'aria-current="true">&lt;b&gt;Wrong' in admin.page
    assert "Save this filter" not in admin.text
    [asks] = re.findall(r'href="([^"]+/session-filters/\d+/delete)"', admin.page)
    admin.open(asks)
    assert "Delete the filter “<b>Wrong</b>”?" in admin.text
    assert admin.send(asks).status_code == 303
    admin.open(f"{admin.base}/sessions")
    assert "<b>Wrong</b>" not in admin.text


def test_a_name_in_use_keeps_the_list_and_is_reported_at_the_field(world: World, admin: Browser) -> None:
    filled(world)
    world.post("/api/v1/session-filters", json={"name": "Wrong", "filters": {"errors": True}})
    admin.open(f"{admin.base}/sessions?failedTool=pay")

    refused = admin.send(f"{admin.base}/sessions?failedTool=pay", name="Wrong")

    assert refused.status_code == 409
    assert "choose another one" in admin.text
    assert 'value="pay"' in admin.page
    assert re.search(r'name="name"[^>]* value="Wrong"', admin.page)
    assert admin.send(f"{admin.base}/sessions", name="Nothing").status_code == 400


def test_a_viewer_follows_saved_filters_and_saves_none(world: World, member_of: Callable[[Role], Browser]) -> None:
    viewer = member_of(Role.VIEWER)
    saved = world.post("/api/v1/session-filters", json={"name": "Wrong", "filters": {"errors": True}}).json
    viewer.open(f"{viewer.base}/sessions?errors=true")
    assert "Wrong" in viewer.text
    assert "Delete this saved filter" not in viewer.text
    assert viewer.open(f"{viewer.base}/session-filters/{saved['id']}/delete").status_code == 403
    assert viewer.send(f"{viewer.base}/sessions?tool=x", name="Mine").status_code == 403


def test_sessions_are_chosen_by_days_and_lead_to_the_insight_of_their_prompts(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    for day, text in ((0, "first day"), (1, "second day"), (2, "third day")):
        session(world, prompt_id, day * 86_400 + 86_399, **{"gen_ai.input.messages": said(text)})

    admin.open(f"{admin.base}/sessions?from=1970-01-02&to=1970-01-02")

    assert "1 session " in admin.text
    assert "second day" in admin.text
    assert admin.page.count('type="date" value="1970-01-02"') == 2
    assert f'href="{admin.base}/prompts/{prompt_id}/insight"' in admin.page
    admin.open(f"{admin.base}/sessions?from=1970-01-02T00:00:00Z")
    assert "2 sessions" in admin.text
    for wrong in ("from=1970-13-02", "to=9999-12-31", "from=yesterday"):
        assert admin.open(f"{admin.base}/sessions?{wrong}").status_code == 400
    admin.open(f"{admin.base}/overview")
    [address] = re.findall(r'href="([^"]*)">Yesterday’s errors', admin.page)
    assert admin.open(html.unescape(address)).status_code == 200
    assert '<option value="yesterday" selected>' in admin.page


def test_tokens_that_were_not_recorded_are_not_shown_as_none(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    world.send(export(span({"service.prompt.id": prompt_id, "gen_ai.operation.name": "chat"})))
    (entry,) = world.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json["entries"]
    unknown = '<span class="quiet" title="No model call reports tokens">–</span>'

    for path in ("sessions", f"prompts/{prompt_id}/logs", f"sessions/{entry['id']}"):
        admin.open(f"{admin.base}/{path}")
        assert unknown in admin.page, path
        assert "0 in, 0 out" not in admin.text

    admin.open(f"{admin.base}/sessions")
    assert '<span class="narrow-only"></span>' in admin.page


def test_times_and_days_are_those_of_the_browsers_zone(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    # 1970-01-02 23:30 UTC is the 3rd in Berlin.
    session(world, prompt_id, 2 * 86_400 - 1_800, **{"gen_ai.input.messages": said("Late at night")})
    admin.cookies["reprise_zone"] = "Europe/Berlin"

    admin.open(f"{admin.base}/sessions?from=1970-01-03&to=1970-01-03")

    assert "Late at night" in admin.text
    assert "3 Jan 1970, 00:30" in admin.text
    assert 'name="from" type="date" value="1970-01-03"' in admin.page
    assert 'name="to" type="date" value="1970-01-03"' in admin.page
    admin.cookies["reprise_zone"] = "No/Where"
    admin.open(f"{admin.base}/sessions?from=1970-01-03&to=1970-01-03")
    assert "Late at night" not in admin.text


def entries(admin: Browser) -> list[str]:
    return [html.unescape(link) for link in re.findall(r'<th scope="row" class="clip"><a href="([^"]*)"', admin.page)]


def test_the_sessions_before_and_after_one_follow_the_list_that_led_to_it(world: World, admin: Browser) -> None:
    one, other = filled(world)
    session(world, one, 300, **{"gen_ai.input.messages": said("Third")})
    admin.open(f"{admin.base}/sessions?sort=oldest")
    first, second, third = entries(admin)
    assert "list=sessions" in first

    admin.open(second)
    assert f'href="{admin.base}/sessions?sort=oldest">Sessions</a>' in admin.page
    assert admin.open(f"{second}&go=next").headers["Location"] == third
    assert admin.open(f"{second}&go=previous").headers["Location"] == first
    assert admin.open(f"{first}&go=previous").headers["Location"] == first
    assert "This is the first entry of the list." in admin.open(first).text
    # Filtered by the other prompt, the list has one entry.
    admin.open(f"{admin.base}/sessions?promptId={other}")
    (only,) = entries(admin)
    assert admin.open(f"{only}&go=next").headers["Location"] == only


def test_an_entry_is_found_after_newer_ones_moved_it_to_the_next_page(
    world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id = world.prompt()
    for number in range(3):
        session(world, prompt_id, 100 + number, **{"gen_ai.input.messages": said(f"Number {number}")})
    admin.open(f"{admin.base}/sessions")
    newest, middle, oldest = entries(admin)
    monkeypatch.setattr("app.web.views.neighbours.PAGE_SIZE", 1)

    there = admin.open(f"{middle}&go=next").headers["Location"]
    assert there.partition("?")[0] == oldest.partition("?")[0]
    session(world, prompt_id, 200, **{"gen_ai.input.messages": said("Newer")})
    monkeypatch.setattr("app.web.views.neighbours.PAGE_SIZE", 2)
    assert admin.open(f"{middle}&go=previous").headers["Location"].partition("?")[0] == newest.partition("?")[0]


def test_an_entry_that_left_the_list_stays_open_with_a_message(world: World, admin: Browser) -> None:
    filled(world)
    admin.open(f"{admin.base}/sessions?errors=true")
    (failed,) = entries(admin)
    gone = failed.replace("errors%253Dtrue", "errors%253Dfalse").replace("errors%3Dtrue", "errors%3Dfalse")

    assert admin.open(f"{gone}&go=next").headers["Location"] == gone
    assert "no longer in the list that you came from" in admin.open(gone).text


def test_sessions_without_steps_and_words_are_shown_on_demand(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    world.send(export(span({"service.prompt.id": prompt_id})))
    shown = {}
    for path in (f"sessions?promptId={prompt_id}", f"prompts/{prompt_id}/logs?type=otel"):
        for include in ("", "&include=all"):
            admin.open(f"{admin.base}/{path}{include}")
            shown[path.partition("?")[0], include] = "(no text was recorded)" in admin.page

    assert shown == {
        ("sessions", ""): False,
        ("sessions", "&include=all"): True,
        (f"prompts/{prompt_id}/logs", ""): False,
        (f"prompts/{prompt_id}/logs", "&include=all"): True,
    }
