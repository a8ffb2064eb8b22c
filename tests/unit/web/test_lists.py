"""Lists keep what was chosen in the address: their order, their pages and the way back."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest

from app.errors import Invalid
from app.web.lists import PAGES_REMEMBERED, ListOrigin, Pages, order_of, pages_of


def query_of(href: str | None) -> dict[str, str]:
    assert href is not None
    return dict(parse_qsl(href.removeprefix("?")))


def test_the_first_page_leads_only_forward() -> None:
    pages = pages_of({"search": "a b", "type": ""}, "y&z")

    assert pages == Pages("?search=a+b&cursor=y%26z", None, None)


def test_a_list_of_one_page_has_no_links() -> None:
    assert pages_of({"search": "a"}, None) == Pages(None, None)


def test_pages_lead_back_one_by_one_with_the_filters() -> None:
    query = {"status": "nok"}
    seen = []
    for number in range(1, 5):
        seen.append(query)
        query = query_of(pages_of(query, f"c{number}").next_href)

    while seen:
        query = query_of(pages_of(query, None).previous_href)
        assert query == seen.pop()
    assert pages_of(query, None).previous_href is None


def test_the_first_page_is_a_step_from_every_other() -> None:
    assert pages_of({"type": "run", "cursor": "c9", "back": "c7~c8"}, None).first_href == "?type=run"


def test_the_address_does_not_grow_with_every_page() -> None:
    query: dict[str, str] = {}
    for number in range(PAGES_REMEMBERED * 2):
        query = query_of(pages_of(query, f"c{number}").next_href)

    assert query["back"].count("~") == PAGES_REMEMBERED - 1


def test_a_head_sorts_by_its_column_and_then_the_other_way_round() -> None:
    query = {"search": "x", "cursor": "c1", "back": "c0"}
    newest = order_of(query, ("created", "cost"), default="-created")
    dearest = order_of({**query, "sort": "-cost"}, ("created", "cost"), default="-created")

    assert query_of(newest.href("-cost")) == {"search": "x", "sort": "-cost"}
    assert query_of(dearest.href("-cost")) == {"search": "x", "sort": "cost"}
    assert query_of(dearest.href("-created")) == {"search": "x"}


def test_rows_are_in_the_order_that_was_chosen() -> None:
    keys = {"cost": int}
    assert order_of({}, keys, default="-cost").sorted(["2", "10", "1"], keys) == ["10", "2", "1"]
    assert order_of({"sort": "cost"}, keys, default="-cost").sorted(["2", "10", "1"], keys) == ["1", "2", "10"]


def test_a_column_that_a_list_does_not_have_is_refused() -> None:
    with pytest.raises(Invalid):
        order_of({"sort": "-password"}, ("created",), default="-created")


@pytest.mark.parametrize("of_sessions", [False, True])
def test_an_entry_carries_the_list_with_its_filters_and_page(of_sessions: bool) -> None:
    origin = ListOrigin("status=nok&cursor=c1", of_sessions)

    (sent,) = query_of(origin.to_entry).values()
    assert ListOrigin.read(sent) == origin
    assert origin.parameters == {"status": "nok", "cursor": "c1"}
    assert ListOrigin().to_entry == ""
