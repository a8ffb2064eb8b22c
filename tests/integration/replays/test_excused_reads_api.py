"""A judge may excuse a read with other arguments; a person may overrule that, and both are known the next time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.judging import finding, judged
from tests.fakes.upstream import Upstream
from tests.fakes.wire import Reply
from tests.integration.replays.recording import replayed
from tests.integration.replays.shop import SEEN, calls, shop_case
from tests.support.world import World

OTHER = calls(("get_order", {"id": "A-1", "fields": "all"}))
ANOTHER_ORDER = calls(("get_order", {"id": "A-2"}))
ANSWER = Reply(text="Order A-1 costs 20.")
EXCUSED = judged("passed", findings=[finding("The total is in it.", recorded='{"total": 20}', matters=False)])


@pytest.fixture
def upstream(world: World) -> Iterator[Upstream]:
    """Return a vendor of the test's project only: the judge's requests come after those of the replay's model."""
    with Upstream() as upstream:
        stored = {"apiKey": "sk-x", "baseUrl": upstream.base_url("OPENAI")}
        assert world.put("/api/v1/credentials/OPENAI", json=stored).status_code == 200
        yield upstream


def step_of(replay: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = replay["turns"][0]["steps"][0]
    return found


def test_a_judge_excuses_a_read_after_two_looks_and_a_person_may_overrule_it(world: World, upstream: Upstream) -> None:
    case = shop_case(world, (SEEN,))
    upstream.script(OTHER, EXCUSED, EXCUSED, ANSWER)

    first = replayed(world, case["id"])

    assert (first["status"], len(upstream.requests)) == ("passed", 4)
    assert step_of(first)["decidedBy"] == "judge"
    assert step_of(first)["reason"] == (
        'get_order was called with other arguments: fields is new, "all". '
        "The judge decided that the recorded result answers this call: The total is in it."
    )
    assert step_of(first)["actual"]["answeredBy"] == "recording"
    assert first["judgeTokens"]["total"] > 0

    upstream.script(OTHER, ANSWER)
    again = replayed(world, case["id"])
    assert (again["status"], step_of(again)["decidedBy"]) == ("passed", "known")

    changed = world.patch(f"/api/v1/replays/{again['id']}/steps/0", json={"verdict": "failed"})
    assert (changed.status_code, changed.json["status"]) == (200, "failed")
    upstream.script(OTHER, Reply(text="I can not look it up."))
    overruled = replayed(world, case["id"])
    assert (overruled["status"], step_of(overruled)["result"]) == ("failed", "failed")


@pytest.mark.parametrize(
    "replies",
    [
        [judged("failed")],
        [EXCUSED, judged("failed")],
        [Reply(text="Fine.")],
        [Reply(status=400, message="No.")],
    ],
    ids=["fails", "is of two minds", "writes prose", "is away"],
)
def test_without_a_clear_decision_the_read_fails(world: World, upstream: Upstream, replies: list[Reply]) -> None:
    case = shop_case(world, (SEEN,))
    upstream.script(OTHER, *replies, ANSWER)

    replay = replayed(world, case["id"])

    step = step_of(replay)
    assert (replay["status"], step["result"], step["decidedBy"]) == ("failed", "failed", "check")
    assert step["reason"] == 'get_order was called with other arguments: fields is new, "all"'
    assert step["actual"]["answeredBy"] == "none"


@pytest.mark.parametrize(
    ("called", "body"),
    [
        (ANOTHER_ORDER, {}),
        (ANOTHER_ORDER, {"tools": {"get_order": {"arguments": {"/id": "exact"}}}}),
        (OTHER, {"judge": "never"}),
    ],
    ids=["the user has named another order", "a matcher refuses it", "the test case has no judge"],
)
def test_no_judge_is_asked_about_a_read_that_is_not_excusable(
    world: World, upstream: Upstream, called: Reply, body: dict[str, Any]
) -> None:
    case = shop_case(world, (SEEN,), **body)
    upstream.script(called, ANSWER)
    before = len(upstream.requests)

    assert step_of(replayed(world, case["id"]))["result"] == "failed"
    assert len(upstream.requests) == before + 2
