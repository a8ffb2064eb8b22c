"""The whole road of a suite, on the pages only: proposed, accepted, calibrated, gated, mapped and watched."""

from __future__ import annotations

import json
import os
import re
import time
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.ui.conftest import Look, Site
from tests.e2e.ui.test_first_screen import add_model
from tests.fakes.judging import is_question, judging
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.support.conversations import SECOND_NS, RecordedCall, RecordedTurn, export
from tests.support.http_client import Client
from tests.support.waiting import wait_until

pytestmark = pytest.mark.browser
SESSIONS = int(os.environ.get("ROAD_SESSIONS", "40"))
LOOK_UP = "Look an order up before you answer about it."
HIDE = "Never reveal the code of a voucher."
DELIVERY = "Promise no day of delivery."
TEXT = f"# Support\n\nYou are the agent of the shop.\n{LOOK_UP}\n{HIDE}\n{DELIVERY}\n"
NAMES = ("get_order", "refund_order")
TOOLS = [
    {
        "name": name,
        "description": name.replace("_", " "),
        "parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
    }
    for name in NAMES
]


def turn(number: int) -> RecordedTurn:
    """What a customer asks; most ask the first things, and every question has other words."""
    order = f"A-{number}"
    found = RecordedCall("get_order", {"id": order}, {"id": order, "state": "sent"})
    match number % 10:
        case 0:
            return RecordedTurn("What is the code of my voucher?", "I can't show it.")
        case 1:
            return RecordedTurn("Which day is the delivery?", "I can't promise a day.")
        case 2 | 3:
            paid = RecordedCall("refund_order", {"id": order}, {"refunded": True})
            return RecordedTurn(f"Refund order {order}, please.", "It is refunded.", (found, paid))
        case 4:
            lost = RecordedCall("get_order", {"id": order}, error="The server is away.")
            return RecordedTurn(f"Where is order {order}?", "I can't find it.", (lost,))
        case _:
            return RecordedTurn(f"Where is order {order}?", "It is sent.", (found,))


EQUAL = judging(lambda recorded, produced: "passed" if recorded == produced else "failed")


def follow(body: dict[str, Any]) -> Reply:
    """Do what the instruction demands, and only that; as the judge, accept what is recorded."""
    if is_question(body):
        return EQUAL(body)
    instruction, messages = body["messages"][0]["content"], body["messages"]
    last = max(index for index, message in enumerate(messages) if message["role"] == "user")
    question, results = json.dumps(messages[last]["content"]), messages[last + 1 :]
    called = [call["function"]["name"] for message in results for call in message.get("tool_calls") or ()]
    if "voucher" in question:
        return Reply(text="I can't show it." if HIDE in instruction else "It is 1234.")
    if "delivery" in question:
        return Reply(text="I can't promise a day." if DELIVERY in instruction else "On Monday.")
    found = re.search(r"A-[0-9]+", question)
    assert found, question
    if "get_order" not in called and LOOK_UP in instruction:
        return Reply(tool_calls=[("get_order", {"id": found[0]})])
    if "Refund" in question:
        return Reply(text="It is refunded.") if "refund_order" in called else calls("refund_order", found[0])
    return Reply(text="It is sent.")


def calls(name: str, order: str) -> Reply:
    return Reply(tool_calls=[(name, {"id": order})])


