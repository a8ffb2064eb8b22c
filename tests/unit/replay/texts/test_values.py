"""A text's values, and those of them that mean the same."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.texts.value_forms import Forms
from app.replay.texts.values import find_values


def forms(text: str) -> list[tuple[str, str, str]]:
    return [(value.kind, value.form, value.detail) for value in find_values(text)]


def same(left: str, right: str) -> bool:
    (one,), (other,) = find_values(left), find_values(right)
    return one in Forms([other]) and other in Forms([one])


@pytest.mark.parametrize(
    "spelling",
    [
        "1,299.00",
        "1.299,00",
        "1'299",
        "1’299.00",
        "1 299",
        "1\xa0299",
        "1\u202f299,00",
        "1299.0",
        "1299",
        "١٢٩٩",
        "１，２９９",
    ],
)
def test_a_number_is_the_same_however_it_is_grouped(spelling: str) -> None:
    assert forms(f"about {spelling} of them") == [("number", "1299", "")]


@pytest.mark.parametrize("spelling", ["$5", "5 USD", "USD 5", "5 dollars", "US$5.00", "$ 5", "5$"])
def test_an_amount_is_the_same_however_its_currency_is_written(spelling: str) -> None:
    assert forms(spelling) == [("amount", "5", "USD")]
    assert same(spelling, "5")
    assert not same(spelling, "€5")


@pytest.mark.parametrize(
    "spelling",
    [
        "2026-11-05", "5 November 2026", "Nov 5, 2026", "November 5th, 2026", "the 5th of November 2026", "5.11.2026",
        "11/05/2026", "05/11/2026", "5. November 2026", "5 novembre 2026", "5 de noviembre de 2026", "2026年11月5日",
        "5 November", "Nov. 5", "2026/11/05", "5 Nov", "05-Nov-2026", "1st–5th November".removeprefix("1st–"),
    ],
)  # fmt: skip
def test_a_date_is_the_same_however_it_is_written(spelling: str) -> None:
    assert same(spelling, "2026-11-05")
    assert not same(spelling, "2026-11-06")


@pytest.mark.parametrize(
    ("spelling", "day", "other"),
    [
        ("5 maart 2026", "2026-03-05", "5 mei 2026"),
        ("12 mrt", "2026-03-12", "12 mei"),
        ("5 марта 2026", "05.03.2026", "5 мая 2026"),
        ("12 сент. 2026", "2026-09-12", "12 окт. 2026"),
        ("5 marca 2026", "2026-03-05", "5 maja 2026"),
        ("12 października", "2026-10-12", "12 listopada"),
        ("5 مارس 2026", "2026-03-05", "5 مايو 2026"),
        ("٥ مارس، ٢٠٢٦", "2026-03-05", "٥ مايو، ٢٠٢٦"),
        ("5 من أغسطس", "2026-08-05", "5 من أبريل"),
        ("5 تشرين الثاني 2026", "2026-11-05", "5 تشرين الأول 2026"),
        ("مارس 2026", "March 2026", "مايو 2026"),
        ("март 2026", "March 2026", "май 2026"),
    ],
)
def test_a_date_is_read_in_other_languages(spelling: str, day: str, other: str) -> None:
    assert same(spelling, day)
    assert not same(other, day)


def test_dates_of_other_years_differ_where_both_have_their_year() -> None:
    assert not same("5 November 2025", "2026-11-05")
    assert same("5 November", "2025-11-05")


def test_what_can_be_read_in_two_ways_is_not_turned_round() -> None:
    assert not same("11/05/2026", "05/11/2026")
    assert not same("1,299", "1.299")


@pytest.mark.parametrize("spelling", ["2:30 pm", "14:30:00", "14h30", "14.30 Uhr", "2:30 p.m.", "2:30PM"])
def test_a_time_is_the_same_however_it_is_written(spelling: str) -> None:
    assert same(spelling, "14:30")
    assert not same(spelling, "2:30 am")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("14:30 UTC", "2:30 PM UTC"),
        ("14:30 UTC", "2:30 p.m. (GMT)"),
        ("14:30 UTC", "14:30:00Z"),
        ("14:30 UTC", "14:30"),
        ("14:30 PST", "14:30-08:00"),
        ("2 pm ET", "2 pm EST"),
        ("2 pm ET", "2:00 p.m. Eastern Time"),
        ("14:30 Uhr MEZ", "14:30 CET"),
        ("14:30 GMT+2", "14:30+0200"),
        ("14:30:15", "14:30"),
        ("14:30:15", "2:30:15 pm"),
        ("2:30", "14:30:15 UTC"),
    ],
)
def test_a_time_in_the_same_zone_or_without_one_is_the_same(one: str, other: str) -> None:
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("14:30 UTC", "14:30 PST"),
        ("14:30 EST", "14:30 CET"),
        ("14:30 EST", "14:30 EDT"),
        ("2 pm ET", "2 pm PT"),
        ("2 pm Eastern time", "2 pm Pacific time"),
        ("14:30+02:00", "14:30+05:00"),
        ("14:30Z", "14:30 UTC+1"),
        ("14:30:00Z", "14:30 PST"),
        ("14:30:15", "14:30:20"),
    ],
)
def test_a_time_in_another_zone_is_another(one: str, other: str) -> None:
    assert not same(one, other)


def test_words_that_look_like_zones_are_none() -> None:
    assert forms("à 14:30 et après, um 14:30 ist frei, À 14:30 ET APRÈS") == [("time", "14:30", "")] * 3


def test_a_timestamp_holds_a_date_and_a_time() -> None:
    assert forms("2026-11-05T10:00:00Z") == [("date", "11-05", "2026"), ("time", "10:00:00", "+0000")]


@pytest.mark.parametrize(
    "text",
    [
        "1. Open it\n2) Close it",
        "**3.** third",
        "on Monday",
        "three of them",
        "open 24/7",
        "e.g. this",
        "",
    ],
)
def test_markers_weekdays_and_words_are_no_values(text: str) -> None:
    assert forms(text) == []


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("order #A-1234.", ("code", "a1234", "")),
        ("ORD_99", ("code", "ord99", "")),
        ("CLM 20931.", ("code", "clm20931", "")),
        ("DE89 3704 0044 0532 0130 00", ("code", "de89370400440532013000", "")),
        ("DE89370400440532013000", ("code", "de89370400440532013000", "")),
        ("GB29 NWBK 6016 1331 9268 19.", ("code", "gb29nwbk60161331926819", "")),
        ("FR14 2004 1010 0505 0001 3M02 606", ("code", "fr1420041010050500013m02606", "")),
        ("US50 THIS WEEK", ("code", "us50", "")),
        ("v2.14.0", ("code", "2.14.0", "")),
        ("020 7946 0958", ("code", "02079460958", "")),
        ("PIN 0423", ("code", "0423", "")),
        ("123e4567-e89b-12d3-a456-426614174000", ("code", "123e4567-e89b-12d3-a456-426614174000", "")),
        ("+1 (555) 123-4567", ("code", "15551234567", "")),
        ("4111-1111-1111-1111", ("code", "4111111111111111", "")),
        ("Anna.B@Example.com,", ("email", "anna.b@example.com", "")),
        ("(https://www.Example.com/a/?b=C).", ("url", "example.com/a/?b=C", "")),
        ("-5 °C", ("amount", "-5", "°C")),
        ("a 30-day period", ("amount", "30", "day")),
        ("5 %", ("amount", "5", "%")),
        ("5 hundred", ("number", "500", "")),
        ("Table:\n12.", ("number", "12", "")),
        ("Room 12", ("label", "room 12", "")),
        ("Step 2: wait", ("label", "step 2", "")),
        ("Schritt 3.", ("label", "schritt 3", "")),
        ("Plan 5 days", ("amount", "5", "day")),
        ("the gate, 5 pm", ("time", "17:00", "")),
        ("Gate 5 pm", ("time", "17:00", "")),
        ("Section 4.2", ("number", "4.2", "")),
        ("Room 12A", ("code", "12a", "")),
        ("anna@example.comへ", ("email", "anna@example.com", "")),
        ("https://example.com/aへ", ("url", "example.com/a", "")),
        ("1.2 million euros", ("amount", "1200000", "EUR")),
        ("合計は1299円です", ("amount", "1299", "JPY")),
        ("try 5 of them", ("number", "5", "")),
        ("you may 5 times", ("number", "5", "")),
    ],
)
def test_a_value_is_found(text: str, form: tuple[str, str, str]) -> None:
    assert forms(text) == [form]


def test_a_range_has_both_its_ends() -> None:
    assert forms("5-10 days") == [("amount", "5", "day"), ("amount", "10", "day")]
    assert forms("10:00-12:00") == forms("10:00 to 12:00") == [("time", "10:00", ""), ("time", "12:00", "")]
    assert forms("2 pm-5 pm") == [("time", "14:00", ""), ("time", "17:00", "")]
    assert forms("10:00-12:00 UTC")[1] == ("time", "12:00", "+0000")
    assert forms("5–7 November") == [("date", "11-05", ""), ("date", "11-07", "")]


def test_a_value_s_spelling_is_that_of_the_text() -> None:
    assert [value.spelling for value in find_values("Room １２, １０:００-１２:００")] == [
        "１２",
        "１０:００",
        "１２:００",
    ]
    assert [value.spelling for value in find_values("ab １２９９円, 5\xa0%")] == ["１２９９円", "5\xa0%"]


@given(st.text() | st.text(alphabet="0159.,:'/-+ $€%aTZh@\n\xa0Nov١"))
def test_no_text_raises(text: str) -> None:
    assert all(value.spelling in text for value in find_values(text))


def calls(function: Callable[..., Any], *arguments: Any) -> int:
    """Return how many functions, C functions included, are called."""
    count = 0

    def profile(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        function(*arguments)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "5 sq. sq. ",
        "5m-m-",
        "5m/m.",
        "1,",
        "1 ",
        "5:",
        "$",
        "a@",
        "a.",
        "Nov 5 ",
        "1'",
        "-",
        " ",
        "5-",
        "+1 ",
        "١",
        "a1-",
        "http://",
    ],
)
def test_four_times_the_text_is_at_most_four_times_the_work(piece: str) -> None:
    few, many = (calls(find_values, (piece * size)[:size]) for size in (2_000, 8_000))

    assert many <= 4 * few + 100
