"""The page of a replay begins with what went wrong, in words, with the quotes marked in both texts."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from app.models.replays import replays
from tests.integration.replays.recording import THANKS, make_case, prompt, record, replayed
from tests.integration.web.conftest import Browser
from tests.support.world import World

RECORDED = "One tablet a day.\nIt must not be taken during pregnancy."
PRODUCED = "One tablet a day.\nIt may be taken during pregnancy."
FINDING = {
    "kind": "contradicts",
    "recorded": "must not be taken",
    "produced": "may be taken",
    "matters": True,
    "why": "The recording forbids it.",
}


def page_of(world: World, admin: Browser, **step: Any) -> str:
    """Return the HTML of the page of a replay with this step in its first turn."""
    case = make_case(world, record(world, prompt(world, "echo", languageModelConfig={}), [THANKS]))
    replay = replayed(world, case["id"], judge="never")
    shown = {"kind": "answer", "result": "failed", "expected": RECORDED, "actual": PRODUCED, "findings": [FINDING]}
    turn = {key: value for key, value in replay["turns"][0].items() if key != "steps"}
    result = {
        "status": "failed",
        "turns": [turn | {"steps": [shown | {"decidedBy": "judge"} | step]}],
        "violations": [],
    }
    with world.container.database.write() as connection:
        c = replays.c
        mine = update(replays).where(c.id == replay["id"], c.project_id == world.project_id)
        connection.execute(mine.values(status="failed", result=result, violations=[]))
    assert admin.open(f"{admin.base}/replays/{replay['id']}").status_code == 200
    return admin.page


def test_the_page_begins_with_the_finding_and_a_link_to_the_step(world: World, admin: Browser) -> None:
    page = page_of(world, admin)

    assert page.index("It failed: the answer in turn 1") < page.index("The recording forbids it.")
    assert page.index("<mark>must not be taken</mark>") < page.index("<mark>may be taken</mark>")
    assert page.index("<mark>may be taken</mark>") < page.index('href="#step-0"') < page.index("Verdict")
    assert page.count("<mark>must not be taken</mark>") == 1
    assert "Contradiction" in page


def test_the_top_has_three_findings_and_the_step_the_others(world: World, admin: Browser) -> None:
    findings = [FINDING | {"why": f"Reason {number}."} for number in range(5)]

    page = page_of(world, admin, findings=findings)

    assert [page.count(f"Reason {number}.") for number in range(5)] == [1, 1, 1, 1, 1]
    assert page.index("Reason 2.") < page.index("Verdict") < page.index("Reason 3.")
    assert "with 2 more" in page


def test_a_step_without_findings_begins_with_its_reason(world: World, admin: Browser) -> None:
    page = page_of(world, admin, findings=[], reason="No answer was given.", actual=None)

    assert page.index("No answer was given.") < page.index("Verdict")
    assert page.count("No answer was given.") == 1
    assert 'The reason is <a href="#trouble">at the top</a>' in page


@pytest.mark.parametrize("kind", ["answer", "tool_call"])
def test_hostile_findings_are_escaped_and_bounded(world: World, admin: Browser, kind: str) -> None:
    hostile = "<script>alert(1)</script>\u202e\x1b[2J" + "a" + "\u0315\u0300" * 500_000
    sides: dict[str, Any] = {"expected": hostile, "actual": hostile}
    if kind == "tool_call":
        sides = {side: {"name": "send", "arguments": {"text": text}} for side, text in sides.items()}
        sides["actual"] |= {"result": "", "effect": "write", "answeredBy": "none"}
    finding = FINDING | {"recorded": hostile[:2_000], "produced": hostile[:2_000], "why": "<b>bold</b>"}

    page = page_of(world, admin, kind=kind, findings=[finding] * 20, **sides)

    assert "<script>alert" not in page
    assert "<b>bold</b>" not in page
    first_findings = page[page.index("It failed") : page.index("Verdict")]
    assert "&lt;b&gt;bold&lt;/b&gt;" in first_findings
    assert "\\u202e" in first_findings
    assert "\u202e" not in first_findings
    assert len(first_findings) < 20_000
