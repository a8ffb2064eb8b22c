"""Values that changed places, and names in the place of others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.texts.relations import name_replaced, value_replaced, values_exchanged
from app.replay.texts.sources import Sources

ROOMS = "The Grand costs $90 a night, the Bristol $70."


@pytest.mark.parametrize(
    ("recorded", "produced"),
    [
        (ROOMS, "The Grand costs $70 a night, the Bristol $90."),
        (ROOMS, "The Bristol costs $90 a night, the Grand $70."),
        (
            "You are booked at 14:15 (C-907), and waiting for 09:30.",
            "You are booked at 09:30 (C-907), waiting for 14:15.",
        ),
        ("A-1 was $5 and A-2 was $9.", "A-1 was $9, and A-2 $5."),
        ("Option 1: $5\nOption 2: $9", "Option 1: $9\nOption 2: $5"),
    ],
)
def test_values_that_changed_places_are_seen(recorded: str, produced: str) -> None:
    assert values_exchanged(recorded, produced)


@pytest.mark.parametrize(
    ("recorded", "produced"),
    [
        (ROOMS, "A night is $90 at the Grand and $70 at the Bristol."),
        (ROOMS, "The Bristol costs $70 a night, the Grand $90."),
        ("Free are 09:30 and 14:15, for $85.", "Free are 14:15 and 09:30, for $85."),
        ("The Bristol has Ada, 5 May to 7 May: B-1.", "Done! Ada is at the Bristol from 5 May to 7 May (B-1)."),
        ("I refunded $5 for A-1.", "For A-1 I refunded $5."),
        ("Hello.", "Good morning."),
    ],
)
def test_values_that_are_told_in_another_order_are_not(recorded: str, produced: str) -> None:
    assert not values_exchanged(recorded, produced)


@given(st.text(max_size=200))
def test_a_text_never_differs_from_itself(text: str) -> None:
    assert not values_exchanged(text, text)
    assert not name_replaced(text, text, Sources())


def test_a_name_that_stands_nowhere_takes_the_place_of_one() -> None:
    asked = Sources(user="Take the Bristol for Ada.", results=[{"hotel": "Bristol", "city": "Oslo"}])

    assert name_replaced("I booked the Bristol.", "I booked the Plaza.", asked)
    assert not name_replaced("I booked the Bristol.", "Your booking is done.", asked)
    assert not name_replaced("I booked the Bristol.", "I booked the Bristol, by the Fjord.", asked)
    assert not name_replaced("I booked the Bristol.", "I booked the room in Oslo.", asked)


def test_nouns_of_german_are_no_names() -> None:
    recorded = "Der Kontostand ist 1.299,00 € und wird nicht verzinst."

    assert not name_replaced(recorded, "Auf dem Konto sind 1.299,00 EUR, und das ist alles.", Sources())


@pytest.mark.parametrize(
    ("recorded", "produced"),
    [
        ("I refunded A-1, receipt RF-1.", "I refunded A-2, receipt RF-1."),
        ("You get $50 back (RF-1).", "You get $500 back (RF-1)."),
        ("You are in Room 12 (RF-1).", "You are in Room 14 (RF-1)."),
        ("I wrote to anna@example.com.", "I wrote to ben@example.com."),
    ],
)
def test_another_value_in_the_place_of_one_is_seen(recorded: str, produced: str) -> None:
    """The user may have said both: "Refund A-1, not A-2"."""
    assert value_replaced(recorded, produced)


@pytest.mark.parametrize(
    ("recorded", "produced", "expected"),
    [
        ("Take it twice a day.", "Take it three times a day.", True),
        ("Two of five are open.", "Two of six are open.", True),
        ("Take it twice a day.", "Take it 2 times a day.", False),
        ("Take it twice a day.", "Take it in the morning and in the evening.", False),
        ("Take it twice a day.", "Take it two times, two hours apart.", False),
        ("Nehmen Sie es zweimal täglich.", "Nehmen Sie es dreimal täglich.", True),
    ],
)
def test_another_number_in_words_is_seen(recorded: str, produced: str, expected: bool) -> None:
    assert value_replaced(recorded, produced) is expected


@pytest.mark.parametrize(
    "produced",
    [
        "Done: RF-1, $50.00.",  # A-1 is left out
        "I refunded A-1, $50, receipt RF-1, as I did for A-2.",
        "I refunded $50 on 5 November.",
        "A-1 is paid back, 50 dollars, in 3 days.",
    ],
)
def test_a_value_that_is_left_out_or_added_is_in_the_place_of_none(produced: str) -> None:
    assert not value_replaced("I refunded $50 for A-1, receipt RF-1.", produced)
