"""The first screen of pages: the finding of a failed replay with its quotes, and the text of a prompt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.ui.conftest import JSON, Look, Site
from tests.fakes.judging import is_question, judged, parts_of
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.support import conversations
from tests.support.browser import Visit
from tests.support.conversations import RecordedTurn
from tests.support.waiting import wait_until

pytestmark = pytest.mark.browser
LEAFLET = "Swallow the tablet whole, with a glass of water, and not on an empty stomach. " * 12
RECORDED = f"{LEAFLET}It must not be taken during pregnancy. Keep it away from children."
PRODUCED = RECORDED.replace("must not be taken", "may be taken")
WHY = "The recording forbids it during pregnancy."
FINDING = {
    "kind": "contradicts",
    "recorded": "must not be taken",
    "produced": "may be taken",
    "matters": True,
    "why": WHY,
}
SIZES = [(1280, 800), (390, 844), (360, 740)]


@pytest.fixture(scope="module")
def failed(site: Site, shared_look: Look) -> Iterator[str]:
    """The path of a replay that a judge failed."""
    with Upstream() as upstream:
        upstream.choose = answer
        with shared_look() as visit:
            add_model(visit, site, upstream.base_url("CUSTOM_OPENAI_COMPATIBLE"))
        prompt = {"name": "Leaflets", "value": "Answer from the leaflet.", "languageModelName": "reader"}
        prompt_id = site.client.post("/api/v1/prompts", prompt).json()["prompt"]["id"]
        turn = RecordedTurn("Is it safe for me?", RECORDED)
        batch = conversations.export(prompt_id, "leaflet", [turn], start_ns=1_760_000_200_000_000_000)
        site.client.request("POST", "/api/public/otel/v1/traces", body=batch, headers=JSON)
        (entry,) = site.client.get(f"/api/v1/prompts/{prompt_id}/logs?type=otel").json()["entries"]
        case = site.client.post(f"/api/v1/sessions/{entry['id']}/test-cases", {"name": "Leaflet"}).json()
        path = site.client.post(f"/api/v1/test-cases/{case['id']}/replays").headers["Location"]
        wait_until(lambda: site.client.get(path).json()["status"] not in ("queued", "running"), "the replay")
        assert site.client.get(path).json()["status"] == "failed"
        yield f"{site.base}/replays/{path.rpartition('/')[2]}"


def add_model(visit: Visit, site: Site, base_url: str, name: str = "reader") -> None:
    visit.open(f"{site.base}/settings/models")
    visit.page.fill("#name", name)
    visit.page.fill("#baseUrl", base_url)
    visit.page.click("text=Add the model")
    visit.page.wait_for_selector("text=can be used in prompts")


def answer(body: dict[str, Any]) -> Reply:
    """Answer as the draft that allows what is forbidden, or as the judge that notices it."""
    if not is_question(body):
        return Reply(text=PRODUCED)
    steps = [int(name.split()[1]) for name in parts_of(body["messages"][-1]["content"]) if name.startswith("produced")]
    return judged("failed", *steps, findings=[FINDING])


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_finding_and_both_quotes_are_on_the_first_screen(
    site: Site, look: Look, failed: str, width: int, height: int
) -> None:
    with look(viewport={"width": width, "height": height}) as visit:
        visit.open(failed)
        top = visit.page.locator(".violations")
        places = [
            top.get_by_text(WHY),
            *(top.locator("mark", has_text=FINDING[side]) for side in ("recorded", "produced")),
        ]
        boxes = [place.bounding_box() for place in places]

        assert [box["y"] for box in boxes if box] == sorted(box["y"] for box in boxes if box)
        assert [box for box in boxes if box is None or box["y"] + box["height"] > height] == []
        assert visit.page.locator("dl.facts").bounding_box()["y"] > boxes[-1]["y"]  # type: ignore[index]
        visit.page.get_by_role("link", name="Show this step").click()
        assert visit.page.locator("li.verdict mark").count() >= 2


def test_three_lines_of_a_prompt_are_on_the_first_screen_at_a_zoom_of_200_percent(site: Site, look: Look) -> None:
    with look(viewport={"width": 640, "height": 400}) as visit:
        visit.open(f"{site.base}/prompts/{site.prompt_id}/edit")
        text = visit.page.get_by_label("Text", exact=True)
        line = text.evaluate("element => parseFloat(getComputedStyle(element).lineHeight)")
        top, below = text.bounding_box(), visit.page.locator(".bar-below").bounding_box()

        assert top
        assert below
        assert top["y"] + 3 * line < below["y"]
