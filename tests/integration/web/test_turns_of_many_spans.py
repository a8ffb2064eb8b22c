"""The page of a turn of many spans: it comes in parts, and builds only the part that it shows."""

from __future__ import annotations

import math

import pytest

from app.sessions import pieces
from tests.integration.web.conftest import Browser
from tests.integration.web.test_session_page import stored, words
from tests.support.operations import calls_of
from tests.support.recorded import Turn
from tests.support.world import World


def many_calls(prompt_id: int, count: int) -> Turn:
    turn = Turn(prompt_id, 0)
    for number in range(count):
        turn = turn.tool("find", {"n": f"number {number}"}, {"found": number})
    return turn


def test_a_turn_of_many_spans_comes_in_parts_with_links_to_those_on_both_sides(
    world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE_SPANS", 3)
    path = stored(world, many_calls(world.prompt(), 8))

    admin.open(admin.base + path)
    first, first_page = words(admin), admin.page
    admin.open(f"{admin.base}{path}?turn=1&piece=2")
    second, second_page = words(admin), admin.page
    admin.open(f"{admin.base}{path}/turns/1/texts/0-arguments?piece=2")

    assert "8 spans" in first
    assert "Part 1 of 3 of this turn's spans. The next part" in first
    assert "Part 2 of 3 of this turn's spans. The part before The next part" in second
    assert "?turn=1&amp;piece=3#turn-1" in second_page
    assert [f"number {n}" in first_page for n in range(8)] == [n < 3 for n in range(8)]
    assert [f"number {n}" in second_page for n in range(8)] == [3 <= n < 6 for n in range(8)]
    assert "was not recorded" not in second
    assert "number 3" in admin.page
    assert admin.open(f"{admin.base}{path}?turn=1&piece=4").status_code == 404


def test_a_turn_after_the_last_one_of_many_spans_is_not_there(
    world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE_SPANS", 3)
    path = stored(world, many_calls(world.prompt(), 8))

    statuses = [admin.open(f"{admin.base}{path}/turns/{n}/texts/0-arguments").status_code for n in (1, 2, 999)]

    assert statuses == [200, 404, 404]


def test_each_span_of_a_turn_in_parts_has_its_page(
    world: World, admin: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "PIECE_SPANS", 3)
    path = stored(world, many_calls(world.prompt(), 8))
    spans = world.get(f"/api/v1{path}").json["turns"][0]["spans"]

    for n, span in enumerate(spans):
        admin.open(f"{admin.base}{path}/spans/{span['spanId']}")
        assert f"number {n}" in admin.page


def test_each_more_span_of_a_turn_in_parts_costs_the_page_less_than_to_build_it(world: World, admin: Browser) -> None:
    def calls(count: int) -> int:
        path = stored(world, many_calls(world.prompt(), count))
        return calls_of(lambda: admin.open(admin.base + path), at_most=math.inf)

    few = calls(2 * pieces.PIECE_SPANS)
    more = calls(6 * pieces.PIECE_SPANS)

    assert (more - few) / (4 * pieces.PIECE_SPANS) < 100