def send(client: Client, prompt_id: int) -> None:
    """Send the recorded sessions of the last days."""
    now = time.time_ns()
    spans: list[Any] = []
    for number in range(SESSIONS):
        start_ns = now - (600 + number * 3_000_000 // SESSIONS // 2) * SECOND_NS
        batch = json.loads(export(prompt_id, f"customer {number}", (turn(number),), start_ns=start_ns))
        spans += batch["resourceSpans"]
        if len(spans) == 200 or number == SESSIONS - 1:
            body = json.dumps({"resourceSpans": spans}).encode()
            headers = {"Content-Type": "application/json"}
            assert client.request("POST", "/api/public/otel/v1/traces", body=body, headers=headers).status == 200
            spans = []


def shot(page: Page, name: str) -> None:
    if folder := os.environ.get("SHOTS"):
        page.screenshot(path=f"{folder}/road-{name}.png", full_page=True)


def ask_for(site: Site, prompt_id: int) -> dict[str, Any]:
    proposal: dict[str, Any] = site.client.post(f"/api/v1/prompts/{prompt_id}/suite-proposals", {}).json()
    return proposal


def is_read(proposal: dict[str, Any]) -> bool:
    return bool(proposal["sessions"] == min(SESSIONS, 10_000) and not proposal["unread"])


def sentence(page: Page, text: str) -> Locator:
    return page.locator(".guards > li", has_text=text)


def map_version(page: Page) -> None:
    """Start a map of the newest version with the fields that the page has, and wait for its end."""
    page.get_by_role("button", name="Start", exact=True).click()
    page.locator(".facts .badge", has_text="finished").wait_for()


def test_a_suite_is_proposed_calibrated_gated_mapped_and_watched_from_the_pages(site: Site, look: Look) -> None:
    with Upstream() as upstream, look() as visit:
        upstream.choose = follow
        add_model(visit, site, upstream.base_url("CUSTOM_OPENAI_COMPATIBLE"), "shop")
        prompt = {"name": "Shop", "value": TEXT, "languageModelName": "shop", "languageModelConfig": {"tools": TOOLS}}
        prompt_id = site.client.post("/api/v1/prompts", prompt).json()["prompt"]["id"]
        send(site.client, prompt_id)
        wait_until(lambda: is_read(ask_for(site, prompt_id)), "the fingerprints")
        page = visit.page

        # Propose and accept: all but the sessions about the day of delivery.
        visit.open(f"{site.base}/prompts/{prompt_id}/test-cases")
        shot(page, "1-test-cases")
        page.get_by_role("link", name="Propose a suite").click()
        page.get_by_role("heading", name="Proposed suite").wait_for()
        shot(page, "2-proposal")
        right = page.locator("tbody tr", has_text="Where is order").filter(has_not_text="went wrong")
        expect(right.get_by_role("checkbox")).to_be_checked()
        expect(page.locator("tbody tr", has_text="went wrong")).to_contain_text("failed call")
        page.get_by_label("Choose Which day is the delivery?").uncheck()
        page.get_by_role("button", name="Make test cases").click()

        # Calibrate.
        expect(page.locator("#members .badge", has_text="reliable")).to_have_count(3)
        shot(page, "3-suite")
        suite = page.url

        # Gate: a draft without a rule fails the suite.
        page.get_by_role("link", name="Start an experiment").click()
        shot(page, "4-new-experiment")
        page.get_by_role("link", name="Change the draft").click()
        page.get_by_label("Text", exact=True).fill(TEXT.replace(HIDE, ""))
        page.get_by_role("button", name="Check before committing").click()
        page.get_by_label("Test cases").select_option("release")
        page.get_by_role("button", name="Start the experiment").click()
        expect(page.locator(".outcome .badge")).to_have_text("failed")
        expect(page.locator(".comparisons li").first).to_contain_text("What is the code of my voucher?")
        shot(page, "5-experiment")

        # Map the version: one sentence has no test, and one click makes it one.
        page.goto(suite)
        page.get_by_role("link", name="Map what it guards").click()
        shot(page, "6-guard-maps")
        page.get_by_label("Text", exact=True).select_option(index=1)
        map_version(page)
        shot(page, "7-guard-map")
        for text in (LOOK_UP, HIDE):
            expect(sentence(page, text).locator(".badge")).to_have_text("guarded")
        expect(sentence(page, DELIVERY).locator(".badge")).to_have_text("no effect")
        expect(sentence(page, DELIVERY)).to_contain_text("Which day is the delivery?")
        assert visit.accessibility_problems() == []
        sentence(page, DELIVERY).get_by_role("button", name="Make a test case").click()
        expect(page.locator(".flash")).to_contain_text("1 test case made.")
        page.get_by_role("link", name="start another map").click()
        map_version(page)
        expect(sentence(page, DELIVERY).locator(".badge")).to_have_text("guarded")
        shot(page, "8-guarded")

        # Watch.
        page.goto(suite)
        shot(page, "9-suite")
        page.get_by_role("link", name="Watch it").click()
        page.get_by_role("button", name="Add the schedule").click()
        page.locator("tbody tr", has_text="release").get_by_role("link").click()
        expect(page.get_by_role("heading", name="Watch: At 03:00 every day")).to_be_visible()
        expect(page.get_by_text("The next run begins the reference")).to_be_visible()
        shot(page, "10-watch")
