"""Limits of values: the highest one of a text is not the lowest one of another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.texts.limits import limits_differ
from tests.support.operations import calls_of


@pytest.mark.parametrize(
    ("recorded", "produced"),
    [
        ("Returns are free within 30 days.", "Returns are free after 30 days."),
        ("Orders over $50 ship free.", "Orders under $50 ship free."),
        ("Orders over $50 ship free.", "Orders of $50 or less ship free."),
        ("Come before 5 pm.", "Come after 5 pm."),
        ("They arrive within 3 to 5 days.", "They arrive after 3 to 5 days."),
        ("It is open until 31 March.", "It is open from 31 March on."),
        ("No more than 3 bags.", "No less than 3 bags."),
        ("Not before 8 am.", "Not after 8 am."),
        ("Within the next **30** days.", "After the first 30 days."),
        ("Höchstens 5 Tage.", "Mindestens 5 Tage."),
        ("Innerhalb von 14 Tagen.", "Nach 14 Tagen."),
        ("В течение 14 дней.", "Через 14 дней."),
        ("Jusqu'à 25 €.", "À partir de 25 €."),
        ("Hasta el 4 de diciembre.", "Desde el 4 de diciembre."),
        ("Fino a 25 €.", "Oltre 25 €."),
        ("Até 25 €.", "Mais de 25 €."),
        ("14日以内です。", "14日以降です。"),
    ],
)
def test_a_value_that_is_limited_from_the_other_side_is_seen(recorded: str, produced: str) -> None:
    assert limits_differ(recorded, produced)
    assert limits_differ(produced, recorded)


@pytest.mark.parametrize(
    ("recorded", "produced"),
    [
        ("Returns are free within 30 days.", "You have up to 30 days to return it."),
        ("Orders over $50 ship free.", "From $50 on, shipping is free."),
        ("No more than 3 bags.", "At most 3 bags."),
        ("No more than 3 bags.", "You may take 3 bags."),
        ("It takes from 5 to 7 days.", "It takes within 5 to 7 days."),
        ("Open after 8 am and before 6 pm.", "Open before 6 pm, but after 8 am."),
        ("Within 30 days, not after 30 days.", "Within 30 days."),
        ("Order A-1 within 30 days.", "After A-1, within 30 days."),
        ("Wait 10 min 30 s.", "Wait at most 10 min 30 s."),
    ],
)
def test_the_same_side_or_none_is_no_difference(recorded: str, produced: str) -> None:
    assert not limits_differ(recorded, produced)
    assert not limits_differ(produced, recorded)


@given(st.text(max_size=80))
def test_no_text_differs_from_itself(text: str) -> None:
    assert not limits_differ(text, text)


@pytest.mark.parametrize("piece", ["within 30 days, ", "after the next ", "5 or more ", "up to up to "])
def test_the_work_grows_in_step_with_the_text(piece: str) -> None:
    short, long = piece * 400, piece * 1600
    assert calls_of(lambda: limits_differ(long, long)) < 6 * calls_of(lambda: limits_differ(short, short))
