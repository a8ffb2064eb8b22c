"""Lists: what is chosen is in the address and comes back, rows are links, exceptions are marked."""

from __future__ import annotations

import html
import re
import secrets
import time
from typing import Any

import pytest

from app.web.views import cases, logs, prompts
from tests.integration.web.conftest import Browser
from tests.support.exports import export, span
from tests.support.waiting import wait_until
from tests.support.world import World

FAILED = {"code": 2, "message": "429 Too many requests"}


def record(world: World, prompt_id: int, **more: Any) -> None:
    chat = {"service.prompt.id": prompt_id, "gen_ai.operation.name": "chat"}
    status, at_ns = more.pop("status", {}), more.pop("at_ns", 0)
    times = {"startTimeUnixNano": str(at_ns), "endTimeUnixNano": str(at_ns + 10**9)} if at_ns else {}
    world.send(export(span(chat | more, traceId=secrets.token_hex(16), status=status, **times)))


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


def test_the_log_is_sorted_names_its_part_and_its_entries_lead_on_in_that_order(
    world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompt_id = world.prompt()
    log = f"{admin.base}/prompts/{prompt_id}/logs"
    record(world, prompt_id, status=FAILED)
    record(world, prompt_id)
    ask(world, prompt_id, "Fine")
    admin.open(log)
    latest = [address.partition("?")[0] for address in rows(admin)]

    admin.open(f"{log}?sort=oldest")
    assert [address.partition("?")[0] for address in rows(admin)] == latest[::-1]

    admin.open(f"{log}?sort=errors")
    failed, beside, *_ = rows(admin)
    assert "are sorted" not in admin.text
    assert '<option value="errors" selected>' in admin.page
    admin.open(failed)
    assert "1 error" in admin.text or "429 Too many requests" in admin.text
    assert admin.open(f"{failed}&go=next").headers["Location"] == beside

    monkeypatch.setattr("app.services.search.scanning.SORTED_MAX", 1)
    admin.open(f"{log}?sort=errors")
    assert "Only the newest 1 entry of these are sorted." in admin.text


def test_the_newest_part_of_the_log_is_followed_until_one_stops(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    log = f"{admin.base}/prompts/{prompt_id}/logs"
    ask(world, prompt_id, "First")

    admin.open(f"{log}?type=run")
    assert "data-live" not in admin.page
    assert 'href="?type=run&amp;live=on">Follow new entries' in admin.page

    admin.open(f"{log}?type=run&live=on")
    assert 'id="log" data-live="3000"' in admin.page
    assert 'href="?type=run">Stop' in admin.page
    assert '<input type="hidden" name="live" value="on">' in admin.page

    for elsewhere in ("?sort=cost", "?sort=oldest"):
        admin.open(f"{log}{elsewhere}")
        assert "Follow new entries" not in admin.page


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


@pytest.mark.parametrize(
    "query", ["minCost=-1", "from=yesterday", "to=9999-01-01", "model=" + "x" * 256, "sort=x&status=old"]
)
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


def test_the_page_of_a_run_without_an_error_has_no_badge(world: World, admin: Browser) -> None:
    asked = {"id": world.prompt(), "question": "Fine", "productive": False}
    run_id = world.post("/api/v1/prompts/run", json=asked).headers["X-Run-Id"]

    admin.open(f"{admin.base}/runs/{run_id}")

    assert '<span class="visually-hidden">OK</span>' in admin.page
    assert 'class="badge' not in admin.page


def test_a_failed_session_is_marked_where_a_narrow_screen_has_no_column_for_it(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    record(world, prompt_id, status=FAILED)

    for page in (f"{admin.base}/prompts/{prompt_id}/logs", f"{admin.base}/sessions"):
        admin.open(page)
        assert re.search(r'<span class="narrow-only"><span class="badge bad">\s*1 error', admin.page), page


def test_a_version_in_the_log_is_a_link_if_the_prompt_has_it(world: World, admin: Browser) -> None:
    made = world.post("/api/v1/prompts", json={"name": "Log", "value": "x", "languageModelName": "echo"}).json
    prompt_id = made["prompt"]["id"]
    version = world.get(f"/api/v1/prompts/{prompt_id}").json["commitHash"]
    record(world, prompt_id, **{"service.prompt.version": version})
    record(world, prompt_id, **{"service.prompt.version": "../../keys"})

    admin.open(f"{admin.base}/prompts/{prompt_id}/logs")

    assert f'href="{admin.base}/prompts/{prompt_id}/versions/{version}"' in admin.page
    assert "versions/.." not in admin.page


def named(browser: Browser, start: str) -> list[str]:
    """The names in the page's rows that begin with `start`, in their order."""
    return re.findall(rf'<th scope="row"[^>]*><a [^>]*>({start}[^<]*)</a>', browser.page)


def pages_in_order(browser: Browser, path: str, start: str) -> list[str]:
    """The names in the rows of all pages."""
    browser.open(path)
    found = named(browser, start)
    while 'rel="next"' in browser.page:
        browser.open(path.partition("?")[0] + pager(browser, "next"))
        found += named(browser, start)
    return found


def test_prompts_are_sorted_by_name_and_by_their_last_change(
    world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompts, "PAGE_SIZE", 2)
    ids = {}
    for name in ("Sorted b", "Sorted C", "Sorted a", "Sorted a"):
        ids[name] = world.post("/api/v1/prompts", json={"name": name, "value": "x"}).json["prompt"]["id"]
    world.patch(f"/api/v1/prompts/{ids['Sorted C']}", json={"value": "y"})
    path = f"{admin.base}/prompts?search=Sorted"

    assert pages_in_order(admin, f"{path}&sort=name", "Sorted") == ["Sorted a", "Sorted a", "Sorted b", "Sorted C"]
    assert pages_in_order(admin, f"{path}&sort=-name", "Sorted")[0] == "Sorted C"
    assert pages_in_order(admin, path, "Sorted") == ["Sorted C", "Sorted a", "Sorted a", "Sorted b"]
    assert "4 prompts" in admin.text
    assert admin.open(f"{path}&sort=password").status_code == 400


def test_prompts_show_failing_test_cases_on_every_screen_and_states_only_as_exceptions(
    world: World, admin: Browser
) -> None:
    prompt_id = world.post("/api/v1/prompts", json={"name": "Tested", "value": "x"}).json["prompt"]["id"]
    case = world.post(f"/api/v1/prompts/{prompt_id}/test-cases", json={"question": "Hi", "expectedAnswer": "Hello"})

    admin.open(f"{admin.base}/prompts?search=Tested")
    assert '<span class="quiet unbroken">not replayed</span>' in admin.page
    assert "0/1" not in admin.text
    assert "Red: " not in admin.text

    replay_id = world.post(f"/api/v1/test-cases/{case.json['id']}/replays").json["id"]
    wait_until(lambda: world.get(f"/api/v1/replays/{replay_id}").json["status"] == "failed", "the replay")
    admin.open(f"{admin.base}/prompts?search=Tested")

    failing = re.search(r'<td class="number"><a href="([^"]*)" class="bad"[^>]*>0/1<', admin.page)
    assert failing
    assert failing[1] == f"{admin.base}/prompts/{prompt_id}/test-cases"
    assert "Red: test cases failed in their last replay" in admin.text
    assert "badge" not in admin.page


def test_test_cases_of_one_name_are_distinguished_found_and_sorted(
    world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cases, "PAGE_SIZE", 2)
    prompt_id = world.prompt()
    ids = [
        world.post(
            f"/api/v1/prompts/{prompt_id}/test-cases", json={"name": name, "question": "Hi", "expectedAnswer": "x"}
        ).json["id"]
        for name in ("Case b", "Case a", "Case a")
    ]
    path = f"{admin.base}/prompts/{prompt_id}/test-cases"

    assert pages_in_order(admin, f"{path}?sort=name", "Case") == ["Case a", "Case a", "Case b"]
    admin.open(f"{path}?search=CASE+A")
    assert "2 test cases" in admin.text
    assert all(f"Number {twin}" in admin.text for twin in ids[1:])
    admin.open(f"{path}?search=Case+b")
    assert "Number" not in admin.text


def test_rejected_spans_are_grouped_by_their_cause(world: World, admin: Browser) -> None:
    spans = [span(attributes=[], name=f"Nameless {number}") for number in range(3)]
    spans += [span({"service.prompt.id": "x"}, name="Odd"), span({"service.prompt.id": world.prompt()})]
    world.send(export(*spans))

    admin.open(f"{admin.base}/rejected-spans")
    assert "4 spans, 2 causes" in admin.text
    assert rows(admin) == ["?code=missing_prompt_id", "?code=bad_prompt_id"]

    admin.open(f"{admin.base}/rejected-spans?code=missing_prompt_id")
    assert "3 spans" in admin.text
    assert "Nameless 0" in admin.text
    assert "Odd" not in admin.text
    assert admin.open(f"{admin.base}/rejected-spans?code=none").status_code == 404


def test_a_span_that_lost_its_prompt_names_one_limit(world: World, admin: Browser) -> None:
    cut = span(attributes=[], droppedAttributesCount=2)
    world.send(export(cut, span({"service.prompt.id": world.prompt()})))

    admin.open(f"{admin.base}/rejected-spans")

    assert "Raise the limit of attributes per span" in admin.text
    assert "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in admin.text
    assert "length" not in admin.text


def test_rejected_spans_of_one_cause_are_a_page_of_the_api(world: World) -> None:
    world.send(export(span({"service.prompt.id": "x"}), span(name=""), span({"service.prompt.id": world.prompt()})))

    found = world.get("/api/v1/rejected-spans", params={"code": "bad_prompt_id"}).json["rejectedSpans"]

    assert [each["code"] for each in found] == ["bad_prompt_id"]


def test_a_comparison_names_the_versions_by_their_messages(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    first = world.post(f"/api/v1/prompts/{prompt_id}/commit", json={"message": "Be <kind>"}).json["commitHash"]

    admin.open(f"{admin.base}/prompts/{prompt_id}/compare")

    assert "Be <kind>" in admin.text
    assert f'versions/{first}">Be &lt;kind&gt;</a>' in admin.page
    assert "Not committed" in admin.text


def test_versions_and_usage_are_sorted_by_what_they_cost(world: World, admin: Browser) -> None:
    prompt_id = world.prompt()
    for message in ("Version one", "Version two"):
        world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": message})
        world.post(f"/api/v1/prompts/{prompt_id}/commit", json={"message": message})
        if message == "Version one":
            world.post("/api/v1/prompts/run", json={"id": prompt_id, "question": "Hi"})
    versions, usage = f"{admin.base}/prompts/{prompt_id}/versions", f"{admin.base}/usage?by=version"

    admin.open(versions)
    assert named(admin, "Version") == ["Version two", "Version one"]
    admin.open(f"{versions}?sort=-runs")
    assert named(admin, "Version") == ["Version one", "Version two"]
    assert 'aria-sort="descending"' in admin.page
    assert admin.open(f"{usage}&sort=-runs").status_code == 200
    assert admin.open(f"{usage}&sort=age").status_code == 400


def test_versions_come_in_pages_and_each_can_be_compared_with_the_draft(
    world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prompts, "PAGE_SIZE", 2)
    prompt_id = world.prompt()
    for number in range(1, 6):
        world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": f"Text {number}"})
        world.post(f"/api/v1/prompts/{prompt_id}/commit", json={"message": f"Message {number}"})
    versions = f"{admin.base}/prompts/{prompt_id}/versions"

    admin.open(versions)
    assert named(admin, "Message") == ["Message 5", "Message 4"]
    assert "5 versions" in admin.text
    admin.open(versions + pager(admin, "next"))
    assert named(admin, "Message") == ["Message 5", "Message 3", "Message 2"]
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"value": "Text 6"})
    admin.open(f"{versions}?cursor=4")

    assert named(admin, "Message") == ["Message 1"]
    assert 'name="to" value="draft" aria-label="Compare to draft" checked' in admin.page
    assert 'rel="next"' not in admin.page
    assert admin.open(f"{versions}?cursor=99").status_code == 200


def test_a_new_model_of_ones_own_leads_to_the_top_where_its_message_is(admin: Browser) -> None:
    admin.open(f"{admin.base}/settings/models")
    prices = {"promptPrice": "0", "completionPrice": "0", "contextTokensMax": "1000", "completionTokensMax": "100"}

    made = admin.send(f"{admin.base}/settings/models", name="own", baseUrl="http://127.0.0.1:9/v1", **prices)

    assert made.headers["location"].endswith("/settings/models#main")


def test_the_list_of_prompts_counts_sessions_and_runs_and_adds_their_costs(world: World, admin: Browser) -> None:
    prompt_id, quiet_id = world.prompt(), world.prompt()
    model = {"gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o-mini"}
    used = model | {"gen_ai.usage.input_tokens": 1_000_000, "gen_ai.usage.output_tokens": 100_000}
    now_ns, week_ns = time.time_ns(), 8 * 24 * 3600 * 10**9
    record(world, prompt_id, at_ns=now_ns, **used)
    record(world, prompt_id, at_ns=now_ns, status=FAILED)
    record(world, prompt_id, at_ns=now_ns - week_ns, **used)
    ask(world, quiet_id, "Fine")
    while world.container.services.insight_counter.count(world.project_id):
        pass

    admin.open(f"{admin.base}/prompts")

    of_prompt = {
        href: " ".join(html.unescape(re.sub(r"<[^>]*>", " ", row)).split())
        for row in re.findall(r'<tr class="linked">.*?</tr>', admin.page, re.DOTALL)
        for href in re.findall(r'<th [^>]*><a href="([^"]*)"', row)
    }
    assert "2 50 % with errors" in of_prompt[f"{admin.base}/prompts/{prompt_id}"]
    assert "$0.21" in of_prompt[f"{admin.base}/prompts/{prompt_id}"]
    assert "with errors" not in of_prompt[f"{admin.base}/prompts/{quiet_id}"]
    assert 'title="$0 of runs, $0.21 of sessions"' in admin.page
