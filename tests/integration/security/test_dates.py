"""Days, times and cursors at the ends of what can be written, which were once a 500 or years of days."""

from __future__ import annotations

import pytest

from app import pagination
from tests.support.backends import EMBEDDED_CONTAINER
from tests.support.world import World

USAGE = "/api/v1/usage"


@EMBEDDED_CONTAINER
@pytest.mark.parametrize(
    "days",
    [
        {"from": "9999-12-31"},
        {"to": "0001-01-01"},
        {"from": "0001-01-01"},
        {"from": "0001-01-01", "to": "9999-12-31"},
        {"from": "1970-01-01"},
        {"to": "2261-12-31", "from": "1970-01-01"},
        {"from": "2020-01-02", "to": "2020-01-01"},
        {"from": "2020-13-01"},
    ],
)
@pytest.mark.parametrize("accept", ["application/json", "text/csv"])
def test_usage_of_days_that_no_calendar_goes_on_from_is_refused(
    world: World, days: dict[str, str], accept: str
) -> None:
    answer = world.get(USAGE, params=days, headers={"Accept": accept})
    assert answer.status_code == 400
    assert answer.json["error"].startswith(("from: ", "to: "))


@pytest.mark.parametrize(
    "days", [{"to": "1970-01-01"}, {"from": "2261-12-31"}, {"from": "2020-01-01", "to": "2030-01-06"}]
)
def test_usage_of_the_first_and_last_days_is_answered(world: World, days: dict[str, str]) -> None:
    assert world.get(USAGE, params=days).json["rows"] == []


TIMES = ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "1969-12-31T23:59:59Z", "2262-01-01T00:00:00Z"]


@pytest.mark.parametrize("time", TIMES)
def test_times_beyond_those_of_spans_are_refused_everywhere(world: World, time: str) -> None:
    prompt = f"/api/v1/prompts/{world.prompt()}"
    answers = [
        world.get(f"{prompt}/logs", params={"from": time}),
        world.get(f"{prompt}/logs", params={"to": time}),
        world.get(f"{prompt}/exports/runs", params={"since": time}),
        world.get(f"{prompt}/exports/sessions", params={"until": time}),
        world.post("/api/v1/api-keys", json={"name": "k", "expiresAt": time}),
    ]
    assert [answer.status_code for answer in answers] == [400] * len(answers)


@pytest.mark.parametrize("place", [2**63 - 1, 2**64 - 1, -1, -(2**63)])
def test_cursors_of_places_that_no_row_has_are_refused(world: World, place: int) -> None:
    prompt = f"/api/v1/prompts/{world.prompt()}"
    one, three = pagination.encode(place), pagination.encode(place, 0, place)
    answers = [
        world.get(f"{prompt}/logs", params={"cursor": three}),
        world.get(f"{prompt}/test-cases", params={"cursor": one}),
        world.get(f"{prompt}/replays", params={"cursor": one}),
        world.get("/api/v1/rejected-spans", params={"cursor": one}),
        world.get("/api/v1/audit-log", params={"cursor": one}),
    ]
    assert [answer.status_code for answer in answers] == [400] * len(answers)


def test_cursors_of_the_last_possible_place_are_taken(world: World) -> None:
    prompt = f"/api/v1/prompts/{world.prompt()}"
    place = 2**63 - 2
    for kind in (0, 1):
        assert world.get(f"{prompt}/logs", params={"cursor": pagination.encode(place, kind, place)}).status_code == 200
    assert world.get(f"{prompt}/replays", params={"cursor": pagination.encode(place)}).status_code == 200
