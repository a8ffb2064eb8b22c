"""The page of a replay: violations, the reason for each step's verdict, the source of each call's result."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.judging import finding, judged
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import THANKS, make_case, prompt, record, replayed, tool
from tests.integration.web.conftest import Browser
from tests.support.conversations import RecordedCall, RecordedTurn
from tests.support.world import World

ORDER = RecordedCall("get_order", {"id": "A-1"}, {"total": "40.00 EUR"})
REFUND = RecordedCall("refund_order", {"id": "A-1"}, {"refunded": True})
REFUNDED = RecordedTurn("Refund A-1.", "I refunded 40.00 EUR.", (ORDER, REFUND))
TOOLS = {"languageModelConfig": {"tools": [tool("get_order", "id"), tool("refund_order", "id")]}}


@pytest.fixture
def upstream(world: World, shared_upstream: Upstream) -> Upstream:
    """The vendor of the project's model, which can judge."""
    shared_upstream.reset()
    stored = {"apiKey": "sk-x", "baseUrl": shared_upstream.base_url("OPENAI")}
    assert world.put("/api/v1/credentials/OPENAI", json=stored).status_code == 200
    world.container.services.models.sync_catalogue()
    return shared_upstream


def called(*names: str) -> Reply:
    return Reply(tool_calls=[(name, {"id": "A-1"}) for name in names])


def shown(admin: Browser, replay: dict[str, Any]) -> str:
    """The text of the replay's page, white space aside."""
    assert admin.open(f"{admin.base}/replays/{replay['id']}").status_code == 200
    return " ".join(admin.text.split())


def test_a_violation_comes_first_and_leads_to_the_call(world: World, admin: Browser, upstream: Upstream) -> None:
    case = make_case(world, record(world, prompt(world, **TOOLS), [REFUNDED]))
    upstream.script(called("get_order"), called("refund_order"), called("refund_order"), Reply(text="40.00 EUR it is."))
    replay = replayed(world, case["id"])

    read = shown(admin, replay)

    assert [each["kind"] for each in replay["violations"]] == ["extra_write"]
    assert "refund_order made a write that is not in the recording Turn 1, where it happened" in read
    assert replay["violations"][0]["message"] in read
    assert read.index("made a write") < read.index("Verdict") < read.index("Turn 1 User")
    (target,) = re.findall(r'href="#(turn-1-extra-\d)"', admin.page)
    at = admin.page.index(f'id="{target}"')
    assert admin.page.index("refund_order", at) < admin.page.index("violation", at) < at + 400


def test_a_lost_tool_leads_to_the_step_that_calls_it(world: World, admin: Browser, upstream: Upstream) -> None:
    prompt_id = prompt(world, **TOOLS)
    case = make_case(world, record(world, prompt_id, [THANKS, REFUNDED]))
    world.patch(f"/api/v1/prompts/{prompt_id}", json={"languageModelConfig": {"tools": [tool("get_order", "id")]}})
    upstream.script(Reply(text="You are welcome."), called("get_order"), Reply(text="I refunded 40.00 EUR."))

    read = shown(admin, replayed(world, case["id"]))

    assert "refund_order is no longer offered Turn 2, where it happened" in read
    assert 'href="#step-2"' in admin.page


def test_each_step_shows_what_decided_it_and_which_values_it_lost(
    world: World, admin: Browser, upstream: Upstream
) -> None:
    case = make_case(world, record(world, prompt(world, **TOOLS), [REFUNDED]))
    answer = Reply(text="I refunded 45.00 EUR.")
    upstream.script(called("get_order"), called("refund_order"), answer, judged("failed", 2))

    read = shown(admin, replayed(world, case["id"]))

    assert "refund_order passed writes answered by the recording" in read
    assert "get_order passed reads answered by the recording" in read
    assert "Decided by a judge model" in read
    assert "Lost 40.00 EUR Invented 45.00 EUR" in read
    assert "get_order reads by the first word of its name" in read
    assert "refund_order writes as nothing marks it as read-only" in read


def test_a_person_overrules_a_judge_and_the_list_shows_how_often_they_agree(
    world: World, admin: Browser, upstream: Upstream
) -> None:
    prompt_id = prompt(world)
    case = make_case(world, record(world, prompt_id, [THANKS]))
    upstream.script(Reply(text="Any time!"), judged("passed", findings=[finding("It is as friendly.", matters=False)]))
    replay = replayed(world, case["id"])
    path = f"{admin.base}/replays/{replay['id']}"
    assert "It is as friendly. Decided by a judge model" in shown(admin, replay)

    assert admin.send(f"{path}/steps/0/verdict", verdict="failed").status_code == 303

    assert world.get(f"/api/v1/replays/{replay['id']}").json["status"] == "failed"
    assert "Decided by a person; a judge model decided that it passes" in shown(admin, replay)
    admin.open(f"{admin.base}/prompts/{prompt_id}/test-cases")
    assert "of 1 step that both decided, they agree on 0 (0 %)" in admin.text


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"onMissing": "static", "result": "none"}, "answered with the test case's own result"),
        ({"onMissing": "nearest"}, "answered with the next recorded result"),
        ({"onMissing": "simulate"}, "played by a model"),
        ({}, "not answered"),
    ],
)
def test_what_answered_a_call_is_marked(
    world: World, admin: Browser, upstream: Upstream, rules: dict[str, Any], words: str
) -> None:
    case = make_case(world, record(world, prompt(world, **TOOLS), [REFUNDED]), tools={"get_order": rules})
    upstream.script(
        Reply(tool_calls=[("get_order", {"id": "A-2"})]),
        *[Reply(text='{"total": "1"}')] * ("simulate" in str(rules)),
        called("refund_order"),
        Reply(text="I refunded 40.00 EUR."),
    )

    assert words in shown(admin, replayed(world, case["id"]))


def test_tools_that_only_the_recording_has_are_marked_so(world: World, admin: Browser, upstream: Upstream) -> None:
    defined = replace(THANKS, offered=({"name": "get_order", "parameters": {"type": "object"}},))
    case = make_case(world, record(world, prompt(world, languageModelConfig={}), [defined]))
    upstream.script(Reply(text="You are welcome."))

    read = shown(admin, replayed(world, case["id"]))
    assert "The prompt defines no tools, so the draft was offered the recording’s tools" in read


def test_lists_of_replays_count_violations(world: World, admin: Browser, upstream: Upstream) -> None:
    prompt_id = prompt(world, **TOOLS)
    case = make_case(world, record(world, prompt_id, [REFUNDED]))
    upstream.script(*[called("refund_order")] * 3, Reply(text="I refunded 40.00 EUR."))
    found = len(replayed(world, case["id"])["violations"])
    assert found > 1

    for path in (f"prompts/{prompt_id}/test-cases", f"test-cases/{case['id']}"):
        admin.open(f"{admin.base}/{path}")
        assert f"{found} violations" in admin.text
